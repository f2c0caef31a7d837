//! Tests of rankings, on a session whose minima are known exactly and on workspaces of the test fixtures.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use crate::support;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ns_core::{Control, Execution, Interpolation, Model, Observer, Session};
use ns_inference::ranking::Side;
use ns_inference::{
    FitOptions, Group, Impact, InferenceError, RankingOptions, RankingResult, fit, open_session, ranking,
};
use ns_translate::pyhf::{ModelOptions, Workspace};
use support::{Wells, gave_up, model, well};

fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance, "{a} is not {b} within {tolerance}");
}

fn rank(model: &Model, session: &dyn Session, options: &RankingOptions) -> RankingResult {
    ranking(model, session, options, Control::default()).unwrap()
}

fn workspace(name: &str, interpolation: Interpolation) -> Model {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures").join(name);
    let options = ModelOptions { interpolation, ..ModelOptions::default() };
    Workspace::from_path(path).unwrap().model(&options).unwrap()
}

fn cpu(model: &Model, threads: usize) -> Box<dyn Session> {
    open_session(model, &Execution { threads, ..Execution::default() }).unwrap()
}

#[test]
fn a_parabola_has_the_same_impact_by_refit_and_by_covariance() {
    let model = model((0.0, 10.0));
    let session = Wells::new(&model, vec![well(2.0, 7.0)]);
    let options = RankingOptions::default().impacts([Impact::Refit, Impact::Covariance]).prefit(true);
    let result = rank(&model, &session, &options);
    let entry = result.get("alpha").unwrap();
    // The post-fit impact is C_mu,alpha / sigma_alpha = -1.2 / sqrt(4 * 2.56). The pre-fit width is 1, while the
    // post-fit uncertainty is 1.25.
    for impacts in [&entry.impacts, entry.refit.as_ref().unwrap(), entry.covariance.as_ref().unwrap()] {
        close(impacts.delta(Side::Up).unwrap(), -0.375, 1e-12);
        close(impacts.delta(Side::Down).unwrap(), 0.375, 1e-12);
        close(impacts.delta(Side::PrefitUp).unwrap(), -0.3, 1e-12);
        close(impacts.delta(Side::PrefitDown).unwrap(), 0.3, 1e-12);
    }
    assert_eq!(entry.impacts, *entry.refit.as_ref().unwrap());
    assert_eq!(entry.global, None);
    close(entry.pull.unwrap(), 0.3, 1e-12);
    close(entry.constraint.unwrap(), 1.25, 1e-12);
    close(entry.lower.unwrap(), -1.25, 1e-12);
    assert_eq!((result.mu_hat, result.param.as_str(), result.n_ranked), (2.0, "mu", 1));
    // The fits are: the best fit, four refits, and one fit with the constrained parameter fixed.
    assert_eq!((result.n_fits, result.n_failed), (6, 0));
    close(result.breakdown.total.unwrap(), 0.625, 1e-12);
    close(result.breakdown.statistical.unwrap(), 0.5, 1e-12);
    close(result.breakdown.systematic.unwrap(), 0.375, 1e-12);
    assert_eq!(result.breakdown.mc_statistical, Some(0.0));
    assert!(result.warnings.is_empty(), "{:?}", result.warnings);
}

#[test]
fn json_has_the_promised_keys() {
    let model = model((0.0, 10.0));
    let session = Wells::new(&model, vec![well(2.0, 7.0)]);
    let result = rank(&model, &session, &RankingOptions::default());
    let json = serde_json::to_value(&result).unwrap();
    let entry = &json["ranking"][0];
    for key in ["delta_mu_up", "delta_mu_down", "pull", "constraint"] {
        assert!(entry[key].is_f64(), "{key}");
    }
    for key in ["delta_mu_prefit_up", "delta_mu_prefit_down", "converged_prefit_up"] {
        assert_eq!(entry[key], serde_json::Value::Null, "{key}");
        assert!(entry.as_object().unwrap().contains_key(key));
    }
    assert_eq!(entry["refit"]["delta_mu_up"], entry["delta_mu_up"]);
    assert_eq!(entry["clipped_up"], false);
    assert_eq!(entry["converged_up"], true);
    assert_eq!(entry["reasons"]["prefit_up"], "pre-fit impacts were not asked for");
    assert!(!entry.as_object().unwrap().contains_key("global"));
    assert_eq!(json["impacts"], serde_json::json!(["refit"]));
}

#[test]
fn a_parameter_at_its_bound_is_held_at_its_crossing_and_flagged() {
    let mut model = model((0.0, 10.0));
    model.parameters[1].bounds = (0.5, 5.0);
    let session = Wells::new(&model, vec![well(2.0, 7.0)]);
    let result =
        rank(&model, &session, &RankingOptions::default().impacts([Impact::Refit, Impact::Covariance]));
    let entry = result.get("alpha").unwrap();
    assert!(entry.at_bound && !entry.at_kink);
    assert_eq!((entry.uncertainty, entry.constraint, entry.lower), (None, None, None));
    // The profile of alpha is ((alpha - 0.3) / 1.25)^2.
    let crossing = 0.3 + 1.25 * (1.0 + (0.2_f64 / 1.25).powi(2)).sqrt();
    let (up, down) = (entry.impacts.get(Side::Up), entry.impacts.get(Side::Down));
    close(up.value.unwrap(), crossing, 1e-7);
    close(up.delta.unwrap(), -0.3 * (crossing - 0.5), 1e-7);
    assert!(!up.clipped && down.clipped);
    assert_eq!((down.value, down.delta, down.reason.as_deref()), (Some(0.5), Some(0.0), None));
    let by_covariance = entry.covariance.as_ref().unwrap().get(Side::Up);
    assert!(by_covariance.delta.is_none() && by_covariance.reason.is_some());
    assert!(
        result.warnings.iter().any(|w| w.contains("alpha") && w.contains("clipped")),
        "{:?}",
        result.warnings
    );
}

#[test]
fn a_bound_clips_and_is_flagged() {
    let mut model = model((0.0, 10.0));
    model.parameters[1].bounds = (0.0, 5.0);
    let session = Wells::new(&model, vec![well(2.0, 7.0)]);
    let entry = rank(&model, &session, &RankingOptions::default().prefit(true)).ranking.remove(0);
    assert!(!entry.at_bound);
    for side in [Side::Down, Side::PrefitDown] {
        let shift = entry.impacts.get(side);
        assert_eq!((shift.value, shift.clipped), (Some(0.0), true));
        close(shift.delta.unwrap(), 0.09, 1e-12);
    }
    assert!(!entry.impacts.get(Side::Up).clipped);
}

#[test]
fn a_failed_refit_is_a_gap_with_its_reason() {
    let model = model((0.0, 10.0));
    let mut session = Wells::new(&model, vec![well(2.0, 7.0)]);
    session.fail_above = 2.2;
    let result = rank(&model, &session, &RankingOptions::default());
    let impacts = &result.ranking[0].impacts;
    close(impacts.delta(Side::Up).unwrap(), -0.375, 1e-12);
    let down = impacts.get(Side::Down);
    assert_eq!((down.delta, down.converged), (None, Some(false)));
    assert!(down.reason.as_ref().unwrap().contains("bin 1 of channel 'SR'"), "{down:?}");
    assert_eq!(result.n_failed, 1);
    assert!(result.warnings.iter().any(|w| w.contains("alpha")), "{:?}", result.warnings);
}

#[test]
fn a_best_fit_without_certificate_is_told() {
    let model = model((0.0, 10.0));
    let mut session = Wells::new(&model, vec![well(2.0, 7.0)]);
    session.status = gave_up();
    let result = rank(&model, &session, &RankingOptions::default());
    assert!(!result.converged);
    assert!(result.warnings[0].contains("the best fit is not converged"), "{:?}", result.warnings);
    assert_eq!(result.n_failed, 2);
}

#[test]
fn a_lower_minimum_on_the_way_restarts_the_ranking() {
    // The initial parameters are nearest to the first well. The starting point of the downward refit of alpha is
    // nearest to the second well.
    let model = model((-10.0, 10.0));
    let session = Wells::new(&model, vec![well(1.0, 7.0), well(1.3, 6.0)]);
    let plain = fit(&model, &session, &FitOptions::default(), Control::default()).unwrap();
    assert_eq!(plain.nll, 7.0);
    let result = rank(&model, &session, &RankingOptions::default());
    assert_eq!((result.twice_nll, result.mu_hat), (12.0, 1.3));
    close(result.ranking[0].impacts.delta(Side::Down).unwrap(), 0.375, 1e-12);
    assert!(result.warnings.iter().any(|w| w.contains("restarted")), "{:?}", result.warnings);
}

#[test]
fn inexact_refits_restart_nothing() {
    let model = model((-10.0, 10.0));
    let mut session = Wells::new(&model, vec![well(2.0, 7.0)]);
    session.error = 0.9;
    let result = rank(&model, &session, &RankingOptions::default());
    assert_eq!(result.mu_hat, 2.0);
    close(result.ranking[0].impacts.delta(Side::Up).unwrap(), -0.375, 1e-12);
    assert!(!result.warnings.iter().any(|w| w.contains("restarted")), "{:?}", result.warnings);
}

#[test]
fn wrong_options_are_told_with_name_and_remedy() {
    let model = model((0.0, 10.0));
    let session = Wells::new(&model, vec![well(2.0, 7.0)]);
    let error = |model: &Model, options: RankingOptions| {
        ranking(model, &session, &options, Control::default()).unwrap_err().to_string()
    };
    let grouped = |member: &str| RankingOptions::default().group(Group::new("g", [member]));
    let text = error(&model, grouped("alpa"));
    assert!(text.starts_with("group 'g': the model has no parameter 'alpa'; did you mean 'alpha'"), "{text}");
    let text = error(&model, grouped("beta*"));
    assert!(text.contains("no parameter matches 'beta*'"), "{text}");
    let text = error(&model, RankingOptions::default().group(Group::new("g", Vec::<String>::new())));
    assert!(text.contains("no members"), "{text}");
    assert!(error(&model, RankingOptions::default().parameter("nu")).contains("no parameter 'nu'"));
    let held = RankingOptions::default().fit(FitOptions::default().fix("mu", 1.0));
    assert!(error(&model, held).contains("'mu'"));
    let mut without = model.clone();
    without.pois.clear();
    let refused = ranking(&without, &session, &RankingOptions::default(), Control::default()).unwrap_err();
    assert!(matches!(refused, InferenceError::NoPoi { .. }));
    // Another parameter can be the target instead of the POI.
    let result = rank(&without, &session, &RankingOptions::default().parameter("alpha"));
    assert_eq!(result.ranking[0].name, "mu");
    assert_eq!(result.ranking[0].pull, None);
}

/// Compares the refit and global impacts of a ranking with independent fits. Returns how many impacts were compared.
fn agrees_with_full_fits(model: &Model, what: &str) -> usize {
    let session = cpu(model, 1);
    let options = RankingOptions::default().prefit(true).impacts([Impact::Refit, Impact::Global]);
    let result = rank(model, session.as_ref(), &options);
    let poi = model.poi().unwrap();
    let quick = FitOptions::default().uncertainties(false);
    let mut n = 0;
    for entry in &result.ranking {
        for side in Side::ALL {
            let shift = entry.refit.as_ref().unwrap().get(side);
            let (Some(delta), Some(value)) = (shift.delta, shift.value) else { continue };
            let options = quick.clone().fix(&entry.name, value);
            let alone = fit(model, session.as_ref(), &options, Control::default()).unwrap();
            let expected = alone.bestfit[poi] - result.mu_hat;
            assert!(
                (delta - expected).abs() < 1e-6,
                "{what} {} {side:?}: {delta}, not {expected}",
                entry.name
            );
            n += 1;
        }
        for side in [Side::Up, Side::Down] {
            let shift = entry.global.as_ref().unwrap().get(side);
            let (Some(delta), Some(value)) = (shift.delta, shift.value) else { continue };
            let i = model.parameter_index(&entry.name).unwrap();
            let mut data = model.observed.clone();
            data.aux[model.parameters[i].constraint.aux().unwrap()] = value;
            let options = quick.clone().data(ns_inference::FitData::Given(data.into()));
            let alone = fit(model, session.as_ref(), &options, Control::default()).unwrap();
            let expected = alone.bestfit[poi] - result.mu_hat;
            assert!(
                (delta - expected).abs() < 1e-6,
                "{what} {} global {side:?}: {delta}, not {expected}",
                entry.name
            );
            n += 1;
        }
    }
    n
}

#[test]
fn impacts_of_own_workspaces_are_those_of_full_fits() {
    for name in ["simple_workspace.json", "all_modifiers.json", "asymmetric.json", "shared_names.json"] {
        let n = agrees_with_full_fits(&workspace(name, Interpolation::SMOOTH), name);
        assert!(n >= 16, "{name}: {n}");
    }
}

#[test]
fn parameters_on_kinks_are_flagged_and_held_at_their_crossings() {
    let mut model = workspace("asymmetric.json", Interpolation::PIECEWISE);
    // With slightly more events, two parameters lie on their kinks at the minimum.
    model.observed.main.iter_mut().for_each(|n| *n = (10.2 * *n).round() / 10.0);
    let session = cpu(&model, 1);
    let result = rank(&model, session.as_ref(), &RankingOptions::default());
    let best = fit(&model, session.as_ref(), &FitOptions::default(), Control::default()).unwrap();
    close(result.twice_nll, best.twice_nll, 1e-9);
    // A third parameter lies on a kink at which both slopes vanish. It has no symmetric uncertainty, because the
    // curvatures on the two sides differ.
    assert_eq!(best.at_kink, ["model", "scale", "radiation"]);
    let sides = best.crossings.iter().find(|x| x.parameter == "radiation").unwrap();
    let (lower, upper) = (sides.lower.unwrap(), sides.upper.unwrap());
    assert!((lower / upper - 1.0).abs() > 1e-4, "{lower} {upper}");
    for entry in &result.ranking {
        assert_eq!(entry.at_kink, best.at_kink.contains(&entry.name), "{}", entry.name);
        if entry.at_kink {
            let interval = best.crossings.iter().find(|x| x.parameter == entry.name).unwrap();
            close(entry.upper.unwrap(), interval.upper.unwrap(), 1e-6);
            close(entry.impacts.get(Side::Down).value.unwrap(), interval.lower_crossing.unwrap(), 1e-6);
            assert!(entry.uncertainty.is_none() && entry.constraint.is_none());
        }
    }
    assert_eq!(result.n_failed, 0);
}

#[test]
fn groups_without_what_a_number_needs_say_so() {
    let model = workspace("all_modifiers.json", Interpolation::SMOOTH);
    let free = |i: &usize| model.parameters[*i].constraint == ns_core::Constraint::None;
    let factor = (0..model.parameters.len())
        .filter(|i| Some(*i) != model.poi() && !model.parameters[*i].fixed)
        .find(free)
        .map(|i| model.parameters[i].name.clone())
        .unwrap();
    let poi = model.parameters[model.poi().unwrap()].name.clone();
    let session = cpu(&model, 1);
    let options = RankingOptions::default()
        .impacts([Impact::Covariance])
        .group(Group::new("factor", [factor.as_str()]))
        .group(Group::new("nobody", [poi.as_str()]));
    let result = rank(&model, session.as_ref(), &options);
    let group = |name: &str| result.groups.iter().find(|g| g.name == name).unwrap();
    assert_eq!(group("factor").delta_mu_global, None);
    assert!(group("factor").delta_mu_fixed.is_some());
    let reason = group("factor").reason.as_deref().unwrap();
    assert!(reason.contains("no member has an auxiliary datum"), "{reason}");
    assert_eq!((group("nobody").delta_mu_global, group("nobody").delta_mu_fixed), (None, None));
    let reason = group("nobody").reason.as_deref().unwrap();
    assert!(reason.contains("no free member"), "{reason}");
}

#[test]
fn groups_and_breakdown_add_up() {
    let model = workspace("simple_workspace.json", Interpolation::SMOOTH);
    let session = cpu(&model, 1);
    let options = RankingOptions::default()
        .impacts([Impact::Covariance, Impact::Global])
        .group(Group::new("everything", ["*"]))
        .group(Group::new("simulation", ["stat_SR", "stat_CR[?]"]))
        .group(Group::new("one", ["jet_scale"]));
    let result = rank(&model, session.as_ref(), &options);
    let group = |name: &str| result.groups.iter().find(|g| g.name == name).unwrap();
    let b = &result.breakdown;
    let (total, statistical) = (b.total.unwrap(), b.statistical.unwrap());
    close(statistical.hypot(b.systematic.unwrap()), total, 1e-12);
    close(b.mc_statistical.unwrap().hypot(b.systematic_without_mc.unwrap()), b.systematic.unwrap(), 1e-12);
    close(group("simulation").delta_mu_fixed.unwrap(), b.mc_statistical.unwrap(), 1e-9);
    // For a group of one parameter, the quadratic sum is the impact of this parameter.
    let one = result.get("jet_scale").unwrap().global.as_ref().unwrap().symmetric().unwrap();
    close(group("one").delta_mu_global.unwrap(), one, 1e-12);
    // For a nearly parabolic likelihood, the contributions of the main and the auxiliary data add up to the whole
    // variance. The contribution of the main data is larger than the statistical uncertainty. The statistical
    // uncertainty ignores the information in the main data about nuisance parameters.
    let all = group("everything").delta_mu_global.unwrap();
    assert!(all < total && all.hypot(statistical) < 1.01 * total, "{all} {statistical} {total}");
    assert_eq!(group("everything").parameters.len(), result.n_ranked);
    // If the global impact is not asked for, the refits for it are made only for the members of the group.
    let alone = rank(
        &model,
        session.as_ref(),
        &RankingOptions::default().top(2).group(Group::new("one", ["jet_scale"])),
    );
    close(alone.groups[0].delta_mu_global.unwrap(), one, 1e-9);
    assert_eq!((alone.ranking.len(), alone.n_ranked), (2, result.n_ranked));
}

#[test]
fn the_list_is_sorted_and_top_keeps_its_head() {
    let model = workspace("all_modifiers.json", Interpolation::SMOOTH);
    let session = cpu(&model, 1);
    let options = RankingOptions::default().impacts([Impact::Refit, Impact::Covariance]).prefit(true);
    let all = rank(&model, session.as_ref(), &options);
    let sizes: Vec<f64> = all.ranking.iter().map(|e| e.impacts.largest().unwrap()).collect();
    assert!(sizes.windows(2).all(|pair| pair[0] >= pair[1]), "{sizes:?}");
    let head = rank(&model, session.as_ref(), &options.clone().top(3));
    assert_eq!((head.n_ranked, head.ranking.len()), (all.n_ranked, 3));
    for (a, b) in head.ranking.iter().zip(&all.ranking) {
        assert_eq!(a.name, b.name);
        for side in Side::ALL {
            assert_eq!(a.impacts.delta(side).is_some(), b.impacts.delta(side).is_some());
            let difference = a.impacts.delta(side).unwrap_or(0.0) - b.impacts.delta(side).unwrap_or(0.0);
            assert!(difference.abs() < 1e-7, "{} {side:?} {difference}", a.name);
        }
    }
}

#[test]
fn results_do_not_depend_on_threads() {
    let model = workspace("all_modifiers.json", Interpolation::SMOOTH);
    let options = RankingOptions::default().impacts(Impact::ALL).prefit(true);
    let one = rank(&model, cpu(&model, 1).as_ref(), &options);
    assert_eq!(one, rank(&model, cpu(&model, 3).as_ref(), &options));
}

/// Observer that stops the work after half of the fits.
#[derive(Default)]
struct Half {
    stop: AtomicBool,
    total: AtomicUsize,
    done: AtomicUsize,
}

impl Observer for Half {
    fn progress(&self, done: usize, total: usize) {
        self.total.store(total, Ordering::Relaxed);
        self.done.store(done, Ordering::Relaxed);
        if 2 * done >= total {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn an_interrupt_at_half_keeps_that_half() {
    let model = workspace("all_modifiers.json", Interpolation::SMOOTH);
    let session = cpu(&model, 1);
    let options = RankingOptions::default().impacts([Impact::Refit, Impact::Global]).prefit(true);
    let whole = rank(&model, session.as_ref(), &options);
    let half = Half::default();
    let control = Control { observer: Some(&half), cancel: Some(&half.stop), task: None };
    let cut = ranking(&model, session.as_ref(), &options, control).unwrap();
    assert!(cut.interrupted && cut.converged && !whole.interrupted);
    assert!(cut.warnings.iter().any(|w| w.starts_with("interrupted")), "{:?}", cut.warnings);
    let total = half.total.load(Ordering::Relaxed);
    // Parameters without a pre-fit width need fewer fits than the announced total assumes.
    assert!(cut.n_fits >= total / 2 && cut.n_fits <= total / 2 + 1, "{} of {total}", cut.n_fits);
    assert_eq!(cut.ranking.len(), whole.ranking.len());
    let (mut kept, mut lost) = (0, 0);
    for entry in &cut.ranking {
        let complete = whole.get(&entry.name).unwrap();
        for (found, reference) in [(&entry.refit, &complete.refit), (&entry.global, &complete.global)] {
            for side in Side::ALL {
                let (found, reference) =
                    (found.as_ref().unwrap().get(side), reference.as_ref().unwrap().get(side));
                match found.reason.as_deref() {
                    Some("interrupted") => lost += 1,
                    _ => {
                        assert_eq!(found, reference, "{} {side:?}", entry.name);
                        kept += usize::from(found.converged == Some(true));
                    }
                }
            }
        }
    }
    // Variations of small models are compared with further fits.
    assert!(kept > 0 && kept < cut.n_fits);
    assert!(lost > 0);
}

/// Two constraint terms act on `c`, the efficiency, and on `n`, the background: a log-normal distribution, and a normal
/// distribution of twice `n`.
#[test]
fn parameters_of_other_constraint_terms_are_systematic() {
    let events: Vec<[f64; 1]> = (0..80).map(|i| [(f64::from(i) + 0.5) / 80.0]).collect();
    let text = serde_json::json!({
        "metadata": {"hs3_version": "0.2.9"},
        "distributions": [
            {"name": "s", "type": "exponential_dist", "x": "x", "c": 2.0}, {"name": "b", "type": "uniform_dist", "x": "x"},
            {"name": "m", "type": "mixture_dist", "summands": ["s", "b"], "coefficients": ["ns", "n"], "extended": true},
            {"name": "efficiency", "type": "lognormal_dist", "x": "c", "mu": "nom_c", "sigma": 0.2},
            {"name": "sideband", "type": "gaussian_dist", "x": "twice", "mean": "nom_n", "sigma": 6.0},
        ],
        "functions": [
            {"name": "ns", "type": "generic_function", "expression": "mu * c * 40"},
            {"name": "twice", "type": "generic_function", "expression": "2 * n"},
        ],
        "data": [{"name": "d", "type": "unbinned", "axes": [{"name": "x", "min": 0, "max": 1}], "entries": events}],
        "likelihoods": [{"name": "L", "distributions": ["m"], "data": ["d"],
                         "aux_distributions": ["efficiency", "sideband"]}],
        "domains": [{"name": "default_domain", "type": "product_domain", "axes": [
            {"name": "mu", "min": 0, "max": 20}, {"name": "c", "min": 0.1, "max": 5}, {"name": "n", "min": 0, "max": 500}]}],
        "parameter_points": [{"name": "default_values", "parameters": [
            {"name": "mu", "value": 1.0}, {"name": "c", "value": 1.0}, {"name": "n", "value": 50.0},
            {"name": "nom_c", "value": 0.0, "const": true}, {"name": "nom_n", "value": 90.0, "const": true}]}],
        "analyses": [{"name": "a", "likelihood": "L", "parameters_of_interest": ["mu"], "domain": "default_domain",
                      "init": "default_values"}],
    })
    .to_string();
    let source = ns_translate::ModelSource::from_slice(text.as_bytes()).unwrap();
    let model = source.model(&ModelOptions::default()).unwrap();
    let session = cpu(&model, 1);
    let result = rank(&model, session.as_ref(), &RankingOptions::default());
    assert_eq!(result.get("c").unwrap().constraint_terms, ["efficiency"]);
    assert_eq!(result.get("n").unwrap().constraint_terms, ["sideband"]);
    assert!(result.warnings.iter().all(|w| !w.contains("null: unconstrained")), "{:?}", result.warnings);
    // With both held, mu has its statistical uncertainty.
    let value = |name: &str| result.get(name).unwrap().value;
    let options = FitOptions::default().fix("c", value("c")).fix("n", value("n"));
    let held = fit(&model, session.as_ref(), &options, Control::default()).unwrap();
    let mu = model.parameter_index("mu").unwrap();
    close(result.breakdown.statistical.unwrap(), held.uncertainties[mu].unwrap(), 1e-9);
    assert!(result.breakdown.systematic.unwrap() > 0.15, "{:?}", result.breakdown);
}
