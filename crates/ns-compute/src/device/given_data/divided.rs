//! Compares fits of a large model by the kernels, which are compiled for the CPU, with fits of a CPU session. The bins
//! of the model are divided into groups.

use std::sync::Arc;

use ns_core::{
    Constraint, Control, Data, Drawn, Effect, FitOutcome, FitRequest, FitTask, LeftToCpu, Model,
    OutcomeParts, Search, Session, Start, TaskOutcome,
};

use super::tests::{fits, model_of, modifier, parameter, sample};
use crate::device::test_support::both;

const GROUPS: usize = 5;
const BINS: usize = 30;
const OWN: usize = 40;

/// Returns a model of `GROUPS` channels, which is different for each `seed`. Each channel has `OWN` nuisance parameters of its own. The signal strength, a
/// luminosity and one nuisance parameter with a shape act on all channels. Every seventh nuisance parameter has narrow
/// bounds, which hold it in many fits.
fn model(seed: usize) -> Model {
    let gaussian = |aux| Constraint::Gaussian { sigma: 1.0, aux };
    let mut parameters = vec![
        parameter("mu", 1.0, (0.0, 10.0), Constraint::None),
        parameter("lumi", 1.0, (0.5, 1.5), Constraint::Gaussian { sigma: 0.02, aux: 0 }),
        parameter("shared", 0.0, (-5.0, 5.0), gaussian(1)),
    ];
    let (mut channels, mut main, mut aux) = (Vec::new(), Vec::new(), vec![1.0, 0.0]);
    for group in 0..GROUPS {
        let wave = |p: usize, b: usize| (((b + group + 5 * seed) * (p + 3 + seed)) % 11) as f64 - 5.0;
        let nominal: Vec<f64> = (0..BINS).map(|b| 80.0 + wave(1, b)).collect();
        let moved = |p: usize, by: f64| -> Effect {
            let side = |by: f64| (0..BINS).map(|b| nominal[b] + by * wave(p, b)).collect();
            Effect::HistoSys { lo: side(-by), hi: side(0.9 * by) }
        };
        let mut modifiers = vec![modifier(1, Effect::Lumi), modifier(2, moved(50, 0.4))];
        for own in 0..OWN {
            let p = parameters.len();
            let bound = if own % 7 == 0 { 0.05 } else { 5.0 };
            parameters.push(parameter(&format!("alpha{p}"), 0.0, (-bound, bound), gaussian(aux.len())));
            aux.push(0.0);
            let norm = Effect::NormSys { lo: 0.98, hi: 1.03 };
            modifiers.push(modifier(p, if own % 3 == 0 { norm } else { moved(own, 0.3) }));
        }
        let signal: Vec<f64> = (0..BINS).map(|b| (b % 5) as f64 + 1.0).collect();
        let signal = sample(&signal, vec![modifier(0, Effect::NormFactor)]);
        channels.push(vec![sample(&nominal, modifiers), signal]);
        main.extend((0..BINS).map(|b| (83.0 + wave(7, b) + wave(2, b)).round()));
    }
    model_of(parameters, channels, main, aux)
}

fn same(a: &FitOutcome, b: &FitOutcome) {
    assert!(a.converged() && b.converged(), "{:?} and {:?}", a.status, b.status);
    assert!((a.nll - b.nll).abs() < 1e-9, "{} and {}", a.nll, b.nll);
    for (p, (x, y)) in a.parameters.iter().zip(&b.parameters).enumerate() {
        assert!((x - y).abs() < 1e-6, "parameter {p}: {x} and {y}");
    }
    assert_eq!(a.inactive, b.inactive);
}

#[test]
fn fits_of_models_with_groups_of_bins_are_those_of_the_cpu() {
    for seed in 0..4 {
        let (cpu, gpu) = both(&model(seed));
        assert!(cpu.is_too_large_for_lanes() && !cpu.is_too_large_for_gpus());
        let requests = [vec![], vec![(0, 0.0)], vec![(2, 1.0)], vec![(4, 0.5)]].map(|fixed| FitRequest {
            fixed,
            search: Search::Local,
            ..FitRequest::default()
        });
        for (a, b) in fits(&cpu, &requests).iter().zip(&fits(&gpu, &requests)) {
            same(a, b);
        }
        assert_eq!((gpu.left_to_cpu(), gpu.check().map(|check| check.n_fits)), (None, Some(4)));
    }
}

#[test]
fn toys_of_a_model_with_groups_of_bins_are_those_of_the_cpu() {
    let model = model(0);
    let (cpu, gpu) = both(&model);
    let point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    let source = cpu.toy_source(&point, &Data::observed(), 8, 0).unwrap();
    let request =
        FitRequest { start: Start::At(point.into()), search: Search::Local, ..FitRequest::default() };
    let conditional = FitRequest { fixed: vec![(0, 0.5)], start: Start::Earlier(0), ..request.clone() };
    let toys = |session: &dyn Session| {
        let drawn = Drawn { source: Arc::clone(&source), toys: 0..12 };
        let fits = vec![request.clone(), conditional.clone()];
        let mut outcomes: Vec<TaskOutcome> = Vec::new();
        let task = FitTask { data: drawn.into(), fits, cancel: None };
        session.fit_batch(&[task], OutcomeParts::default(), Control::default(), &mut outcomes).unwrap();
        outcomes.into_iter().flat_map(|outcome| outcome.fits).map(Result::unwrap).collect::<Vec<_>>()
    };
    let (here, there) = (toys(&cpu), toys(&gpu));
    assert_eq!((here.len(), there.len()), (24, 24));
    let mut held = 0;
    for (a, b) in here.iter().zip(&there) {
        same(a, b);
        held += a.inactive.len();
    }
    assert!(held > 100, "{held} parameters at bounds");
    assert_eq!(gpu.check().map(|check| check.n_fits), Some(24));
}

/// Returns a model of ten channels of 45 bins. Every bin has a staterror parameter, and each channel four free factors
/// for a tenth of its bins each. No constrained parameter is eliminated from the metric, because the three that are not
/// local act on all channels.
fn model_of_factors() -> Model {
    const CHANNELS: usize = 10;
    const BINS: usize = 45;
    const FREE: usize = 4;
    let gaussian = |sigma, aux| Constraint::Gaussian { sigma, aux };
    let mut parameters = vec![parameter("mu", 1.0, (0.0, 10.0), Constraint::None)];
    let (mut aux, mut main, mut channels) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..3 {
        parameters.push(parameter(&format!("shared{i}"), 0.0, (-5.0, 5.0), gaussian(1.0, aux.len())));
        aux.push(0.0);
    }
    for channel in 0..CHANNELS {
        let wave = |p: usize, b: usize| (((b + channel) * (p + 3)) % 11) as f64 - 5.0;
        let nominal: Vec<f64> = (0..BINS).map(|b| 60.0 + wave(1, b)).collect();
        let mut modifiers: Vec<_> = (0..3)
            .map(|p| {
                let side = |by: f64| (0..BINS).map(|b| nominal[b] + by * wave(p, b)).collect();
                modifier(p + 1, Effect::HistoSys { lo: side(-0.3), hi: side(0.3) })
            })
            .collect();
        modifiers.push(modifier(parameters.len(), Effect::StatError));
        for _ in 0..BINS {
            let name = format!("gamma{}", parameters.len());
            parameters.push(parameter(
                &name,
                1.0,
                (1e-10, 10.0),
                gaussian(0.03 + 0.01 * channel as f64, aux.len()),
            ));
            aux.push(1.0);
        }
        let mut samples = vec![sample(&nominal, modifiers)];
        for free in 0..FREE {
            let yields: Vec<f64> = (0..BINS).map(|b| if b % 10 == free { 30.0 } else { 0.0 }).collect();
            let p = parameters.len();
            parameters.push(parameter(&format!("factor{p}"), 1.0, (0.0, 10.0), Constraint::None));
            samples.push(sample(&yields, vec![modifier(p, Effect::NormFactor)]));
        }
        let signal: Vec<f64> = (0..BINS).map(|b| (b % 5) as f64 + 1.0).collect();
        samples.push(sample(&signal, vec![modifier(0, Effect::NormFactor)]));
        main.extend((0..BINS).map(|b| (70.0 + wave(7, b) + wave(2, b)).round()));
        channels.push(samples);
    }
    model_of(parameters, channels, main, aux)
}

#[test]
fn fits_of_groups_without_eliminated_parameters_are_those_of_the_cpu() {
    let (cpu, gpu) = both(&model_of_factors());
    assert!(cpu.is_too_large_for_lanes() && !cpu.is_too_large_for_gpus());
    let requests = [vec![], vec![(0, 0.0)], vec![(1, 1.0)]].map(|fixed| FitRequest {
        fixed,
        search: Search::Local,
        ..FitRequest::default()
    });
    let (here, there) = (fits(&cpu, &requests), fits(&gpu, &requests));
    for (a, b) in here.iter().zip(&there) {
        same(a, b);
    }
    // With the diagonal of another group in the metric, the first fit made 25 iterations.
    assert!(there[0].n_iterations <= 16, "{} iterations", there[0].n_iterations);
    let check = gpu.check().unwrap();
    assert_eq!((gpu.left_to_cpu(), check.n_fits), (None, 3));
}

/// Fits of toys in large models make no search, which could lead away from a ridge between two minima.
#[test]
fn toys_of_a_large_model_with_a_ridge_are_left_to_the_cpu() {
    let mut model = model(0);
    for sample in model.channels.iter_mut().flat_map(|channel| &mut channel.samples) {
        for modifier in &mut sample.modifiers {
            if let Effect::NormSys { lo, hi } = &mut modifier.effect {
                (*lo, *hi) = (1.03, 1.03);
            }
        }
    }
    let (cpu, gpu) = both(&model);
    let point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    let source = cpu.toy_source(&point, &Data::observed(), 8, 0).unwrap();
    let request =
        FitRequest { start: Start::At(point.into()), search: Search::Local, ..FitRequest::default() };
    let drawn = Drawn { source, toys: 0..4 };
    let task = FitTask { data: drawn.into(), fits: vec![request], cancel: None };
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    gpu.fit_batch(&[task], OutcomeParts::default(), Control::default(), &mut outcomes).unwrap();
    assert_eq!((outcomes.len(), gpu.left_to_cpu()), (4, Some(LeftToCpu::Ridge)));
}
