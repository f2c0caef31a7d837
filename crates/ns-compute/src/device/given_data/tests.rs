//! Compares fits of given data by the kernels, which are compiled for the CPU, with fits of a CPU session. Some models
//! have kinks or a ridge between two minima. In others, certificates of fits do not hold.

use ns_core::{
    Channel, ChannelAxis, Condition, Constraint, Data, Effect, Execution, FitOutcome, FitRequest,
    Interpolation, LeftToCpu, Model, Modifier, Observations, Parameter, ParameterSet, Sample, Search,
    Session, Start,
};

use super::super::host;
use super::*;
use crate::cpu::CpuSession;

// The module `models` is private to the file that includes it. Therefore each test module includes it again.
#[allow(dead_code, clippy::duplicate_mod)]
#[path = "../../../tests/oracle/models.rs"]
mod models;

/// Returns all models with kinks among 60 random models. Each element is the seed, the model, a CPU session and a GPU
/// session.
fn kinked() -> impl Iterator<Item = (u64, Model, CpuSession, GpuSession)> {
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
        let gpu = host::open(&model, &execution).unwrap();
        (seed, model, cpu, gpu)
    });
    opened.filter(|(_, _, cpu, _)| cpu.plan.structure.has_kinks)
}

pub(super) fn fits(session: &dyn Session, requests: &[FitRequest]) -> Vec<FitOutcome> {
    let tasks: Vec<FitTask> = requests
        .iter()
        .map(|request| FitTask { data: Data::observed(), fits: vec![request.clone()], cancel: None })
        .collect();
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(&tasks, OutcomeParts::default(), Control::default(), &mut outcomes).unwrap();
    outcomes.into_iter().flat_map(|outcome| outcome.fits).flatten().collect()
}

/// Regression test: the upload changed the tolerance of the EDM (estimated distance to the minimum). It added the
/// device address of the plan to the tolerance.
#[test]
fn the_device_s_certificates_have_the_cpu_s_tolerance() {
    for (_, _, cpu, gpu) in kinked().take(5) {
        assert_eq!(gpu.plan.edm_tolerance.to_bits(), cpu.plan.policy.edm_tolerance.to_bits());
    }
}

#[test]
fn searches_between_kinks_end_in_the_cpu_s_minima() {
    let (mut compared, mut apart, mut own) = (0, Vec::new(), 0);
    for (seed, model, cpu, gpu) in kinked() {
        let held = |p: usize, by: f64| (p, model.parameters[p].init + by);
        let last = model.parameters.len() - 1;
        // The CPU makes the searches of fewer fits.
        let held =
            [vec![], vec![held(0, 0.25)], vec![held(last, 0.1)], vec![held(0, 0.1)], vec![held(last, 0.2)]];
        assert!(held.len() > super::FEW);
        let requests =
            held.map(|fixed| FitRequest { fixed, search: Search::Standard, ..FitRequest::default() });
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
    assert!(compared > 100 && own * 5 > compared, "{own} of {compared} by the device");
    // In models with many minima, two searches do not always end in the same minimum.
    assert!(apart.len() * 50 <= compared as usize, "{apart:?} of {compared}");
}

/// Checks that fits stay within the bounds of their requests. All fits use the same starting points, which lie within
/// the bounds of the model. These bounds may be wider than those of a request.
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

fn refused(session: &dyn Session, requests: Vec<FitRequest>) -> bool {
    let task = FitTask { data: Data::observed(), fits: requests, cancel: None };
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    let result = session.fit_batch(&[task], OutcomeParts::default(), Control::default(), &mut outcomes);
    result.is_err()
}

/// Regression test: a request started from the result of another fit of its task, or had a condition on it, but this
/// other fit came later. Kernels then read an outcome of another task, or read beyond the end of the outcomes.
#[test]
fn a_fit_that_names_a_later_one_as_earlier_is_refused() {
    let model = Model { interpolation: Interpolation::SMOOTH, ..models::random_model(13) };
    let cpu = CpuSession::open(&model, &Execution::default()).unwrap();
    let gpu = host::open(&model, &Execution::default()).unwrap();
    let of = |start| FitRequest { start, ..FitRequest::default() };
    let direction: Arc<[f64]> = vec![1.0; model.parameters.len()].into();
    let condition = |fit| Some(Condition { fit, parameter: 0, range: (0.0, 1.0) });
    for session in [&cpu as &dyn Session, &gpu] {
        assert!(!refused(session, vec![of(Start::Init), of(Start::Earlier(0))]));
        for fit in [1, 2, 1_000_000_000] {
            assert!(refused(session, vec![of(Start::Init), of(Start::Earlier(fit))]), "{fit}");
            assert!(refused(session, vec![of(Start::Init), of(Start::Along(fit, Arc::clone(&direction)))]));
            let conditional = FitRequest { only_if: condition(fit), ..FitRequest::default() };
            assert!(refused(session, vec![of(Start::Init), conditional]), "{fit}");
        }
    }
}

pub(super) fn parameter(name: &str, init: f64, bounds: (f64, f64), constraint: Constraint) -> Parameter {
    Parameter { name: name.into(), init, bounds, fixed: false, constraint }
}

pub(super) fn modifier(first: usize, effect: Effect) -> Modifier {
    Modifier { name: String::new(), first, effect }
}

/// Returns a model with one channel for each list of samples in `channels`.
pub(super) fn model_of(
    parameters: Vec<Parameter>,
    channels: Vec<Vec<Sample>>,
    main: Vec<f64>,
    aux: Vec<f64>,
) -> Model {
    let set =
        |(i, p): (usize, &Parameter)| ParameterSet { name: p.name.clone(), range: i..i + 1, scalar: true };
    let mut first_bin = 0;
    let channel = |(i, samples): (usize, Vec<Sample>)| {
        let n_bins = samples[0].nominal.len();
        first_bin += n_bins;
        Channel {
            name: format!("c{i}"),
            first_bin: first_bin - n_bins,
            n_bins,
            samples,
            axis: ChannelAxis::default(),
        }
    };
    Model {
        format: ns_core::ModelFormat::Pyhf,
        unobserved: Vec::new(),
        measurement: "m".into(),
        channels: channels.into_iter().enumerate().map(channel).collect(),
        parameter_sets: parameters.iter().enumerate().map(set).collect(),
        parameters,
        pois: vec![0],
        interpolation: Interpolation::SMOOTH,
        functions: Vec::new(),
        event_channels: Vec::new(),
        penalties: Vec::new(),
        open: Vec::new(),
        observed: Observations::binned(main, aux),
        warnings: Vec::new(),
    }
}

pub(super) fn sample(nominal: &[f64], modifiers: Vec<Modifier>) -> Sample {
    Sample { name: "s".into(), nominal: nominal.to_vec(), modifiers }
}

const UNIT: Constraint = Constraint::Gaussian { sigma: 1.0, aux: 0 };

/// Regression test: if the variations up and down of an effect are equal, the derivative with respect to its parameter
/// is 0 at the parameter value 0. A descent without a search therefore ended at 0, which is on the ridge between two
/// minima. This end point was certified as a minimum.
#[test]
fn a_ridge_between_two_minima_is_no_minimum() {
    let effects = [
        Effect::NormSys { lo: 1.3, hi: 1.3 },
        Effect::HistoSys { lo: vec![130.0, 65.0], hi: vec![130.0, 65.0] },
        Effect::HistoSys { lo: vec![130.0, 65.0], hi: vec![130.0, 65.0 + 1e-9] },
    ];
    for effect in effects {
        let parameters = vec![
            parameter("mu", 1.0, (0.0, 10.0), Constraint::None),
            parameter("alpha", 0.0, (-5.0, 5.0), UNIT),
        ];
        let bent = sample(&[100.0, 50.0], vec![modifier(0, Effect::NormFactor), modifier(1, effect)]);
        let straight = sample(&[100.0], vec![modifier(0, Effect::NormFactor)]);
        let channels = vec![vec![bent], vec![straight]];
        let model = model_of(parameters, channels, vec![180.0, 90.0, 100.0], vec![0.0]);
        let cpu = CpuSession::open(&model, &Execution::default()).unwrap();
        let gpu = host::open(&model, &Execution::default()).unwrap();
        for search in [Search::Local, Search::Standard] {
            let request = FitRequest { search, ..FitRequest::default() };
            let here = fits(&cpu, std::slice::from_ref(&request));
            let there = fits(&gpu, std::slice::from_ref(&request));
            assert!(here[0].converged() && there[0].converged());
            assert!((here[0].nll - there[0].nll).abs() < 1e-9, "{} and {}", here[0].nll, there[0].nll);
            assert!(there[0].parameters[1].abs() > 1.0);
        }
        assert_eq!((gpu.left_to_cpu(), cpu.left_to_cpu()), (Some(LeftToCpu::Ridge), None));
    }
}

/// Checks that a GPU session states the reason when the CPU made the fits of a model that is too large for the
/// kernels. Before the fits it states no reason.
#[test]
fn fits_of_a_large_model_are_left_to_the_cpu_with_the_reason() {
    let (n_alphas, n_bins) = (150, 200);
    let nominal = vec![100.0; n_bins];
    let moved = |p: usize, by: f64| -> Vec<f64> {
        (0..n_bins).map(|b| 100.0 + by * (((b * (p + 3)) % 7) as f64 - 3.0)).collect()
    };
    let mut parameters = vec![parameter("mu", 1.0, (0.0, 10.0), Constraint::None)];
    let mut modifiers = vec![modifier(0, Effect::NormFactor)];
    for p in 1..=n_alphas {
        let constraint = Constraint::Gaussian { sigma: 1.0, aux: p - 1 };
        parameters.push(parameter(&format!("alpha{p}"), 0.0, (-5.0, 5.0), constraint));
        modifiers.push(modifier(p, Effect::HistoSys { lo: moved(p, -1.0), hi: moved(p, 1.0) }));
    }
    let channels = vec![vec![sample(&nominal, modifiers)]];
    let model = model_of(parameters, channels, vec![103.0; n_bins], vec![0.0; n_alphas]);
    let gpu = host::open(&model, &Execution::default()).unwrap();
    assert!(gpu.cpu.is_too_large_for_gpus());
    assert_eq!(gpu.left_to_cpu(), None);
    assert!(fits(&gpu, &[FitRequest::default()])[0].converged());
    assert_eq!(gpu.left_to_cpu(), Some(LeftToCpu::Large));
    assert_eq!(gpu.check().map(|check| check.n_fits), Some(0));
}

/// Regression test: all fits share a metric that is computed at one point. At that point, the derivative of the
/// expected yields with respect to the signal strength was ten thousand times as large as at the minimum. The device
/// therefore certified a point that was 4e-5 uncertainties away from the minimum. The run then ended because GPU and
/// CPU disagreed.
#[test]
fn a_certificate_of_a_metric_from_far_away_is_the_cpu_s_to_give() {
    let parameters = vec![
        parameter("mu", 1.0, (0.0, 10.0), Constraint::None),
        parameter("share", 1.0, (0.0, 10.0), Constraint::None),
        parameter("background", 1.0, (0.0, 10.0), Constraint::Gaussian { sigma: 0.1, aux: 0 }),
    ];
    let factor = |p| modifier(p, Effect::NormFactor);
    let channels = vec![
        vec![sample(&[1e4, 5e3], vec![factor(0), factor(1)]), sample(&[50.0, 30.0], vec![factor(2)])],
        vec![sample(&[1e6], vec![factor(1)])],
    ];
    let model = model_of(parameters, channels, vec![150.0, 85.0, 1e4], vec![1.0]);
    let cpu = CpuSession::open(&model, &Execution::default()).unwrap();
    let gpu = host::open(&model, &Execution::default()).unwrap();
    let best = fits(&cpu, &[FitRequest::default()]).remove(0);
    let uncertainty = 0.1;
    for step in [1e-6, 1e-5, 1e-4] {
        let mut point = best.parameters.clone();
        point[2] += step;
        let start = Start::At(point.clone().into());
        let request =
            FitRequest { start, fixed: vec![(2, point[2])], search: Search::Local, ..FitRequest::default() };
        let here = fits(&cpu, std::slice::from_ref(&request)).remove(0);
        let there = fits(&gpu, std::slice::from_ref(&request)).remove(0);
        let away = (here.parameters[0] - there.parameters[0]).abs() / uncertainty;
        assert!(away < 1e-6, "{step:e}: {away:e}");
        assert!((here.nll - there.nll).abs() < 1e-10);
    }
    assert!(gpu.check().unwrap().violation().is_none());
}
