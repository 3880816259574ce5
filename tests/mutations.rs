//! What strangers may hand in: every truncation, and a hundred thousand mutations. No panic, no abort, no large allocation,
//! and each answer is a result or an error that says where.
//!
//! `fuzz/` has the same parts as targets for a fuzzer that looks for more. `SKIDCONV_MUTATIONS` asks for more or fewer than
//! [`MUTATIONS`] here: a few hundred thousand take a minute.

mod drive;
mod recording;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use drive::Outcome;
use rayon::prelude::*;
use recording::{all_testdata, example, testdata};
use skidconv::options::Options;
use skidconv::perfdata::{PerfFile, kinds};
use skidconv::pipeline;
use skidconv::progress::Silent;

/// No allocation may be larger.
const LARGEST: usize = 256 << 20;
/// Mutations of recordings.
const MUTATIONS: usize = 100_000;

/// `n`, or its share of what is asked for.
fn times(n: usize) -> usize {
    let asked = std::env::var("SKIDCONV_MUTATIONS").ok().and_then(|text| text.parse::<usize>().ok());
    asked.map_or(n, |asked| n * asked / MUTATIONS)
}

/// Notes the largest allocation.
struct Noting;

static LARGEST_SEEN: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is the system's allocator; only sizes are looked at.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST_SEEN.fetch_max(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST_SEEN.fetch_max(layout.size(), Ordering::Relaxed);
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST_SEEN.fetch_max(size, Ordering::Relaxed);
        unsafe { System.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        unsafe { System.dealloc(old, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Noting = Noting;

fn assert_small_allocations() {
    let largest = LARGEST_SEEN.load(Ordering::Relaxed);
    assert!(largest <= LARGEST, "an allocation of {largest} bytes");
}

#[test]
fn a_recording_cut_at_any_length_gives_what_is_there_or_an_error() {
    for (name, is_stream) in [
        ("lpd-sleep.data", false),
        ("quipper-singleprocess-3.8.data", false),
        ("lpd-sleep.compressed2.data", false),
        ("lpd-sleep.compressed.pipe.data", true),
        ("quipper-piped.header_features_aligned-6.12.data", true),
    ] {
        let bytes = std::fs::read(testdata(name)).unwrap();
        let of_length = |len: usize| drive::recording(&bytes[..len]);
        let outcomes: Vec<Outcome> = (0..bytes.len()).into_par_iter().map(of_length).collect();
        for (len, pair) in outcomes.windows(2).enumerate() {
            assert!(pair[0].samples <= pair[1].samples, "{name} cut to {len} has more samples than cut less");
            // Only the end of a stream can be where a record ends.
            assert!(is_stream || !pair[0].complaints.is_empty(), "{name} cut to {len} without a word");
        }
        assert_eq!(outcomes[0].samples, 0);
        assert!(
            outcomes.last().unwrap().samples >= 6,
            "{name}: only the last record can be lost by its last byte"
        );
    }
    assert_small_allocations();
}

/// A small generator, so that the same damage is done everywhere.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 16) as usize % n.max(1)
    }
}

const NASTY: [u64; 12] =
    [0, 1, 7, 8, 16, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 32, 1 << 61, i64::MAX as u64, u64::MAX];

/// Changes up to six places, half of them in the header and what directly follows it; sometimes cuts or repeats a part.
fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..=dice.below(6) {
        let range = if dice.below(2) == 0 { bytes.len().min(600) } else { bytes.len() };
        let at = dice.below(range);
        match dice.below(9) {
            0 | 1 => bytes[at] ^= 1 << dice.below(8),
            2 | 3 => bytes[at] = dice.next() as u8,
            4 | 5 => put(bytes, at & !7, &NASTY[dice.below(NASTY.len())].to_le_bytes()),
            6 | 7 => put(bytes, at & !1, &(NASTY[dice.below(NASTY.len())] as u16).to_le_bytes()),
            _ => {
                let end = (at + 1 + dice.below(200)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                let to = at..if dice.below(2) == 0 { end } else { at };
                bytes.splice(to, if dice.below(2) == 0 { part } else { vec![] });
            }
        }
        if bytes.is_empty() {
            return;
        }
    }
}

fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    let end = bytes.len().min(at + new.len());
    bytes[at..end].copy_from_slice(&new[..end - at]);
}

fn mutant(seed: &[u8], number: usize) -> Vec<u8> {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (number as u64 + 1).wrapping_mul(0xff51_afd7_ed55_8ccd));
    let mut bytes = seed.to_vec();
    damage(&mut bytes, &mut dice);
    bytes
}

/// Small recordings of every format.
fn seeds() -> Vec<Vec<u8>> {
    let paths = all_testdata().into_iter();
    let small = paths.map(|path| std::fs::read(path).unwrap()).filter(|bytes| bytes.len() < 32_000);
    let mut seeds: Vec<Vec<u8>> = small.collect();
    for big in [false, true] {
        let r = example(big);
        let mut flat = r.clone();
        flat.records.retain(|record| record.len() < 120 && !record[..4].contains(&71));
        let packed = flat.compressed(kinds::COMPRESSED, 9);
        // These are quick, so there are more of them.
        for bytes in [r.file(), r.pipe(), packed.pipe(), packed.file()] {
            seeds.extend([bytes.clone(), bytes.clone(), bytes]);
        }
    }
    assert!(seeds.len() > 30);
    seeds
}

#[test]
fn a_hundred_thousand_damaged_recordings_are_read_or_refused() {
    let (seeds, mutations) = (seeds(), times(MUTATIONS));
    let of = |n: usize| drive::recording(&mutant(&seeds[n % seeds.len()], n));
    let counted = (0..mutations).into_par_iter().map(of).map(|outcome| {
        let complained = !outcome.complaints.is_empty() || outcome.undecodable > 0;
        (usize::from(complained), outcome.samples)
    });
    let (complained, samples) = counted.reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
    assert!(complained > mutations / 10 && samples > mutations as u64, "{complained}, {samples} samples");
    assert_small_allocations();
}

/// Bytes without any sense.
fn noise(number: usize, len: usize) -> Vec<u8> {
    let mut dice = Dice(number as u64 + 1);
    (0..len).map(|_| dice.next() as u8).collect()
}

#[test]
fn address_spaces_of_any_history_answer_the_same_within_an_era() {
    let histories = times(20_000);
    let found: usize = (0..histories).into_par_iter().map(|n| drive::space(&noise(n, 200 + n % 3000))).sum();
    assert!(found > 2 * histories, "{found}");
}

#[test]
fn any_bytes_are_code_with_a_sound_graph() {
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let of_noise = (0..times(4000)).into_par_iter().map(|n| drive::code(&noise(n, n % 600))).sum::<usize>();
    // Real code, entered anywhere.
    let piece = |n: usize| &own[(n * 7919 * 13) % (own.len() - 4096)..][..n % 4096];
    let of_code = (0..times(4000)).into_par_iter().map(|n| drive::code(piece(n))).sum::<usize>();
    assert!(of_noise > 2 * times(4000) && of_code > 2 * times(4000), "{of_noise} {of_code}");
    assert_small_allocations();
}

#[test]
fn damaged_recordings_go_through_the_whole_program() {
    let folder = tempfile::tempdir().unwrap();
    let seeds = seeds();
    let mut done = 0;
    for n in 0..200 {
        let input = folder.path().join("perf.data");
        std::fs::write(&input, mutant(&seeds[n % seeds.len()], n)).unwrap();
        let options = Options {
            output: Some(folder.path().join("out.data")),
            folded: Some(folder.path().join("out.folded")),
            correct: n % 2 == 0,
            force: true,
            symfs: vec![folder.path().to_owned()],
            input,
            ..Options::default()
        };
        let Ok(ran) = pipeline::run(&options, &Silent) else { continue };
        let copy = PerfFile::open(options.output.as_deref().unwrap());
        assert!(copy.is_ok() || ran.report.samples == 0, "a copy that cannot be opened");
        done += 1;
    }
    assert!(done > 20, "{done}");
    assert_small_allocations();
}
