//! Compares Asimov data of event channels with a numerical integration that is written out in this file: limits,
//! statistics and fits of models with narrow peaks. The environment variable `NEXTSTAT_EVENT_MODELS` sets the number of
//! random models.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use ns_core::{Control, Execution, Model, Session};
use ns_inference::{
    FitData, FitOptions, HypotestOptions, LimitOptions, RankingOptions, ScanAxis, ScanOptions,
    expected_yields, fit, hypotest, open_session, ranking, scan, upper_limit,
};
use ns_translate::ModelSource;
use ns_translate::pyhf::ModelOptions;
use serde_json::{Value, json};

/// Default number of random models.
const MODELS: u64 = 6;

/// Number of expected background events.
const EVENTS: f64 = 300.0;

/// A normalised density on [0, 1].
#[derive(Debug, Clone, Copy)]
enum Shape {
    Uniform,
    /// Density proportional to `exp(-slope x)`.
    Exponential(f64),
    /// Mean and standard deviation.
    Gaussian(f64, f64),
    /// Position and full width at half maximum of `1 / ((x - mean)^2 + width^2 / 4)`, as an expression.
    Resonance(f64, f64),
}

impl Shape {
    fn at(self, x: f64) -> f64 {
        match self {
            Self::Uniform => 1.0,
            Self::Exponential(c) => c * (-c * x).exp() / -(-c).exp_m1(),
            // All peaks lie inside the range.
            Self::Gaussian(m, s) => (-0.5 * ((x - m) / s).powi(2)).exp() / (s * std::f64::consts::TAU.sqrt()),
            Self::Resonance(m, w) => {
                let half = 0.5 * w;
                let integral = (((1.0 - m) / half).atan() + (m / half).atan()) / half;
                1.0 / ((x - m).powi(2) + half * half) / integral
            }
        }
    }

    fn describe(self, name: &str, x: &str) -> Value {
        match self {
            Self::Uniform => json!({"name": name, "type": "uniform_dist", "x": [x]}),
            Self::Exponential(c) => json!({"name": name, "type": "exponential_dist", "x": x, "c": c}),
            Self::Gaussian(m, s) => {
                json!({"name": name, "type": "gaussian_dist", "x": x, "mean": m, "sigma": s})
            }
            Self::Resonance(m, w) => json!({"name": name, "type": "generic_dist",
                "expression": format!("1/(({x}-{m})^2+{})", 0.25 * w * w)}),
        }
    }

    /// Returns nodes and weights on [0, 1]. Intervals end at multiples of half the width of the density from its peak.
    fn rule(self) -> Vec<(f64, f64)> {
        let mut edges: Vec<f64> = (0..=8).map(|i| f64::from(i) / 8.0).collect();
        if let Self::Gaussian(centre, width) | Self::Resonance(centre, width) = self {
            let mut distance = 0.0;
            while distance < 1.0 / width {
                edges.extend([centre - distance * width, centre + distance * width]);
                distance += if distance < 9.5 { 0.5 } else { 0.25 * distance };
            }
        }
        edges.retain(|x| (0.0..=1.0).contains(x));
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        // Gauss rule with four nodes.
        let rule = [
            (0.861_136_311_594_052_6, 0.347_854_845_137_453_9),
            (0.339_981_043_584_856_3, 0.652_145_154_862_546_1),
        ];
        let mut nodes = Vec::new();
        for pair in edges.windows(2) {
            let (centre, half) = (0.5 * (pair[0] + pair[1]), 0.5 * (pair[1] - pair[0]));
            for (x, w) in rule {
                nodes.push((centre - half * x, half * w));
                nodes.push((centre + half * x, half * w));
            }
        }
        nodes
    }
}

/// A signal on a background. Both are products of densities of the single observables.
struct Case {
    signal: Vec<Shape>,
    background: Vec<Shape>,
}

impl Case {
    /// Returns the model. There are as many observed events as background events, and none of them is near a peak.
    fn model(&self) -> Model {
        let axes = ["x", "y", "z"];
        let d = self.signal.len();
        let mut distributions = Vec::new();
        for (i, x) in axes.iter().take(d).enumerate() {
            distributions.push(self.signal[i].describe(&format!("s{i}"), x));
            distributions.push(self.background[i].describe(&format!("b{i}"), x));
        }
        let factors = |kind: &str| -> Vec<String> { (0..d).map(|i| format!("{kind}{i}")).collect() };
        distributions.extend([
            json!({"name": "S", "type": "product_dist", "factors": factors("s")}),
            json!({"name": "B", "type": "product_dist", "factors": factors("b")}),
            json!({"name": "all", "type": "mixture_dist", "summands": ["S", "B"], "coefficients": ["mu", "nb"],
                "extended": true}),
        ]);
        let entries: Vec<Vec<f64>> =
            (0..EVENTS as usize).map(|i| (0..d).map(|k| 0.001 + 1e-4 * (i + k) as f64).collect()).collect();
        let ranges: Vec<Value> =
            axes.iter().take(d).map(|x| json!({"name": x, "min": 0.0, "max": 1.0})).collect();
        open(&json!({
            "metadata": {"hs3_version": "0.2.9"}, "distributions": distributions,
            "data": [{"name": "d", "type": "unbinned", "axes": ranges, "entries": entries}],
            "likelihoods": [{"name": "L", "distributions": ["all"], "data": ["d"]}],
            "parameter_points": [{"name": "default_values", "parameters": [
                {"name": "mu", "value": 1.0, "min": 0.0, "max": 500.0},
                {"name": "nb", "value": EVENTS, "min": 1.0, "max": 3000.0}]}],
            "analyses": [{"name": "fit", "likelihood": "L", "parameters_of_interest": ["mu"]}],
        }))
    }

    /// Returns the weight of each node (expected number of background events), and the density of the signal divided
    /// by that of the background.
    fn nodes(&self) -> Vec<(f64, f64)> {
        let mut nodes = vec![(EVENTS, 1.0)];
        for (signal, background) in self.signal.iter().zip(&self.background) {
            let rule: Vec<(f64, f64)> = signal
                .rule()
                .iter()
                .map(|&(x, w)| (w * background.at(x), signal.at(x) / background.at(x)))
                .collect();
            nodes = nodes
                .iter()
                .flat_map(|(w, r)| rule.iter().map(move |(weight, ratio)| (w * weight, r * ratio)))
                .collect();
        }
        nodes
    }
}

/// Returns `q_A`: how much `-2 ln L` of the background's Asimov data rises if the signal has `mu` events. The number of
/// background events is fitted.
fn q_asimov(nodes: &[(f64, f64)], mu: f64) -> f64 {
    let mut background = EVENTS;
    for _ in 0..100 {
        let (mut slope, mut bend) = (1.0, 0.0);
        for (w, r) in nodes {
            let t = 1.0 / (background + mu * r);
            slope -= w * t;
            bend += w * t * t;
        }
        let step = slope / bend;
        background = (background - step).max(0.1 * background);
        if step.abs() < 1e-12 * background {
            break;
        }
    }
    let log = |(w, r): &(f64, f64)| w * ((background / EVENTS).ln() + (mu / background * r).ln_1p());
    2.0 * (mu + background - EVENTS - nodes.iter().map(log).sum::<f64>())
}

/// Returns the value of `mu` at which `q_A` has the value `level`.
fn crossing(nodes: &[(f64, f64)], level: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while q_asimov(nodes, high) < level {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if q_asimov(nodes, middle) < level { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

fn open(document: &Value) -> Model {
    let source = ModelSource::from_slice(document.to_string().as_bytes());
    source.and_then(|source| source.model(&ModelOptions::default())).unwrap_or_else(|error| panic!("{error}"))
}

fn session(model: &Model) -> Box<dyn Session> {
    open_session(model, &Execution { threads: 1, ..Execution::default() }).unwrap()
}

/// `q_A` at the median expected limit, the square of the quantile of the normal distribution at 0.975.
const MEDIAN: f64 = 3.841_458_820_694_124;

fn median_limit(model: &Model) -> f64 {
    let options = LimitOptions::default().expected_only(true);
    let result = upper_limit(model, session(model).as_ref(), &options, Control::default()).unwrap();
    assert!(result.converged, "{:?}", result.warnings);
    let error = result.asimov_error.unwrap();
    assert!((0.0..1e-4).contains(&error), "{error}");
    result.expected[2].unwrap()
}

fn check_limit(signal: &[Shape], background: &[Shape]) {
    let case = Case { signal: signal.to_vec(), background: background.to_vec() };
    let (found, right) = (median_limit(&case.model()), crossing(&case.nodes(), MEDIAN));
    assert!((found / right - 1.0).abs() < 1e-5, "{signal:?}: {found}, not {right}");
}

/// The peak was narrower than the distance between the nodes of a fixed grid. The limit was 40 % too high.
#[test]
fn a_narrow_peak_in_one_of_three_observables_gives_the_right_limit() {
    for sigma in [0.01, 0.005] {
        let falling = Shape::Exponential(2.0);
        check_limit(&[Shape::Gaussian(0.317, sigma), falling, falling], &[Shape::Uniform; 3]);
    }
}

#[test]
fn a_narrow_peak_in_all_of_several_observables_gives_the_right_limit() {
    let peak = |mean| Shape::Gaussian(mean, 0.001);
    check_limit(&[peak(0.317), peak(0.6)], &[Shape::Uniform, Shape::Exponential(1.0)]);
    let peak = |mean| Shape::Gaussian(mean, 0.02);
    check_limit(&[peak(0.317), peak(0.5), peak(0.8)], &[Shape::Uniform; 3]);
}

#[test]
fn a_very_narrow_peak_in_one_observable_gives_the_right_limit() {
    for width in [1e-2, 1e-3, 1e-4, 1e-5] {
        check_limit(&[Shape::Gaussian(0.512_34, width)], &[Shape::Exponential(5.0)]);
        check_limit(&[Shape::Resonance(0.512_34, width)], &[Shape::Exponential(5.0)]);
    }
}

/// Asimov data with a signal were fitted without one, because no node of the grid was in the peak.
#[test]
fn asimov_data_with_a_narrow_peak_give_back_their_signal() {
    let case = Case {
        signal: vec![Shape::Gaussian(0.317, 0.005), Shape::Exponential(2.0), Shape::Exponential(2.0)],
        background: vec![Shape::Uniform; 3],
    };
    let model = case.model();
    let options = FitOptions::default().data(FitData::Asimov { poi: Some(5.0) });
    let result = fit(&model, session(&model).as_ref(), &options, Control::default()).unwrap();
    assert!(result.converged && result.asimov_error.is_some_and(|error| error < 1e-4));
    assert!((result.bestfit[0] - 5.0).abs() < 1e-6, "{:?}", result.bestfit);
}

/// Boxes at 3 to 5 widths of a peak in two observables were too long along the second one, so that 0.03 % of the peak was
/// missing from the data.
#[test]
fn asimov_data_have_the_tails_of_a_peak_in_two_observables() {
    for edge in [109.0, 125.0, 130.0, 140.0] {
        let model = open(&json!({
            "metadata": {"hs3_version": "0.2.9"},
            "distributions": [
                {"name": "S", "type": "multivariate_normal_dist", "x": ["x", "y"], "mean": [109.0, 63.0],
                    "covariances": [[38.0, 5.0], [5.0, 57.0]]},
                {"name": "bx", "type": "histogram_dist", "data": {
                    "axes": [{"name": "x", "edges": [100.0, edge, 160.0]}], "contents": [3.0, 2.0]}},
                {"name": "by", "type": "uniform_dist", "x": ["y"]},
                {"name": "B", "type": "product_dist", "factors": ["bx", "by"]},
                {"name": "all", "type": "mixture_dist", "summands": ["S", "B"], "coefficients": ["mu", "nb"],
                    "extended": true}],
            "data": [{"name": "d", "type": "unbinned", "entries": [[110.0, 60.0], [150.0, -500.0]],
                "axes": [{"name": "x", "min": 100.0, "max": 160.0}, {"name": "y", "min": -1000.0, "max": 1000.0}]}],
            "likelihoods": [{"name": "L", "distributions": ["all"], "data": ["d"]}],
            "parameter_points": [{"name": "default_values", "parameters": [
                {"name": "mu", "value": 1.0, "min": 0.0, "max": 5000.0},
                {"name": "nb", "value": 150.0, "min": 1.0, "max": 3000.0}]}],
            "analyses": [{"name": "fit", "likelihood": "L", "parameters_of_interest": ["mu"]}],
        }));
        let options = FitOptions::default().data(FitData::Asimov { poi: Some(200.0) });
        let result = fit(&model, session(&model).as_ref(), &options, Control::default()).unwrap();
        let distance = (result.bestfit[0] - 200.0) / result.uncertainties[0].unwrap();
        assert!(distance.abs() < 1e-5, "edge at {edge}: {distance} uncertainties");
    }
}

/// Profiles, intervals and rankings of Asimov data had no estimate of the error of the data.
#[test]
fn scans_intervals_and_rankings_of_asimov_data_are_checked() {
    let case = Case {
        signal: vec![Shape::Gaussian(0.317, 0.005), Shape::Exponential(2.0)],
        background: vec![Shape::Uniform; 2],
    };
    let (model, nodes) = (case.model(), case.nodes());
    let session = session(&model);
    let asimov = || FitOptions::default().data(FitData::Asimov { poi: Some(0.0) });
    let is_small = |error: Option<f64>| error.is_some_and(|error| error < 1e-4);

    let values = vec![1.0, 5.0, 20.0, 80.0];
    let options = ScanOptions::new(ScanAxis::param("mu").values(values.clone())).fit(asimov());
    let found = scan(&model, session.as_ref(), &options, Control::default()).unwrap();
    assert!(is_small(found.asimov_error) && found.bestfit_converged, "{:?}", found.warnings);
    for (mu, rise) in values.iter().zip(&found.twice_delta_nll) {
        let right = q_asimov(&nodes, *mu);
        assert!((rise.unwrap() - right).abs() < 2e-5, "{mu}: {rise:?}, not {right}");
    }

    let options = asimov().minos("mu");
    let found = fit(&model, session.as_ref(), &options, Control::default()).unwrap();
    assert!(is_small(found.asimov_error) && found.converged, "{:?}", found.warnings);
    let (upper, right) = (found.minos[0].upper.unwrap(), crossing(&nodes, 1.0));
    assert!((upper - right).abs() < 1e-5 * right, "{upper}, not {right}");

    let options = RankingOptions::default().fit(asimov());
    let found = ranking(&model, session.as_ref(), &options, Control::default()).unwrap();
    assert!(is_small(found.asimov_error) && found.converged, "{:?}", found.warnings);
}

/// Expected events in bins were those of the nodes of a fixed grid, between which the peak lay.
#[test]
fn yields_of_narrow_peaks_are_in_their_bins() {
    let peak = Shape::Gaussian(0.317, 1e-4);
    let case = Case {
        signal: vec![peak, Shape::Gaussian(0.6, 1e-3), Shape::Exponential(2.0)],
        background: vec![Shape::Uniform; 3],
    };
    let model = case.model();
    let yields = expected_yields(
        &model,
        session(&model).as_ref(),
        &FitOptions::default(),
        ns_inference::YieldsAt::Prefit,
    )
    .unwrap();
    for (axis, mean) in [(0, 0.317), (1, 0.6)] {
        let channel = &yields.channels[axis];
        let signal = channel.samples.iter().find(|sample| sample.name == "S").unwrap();
        assert!((signal.sum - 1.0).abs() < 1e-9, "{}", signal.sum);
        let inside = |(i, _): &(usize, &f64)| {
            channel.bin_edges[*i] - 0.01 <= mean && mean <= channel.bin_edges[i + 1] + 0.01
        };
        let near: f64 = signal.counts.iter().enumerate().filter(inside).map(|(_, n)| n).sum();
        assert!((near - 1.0).abs() < 1e-9, "{near} in the bins of the peak");
    }
    let falling = yields.channels[2].samples.iter().find(|sample| sample.name == "S").unwrap();
    for (ends, count) in yields.channels[2].bin_edges.windows(2).zip(&falling.counts) {
        let right = ((-2.0 * ends[0]).exp() - (-2.0 * ends[1]).exp()) / -(-2.0_f64).exp_m1();
        assert!((count - right).abs() < 1e-9, "{count}, not {right}");
    }
    let ends = (falling.curve[0], Shape::Exponential(2.0).at(0.0) * yields.channels[2].bin_edges[1]);
    assert!((ends.0 / ends.1 - 1.0).abs() < 1e-4, "{ends:?}");
    assert!(yields.warnings.iter().all(|warning| !warning.contains("integrals")), "{:?}", yields.warnings);
}

/// Compares `q_A` of random models with the integration in this file.
#[test]
fn statistics_of_random_models_agree_with_an_integration() {
    let count = std::env::var("NEXTSTAT_EVENT_MODELS").ok().and_then(|n| n.parse().ok()).unwrap_or(MODELS);
    for index in 0..count {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(index + 1);
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let d = 1 + (index % 3) as usize;
        let narrowest: f64 = [1e-5, 1e-3, 5e-3][d - 1];
        let mut case = Case { signal: Vec::new(), background: Vec::new() };
        for axis in 0..d {
            let width = narrowest.powf(random()).clamp(narrowest, 0.03);
            let mean = 0.25 + 0.5 * random();
            let kind = random();
            // With three peaks, the integration in this file would need too many nodes.
            case.signal.push(match kind {
                k if axis == 0 && k < 0.3 => Shape::Resonance(mean, width),
                k if axis < 2 && k < 0.9 => Shape::Gaussian(mean, width),
                k => Shape::Exponential(4.0 * k),
            });
            case.background.push(match random() {
                k if k < 0.5 => Shape::Uniform,
                k => Shape::Exponential(4.0 * k),
            });
        }
        let model = case.model();
        let nodes = case.nodes();
        let mu = crossing(&nodes, MEDIAN * (0.2 + 2.0 * random()));
        let right = q_asimov(&nodes, mu);
        let result =
            hypotest(&model, session(&model).as_ref(), mu, &HypotestOptions::default(), Control::default());
        let result = result.unwrap();
        let what = format!("{index}: {:?} on {:?}", case.signal, case.background);
        assert!((result.q_asimov - right).abs() < 2e-5, "{what}: {}, not {right}", result.q_asimov);
        assert!(result.asimov_error.is_some_and(|error| error < 1e-4), "{what}: {:?}", result.asimov_error);
        assert!(result.converged, "{what}: {:?}", result.warnings);
    }
}
