//! Correlated constraints, compared with formulas and with models whose parameters were made independent by hand.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use ns_core::{
    Constraint, Control, Correlations, Data, EvaluationRequest, Execution, Model, Penalty, PenaltyForm,
    Session,
};
use ns_inference::ranking::Side;
use ns_inference::{
    FitOptions, FitResult, Group, Impact, RankingOptions, fit, goodness_of_fit, open_session, prefit_yields,
    ranking,
};
use ns_translate::pyhf::{ModelOptions, Workspace};
use serde_json::json;

const RHO: f64 = 0.6;

/// Returns a model with a signal and a background of `bins`, whose histosys modifiers shift it by plus and minus `shifts`.
fn workspace(bins: &[f64], data: &[f64], shifts: &[(&str, Vec<f64>)]) -> Model {
    let modifier = |(name, shift): &(&str, Vec<f64>)| {
        let moved = |sign: f64| -> Vec<f64> { bins.iter().zip(shift).map(|(b, s)| b + sign * s).collect() };
        json!({"name": name, "type": "histosys", "data": {"lo_data": moved(-1.0), "hi_data": moved(1.0)}})
    };
    let signal: Vec<f64> = (1..=bins.len()).map(|k| 10.0 * k as f64).collect();
    let text = json!({
        "version": "1.0.0",
        "channels": [{"name": "SR", "samples": [
            {"name": "signal", "data": signal, "modifiers": [{"name": "mu", "type": "normfactor", "data": null}]},
            {"name": "background", "data": bins, "modifiers": shifts.iter().map(modifier).collect::<Vec<_>>()},
        ]}],
        "observations": [{"name": "SR", "data": data}],
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": [
            {"name": "mu", "bounds": [[-100.0, 100.0]]}]}}],
    });
    let workspace = Workspace::from_slice(text.to_string().as_bytes()).unwrap();
    workspace.model(&ModelOptions::default()).unwrap()
}

/// Correlates the parameters `a` and `b` of a model.
fn correlate(model: &Model, rho: f64) -> Model {
    let indices = ["a", "b"].map(|name| model.parameter_index(name).unwrap());
    let own = Correlations::new(indices.to_vec(), vec![1.0, rho, rho, 1.0]).unwrap();
    let mut model = model.clone();
    model.penalties.push(Penalty { name: "correlations".to_owned(), form: PenaltyForm::Correlated(own) });
    model
}

const BACKGROUND: [f64; 3] = [100.0, 80.0, 50.0];
const DATA: [f64; 3] = [118.0, 90.0, 91.0];

fn shifts() -> [(&'static str, Vec<f64>); 2] {
    [("a", vec![8.0, 4.0, -3.0]), ("b", vec![5.0, -6.0, 2.0])]
}

fn independent() -> Model {
    workspace(&BACKGROUND, &DATA, &shifts())
}

fn cpu(model: &Model) -> Box<dyn Session> {
    open_session(model, &Execution { threads: 1, ..Execution::default() }).unwrap()
}

fn fitted(model: &Model) -> FitResult {
    fit(model, cpu(model).as_ref(), &FitOptions::default().minos("mu"), Control::default()).unwrap()
}

fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{a} is not {b}");
}

#[test]
fn values_are_those_of_the_joint_density() {
    let (before, after) = (independent(), correlate(&independent(), RHO));
    let request = EvaluationRequest { nll: true, gradient: true, ..EvaluationRequest::default() };
    let place = |name| before.parameter_index(name).unwrap();
    let (a, b) = (place("a"), place("b"));
    for (x, y) in [(0.0, 0.0), (1.2, -0.3), (-2.0, 1.5)] {
        let mut point: Vec<f64> = before.parameters.iter().map(|p| p.init).collect();
        (point[a], point[b]) = (x, y);
        let values = |model: &Model| cpu(model).evaluate(&Data::observed(), &point, request).unwrap();
        let (old, new) = (values(&before), values(&after));
        let det = 1.0 - RHO * RHO;
        let joint = 0.5 * (x * x - 2.0 * RHO * x * y + y * y) / det + 0.5 * det.ln();
        close(new.nll[0] - old.nll[0], joint - 0.5 * (x * x + y * y), 1e-12);
        close(new.gradient[a] - old.gradient[a], (x - RHO * y) / det - x, 1e-12);
        close(new.gradient[b] - old.gradient[b], (y - RHO * x) / det - y, 1e-12);
    }
}

#[test]
fn no_correlation_is_the_model_without() {
    let (before, after) = (fitted(&independent()), fitted(&correlate(&independent(), 0.0)));
    close(after.twice_nll, before.twice_nll, 1e-12);
    for (x, y) in after.bestfit.iter().zip(&before.bestfit) {
        close(*x, *y, 1e-7);
    }
    let matrices = [&after, &before].map(|fit| fit.covariance.clone().unwrap().values);
    for (x, y) in matrices[0].iter().zip(&matrices[1]) {
        close(*x, *y, 1e-7);
    }
}

/// With independent `z`, the parameters are `a = z1` and `b = rho z1 + sqrt(1 - rho^2) z2`. The effects are linear.
#[test]
fn fits_are_those_of_parameters_made_independent_by_hand() {
    let rest = (1.0 - RHO * RHO).sqrt();
    let [(_, da), (_, db)] = shifts();
    let both: Vec<f64> = da.iter().zip(&db).map(|(a, b)| a + RHO * b).collect();
    let white = workspace(&BACKGROUND, &DATA, &[("z1", both), ("z2", db.iter().map(|b| rest * b).collect())]);
    let model = correlate(&independent(), RHO);
    let (ours, theirs) = (fitted(&model), fitted(&white));
    assert!(ours.converged && theirs.converged);
    // The densities of the data differ by the factor of the transformation.
    close(ours.twice_nll, theirs.twice_nll + 2.0 * rest.ln(), 1e-10);
    let value = |fit: &FitResult, name: &str| fit.value(name).unwrap();
    close(value(&ours, "mu"), value(&theirs, "mu"), 1e-6);
    close(value(&ours, "a"), value(&theirs, "z1"), 1e-6);
    close(value(&ours, "b"), RHO * value(&theirs, "z1") + rest * value(&theirs, "z2"), 1e-6);
    close(ours.uncertainty("mu").unwrap(), theirs.uncertainty("mu").unwrap(), 1e-6);
    for (a, b) in [(ours.minos[0].lower, theirs.minos[0].lower), (ours.minos[0].upper, theirs.minos[0].upper)]
    {
        close(a.unwrap(), b.unwrap(), 1e-6);
    }
    // The covariance is T C T' with the transformation T.
    let element = |fit: &FitResult, first: &str, second: &str| {
        let place = |name: &str| fit.parameter_names.iter().position(|own| own == name).unwrap();
        let matrix = fit.covariance.as_ref().unwrap();
        matrix.values[place(first) * matrix.n + place(second)]
    };
    let z = |first, second| element(&theirs, first, second);
    close(element(&ours, "mu", "b"), RHO * z("mu", "z1") + rest * z("mu", "z2"), 1e-6);
    close(element(&ours, "a", "b"), RHO * z("z1", "z1") + rest * z("z1", "z2"), 1e-6);
    let variance = RHO * RHO * z("z1", "z1") + 2.0 * RHO * rest * z("z1", "z2") + rest * rest * z("z2", "z2");
    close(element(&ours, "b", "b"), variance, 1e-6);
    // Goodness of fit does not depend on the names of directions.
    let chi2 = |model: &Model| {
        let session = cpu(model);
        let result =
            goodness_of_fit(model, session.as_ref(), &FitOptions::default(), Control::default()).unwrap();
        (result.chi2.unwrap(), result.ndof)
    };
    let (ours, theirs) = (chi2(&model), chi2(&white));
    close(ours.0, theirs.0, 1e-7);
    assert_eq!(ours.1, theirs.1);
}

#[test]
fn toys_draw_auxiliary_data_jointly() {
    const N: u64 = 20_000;
    let mut model = correlate(&independent(), -0.8);
    for (name, width) in [("a", 0.5), ("b", 2.0)] {
        let i = model.parameter_index(name).unwrap();
        let Constraint::Gaussian { aux, .. } = model.parameters[i].constraint else { panic!("not Gaussian") };
        model.parameters[i].constraint = Constraint::Gaussian { sigma: width, aux };
    }
    let aux = ["a", "b"]
        .map(|name| model.parameters[model.parameter_index(name).unwrap()].constraint.aux().unwrap());
    let point: Vec<f64> = model.parameters.iter().map(|p| p.init + 0.25).collect();
    let session = cpu(&model);
    let source = session.toy_source(&point, &Data::observed(), 3, 0).unwrap();
    let (mut mean, mut squares) = ([0.0; 2], [0.0; 3]);
    for toy in 0..N {
        let drawn = source.draw(toy).aux;
        let (x, y) = (drawn[aux[0]] - 0.25, drawn[aux[1]] - 0.25);
        mean = [mean[0] + x, mean[1] + y];
        squares = [squares[0] + x * x, squares[1] + x * y, squares[2] + y * y];
    }
    let n = N as f64;
    // Five standard errors of the estimates.
    close(mean[0] / n, 0.0, 5.0 * 0.5 / n.sqrt());
    close(mean[1] / n, 0.0, 5.0 * 2.0 / n.sqrt());
    let within = |found: f64, wanted: f64, width: f64| {
        assert!((found / n - wanted).abs() < 5.0 * width / n.sqrt(), "{} is not {wanted}", found / n);
    };
    within(squares[0], 0.25, 0.25 * 2f64.sqrt());
    within(squares[1], -0.8, (1.0f64 + 0.64).sqrt());
    within(squares[2], 4.0, 4.0 * 2f64.sqrt());
    // Expected data are the parameters.
    let asimov = session.asimov(&point, &Data::observed()).unwrap();
    assert!(aux.iter().all(|a| asimov.counts(&model).aux[*a] == 0.25));
}

/// In one bin the data do not constrain the parameters, and the variance of the signal is that of the count plus `d' R d`.
#[test]
fn impacts_of_correlated_data_add_up_to_their_variance() {
    let (background, signal, da, db) = (1e6, 10.0, 300.0, 200.0);
    let model = correlate(&workspace(&[background], &[background], &[("a", vec![da]), ("b", vec![db])]), RHO);
    let options = RankingOptions::default().impacts([Impact::Global, Impact::Refit]);
    let options = options.group(Group::new("both", ["a", "b"])).group(Group::new("one", ["a"]));
    let result = ranking(&model, cpu(&model).as_ref(), &options, Control::default()).unwrap();
    let group = |name: &str| result.groups.iter().find(|group| group.name == name).unwrap();
    let variance = da * da + 2.0 * RHO * da * db + db * db;
    close(group("both").delta_mu_global.unwrap(), variance.sqrt() / signal, 1e-3);
    close(group("both").delta_mu_fixed.unwrap(), variance.sqrt() / signal, 1e-3);
    // A datum that moves takes the other one along.
    let entry = result.get("a").unwrap();
    close(entry.global.as_ref().unwrap().delta(Side::Up).unwrap(), -(da + RHO * db) / signal, 1e-3);
    close(group("one").delta_mu_global.unwrap(), (da + RHO * db) / signal, 1e-3);
    close(entry.prefit_uncertainty.unwrap(), 1.0, 1e-12);
    close(entry.refit.as_ref().unwrap().delta(Side::Up).unwrap(), -(da + RHO * db) / signal, 1e-3);
    let yields = prefit_yields(&model, cpu(&model).as_ref(), &FitOptions::default()).unwrap();
    close(yields.channels[0].sum_uncertainty.unwrap(), variance.sqrt(), 1e-9);
}
