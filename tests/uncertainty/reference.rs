//! The statistics against SciPy's, on the data of `testdata/stat`.

use serde_json::Value;
use skidconv::stat::distribution::{chi_squared, fisher, normal, student};
use skidconv::stat::{Asked, density, trend};
use skidconv::stat::{
    Cells, Group, Interval, Point, Summary, bias, bootstrap, compare, interval, observe, project, welch,
};

fn reference() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/stat/reference.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

#[track_caller]
fn near(ours: f64, theirs: f64, part: f64) {
    let far = (ours - theirs).abs() / theirs.abs().max(1e-300);
    assert!(far <= part, "{ours} is not {theirs}, but {far:.1e} off");
}

#[track_caller]
fn same(ours: Interval, theirs: &Value, of: f64) {
    for (ours, theirs) in [ours.low, ours.high].into_iter().zip(numbers(theirs)) {
        assert!((ours - theirs).abs() <= of, "{ours} is not {theirs} ± {of}");
    }
}

fn samples() -> Vec<(String, Vec<f64>, Value)> {
    let reference = reference();
    let of = |(name, of): (&String, &Value)| (name.clone(), numbers(&of["values"]), of.clone());
    reference["samples"].as_object().unwrap().iter().map(of).collect()
}

#[test]
fn quantiles_and_tails_are_right() {
    let quantiles = &reference()["quantiles"];
    let rows =
        |name: &str| -> Vec<Vec<f64>> { quantiles[name].as_array().unwrap().iter().map(numbers).collect() };
    for row in rows("t") {
        near(student::coverage_factor(row[0], row[1]), row[2], 1e-6);
        near(student::two_sided(row[2], row[1]), 1.0 - row[0], 1e-6);
    }
    for row in rows("chi") {
        near(chi_squared::quantile(row[0], row[1]), row[2], 1e-6);
        near(chi_squared::above(row[2], row[1]), 1.0 - row[0], 1e-8);
    }
    rows("f").iter().for_each(|row| near(fisher::above(row[0], row[1], row[2]), row[3], 1e-8));
    for row in rows("normal") {
        assert!((normal::quantile(row[0]) - row[1]).abs() < 1e-8);
    }
}

#[test]
fn means_deviations_and_their_intervals_are_right() {
    for (name, values, of) in samples() {
        let summary = Summary::of(&values);
        near(summary.mean, number(&of["mean"]), 1e-12);
        near(summary.deviation, number(&of["deviation"]), 1e-10);
        near(summary.skewness, number(&of["skewness"]), 1e-8);
        for (ours, theirs) in summary.quartiles.iter().zip(numbers(&of["quartiles"])) {
            near(*ours, theirs, 1e-12);
        }
        same(interval(&summary, 0.95), &of["t"], 1e-6 * summary.mean);
        let group = Group {
            names: vec![name],
            totals: vec![1000.0; values.len()],
            values: vec![values],
            calls: vec![None],
            shares: false,
        };
        let table = observe(&group, &Asked { replicates: 10, ..Asked::default() });
        same(table.functions[0].mean, &of["t"], 1e-6 * summary.mean);
        same(table.functions[0].deviation, &of["chi"], 1e-6 * summary.deviation);
    }
}

/// Both sides draw at random: ends of intervals of 40,000 resamples lie within a fiftieth of the interval's length.
#[test]
fn bootstrap_intervals_are_those_of_scipy() {
    for (name, values, of) in samples() {
        let ours = bootstrap(&values, 40_000, 0.95, 1);
        for (ours, theirs) in
            [(ours.mean, &of["bootstrap_mean"]), (ours.deviation, &of["bootstrap_deviation"])]
        {
            for (ours, theirs) in [(ours.percentile, &theirs["percentile"]), (ours.bca, &theirs["bca"])] {
                let length = numbers(theirs)[1] - numbers(theirs)[0];
                println!("{name}: {:.3} to {:.3}, SciPy {theirs}", ours.low, ours.high);
                same(ours, theirs, length / 50.0);
            }
        }
    }
}

#[test]
fn a_density_is_the_sum_of_its_kernels() {
    for (_, values, of) in samples() {
        let theirs = (numbers(&of["density"]["at"])[0], numbers(&of["density"]["is"])[0]);
        // a quantum of 4 makes the bandwidth at least 2
        let ours = density(&values, 2.0 * number(&of["density"]["bandwidth"]));
        if ours.bandwidth > 2.0 {
            continue;
        }
        let at = ours.points.iter().min_by(|a, b| (a.0 - theirs.0).abs().total_cmp(&(b.0 - theirs.0).abs()));
        near(at.unwrap().1, theirs.1, 0.05);
    }
}

#[test]
fn two_groups_are_compared_as_welch_did() {
    let reference = reference();
    let (a, b) = (numbers(&reference["samples"]["counts"]["values"]), numbers(&reference["later"]));
    let theirs = &reference["welch"];
    let ours = welch(&Summary::of(&a), &Summary::of(&b));
    near(ours.difference, number(&theirs["difference"]), 1e-10);
    near(ours.freedom, number(&theirs["freedom"]), 1e-10);
    near(ours.probability, number(&theirs["probability"]), 1e-7);
    let group = |values: &Vec<f64>| Group {
        names: vec!["f".into()],
        totals: vec![1000.0; values.len()],
        values: vec![values.clone()],
        calls: vec![None],
        shares: false,
    };
    let differences = compare(&group(&a), &group(&b), 0.95);
    same(differences[0].interval, &theirs["interval"], 1e-5);
}

#[test]
fn a_projection_has_the_prediction_interval_of_its_line() {
    let theirs = &reference()["projection"];
    let points: Vec<Point> = numbers(&theirs["expected"])
        .into_iter()
        .zip(numbers(&theirs["observed"]))
        .map(|(expected, observed)| Point { expected, observed })
        .collect();
    let ours = project(&points, 0, 0.95).unwrap();
    near(ours.predicted, number(&theirs["predicted"]), 1e-10);
    near(ours.probability, number(&theirs["probability"]), 1e-6);
    same(ours.interval, &theirs["interval"], 1e-4);
    assert!(project(&points[..3], 0, 0.95).is_none());
}

#[test]
fn tests_between_groups_and_along_lines_are_right() {
    let reference = reference();
    let groups: Vec<Vec<f64>> =
        reference["anova"]["groups"].as_array().unwrap().iter().map(numbers).collect();
    near(skidconv::stat::across(&groups).unwrap(), number(&reference["anova"]["probability"]), 1e-8);
    let of = &reference["trend"];
    let ours = trend(&numbers(&of["values"])).unwrap();
    near(ours.change, 29.0 * number(&of["slope"]), 1e-9);
    near(ours.probability, number(&of["probability"]), 1e-7);
}

#[test]
fn the_table_of_runs_has_its_chi_squared() {
    let of = &reference()["table"];
    let rows: Vec<Vec<f64>> = of["counts"].as_array().unwrap().iter().map(numbers).collect();
    // four runs, six functions of one place each
    let places = (0..6).map(|f| (f, rows.iter().map(|run| run[f] as u32).collect())).collect();
    let ours = bias(&Cells { places });
    near(ours.between, number(&of["chi_squared"]) / number(&of["freedom"]), 1e-10);
    assert_eq!((ours.between_freedom, ours.within_freedom), (number(&of["freedom"]), 0.0));
    // Šidák's, of two
    let p = number(&of["probability"]);
    near(ours.differing, 1.0 - (1.0 - p) * (1.0 - p), 1e-8);
    // the same as places of one function
    let places = (0..6).map(|f| (0, rows.iter().map(|run| run[f] as u32).collect())).collect();
    near(bias(&Cells { places }).repeating, 1.0 - number(&of["probability"]), 1e-8);
}
