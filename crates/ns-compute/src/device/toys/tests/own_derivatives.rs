//! Compares fits whose metric has the derivatives at their own point with those of SIMD lanes, which make the same
//! steps. A wrong derivative in the kernels would change the number of steps.

use std::sync::Arc;

use ns_core::{
    Control, Data, Device, Drawn, FitOutcome, FitRequest, FitTask, HistosysCode, Interpolation, Model,
    NormsysCode, OutcomeParts, Search, Session, Start, TaskOutcome,
};

use super::super::super::GpuSession;
use super::super::super::fit_kind::Size;
use super::super::super::host::Host;
use super::super::super::shape::with_own_derivatives;
use super::super::super::test_support::execution;
use crate::cpu::CpuSession;
use crate::plan::Plan;

// The module `models` is private to the file that includes it. Therefore each test module includes it again.
#[allow(dead_code, clippy::duplicate_mod)]
#[path = "../../../../tests/oracle/models.rs"]
mod models;

/// Number of toys of each model.
const TOYS: u64 = 24;

/// Largest number of steps of a short fit. In longer fits rounding errors grow, and may change the number of steps.
const SHORT: usize = 12;

/// Interpolation codes. Second derivatives of the normsys factors of code 4 are approximated, others are exact.
const CODES: [Interpolation; 3] = [
    Interpolation::SMOOTH,
    Interpolation { normsys: NormsysCode::Code4, histosys: HistosysCode::Code2 },
    Interpolation { normsys: NormsysCode::Code6, histosys: HistosysCode::Code4p },
];

/// Returns a session whose fits use the derivatives at their own point, whatever the model.
fn nonlinear(model: &Model) -> CpuSession {
    let mut session = CpuSession::open(model, &execution()).unwrap();
    let mut plan: Plan = session.plan().clone();
    plan.policy.strongly_nonlinear = true;
    session.plan = Arc::new(plan);
    session
}

/// Returns the outcome of a single descent for each toy.
fn descents(session: &dyn Session, drawn: &Drawn, fixed: &[(usize, f64)]) -> Vec<Option<FitOutcome>> {
    let fit = FitRequest {
        start: Start::Init,
        search: Search::Local,
        single_descent: true,
        fixed: fixed.to_vec(),
        ..FitRequest::default()
    };
    let task = FitTask { data: drawn.clone().into(), fits: vec![fit], cancel: None };
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(&[task], OutcomeParts::default(), Control::default(), &mut outcomes).unwrap();
    outcomes.into_iter().map(|outcome| outcome.fits.into_iter().next().and_then(Result::ok)).collect()
}

/// Numbers of fits, and of their steps, in SIMD lanes and on the device.
#[derive(Debug, Default)]
struct Compared {
    /// Number of fits that converge in lanes and on the device, and number of those that end in the same minimum. Only
    /// these are counted below.
    fits: usize,
    same: usize,
    /// Number of fits with at most [`SHORT`] steps, and number of those that take as many steps on the device.
    short: usize,
    as_many: usize,
    /// Number of fits that the device made.
    devices: u64,
    /// Number of steps of all fits in lanes, and on the device.
    here: usize,
    there: usize,
}

impl Compared {
    /// Fits `toys` toys of the random model with this seed, with all parameters free and with one parameter fixed.
    fn add(&mut self, seed: u64, toys: u64) {
        let mut model =
            Model { interpolation: CODES[seed as usize % CODES.len()], ..models::random_model(seed) };
        let point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        let session = CpuSession::open(&model, &execution()).unwrap();
        models::hold_idle(&mut model, &session, &point);
        let cpu = nonlinear(&model);
        let gpu = GpuSession::on(nonlinear(&model), Arc::new(Host::new()), Device::Cuda(0)).unwrap();
        // Fits without dual parameters (constrained parameters that are eliminated from the metric) share their
        // derivatives.
        let size = gpu.given_kind.as_ref().map_or(Size::default(), |kind| kind.size);
        if !with_own_derivatives(&gpu.plan, size, gpu.backend.properties()).own {
            return;
        }
        let source = cpu.toy_source(&point, &Data::observed(), 5, 1).unwrap();
        let drawn = Drawn { source, toys: 0..toys };
        for fixed in [vec![], vec![(0, 1.5)]] {
            let (here, there) = (descents(&cpu, &drawn, &fixed), descents(&gpu, &drawn, &fixed));
            for (a, b) in here.iter().zip(&there) {
                let (Some(a), Some(b)) = (a, b) else { continue };
                self.fits += usize::from(a.converged() && b.converged());
                if a.converged() && b.converged() && (a.nll - b.nll).abs() < 1e-7 {
                    self.same += 1;
                    self.here += a.n_iterations;
                    self.there += b.n_iterations;
                    self.short += usize::from(a.n_iterations <= SHORT);
                    self.as_many += usize::from(a.n_iterations <= SHORT && a.n_iterations == b.n_iterations);
                }
            }
        }
        self.devices += gpu.check().unwrap().n_fits;
    }
}

#[test]
fn fits_with_derivatives_of_their_own_make_the_steps_of_lanes() {
    let mut all = Compared::default();
    (0..60).for_each(|seed| all.add(seed, TOYS));
    assert!(all.short >= 500 && all.devices >= 1500, "{all:?}");
    // A single descent may end in another minimum of a model with several minima.
    assert!(all.same * 100 >= 98 * all.fits, "{all:?}");
    assert!(all.as_many * 100 >= 97 * all.short, "{all:?}");
    assert!(all.here.abs_diff(all.there) * 50 <= all.here, "{all:?}");
}

/// A few fits for the race detector, in which a fit takes a second.
#[test]
fn few_fits_with_derivatives_of_their_own() {
    let mut all = Compared::default();
    (0..4).for_each(|seed| all.add(seed, 2));
    assert!(all.devices >= 6, "{all:?}");
}
