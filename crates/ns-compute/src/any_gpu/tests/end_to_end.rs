//! Fits of toys on the device have the minima of the CPU.

use std::sync::Arc;

use ns_core::{Control, Interpolation, Search, Start};

use super::*;

/// Fits toys with `session`, freely and with a fixed parameter of interest.
pub(super) fn toys(session: &dyn Session, model: &Model, seed: u64, n: u64) -> Option<Vec<TaskOutcome>> {
    let point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    let source = session.toy_source(&point, &Data::observed(), seed, 1).ok()?;
    let start = Start::At(point.into());
    let free = FitRequest { start, search: Search::Local, ..FitRequest::default() };
    let fixed = FitRequest { fixed: vec![(0, 1.5)], ..free.clone() };
    let drawn = Drawn { source: Arc::clone(&source), toys: 0..n };
    let task = FitTask { data: drawn.into(), fits: vec![free, fixed], cancel: None };
    let mut out: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(&[task], OutcomeParts::default(), Control::default(), &mut out).unwrap();
    Some(out)
}

#[test]
fn toys_of_random_models_have_the_minima_of_the_cpu() {
    let (mut fits, mut other) = (0, Vec::new());
    for seed in [1, 3] {
        let mut model = Model { interpolation: Interpolation::SMOOTH, ..random_model(seed) };
        let cpu = CpuSession::open(&model, &Execution::default()).unwrap();
        let point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        hold_idle(&mut model, &cpu, &point);
        let cpu = CpuSession::open(&model, &Execution::default()).unwrap();
        let Some(gpu) = session(&model) else { return };
        let (Some(wanted), Some(got)) = (toys(&cpu, &model, seed, 64), toys(&gpu, &model, seed, 64)) else {
            continue;
        };
        eprintln!("{seed}: {:?} {:?}", gpu.counts(), gpu.left_to_cpu());
        for (i, (wanted, got)) in wanted.iter().zip(&got).enumerate() {
            for (wanted, got) in wanted.fits.iter().zip(&got.fits) {
                let (wanted, got) = (wanted.as_ref().unwrap(), got.as_ref().unwrap());
                fits += 1;
                if (wanted.nll - got.nll).abs() > 1e-8 || wanted.status != got.status {
                    other.push((seed, i, wanted.nll, got.nll));
                }
            }
        }
    }
    assert!(fits > 200 && other.len() * 200 <= fits, "{} of {fits}: {other:?}", other.len());
}
