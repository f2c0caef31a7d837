//! Models of events for tests. There is one model for every density, with the point at which its toys are drawn.

// Not every test uses every function.
#![allow(dead_code)]

use ns_core::{
    BinRule, Binning, Constraint, Convolution, Decay, DecaySides, Density, EventChannel, EventTable,
    HistosysCode, Measured, Model, Op, Oscillation, Penalty, PenaltyForm, Smearing, Special, Tail, Tape,
    Value, WeightSys,
};

use crate::events_oracle::{channel, model, table};

const P: fn(usize) -> Value = Value::Parameter;
const N: fn(f64) -> Value = Value::Number;

/// A model of events with its true parameters, which are also the starting values of fits.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) model: Model,
}

impl Case {
    pub(crate) fn truth(&self) -> Vec<f64> {
        self.model.parameters.iter().map(|p| p.init).collect()
    }
}

/// Name, starting value, and lower and upper bound of a parameter.
type Start = (&'static str, f64, (f64, f64));

fn empty(columns: usize) -> EventTable {
    table(vec![Vec::new(); columns])
}

/// Returns a model with one extended channel and `n` expected events of one density. Parameter 0 is the rate (the
/// expected number of events), and the parameters of the density follow.
fn one(name: &'static str, n: f64, axes: &[(f64, f64)], density: Density, parameters: &[Start]) -> Case {
    let mut all = vec![("n", n, (0.0, 1e6))];
    all.extend(parameters);
    let channel = channel(axes, true, vec![(P(0), density)]);
    Case { name, model: model(&all, vec![(channel, empty(axes.len()))]) }
}

/// Returns the model m1, in which a Gaussian peak and an exponential background have `n` events together.
pub(crate) fn gaussian_on_exponential(n: f64) -> Case {
    let peak = Density::Gaussian { x: 0, mean: P(2), sigma: P(3) };
    let slope = Density::Exponential { x: 0, slope: P(4) };
    let starts = [
        ("nsig", 0.3 * n, (0.0, 2.0 * n)),
        ("nbkg", 0.7 * n, (0.0, 2.0 * n)),
        ("mu", 91.2, (80.0, 100.0)),
        ("sigma", 2.5, (0.5, 10.0)),
        ("slope", 0.02, (1e-4, 0.2)),
    ];
    let channel = channel(&[(60.0, 120.0)], true, vec![(P(0), peak), (P(1), slope)]);
    Case { name: "gaussian on exponential", model: model(&starts, vec![(channel, empty(1))]) }
}

/// Returns all models of events with their true parameters.
pub(crate) fn cases() -> Vec<Case> {
    let line = [(0.0, 10.0)];
    let tail = |alpha: f64, n: f64| Some(Tail { alpha: N(alpha), n: N(n) });
    let mut all = one_observable(&line);
    all.push(one(
        "crystal ball",
        1500.0,
        &line,
        Density::CrystalBall {
            x: 0,
            mean: P(1),
            sigma_left: P(2),
            sigma_right: P(2),
            left: tail(1.1, 3.0),
            right: tail(1.6, 2.0),
        },
        &[("mean", 5.0, (3.0, 7.0)), ("sigma", 0.7, (0.2, 3.0))],
    ));
    all.push(one(
        "crystal ball, one tail and two widths",
        1500.0,
        &line,
        Density::CrystalBall {
            x: 0,
            mean: P(1),
            sigma_left: P(2),
            sigma_right: N(0.9),
            left: tail(0.9, 1.0),
            right: None,
        },
        &[("mean", 6.0, (3.0, 8.0)), ("sigma", 0.7, (0.2, 3.0))],
    ));
    all.extend(mixed());
    all.extend(several_observables());
    all.push(gaussian_on_exponential(1500.0));
    all.push(side_bands());
    all.push(histogram_data(true));
    all.push(histogram_data(false));
    all
}

/// Returns the Landau density of the first observable.
fn landau(mean: Value, sigma: Value) -> Density {
    let special = Op::Special(Special::Landau, 4);
    let ops = [Op::Observable(0), Op::Value(mean), Op::Sub(0, 1), Op::Value(sigma), Op::Div(2, 3), special];
    Density::Generic(Tape::new(ops.to_vec()).unwrap())
}

/// Returns a model of two side bands, whose rates are those of the whole axis.
fn side_bands() -> Case {
    let parts = vec![
        (P(0), Density::Gaussian { x: 0, mean: N(4.0), sigma: N(1.2) }),
        (P(1), Density::Exponential { x: 0, slope: P(2) }),
    ];
    let axis = [(0.0, 10.0)];
    let own = EventChannel {
        ranges: vec![vec![(0.0, 3.0)], vec![(4.5, 10.0)]],
        reference: vec![axis.to_vec()],
        ..channel(&axis, true, parts)
    };
    let starts = [("s", 900.0, (0.0, 1e5)), ("b", 1500.0, (0.0, 1e5)), ("c", 0.2, (-2.0, 3.0))];
    Case { name: "side bands with rates of the axis", model: model(&starts, vec![(own, empty(1))]) }
}

/// Returns a decay after 0 with the mean life `P(1)` and a resolution of the width `P(2)`, which is late by 1.
fn decay(oscillation: Option<Oscillation>) -> Density {
    let resolution = vec![Smearing { mean: N(1.0), sigma: P(2) }];
    let (tau, sides) = (P(1), DecaySides::After);
    Density::Decay(Box::new(Decay { t: 0, tau, sides, oscillation, resolution, fractions: Vec::new() }))
}

fn one_observable(line: &[(f64, f64)]) -> Vec<Case> {
    let n = 1500.0;
    let mean = ("mean", 4.2, (1.0, 9.0));
    let width = ("width", 1.1, (0.2, 5.0));
    // A few densities need more events, because their pulls are skewed with few.
    vec![
        one("gaussian", n, line, Density::Gaussian { x: 0, mean: P(1), sigma: P(2) }, &[mean, width]),
        one(
            "gaussian in its tail",
            n,
            &[(6.0, 10.0)],
            Density::Gaussian { x: 0, mean: N(0.0), sigma: P(1) },
            &[("sigma", 1.0, (0.3, 3.0))],
        ),
        one(
            "bifurcated gaussian",
            n,
            line,
            Density::BifurcatedGaussian { x: 0, mean: N(4.0), sigma_left: P(1), sigma_right: P(2) },
            &[("left", 0.8, (0.1, 5.0)), ("right", 1.9, (0.1, 9.0))],
        ),
        one("exponential", n, line, Density::Exponential { x: 0, slope: P(1) }, &[("c", 0.7, (-3.0, 3.0))]),
        one(
            "rising exponential",
            n,
            line,
            Density::Exponential { x: 0, slope: P(1) },
            &[("c", -0.4, (-3.0, 3.0))],
        ),
        one(
            "flat exponential",
            n,
            line,
            Density::Exponential { x: 0, slope: P(1) },
            &[("c", 0.0, (-3.0, 3.0))],
        ),
        one(
            "argus",
            n,
            &[(5.2, 5.29)],
            Density::Argus { x: 0, resonance: N(5.29), slope: P(1), power: N(0.5) },
            &[("c", -20.0, (-100.0, 50.0))],
        ),
        one(
            "voigt",
            n,
            line,
            Density::Voigt { x: 0, mean: P(1), width: N(0.8), sigma: P(2) },
            &[mean, ("sigma", 0.6, (0.1, 4.0))],
        ),
        one("decay", n, line, decay(None), &[("tau", 1.8, (0.3, 9.0)), ("sigma", 0.6, (0.1, 2.0))]),
        one(
            "oscillation",
            2.0 * n,
            line,
            decay(Some(Oscillation {
                delta_gamma: N(0.1),
                delta_m: N(1.3),
                cosh: N(1.0),
                sinh: N(0.3),
                cos: N(0.2),
                sin: P(3),
            })),
            &[("tau", 1.8, (0.3, 9.0)), ("sigma", 0.6, (0.1, 2.0)), ("s", 0.4, (-0.7, 0.7))],
        ),
        one("breit-wigner", n, line, Density::BreitWigner { x: 0, mean: P(1), width: P(2) }, &[mean, width]),
        one(
            "johnson",
            n,
            line,
            Density::JohnsonSu { x: 0, mean: P(1), width: P(2), gamma: N(-0.4), delta: N(1.3) },
            &[mean, width],
        ),
        one(
            "polynomial",
            8.0 * n,
            line,
            Density::Polynomial { x: 0, coefficients: vec![N(1.0), P(1), N(0.02)] },
            &[("c", 0.15, (-0.2, 3.0))],
        ),
        one(
            "chebyshev",
            n,
            line,
            Density::Chebyshev { x: 0, coefficients: vec![P(1), P(2)] },
            &[("c1", -0.3, (-1.0, 1.0)), ("c2", 0.2, (-1.0, 1.0))],
        ),
        one(
            "bernstein",
            8.0 * n,
            line,
            Density::Bernstein { x: 0, coefficients: vec![N(1.0), P(1), N(0.5)] },
            &[("b", 1.4, (0.0, 9.0))],
        ),
        one(
            "lognormal",
            n,
            &[(0.1, 12.0)],
            Density::Lognormal { x: 0, mu: P(1), sigma: P(2) },
            &[("mu", 0.7, (-2.0, 3.0)), ("sigma", 0.5, (0.1, 2.0))],
        ),
        one("landau", n, line, landau(P(1), P(2)), &[("mean", 3.0, (1.0, 9.0)), ("width", 0.5, (0.1, 3.0))]),
        one(
            "landau with a resolution",
            n,
            line,
            Density::Convolution(Box::new(Convolution {
                x: 0,
                first: landau(P(1), N(0.4)),
                second: Density::Gaussian { x: 0, mean: N(0.0), sigma: P(2) },
            })),
            &[("mean", 3.0, (1.0, 9.0)), ("sigma", 0.8, (0.1, 3.0))],
        ),
        one("uniform", n, line, Density::Uniform { x: 0 }, &[]),
        one(
            "generalized normal",
            n,
            line,
            Density::GeneralizedNormal { x: 0, mean: P(1), alpha: P(2), beta: N(1.6) },
            &[mean, width],
        ),
        one(
            "histogram",
            n,
            line,
            Density::Histogram {
                observables: vec![0],
                edges: vec![vec![0.0, 1.0, 2.5, 4.0, 7.5, 9.0]],
                heights: vec![1.0, 3.0, 0.0, 2.0, 0.7],
            },
            &[],
        ),
        one("template", n, line, template(), &[("alpha", 0.6, (-3.0, 3.0))]),
        one(
            "spline",
            n,
            &[(0.5, 9.5)],
            Density::Spline {
                x: 0,
                knots: vec![0.5, 2.0, 4.0, 7.0, 9.5],
                values: vec![N(0.6), N(1.5), P(1), N(1.2), N(0.3)],
            },
            &[("v", 0.8, (0.1, 5.0))],
        ),
        one("expression", n, line, Density::Generic(wave()), &[("a", 0.5, (-0.95, 0.95))]),
    ]
}

/// Returns the density of a template with five bins. The weights of the bins depend on parameter 1 and are nearly
/// linear in it.
fn template() -> Density {
    let effect = WeightSys {
        alpha: P(1),
        lo: vec![0.75, 3.3, 0.32, 1.7, 0.78],
        hi: vec![1.3, 2.6, 0.5, 2.3, 0.6],
        code: HistosysCode::Code4p,
        shape: true,
        rate: false,
    };
    Density::Template {
        observables: vec![0],
        edges: vec![vec![0.0, 1.0, 2.5, 4.0, 7.5, 10.0]],
        heights: vec![1.0, 3.0, 0.4, 2.0, 0.7],
        variations: vec![effect],
    }
}

/// Returns the expression `1 + a sin(2 x) + x^2/50`, where `a` is parameter 1.
fn wave() -> Tape {
    let ops = vec![
        Op::Observable(0),
        Op::Number(2.0),
        Op::Mul(0, 1),
        Op::Sin(2),
        Op::Value(P(1)),
        Op::Mul(3, 4),
        Op::Number(1.0),
        Op::Add(5, 6),
        Op::Mul(0, 0),
        Op::Number(50.0),
        Op::Div(8, 9),
        Op::Add(7, 10),
    ];
    Tape::new(ops).unwrap_or_else(|_| unreachable!("each operation uses earlier ones"))
}

fn mixed() -> Vec<Case> {
    let line = [(0.0, 10.0)];
    let peak = |mean: f64, sigma: f64| Density::Gaussian { x: 0, mean: N(mean), sigma: N(sigma) };
    let fall = Density::Exponential { x: 0, slope: N(0.3) };
    let mut two_ranges = one(
        "two fit ranges",
        1500.0,
        &line,
        Density::Mixture { summands: vec![peak(5.0, 1.0), fall.clone()], coefficients: vec![P(1)] },
        &[("f", 0.3, (0.0, 1.0))],
    );
    for channel in &mut two_ranges.model.event_channels {
        channel.ranges = vec![vec![(0.0, 4.0)], vec![(6.0, 10.0)]];
    }
    vec![
        two_ranges,
        one(
            "mixture",
            1500.0,
            &line,
            Density::Mixture {
                summands: vec![peak(3.0, 0.5), peak(7.0, 1.0), fall.clone()],
                coefficients: vec![P(1), N(0.3)],
            },
            &[("f", 0.25, (0.0, 0.6))],
        ),
        one(
            "mixture with a negative part",
            1500.0,
            &line,
            Density::Mixture { summands: vec![peak(5.0, 2.0), peak(5.0, 1.0)], coefficients: vec![P(1)] },
            &[("f", 1.3, (0.5, 1.5))],
        ),
        one(
            "product of one observable",
            1500.0,
            &line,
            Density::Product(vec![
                Density::Gaussian { x: 0, mean: P(1), sigma: N(2.0) },
                Density::Polynomial { x: 0, coefficients: vec![N(1.0), N(0.4)] },
            ]),
            &[("mean", 4.0, (1.0, 9.0))],
        ),
    ]
}

fn several_observables() -> Vec<Case> {
    let plane = [(-4.0, 4.0), (0.0, 6.0)];
    let x = |mean: Value, sigma: Value| Density::Gaussian { x: 0, mean, sigma };
    let y = |slope: Value| Density::Exponential { x: 1, slope };
    let normal = Density::MultivariateNormal {
        observables: vec![0, 1],
        mean: vec![P(1), N(2.5)],
        covariance: vec![vec![N(1.0), N(0.5)], vec![N(0.5), N(0.8)]],
    };
    let rates = [
        ("a", 500.0, (0.0, 1e5)),
        ("b", 1000.0, (0.0, 1e5)),
        ("mean", 0.3, (-2.0, 2.0)),
        ("c", 0.4, (-2.0, 3.0)),
    ];
    let signal =
        Density::Product(vec![x(P(2), N(0.8)), Density::Gaussian { x: 1, mean: N(3.0), sigma: N(0.6) }]);
    let other = Density::Product(vec![Density::Chebyshev { x: 0, coefficients: vec![N(0.3)] }, y(P(3))]);
    let two = |name, ranges: Vec<Vec<(f64, f64)>>| {
        let parts = vec![(P(0), signal.clone()), (P(1), other.clone())];
        let channel = EventChannel { ranges, ..channel(&plane, true, parts) };
        Case { name, model: model(&rates, vec![(channel, empty(2))]) }
    };
    let histogram = Density::Histogram {
        observables: vec![0, 1],
        edges: vec![vec![-4.0, 0.0, 1.0, 4.0], vec![0.0, 3.0, 6.0]],
        heights: vec![1.0, 2.0, 0.5, 4.0, 0.0, 1.5],
    };
    vec![
        one("multivariate normal", 1500.0, &plane, normal, &[("mean", 0.3, (-2.0, 2.0))]),
        two("products of two observables", Vec::new()),
        two("products in two fit ranges", vec![vec![(-4.0, 0.0), (0.0, 6.0)], vec![(0.0, 3.0), (2.0, 5.0)]]),
        one("histogram of two observables", 1500.0, &plane, histogram, &[]),
    ]
}

/// Returns a model whose data are a histogram of 30 bins. `extended` says whether the channel is extended.
fn histogram_data(extended: bool) -> Case {
    let edges: Vec<f64> = (0..=30).map(|i| f64::from(i) / 3.0).collect();
    let centres: Vec<f64> = edges.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect();
    let mixture = Density::Mixture {
        summands: vec![
            Density::Gaussian { x: 0, mean: N(5.0), sigma: N(1.0) },
            Density::Exponential { x: 0, slope: N(0.2) },
        ],
        coefficients: vec![P(0)],
    };
    let mut starts = vec![("f", 0.3, (0.0, 1.0))];
    let rate = if extended {
        starts.push(("n", 1500.0, (0.0, 1e5)));
        P(1)
    } else {
        N(1.0)
    };
    let binned = EventChannel {
        binning: Some(Binning { edges: vec![edges], rule: BinRule::Center }),
        ..channel(&[(0.0, 10.0)], extended, vec![(rate, mixture)])
    };
    let data = EventTable { weights: Some(vec![50.0; 30].into()), ..table(vec![centres]) };
    let name = if extended { "histogram data" } else { "histogram data, not extended" };
    Case { name, model: model(&starts, vec![(binned, data)]) }
}

/// Returns a model that is not extended, with a Gaussian constraint on a parameter, an auxiliary Poisson count,
/// and a Gaussian penalty whose measured value is auxiliary data too.
pub(crate) fn constrained() -> Case {
    let density = Density::Mixture {
        summands: vec![
            Density::Gaussian { x: 0, mean: P(1), sigma: P(2) },
            Density::Exponential { x: 0, slope: P(3) },
        ],
        coefficients: vec![P(0)],
    };
    let starts = [
        ("f", 0.4, (0.0, 1.0)),
        ("mean", 5.0, (2.0, 8.0)),
        ("sigma", 1.0, (0.2, 4.0)),
        ("c", 0.3, (-2.0, 3.0)),
    ];
    let events = table(vec![(0..1200).map(|i| 0.004 + f64::from(i) / 120.0).collect()]);
    let mut model = model(&starts, vec![(channel(&[(0.0, 10.0)], false, vec![(N(1.0), density)]), events)]);
    model.parameters[1].constraint = Constraint::Gaussian { sigma: 0.05, aux: 0 };
    model.penalties = vec![
        Penalty {
            name: "c".to_owned(),
            form: PenaltyForm::Gaussian { x: P(3), mean: Measured::Datum(1), sigma: N(0.02) },
        },
        Penalty {
            name: "sigma".to_owned(),
            form: PenaltyForm::Poisson { count: Measured::Datum(2), mean: P(2) },
        },
    ];
    model.observed.aux = vec![5.0, 0.3, 1.0];
    Case { name: "constrained, not extended", model }
}
