//! Compares results of SIMD lanes (eight fits that are computed at once) with evaluations of single points. Checks that
//! the result of a lane does not depend on the other lanes.

#![allow(clippy::unwrap_used, clippy::panic)]

use ns_core::{
    Channel, ChannelAxis, Constraint, Data, Effect, EvaluationRequest, Execution, HistosysCode,
    Interpolation, Model, Modifier, NormsysCode, Observations, Parameter, ParameterSet, Sample, Session,
};

use super::WIDTH;
use super::descend::{DescentEnd, DescentJob, DescentMemory, FitKind, descend};
use super::descents::Lanes;
use super::evaluate::evaluate;
use super::factor_starts::factor_starts;
use super::flips::Flips;
use super::group::Bounds;
use super::jacobian::jacobian;
use super::metric::Metric;
use super::scratch::Scratch;
use super::starts::CommonPoint;
use crate::CpuSession;
use crate::simd::Level;
use crate::stop::Stop;

mod derivatives;
mod other_device;

#[allow(dead_code)]
#[path = "../../tests/oracle/models.rs"]
mod models;

#[allow(clippy::duplicate_mod)]
#[path = "../../tests/oracle/nonlinear.rs"]
mod nonlinear;

#[allow(dead_code)]
#[path = "../../tests/oracle/number.rs"]
mod number;

#[allow(dead_code)]
#[path = "../../tests/oracle/functions.rs"]
mod functions;

#[path = "../../tests/oracle/correlations.rs"]
mod correlations;

use correlations::with_correlations;
use functions::with_functions;
use models::{Random, random_model, random_point};

/// Interpolation codes that fits in SIMD lanes support.
const CODES: [Interpolation; 2] =
    [Interpolation::SMOOTH, Interpolation { normsys: NormsysCode::Code4, histosys: HistosysCode::Code2 }];

/// Returns a random model. Every third one has factors that are functions of parameters, and every fourth one correlated
/// constraints.
fn model(seed: u64) -> Model {
    let model = Model { interpolation: CODES[seed as usize % CODES.len()], ..random_model(seed) };
    let model = if seed % 3 == 2 { with_functions(model, &mut Random(seed ^ 0x77)) } else { model };
    if seed % 4 == 3 { with_correlations(model, &mut Random(seed ^ 0x99)) } else { model }
}

/// Interleaves vectors: the result contains element 0 of all vectors, then element 1 of all vectors, and so on. The
/// index order is element, vector.
fn interleave(columns: &[Vec<f64>]) -> Vec<f64> {
    (0..columns[0].len()).flat_map(|i| columns.iter().map(move |column| column[i])).collect()
}

/// Returns random counts of the main bins and auxiliary data that differ from the observed data of the model.
fn other_data(model: &Model, r: &mut Random) -> (Vec<f64>, Vec<f64>) {
    let main = model.observed.main.iter().map(|n| (n * r.between(0.5, 1.5)).round()).collect();
    let mut aux = model.observed.aux.clone();
    for parameter in &model.parameters {
        match parameter.constraint {
            Constraint::Gaussian { sigma, aux: a } => aux[a] += sigma * r.between(-1.0, 1.0),
            Constraint::Poisson { aux: a, .. } => aux[a] = (aux[a] * r.between(0.5, 1.5)).round(),
            Constraint::None => {}
        }
    }
    (main, aux)
}

#[test]
fn values_and_gradients_are_those_of_single_points() {
    let finite: usize = (0..60).map(|seed| compare_with_single_points(seed, &model(seed))).sum();
    let of_a_level = finite / Level::available().len();
    assert!(of_a_level > 200, "only {of_a_level} finite points");
}

/// Compares the results for all pairs of interpolation codes. These include codes with kinks, which fits in SIMD lanes
/// do not support.
#[test]
fn every_pair_of_codes_is_that_of_single_points() {
    for &normsys in NormsysCode::ALL {
        for &histosys in HistosysCode::ALL {
            let model =
                |seed| Model { interpolation: Interpolation { normsys, histosys }, ..random_model(seed) };
            let finite: usize = (0..12).map(|seed| compare_with_single_points(seed, &model(seed))).sum();
            assert!(finite > 50, "only {finite} finite points of normsys {normsys}, histosys {histosys}");
        }
    }
}

/// Compares SIMD lanes with evaluations of single points, on all instruction sets. Returns the number of finite
/// values.
fn compare_with_single_points(seed: u64, model: &Model) -> usize {
    let mut finite = 0;
    let mut r = Random(seed ^ 0xabc);
    let points: Vec<Vec<f64>> = (0..WIDTH).map(|_| random_point(model, &mut r)).collect();
    let (mains, auxes): (Vec<Vec<f64>>, Vec<Vec<f64>>) =
        (0..WIDTH).map(|_| other_data(model, &mut r)).unzip();
    for level in Level::available() {
        let session = CpuSession::open_at(model, &Execution::default(), level).unwrap();
        let mut scratch = Scratch::new(session.plan(), None);
        let (main, aux) = (interleave(&mains), interleave(&auxes));
        evaluate(level, session.plan(), &interleave(&points), &main, &aux, &mut scratch);
        for l in 0..WIDTH {
            let data: Data = ns_core::Observations::binned(mains[l].clone(), auxes[l].clone()).into();
            let request = EvaluationRequest { nll: true, gradient: true, ..Default::default() };
            let want = session.evaluate(&data, &points[l], request).unwrap();
            let saturated = session.saturated_nll(&data).unwrap().unwrap();
            let name = format!("seed {seed}, {}, {}, lane {l}", model.interpolation, level.name());
            if !want.nll[0].is_finite() {
                assert!(!scratch.value[l].is_finite(), "{name}: {}", scratch.value[l]);
                continue;
            }
            finite += 1;
            let got = scratch.value[l] + saturated;
            let scale = 1.0 + want.nll[0].abs() + saturated.abs() + scratch.noise[l];
            assert!((got - want.nll[0]).abs() <= 1e-13 * scale, "{name}: {got}, not {}", want.nll[0]);
            let steepest = want.gradient.iter().fold(1.0, |a: f64, b| a.max(b.abs()));
            for (p, want) in want.gradient.iter().enumerate() {
                let got = scratch.gradient[p * WIDTH + l];
                assert!((got - want).abs() <= 1e-10 * steepest, "{name}, parameter {p}: {got}, not {want}");
            }
        }
    }
    finite
}

#[test]
fn a_lane_has_the_same_bits_whatever_the_others_hold() {
    for seed in 0..40 {
        let model = model(seed);
        let mut r = Random(seed ^ 0xdef);
        let point = random_point(&model, &mut r);
        // The other lanes are at the same point, far away, or at NaN.
        let far: Vec<f64> = point.iter().map(|x| 3.0 * x + 1.0).collect();
        let nowhere = vec![f64::NAN; point.len()];
        for level in Level::available() {
            let session = CpuSession::open_at(&model, &Execution::default(), level).unwrap();
            let mut results = Vec::new();
            for neighbour in [&point, &far, &nowhere] {
                for l in [0, 3, 7] {
                    let mut points = vec![neighbour.clone(); WIDTH];
                    points[l] = point.clone();
                    let main = interleave(&vec![model.observed.main.clone(); WIDTH]);
                    let aux = interleave(&vec![model.observed.aux.clone(); WIDTH]);
                    let mut scratch = Scratch::new(session.plan(), None);
                    evaluate(level, session.plan(), &interleave(&points), &main, &aux, &mut scratch);
                    let mut bits = vec![scratch.value[l].to_bits(), scratch.noise[l].to_bits()];
                    bits.extend(scratch.gradient.iter().skip(l).step_by(WIDTH).map(|x| x.to_bits()));
                    results.push(bits);
                }
            }
            assert!(results.iter().all(|bits| *bits == results[0]), "seed {seed}, {}", level.name());
        }
    }
}

#[test]
fn a_descent_has_the_same_bits_after_and_beside_impossible_ones() {
    let mut converged = 0;
    for seed in 0..40 {
        let model = model(seed);
        let start: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        let aux = &model.observed.aux;
        for level in Level::available() {
            let session = CpuSession::open_at(&model, &Execution::default(), level).unwrap();
            let plan = session.plan();
            let mut single = crate::eval::Scratch::new(plan);
            let rows = jacobian(level, plan, &start, &mut single);
            // Free factors on which no yield depends are fixed.
            let fixed: Vec<bool> = (model.parameters.iter().enumerate())
                .map(|(p, parameter)| {
                    matches!(parameter.constraint, Constraint::None) && rows.row(p).all(|(_, x)| x == 0.0)
                })
                .collect();
            let Some(metric) = Metric::new(plan, &start, aux, &fixed, &rows, false) else {
                continue;
            };
            let mut barrier = vec![false; start.len()];
            plan.structure.poisson.param.iter().for_each(|&p| barrier[p] = true);
            let bounds = Bounds {
                lower: model.parameters.iter().map(|p| p.bounds.0).collect(),
                upper: model.parameters.iter().map(|p| p.bounds.1).collect(),
                barrier,
            };
            let width = vec![None; plan.n_parameters()];
            let kind = FitKind {
                plan,
                level,
                metric: &metric,
                bounds: &bounds,
                width: &width,
                descents: &Lanes,
                stop: Stop::default(),
            };
            let job = |main, aux, start| DescentJob { main, aux, start, beat: None };
            let good = job(&model.observed.main, aux, &start);
            let alone = descend(&kind, &[good], &mut DescentMemory::new(plan, &metric)).remove(0);
            converged += usize::from(alone.converged);

            let mut r = Random(seed);
            let (main, other_aux) = other_data(&model, &mut r);
            let huge: Vec<f64> = main.iter().map(|n| 1e300 * (n + 1.0)).collect();
            let (lost, nowhere) = (vec![f64::INFINITY; aux.len()], vec![f64::NAN; start.len()]);
            let others = [
                job(&main, &other_aux, &start),
                job(&huge, &other_aux, &start),
                job(&main, &lost, &start),
                job(&huge, &lost, &start),
                job(&main, &other_aux, &nowhere),
            ];
            let mut jobs = Vec::new();
            for k in 0..30 {
                jobs.push(if k % 3 == 2 { good } else { others[k % others.len()] });
            }
            let mut memory = DescentMemory::new(plan, &metric);
            // The second round reuses the memory that the first round has written.
            for _ in 0..2 {
                let ends = descend(&kind, &jobs, &mut memory);
                assert_eq!(ends.len(), jobs.len());
                for (k, end) in ends.iter().enumerate().filter(|(k, _)| k % 3 == 2) {
                    assert_eq!(bits(&alone), bits(end), "seed {seed}, {}, job {k}", level.name());
                }
            }
        }
    }
    assert!(converged > 20, "only {converged} descents converge");
}

/// Returns all numbers in the result of a descent. Floating-point numbers are returned as their bits.
fn bits(end: &DescentEnd) -> (Vec<u64>, Vec<usize>, Vec<usize>, bool, [usize; 2]) {
    let numbers = end.theta.iter().chain([&end.value, &end.edm]);
    let numbers = numbers.map(|x| x.to_bits()).collect();
    let counts = [end.iterations, end.evaluations];
    (numbers, end.held.clone(), end.empty.clone(), end.converged, counts)
}

/// Returns a model with two bins, a signal and a background. The signal has a free factor `mu`, and the parameter
/// `shape` moves the signal from the first bin to the second. Both signs of the parameter `bent` raise the background
/// by the same amount.
fn valley_model(observed: [f64; 2]) -> Model {
    let modifier = |first, effect| Modifier { name: String::new(), first, effect };
    let sample = |name: &str, nominal: [f64; 2], modifiers| Sample {
        name: name.into(),
        nominal: nominal.to_vec(),
        modifiers,
    };
    let shape = Effect::HistoSys { hi: vec![50.0, 1.2], lo: vec![150.0, 0.8] };
    let bend = Effect::HistoSys { hi: vec![400.0, 120.0], lo: vec![400.0, 120.0] };
    let samples = vec![
        sample("signal", [100.0, 1.0], vec![modifier(0, Effect::NormFactor), modifier(1, shape)]),
        sample("background", [400.0, 100.0], vec![modifier(2, bend)]),
    ];
    let parameter = |name: &str, init, bounds, constraint| Parameter {
        name: name.into(),
        init,
        bounds,
        fixed: false,
        constraint,
    };
    let pull = |aux| Constraint::Gaussian { sigma: 1.0, aux };
    let parameters = vec![
        parameter("mu", 1.0, (0.0, 10.0), Constraint::None),
        parameter("shape", 0.0, (-5.0, 5.0), pull(0)),
        parameter("bent", 0.0, (-5.0, 5.0), pull(1)),
    ];
    let sets = parameters.iter().enumerate();
    let parameter_sets =
        sets.map(|(i, p)| ParameterSet { name: p.name.clone(), range: i..i + 1, scalar: true }).collect();
    Model {
        format: ns_core::ModelFormat::Pyhf,
        unobserved: Vec::new(),
        measurement: "valley".into(),
        channels: vec![Channel {
            name: "c".into(),
            first_bin: 0,
            n_bins: 2,
            samples,
            axis: ChannelAxis::default(),
        }],
        parameters,
        parameter_sets,
        pois: vec![0],
        interpolation: Interpolation::SMOOTH,
        functions: Vec::new(),
        event_channels: Vec::new(),
        penalties: Vec::new(),
        open: Vec::new(),
        observed: Observations::binned(observed.to_vec(), vec![0.0; 2]),
        warnings: Vec::new(),
    }
}

/// Calls `look` once for every instruction set. The arguments of `look` are the inputs that all fits of `model` share,
/// the starting point, and working memory.
fn with_kind(model: &Model, look: impl Fn(&FitKind<'_>, &[f64], &mut DescentMemory)) {
    let start: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    for level in Level::available() {
        let session = CpuSession::open_at(model, &Execution::default(), level).unwrap();
        let plan = session.plan();
        let mut single = crate::eval::Scratch::new(plan);
        let rows = jacobian(level, plan, &start, &mut single);
        let fixed = vec![false; start.len()];
        let metric = Metric::new(plan, &start, &model.observed.aux, &fixed, &rows, false).unwrap();
        let bounds = Bounds {
            lower: model.parameters.iter().map(|p| p.bounds.0).collect(),
            upper: model.parameters.iter().map(|p| p.bounds.1).collect(),
            barrier: vec![false; start.len()],
        };
        let width = vec![None, Some(1.0), Some(1.0)];
        let kind = FitKind {
            plan,
            level,
            metric: &metric,
            bounds: &bounds,
            width: &width,
            descents: &Lanes,
            stop: Stop::default(),
        };
        look(&kind, &start, &mut DescentMemory::new(plan, &metric));
    }
}

#[test]
fn a_bent_parameter_is_flipped_to_its_other_minimum_and_a_straight_one_is_not() {
    let model = valley_model([500.0, 120.0]);
    with_kind(&model, |kind, start, memory| {
        let pulled: Vec<f64> = vec![start[0], start[1] - 0.1, 0.8];
        let job =
            DescentJob { main: &model.observed.main, aux: &model.observed.aux, start: &pulled, beat: None };
        let best = descend(kind, &[job], memory).remove(0);
        assert!(best.converged && best.theta[2] > 0.3, "{best:?}");
        let found = Flips::new(kind.plan, &[1, 2]).of_minima(kind, &[(&job, &best)], memory);
        assert_eq!(found, [[vec![best.theta[0], best.theta[1], -best.theta[2]]]]);
    });
}

#[test]
fn flips_lead_toys_to_their_lowest_minimum() {
    let model = nonlinear::model();
    let session = CpuSession::open(&model, &Execution::default()).unwrap();
    assert!(session.plan().policy.strongly_nonlinear);
    let missed = nonlinear::missed(&session, &session);
    assert!(missed.above.len() * 100 <= missed.toys, "{} missed: {:?}", missed.above.len(), missed.above);
}

#[test]
fn valleys_follow_a_free_factor_where_others_make_room_for_it() {
    let model = valley_model([500.0, 101.0]);
    with_kind(&model, |kind, start, memory| {
        let common = CommonPoint { point: start, main: &model.observed.main, aux: &model.observed.aux };
        let found = factor_starts(kind, &common, memory);
        let places: Vec<f64> = found.iter().map(|point| point[0]).collect();
        assert_eq!(places, [0.25, 4.0]);
        // In one point the factor is 4 and the sample is a quarter as large; in the other it is 1/4 and the sample is
        // larger.
        let left = found[1][0] * (1.0 - 0.5 * found[1][1]);
        assert!((left - 1.0).abs() < 0.1 && found[0][1] < -0.5, "{found:?}");
    });
}

/// Returns a model whose signal has two free factors. The second factor is determined by a control region. The best fit
/// has the values 1.4 and 0.01, and the uncertainty of the first factor is about 0.12.
fn product_model() -> Model {
    let modifier = |first| Modifier { name: String::new(), first, effect: Effect::NormFactor };
    let both = vec![modifier(0), modifier(1)];
    let signal = Sample { name: "signal".into(), nominal: vec![1e4, 0.0], modifiers: both };
    let control = Sample { name: "control".into(), nominal: vec![0.0, 1e6], modifiers: vec![modifier(1)] };
    let mut model = valley_model([140.0, 1e4]);
    model.channels[0].samples = vec![signal, control];
    model.parameters[1].init = 1.0;
    model.parameters[1].bounds = (0.0, 10.0);
    model.parameters[1].constraint = Constraint::None;
    model
}

/// Regression test for a metric that was computed at a point at which the signal is a hundred times as large. Points
/// with a true EDM of ten thousand times the limit were then certified as minima.
#[test]
fn a_metric_from_far_away_certifies_no_point_beside_the_minimum() {
    let model = product_model();
    let (minimum, uncertainty) = ([1.4, 0.01, 0.0], 0.12);
    with_kind(&model, |kind, _, memory| {
        for away in [1e-6, 3e-6, 1e-5, 3e-5, 1e-4] {
            let start = [minimum[0] + away * uncertainty, minimum[1], minimum[2]];
            let job = DescentJob {
                main: &model.observed.main,
                aux: &model.observed.aux,
                start: &start,
                beat: None,
            };
            let end = descend(kind, &[job], memory).remove(0);
            let left = (end.theta[0] - minimum[0]).abs() / uncertainty;
            assert!(end.converged && left < 1.5e-6, "{away:e}: {left:e}, {end:?}");
        }
    });
}

#[test]
fn only_products_of_free_factors_need_a_smaller_edm() {
    let tolerance =
        |model: &Model| CpuSession::open(model, &Execution::default()).unwrap().plan().policy.edm_tolerance;
    let mut model = product_model();
    assert!(tolerance(&model) < 1.1e-18);
    model.parameters[1].fixed = true;
    assert_eq!(tolerance(&model), 1e-12);
    model.parameters[1].fixed = false;
    model.channels[0].samples[0].modifiers.pop();
    assert_eq!(tolerance(&model), 1e-12);
    assert_eq!(tolerance(&valley_model([500.0, 120.0])), 1e-12);
}

/// Returns a model of three bins, in which three samples with free factors make up for each other, and 40 effects on all
/// samples.
fn model_of_factors() -> Model {
    let mut model = valley_model([0.0; 2]);
    let free = |name: &str| Parameter {
        name: name.into(),
        init: 1.0,
        bounds: (0.0, 10.0),
        fixed: false,
        constraint: Constraint::None,
    };
    let pull = |k: usize| Parameter {
        name: format!("pull {k}"),
        init: 0.0,
        bounds: (-5.0, 5.0),
        fixed: false,
        constraint: Constraint::Gaussian { sigma: 1.0, aux: k },
    };
    let yields = [[1000.0, 60.0, 80.0], [400.0, 170.0, 90.0], [300.0, 55.0, 140.0]];
    let sample = |(s, nominal): (usize, &[f64; 3])| {
        let size = |k: usize| 0.02 + 0.01 * ((7 * k + 3 * s) % 11) as f64;
        let norm = |k: usize| Effect::NormSys { hi: 1.0 + size(k), lo: 1.0 - size(k) };
        let of = |first, effect| Modifier { name: String::new(), first, effect };
        let effects = (0..40).map(|k| of(3 + k, norm(k)));
        let modifiers = std::iter::once(of(s, Effect::NormFactor)).chain(effects).collect();
        Sample { name: format!("sample {s}"), nominal: nominal.to_vec(), modifiers }
    };
    let samples = yields.iter().enumerate().map(sample).collect();
    model.channels =
        vec![Channel { name: "c".into(), first_bin: 0, n_bins: 3, samples, axis: ChannelAxis::default() }];
    model.parameters = ["a", "b", "c"].map(free).into_iter().chain((0..40).map(pull)).collect();
    let sets = model.parameters.iter().enumerate();
    model.parameter_sets =
        sets.map(|(i, p)| ParameterSet { name: p.name.clone(), range: i..i + 1, scalar: true }).collect();
    model.observed = Observations::binned(vec![1700.0, 285.0, 310.0], vec![0.0; 40]);
    model
}

#[test]
fn factors_that_make_up_for_each_other_are_fitted_with_a_jacobian_per_lane() {
    let model = model_of_factors();
    let start: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    let session = CpuSession::open(&model, &Execution::default()).unwrap();
    let (plan, level) = (session.plan(), Level::available()[0]);
    let rows = jacobian(level, plan, &start, &mut crate::eval::Scratch::new(plan));
    let fixed = vec![false; start.len()];
    let metric = Metric::new(plan, &start, &model.observed.aux, &fixed, &rows, false).unwrap();
    assert!(metric.own_derivatives);
    let bounds = Bounds {
        lower: model.parameters.iter().map(|p| p.bounds.0).collect(),
        upper: model.parameters.iter().map(|p| p.bounds.1).collect(),
        barrier: vec![false; start.len()],
    };
    let width: Vec<_> = (0..start.len()).map(|p| (p >= 3).then_some(1.0)).collect();
    let kind = FitKind {
        plan,
        level,
        metric: &metric,
        bounds: &bounds,
        width: &width,
        descents: &Lanes,
        stop: Stop::default(),
    };
    let mut r = Random(7);
    let toys: Vec<_> = (0..24).map(|_| other_data(&model, &mut r)).collect();
    let job = |(main, aux)| DescentJob { main, aux, start: &start, beat: None };
    let jobs: Vec<_> = toys.iter().map(|(main, aux)| job((main, aux))).collect();
    let ends = descend(&kind, &jobs, &mut DescentMemory::new(plan, &metric));
    let evaluations: usize = ends.iter().map(|end| end.evaluations).sum();
    assert!(
        ends.iter().all(|end| end.converged) && evaluations < 40 * ends.len(),
        "{evaluations} evaluations"
    );
}
