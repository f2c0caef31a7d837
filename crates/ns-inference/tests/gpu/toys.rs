//! Compares toys fitted on the CPU with the same toys fitted on a GPU. Their test statistics must agree. On GPUs, the
//! results must be the same to the last bit for any batch size and any GPU.

use ns_core::{Control, Model, Session};
use ns_inference::toys::{HypotestToysOptions, ToyPlan, ToyRow, ToyStatus, ToyTest};

/// Tested value of the parameter of interest. At this value, some toys of the models tHu and tttt_prod have a larger
/// test statistic than the data, and others a smaller one.
const MU: f64 = 1.0;

/// Prepares a test with `n_toys` toys per hypothesis. The fits to the observed data are made on the CPU. All devices
/// therefore run the same toys.
pub fn prepare(model: &Model, cpu: &dyn Session, n_toys: u64) -> ToyPlan {
    try_prepare(model, cpu, n_toys).unwrap()
}

/// Does the same, but returns `None` if the model has no such test.
pub fn try_prepare(model: &Model, cpu: &dyn Session, n_toys: u64) -> Option<ToyPlan> {
    let options = HypotestToysOptions::default().n_toys(n_toys).seed(3);
    ToyTest::prepare(model, cpu, MU, &options, Control::default()).ok().map(|test| test.plan())
}

/// Runs the first `n` toys of both hypotheses, in batches of size `batch`.
pub fn run(plan: &ToyPlan, model: &Model, session: &dyn Session, n: u64, batch: Option<u64>) -> Vec<ToyRow> {
    let test = plan.attach(model, session).batch(batch);
    let ranges: Vec<_> = test.ranges().into_iter().map(|(which, range)| (which, range.start..n)).collect();
    let mut rows = Vec::new();
    let ended = test.run(&ranges, Control::default(), &mut rows).unwrap();
    assert_eq!((ended.interrupted, rows.len() as u64), (false, 2 * n));
    rows
}

/// Number of compared toys, and number of exceptions. An exception is a toy whose test statistics on CPU and GPU
/// differ by more than the tolerance.
#[derive(Debug, Default)]
pub struct Agreement {
    pub compared: usize,
    pub exceptions: usize,
    /// Number of toys that converge on the CPU but not on the GPU.
    pub lost: usize,
    pub worst: f64,
}

/// Compares toys fitted on the CPU (`here`) with the same toys fitted on the GPU (`there`), and adds the counts to
/// `all`. Prints each toy whose test statistics differ by more than `tolerance`, and each toy that converges only on
/// the CPU.
pub fn compare(name: &str, here: &[ToyRow], there: &[ToyRow], tolerance: f64, all: &mut Agreement) {
    assert_eq!(here.len(), there.len());
    for (a, b) in here.iter().zip(there) {
        assert_eq!((a.hypothesis, a.index), (b.hypothesis, b.index));
        if a.status != ToyStatus::Converged {
            continue;
        }
        let (Some(q), Some(other)) = (a.statistic, b.statistic.filter(|_| b.status == ToyStatus::Converged))
        else {
            all.lost += 1;
            eprintln!(
                "{name}: toy {} of {}: {:?} on the device: {}",
                b.index, b.hypothesis, b.status, b.reason
            );
            continue;
        };
        all.compared += 1;
        let difference = (q - other).abs();
        if difference <= tolerance {
            all.worst = all.worst.max(difference);
        } else {
            all.exceptions += 1;
            eprintln!(
                "{name}: toy {} of {}: statistic {q} and {other} on the device, best fit {:?} and {:?}",
                a.index, a.hypothesis, a.mu_hat, b.mu_hat
            );
        }
    }
}

/// Asserts that two lists of rows are equal to the last bit.
pub fn assert_same_bits(what: &str, a: &[ToyRow], b: &[ToyRow]) {
    assert_eq!(a.len(), b.len(), "{what}");
    let bits = |x: Option<f64>| x.map(f64::to_bits);
    for (a, b) in a.iter().zip(b) {
        let of = |row: &ToyRow| {
            (row.hypothesis, row.index, bits(row.statistic), bits(row.mu_hat), row.status, row.reason.clone())
        };
        assert_eq!(of(a), of(b), "{what}");
    }
}
