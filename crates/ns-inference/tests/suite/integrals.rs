//! Fits of densities whose integrals are hard: narrow peaks, wide axes, poles. The right answers are closed forms.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use ns_core::{Control, Execution, Model};
use ns_inference::{FitOptions, FitResult, InferenceError, fit, open_session};
use ns_translate::ModelSource;
use ns_translate::pyhf::ModelOptions;
use serde_json::{Value, json};

/// Builds a model of one channel with the density `f`. `axes` has the ends of the observables `x0`, `x1`, ..., and
/// `parameters` a name, a start value and bounds for each parameter. The first parameter is the parameter of interest.
fn model(
    distributions: Value,
    axes: &[(f64, f64)],
    events: &[Vec<f64>],
    parameters: &[(&str, f64, (f64, f64))],
) -> Model {
    let axes: Vec<Value> = axes
        .iter()
        .enumerate()
        .map(|(i, (min, max))| json!({"name": format!("x{i}"), "min": min, "max": max}))
        .collect();
    let domain: Vec<Value> = parameters
        .iter()
        .map(|(name, _, (min, max))| json!({"name": name, "min": min, "max": max}))
        .collect();
    let values: Vec<Value> =
        parameters.iter().map(|(name, value, _)| json!({"name": name, "value": value})).collect();
    let document = json!({
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": distributions,
        "data": [{"name": "d", "type": "unbinned", "axes": axes, "entries": events}],
        "likelihoods": [{"name": "L", "distributions": ["f"], "data": ["d"]}],
        "domains": [{"name": "domain", "type": "product_domain", "axes": domain}],
        "parameter_points": [{"name": "start", "parameters": values}],
        "analyses": [{"name": "fit", "likelihood": "L", "domain": "domain", "init": "start",
                      "parameters_of_interest": parameters.iter().take(1).map(|p| p.0).collect::<Vec<_>>()}],
    });
    let source = ModelSource::from_slice(document.to_string().as_bytes());
    source.and_then(|source| source.model(&ModelOptions::default())).unwrap_or_else(|error| panic!("{error}"))
}

fn try_fit(model: &Model, options: &FitOptions) -> Result<FitResult, InferenceError> {
    let session = open_session(model, &Execution { threads: 1, ..Execution::default() }).unwrap();
    fit(model, session.as_ref(), options, Control::default())
}

fn fitted(model: &Model) -> FitResult {
    let result = try_fit(model, &FitOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    assert!(result.converged, "{} {:?}", result.termination_reason, result.warnings);
    assert!(result.integral_error.as_ref().is_none_or(|error| error.relative.unwrap() < 1e-6));
    result
}

fn assert_near(found: f64, want: f64, what: &str) {
    assert!((found - want).abs() <= 1e-5 * want.abs().max(1.0), "{what}: {found}, not {want}");
}

/// Events of a normal distribution in `d` observables with the standard deviation `sigma` and the correlation `rho`
/// between all observables. The means of the events are exactly `mean`.
fn correlated(d: usize, count: usize, mean: f64, sigma: f64, rho: f64) -> Vec<Vec<f64>> {
    // Numbers that fill the interval (0, 1) evenly, turned into nearly normal ones.
    let normal = |i: usize, k: usize| {
        let step = [0.618_033_988_75, 0.754_877_666_25, 0.819_172_513_4, 0.856_674_883_85][k];
        let u = (0.5 + step * (i as f64 + 1.0)).fract().clamp(1e-6, 1.0 - 1e-6);
        (u / (1.0 - u)).ln() * 0.55
    };
    let mut events: Vec<Vec<f64>> = (0..count)
        .map(|i| {
            let common = normal(i, 0);
            (0..d).map(|k| sigma * (rho.sqrt() * common + (1.0 - rho).sqrt() * normal(i, k + 1))).collect()
        })
        .collect();
    for k in 0..d {
        let shift = mean - events.iter().map(|event| event[k]).sum::<f64>() / count as f64;
        events.iter_mut().for_each(|event| event[k] += shift);
    }
    events
}

#[test]
fn a_multivariate_normal_on_wide_axes_fits_its_event() {
    let distributions = json!([{"name": "f", "type": "multivariate_normal_dist", "x": ["x0", "x1", "x2"],
        "mean": ["a", "b", "c"], "covariances": [[1.5, 0.4, 0.1], [0.4, 2.0, -0.6], [0.1, -0.6, 2.5]]}]);
    let parameters = [("a", 0.5, (-10.0, 10.0)), ("b", 0.5, (-10.0, 10.0)), ("c", 0.5, (-10.0, 10.0))];
    let event = [0.7, -1.2, 3.1];
    let result = fitted(&model(distributions, &[(-2000.0, 2000.0); 3], &[event.to_vec()], &parameters));
    for (k, variance) in [1.5_f64, 2.0, 2.5].into_iter().enumerate() {
        assert_near(result.bestfit[k], event[k], "mean");
        assert_near(result.uncertainties[k].unwrap(), variance.sqrt(), "uncertainty");
    }
}

#[test]
fn a_narrow_correlated_normal_is_integrated_in_two_and_three_observables() {
    for d in [2, 3] {
        let (sigma, rho, count) = (0.01, 0.9, 200);
        let row = |i: usize| -> Vec<f64> {
            (0..d).map(|j| if i == j { sigma * sigma } else { rho * sigma * sigma }).collect()
        };
        let names = ["a", "b", "c"];
        let observables: Vec<String> = (0..d).map(|k| format!("x{k}")).collect();
        let distributions = json!([{"name": "f", "type": "multivariate_normal_dist", "x": observables,
            "mean": &names[..d], "covariances": (0..d).map(row).collect::<Vec<_>>()}]);
        let parameters: Vec<_> = names[..d].iter().map(|name| (*name, 0.4, (0.0, 1.0))).collect();
        let events = correlated(d, count, 0.45, sigma, rho);
        let result = fitted(&model(distributions, &vec![(0.0, 1.0); d], &events, &parameters));
        for k in 0..d {
            assert!((result.bestfit[k] - 0.45).abs() < 1e-7, "{d}: {:?}", result.bestfit);
            let want = sigma / (count as f64).sqrt();
            assert!((result.uncertainties[k].unwrap() / want - 1.0).abs() < 1e-5, "{d}");
        }
    }
}

#[test]
fn an_expression_with_a_narrow_peak_has_the_right_likelihood() {
    // The integral is closed: a product of normal peaks, and a constant.
    for (d, width) in [(1, 5e-4), (1, 1e-6), (2, 1e-3), (2, 1e-4), (3, 1e-3)] {
        let level = 0.01 * (std::f64::consts::TAU.sqrt() * width / 20.0).powi(d);
        let terms: Vec<String> = (0..d).map(|k| format!("((x{k}-mu)/{width})^2")).collect();
        let expression = format!("exp(-({})/2)+{level:e}", terms.join("+"));
        let distributions = json!([{"name": "f", "type": "generic_dist", "expression": expression}]);
        let d = d as usize;
        let mut events = correlated(d, 40, 0.371, width, 0.0);
        events.push(vec![-4.0; d]);
        let parameters = [("mu", 0.371 + 0.3 * width, (0.36, 0.38))];
        let result = fitted(&model(distributions, &vec![(-10.0, 10.0); d], &events, &parameters));
        let mu = result.bestfit[0];
        let integral = (std::f64::consts::TAU.sqrt() * width).powi(d as i32) * 1.01;
        let log_density = |event: &Vec<f64>| {
            let square: f64 = event.iter().map(|x| ((x - mu) / width).powi(2)).sum();
            (((-0.5 * square).exp() + level) / integral).ln()
        };
        let want: f64 = -events.iter().map(log_density).sum::<f64>();
        assert_near(result.nll, want, &format!("-ln L, {d} observables, width {width}"));
        assert!((mu - 0.371).abs() < 0.1 * width, "{d} {width}: {mu}");
    }
}

#[test]
fn a_product_that_shares_an_observable_with_a_peak_has_the_right_likelihood() {
    // A narrow peak times an exponential of the same observable is a peak that is shifted by -slope sigma^2.
    let (sigma, slope) = (0.002, 3.0);
    let distributions = json!([
        {"name": "peak", "type": "gaussian_dist", "x": "x0", "mean": "mu", "sigma": sigma},
        {"name": "fall", "type": "exponential_dist", "x": "x0", "c": slope},
        {"name": "other", "type": "gaussian_dist", "x": "x1", "mean": "x0", "sigma": 0.001},
        {"name": "f", "type": "product_dist", "factors": ["peak", "fall", "other"]},
    ]);
    let distributions = match distributions {
        Value::Array(mut all) => {
            // The mean of a density may not be an observable everywhere; an expression says the same.
            all[2] =
                json!({"name": "other", "type": "generic_dist", "expression": "exp(-((x1-x0)/0.001)^2/2)"});
            Value::Array(all)
        }
        other => other,
    };
    let mut events = correlated(1, 60, 0.42, sigma, 0.0);
    events
        .iter_mut()
        .enumerate()
        .for_each(|(i, event)| event.push(event[0] + 0.0005 * (i as f64 * 0.7).sin()));
    let result = fitted(&model(distributions, &[(0.0, 2.0); 2], &events, &[("mu", 0.421, (0.3, 0.6))]));
    assert!((result.bestfit[0] - (0.42 + slope * sigma * sigma)).abs() < 1e-8, "{}", result.bestfit[0]);
    let want = sigma / 60_f64.sqrt();
    assert!((result.uncertainties[0].unwrap() / want - 1.0).abs() < 1e-5);
}

fn assert_infinite(distributions: Value, d: usize, names: &[&str]) {
    let what = distributions.to_string();
    let events: Vec<Vec<f64>> =
        [[0.7, 0.3], [-1.3, 1.2], [2.1, -3.0]].iter().map(|event| event[..d].to_vec()).collect();
    let parameters = [("mu", 0.1, (-1.0, 1.0)), ("n", 5.0, (0.1, 10.0))];
    let model = model(distributions, &vec![(-10.0, 10.0); d], &events, &parameters);
    let error = try_fit(&model, &FitOptions::default()).map(|result| result.nll).unwrap_err().to_string();
    let names = names.iter().chain(&["infinite integral", "cut the range"]);
    names.for_each(|name| assert!(error.contains(name), "{what}: {error}"));
}

#[test]
fn an_infinite_integral_is_an_error_that_names_the_density() {
    let generic = |name: &str, text: &str| json!({"name": name, "type": "generic_dist", "expression": text});
    let inside = ["1/x0^2", "1/abs(x0)", "1/abs(x0-0.5)^1.5", "abs(tan(x0))", "exp(mu)/x0^2", "exp(1/x0^2)"];
    let at_ends = ["1/(x0+10)^2", "1/(10-x0)^1.5"];
    for text in inside.into_iter().chain(at_ends) {
        assert_infinite(json!([generic("f", text)]), 1, &["process 'f'", "of 'x0'"]);
        let sum = json!({"name": "f", "type": "mixture_dist", "summands": ["bad", "good"], "coefficients": ["n", "n"],
                         "extended": true});
        let good = json!({"name": "good", "type": "uniform_dist", "x": ["x0"]});
        assert_infinite(json!([generic("bad", text), good, sum]), 1, &["process 'bad'", "of 'x0'"]);
    }
    for text in ["1/(x0^2+x1^2)", "1/x0^2*exp(-x1^2)", "1/((x0+10)^2*(1+x1^2))"] {
        assert_infinite(json!([generic("f", text)]), 2, &["process 'f'", "of 'x0', 'x1'"]);
    }
    let other = json!({"name": "other", "type": "gaussian_dist", "x": "x1", "mean": "mu", "sigma": "n"});
    let product = json!({"name": "f", "type": "product_dist", "factors": ["bad", "other"]});
    assert_infinite(json!([generic("bad", "1/x0^2"), other, product]), 2, &["of 'x0' at"]);
}

#[test]
fn a_pole_at_a_node_in_two_observables_is_integrated() {
    // The integral of 1/r over the square of side 2 a is 8 a ln(1 + sqrt(2)).
    let distributions =
        json!([{"name": "f", "type": "generic_dist", "expression": "(1+0*mu)/sqrt(x0^2+x1^2)"}]);
    let event = [3.0, 4.0];
    let model = model(distributions, &[(-10.0, 10.0); 2], &[event.to_vec()], &[("mu", 0.1, (0.0, 1.0))]);
    let result = try_fit(&model, &FitOptions::default()).unwrap();
    assert_near(result.nll, (5.0 * 80.0 * (1.0 + 2_f64.sqrt()).ln()).ln(), "-ln L");
}

#[test]
fn a_pole_that_can_be_integrated_is_fitted() {
    let distributions = json!([{"name": "f", "type": "generic_dist", "expression": "x0^(-a)"}]);
    let events: Vec<Vec<f64>> = (1..50).map(|i| vec![(f64::from(i) / 50.0).powi(2)]).collect();
    let result = fitted(&model(distributions, &[(0.0, 1.0)], &events, &[("a", 0.3, (0.0, 0.8))]));
    // The density is (1 - a) x^-a.
    let sum: f64 = events.iter().map(|event| -event[0].ln()).sum();
    assert_near(result.bestfit[0], 1.0 - events.len() as f64 / sum, "a");
}

#[test]
fn an_inexact_integral_is_not_converged_unless_it_is_allowed() {
    // The pole lies between the numbers of 64 bits that are next to each other, so its integral keeps an error.
    let distributions =
        json!([{"name": "f", "type": "generic_dist", "expression": "1/abs(x0-3.1)^0.9*(1+a*x0)"}]);
    let events: Vec<Vec<f64>> = (1..50).map(|i| vec![f64::from(i) / 5.0]).collect();
    let model = model(distributions, &[(0.0, 10.0)], &events, &[("a", 0.1, (0.0, 5.0))]);
    let result = try_fit(&model, &FitOptions::default()).unwrap();
    assert!(!result.converged);
    let error = result.integral_error.as_ref().unwrap();
    assert_eq!((error.channel.as_str(), error.process.as_str()), ("f", "f"));
    assert!(error.relative.unwrap() > 1e-4 && error.relative.unwrap() < 1.0);
    let warning = result.warnings.iter().find(|text| text.contains("process 'f'")).unwrap();
    assert!(warning.contains("--integral-tolerance"), "{warning}");
    let allowed = try_fit(&model, &FitOptions::default().integral_tolerance(Some(0.5))).unwrap();
    assert!(allowed.converged, "{:?}", allowed.warnings);
    assert_eq!(allowed.bestfit, result.bestfit);
    for wrong in [f64::NAN, -1e-9, 2.0, f64::INFINITY] {
        let refused = try_fit(&model, &FitOptions::default().integral_tolerance(Some(wrong)));
        assert!(matches!(refused, Err(InferenceError::BadIntegralTolerance { .. })), "{wrong}");
    }
}

/// The files of the reference folder, each with its best fit and uncertainty of the first parameter, and `-2 ln L`.
#[test]
fn published_inputs_have_their_right_answers() {
    let Some(folder) = std::env::var_os("NEXTSTAT_REFERENCE_DIR") else {
        eprintln!("SKIPPED: set NEXTSTAT_REFERENCE_DIR to fit the reference inputs");
        return;
    };
    let read = |name: &str| {
        let path = std::path::Path::new(&folder).join("repro/events").join(name);
        let source = ModelSource::from_slice(&std::fs::read(path).unwrap()).unwrap();
        source.model(&ModelOptions::default()).unwrap()
    };
    let wide = fitted(&read("multivariate_wide_axes.json"));
    for (k, (x, sigma)) in [(1.2, 1.0), (0.7, 2_f64.sqrt()), (2.1, 3_f64.sqrt())].into_iter().enumerate() {
        assert_near(wide.bestfit[k], x, "mean");
        assert_near(wide.uncertainties[k].unwrap(), sigma, "uncertainty");
    }
    let narrow = fitted(&read("narrow_generic_peak.json"));
    assert!((narrow.bestfit[0] - 0.436_9).abs() < 1e-4, "{}", narrow.bestfit[0]);
    assert_near(narrow.twice_nll, 588.159_245, "-2 ln L");
    let error = try_fit(&read("infinite_integral.json"), &FitOptions::default()).unwrap_err().to_string();
    assert!(error.contains("infinite integral"), "{error}");
}
