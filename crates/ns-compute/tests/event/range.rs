//! Tests of likelihoods whose densities are beyond the range of doubles: values, derivatives and minima.

use crate::events_oracle::{channel, model, table};
use ns_compute::CpuSession;
use ns_core::random::{Stream, open_uniform};
use ns_core::{
    Control, Data, Density, EvaluationRequest, Execution, FitOutcome, FitRequest, FitTask, Model, Op,
    OutcomeParts, Session, Start, Tail, Tape, TaskOutcome, Value,
};

const P: fn(usize) -> Value = Value::Parameter;
const N: fn(f64) -> Value = Value::Number;

fn open(model: &Model) -> CpuSession {
    CpuSession::open(model, &Execution::default()).unwrap()
}

fn fit_from(session: &CpuSession, start: &[f64]) -> FitOutcome {
    let request = FitRequest { start: Start::At(start.into()), ..FitRequest::default() };
    let task = FitTask { data: Data::observed(), fits: vec![request], cancel: None };
    let wanted = OutcomeParts { uncertainties: true, ..OutcomeParts::default() };
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(&[task], wanted, Control::default(), &mut outcomes).unwrap();
    outcomes.remove(0).fits.remove(0).unwrap()
}

/// A channel that is not extended, with one process.
fn alone(axes: &[(f64, f64)], density: Density, columns: Vec<Vec<f64>>, start: &[f64]) -> Model {
    let names = ["a", "b", "c"];
    let parameters: Vec<(&str, f64, (f64, f64))> =
        names.iter().zip(start).map(|(name, x)| (*name, *x, (-1e4, 1e4))).collect();
    model(&parameters, vec![(channel(axes, false, vec![(N(1.0), density)]), table(columns))])
}

#[test]
fn densities_that_underflow_have_right_values_and_derivatives() {
    let axis = [(-10.0, 10.0)];
    let events = vec![vec![-3.1, 0.2, 2.75]];
    let gaussian = |mean, sigma| Density::Gaussian { x: 0, mean, sigma };
    let lognormal = Density::Lognormal { x: 0, mu: P(0), sigma: P(1) };
    let johnson = Density::JohnsonSu { x: 0, mean: P(0), width: P(1), gamma: N(0.3), delta: N(1.5) };
    let flat_tailed = Density::GeneralizedNormal { x: 0, mean: P(0), alpha: P(1), beta: N(4.0) };
    // exp(-a x)
    let falling = Density::Generic(
        Tape::new(vec![Op::Value(P(0)), Op::Observable(0), Op::Mul(0, 1), Op::Neg(2), Op::Exp(3)]).unwrap(),
    );
    // Values, gradients and lower triangles of Hessians are from differences with 90 digits (mpmath).
    let cases: Vec<(&str, Model, Vec<f64>, Vec<f64>)> = vec![
        (
            "a narrow normal density",
            alone(&axis, gaussian(P(0), P(1)), events.clone(), &[0.1, 0.02]),
            vec![21581.64574658333, 1125.0, -2158912.5],
            vec![7500.0, -112500.0, 323851875.0],
        ),
        (
            "a normal density 67 standard deviations outside of the range",
            alone(&axis, gaussian(P(0), P(1)), events.clone(), &[77.0, 1.0]),
            vec![2167.5415042133169, 30.10524380767578, -4354.3138351142772],
            vec![0.00066740869344724037, -60.299960190136745, 13074.936167853439],
        ),
        (
            "a log-normal density",
            alone(&[(1.0, 10.0)], lognormal.clone(), vec![vec![1.7, 5.0]], &[0.5, 0.01]),
            vec![6153.720459404239, -11400.661634962708, -1231590.5713092619],
            vec![20000.0, 2280132.3269925415, 369517171.39277857],
        ),
        (
            "a log-normal density outside of the range",
            alone(&[(1.0, 10.0)], lognormal, vec![vec![1.7, 5.0]], &[-8.0, 0.1]),
            vec![1844.41629786743, -213.75669441366239, -37072.92159586869],
            vec![0.031220741210340336, 4280.1307669297219, 1112987.3981685786],
        ),
        (
            "a narrow Johnson density",
            alone(&axis, johnson, events.clone(), &[3.0, 0.0001]),
            vec![359.50035211702777, 92.246774836765312, -687646.70504257961],
            vec![-283.00223250030783, -101724.35716360297, 7551467349.5824516],
        ),
        (
            "a generalised normal density",
            alone(&axis, flat_tailed, events, &[0.1, 0.3]),
            vec![19031.901874286103, 6991.2962962962963, -253773.05555555556],
            vec![25588.888888888889, -93217.283950617284, 4229684.2592592593],
        ),
        (
            "an expression whose values are all below the smallest double",
            alone(&[(1000.0, 2000.0)], falling, vec![vec![1003.0, 1500.0]], &[1.0]),
            vec![503.0, 501.0],
            vec![2.0],
        ),
    ];
    for (name, model, first, second) in cases {
        let point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        let request =
            EvaluationRequest { nll: true, gradient: true, hessian: true, ..EvaluationRequest::default() };
        let found = open(&model).evaluate(&Data::observed(), &point, request).unwrap();
        let n = point.len();
        let close = |got: f64, want: f64, scale: f64| (got - want).abs() <= 1e-8 * want.abs() + 1e-13 * scale;
        assert!(close(found.nll[0], first[0], 0.0), "{name}: {} {}", found.nll[0], first[0]);
        for (got, want) in found.gradient.iter().zip(&first[1..]) {
            assert!(close(*got, *want, first[0]), "{name}: {got} {want}");
        }
        let mut want = second.iter();
        // Squares of the gradient cancel.
        let largest = first[1..].iter().map(|g| g * g).chain(second.iter().map(|x| x.abs()));
        let largest = largest.fold(0.0, f64::max);
        for i in 0..n {
            for j in 0..=i {
                let (got, want) = (found.hessian[i * n + j], *want.next().unwrap());
                assert!(close(got, want, largest), "{name}, {i} {j}: {got} {want}");
            }
        }
    }
}

/// Events of a normal density.
fn normal(count: usize) -> Vec<f64> {
    let stream = Stream::new(5, 0, 0);
    let draw = |slot: u32| {
        let [a, b, c, d] = stream.block(slot, 0);
        let (u, v) = (open_uniform(a, b), open_uniform(c, d));
        (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
    };
    (0..count as u32).map(draw).collect()
}

#[test]
fn fits_of_a_normal_density_end_in_its_minimum_from_every_start() {
    let events = normal(1000);
    let density = Density::Gaussian { x: 0, mean: P(0), sigma: P(1) };
    let mut model = alone(&[(-10.0, 10.0)], density, vec![events], &[0.0, 1.0]);
    model.parameters[0].bounds = (-10.0, 10.0);
    model.parameters[1].bounds = (0.005, 50.0);
    let session = open(&model);
    let best = fit_from(&session, &[0.0, 1.0]);
    assert!(best.converged());
    for mean in [-10.0, -3.0, 0.0, 0.4, 10.0] {
        for sigma in [0.005, 0.02, 0.09, 0.5, 3.0, 50.0] {
            let found = fit_from(&session, &[mean, sigma]);
            assert!(found.converged(), "{mean} {sigma}: {:?}", found.status);
            assert!((found.nll - best.nll).abs() < 1e-8, "{mean} {sigma}: {} {}", found.nll, best.nll);
            for (got, want) in found.parameters.iter().zip(&best.parameters) {
                assert!((got - want).abs() < 1e-6, "{mean} {sigma}: {got} {want}");
            }
        }
    }
}

/// Densities of one observable in -10..10 and two of two, with the parameters 0 (position), 1 (width) and 2 (shape).
fn shapes() -> Vec<(&'static str, usize, Density)> {
    let tail = |alpha| Some(Tail { alpha, n: N(3.0) });
    let gaussian = |x, sigma| Density::Gaussian { x, mean: P(0), sigma };
    let mixture = Density::Mixture {
        summands: vec![gaussian(0, P(1)), Density::Gaussian { x: 0, mean: P(2), sigma: P(1) }],
        coefficients: vec![N(0.3)],
    };
    let ball = |left, right| Density::CrystalBall {
        x: 0,
        mean: P(0),
        sigma_left: P(1),
        sigma_right: P(1),
        left,
        right,
    };
    // exp(-((x - a) / b)^2) (1 + c x^2) / (1 + x^4)
    let expression = Tape::new(vec![
        Op::Observable(0),
        Op::Value(P(0)),
        Op::Sub(0, 1),
        Op::Value(P(1)),
        Op::Div(2, 3),
        Op::Mul(4, 4),
        Op::Neg(5),
        Op::Exp(6),
        Op::Mul(0, 0),
        Op::Value(P(2)),
        Op::Mul(8, 9),
        Op::Number(1.0),
        Op::Add(10, 11),
        Op::Mul(7, 12),
        Op::Mul(8, 8),
        Op::Add(14, 11),
        Op::Div(13, 15),
    ]);
    let covariance = vec![vec![P(1), N(0.0)], vec![N(0.0), P(1)]];
    vec![
        ("gaussian", 1, gaussian(0, P(1))),
        (
            "bifurcated",
            1,
            Density::BifurcatedGaussian { x: 0, mean: P(0), sigma_left: P(1), sigma_right: P(2) },
        ),
        ("crystal ball", 1, ball(None, tail(P(2)))),
        ("johnson", 1, Density::JohnsonSu { x: 0, mean: P(0), width: P(1), gamma: N(0.5), delta: P(2) }),
        ("generalised normal", 1, Density::GeneralizedNormal { x: 0, mean: P(0), alpha: P(1), beta: N(2.5) }),
        ("expression", 1, Density::Generic(expression.unwrap())),
        ("mixture", 1, mixture),
        ("product", 1, Density::Product(vec![gaussian(0, P(1)), Density::Exponential { x: 0, slope: P(2) }])),
        ("two observables", 2, Density::Product(vec![gaussian(0, P(1)), gaussian(1, P(2))])),
        (
            "multivariate",
            2,
            Density::MultivariateNormal { observables: vec![0, 1], mean: vec![P(0), P(2)], covariance },
        ),
    ]
}

#[test]
fn derivatives_far_from_the_data_agree_with_differences() {
    let mut draw = Draw(1);
    for (name, observables, density) in shapes() {
        let axes = vec![(-10.0, 10.0); observables];
        let columns = (0..observables).map(|_| (0..6).map(|_| draw.between(-8.0, 8.0)).collect()).collect();
        let session = open(&alone(&axes, density, columns, &[0.0, 1.0, 1.5]));
        let request =
            EvaluationRequest { nll: true, gradient: true, hessian: true, ..EvaluationRequest::default() };
        let at = |point: &[f64]| session.evaluate(&Data::observed(), point, request).unwrap();
        for _ in 0..12 {
            let point = [draw.between(-9.0, 9.0), draw.between(0.02, 0.1), draw.between(1.1, 1.9)];
            let here = at(&point);
            assert!(here.nll[0].is_finite(), "{name}: {point:?}");
            for p in 0..3 {
                let h = 1e-5 * point[p].abs();
                let moved = |sign: f64| {
                    let mut moved = point;
                    moved[p] += sign * h;
                    at(&moved)
                };
                let (up, down) = (moved(1.0), moved(-1.0));
                let slope = (up.nll[0] - down.nll[0]) / (2.0 * h);
                let noise = 1e-13 * here.nll[0].abs() / h;
                let got = here.gradient[p];
                assert!(
                    (got - slope).abs() < 1e-5 * (1.0 + slope.abs()) + noise,
                    "{name}, {p}: {got} {slope}"
                );
                for q in 0..3 {
                    let bend = (up.gradient[q] - down.gradient[q]) / (2.0 * h);
                    let noise = 1e-13 * here.gradient[q].abs() / h;
                    let got = here.hessian[p * 3 + q];
                    // The third derivative is of the order of the second one divided by the width.
                    let curved =
                        1e-4 * (bend.abs() + here.hessian[p * 4].abs().max(here.hessian[q * 4].abs()));
                    assert!((got - bend).abs() < 1e-6 + noise + curved, "{name}, {p} {q}: {got} {bend}");
                }
            }
        }
    }
}

/// Random numbers.
struct Draw(u32);

impl Draw {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        let [a, b, _, _] = Stream::new(6, 0, 0).block(self.0, 0);
        self.0 += 1;
        low + (high - low) * open_uniform(a, b)
    }
}
