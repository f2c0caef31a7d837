//! Tests of analyses of several parameters of interest against independent fits.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use ns_core::{Control, Execution, Model, Session};
use ns_inference::ranking::Side;
use ns_inference::{
    FitOptions, Group, Impact, InferenceError, LimitOptions, PointOptions, RankingOptions, RankingResult,
    ScanAxis, ScanOptions, fit, hypotest_point, open_session, ranking, rankings, scan, significance,
    upper_limit,
};
use ns_translate::pyhf::{ModelOptions, Workspace};

const FIXTURE: &str = "two_signals.json";

fn opened(pois: &str) -> (Model, Box<dyn Session>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(FIXTURE);
    let options = ModelOptions { pois: vec![pois.to_owned()], ..ModelOptions::default() };
    let model = Workspace::from_path(path).unwrap().model(&options).unwrap();
    let session = open_session(&model, &Execution::default()).unwrap();
    (model, session)
}

fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} is not {b} within {tolerance}");
}

#[test]
fn rankings_that_share_fits_are_those_made_one_by_one() {
    let (both, session) = opened("mu_ggH,mu_qqH,norm");
    let groups = [Group::new("theory", ["scale"]), Group::new("detector", ["jets", "rate"])];
    let mut options =
        RankingOptions::default().impacts([Impact::Refit, Impact::Covariance, Impact::Global]).prefit(true);
    options.groups = groups.to_vec();
    let together = rankings(&both, session.as_ref(), &options, Control::default()).unwrap();
    assert_eq!(together.iter().map(|r| r.param.as_str()).collect::<Vec<_>>(), ["mu_ggH", "mu_qqH", "norm"]);
    for (first, shared) in
        ["mu_ggH,mu_qqH,norm", "mu_qqH,mu_ggH,norm", "norm,mu_ggH,mu_qqH"].iter().zip(&together)
    {
        let (model, session) = opened(first);
        let alone = ranking(&model, session.as_ref(), &options, Control::default()).unwrap();
        same(&alone, shared);
        // A nuisance parameter is ranked, a parameter of interest is not.
        assert!(shared.get("jets").is_some() && shared.get("mu_qqH").is_none());
        assert_eq!(shared.n_fits, together[0].n_fits);
    }
    let (model, session) = opened("mu_ggH");
    let single = ranking(&model, session.as_ref(), &options, Control::default()).unwrap();
    close(single.get("jets").unwrap().impacts.delta(Side::Up).unwrap(), delta(&together[0], "jets"), 1e-9);
    assert!(single.get("mu_qqH").is_some());
    // The fits of three rankings are hardly more than those of one.
    assert!(together[0].n_fits <= single.n_fits);
}

fn delta(result: &RankingResult, name: &str) -> f64 {
    result.get(name).unwrap().impacts.delta(Side::Up).unwrap()
}

fn same(a: &RankingResult, b: &RankingResult) {
    close(a.mu_hat, b.mu_hat, 1e-9);
    close(a.mu_uncertainty.unwrap(), b.mu_uncertainty.unwrap(), 1e-9);
    let names = |r: &RankingResult| r.ranking.iter().map(|e| e.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(a), names(b));
    for (x, y) in a.ranking.iter().zip(&b.ranking) {
        let pairs = [(&x.refit, &y.refit), (&x.covariance, &y.covariance), (&x.global, &y.global)];
        for (x, y) in pairs {
            let (x, y) = (x.as_ref().unwrap(), y.as_ref().unwrap());
            for side in Side::ALL {
                assert_eq!(x.delta(side).is_some(), y.delta(side).is_some());
                close(x.delta(side).unwrap_or(0.0), y.delta(side).unwrap_or(0.0), 1e-8);
            }
        }
    }
    close(a.breakdown.systematic.unwrap(), b.breakdown.systematic.unwrap(), 1e-9);
    assert_eq!(a.groups.len(), b.groups.len());
    for (x, y) in a.groups.iter().zip(&b.groups) {
        assert_eq!(x.name, y.name);
        close(x.delta_mu_fixed.unwrap(), y.delta_mu_fixed.unwrap(), 1e-8);
        close(x.delta_mu_global.unwrap(), y.delta_mu_global.unwrap(), 1e-8);
    }
}

#[test]
fn the_top_of_each_ranking_is_its_own() {
    let (both, session) = opened("mu_ggH,mu_qqH");
    // The factor norm would be first, and it has no pre-fit impact.
    let held = FitOptions::default().fix("norm", 1.0);
    let options = RankingOptions::default().top(1).prefit(true).fit(held);
    for result in rankings(&both, session.as_ref(), &options, Control::default()).unwrap() {
        let (model, session) =
            opened(if result.param == "mu_ggH" { "mu_ggH,mu_qqH" } else { "mu_qqH,mu_ggH" });
        let alone = ranking(&model, session.as_ref(), &options, Control::default()).unwrap();
        assert_eq!((result.ranking.len(), &result.ranking[0].name), (1, &alone.ranking[0].name));
        let impacts = |r: &RankingResult| r.ranking[0].impacts.delta(Side::PrefitUp).unwrap();
        close(impacts(&result), impacts(&alone), 1e-9);
    }
}

#[test]
fn groups_held_in_turn_add_up_to_the_total() {
    let (model, session) = opened("mu_ggH,mu_qqH");
    let mut options = RankingOptions::default().impacts([Impact::Covariance]);
    options.groups = vec![
        Group::new("theory", ["scale"]),
        Group::new("again", ["scale"]),
        Group::new("yields", ["jets", "norm"]),
    ];
    for result in rankings(&model, session.as_ref(), &options, Control::default()).unwrap() {
        let sequence = result.sequential.unwrap();
        let total = result.mu_uncertainty.unwrap();
        close(sequence.sum.unwrap(), total, 1e-9);
        let names: Vec<&str> = sequence.groups.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names, ["theory", "again", "yields"]);
        // The second group has nothing that the first did not hold.
        assert_eq!(sequence.groups[1].delta_mu, Some(0.0));
        // Each step is a fit with the parameters held.
        let held = |names: &[&str]| {
            let free = fit(&model, session.as_ref(), &FitOptions::default(), Control::default()).unwrap();
            let at = |options: FitOptions, name: &&str| options.fix(*name, free.value(name).unwrap());
            let options = names.iter().fold(FitOptions::default(), at);
            let fit = fit(&model, session.as_ref(), &options, Control::default()).unwrap();
            fit.uncertainty(&result.param).unwrap()
        };
        close(sequence.groups[0].left.unwrap(), held(&["scale"]), 1e-7);
        close(sequence.groups[2].left.unwrap(), held(&["scale", "jets", "norm"]), 1e-7);
        let everything = ["scale", "jets", "norm", "rate", "stat[0]", "stat[1]", "stat[2]"];
        close(sequence.statistical.unwrap(), held(&everything), 1e-7);
        let sums = result.group_sums.unwrap();
        let square = |x: Option<f64>| x.unwrap().powi(2);
        let fixed: f64 = result.groups.iter().map(|group| square(group.delta_mu_fixed)).sum();
        close(sums.delta_mu_fixed.unwrap(), fixed.sqrt(), 1e-12);
    }
}

fn point(
    values: &[(&str, f64)],
    options: &PointOptions,
) -> Result<ns_inference::PointResult, InferenceError> {
    let (model, session) = opened("mu_ggH,mu_qqH");
    let values: Vec<(String, f64)> =
        values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    hypotest_point(&model, session.as_ref(), &values, options, Control::default())
}

#[test]
fn a_point_is_tested_by_the_likelihood_ratio() {
    let result = point(&[("mu_ggH", 1.5), ("mu_qqH", 0.5)], &PointOptions::default()).unwrap();
    let (model, session) = opened("mu_ggH");
    let best = fit(&model, session.as_ref(), &FitOptions::default(), Control::default()).unwrap();
    let options = FitOptions::default().fix("mu_ggH", 1.5).fix("mu_qqH", 0.5);
    let held = fit(&model, session.as_ref(), &options, Control::default()).unwrap();
    let t = held.twice_nll - best.twice_nll;
    close(result.t, t, 1e-8);
    assert!(result.converged && result.n_dof == 2 && result.p_value_toys.is_none());
    // With two degrees of freedom the tail of chi2 is an exponential.
    close(result.p_value.unwrap(), (-0.5 * t).exp(), 1e-12);
    close(result.best_fit[1], best.value("mu_qqH").unwrap(), 1e-6);

    let one = point(&[("mu_qqH", 0.5)], &PointOptions::default()).unwrap();
    close(one.z.unwrap(), one.t.sqrt(), 1e-12);
    close(one.p_value.unwrap(), 2.0 * ns_inference::normal::upper_tail(one.t.sqrt()), 1e-12);
    // Another parameter is fitted unless it is held.
    let fixed = PointOptions::default().fit(FitOptions::default().fix("mu_ggH", 1.5));
    let fixed = point(&[("mu_qqH", 0.5)], &fixed).unwrap();
    let options = FitOptions::default().fix("mu_ggH", 1.5);
    let free = fit(&model, session.as_ref(), &options, Control::default()).unwrap();
    close(fixed.t, held.twice_nll - free.twice_nll, 1e-8);
    assert!(fixed.t > 0.0 && (fixed.t - one.t).abs() > 1e-3);
}

#[test]
fn toys_of_a_point_follow_the_chi2_law() {
    let options = PointOptions::default().n_toys(Some(2000)).seed(3);
    let result = point(&[("mu_ggH", 2.2), ("mu_qqH", 1.6)], &options).unwrap();
    let toys = result.toys.as_ref().unwrap();
    assert_eq!((toys.n_toys, toys.n_error), (2000, 0));
    let (p, error) = (result.p_value_toys.unwrap(), result.p_value_toys_error.unwrap());
    assert!((p - result.p_value.unwrap()).abs() < 4.0 * error, "{p} {:?}", result.p_value);
    assert_eq!(
        result,
        point(&[("mu_ggH", 2.2), ("mu_qqH", 1.6)], &options).map(|again| same_time(again, &result)).unwrap()
    );
}

/// Replaces the speed of a run, which is never the same twice.
fn same_time(
    mut result: ns_inference::PointResult,
    like: &ns_inference::PointResult,
) -> ns_inference::PointResult {
    if let (Some(toys), Some(other)) = (&mut result.toys, &like.toys) {
        toys.toys_per_s = other.toys_per_s;
    }
    result
}

#[test]
fn a_point_at_a_bound_is_doubted_and_wrong_points_are_refused() {
    let at = point(&[("mu_ggH", 0.0), ("mu_qqH", 1.0)], &PointOptions::default()).unwrap();
    assert!(
        at.warnings.iter().any(|w| w.starts_with("mu_ggH: the best fit or the tested value is at a bound"))
    );
    let outside = point(&[("mu_ggH", -0.1)], &PointOptions::default()).unwrap();
    assert!(outside.warnings.iter().any(|w| w.contains("lies outside its bounds")));
    let refused = |values: &[(&str, f64)], options: PointOptions| point(values, &options).unwrap_err();
    let none = PointOptions::default;
    assert!(matches!(refused(&[], none()), InferenceError::BadPoint { .. }));
    assert!(matches!(refused(&[("mu_ggH", 1.0), ("mu_ggH", 2.0)], none()), InferenceError::BadPoint { .. }));
    assert!(matches!(refused(&[("mu_ggh", 1.0)], none()), InferenceError::UnknownParameter { .. }));
    assert!(matches!(refused(&[("mu_ggH", f64::NAN)], none()), InferenceError::NotFinite { .. }));
    let held = none().fit(FitOptions::default().fix("mu_ggH", 1.0));
    assert!(matches!(refused(&[("mu_ggH", 1.0)], held), InferenceError::PoiFixed { .. }));
    assert!(matches!(
        refused(&[("mu_ggH", 1.0)], none().n_toys(Some(0))),
        InferenceError::NumberOfToys { .. }
    ));
}

#[test]
fn each_poi_has_the_limit_and_significance_that_it_has_alone() {
    let (both, _) = opened("mu_ggH,mu_qqH");
    for poi in both.pois.clone() {
        let model = both.with_first_poi(poi);
        let session = open_session(&model, &Execution::default()).unwrap();
        let name = both.parameters[poi].name.clone();
        let (alone, own) = opened(&name);
        let options = LimitOptions::default();
        let a = upper_limit(&model, session.as_ref(), &options, Control::default()).unwrap();
        let b = upper_limit(&alone, own.as_ref(), &options, Control::default()).unwrap();
        assert_eq!((&a.param, a.observed, a.expected), (&name, b.observed, b.expected));
        let a = significance(&model, session.as_ref(), &FitOptions::default(), Control::default()).unwrap();
        let b = significance(&alone, own.as_ref(), &FitOptions::default(), Control::default()).unwrap();
        assert_eq!((a.z, a.z_expected), (b.z, b.z_expected));
    }
}

#[test]
fn the_correlation_of_the_pois_is_that_of_the_covariance() {
    let (model, session) = opened("mu_qqH,mu_ggH");
    let result = fit(&model, session.as_ref(), &FitOptions::default(), Control::default()).unwrap();
    let correlation = result.poi_correlation.clone().unwrap();
    assert_eq!(correlation.parameters, ["mu_qqH", "mu_ggH"]);
    let covariance = result.covariance.as_ref().unwrap();
    let (i, j) = (result.index("mu_qqH").unwrap(), result.index("mu_ggH").unwrap());
    let c = |i: usize, j: usize| covariance.values[i * covariance.n + j];
    close(correlation.matrix[0][1].unwrap(), c(i, j) / (c(i, i) * c(j, j)).sqrt(), 1e-12);
    assert_eq!(correlation.matrix[0][0], Some(1.0));
    // Without the covariance matrix in the result, a few rows of it are computed.
    let options = FitOptions::default().covariance(false);
    let without = fit(&model, session.as_ref(), &options, Control::default()).unwrap();
    assert!(without.covariance.is_none());
    close(without.poi_correlation.unwrap().matrix[1][0].unwrap(), correlation.matrix[1][0].unwrap(), 1e-9);
    let (single, session) = opened("mu_qqH");
    assert!(fit(&single, session.as_ref(), &options, Control::default()).unwrap().poi_correlation.is_none());
}

#[test]
fn scans_have_the_levels_that_are_asked_for() {
    let (model, session) = opened("mu_ggH,mu_qqH");
    let axis = |name: &str| ScanAxis::param(name).range(0.5, 2.5).points(3);
    let levels = vec![0.9, 0.3];
    let options = ScanOptions::new(axis("mu_ggH")).second(axis("mu_qqH")).levels(levels.clone());
    let plane = scan(&model, session.as_ref(), &options, Control::default()).unwrap();
    // Two degrees of freedom: the chi2 quantiles are -2 ln(1 - p).
    close(plane.levels[0].twice_delta_nll, 4.605_170_185_988_091, 1e-12);
    close(plane.levels[1].twice_delta_nll, 0.713_349_887_877_464_8, 1e-12);
    // A point of the plane is the fit with both held, also with a further parameter held.
    let options = options.fit(FitOptions::default().fix("jets", 0.5));
    let plane = scan(&model, session.as_ref(), &options, Control::default()).unwrap();
    let at = |options: FitOptions| {
        fit(&model, session.as_ref(), &options.fix("jets", 0.5), Control::default()).unwrap()
    };
    let held = at(FitOptions::default().fix("mu_ggH", 1.5).fix("mu_qqH", 2.5));
    close(plane.twice_delta_nll[7].unwrap(), held.twice_nll - at(FitOptions::default()).twice_nll, 1e-7);

    let line = ScanOptions::new(ScanAxis::param("mu_ggH")).levels(levels);
    let line = scan(&model, session.as_ref(), &line, Control::default()).unwrap();
    // scipy.stats.chi2.ppf(0.9, 1)
    close(line.intervals[0].level, 2.705_543_454_095_404, 1e-9);
    close(line.intervals[0].confidence_level, 0.9, 0.0);
    let held = |x: f64| {
        let options = FitOptions::default().fix("mu_ggH", x);
        fit(&model, session.as_ref(), &options, Control::default()).unwrap().twice_nll - line.twice_nll
    };
    close(held(line.intervals[0].upper.unwrap()), line.intervals[0].level, 1e-5);
    let many = ScanOptions::new(axis("mu_ggH")).levels(vec![0.5; 101]);
    let error = scan(&model, session.as_ref(), &many, Control::default()).unwrap_err();
    assert!(matches!(error, InferenceError::NumberOfLevels { n: 101, .. }), "{error}");
    for level in [0.0, 1.0, f64::NAN] {
        let options = ScanOptions::new(axis("mu_ggH")).levels(vec![level]);
        let error = scan(&model, session.as_ref(), &options, Control::default()).unwrap_err();
        assert!(matches!(error, InferenceError::ContourLevel { .. }), "{error}");
    }
}
