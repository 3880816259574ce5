//! What `--solver` offers to compare with keeps the same promises, and is no worse than the samples as they stand.

use crate::accuracy::score;
use crate::fixed::{Fixed, case, symfs};
use crate::tool::folder;

#[test]
fn baselines_move_samples_nearer_to_the_truth_and_say_who_they_are() {
    let folder = folder("baselines");
    for solver in ["mean", "profi", "bolt", "mcf", "ics"] {
        let arguments = ["--solver", solver, "--seed", "7"];
        let fixed = Fixed::new("nist_fn", &folder, &case("nist_fn"), Some(&symfs()), &arguments);
        let kept =
            fixed.samples().iter().all(|(a, b)| (a.attr, a.period, a.time) == (b.attr, b.period, b.time));
        assert!(kept, "{solver}");
        let distance = score(&fixed).instructions;
        assert!(distance[1] < 0.9 * distance[0], "{solver}: {distance:?}");
        assert_eq!(fixed.report["solver"], solver);
        let regions = fixed.report["regions"].as_array().expect("regions");
        assert!(!regions.is_empty() && regions.iter().all(|r| r["solver"] == solver), "{regions:?}");
    }
}

#[test]
fn a_baseline_gives_equal_bytes_on_any_number_of_threads() {
    let folder = folder("baselines-threads");
    let bytes = |threads: &str| {
        let arguments = ["--solver", "mcf", "--seed", "7", "--threads", threads];
        let fixed = Fixed::new("branchy", &folder, &case("branchy"), Some(&symfs()), &arguments);
        std::fs::read(fixed.after).expect("a recording")
    };
    assert!(bytes("1") == bytes("3"));
}
