//! How often loops go round, and how well that is known.

use skidconv::options::{Annotate, Options};
use skidconv::pipeline;
use skidconv::progress::Silent;
use skidconv::report::listing::Trips;

use super::case;
use super::tool::testdata;

/// Of the loop that begins at `header`; `None` if that is not known.
fn trips(name: &str, header: u64, correct: bool) -> Option<Trips> {
    let options = Options {
        input: case(name),
        symfs: vec![testdata("cases/symfs")],
        annotate: Some(Annotate::Hottest),
        dry: true,
        correct,
        ..Options::default()
    };
    let done = pipeline::run(&options, &Silent).unwrap();
    let mut loops =
        done.listings.iter().flat_map(|l| l.loops.iter().map(|of| (l.lines[of.header].address, of)));
    loops.find(|(address, _)| *address == header).expect("the loop is listed").1.trips
}

fn covers(trips: Trips, truth: f64) -> bool {
    (trips.low..=trips.high).contains(&truth) && (trips.low..=trips.high).contains(&trips.value)
}

/// Exact counts: 2,000,000 runs of fn1's header in 400,000 calls, 10,696,400 of matmul's in 48,400.
#[test]
fn trip_counts_have_intervals_with_the_truth_in_them() {
    let in_fn1 = trips("nist_fn", 0x4016f0, true).expect("it is known");
    assert!(covers(in_fn1, 5.0) && in_fn1.high < 100.0, "{in_fn1:?}");
    let in_matmul = trips("matmul", 0x4017a2, true).expect("it is known");
    assert!(covers(in_matmul, 221.0) && in_matmul.low > 10.0, "{in_matmul:?}");
}

/// That fn2's goes round 5 times the samples do not tell from a thousand times.
#[test]
fn what_is_not_known_is_not_told() {
    assert!(trips("nist_fn", 0x401720, true).is_none_or(|trips| covers(trips, 5.0)));
    assert_eq!(trips("nist_fn", 0x4016f0, false), None, "nothing was solved");
}
