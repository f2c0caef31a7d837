//! Tests of yields and their uncertainties in models for which the yields can be computed by hand. Also tests the
//! automatic scan of a limit.
#![allow(missing_docs, clippy::unwrap_used)]

use ns_compute::{EventShapes, Level};
use ns_core::{Control, Execution, Model, Session};
use ns_inference::yields::{Stage, YieldsResult};
use ns_inference::{FitOptions, LimitOptions, YieldsAt, expected_yields, fit, open_session};
use ns_inference::{postfit_yields, prefit_yields, upper_limit};
use ns_translate::ModelSource;
use ns_translate::pyhf::{ModelOptions, Workspace};

/// A workspace with one bin. It has a signal of 5 and a background of 50. The background has a normsys of 10 % and a
/// histosys from 45 to 57. Tests replace the text `BOUNDS` by the settings of the parameters.
const ONE_BIN: &str = r#"{"channels": [{"name": "SR", "samples": [
  {"name": "background", "data": [50.0], "modifiers": [
    {"name": "shape", "type": "histosys", "data": {"lo_data": [45.0], "hi_data": [57.0]}},
    {"name": "norm", "type": "normsys", "data": {"lo": 0.9, "hi": 1.1}}]},
  {"name": "signal", "data": [5.0], "modifiers": [{"name": "mu", "type": "normfactor", "data": null}]}]}],
 "observations": [{"name": "SR", "data": [53.0]}],
 "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": [BOUNDS]}}], "version": "1.0.0"}"#;

fn open(parameters: &str) -> (Model, Box<dyn Session>) {
    let text = ONE_BIN.replace("BOUNDS", parameters);
    let workspace = Workspace::from_slice(text.as_bytes()).unwrap();
    let model = workspace.model(&ModelOptions::default()).unwrap();
    let session = open_session(&model, &Execution::default()).unwrap();
    (model, session)
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9 * (1.0 + b.abs()), "{a} instead of {b}");
}

fn prefit(parameters: &str, options: &FitOptions) -> YieldsResult {
    let (model, session) = open(parameters);
    prefit_yields(&model, session.as_ref(), options).unwrap()
}

#[test]
fn before_the_fit_by_hand() {
    let result = prefit("", &FitOptions::default());
    assert_eq!(result.stage, Stage::Prefit);
    let channel = &result.channels[0];
    let names: Vec<(&str, bool)> = channel.samples.iter().map(|s| (s.name.as_str(), s.signal)).collect();
    assert_eq!(names, [("background", false), ("signal", true)]);
    assert_eq!((channel.samples[0].counts[0], channel.samples[1].counts[0]), (50.0, 5.0));
    assert_eq!((channel.total[0], channel.data[0], channel.sum, channel.data_sum), (55.0, 53.0, 55.0, 53.0));
    // The uncertainties are (57 - 45) / 2 and 50 (1.1 - 0.9) / 2. The free normalisation contributes nothing.
    close(channel.uncertainty[0].unwrap(), (6.0_f64.powi(2) + 5.0_f64.powi(2)).sqrt());
    assert_eq!(channel.sum_uncertainty, channel.uncertainty[0]);
}

#[test]
fn bounds_are_not_crossed() {
    // `norm` can move down to -1, but not up. The change from 50 to 45 counts as the shift by one full uncertainty.
    let bounds = r#"{"name": "norm", "bounds": [[-5.0, 0.0]], "inits": [0.0]}"#;
    let result = prefit(bounds, &FitOptions::default());
    close(result.channels[0].uncertainty[0].unwrap(), (6.0_f64.powi(2) + 5.0_f64.powi(2)).sqrt());
    // `shape` can move by 0.5 in both directions. The nonlinear part of its effect is even and cancels in the
    // difference.
    let bounds = r#"{"name": "shape", "bounds": [[-0.5, 0.5]], "inits": [0.0]}"#;
    let result = prefit(bounds, &FitOptions::default());
    close(result.channels[0].uncertainty[0].unwrap(), (6.0_f64.powi(2) + 5.0_f64.powi(2)).sqrt());
    // `norm` cannot move. Only `shape` contributes.
    let bounds = r#"{"name": "norm", "bounds": [[0.0, 0.0]], "inits": [0.0]}"#;
    close(prefit(bounds, &FitOptions::default()).channels[0].uncertainty[0].unwrap(), 6.0);
}

#[test]
fn fixed_parameters_do_not_vary() {
    let fixed = r#"{"name": "norm", "fixed": true}"#;
    close(prefit(fixed, &FitOptions::default()).channels[0].uncertainty[0].unwrap(), 6.0);
    let held = prefit("", &FitOptions::default().fix("shape", 1.0).fix("mu", 0.0));
    assert_eq!(held.channels[0].total, [57.0]);
    close(held.channels[0].uncertainty[0].unwrap(), 5.7);
}

#[test]
fn after_the_fit_the_data_set_the_uncertainty() {
    let (model, session) = open("");
    let options = FitOptions::default();
    let result = fit(&model, session.as_ref(), &options, Control::default()).unwrap();
    let yields = postfit_yields(&model, session.as_ref(), &options, &result).unwrap();
    // With a free signal in one bin, the fit reproduces the count exactly. The uncertainty is the statistical
    // uncertainty of the count.
    close(yields.channels[0].total[0], 53.0);
    let sigma = yields.channels[0].uncertainty[0].unwrap();
    assert!((sigma - 53.0_f64.sqrt()).abs() < 0.02 * sigma, "{sigma}");
    assert!(yields.converged && yields.stage == Stage::Postfit);
}

#[test]
fn without_uncertainties_of_the_fit_there_are_none_of_the_yields() {
    let (model, session) = open("");
    let options = FitOptions::default().uncertainties(false).covariance(false);
    let result = fit(&model, session.as_ref(), &options, Control::default()).unwrap();
    let yields = postfit_yields(&model, session.as_ref(), &options, &result).unwrap();
    assert_eq!(yields.channels[0].uncertainty, [None]);
    assert_eq!(yields.channels[0].sum_uncertainty, None);
    assert!(yields.warnings.iter().any(|w| w.contains("without uncertainties")), "{:?}", yields.warnings);
}

#[test]
fn without_a_covariance_correlations_come_from_the_curvature() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures");
    for name in
        ["simple_workspace", "all_modifiers", "shared_names", "many_bins", "asymmetric", "edge_yields"]
    {
        let text = std::fs::read(format!("{folder}/{name}.json")).unwrap();
        let model = Workspace::from_slice(&text).unwrap().model(&ModelOptions::default()).unwrap();
        let session = open_session(&model, &Execution::default()).unwrap();
        let options = FitOptions::default();
        let mut result = fit(&model, session.as_ref(), &options, Control::default()).unwrap();
        let with = expected_yields(&model, session.as_ref(), &options, YieldsAt::Postfit(&result)).unwrap();
        result.covariance = None;
        let without =
            expected_yields(&model, session.as_ref(), &options, YieldsAt::Postfit(&result)).unwrap();
        for (one, other) in with.channels.iter().zip(&without.channels) {
            let of = |channel: &ns_inference::yields::ChannelYields| {
                let samples = channel.samples.iter();
                let parts = samples.flat_map(|s| s.uncertainty.iter().copied().chain([s.sum_uncertainty]));
                let total = channel.uncertainty.iter().copied().chain([channel.sum_uncertainty]);
                total.chain(parts).map(Option::unwrap).collect::<Vec<f64>>()
            };
            let (one_by_one, others) = (of(one), of(other));
            assert_eq!(one_by_one.len(), (one.total.len() + 1) * (one.samples.len() + 1));
            for (a, b) in one_by_one.into_iter().zip(others) {
                assert!((a - b).abs() < 1e-7 * (1.0 + b), "{name}, {}: {a} and {b}", one.name);
            }
        }
    }
}

#[test]
fn parameters_without_an_uncertainty_are_named() {
    let (model, session) = open(r#"{"name": "mu", "bounds": [[2.0, 10.0]], "inits": [2.0]}"#);
    let options = FitOptions::default();
    let result = fit(&model, session.as_ref(), &options, Control::default()).unwrap();
    assert_eq!(result.at_bound, ["mu"]);
    let yields = postfit_yields(&model, session.as_ref(), &options, &result).unwrap();
    assert!(yields.warnings.iter().any(|w| w.contains("leave out mu")), "{:?}", yields.warnings);
    assert!(yields.channels[0].uncertainty[0].unwrap() > 0.0);
}

#[test]
fn a_result_of_another_model_is_refused() {
    let (model, session) = open("");
    let options = FitOptions::default();
    let mut result = fit(&model, session.as_ref(), &options, Control::default()).unwrap();
    result.parameter_names[0] = "another".to_owned();
    assert!(postfit_yields(&model, session.as_ref(), &options, &result).is_err());
    result.bestfit.pop();
    assert!(postfit_yields(&model, session.as_ref(), &options, &result).is_err());
}

#[test]
fn the_chosen_scan_covers_the_limits() {
    let limit = |parameters: &str| {
        let (model, session) = open(parameters);
        let options = LimitOptions::default().auto_scan(Some(5));
        upper_limit(&model, session.as_ref(), &options, Control::default()).unwrap()
    };
    let result = limit("");
    let values = result.scan.unwrap().mu_values;
    let largest = result.expected.iter().chain([&result.observed]).flatten().copied().fold(0.0, f64::max);
    assert_eq!((values.len(), values[0]), (5, 0.0));
    close(values[4], (1.25 * largest).min(10.0));
    // If all limits are above the upper bound, the scan covers the whole range between the bounds.
    let result = limit(r#"{"name": "mu", "bounds": [[0.0, 0.5]], "inits": [0.1]}"#);
    assert_eq!(result.observed, None);
    let values = result.scan.unwrap().mu_values;
    assert_eq!((values[0], values[4]), (0.0, 0.5));
}

/// A workspace with two channels that have common and separate parameters. Every yield is a linear function of each
/// parameter except `norm`. Tests replace the texts `LO` and `HI` by the down and up factors of `norm`.
const SHARED: &str = r#"{"channels": [
  {"name": "A", "samples": [
    {"name": "signal", "data": [8.0, 3.0], "modifiers": [
      {"name": "mu", "type": "normfactor", "data": null}, {"name": "lumi", "type": "lumi", "data": null},
      {"name": "stat_A", "type": "staterror", "data": [0.5, 0.4]}]},
    {"name": "background", "data": [60.0, 40.0], "modifiers": [
      {"name": "k", "type": "normfactor", "data": null},
      {"name": "norm", "type": "normsys", "data": {"lo": LO, "hi": HI}},
      {"name": "stat_A", "type": "staterror", "data": [2.0, 3.0]}]},
    {"name": "other", "data": [10.0, 5.0], "modifiers": [
      {"name": "free", "type": "shapesys", "data": [3.0, 2.0]}, {"name": "lumi", "type": "lumi", "data": null}]}]},
  {"name": "B", "samples": [
    {"name": "background", "data": [200.0], "modifiers": [
      {"name": "k", "type": "normfactor", "data": null},
      {"name": "norm", "type": "normsys", "data": {"lo": LO, "hi": HI}}]},
    {"name": "other", "data": [30.0], "modifiers": [{"name": "lumi", "type": "lumi", "data": null}]}]}],
 "observations": [{"name": "A", "data": [85.0, 44.0]}, {"name": "B", "data": [221.0]}],
 "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": [
   {"name": "lumi", "auxdata": [1.0], "sigmas": [0.03], "inits": [1.0], "bounds": [[0.5, 1.5]]},
   {"name": "mu", "bounds": [[-10.0, 10.0]], "inits": [1.0]}]}}], "version": "1.0.0"}"#;

#[test]
fn uncertainties_of_samples_are_those_of_a_finite_difference_jacobian() {
    use ns_core::{Data, EvaluationRequest};

    for (lo, hi, tolerance) in [("1.0", "1.0", 1e-7), ("0.98", "1.02", 1e-3)] {
        let text = SHARED.replace("LO", lo).replace("HI", hi);
        let workspace = Workspace::from_slice(text.as_bytes()).unwrap();
        let model = workspace.model(&ModelOptions::default()).unwrap();
        let session = open_session(&model, &Execution::default()).unwrap();
        let options = FitOptions::default();
        let result = fit(&model, session.as_ref(), &options, Control::default()).unwrap();
        assert!(result.converged && result.at_bound.is_empty(), "{:?}", result.warnings);
        let covariance = result.covariance.clone().unwrap();
        let n = model.parameters.len();
        let request = EvaluationRequest { samples: true, ..EvaluationRequest::default() };
        let at = |i: usize, step: f64| {
            let mut point = result.bestfit.clone();
            point[i] += step;
            session.evaluate(&Data::observed(), &point, request).unwrap().samples
        };
        let h = 1e-5;
        let jacobian: Vec<Vec<f64>> = (0..n)
            .map(|i| at(i, h).iter().zip(at(i, -h)).map(|(up, down)| (up - down) / (2.0 * h)).collect())
            .collect();
        // Returns the uncertainty of the sum of some yields.
        let sigma = |elements: &[usize]| {
            let slope = |i: usize| elements.iter().map(|e| jacobian[i][*e]).sum::<f64>();
            let pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
            pairs.map(|(i, j)| slope(i) * covariance.get(i, j) * slope(j)).sum::<f64>().sqrt()
        };
        let near = |found: Option<f64>, elements: &[usize], what: &str| {
            let (found, expected) = (found.unwrap(), sigma(elements));
            assert!(
                (found - expected).abs() <= tolerance * expected,
                "{what}: {found} instead of {expected}"
            );
        };
        let yields = expected_yields(&model, session.as_ref(), &options, YieldsAt::Postfit(&result)).unwrap();
        let mut first = 0;
        for channel in &yields.channels {
            let n_bins = channel.total.len();
            let mut whole: Vec<Vec<usize>> = vec![Vec::new(); n_bins];
            for sample in &channel.samples {
                let what = format!("{} in {}", sample.name, channel.name);
                let elements: Vec<usize> = (first..first + n_bins).collect();
                for (bin, e) in elements.iter().enumerate() {
                    near(sample.uncertainty[bin], &[*e], &what);
                    whole[bin].push(*e);
                }
                near(sample.sum_uncertainty, &elements, &what);
                close(sample.sum, sample.counts.iter().sum());
                first += n_bins;
            }
            for (bin, elements) in whole.iter().enumerate() {
                near(channel.uncertainty[bin], elements, &channel.name);
            }
            near(channel.sum_uncertainty, &whole.concat(), &channel.name);
        }
        // For the same parameters and covariance, the yields have the same uncertainties. If no covariance is given,
        // the uncertainties are the widths of the constraints.
        let given = YieldsAt::Given(&result.bestfit, Some(&covariance));
        let given = expected_yields(&model, session.as_ref(), &options, given).unwrap();
        assert_eq!(given.stage, Stage::Given);
        for (a, b) in given.channels.iter().zip(&yields.channels) {
            close(a.sum_uncertainty.unwrap(), b.sum_uncertainty.unwrap());
        }
        let initial: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        let given =
            expected_yields(&model, session.as_ref(), &options, YieldsAt::Given(&initial, None)).unwrap();
        let prefit = expected_yields(&model, session.as_ref(), &options, YieldsAt::Prefit).unwrap();
        assert_eq!(given.channels, prefit.channels);
    }
}

#[test]
fn yields_at_parameters_that_do_not_fit_are_refused() {
    let (model, session) = open("");
    let options = FitOptions::default();
    for point in [&[1.0][..], &[1.0, f64::NAN, 0.0], &[1.0; 4]] {
        assert!(expected_yields(&model, session.as_ref(), &options, YieldsAt::Given(point, None)).is_err());
    }
    let small = ns_core::Covariance { n: 2, values: vec![0.0; 4] };
    let given = YieldsAt::Given(&[1.0, 0.0, 0.0], Some(&small));
    assert!(expected_yields(&model, session.as_ref(), &options, given).is_err());
}

/// Each bin and each point of a curve was an integral in three dimensions, so the yields took hours.
#[test]
fn yields_of_densities_at_given_values_follow_from_integrals_in_closed_form() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/hs3/lifetime.hs3.json");
    let source = ModelSource::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let model = source.model(&ModelOptions::default()).unwrap();
    let session = open_session(&model, &Execution::default()).unwrap();
    let yields = expected_yields(&model, session.as_ref(), &FitOptions::default(), YieldsAt::Prefit).unwrap();
    let shapes = EventShapes::new(&model, Level::detect()).unwrap();
    let point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    let axes: Vec<(f64, f64)> = model.event_channels[0].boxes()[0].clone();
    // The density at places in three dimensions, and its integral over the two that are not `along`, at `x`.
    let nodes = |(low, high): (f64, f64), n: usize| -> Vec<f64> {
        (0..n).map(|i| low + (high - low) * (i as f64 + 0.5) / n as f64).collect()
    };
    let counts = [400, 2000, 20];
    let projected = |along: usize, x: f64| {
        let others: Vec<usize> = (0..3).filter(|axis| *axis != along).collect();
        let (first, second) =
            (nodes(axes[others[0]], counts[others[0]]), nodes(axes[others[1]], counts[others[1]]));
        let mut columns = vec![Vec::new(); 3];
        for a in &first {
            for b in &second {
                columns[along].push(x);
                columns[others[0]].push(*a);
                columns[others[1]].push(*b);
            }
        }
        let views: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
        let area: f64 =
            others.iter().map(|&axis| (axes[axis].1 - axes[axis].0) / counts[axis] as f64).product();
        area * shapes.densities(&point, 0, &views)[0].iter().sum::<f64>()
    };
    let total = yields.channels[0].data_sum;
    for (along, channel) in yields.channels.iter().enumerate() {
        let sample = &channel.samples[0];
        assert!((channel.sum / total - 1.0).abs() < 1e-9, "{}", channel.sum);
        let bins = channel.bin_edges.len() - 1;
        let per_bin = channel.curve_positions.len() / bins;
        for bin in (0..bins).step_by(bins / 4) {
            let width = channel.bin_edges[bin + 1] - channel.bin_edges[bin];
            for step in [0, 3, per_bin - 1] {
                let i = bin * per_bin + step;
                let direct = total * width * projected(along, channel.curve_positions[i]);
                let largest = sample.curve.iter().fold(0.0_f64, |most, y| most.max(*y));
                let (found, off) = (sample.curve[i], (sample.curve[i] - direct).abs());
                assert!(off < 1e-4 * largest, "{}: {found}, not {direct}", channel.curve_positions[i]);
            }
            // Simpson's rule.
            let curve = &sample.curve[bin * per_bin..(bin + 1) * per_bin];
            let weight = |i: usize| if i == 0 || i == per_bin - 1 { 1.0 } else { [2.0, 4.0][i % 2] };
            let sum: f64 = curve.iter().enumerate().map(|(i, y)| weight(i) * y).sum();
            let mean = sum / (3.0 * (per_bin - 1) as f64);
            assert!(
                (mean - sample.counts[bin]).abs() < 1e-4 * channel.sum,
                "{mean}, not {}",
                sample.counts[bin]
            );
        }
    }
}
