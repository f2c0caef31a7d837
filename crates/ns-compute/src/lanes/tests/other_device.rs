//! A device of the simplest kind: it makes descents in lanes, slowly, and returns ends in single precision. Toys must have
//! the minima of lanes all the same.

use std::sync::Arc;
use std::time::Duration;

use ns_core::{Control, Drawn, FitRequest, FitTask, OutcomeParts, Search, Start, TaskOutcome};

use super::super::descents::{DescentDevice, Descents};
use super::*;

#[derive(Debug)]
struct Slow;

impl DescentDevice for Slow {
    fn prepare(&self, _: &FitKind<'_>) -> Option<Box<dyn Descents>> {
        Some(Box::new(Slow))
    }
}

impl Descents for Slow {
    fn certifies(&self) -> bool {
        false
    }

    fn descend(
        &self,
        kind: &FitKind<'_>,
        jobs: &[DescentJob<'_>],
        memory: &mut DescentMemory,
    ) -> Vec<DescentEnd> {
        std::thread::sleep(Duration::from_millis(1));
        let mut ends = Lanes.descend(kind, jobs, memory);
        for end in &mut ends {
            end.theta.iter_mut().for_each(|x| *x = f64::from(*x as f32));
            end.converged = false;
        }
        // A device may also fail.
        if let Some(last) = ends.last_mut() {
            last.value = f64::INFINITY;
        }
        ends
    }
}

fn toys(session: &CpuSession, model: &Model) -> Vec<TaskOutcome> {
    let point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    let source = session.toy_source(&point, &Data::observed(), 5, 1).unwrap();
    let fit = FitRequest { start: Start::At(point.into()), search: Search::Local, ..FitRequest::default() };
    let data = Drawn { source, toys: 0..48 }.into();
    let mut out = Vec::new();
    let task = FitTask { data, fits: vec![fit], cancel: None };
    session.fit_batch(&[task], OutcomeParts::default(), Control::default(), &mut out).unwrap();
    out
}

#[test]
fn toys_by_another_device_have_the_minima_of_lanes() {
    for seed in [1, 3] {
        let model = Model { interpolation: Interpolation::SMOOTH, ..random_model(seed) };
        let session = || CpuSession::open(&model, &Execution::default()).unwrap();
        let wanted = toys(&session(), &model);
        let got = toys(&session().with_descents(Arc::new(Slow)), &model);
        let fits = |toys: Vec<TaskOutcome>| toys.into_iter().flat_map(|toy| toy.fits).map(Result::unwrap);
        for (wanted, got) in fits(wanted).zip(fits(got)) {
            assert!((wanted.nll - got.nll).abs() < 1e-8, "seed {seed}: {} and {}", wanted.nll, got.nll);
            assert_eq!(wanted.status, got.status);
        }
    }
}
