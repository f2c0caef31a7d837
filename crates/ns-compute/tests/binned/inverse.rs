//! Compares two forms of the inverse Hessian of large models: the full covariance matrix, and stored factors of the
//! Hessian. Fits that start near a known minimum are made with either form and without one. All must end at the same
//! minimum.

use crate::models::random_model;
use ns_compute::CpuSession;
use ns_core::{
    Control, Data, Effect, Execution, FitOutcome, FitRequest, FitTask, Interpolation, InverseHessian, Model,
    OutcomeParts, Search, Session, Start,
};

const POI: usize = 0;

/// Returns one model of more than `least` parameters that consists of random models with separate channels. They share
/// only the parameter of interest.
fn side_by_side(seed: u64, least: usize) -> Model {
    let mut all = Model { interpolation: Interpolation::SMOOTH, ..random_model(seed) };
    for next in 1.. {
        if all.parameters.len() > least {
            break;
        }
        let other = random_model(seed + 1000 * next);
        let (parameters, aux) = (all.parameters.len() - 1, all.observed.aux.len());
        let bins = all.observed.main.len();
        let moved = |p: usize| if p == POI { POI } else { p + parameters };
        for mut parameter in other.parameters.into_iter().skip(1) {
            parameter.name = format!("{next}_{}", parameter.name);
            match &mut parameter.constraint {
                ns_core::Constraint::None => {}
                ns_core::Constraint::Gaussian { aux: a, .. }
                | ns_core::Constraint::Poisson { aux: a, .. } => *a += aux,
            }
            all.parameters.push(parameter);
        }
        for mut channel in other.channels {
            channel.name = format!("{next}_{}", channel.name);
            channel.first_bin += bins;
            for sample in &mut channel.samples {
                // Without the free factors, which may be degenerate with the POI or with each other.
                sample.modifiers.retain(|m| m.first == POI || !matches!(m.effect, Effect::NormFactor));
                sample.modifiers.retain(|m| !matches!(m.effect, Effect::ShapeFactor));
                sample.modifiers.iter_mut().for_each(|m| m.first = moved(m.first));
            }
            all.channels.push(channel);
        }
        all.observed.main.extend(other.observed.main);
        all.observed.aux.extend(other.observed.aux);
    }
    // Every bin expects something, so that every starting point has a finite likelihood.
    for sample in all.channels.iter_mut().flat_map(|channel| &mut channel.samples) {
        sample.nominal.iter_mut().for_each(|x| *x = x.max(0.5));
    }
    for parameter in &mut all.parameters {
        parameter.fixed =
            !parameter.name.ends_with("mu") && parameter.constraint == ns_core::Constraint::None;
    }
    all.parameter_sets = all
        .parameters
        .iter()
        .enumerate()
        .map(|(i, p)| ns_core::ParameterSet { name: p.name.clone(), range: i..i + 1, scalar: true })
        .collect();
    all
}

fn fit(session: &CpuSession, request: FitRequest, wanted: OutcomeParts) -> FitOutcome {
    let mut out = Vec::new();
    let task = FitTask { data: Data::observed(), fits: vec![request], cancel: None };
    session.fit_batch(&[task], wanted, Control::default(), &mut out).unwrap();
    out.remove(0).fits.remove(0).unwrap()
}

#[test]
fn factors_and_matrix_of_a_large_model_agree_and_lead_to_the_same_minima() {
    for seed in 0..6 {
        let model = side_by_side(seed, 450);
        let session = CpuSession::open(&model, &Execution::default()).unwrap();
        let local = FitRequest { search: Search::Local, ..FitRequest::default() };
        let (matrix, factors) = (
            OutcomeParts { covariance: true, ..OutcomeParts::default() },
            OutcomeParts { inverse: true, ..OutcomeParts::default() },
        );
        let dense = fit(&session, local.clone(), matrix);
        let kept = fit(&session, local.clone(), factors);
        assert!(dense.converged() && kept.converged(), "seed {seed}");
        assert_eq!(kept.parameters, dense.parameters);
        assert!(kept.covariance.is_none() && dense.factors.is_none());
        let Some(InverseHessian::Dense(c)) = dense.inverse_hessian() else { panic!("no matrix") };
        let Some(inverse @ InverseHessian::Factored(_)) = kept.inverse_hessian() else {
            panic!("no factors")
        };
        assert_eq!(inverse.n_parameters(), c.n);
        for p in (0..c.n).step_by(7) {
            let row = inverse.row(p).unwrap();
            for (q, x) in row.iter().enumerate() {
                let scale = (c.get(p, p) * c.get(q, q)).sqrt();
                assert!((x - c.get(p, q)).abs() <= 1e-9 * scale + 1e-300, "seed {seed}: {p}, {q}");
            }
        }
        for (a, b) in dense.uncertainties.iter().zip(&kept.uncertainties) {
            assert_eq!(a.is_some(), b.is_some());
            assert!((a.unwrap_or(1.0) / b.unwrap_or(1.0) - 1.0).abs() < 1e-9);
        }
        let conditional = |metric: Option<InverseHessian>| FitRequest {
            start: Start::At(dense.parameters.clone().into()),
            fixed: vec![(POI, dense.parameters[POI] + 0.1)],
            metric,
            ..local.clone()
        };
        let plain = fit(&session, conditional(None), OutcomeParts::default());
        for metric in [InverseHessian::Dense(c), inverse] {
            let near = fit(&session, conditional(Some(metric)), OutcomeParts::default());
            assert!(near.converged() && (near.nll - plain.nll).abs() < 1e-10 * (1.0 + plain.nll.abs()));
            assert!(near.n_evaluations < 2 * plain.n_evaluations + 4);
        }
    }
}
