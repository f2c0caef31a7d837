//! Analyses of random models agree with each other and with single fits.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

mod property;

use std::sync::Mutex;

/// Models that every run of the tests looks at; the example `check_consistency` takes more.
const MODELS: u64 = 2_000;

#[test]
#[ignore = "for the time being; run by name"]
fn analyses_of_random_models_are_consistent() {
    let found = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let summary = property::run::run(0, MODELS, threads, &|case, report| {
        for violation in &report.violations {
            found.lock().unwrap().push((
                case.index,
                format!("model {}: {}: {}", case.index, violation.property, violation.numbers),
            ));
        }
    });
    let mut found = found.into_inner().unwrap();
    found.sort_by_key(|f| f.0);
    assert_eq!(summary.models as u64, MODELS);
    let lines: Vec<String> = found.iter().map(|f| f.1.clone()).collect();
    assert!(lines.is_empty(), "{} violations:\n{}", lines.len(), lines.join("\n"));
}
