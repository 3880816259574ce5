//! The accuracy bench scores as it says: distances, noise and blocks worked out by hand.

#[path = "../benches/accuracy/score.rs"]
#[allow(dead_code)]
mod score;
#[path = "../benches/accuracy/truth.rs"]
#[allow(dead_code)]
mod truth;
mod tool;

use score::{distance, levels, noise};
use tool::{folder, testdata};
use truth::{Profile, Truth};

/// Two functions: a loop of two blocks from 401000, and a straight one at 401010 behind a gap.
const TABLE: &str = "S\t401000\t401008\tprog\tlooping\n\
                     S\t401010\t401014\tprog\tstraight\n\
                     I\t401000\t2\t10\t5\t0\t0\n\
                     I\t401002\t2\t40\t70\t3\t0\t0\t40\t0\n\
                     I\t401004\t2\t40\t5\t0\t1\t40\t10\t0\n\
                     I\t401006\t2\t10\t20\t0\t0\n\
                     I\t401010\t4\t0\t0\t0\t0\n\
                     E\t401004\t401002\t30\n\
                     E\t401004\t401006\t10\n\
                     T\t100\t100\t1\n";

/// The table's truth; each test writes it to a folder of its own, for they run at the same time.
fn table(test: &str) -> Truth {
    let path = folder(test).join("table.tsv");
    std::fs::write(&path, TABLE).unwrap();
    Truth::read(&path, &testdata("cases/symfs")).unwrap()
}

#[test]
fn distance_is_half_the_sum_of_differences_of_shares() {
    let a = Profile::from([(1, 1.0), (2, 3.0)]);
    let b = Profile::from([(2, 10.0), (3, 10.0)]);
    assert_eq!(distance(&a, &b), Some(0.5), "½ (¼ + ¼ + ½)");
    assert_eq!(distance(&a, &a), Some(0.0));
    assert_eq!(distance(&a, &Profile::new()), None);
}

#[test]
fn blocks_begin_at_targets_behind_transfers_gaps_and_with_functions() {
    let truth = table("scoring-blocks");
    let blocks: Vec<u64> =
        [0x401000, 0x401002, 0x401004, 0x401006, 0x401010].map(|a| truth.block(a)).to_vec();
    assert_eq!(blocks, [0x401000, 0x401002, 0x401002, 0x401006, 0x401010]);
    assert_eq!(truth.block(0x401001), u64::MAX, "no instruction begins there");
    assert_eq!(truth.function(0x401007), 0x401000);
    assert_eq!(truth.function(0x401008), 0, "between functions, in no mapping");
    assert_eq!((truth.heads[&0x401002], truth.loads[&0x401002], truth.branches[&0x401004]), (70.0, 3.0, 1.0));
}

#[test]
fn each_level_is_scored_by_its_own_units() {
    // all 100 samples in the loop's second instruction, but for 10 in the other function
    let samples = Profile::from([(0x401004, 90.0), (0x401010, 10.0)]);
    let [function, block, instruction] = levels(&table("scoring-levels"), &samples).map(Option::unwrap);
    assert!((function - 0.1).abs() < 1e-12);
    assert!((block - 0.2).abs() < 1e-12, "½ (.1 + (.9 − .8) + .1 + .1)");
    assert!((instruction - 0.6).abs() < 1e-12, "½ (.1 + .4 + (.9 − .4) + .1 + .1)");
}

#[test]
fn noise_is_that_of_independent_samples() {
    // shares .1 .4 .4 .1 and 50 samples; no function is in doubt, for one has them all
    let truth = table("scoring-noise");
    let scores = noise(&truth, 50.0, &[0.0; 3]);
    let off = |t: f64, samples: f64| (2.0 / std::f64::consts::PI * t * (1.0 - t) / samples).sqrt();
    let is = |noise: Option<f64>, sum: f64| (noise.unwrap() - 0.5 * sum).abs() < 1e-12;
    assert_eq!(scores.function, Some(0.0));
    assert!(is(scores.block, 2.0 * off(0.1, 50.0) + off(0.8, 50.0)));
    assert!(is(scores.instruction, 2.0 * off(0.1, 50.0) + 2.0 * off(0.4, 50.0)));
    assert!(is(scores.edge, 2.0 * off(0.75, 20.0)), "40 of 100 instructions are transfers, 30 of one kind");
    assert_eq!(scores.retired, None, "nothing else was recorded");
    let parts = noise(&truth, 0.0, &[0.0, 30.0, 0.0]);
    assert!(is(parts.retired, 2.0 * off(0.2, 30.0)), "40 and 10 loads");
    assert_eq!(parts.instruction, None);
}

#[test]
fn a_recording_s_addresses_are_found_in_its_binary() {
    let truth = Truth::read(&testdata("cases/nist_fn.truth.tsv"), &testdata("cases/symfs")).unwrap();
    let images = [("/opt/cases/nist_fn/nist_fn".to_owned(), 0)];
    assert_eq!(truth.images, images.into(), "linked where it is mapped");
    assert_eq!(truth.function(0x401720), 0x401710);
    assert!(truth.edges[&(0x401730, 0x401720)] > 0.0);
}
