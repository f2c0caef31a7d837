//! Tests of functions of parameters, of penalties, and of models in which bins and events share parameters.

use crate::events_oracle::{channel, channel_nll, even, model, table};
use ns_compute::CpuSession;
use ns_core::{
    Channel, ChannelAxis, Constraint, Control, Data, Density, Effect, EvaluationRequest, EventModelError,
    Execution, FitRequest, FitTask, Function, FunctionForm, InterpolationForm, Measured, Model, Modifier,
    Observations, OutcomeParts, Penalty, PenaltyForm, Sample, Session, SessionError, TaskOutcome, Value,
};

const P: fn(usize) -> Value = Value::Parameter;
const N: fn(f64) -> Value = Value::Number;

fn open(model: &Model) -> CpuSession {
    CpuSession::open(model, &Execution::default()).unwrap()
}

fn evaluate(session: &CpuSession, data: &Data, point: &[f64]) -> (f64, Vec<f64>, Vec<f64>) {
    let request =
        EvaluationRequest { nll: true, gradient: true, hessian: true, ..EvaluationRequest::default() };
    let found = session.evaluate(data, point, request).unwrap();
    (found.nll[0], found.gradient, found.hessian)
}

/// Compares the gradient and the Hessian of a session at `point` with finite differences of the function `f`.
fn check_derivatives(f: &dyn Fn(&[f64]) -> f64, session: &CpuSession, point: &[f64]) {
    let (value, gradient, hessian) = evaluate(session, &Data::observed(), point);
    assert!((value - f(point)).abs() < 1e-10 * (1.0 + value.abs()), "{value} {}", f(point));
    let n = point.len();
    let moved = |p: usize, h: f64, q: usize, k: f64| {
        let mut moved = point.to_vec();
        moved[p] += h;
        moved[q] += k;
        f(&moved)
    };
    for p in 0..n {
        let h = 1e-4 * (0.1 + point[p].abs());
        let slope = (moved(p, h, p, 0.0) - moved(p, -h, p, 0.0)) / (2.0 * h);
        assert!((gradient[p] - slope).abs() < 1e-5 * (1.0 + slope.abs()), "{p}: {} {slope}", gradient[p]);
        for q in 0..n {
            let (h, k) = (10.0 * h, 1e-3 * (0.1 + point[q].abs()));
            let both = moved(p, h, q, k) - moved(p, h, q, -k) - moved(p, -h, q, k) + moved(p, -h, q, -k);
            let (want, got) = (both / (4.0 * h * k), hessian[p * n + q]);
            assert!((got - want).abs() < 1e-4 * (1.0 + want.abs()), "{p} {q}: {got} {want}");
        }
    }
}

fn gaussian_nll(x: f64, mean: f64, sigma: f64) -> f64 {
    0.5 * ((x - mean) / sigma).powi(2) + (sigma * (2.0 * std::f64::consts::PI).sqrt()).ln()
}

#[test]
fn penalties_and_functions_have_right_values_and_derivatives() {
    let parameters =
        [("a", 1.4, (0.1, 9.0)), ("b", 2.2, (0.1, 9.0)), ("alpha", 0.4, (-5.0, 5.0)), ("c", 0.9, (0.1, 9.0))];
    let mut model = model(&parameters, Vec::new());
    let function = |name: &str, form| Function { name: name.to_owned(), form };
    let variation = |lo, hi, code| InterpolationForm { alpha: P(2), lo, hi, code };
    model.functions = vec![
        function("sum", FunctionForm::Sum(vec![P(0), P(1), N(0.5)])),
        function("product", FunctionForm::Product(vec![Value::Function(0), P(0), P(3)])),
        function("polynomial", FunctionForm::Polynomial { x: P(1), coefficients: vec![N(1.0), P(0), P(3)] }),
        function(
            "interpolation",
            FunctionForm::Interpolation {
                nominal: 5.0,
                variations: vec![variation(4.2, 6.1, 5), variation(4.9, 5.3, 4)],
                positive: true,
            },
        ),
    ];
    model.observed.aux = vec![7.0, 1.3];
    let penalty = |name: &str, form| Penalty { name: name.to_owned(), form };
    let f = Value::Function;
    model.penalties = vec![
        penalty("gaussian", PenaltyForm::Gaussian { x: f(0), mean: Measured::Datum(1), sigma: P(3) }),
        penalty("poisson", PenaltyForm::Poisson { count: Measured::Datum(0), mean: f(1) }),
        penalty(
            "lognormal",
            PenaltyForm::Lognormal { x: Measured::Value(f(2)), mu: Measured::Value(N(0.8)), sigma: P(0) },
        ),
        penalty("gamma", PenaltyForm::Gamma { x: P(1), shape: Measured::Value(f(3)), rate: P(0) }),
    ];
    let oracle = |q: &[f64]| {
        let (a, b, alpha, c) = (q[0], q[1], q[2], q[3]);
        let (sum, polynomial) = (a + b + 0.5, 1.0 + a * b + c * b * b);
        let product = sum * a * c;
        // Codes 5 and 4 inside |alpha| < 1, from their conditions at -1, 0 and 1.
        let (hi, lo): (f64, f64) = (6.1 / 5.0, 4.2 / 5.0);
        let smooth = |v: f64, d: f64, s: f64, t: f64| {
            t * t
                * ((3.0 - 3.0 * t * t + t.powi(4)) * v
                    + (-1.125 + 1.75 * t * t - 0.625 * t.powi(4)) * d
                    + (0.125 - 0.25 * t * t + 0.125 * t.powi(4)) * s)
        };
        let odd = |v: f64, d: f64, s: f64, t: f64| {
            t * ((1.875 - 1.25 * t * t + 0.375 * t.powi(4)) * v
                + (-0.875 + 1.25 * t * t - 0.375 * t.powi(4)) * d
                + (0.125 - 0.25 * t * t + 0.125 * t.powi(4)) * s)
        };
        let (up, down) =
            ([hi - 1.0, hi * hi.ln(), hi * hi.ln().powi(2)], [lo - 1.0, -lo * lo.ln(), lo * lo.ln().powi(2)]);
        let half =
            |sign: [f64; 3]| -> [f64; 3] { std::array::from_fn(|i| 0.5 * (up[i] + sign[i] * down[i])) };
        let (e, o) = (half([1.0, -1.0, 1.0]), half([-1.0, 1.0, -1.0]));
        let factor = 1.0 + smooth(e[0], e[1], e[2], alpha) + odd(o[0], o[1], o[2], alpha);
        let (s, t) = (0.5 * (5.3 - 4.9), 0.0625 * ((5.3 - 5.0) - (5.0 - 4.9)));
        let shift = alpha * (s + alpha * t * (15.0 + alpha * alpha * (-10.0 + 3.0 * alpha * alpha)));
        let shape = 5.0 * factor + shift;
        let gaussian = gaussian_nll(sum, 1.3, c);
        let poisson = product - 7.0 * product.ln() + 5040.0_f64.ln();
        let lognormal = gaussian_nll(polynomial.ln(), 0.8, a) + polynomial.ln();
        let gamma = ln_gamma(shape) - shape * a.ln() - (shape - 1.0) * b.ln() + a * b;
        gaussian + poisson + lognormal + gamma
    };
    check_derivatives(&oracle, &open(&model), &[1.4, 2.2, 0.4, 0.9]);
}

/// Returns `ln Gamma(x)`, computed by recurrence and Stirling's series.
fn ln_gamma(x: f64) -> f64 {
    let (mut y, mut product) = (x, 1.0);
    while y < 30.0 {
        product *= y;
        y += 1.0;
    }
    let series = 1.0 / (12.0 * y) - 1.0 / (360.0 * y.powi(3)) + 1.0 / (1260.0 * y.powi(5));
    (y - 0.5) * y.ln() - y + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - f64::ln(product)
}

/// Returns a model with a binned channel and an event channel. Both share the signal strength, the luminosity and the
/// normalisation of the background.
fn mixed() -> Model {
    let parameters = [
        ("mu", 1.1, (0.0, 10.0)),
        ("lumi", 1.0, (0.5, 1.5)),
        ("mean", 2.1, (0.0, 4.0)),
        ("norm", 0.9, (0.0, 9.0)),
    ];
    let gaussian = Density::Gaussian { x: 0, mean: P(2), sigma: N(0.4) };
    let processes = vec![(Value::Function(0), gaussian), (Value::Function(1), Density::Uniform { x: 0 })];
    let events: Vec<f64> = even(20, 0)
        .into_iter()
        .chain([1.8, 1.9, 2.0, 2.05, 2.2, 2.4])
        .map(|x| 4.0_f64.min(x * 1.2))
        .collect();
    let mut model = model(&parameters, vec![(channel(&[(0.0, 4.0)], true, processes), table(vec![events]))]);
    model.functions = vec![
        Function { name: "signal".to_owned(), form: FunctionForm::Product(vec![N(8.0), P(0), P(1)]) },
        Function { name: "background".to_owned(), form: FunctionForm::Product(vec![N(20.0), P(3), P(1)]) },
    ];
    let modifier = |name: &str, first, effect| Modifier { name: name.to_owned(), first, effect };
    let sample = |name: &str, nominal: Vec<f64>, norm: usize| Sample {
        name: name.to_owned(),
        nominal,
        modifiers: vec![modifier("factor", norm, Effect::NormFactor), modifier("lumi", 1, Effect::Lumi)],
    };
    model.channels = vec![Channel {
        name: "bins".to_owned(),
        first_bin: 0,
        n_bins: 2,
        samples: vec![sample("signal", vec![3.0, 6.0], 0), sample("background", vec![20.0, 10.0], 3)],
        axis: ChannelAxis::default(),
    }];
    model.parameters[1].constraint = Constraint::Gaussian { sigma: 0.05, aux: 0 };
    model.observed.main = vec![24.0, 17.0];
    model.observed.aux = vec![1.0];
    model.pois = vec![0];
    model
}

#[test]
fn bins_and_events_share_parameters() {
    let model = mixed();
    let (channel, table) = (&model.event_channels[0], &model.observed.events[0]);
    let oracle = |q: &[f64]| {
        let value = |value: Value| match value {
            Value::Number(x) => x,
            Value::Parameter(p) => q[p],
            Value::Function(0) => 8.0 * q[0] * q[1],
            Value::Function(_) => 20.0 * q[3] * q[1],
        };
        let bins = [(24.0, 3.0, 20.0), (17.0, 6.0, 10.0)].map(|(n, s, b): (f64, f64, f64)| {
            let expected = (s * q[0] + b * q[3]) * q[1];
            expected - n * expected.ln() + ln_gamma(n + 1.0)
        });
        channel_nll(channel, table, &value) + bins.iter().sum::<f64>() + gaussian_nll(q[1], 1.0, 0.05)
    };
    let session = open(&model);
    check_derivatives(&oracle, &session, &[1.1, 1.02, 2.1, 0.9]);

    let task = FitTask { data: Data::observed(), fits: vec![FitRequest::default()], cancel: None };
    let wanted = OutcomeParts { covariance: true, ..OutcomeParts::default() };
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(&[task], wanted, Control::default(), &mut outcomes).unwrap();
    let outcome = outcomes.remove(0).fits.remove(0).unwrap();
    assert!(outcome.converged());
    let here = oracle(&outcome.parameters);
    assert!((here - outcome.nll).abs() < 1e-10 * here.abs());
    for p in 0..4 {
        for step in [-0.01, 0.01] {
            let mut moved = outcome.parameters.clone();
            moved[p] += step * outcome.uncertainties[p].unwrap();
            assert!(oracle(&moved) > here, "parameter {p}");
        }
    }
}

#[test]
fn data_with_other_counts_keep_the_events_of_the_model() {
    let model = mixed();
    let session = open(&model);
    let point = [1.1, 1.0, 2.1, 0.9];
    let other: Data = Observations::binned(model.observed.main.clone(), model.observed.aux.clone()).into();
    assert_eq!(evaluate(&session, &other, &point), evaluate(&session, &Data::observed(), &point));
    let fewer = Observations { events: vec![table(vec![vec![1.0, 2.0]]).into()], ..model.observed.clone() };
    let (value, ..) = evaluate(&session, &fewer.into(), &point);
    assert!((value - evaluate(&session, &Data::observed(), &point).0).abs() > 1.0);
    let wrong =
        Observations { events: vec![table(vec![vec![1.0], vec![2.0]]).into()], ..model.observed.clone() };
    let request = EvaluationRequest { nll: true, ..EvaluationRequest::default() };
    assert!(matches!(
        session.evaluate(&wrong.into(), &point, request),
        Err(SessionError::WrongLength { actual: 2, expected: 1, .. })
    ));
    assert_eq!(session.saturated_nll(&Data::observed()), Ok(None));
}

#[test]
fn inconsistent_models_are_refused() {
    let refused = |change: &dyn Fn(&mut Model)| {
        let mut model = mixed();
        change(&mut model);
        match CpuSession::open(&model, &Execution::default()) {
            Err(SessionError::EventModel(error)) => error,
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("the model was accepted"),
        }
    };
    let error = refused(&|model| model.event_channels[0].processes[0].rate = P(9));
    assert!(matches!(error, EventModelError::NoSuchParameter { index: 9, count: 4, .. }), "{error}");
    let error = refused(&|model| model.functions[0].form = FunctionForm::Sum(vec![Value::Function(1)]));
    assert!(matches!(error, EventModelError::NoSuchFunction { index: 1, count: 0, .. }), "{error}");
    let error = refused(&|model| model.event_channels[0].ranges = vec![vec![(2.0, 1.0)]]);
    assert!(matches!(error, EventModelError::NotAscending { .. }), "{error}");
    let error = refused(&|model| model.observed.events.clear());
    assert!(matches!(error, EventModelError::WrongLength { .. }), "{error}");
    let error = refused(&|model| {
        let density = Density::Uniform { x: 3 };
        model.event_channels[0].processes[1].density = density;
    });
    assert!(matches!(error, EventModelError::NoSuchObservable { index: 3, count: 1, .. }), "{error}");
}

#[test]
fn asimov_data_are_fitted_best_where_they_were_made() {
    let mut model = mixed();
    model.observed.aux.push(3.0);
    model.functions.push(Function { name: "twice".to_owned(), form: FunctionForm::Sum(vec![P(0), P(0)]) });
    model.penalties = vec![Penalty {
        name: "control".to_owned(),
        form: PenaltyForm::Poisson { count: Measured::Datum(1), mean: Value::Function(2) },
    }];
    let session = open(&model);
    let point = [1.3, 1.01, 1.7, 0.8];
    let asimov = session.asimov(&point, &Data::observed()).unwrap();
    let made = asimov.counts(&model);
    let total = 8.0 * 1.3 * 1.01 + 20.0 * 0.8 * 1.01;
    assert!((made.events[0].sum_of_weights() - total).abs() < 1e-10 * total);
    assert_eq!(made.aux, [1.01, 2.6]);
    let (_, gradient, _) = evaluate(&session, &asimov, &point);
    assert!(gradient.iter().all(|g| g.abs() < 1e-8), "{gradient:?}");
    assert!(session.toy_source(&point, &Data::observed(), 1, 0).is_ok());
}
