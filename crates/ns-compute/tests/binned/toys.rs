//! Compares fits of toys in SIMD lanes (several toys per vector) with fits of the same toys one by one, for
//! random models and for every instruction set of this machine. The minima must agree, and the bits of a
//! toy's outcome must not depend on the other toys in its vector.

use std::ops::Range;
use std::sync::Arc;

use crate::correlations::with_correlations;
use crate::functions::with_functions;
use crate::models::{Random, hold_idle, random_model};
use ns_compute::{CpuSession, Level};
use ns_core::{
    Condition, Control, Covariance, Data, Drawn, EvaluationRequest, Execution, FitFailure, FitOutcome,
    FitRequest, FitTask, Interpolation, InverseHessian, Model, OutcomeParts, Search, Session, Start,
    TaskOutcome, ToySource,
};

const POI: usize = 0;
const TESTED: f64 = 1.0;

/// Seeds of models whose factors are functions of parameters, and whose toys are mostly fitted in lanes.
const WITH_FUNCTIONS: [u64; 2] = [1000, 1005];

/// Seeds of models with correlated constraints.
const WITH_CORRELATIONS: [u64; 2] = [2000, 2001];

/// A model whose toys can be fitted in SIMD lanes (several toys per vector), with the source of its toys and the
/// requests of the two fits of each toy.
struct Study {
    model: Model,
    session: CpuSession,
    source: Arc<ToySource>,
    fits: Vec<FitRequest>,
}

impl Study {
    /// Creates the study. `start` returns the starting point of the conditional fits, given the covariance matrix of
    /// the parent fit. Returns `None` if toys cannot be drawn at the starting values, or if the parent fit, i.e. the
    /// fit to the Asimov data at these values, gives no covariance.
    fn new(seed: u64, level: Level, start: fn(Covariance) -> Start) -> Option<Self> {
        // Models with kinks, or with free factors that have no effect, are never fitted in SIMD lanes.
        let mut model = Model { interpolation: Interpolation::SMOOTH, ..random_model(seed) };
        if WITH_FUNCTIONS.contains(&seed) {
            model = with_functions(model, &mut Random(seed));
        }
        if WITH_CORRELATIONS.contains(&seed) {
            model = with_correlations(model, &mut Random(seed));
            assert!(model.correlations().next().is_some());
        }
        let mut point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        point[POI] = 0.4;
        let before = CpuSession::open(&model, &Execution::default()).unwrap();
        hold_idle(&mut model, &before, &point);
        let session = CpuSession::open_at(&model, &Execution::default(), level).unwrap();
        let source = session.toy_source(&point, &Data::observed(), seed, 1).ok()?;
        let parent = FitRequest { start: Start::At(point.clone().into()), ..FitRequest::default() };
        let task = FitTask {
            data: session.asimov(&point, &Data::observed()).unwrap(),
            fits: vec![parent],
            cancel: None,
        };
        let wanted = OutcomeParts { uncertainties: true, covariance: true, inverse: false };
        let covariance = run(&session, task, wanted).remove(0).fits.remove(0).ok()?.covariance?;
        let free = FitRequest {
            start: Start::At(point.into()),
            search: Search::Local,
            metric: Some(InverseHessian::Dense(Arc::clone(&covariance))),
            ..FitRequest::default()
        };
        let conditional = FitRequest {
            start: start(Covariance::clone(&covariance)),
            fixed: vec![(POI, TESTED)],
            only_if: Some(Condition { fit: 0, parameter: POI, range: (f64::NEG_INFINITY, TESTED) }),
            ..free.clone()
        };
        Some(Self { model, session, source, fits: vec![free, conditional] })
    }

    /// Fits toys in SIMD lanes (several toys per vector).
    fn lanes(&self, toys: Range<u64>) -> Vec<TaskOutcome> {
        let drawn = Drawn { source: Arc::clone(&self.source), toys };
        run(
            &self.session,
            FitTask { data: drawn.into(), fits: self.fits.clone(), cancel: None },
            OutcomeParts::default(),
        )
    }

    /// Makes the fits of one toy. The toy is passed to the session as given data, because the scalar optimiser fits
    /// such data.
    fn alone(&self, toy: u64) -> TaskOutcome {
        let data = self.source.draw(toy).into();
        run(&self.session, FitTask { data, fits: self.fits.clone(), cancel: None }, OutcomeParts::default())
            .remove(0)
    }

    /// Returns `-ln L` and its gradient for a toy at `point`, as the session evaluates them.
    fn evaluate(&self, toy: u64, point: &[f64]) -> (f64, Vec<f64>) {
        let request = EvaluationRequest { nll: true, gradient: true, ..EvaluationRequest::default() };
        let got = self.session.evaluate(&self.source.draw(toy).into(), point, request).unwrap();
        (got.nll[0], got.gradient)
    }
}

fn run(session: &CpuSession, task: FitTask, wanted: OutcomeParts) -> Vec<TaskOutcome> {
    let mut out = Vec::new();
    session.fit_batch(&[task], wanted, Control::default(), &mut out).unwrap();
    out
}

/// Returns the starting point that hypothesis tests use for conditional fits. It is the best fit of the free fit, moved
/// along the POI's row of the covariance matrix.
fn along(covariance: Covariance) -> Start {
    let row: Vec<f64> = (0..covariance.n).map(|p| covariance.get(POI, p)).collect();
    if row[POI] > 0.0 { Start::Along(0, row.into()) } else { Start::Earlier(0) }
}

fn earlier(_: Covariance) -> Start {
    Start::Earlier(0)
}

/// Returns whether a fit was completed in a SIMD lane and not by the scalar optimiser. The two compute
/// `projected_gradient` in different ways.
fn in_lanes(fit: &FitOutcome) -> bool {
    fit.certificate.projected_gradient == (2.0 * fit.certificate.edm).sqrt()
}

/// Returns the fits of an outcome. In front of each fit are the bits of three results: its parameters, its `-ln L`
/// and its estimated distance to the minimum (EDM).
fn bits(outcome: &TaskOutcome) -> Vec<Result<(Vec<u64>, FitOutcome), FitFailure>> {
    let fits = outcome.fits.iter();
    fits.map(|fit| {
        fit.clone().map(|fit| {
            let numbers = fit.parameters.iter().chain([&fit.nll, &fit.certificate.edm]);
            (numbers.map(|x| x.to_bits()).collect(), fit)
        })
    })
    .collect()
}

/// Returns studies, each with its seed: one for each of thirteen seeds and each instruction set of this machine. The models of
/// two have functions, and those of the last two correlated constraints. Studies that cannot be created are left out.
fn studies(start: fn(Covariance) -> Start) -> impl Iterator<Item = (u64, Study)> {
    let levels = Level::available();
    (0..9u64).chain(WITH_FUNCTIONS).chain(WITH_CORRELATIONS).flat_map(move |seed| {
        levels.clone().into_iter().filter_map(move |level| Some((seed, Study::new(seed, level, start)?)))
    })
}

#[test]
fn lanes_find_the_minima_of_the_scalar_optimiser_or_lower_ones() {
    let (mut compared, mut lanes, mut lower, mut higher) = (0, 0, 0, 0);
    let mut correlated = 0;
    for (seed, study) in studies(along) {
        for (toy, outcome) in study.lanes(0..32).iter().enumerate() {
            let name =
                |k: usize| format!("seed {seed}, {}, toy {toy}, fit {k}", study.session.level().name());
            let alone = study.alone(toy as u64);
            for (k, (fit, alone)) in outcome.fits.iter().zip(&alone.fits).enumerate() {
                let (Ok(fit), Ok(alone)) = (fit, alone) else { continue };
                if !fit.converged() || !alone.converged() || !fit.empty_bins.is_empty() {
                    continue;
                }
                compared += 1;
                lanes += usize::from(in_lanes(fit));
                correlated += usize::from(in_lanes(fit) && WITH_CORRELATIONS.contains(&seed));
                lower += usize::from(fit.nll < alone.nll - 1e-9);
                if fit.nll > alone.nll + 1e-9 {
                    higher += 1;
                    // If the value is higher, the fit must have ended in another minimum, which is far away.
                    let moved = fit.parameters.iter().zip(&alone.parameters).map(|(a, b)| (a - b).abs());
                    let moved = moved.fold(0.0, f64::max);
                    assert!(
                        moved > 1e-2,
                        "{}: -ln L {} in lanes, {} by the scalar optimiser {moved} away",
                        name(k),
                        fit.nll,
                        alone.nll
                    );
                }
                // The reported value is that at the reported point. This point is within the bounds, and in
                // conditional fits it has the POI at its fixed value.
                let (nll, _) = study.evaluate(toy as u64, &fit.parameters);
                assert!(
                    (nll - fit.nll).abs() <= 1e-11 * nll.abs().max(1.0),
                    "{}: {nll}, {}",
                    name(k),
                    fit.nll
                );
                for (x, p) in fit.parameters.iter().zip(&study.model.parameters) {
                    assert!(p.bounds.0 <= *x && *x <= p.bounds.1, "{}: {} = {x}", name(k), p.name);
                }
                assert!(k == 0 || fit.parameters[POI] == TESTED, "{}", name(k));
            }
        }
    }
    println!("{compared} fits compared, {lanes} in lanes, {lower} lower in lanes, {higher} higher");
    assert!(compared > 900 && lanes * 10 > compared * 6, "{lanes} of {compared} fits were made in lanes");
    assert!(correlated > 50, "{correlated} fits with correlated constraints were made in lanes");
    // Models with products of free factors have several minima. Fits in SIMD lanes make a short search for
    // them; single fits with `Search::Local` do not.
    assert!(higher * 200 < compared, "{higher} of {compared} are higher in lanes");
    assert!(higher <= lower, "{higher} of {compared} are higher in lanes, {lower} lower");
}

#[test]
fn minima_in_lanes_have_no_slope_but_into_bounds() {
    for (seed, study) in studies(along) {
        for (toy, outcome) in study.lanes(0..16).iter().enumerate() {
            for (k, fit) in outcome.fits.iter().enumerate() {
                let Ok(fit) = fit else { continue };
                if !fit.converged() || !in_lanes(fit) || !fit.empty_bins.is_empty() {
                    continue;
                }
                let (_, gradient) = study.evaluate(toy as u64, &fit.parameters);
                for (p, (slope, parameter)) in gradient.iter().zip(&study.model.parameters).enumerate() {
                    let (x, (lower, upper)) = (fit.parameters[p], parameter.bounds);
                    let held = (k == 1 && p == POI) || parameter.fixed;
                    let outward = (x <= lower && *slope >= 0.0) || (x >= upper && *slope <= 0.0);
                    // With an EDM of 1e-12, the slope times the parameter's uncertainty is at most 1.4e-6,
                    // and hardly any uncertainty is below 1e-3.
                    assert!(
                        held || outward || slope.abs() < 2e-3,
                        "seed {seed}, {}, toy {toy}, fit {k}: slope {slope} along {} = {x} in {lower}..{upper}",
                        study.session.level().name(),
                        parameter.name
                    );
                }
            }
        }
    }
}

#[test]
fn a_toy_does_not_see_its_neighbours() {
    for start in [along, earlier] {
        for (seed, study) in studies(start) {
            let all = study.lanes(0..60);
            assert_eq!(all.len(), 60);
            for part in [37..38, 30..50] {
                let some = study.lanes(part.clone());
                for (toy, outcome) in part.zip(&some) {
                    assert_eq!(
                        bits(&all[toy as usize]),
                        bits(outcome),
                        "seed {seed}, {}, toy {toy}",
                        study.session.level().name()
                    );
                }
            }
        }
    }
}

#[test]
fn conditional_fits_are_made_exactly_where_they_are_needed() {
    let (mut made, mut skipped) = (0, 0);
    for (seed, study) in studies(along) {
        for (toy, outcome) in study.lanes(0..50).iter().enumerate() {
            let [free, conditional] = outcome.fits.as_slice() else {
                panic!("seed {seed}, toy {toy}: {} fits", outcome.fits.len());
            };
            let needless = free.as_ref().is_ok_and(|free| free.converged() && free.parameters[POI] > TESTED);
            assert_eq!(
                needless,
                matches!(conditional, Err(FitFailure::NotNeeded)),
                "seed {seed}, {}, toy {toy}",
                study.session.level().name()
            );
            made += usize::from(!needless);
            skipped += usize::from(needless);
        }
    }
    assert!(made > 100 && skipped > 30, "{made} made, {skipped} skipped");
}

#[test]
fn the_way_to_a_conditional_fit_does_not_change_its_minimum() {
    let (mut compared, mut other) = (0, 0);
    for seed in 0..12 {
        let study = |start| Study::new(seed, Level::detect(), start);
        let (Some(a), Some(b)) = (study(along), study(earlier)) else { continue };
        for (a, b) in a.lanes(0..60).iter().zip(&b.lanes(0..60)) {
            let (Ok(a), Ok(b)) = (&a.fits[1], &b.fits[1]) else { continue };
            if a.converged() && b.converged() && a.empty_bins.is_empty() && b.empty_bins.is_empty() {
                compared += 1;
                other += usize::from((a.nll - b.nll).abs() > 1e-7);
            }
        }
    }
    println!("{compared} compared, {other} in another minimum");
    // Models with products of free factors have several minima, and these fits use `Search::Local`.
    assert!(compared > 300 && other * 50 < compared, "{other} of {compared} minima are other ones");
}
