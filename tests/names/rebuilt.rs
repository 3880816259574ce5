//! A program that is built anew while it is recorded.

use super::outputs::Outputs;
use super::tool::{compile, folder, record, text};

/// A program that spends its time in a function of this name, which every build has at the same place.
fn source(function: &str) -> String {
    format!(
        "__attribute__((noinline)) static unsigned long {function}(unsigned long n) {{\n\
         unsigned long sum = 1; for (unsigned long i = 1; i < n; i++) sum += sum / i; return sum; }}\n\
         int main(void) {{ return {function}(60000000) == 42; }}\n"
    )
}

#[test]
fn samples_of_the_first_build_do_not_get_the_names_of_the_second() {
    let folder = folder("rebuilt");
    let [first, second] = ["first_build", "second_build"]
        .map(|name| compile(&folder, name, &source(name), &["-O1", "-Wl,--build-id"]));
    let program = folder.join("program");
    let rebuild = format!(
        "mv {first} {program} && {program}; mv {second} {program} && {program}",
        first = text(&first),
        second = text(&second),
        program = text(&program)
    );
    let args = ["-e", "cpu-clock", "-F", "1500", "-g", "--", "sh", "-c", &rebuild];
    if record(&folder.join("perf.data"), &args).is_none() {
        return;
    }
    let outputs = Outputs::of(&folder, "perf.data", &[]);
    let samples = outputs.samples();
    let of_second = samples.get("second_build").copied().unwrap_or(0);
    let report: serde_json::Value = serde_json::from_str(&outputs.text("report.json")).unwrap();
    let missing = &report["missing"][0];
    let of_first = missing["samples"].as_u64().unwrap();
    assert!(missing["reason"].as_str().unwrap().contains("2 files"), "{missing}");
    // both do the same, so that each has about half of the samples
    assert!(of_second > 50 && of_first > 50, "{missing} {samples:?}");
    assert!(of_second < 2 * of_first && of_first < 2 * of_second, "{missing} {samples:?}");
}
