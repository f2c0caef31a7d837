//! Compares the values of differentiable sessions with other analyses, and their derivatives with finite differences.
#![allow(missing_docs, clippy::unwrap_used)]

use ns_core::{Control, Execution, Input, Model};
use ns_inference::differentiable::{Differentiated, Follow, ProfiledDifferentiableSession, ProfiledOptions};
use ns_inference::{
    FitData, FitOptions, HypotestOptions, InferenceError, TestStatistic, hypotest, open_session, significance,
};
use ns_translate::pyhf::{ModelOptions, Workspace};

fn model() -> Model {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/all_modifiers.json");
    Workspace::from_path(path).unwrap().model(&ModelOptions::default()).unwrap()
}

fn opened() -> Model {
    let model = model();
    let inputs = [model.nominal_inputs("signal"), model.nominal_inputs("top")].concat();
    model.open(&inputs).unwrap()
}

fn single() -> Execution {
    Execution { threads: 1, ..Execution::default() }
}

fn profiled(options: &ProfiledOptions) -> ProfiledDifferentiableSession {
    ProfiledDifferentiableSession::open(&opened(), options, &single()).unwrap()
}

/// Returns inputs of the session (nominal yields) that differ from those of the model by up to 4 %.
fn moved(session: &ProfiledDifferentiableSession) -> Vec<f64> {
    let values = &session.likelihood().inputs().values;
    values.iter().enumerate().map(|(i, x)| x * (1.0 + 0.01 * (i % 5) as f64)).collect()
}

/// Compares the derivatives of `f` with respect to the nominal yields with central differences, which are
/// extrapolated to a step of 0.
fn check(what: &str, yields: &[f64], f: impl Fn(&[f64]) -> Differentiated) {
    let Differentiated { gradient, .. } = f(yields);
    let largest = gradient.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    for (i, &got) in gradient.iter().enumerate() {
        let difference = |h: f64| {
            let at = |step: f64| {
                let mut moved = yields.to_vec();
                moved[i] += step;
                f(&moved).value
            };
            (at(h) - at(-h)) / (2.0 * h)
        };
        let h = 0.005 * yields[i].abs().max(1.0);
        let want = (4.0 * difference(h / 2.0) - difference(h)) / 3.0;
        assert!((got - want).abs() <= 1e-5 * largest, "{what}: derivative {i} is {got} instead of {want}");
    }
}

#[test]
fn derivatives_are_those_of_differences() {
    let session = profiled(&ProfiledOptions::default());
    let yields = moved(&session);
    check("q0", &yields, |y| session.statistic(TestStatistic::Q0, 0.0, y, None).unwrap());
    check("qtilde", &yields, |y| session.statistic(TestStatistic::Qtilde, 3.0, y, None).unwrap());
    check("significance", &yields, |y| session.significance(y).unwrap().expected.remove(0));
    check("uncertainty", &yields, |y| session.uncertainty(y).unwrap());
}

/// The factors of these models are functions of parameters.
#[test]
fn derivatives_through_functions_are_those_of_differences() {
    let opened = |name: &str, samples: &[&str]| {
        let path = format!("{}/../../tests/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let model = Workspace::from_path(path).unwrap().model(&ModelOptions::default()).unwrap();
        let inputs: Vec<Input> = samples.iter().flat_map(|sample| model.nominal_inputs(sample)).collect();
        let options = ProfiledOptions::default();
        ProfiledDifferentiableSession::open(&model.open(&inputs).unwrap(), &options, &single()).unwrap()
    };
    let abcd = opened("abcd", &["signal", "background"]);
    let yields = moved(&abcd);
    check("q0", &yields, |y| abcd.statistic(TestStatistic::Q0, 0.0, y, None).unwrap());
    check("qtilde", &yields, |y| abcd.statistic(TestStatistic::Qtilde, 3.0, y, None).unwrap());
    check("significance", &yields, |y| abcd.significance(y).unwrap().expected.remove(0));
    check("uncertainty", &yields, |y| abcd.uncertainty(y).unwrap());
    // The parameter of interest is a coupling in which the yields are quadratic.
    let eft = opened("eft", &["signal", "interference"]);
    check("uncertainty of a coupling", &moved(&eft), |y| eft.uncertainty(y).unwrap());
}

#[test]
fn an_expected_significance_is_that_of_the_analysis() {
    let session = profiled(&ProfiledOptions::default());
    let nominal = session.likelihood().inputs().values.clone();
    let band = session.significance(&nominal).unwrap();
    let model = model();
    let on_cpu = open_session(&model, &single()).unwrap();
    let result = significance(&model, on_cpu.as_ref(), &FitOptions::default(), Control::default()).unwrap();
    assert!((band.observed.value - result.z.unwrap()).abs() < 1e-9);
    assert!((band.expected[0].value - result.z_expected.unwrap()).abs() < 1e-9);
}

#[test]
fn cls_without_power_is_1_with_derivatives_of_0() {
    let session = profiled(&ProfiledOptions::default());
    let nominal = session.likelihood().inputs().values.clone();
    let model = model();
    let on_cpu = open_session(&model, &single()).unwrap();
    for statistic in [TestStatistic::Qtilde, TestStatistic::Q] {
        let options = HypotestOptions::default().statistic(statistic);
        for mu in [0.0, -1.0] {
            let band = session.cls(statistic, mu, &nominal).unwrap();
            let result = hypotest(&model, on_cpu.as_ref(), mu, &options, Control::default()).unwrap();
            assert_eq!((band.observed.value, result.cls), (1.0, Some(1.0)), "{statistic:?} {mu}");
            let all = std::iter::once((&band.observed, result.cls));
            for (made, expected) in all.chain(band.expected.iter().zip(result.expected_set.cls)) {
                assert_eq!(Some(made.value), expected, "{statistic:?} {mu}");
                assert!(made.gradient.len() == nominal.len() && made.gradient.iter().all(|x| *x == 0.0));
            }
        }
    }
}

#[test]
fn warm_fits_end_where_cold_ones_do_and_keep_rows_apart() {
    let session = profiled(&ProfiledOptions::default());
    let nominal = session.likelihood().inputs().values.clone();
    for step in 0..10 {
        let yields: Vec<f64> = nominal.iter().map(|x| x * (1.0 + 0.003 * f64::from(step))).collect();
        let cold = session.statistic(TestStatistic::Q0, 0.0, &yields, None).unwrap();
        for row in [0, 7] {
            let warm = session.statistic(TestStatistic::Q0, 0.0, &yields, Some(row)).unwrap();
            assert!((warm.value - cold.value).abs() < 1e-8 * (1.0 + cold.value), "step {step} row {row}");
        }
    }
}

/// Returns a model with 80 nuisance parameters. The model is so large that the two fits of a test statistic run on
/// two threads.
fn large() -> Model {
    let modifiers: Vec<String> = (0..80)
        .map(|i| {
            let (hi, lo) = (1.02 + 0.001 * f64::from(i % 7), 0.97 - 0.001 * f64::from(i % 5));
            format!(r#"{{"name": "sys{i}", "type": "normsys", "data": {{"hi": {hi}, "lo": {lo}}}}}"#)
        })
        .collect();
    let workspace = format!(
        r#"{{"channels": [{{"name": "region", "samples": [
            {{"name": "signal", "data": [4.0, 9.0, 2.0], "modifiers": [
                {{"name": "mu", "type": "normfactor", "data": null}}]}},
            {{"name": "background", "data": [60.0, 40.0, 50.0], "modifiers": [{}]}}]}}],
          "observations": [{{"name": "region", "data": [66.0, 55.0, 53.0]}}],
          "measurements": [{{"name": "all", "config": {{"poi": "mu", "parameters": []}}}}], "version": "1.0.0"}}"#,
        modifiers.join(", ")
    );
    let model = Workspace::from_slice(workspace.as_bytes()).unwrap().model(&ModelOptions::default()).unwrap();
    model.open(&model.nominal_inputs("signal")).unwrap()
}

#[test]
fn statistics_do_not_depend_on_the_number_of_threads() {
    let steps = |threads: usize| -> Vec<Differentiated> {
        let execution = Execution { threads, ..Execution::default() };
        let session =
            ProfiledDifferentiableSession::open(&large(), &ProfiledOptions::default(), &execution).unwrap();
        let nominal = session.likelihood().inputs().values.clone();
        let yields =
            |step: usize| nominal.iter().map(|x| x * (1.0 + 0.003 * step as f64)).collect::<Vec<f64>>();
        let one = |step, row| session.statistic(TestStatistic::Q0, 0.0, &yields(step), row).unwrap();
        (0..6).flat_map(|step| [one(step, None), one(step, Some(0))]).collect()
    };
    let single = steps(1);
    assert!(single.iter().all(|made| made.value > 1.0 && made.gradient.iter().all(|x| *x != 0.0)));
    assert_eq!(steps(2), single);
}

#[test]
fn what_follows_the_yields_is_in_the_derivatives() {
    let follow = Follow { templates: true, staterror: true, shapesys: false };
    let options =
        ProfiledOptions { follow, data: FitData::Asimov { poi: Some(1.0) }, ..ProfiledOptions::default() };
    let session = profiled(&options);
    let yields = moved(&session);
    check("q0 of Asimov data", &yields, |y| session.statistic(TestStatistic::Q0, 0.0, y, None).unwrap());
}

#[test]
fn mistakes_have_typed_errors() {
    let session = profiled(&ProfiledOptions::default());
    let n = session.likelihood().inputs().len();
    assert!(matches!(session.significance(&vec![1.0; n + 1]), Err(InferenceError::Session(_))));
    let nan = session.statistic(TestStatistic::Q, f64::NAN, &vec![1.0; n], None);
    assert!(matches!(nan, Err(InferenceError::NotFinite { .. })));
    assert!(matches!(
        session.cls(TestStatistic::Q0, 1.0, &vec![1.0; n]),
        Err(InferenceError::WrongStatistic { .. })
    ));
    let mut fixed = opened();
    let poi = fixed.poi().unwrap();
    fixed.parameters[poi].fixed = true;
    let options = ProfiledOptions::default();
    let refused = ProfiledDifferentiableSession::open(&fixed, &options, &single());
    assert!(matches!(refused.err(), Some(InferenceError::PoiFixed { .. })));
    assert!(model().open(&[Input::Nominal { channel: 99, sample: 0 }]).is_err());
}
