//! Fits of given data between kinks by the kernels, compiled for the processor, against the processor's own.

use ns_core::{Execution, FitOutcome, FitRequest, Interpolation, Model, Search, Session};

use super::*;
use crate::cpu::CpuSession;

// Its functions are for the module above it alone, so that others cannot share it.
#[allow(dead_code, clippy::duplicate_mod)]
#[path = "../../../tests/oracle/models.rs"]
mod models;

/// Models with kinks among random ones.
fn kinked() -> impl Iterator<Item = (u64, Model, CpuSession, CudaSession)> {
    let of = |seed| {
        let mut model = Model { interpolation: Interpolation::PIECEWISE, ..models::random_model(seed) };
        let point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        let session = CpuSession::open(&model, &Execution::default()).unwrap();
        models::hold_idle(&mut model, &session, &point);
        model
    };
    let models = (0..60).map(move |seed| (seed, of(seed)));
    let opened = models.map(|(seed, model)| {
        let execution = Execution { threads: 2, ..Execution::default() };
        let cpu = CpuSession::open(&model, &execution).unwrap();
        let gpu = CudaSession::open_on_host(&model, &execution).unwrap();
        (seed, model, cpu, gpu)
    });
    opened.filter(|(_, _, cpu, _)| cpu.plan.has_kinks)
}

fn fits(session: &dyn Session, requests: &[FitRequest]) -> Vec<FitOutcome> {
    let tasks: Vec<FitTask> = requests
        .iter()
        .map(|request| FitTask { data: Data::Observed, fits: vec![request.clone()] })
        .collect();
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(&tasks, Wanted::default(), Control::default(), &mut outcomes).unwrap();
    outcomes.into_iter().flat_map(|outcome| outcome.fits).flatten().collect()
}

#[test]
fn searches_between_kinks_end_in_the_processor_s_minima() {
    let (mut compared, mut apart, mut own) = (0, Vec::new(), 0);
    for (seed, model, cpu, gpu) in kinked() {
        let held = |p: usize, by: f64| (p, model.parameters[p].init + by);
        let last = model.parameters.len() - 1;
        let requests = [vec![], vec![held(0, 0.25)], vec![held(last, 0.1)]].map(|fixed| FitRequest {
            fixed,
            search: Search::Standard,
            ..FitRequest::default()
        });
        let (here, there) = (fits(&cpu, &requests), fits(&gpu, &requests));
        assert_eq!(here.len(), there.len(), "seed {seed}");
        for (k, (a, b)) in here.iter().zip(&there).enumerate().filter(|(_, (a, _))| a.converged()) {
            assert!(b.converged(), "seed {seed}, fit {k}: {:?}", b.status);
            compared += 1;
            if (a.nll - b.nll).abs() > 1e-9 {
                apart.push((seed, k, b.nll - a.nll));
            }
        }
        own += gpu.check().map_or(0, |check| check.n_fits);
    }
    assert!(compared > 60 && own * 4 > compared, "{own} of {compared} by the device");
    // Two searches do not always end in the same of many minima.
    assert!(apart.len() * 50 <= compared as usize, "{apart:?} of {compared}");
}

/// Start points that all fits share are laid out in the model's box.
#[test]
fn a_search_between_kinks_stays_in_the_box_of_its_request() {
    let mut narrowed = 0;
    for (seed, model, _, gpu) in kinked() {
        let mut request = FitRequest { search: Search::Standard, ..FitRequest::default() };
        for (p, parameter) in model.parameters.iter().enumerate().filter(|(_, parameter)| !parameter.fixed) {
            let (low, high) = parameter.bounds;
            request.bounds.push((p, ((parameter.init - 0.02).max(low), (parameter.init + 0.02).min(high))));
        }
        for fit in fits(&gpu, std::slice::from_ref(&request)) {
            for &(p, (low, high)) in &request.bounds {
                let x = fit.parameters[p];
                assert!(low <= x && x <= high, "seed {seed}: {x} outside [{low}, {high}]");
            }
            narrowed += 1;
        }
    }
    assert!(narrowed > 20, "{narrowed}");
}
