//! Events on the thread of the test itself, where the kernel allows them.

use super::*;
use std::hint::black_box;

const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
const LOST: u32 = 2;
const SAMPLE: u32 = 9;

fn software(config: u64, rate: Rate, fields: Fields) -> Attr {
    let flags = Flags::DISABLED | Flags::EXCLUDE_HV;
    Attr { rate, fields, flags, ..Attr::new(Source::Event { kind: SOFTWARE, config: [config, 0, 0, 0] }) }
}

/// `None`, with a word of why, where the kernel allows no events; with `SKIDCONV_REQUIRE_PERF` set that is a failure.
fn open(attr: &Attr) -> Option<Event> {
    let opened = Event::open(attr, Thread::Own, Cpu::Any, None);
    let required = std::env::var_os("SKIDCONV_REQUIRE_PERF").is_some();
    assert!(opened.is_ok() || !required, "events are required: {}", opened.unwrap_err());
    opened.inspect_err(|error| eprintln!("skipped: this kernel allows no such event: {error}")).ok()
}

/// Counts the calls of [`called`].
fn calls(rate: Rate, fields: Fields) -> Attr {
    let (address, length) = (called as *const () as u64, size_of::<libc::c_long>() as u64);
    let flags = Flags::DISABLED | Flags::EXCLUDE_KERNEL | Flags::EXCLUDE_HV;
    let source = Source::Breakpoint { access: Access::Execute, address, length };
    Attr { rate, fields, flags, ..Attr::new(source) }
}

#[inline(never)]
fn called(x: u64) -> u64 {
    black_box(x + 1)
}

fn call(times: u64) {
    for x in 0..times {
        black_box(called(x));
    }
}

#[test]
fn an_event_counts_while_it_is_on() {
    let Some(event) = open(&calls(Rate::Never, Fields::empty())) else { return };
    call(100);
    assert_eq!(event.count().unwrap(), 0);
    event.enable().unwrap();
    call(100);
    event.disable().unwrap();
    call(100);
    assert_eq!(event.count().unwrap(), 100);
    event.reset().unwrap();
    assert_eq!(event.count().unwrap(), 0);
}

/// Samples in the ring, as the words behind their headers.
fn samples(ring: &mut Ring) -> Vec<Vec<u64>> {
    let mut found = vec![];
    while let Some(record) = ring.next_record() {
        assert_eq!(u32::from_ne_bytes(record[..4].try_into().unwrap()), SAMPLE);
        let words = record[8..].as_chunks::<8>().0;
        found.push(words.iter().map(|w| u64::from_ne_bytes(*w)).collect());
    }
    found
}

#[test]
fn a_breakpoint_counts_each_execution_and_takes_new_periods() {
    let Some(event) = open(&calls(Rate::Period(10), Fields::IP | Fields::READ)) else { return };
    let address = called as *const () as u64;
    let mut ring = event.ring(1).unwrap();
    assert!(event.ring(1).is_err(), "one reader is enough");
    event.enable().unwrap();
    call(100);
    event.disable().unwrap();
    assert_eq!(event.count().unwrap(), 100);
    let expected: Vec<_> = (1..=10).map(|sample| vec![address, 10 * sample]).collect();
    assert_eq!(samples(&mut ring), expected);
    event.set_period(25).unwrap();
    event.enable().unwrap();
    call(100);
    event.disable().unwrap();
    let expected: Vec<_> = (1..=4).map(|sample| vec![address, 100 + 25 * sample]).collect();
    assert_eq!(samples(&mut ring), expected);
    assert_eq!(ring.pending(), 0);
}

#[test]
fn what_has_no_room_in_the_ring_is_told_as_lost() {
    let Some(event) = open(&calls(Rate::Period(1), Fields::IP | Fields::TIME)) else { return };
    let mut ring = event.ring(1).unwrap();
    event.enable().unwrap();
    call(1000);
    event.disable().unwrap();
    let mut seen = 0;
    let mut lost = 0;
    let mut round = |ring: &mut Ring| {
        while let Some(record) = ring.next_record() {
            match u32::from_ne_bytes(record[..4].try_into().unwrap()) {
                SAMPLE => seen += 1,
                LOST => lost += u64::from_ne_bytes(record[16..24].try_into().unwrap()),
                other => panic!("a record of type {other}"),
            }
        }
    };
    round(&mut ring);
    // the kernel tells of losses with the next record that has room
    event.enable().unwrap();
    call(10);
    event.disable().unwrap();
    round(&mut ring);
    assert!(lost > 0);
    assert_eq!(seen + lost, event.count().unwrap());
}

#[test]
fn a_ring_is_read_whole_over_its_end() {
    let fields = Fields::IP | Fields::TIME | Fields::TID;
    let Some(event) = open(&calls(Rate::Period(1), fields)) else { return };
    let mut ring = event.ring(1).unwrap();
    let mut bytes = 0;
    for _ in 0..40 {
        event.enable().unwrap();
        call(20);
        event.disable().unwrap();
        ring.take(|first, second| {
            let all = [first, second].concat();
            assert!(all.len().is_multiple_of(32), "samples of 32 bytes");
            assert!(all.chunks(32).all(|record| record[..8] == [9, 0, 0, 0, record[4], record[5], 32, 0]));
            bytes += all.len();
        });
    }
    assert!(bytes > page_size(), "the end was not reached");
    assert_eq!(bytes as u64, 32 * event.count().unwrap());
}

#[test]
fn records_carry_the_time_of_the_clock_that_was_asked_for() {
    let attr =
        Attr { clock: Some(Clock::Monotonic), ..software(CPU_CLOCK, Rate::Period(100_000), Fields::TIME) };
    let Some(event) = open(&attr) else { return };
    let mut ring = event.ring(8).unwrap();
    let before = now(Clock::Monotonic).unwrap();
    event.enable().unwrap();
    while event.count().unwrap() < 2_000_000 {
        black_box(called(1));
    }
    event.disable().unwrap();
    let after = now(Clock::Monotonic).unwrap();
    let times: Vec<u64> = samples(&mut ring).iter().map(|words| words[0]).collect();
    assert!(!times.is_empty() && times.is_sorted());
    assert!(times[0] >= before && *times.last().unwrap() <= after);
}

#[test]
fn a_signal_can_be_read() {
    let signals = Signals::take(&[libc::SIGUSR2]).unwrap();
    assert_eq!(signals.next().unwrap(), None);
    // SAFETY: the signal goes to this thread, which has just taken it.
    unsafe { libc::pthread_kill(libc::pthread_self(), libc::SIGUSR2) };
    let mut poll = Poll::default();
    let place = poll.add(std::os::fd::AsFd::as_fd(&signals));
    assert_eq!(poll.wait(Some(1000)).unwrap(), 1);
    assert!(poll.is_ready(place) && !poll.has_ended(place));
    assert_eq!(signals.next().unwrap(), Some(libc::SIGUSR2));
}
