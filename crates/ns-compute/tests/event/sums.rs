//! Compares values, gradients and Hessians of event channels with a calculation, event by event, that is independent of
//! the engine.

use crate::events_oracle::{channel, channel_nll, even, model, table};
use ns_compute::CpuSession;
use ns_core::{
    Data, Decay, DecaySides, Density, EvaluationRequest, Execution, Given, HistosysCode, Model, Op,
    Oscillation, Session, Smearing, Tail, Tape, Value, WeightSys,
};

const P: fn(usize) -> Value = Value::Parameter;

pub(crate) fn evaluate(model: &Model, point: &[f64]) -> (f64, Vec<f64>, Vec<f64>) {
    let session = CpuSession::open(model, &Execution::default()).unwrap();
    let request =
        EvaluationRequest { nll: true, gradient: true, hessian: true, ..EvaluationRequest::default() };
    let found = session.evaluate(&Data::observed(), point, request).unwrap();
    (found.nll[0], found.gradient, found.hessian)
}

fn oracle(model: &Model, point: &[f64]) -> f64 {
    let q = |value: Value| match value {
        Value::Number(x) => x,
        Value::Parameter(p) => point[p],
        Value::Function(_) => panic!("these models have no functions"),
    };
    let channels = model.event_channels.iter().zip(&model.observed.events);
    channels.map(|(channel, table)| channel_nll(channel, table, &q)).sum()
}

/// Compares the value of `-ln L` with the independent calculation, and derivatives with finite differences of the
/// session's values and gradients.
fn check(what: &str, model: &Model, point: &[f64]) {
    let (nll, gradient, hessian) = evaluate(model, point);
    let want = oracle(model, point);
    assert!((nll - want).abs() < 1e-10 * (1.0 + want.abs()), "{what}: {nll} {want}");
    check_derivatives(what, model, point, &gradient, &hessian);
}

pub(crate) fn check_derivatives(what: &str, model: &Model, point: &[f64], gradient: &[f64], hessian: &[f64]) {
    let n = point.len();
    for p in 0..n {
        let h = 1e-4 * (0.1 + point[p].abs());
        let moved = |factor: f64| {
            let mut moved = point.to_vec();
            moved[p] += factor * h;
            evaluate(model, &moved)
        };
        // Richardson's extrapolation of two central differences: an error of order h^4.
        let [a, b, c, d] = [moved(1.0), moved(-1.0), moved(0.5), moved(-0.5)];
        let slope = |a: f64, b: f64, c: f64, d: f64| (4.0 * (c - d) / h - (a - b) / (2.0 * h)) / 3.0;
        let scale = 1.0 + gradient[p].abs();
        let difference = slope(a.0, b.0, c.0, d.0) - gradient[p];
        assert!(
            difference.abs() < 2e-7 * scale,
            "{what}: gradient {p} is {} off by {difference:e}",
            gradient[p]
        );
        for q in 0..n {
            let want = slope(a.1[q], b.1[q], c.1[q], d.1[q]);
            let got = hessian[p * n + q];
            assert!((got - want).abs() < 1e-6 * (1.0 + want.abs()), "{what}: Hessian {p} {q}: {got} {want}");
        }
    }
}

/// Builds a model in which `density` and a uniform density of the same observable are added. `values` are the start
/// values of the parameters of `density`. Returns the model and the start values of all its parameters.
fn single(axis: (f64, f64), density: Density, values: &[f64]) -> (Model, Vec<f64>) {
    let mut parameters = vec![("nu0", 30.0, (0.0, 1e3)), ("nu1", 20.0, (0.0, 1e3))];
    parameters.extend(values.iter().map(|&value| ("q", value, (-1e3, 1e3))));
    let uniform = Density::Uniform { x: 0 };
    let channel = channel(&[axis], true, vec![(P(0), density), (P(1), uniform)]);
    let events = even(37, 0).into_iter().map(|u| axis.0 + (axis.1 - axis.0) * u).collect();
    let point = parameters.iter().map(|p| p.1).collect();
    (model(&parameters, vec![(channel, table(vec![events]))]), point)
}

/// Returns a decay after 0 with the mean life `P(2)`.
fn decay(resolution: &[(Value, Value)], fractions: Vec<Value>) -> Decay {
    let resolution = resolution.iter().map(|&(mean, sigma)| Smearing { mean, sigma }).collect();
    Decay { t: 0, tau: P(2), sides: DecaySides::After, oscillation: None, resolution, fractions }
}

#[test]
fn decays_agree_with_a_numerical_convolution() {
    let n = Value::Number;
    let gauss = || decay(&[(P(3), P(4))], vec![]);
    let both = |decay: Decay| Decay { sides: DecaySides::Both, ..decay };
    let waves = |decay: Decay| {
        let oscillation = Some(Oscillation {
            delta_gamma: P(5),
            delta_m: P(6),
            cosh: n(1.0),
            sinh: P(7),
            cos: P(8),
            sin: P(9),
        });
        Decay { oscillation, ..decay }
    };
    let wave = [0.2, 1.1, 0.4, -0.3, 0.5];
    let with = |values: &[f64]| [values, &wave].concat();
    let two = decay(&[(P(3), P(4)), (n(0.1), P(5))], vec![P(6)]);
    let cases = [
        ((-2.0, 9.0), gauss(), vec![1.5, 0.1, 0.4]),
        ((-2.0, 9.0), Decay { sides: DecaySides::Before, ..gauss() }, vec![1.5, 0.1, 0.4]),
        ((-5.0, 6.0), both(gauss()), vec![1.5, -0.2, 0.7]),
        ((0.3, 4.0), gauss(), vec![0.9, 0.02, 0.05]),
        ((-4.0, 6.0), gauss(), vec![0.3, 0.0, 1.9]),
        ((-3.0, 8.0), two, vec![1.2, 0.05, 0.3, 1.1, 0.7]),
        ((0.0, 7.0), decay(&[], vec![]), vec![1.3]),
        ((-4.0, 7.0), both(decay(&[], vec![])), vec![1.3]),
        ((-2.0, 9.0), waves(gauss()), with(&[1.5, 0.1, 0.4])),
        ((-5.0, 6.0), both(waves(gauss())), with(&[1.5, -0.2, 0.7])),
        ((0.0, 7.0), waves(decay(&[], vec![])), with(&[1.3, 0.0, 0.0])),
        ((-4.0, 7.0), both(waves(decay(&[], vec![]))), with(&[1.3, 0.0, 0.0])),
    ];
    for (axis, density, values) in cases {
        let what = format!("{density:?} at {values:?}");
        let (model, point) = single(axis, Density::Decay(Box::new(density)), &values);
        check(&what, &model, &point);
    }
}

#[test]
fn densities_at_given_observables_agree_and_need_no_numerical_integral() {
    let scaled = |value: Value| Tape::new(vec![Op::Value(value), Op::Observable(1), Op::Mul(0, 1)]).unwrap();
    let resolution = vec![Smearing { mean: Value::Number(0.0), sigma: Value::Number(0.0) }];
    let decay = |sides: DecaySides| {
        let (tau, resolution) = (P(1), resolution.clone());
        let decay = Decay { t: 0, tau, sides, oscillation: None, resolution, fractions: vec![] };
        let arguments = vec![None, Some(scaled(P(2))), Some(scaled(P(3)))];
        Density::Given(Box::new(Given { density: Density::Decay(Box::new(decay)), arguments }))
    };
    let (mean, sigma) = (Value::Number(0.0), P(5));
    let peak = Density::Given(Box::new(Given {
        density: Density::Gaussian { x: 0, mean, sigma },
        arguments: vec![Some(scaled(P(4))), None],
    }));
    let parameters = [
        ("nu", 20.0, (0.0, 1e3)),
        ("tau", 1.4, (0.1, 9.0)),
        ("bias", 0.2, (-2.0, 2.0)),
        ("scale", 1.1, (0.1, 9.0)),
        ("slope", 0.9, (-9.0, 9.0)),
        ("sigma", 1.7, (0.1, 9.0)),
        ("nu1", 8.0, (0.0, 1e3)),
        ("fall", 0.7, (0.0, 9.0)),
    ];
    let error = Density::Exponential { x: 1, slope: P(7) };
    let alone = |sides| vec![(P(0), decay(sides)), (P(6), peak.clone())];
    let after = decay(DecaySides::After);
    let times = vec![
        (P(0), Density::Product(vec![after, error.clone()])),
        (P(6), Density::Product(vec![error, peak.clone()])),
    ];
    let sides = [DecaySides::After, DecaySides::Both, DecaySides::Before];
    for processes in sides.into_iter().map(alone).chain([times]) {
        let channel = channel(&[(-3.0, 8.0), (0.1, 1.3)], true, processes);
        let events = vec![
            even(5, 0).into_iter().map(|u| -3.0 + 11.0 * u).collect(),
            even(5, 1).into_iter().map(|u| 0.1 + 1.2 * u).collect(),
        ];
        let point: Vec<f64> = parameters.iter().map(|p| p.1).collect();
        check("given", &model(&parameters, vec![(channel, table(events))]), &point);
    }
}

#[test]
fn every_density_of_one_observable_agrees() {
    let tail = |alpha: usize, n: usize| Some(Tail { alpha: P(alpha), n: P(n) });
    let (x, mean, sigma) = (0, P(2), P(3));
    let cases = [
        ((60.0, 120.0), Density::Gaussian { x, mean, sigma }, vec![91.0, 4.0]),
        ((1.0, 3.0), Density::Gaussian { x, mean, sigma }, vec![-2.0, 0.8]),
        (
            (60.0, 120.0),
            Density::BifurcatedGaussian { x, mean, sigma_left: P(3), sigma_right: P(4) },
            vec![88.3, 4.0, 7.0],
        ),
        ((60.0, 120.0), Density::Exponential { x, slope: P(2) }, vec![0.02]),
        ((60.0, 120.0), Density::Exponential { x, slope: P(2) }, vec![-0.05]),
        ((60.0, 120.0), Density::Exponential { x, slope: P(2) }, vec![1e-9]),
        (
            (100.0, 160.0),
            Density::CrystalBall {
                x,
                mean,
                sigma_left: sigma,
                sigma_right: sigma,
                left: tail(4, 5),
                right: tail(6, 7),
            },
            vec![125.3, 4.0, 1.3, 4.0, 1.4, 5.0],
        ),
        (
            (100.0, 160.0),
            Density::CrystalBall {
                x,
                mean,
                sigma_left: P(3),
                sigma_right: P(4),
                left: tail(5, 6),
                right: None,
            },
            vec![125.3, 4.0, 6.0, 0.8, 1.0],
        ),
        (
            (5.2, 5.29),
            Density::Argus { x, resonance: P(2), slope: P(3), power: P(4) },
            vec![5.36, -15.0, 0.5],
        ),
        (
            (5.2, 5.29),
            Density::Argus { x, resonance: Value::Number(5.29), slope: P(2), power: P(3) },
            vec![-15.0, 0.6],
        ),
        ((60.0, 120.0), Density::BreitWigner { x, mean, width: sigma }, vec![91.0, 2.5]),
        ((60.0, 120.0), Density::Voigt { x, mean, width: P(3), sigma: P(4) }, vec![91.0, 2.5, 1.7]),
        (
            (0.5, 3.0),
            Density::Spline {
                x,
                knots: vec![0.0, 0.8, 1.9, 3.2],
                values: vec![P(2), P(3), Value::Number(2.0), P(4)],
            },
            vec![1.0, 2.5, 0.7],
        ),
        (
            (-3.0, 5.0),
            Density::JohnsonSu { x, mean, width: sigma, gamma: P(4), delta: P(5) },
            vec![0.4, 1.2, -0.5, 1.3],
        ),
        (
            (1.0, 3.0),
            Density::Polynomial { x, coefficients: vec![Value::Number(1.0), P(2), P(3)] },
            vec![0.5, 0.2],
        ),
        ((1.0, 3.0), Density::Chebyshev { x, coefficients: vec![P(2), P(3), P(4)] }, vec![0.3, -0.2, 0.1]),
        ((1.0, 3.0), Density::Bernstein { x, coefficients: vec![P(2), P(3), P(4)] }, vec![0.3, 1.2, 0.7]),
        ((0.5, 9.0), Density::Lognormal { x, mu: P(2), sigma }, vec![0.7, 0.5]),
        (
            (-4.0, 5.0),
            Density::GeneralizedNormal { x, mean: P(2), alpha: P(3), beta: P(4) },
            vec![0.31, 1.5, 2.6],
        ),
        (
            (0.0, 3.0),
            Density::Histogram {
                observables: vec![0],
                edges: vec![vec![0.0, 0.5, 2.0, 3.0]],
                heights: vec![1.0, 4.0, 2.0],
            },
            vec![],
        ),
    ];
    for (axis, density, values) in cases {
        let what = format!("{} at {values:?}", density.type_name());
        let (model, point) = single(axis, density, &values);
        check(&what, &model, &point);
    }
}

#[test]
fn templates_follow_the_weights_of_their_events() {
    let effect = |alpha, code, lo: [f64; 3], hi: [f64; 3]| WeightSys {
        alpha,
        lo: lo.to_vec(),
        hi: hi.to_vec(),
        code,
        shape: true,
        rate: false,
    };
    for code in HistosysCode::ALL.iter().copied() {
        for values in [[0.3, -0.7], [1.6, -2.2], [-1.3, 0.999]] {
            let variations = vec![
                effect(P(2), code, [0.9, 4.4, 1.5], [1.3, 4.1, 2.2]),
                effect(P(3), code, [1.1, 3.4, 1.9], [0.8, 4.4, 2.3]),
            ];
            let density = Density::Template {
                observables: vec![0],
                edges: vec![vec![0.0, 0.5, 2.0, 3.0]],
                heights: vec![1.0, 4.0, 2.0],
                variations,
            };
            let (model, point) = single((0.2, 3.0), density, &values);
            check(&format!("template, {code} at {values:?}"), &model, &point);
        }
    }
}

#[test]
fn expressions_agree_with_the_density_that_they_write_out() {
    // exp(-(x - q2)^2 / (2 q3^2)).
    let ops = vec![
        Op::Observable(0),
        Op::Value(P(2)),
        Op::Sub(0, 1),
        Op::Value(P(3)),
        Op::Div(2, 3),
        Op::Number(2.0),
        Op::Pow(4, 5),
        Op::Number(-0.5),
        Op::Mul(6, 7),
        Op::Exp(8),
    ];
    let (generic, point) = single((60.0, 120.0), Density::Generic(Tape::new(ops).unwrap()), &[91.0, 0.3]);
    let gaussian = Density::Gaussian { x: 0, mean: P(2), sigma: P(3) };
    let (closed, _) = single((60.0, 120.0), gaussian, &[91.0, 0.3]);
    let (a, b) = (evaluate(&generic, &point), evaluate(&closed, &point));
    assert!((a.0 - b.0).abs() < 1e-10, "{} {}", a.0, b.0);
    for (a, b) in a.1.iter().zip(&b.1).chain(a.2.iter().zip(&b.2)) {
        assert!((a - b).abs() < 1e-8 * (1.0 + b.abs()), "{a} {b}");
    }
}

#[test]
fn products_mixtures_ranges_and_weights_agree() {
    let gaussian =
        |x: usize, mean: usize, sigma: usize| Density::Gaussian { x, mean: P(mean), sigma: P(sigma) };
    let exponential = Density::Exponential { x: 0, slope: P(6) };
    let mixture = Density::Mixture {
        summands: vec![gaussian(0, 2, 3), exponential.clone(), Density::Uniform { x: 0 }],
        coefficients: vec![P(7), P(8)],
    };
    let all = Density::Mixture {
        summands: vec![gaussian(1, 4, 5), Density::Uniform { x: 1 }],
        coefficients: vec![P(7), P(8)],
    };
    let parameters = [
        ("nu0", 30.0, (0.0, 1e3)),
        ("nu1", 20.0, (0.0, 1e3)),
        ("mean0", 1.2, (-9.0, 9.0)),
        ("sigma0", 0.8, (0.1, 9.0)),
        ("mean1", 2.5, (-9.0, 9.0)),
        ("sigma1", 0.9, (0.1, 9.0)),
        ("slope", 0.4, (-9.0, 9.0)),
        ("c0", 0.3, (0.0, 1.0)),
        ("c1", 0.45, (0.0, 1.0)),
    ];
    let point: Vec<f64> = parameters.iter().map(|p| p.1).collect();
    let densities = [
        Density::Product(vec![gaussian(0, 2, 3), gaussian(1, 4, 5)]),
        Density::Product(vec![mixture.clone(), all.clone()]),
        Density::Product(vec![gaussian(0, 2, 3), exponential.clone(), gaussian(1, 4, 5)]),
        Density::Product(vec![gaussian(0, 2, 3), gaussian(0, 2, 3), gaussian(1, 2, 5)]),
    ];
    let [a, b, c] = [P(3), P(7), P(5)];
    let densities = densities.into_iter().chain([
        Density::MultivariateNormal {
            observables: vec![0, 1],
            mean: vec![P(2), P(4)],
            covariance: vec![vec![a, b], vec![b, c]],
        },
        Density::Product(vec![Density::Histogram {
            observables: vec![1, 0],
            edges: vec![vec![1.0, 2.0, 6.0], vec![0.0, 3.0, 4.0]],
            heights: vec![1.0, 2.0, 3.0, 4.0],
        }]),
    ]);
    for (i, density) in densities.into_iter().enumerate() {
        let background = Density::Product(vec![exponential.clone(), Density::Uniform { x: 1 }]);
        let axes = [(0.0, 4.0), (1.0, 6.0)];
        let mut channel = channel(&axes, i != 1, vec![(P(0), density), (P(1), background)]);
        if i > 0 {
            channel.ranges = vec![vec![(0.0, 1.5), (1.0, 3.0)], vec![(2.0, 4.0), (1.0, 6.0)]];
        }
        let column = |axis: usize| {
            let (lo, hi) = channel.ranges.last().map_or(axes[axis], |sides| sides[axis]);
            even(6, axis).into_iter().map(|u| lo + (hi - lo) * u).collect()
        };
        let mut events = table(vec![column(0), column(1)]);
        events.weights = Some((0..6).map(|k| 1.0 - 0.3 * f64::from(k)).collect());
        let model = model(&parameters, vec![(channel, events)]);
        check(&format!("product {i}"), &model, &point);
    }
}
