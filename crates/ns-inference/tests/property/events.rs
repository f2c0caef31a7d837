//! Random models with events. Each model has one or two event channels with a signal and a background. Half of the
//! models also have a binned channel. Channels share names and nuisance parameters. The data are those of a toy.

use std::sync::Arc;

use ns_core::{
    Channel, ChannelAxis, Constraint, Data, Decay, DecaySides, Density, Effect, EventChannel, EventTable,
    Execution, Function, FunctionForm, Interpolation, InterpolationForm, Measured, Model, Modifier,
    Observable, Observations, Op, Oscillation, Parameter, ParameterSet, Penalty, PenaltyForm, Process,
    Projection, Sample, Smearing, Special, Tail, Tape, Value,
};
use ns_inference::open_session;

use super::random::Draw;

/// A model under construction.
struct Parts {
    parameters: Vec<Parameter>,
    functions: Vec<Function>,
    penalties: Vec<Penalty>,
    aux: Vec<f64>,
    /// Indices of the nuisance parameters with a normal constraint of width 1.
    alphas: Vec<usize>,
}

impl Parts {
    fn parameter(&mut self, name: String, init: f64, bounds: (f64, f64)) -> usize {
        let constraint = Constraint::None;
        self.parameters.push(Parameter { name, init, bounds, fixed: false, constraint });
        self.parameters.len() - 1
    }

    fn constrained(&mut self, name: String, init: f64, sigma: f64, bounds: (f64, f64)) -> usize {
        let index = self.parameter(name, init, bounds);
        self.parameters[index].constraint = Constraint::Gaussian { sigma, aux: self.aux.len() };
        self.aux.push(init);
        index
    }

    fn function(&mut self, form: FunctionForm) -> Value {
        self.functions.push(Function { name: format!("f{}", self.functions.len()), form });
        Value::Function(self.functions.len() - 1)
    }

    /// Returns `nominal` as a value that depends on up to two nuisance parameters. Each of them changes the value by
    /// 2 to 20 % if it moves from 0 to 1 or to -1.
    fn varied(&mut self, d: &mut Draw, nominal: f64) -> Value {
        let count = d.integer(0, 2);
        let chosen = d.some(&self.alphas.clone(), count);
        if chosen.is_empty() {
            return Value::Number(nominal);
        }
        let variations = chosen
            .into_iter()
            .map(|alpha| InterpolationForm {
                alpha: Value::Parameter(alpha),
                lo: nominal * (1.0 - d.between(0.02, 0.2)),
                hi: nominal * (1.0 + d.between(0.02, 0.2)),
                code: d.pick(&[4, 4, 5, 6]),
            })
            .collect();
        self.function(FunctionForm::Interpolation { nominal, variations, positive: true })
    }
}

/// Returns the model with the index `index`.
pub fn draw(index: u64) -> Model {
    let mut d = Draw::new(index ^ 0xE7E7_0000);
    let mut parts = Parts {
        parameters: Vec::new(),
        functions: Vec::new(),
        penalties: Vec::new(),
        aux: Vec::new(),
        alphas: Vec::new(),
    };
    let mu = parts.parameter("mu".to_owned(), 1.0, (0.0, 10.0));
    for k in 0..d.integer(0, 3) {
        let alpha = parts.constrained(format!("alpha{k}"), 0.0, 1.0, (-5.0, 5.0));
        parts.alphas.push(alpha);
    }
    let shared_mean = parts.constrained("mean".to_owned(), d.between(3.0, 7.0), 0.1, (0.5, 9.5));
    let n_channels = d.pick(&[1, 1, 1, 2]);
    let event_channels: Vec<EventChannel> = (0..n_channels)
        .map(|c| {
            let mut channel = event_channel(&mut d, &mut parts, c, mu, shared_mean);
            if index.is_multiple_of(2) {
                replace_peak(
                    &mut Draw::new(index ^ ((c as u64) << 40) ^ 0xACC0_0000),
                    &mut parts,
                    &mut channel,
                );
            }
            channel
        })
        .collect();
    let channels = if d.chance(0.5) { vec![binned(&mut d, &mut parts, mu)] } else { Vec::new() };
    if d.chance(0.3) {
        // A penalty on a function of the signal strength. It has its own datum.
        let x = parts.function(FunctionForm::Sum(vec![Value::Parameter(mu), Value::Number(0.5)]));
        let datum = Measured::Datum(parts.aux.len());
        parts.aux.push(1.5);
        let form = PenaltyForm::Gaussian { x, mean: datum, sigma: Value::Number(0.8) };
        parts.penalties.push(Penalty { name: "outside".to_owned(), form });
    }
    let bins: usize = channels.iter().map(|channel| channel.n_bins).sum();
    let empty = |channel: &EventChannel| {
        let columns = channel.observables.iter().map(|_| Arc::from([].as_slice())).collect();
        Arc::new(EventTable { columns, weights: None })
    };
    let sets = |p: &Parameter, i: usize| ParameterSet { name: p.name.clone(), range: i..i + 1, scalar: true };
    let model = Model {
        open: Vec::new(),
        format: ns_core::ModelFormat::Pyhf,
        unobserved: Vec::new(),
        measurement: "random".to_owned(),
        parameter_sets: parts.parameters.iter().enumerate().map(|(i, p)| sets(p, i)).collect(),
        parameters: parts.parameters,
        pois: vec![mu],
        interpolation: Interpolation::SMOOTH,
        functions: parts.functions,
        penalties: parts.penalties,
        observed: Observations {
            main: vec![1.0; bins],
            aux: parts.aux,
            events: event_channels.iter().map(empty).collect(),
        },
        event_channels,
        channels,
        warnings: Vec::new(),
    };
    observe(&mut d, model)
}

/// Returns the model with the events and counts of a toy as its observed data. The auxiliary data do not change.
fn observe(d: &mut Draw, model: Model) -> Model {
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    let mut point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    point[0] = d.pick(&[0.0, 0.5, 1.0, 2.0]);
    for (x, p) in point.iter_mut().zip(&model.parameters) {
        if p.name.starts_with("alpha") {
            *x = 0.7 * d.normal();
        }
    }
    let source = session.toy_source(&point, &Data::observed(), d.integer(0, 1 << 30) as u64, 9).unwrap();
    let toy = source.draw_whole(0).unwrap();
    Model { observed: Observations { aux: model.observed.aux.clone(), ..toy }, ..model }
}

fn event_channel(d: &mut Draw, parts: &mut Parts, c: usize, mu: usize, mean: usize) -> EventChannel {
    let strength = d.between(15.0, 60.0);
    let yields = parts.varied(d, strength);
    let signal = parts.function(FunctionForm::Product(vec![Value::Parameter(mu), yields]));
    let many = d.between(60.0, 150.0);
    let background = parts.parameter(format!("n_bkg{c}"), many, (0.0, 3000.0));
    let two = d.chance(0.08);
    let mut observables = vec![Observable { name: "x".to_owned(), min: 0.0, max: 10.0, blind: Vec::new() }];
    let (mut peak, mut smooth) = (peak(d, parts, c, mean), smooth(d, parts, c));
    if two {
        observables.push(Observable { name: "y".to_owned(), min: 0.0, max: 3.0, blind: Vec::new() });
        let lifetime = parts.parameter(format!("tau{c}"), 0.8, (-3.0, 6.0));
        let narrow = Density::Gaussian { x: 1, mean: Value::Number(1.2), sigma: Value::Number(0.5) };
        peak = Density::Product(vec![peak, narrow]);
        smooth =
            Density::Product(vec![smooth, Density::Exponential { x: 1, slope: Value::Parameter(lifetime) }]);
    }
    let whole = (0.0, 3.0);
    let ranges = match (d.chance(0.2), two) {
        (false, _) => Vec::new(),
        (true, false) => vec![vec![(0.0, 7.5)], vec![(8.0, 10.0)]],
        (true, true) => vec![vec![(0.0, 7.5), whole], vec![(8.0, 10.0), whole]],
    };
    EventChannel {
        name: format!("events{c}"),
        observables,
        ranges,
        reference: Vec::new(),
        extended: true,
        processes: vec![
            Process { name: "signal".to_owned(), rate: signal, density: peak },
            Process { name: "background".to_owned(), rate: Value::Parameter(background), density: smooth },
        ],
        binning: None,
    }
}

/// Returns the density of a peak. Its position can be the parameter `mean`, which other channels use too. Its width
/// can be a parameter of this channel.
fn peak(d: &mut Draw, parts: &mut Parts, c: usize, mean: usize) -> Density {
    let place = if d.chance(0.6) { Value::Parameter(mean) } else { Value::Number(d.between(3.0, 7.0)) };
    let width = d.between(0.3, 0.9);
    let sigma = match d.chance(0.5) {
        true => Value::Parameter(parts.constrained(format!("width{c}"), width, 0.1 * width, (0.1, 3.0))),
        false => Value::Number(width),
    };
    let n = Value::Number;
    let tail = Some(Tail { alpha: n(d.between(0.8, 2.0)), n: n(d.between(1.0, 5.0)) });
    match d.integer(0, 7) {
        0 | 1 => Density::Gaussian { x: 0, mean: place, sigma },
        2 => Density::BifurcatedGaussian { x: 0, mean: place, sigma_left: sigma, sigma_right: n(0.7) },
        3 => Density::CrystalBall {
            x: 0,
            mean: place,
            sigma_left: sigma,
            sigma_right: sigma,
            left: tail,
            right: None,
        },
        4 => Density::CrystalBall {
            x: 0,
            mean: place,
            sigma_left: sigma,
            sigma_right: sigma,
            left: tail,
            right: tail,
        },
        5 => Density::BreitWigner { x: 0, mean: place, width: sigma },
        6 => Density::Voigt { x: 0, mean: place, width: n(0.4), sigma },
        _ => Density::JohnsonSu { x: 0, mean: place, width: sigma, gamma: n(0.3), delta: n(1.4) },
    }
}

/// Replaces the peak of the signal by a density that is more than one formula: a decay, a projection, or a peak behind an
/// efficiency. Convolutions, whose tables take long, have tests of their own. The peak has the place and the width of the density that it replaces.
fn replace_peak(d: &mut Draw, parts: &mut Parts, channel: &mut EventChannel) {
    let hidden = channel.observables.len();
    let Some(signal) = channel.processes.first_mut() else { return };
    let peak = match &mut signal.density {
        Density::Product(factors) => &mut factors[0],
        density => density,
    };
    let (place, sigma) = match *peak {
        Density::Gaussian { mean, sigma, .. } | Density::Voigt { mean, sigma, .. } => (mean, sigma),
        Density::BifurcatedGaussian { mean, sigma_left: sigma, .. }
        | Density::CrystalBall { mean, sigma_left: sigma, .. } => (mean, sigma),
        Density::BreitWigner { mean, width, .. } | Density::JohnsonSu { mean, width, .. } => (mean, width),
        _ => return,
    };
    let n = Value::Number;
    let gauss = |mean, sigma| Density::Gaussian { x: 0, mean, sigma };
    *peak = match d.integer(0, 7) {
        0 => landau(place, sigma),
        1..=4 => {
            let name = format!("life{}", parts.parameters.len());
            let tau = Value::Parameter(parts.constrained(name, 0.9, 0.1, (0.2, 3.0)));
            let oscillation = d.chance(0.4).then(|| Oscillation {
                delta_gamma: n(0.1),
                delta_m: n(d.between(0.5, 2.0)),
                cosh: n(1.0),
                sinh: n(0.2),
                cos: n(d.between(-0.5, 0.5)),
                sin: n(d.between(-0.5, 0.5)),
            });
            let mut resolution = vec![Smearing { mean: place, sigma }];
            let is_wide = d.chance(0.3);
            if is_wide {
                resolution.push(Smearing { mean: place, sigma: n(1.5) });
            }
            let sides = d.pick(&[DecaySides::After, DecaySides::Before, DecaySides::Both]);
            let fractions = if is_wide { vec![n(0.7)] } else { Vec::new() };
            Density::Decay(Box::new(Decay { t: 0, tau, sides, oscillation, resolution, fractions }))
        }
        5 => {
            let smeared = Density::Generic(exponential_of_square(0, hidden, 0.4));
            let density =
                Density::Product(vec![smeared, Density::Gaussian { x: hidden, mean: place, sigma }]);
            Density::Projection(Box::new(Projection { x: 0, density, hidden: vec![(-20.0, 30.0)] }))
        }
        _ => Density::Product(vec![gauss(place, sigma), Density::Generic(turn_on(4.0, 0.6))]),
    };
}

/// Returns the Landau density of the first observable.
fn landau(mean: Value, sigma: Value) -> Density {
    let special = Op::Special(Special::Landau, 4);
    let ops = [Op::Observable(0), Op::Value(mean), Op::Sub(0, 1), Op::Value(sigma), Op::Div(2, 3), special];
    Density::Generic(Tape::new(ops.to_vec()).unwrap())
}

/// Returns `exp(-((x - y) / width)^2 / 2)` for two observables.
fn exponential_of_square(x: usize, y: usize, width: f64) -> Tape {
    let ops = vec![
        Op::Observable(x),
        Op::Observable(y),
        Op::Sub(0, 1),
        Op::Number(1.0 / width),
        Op::Mul(2, 3),
        Op::Mul(4, 4),
        Op::Number(-0.5),
        Op::Mul(5, 6),
        Op::Exp(7),
    ];
    Tape::new(ops).unwrap()
}

/// Returns the efficiency `1 / (1 + exp(-(x - threshold) / width)) + 0.02`.
fn turn_on(threshold: f64, width: f64) -> Tape {
    let ops = vec![
        Op::Observable(0),
        Op::Number(threshold),
        Op::Sub(1, 0),
        Op::Number(1.0 / width),
        Op::Mul(2, 3),
        Op::Exp(4),
        Op::Number(1.0),
        Op::Add(5, 6),
        Op::Div(6, 7),
        Op::Number(0.02),
        Op::Add(8, 9),
    ];
    Tape::new(ops).unwrap()
}

/// Returns the density of a background. Its parameters are not used in other channels.
fn smooth(d: &mut Draw, parts: &mut Parts, c: usize) -> Density {
    let mut shape =
        |name: &str, init: f64, bounds| Value::Parameter(parts.parameter(format!("{name}{c}"), init, bounds));
    let n = Value::Number;
    match d.integer(0, 7) {
        0 | 1 => Density::Exponential { x: 0, slope: shape("slope", d.between(-0.2, 0.5), (-2.0, 3.0)) },
        2 => Density::Chebyshev { x: 0, coefficients: vec![shape("c", d.between(-0.5, 0.5), (-0.9, 0.9))] },
        3 => Density::Bernstein {
            x: 0,
            coefficients: vec![n(1.0), shape("b", d.between(0.3, 2.0), (0.0, 20.0)), n(0.6)],
        },
        4 => Density::Polynomial {
            x: 0,
            coefficients: vec![n(1.0), shape("p", d.between(0.0, 0.5), (-0.09, 5.0))],
        },
        5 => Density::Histogram {
            observables: vec![0],
            edges: vec![vec![0.0, 2.0, 5.0, 8.0, 10.0]],
            heights: vec![1.0, 1.4, 0.9, 0.4],
        },
        6 => {
            // 1 + a sin(x)
            let a = shape("wave", d.between(-0.5, 0.5), (-0.95, 0.95));
            let ops = vec![
                Op::Observable(0),
                Op::Sin(0),
                Op::Value(a),
                Op::Mul(1, 2),
                Op::Number(1.0),
                Op::Add(3, 4),
            ];
            Density::Generic(Tape::new(ops).unwrap())
        }
        _ => Density::Mixture {
            summands: vec![Density::Uniform { x: 0 }, Density::Exponential { x: 0, slope: n(0.5) }],
            coefficients: vec![shape("flat", d.between(0.2, 0.8), (0.0, 1.0))],
        },
    }
}

/// Returns a channel of a few bins with a signal and a background.
fn binned(d: &mut Draw, parts: &mut Parts, mu: usize) -> Channel {
    let n_bins = d.integer(1, 3);
    let mut modifiers = vec![Modifier { name: "mu".to_owned(), first: mu, effect: Effect::NormFactor }];
    let mut other = Vec::new();
    for alpha in parts.alphas.clone() {
        let name = parts.parameters[alpha].name.clone();
        let effect = Effect::NormSys { lo: 1.0 - d.between(0.02, 0.2), hi: 1.0 + d.between(0.02, 0.2) };
        let to = if d.chance(0.5) { &mut modifiers } else { &mut other };
        to.push(Modifier { name, first: alpha, effect });
    }
    let yields = |d: &mut Draw, lo: f64, hi: f64| (0..n_bins).map(|_| d.between(lo, hi)).collect();
    let samples = vec![
        Sample { name: "signal".to_owned(), nominal: yields(d, 2.0, 15.0), modifiers },
        Sample { name: "background".to_owned(), nominal: yields(d, 20.0, 90.0), modifiers: other },
    ];
    Channel { name: "bins".to_owned(), first_bin: 0, n_bins, samples, axis: ChannelAxis::default() }
}
