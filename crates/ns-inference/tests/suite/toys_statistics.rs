//! Compares results of toys with known results: asymptotic formulae for models for which they are valid, a bias of 0,
//! and the chi2 distribution.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};

use ns_core::{Control, Data, Execution, Model, Session};
use ns_inference::toys::{
    FitToysOptions, GeneratingPoint, HypotestToysOptions, ToyLimitOptions, ToyRow, ToyTest, fit_toys,
    hypotest_toys, upper_limit_toys,
};
use ns_inference::{
    FitOptions, HypotestOptions, LimitOptions, goodness_of_fit_toys, hypotest, open_session, upper_limit,
};
use ns_translate::pyhf::{ModelOptions, Workspace};

fn from_path(path: PathBuf) -> Model {
    Workspace::from_path(path).unwrap().model(&ModelOptions::default()).unwrap()
}

fn load(name: &str) -> Model {
    from_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name))
}

fn open(model: &Model) -> Box<dyn Session> {
    open_session(model, &Execution::default()).unwrap()
}

/// Builds a model with large counts. All distributions are then approximately Gaussian.
fn gaussian() -> Model {
    let document = serde_json::json!({
        "channels": [
            {"name": "SR", "samples": [
                {"name": "signal", "data": [300.0, 500.0], "modifiers": [
                    {"name": "mu", "type": "normfactor", "data": null}]},
                {"name": "background", "data": [20000.0, 16000.0], "modifiers": [
                    {"name": "scale", "type": "histosys",
                     "data": {"lo_data": [19800.0, 15900.0], "hi_data": [20200.0, 16100.0]}},
                    {"name": "rate", "type": "normfactor", "data": null}]}]},
            {"name": "CR", "samples": [
                {"name": "background", "data": [90000.0], "modifiers": [
                    {"name": "rate", "type": "normfactor", "data": null},
                    {"name": "gamma", "type": "shapesys", "data": [300.0]}]}]}],
        "observations": [{"name": "SR", "data": [20240.0, 16330.0]}, {"name": "CR", "data": [90110.0]}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": [
            {"name": "mu", "bounds": [[-50.0, 50.0]], "inits": [1.0]}]}}],
        "version": "1.0.0"
    });
    Workspace::from_slice(&serde_json::to_vec(&document).unwrap())
        .unwrap()
        .model(&ModelOptions::default())
        .unwrap()
}

#[test]
fn pulls_of_an_unbiased_model_have_mean_0_and_width_1() {
    let model = gaussian();
    let options = FitToysOptions::default().point(GeneratingPoint::Init).n_toys(20_000).seed(4);
    let result = fit_toys(&model, open(&model).as_ref(), &options, Control::default()).unwrap();
    assert_eq!((result.n_toys, result.n_failed, result.parameters.len()), (20_000, 0, 4));
    for p in &result.parameters {
        let (mean, width) = (p.pull_mean.unwrap(), p.pull_width.unwrap());
        let (mean_error, width_error) = (p.pull_mean_error.unwrap(), p.pull_width_error.unwrap());
        assert!((mean_error - 1.0 / 20_000_f64.sqrt()).abs() < 2e-4, "{}: {mean_error}", p.name);
        assert!((width_error - 1.0 / 40_000_f64.sqrt()).abs() < 3e-4, "{}: {width_error}", p.name);
        assert!(mean.abs() < 4.0 * mean_error, "{}: pull {mean} +- {mean_error}", p.name);
        assert!((width - 1.0).abs() < 4.0 * width_error, "{}: width {width} +- {width_error}", p.name);
        let (coverage, error) = (p.coverage.unwrap(), p.coverage_error.unwrap());
        assert!((coverage - 0.682_689_5).abs() < 4.0 * error, "{}: {coverage} +- {error}", p.name);
        assert!(p.bias.unwrap().abs() < 4.0 * p.bias_error.unwrap(), "{}", p.name);
        let spread = p.spread.unwrap();
        assert!((p.median.unwrap() - p.generated).abs() < 6.0 * spread / 20_000_f64.sqrt(), "{}", p.name);
        assert_eq!((p.n_pulls, p.n_without_uncertainty), (20_000, 0));
    }
}

#[test]
fn parameters_at_bounds_are_left_out_of_pulls_and_counted() {
    let model = load("simple_workspace.json");
    let mut point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    point[model.poi().unwrap()] = 0.0;
    let options = FitToysOptions::default()
        .point(GeneratingPoint::At(point.into()))
        .params(vec!["mu".into()])
        .n_toys(2000);
    let result = fit_toys(&model, open(&model).as_ref(), &options, Control::default()).unwrap();
    let mu = &result.parameters[0];
    // In about half of the toys without a signal, the fit ends at the bound of mu.
    assert!((800..1200).contains(&mu.n_without_uncertainty), "{}", mu.n_without_uncertainty);
    assert_eq!(mu.n_pulls + mu.n_without_uncertainty, 2000);
    assert!(mu.bias.unwrap() > 0.0 && mu.median.unwrap() < mu.mean.unwrap());
    assert!(
        result.warnings.iter().any(|w| w.contains("n_without_uncertainty of mu")),
        "{:?}",
        result.warnings
    );
}

#[test]
fn toys_agree_with_asymptotic_formulae_where_these_hold() {
    let model = gaussian();
    let session = open(&model);
    for (mu, seed) in [(1.2, 1), (1.7, 2)] {
        let options = HypotestToysOptions::default().statistic(ns_inference::TestStatistic::Q);
        let options = options.n_toys(20_000).seed(seed).expected_set(true);
        let toys = hypotest_toys(&model, session.as_ref(), mu, &options, Control::default()).unwrap();
        let options = HypotestOptions::default().statistic(ns_inference::TestStatistic::Q);
        let formula = hypotest(&model, session.as_ref(), mu, &options, Control::default()).unwrap();
        assert_eq!(toys.q_obs.to_bits(), formula.q_obs.to_bits());
        let pairs = [
            (toys.cls, toys.cls_error, formula.cls),
            (toys.clsb, toys.clsb_error, formula.clsb),
            (toys.clb, toys.clb_error, formula.clb),
        ];
        for (toy, error, formula) in pairs {
            let (toy, error, formula) = (toy.unwrap(), error.unwrap(), formula.unwrap());
            assert!((toy - formula).abs() < 4.0 * error, "mu {mu}: {toy} +- {error}, formula {formula}");
        }
        let band = toys.expected_set.unwrap().cls;
        assert_eq!(band.len(), 5);
        for (toy, formula) in band.iter().zip(&formula.expected_set.cls).skip(1) {
            let (toy, formula) = (toy.unwrap(), formula.unwrap());
            assert!(
                (toy - formula).abs() < 0.1 * formula + 0.005,
                "mu {mu}: expected {toy}, formula {formula}"
            );
        }
    }
}

/// Compares the test statistic and the best-fit `mu` of each toy with those of a hypothesis test of the same data.
#[test]
fn the_statistic_of_a_toy_is_that_of_two_full_fits() {
    let model = load("all_modifiers.json");
    let session = open(&model);
    let options = HypotestToysOptions::default().n_toys(40).seed(2);
    let test = ToyTest::prepare(&model, session.as_ref(), 1.0, &options, Control::default()).unwrap();
    let mut rows: Vec<ToyRow> = Vec::new();
    assert!(!test.run(&test.ranges(), Control::default(), &mut rows).unwrap().interrupted);
    let mut zeros = 0;
    for row in &rows {
        let point = test.header().point(row.hypothesis);
        let source = session.toy_source(point, &Data::observed(), 2, row.hypothesis.number()).unwrap();
        let data = ns_inference::fit::FitData::Given(std::sync::Arc::new(source.draw(row.index)));
        let options = HypotestOptions::default().fit(FitOptions::default().data(data));
        let known = hypotest(&model, session.as_ref(), 1.0, &options, Control::default()).unwrap();
        let (q, mu_hat) = (row.statistic.unwrap(), row.mu_hat.unwrap());
        assert!((q - known.q_obs).abs() < 1e-8, "{row:?}: {}", known.q_obs);
        assert!((mu_hat - known.mu_hat).abs() < 1e-5, "{row:?}: {}", known.mu_hat);
        zeros += usize::from(q == 0.0);
    }
    assert!(zeros > 5 && zeros < 75, "{zeros} of 80 statistics are 0");
}

#[test]
fn goodness_of_fit_of_gaussian_toys_is_chi2_distributed() {
    let model = gaussian();
    let session = open(&model);
    let options = FitOptions::default();
    let result =
        goodness_of_fit_toys(&model, session.as_ref(), &options, 20_000, 9, Control::default()).unwrap();
    let (toys, error) = (result.p_value_toys.unwrap(), result.p_value_toys_error.unwrap());
    let formula = result.p_value.unwrap();
    assert!(formula > 0.01 && formula < 0.99, "{formula}: no test of anything");
    assert!((toys - formula).abs() < 4.0 * error, "{toys} +- {error}, formula {formula}");
    let counts = result.toys.unwrap();
    assert_eq!((counts.n_toys, counts.n_nonconverged, counts.n_error, counts.seed), (20_000, 0, 0, 9));
}

#[test]
fn limits_with_toys_are_the_asymptotic_ones_where_these_hold() {
    let model = gaussian();
    let session = open(&model);
    let statistic = ns_inference::TestStatistic::Q;
    let options = ToyLimitOptions::default().statistic(statistic).n_toys(10_000).seed(6).expected(true);
    let toys = upper_limit_toys(&model, session.as_ref(), &options, Control::default()).unwrap();
    let options = LimitOptions::default().statistic(statistic);
    let formula = upper_limit(&model, session.as_ref(), &options, Control::default()).unwrap();
    assert!(toys.warnings.is_empty(), "{:?}", toys.warnings);
    let (limit, error) = (toys.observed.unwrap(), toys.observed_error.unwrap());
    assert!(error > 0.0 && error < 0.05 * limit, "{error}");
    let known = formula.observed.unwrap();
    assert!((limit - known).abs() < 4.0 * error, "{limit} +- {error}, formula {known}");
    assert_eq!(toys.expected.len(), 5);
    for ((limit, error), known) in toys.expected.iter().zip(&toys.expected_error).zip(&formula.expected) {
        let (limit, error, known) = (limit.unwrap(), error.unwrap(), known.unwrap());
        assert!((limit - known).abs() < 4.0 * error, "{limit} +- {error}, formula {known}");
    }
    assert!(toys.expected.is_sorted());
    assert!(toys.n_evaluations == toys.points.len() && toys.n_evaluations < 40, "{}", toys.n_evaluations);
    // At the tested value nearest to the limit, CLs differs from 0.05 by less than two statistical errors.
    let near =
        toys.points.iter().min_by(|a, b| (a.mu - limit).abs().total_cmp(&(b.mu - limit).abs())).unwrap();
    assert!((near.cls.unwrap() - 0.05).abs() < 2.0 * near.cls_error.unwrap(), "{near:?}");
}

/// For the published model tHu, CLs near mu = 0.3 is a few percent.
#[test]
fn a_published_model_agrees_with_its_asymptotic_test() {
    let Some(folder) = std::env::var_os("NEXTSTAT_REFERENCE_DIR") else {
        eprintln!("SKIPPED: set NEXTSTAT_REFERENCE_DIR to the reference folder to run this test");
        return;
    };
    let model = from_path(PathBuf::from(folder).join("workspaces/tHu.json"));
    let session = open(&model);
    let options = HypotestToysOptions::default().n_toys(2000).seed(1);
    let toys = hypotest_toys(&model, session.as_ref(), 0.3, &options, Control::default()).unwrap();
    let formula =
        hypotest(&model, session.as_ref(), 0.3, &HypotestOptions::default(), Control::default()).unwrap();
    println!(
        "CLs {:?} +- {:?}, formula {:?}; {:?} toys/s",
        toys.cls, toys.cls_error, formula.cls, toys.toys_per_s
    );
    assert_eq!((toys.n_error.b, toys.n_error.sb), (0, 0), "{:?}", toys.warnings);
    assert_eq!((toys.n_nonconverged.b, toys.n_nonconverged.sb), (0, 0), "{:?}", toys.warnings);
    let (cls, error, known) = (toys.cls.unwrap(), toys.cls_error.unwrap(), formula.cls.unwrap());
    assert!((cls - known).abs() < 4.0 * error, "{cls} +- {error}, formula {known}");
}
