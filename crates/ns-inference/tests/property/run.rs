//! Checks the properties of many random models with several threads.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::checks::{Depth, Report, check};
use super::workspace::{Case, draw};

/// Number of checks of one property, and number of its violations.
#[derive(Debug, Default, Clone)]
pub struct Count {
    pub looked: usize,
    pub violated: usize,
    /// Number of models with a violation of the property.
    pub models: usize,
    pub worst: f64,
    pub worst_model: u64,
}

/// Numbers of checks and violations of each property, over all models.
#[derive(Debug, Default)]
pub struct Summary {
    pub models: usize,
    pub models_violated: usize,
    /// Number of models that have a negative expected yield at a minimum and at least one finding.
    pub negative_yield: usize,
    pub properties: BTreeMap<&'static str, Count>,
    pub refused: BTreeMap<&'static str, usize>,
}

impl Summary {
    fn add(&mut self, case: &Case, report: &Report) {
        self.models += 1;
        self.negative_yield += usize::from(!report.negative_yield.is_empty());
        self.models_violated += usize::from(!report.violations.is_empty());
        for property in &report.looked {
            self.properties.entry(property).or_default().looked += 1;
        }
        let mut seen: Vec<&str> = Vec::new();
        for finding in &report.violations {
            let count = self.properties.entry(finding.property).or_default();
            count.violated += 1;
            if !seen.contains(&finding.property) {
                seen.push(finding.property);
                count.models += 1;
            }
            if finding.size >= count.worst {
                (count.worst, count.worst_model) = (finding.size, case.index);
            }
        }
        for refused in &report.refused {
            *self.refused.entry(refused.property).or_default() += 1;
        }
    }
}

/// Checks `count` models, beginning with the index `first`. Passes the report on each model to `each` when the model
/// has been checked.
pub fn run(
    first: u64,
    count: u64,
    threads: usize,
    depth: Depth,
    each: &(dyn Fn(&Case, &Report) + Sync),
) -> Summary {
    let next = AtomicU64::new(0);
    let summary = Mutex::new(Summary::default());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count {
                        return;
                    }
                    let case = draw(first + at);
                    let begin = Instant::now();
                    let mut report = check(&case, depth);
                    report.seconds = begin.elapsed().as_secs_f64();
                    each(&case, &report);
                    summary.lock().unwrap().add(&case, &report);
                }
            });
        }
    });
    summary.into_inner().unwrap()
}
