//! Computes all results of one model and records their bits.

use std::error::Error;

use ns_core::random::{Normal, Stream};
use ns_core::{
    Control, Data, EvaluationRequest, Execution, FitTask, Model, OutcomeParts, Search, Seen, Session,
    TaskOutcome,
};
use ns_inference::toys::{HypotestToysOptions, Hypothesis, ToyRow, ToyStatus, ToyTest};
use ns_inference::{
    CpuSession, FitOptions, HypotestOptions, Impact, LimitOptions, RankingOptions, ScanAxis, ScanOptions,
};
use ns_inference::{fit, hypotest, ranking, scan, upper_limit};

use crate::record::Record;

/// Tested value of the parameter of interest.
const TESTED: f64 = 1.0;
/// Number of values of the parameter of interest in a scan.
const SCANNED: usize = 9;
/// Number of toys of each hypothesis that are fitted one by one.
const SINGLE: u64 = 4;
/// Reduced settings for models that would take too much time. Each entry has a name, the number of toys, the number of
/// toys fitted by the CUDA kernels (which are slow on the CPU), and the search effort of scans, rankings and limits.
const CUT: [(&str, u64, u64, Search); 10] = [
    ("1Lbb_C1N2_700_400/smooth", 100, 4, Search::Standard),
    ("1Lbb_C1N2_700_400/piecewise", 4, 1, Search::Local),
    ("tHu/smooth", 300, 60, Search::Standard),
    ("tHu/piecewise", 10, 2, Search::Local),
    ("tttt_prod/smooth", 300, 60, Search::Standard),
    ("tttt_prod/piecewise", 10, 2, Search::Local),
    ("many_bins/smooth", 300, 60, Search::Standard),
    ("many_bins/piecewise", 100, 10, Search::Local),
    ("strongly_bent/smooth", 150, 20, Search::Local),
    ("strongly_bent/piecewise", 60, 6, Search::Local),
];
/// A model with at most this number of parameters is also fitted with the thorough search.
const FEW: usize = 12;

type Outcome = Result<(), Box<dyn Error>>;

/// Points in parameter space, each with its name.
type Points = Vec<(&'static str, Vec<f64>)>;

/// Computes all results of a model and adds them to the record.
pub(crate) fn all(model: &Model, toys: u64, record: &mut Record) -> Outcome {
    let cut = CUT.iter().find(|(name, ..)| *name == record.name);
    let (toys, by_kernels, search) = cut.map_or((toys, toys, Search::Standard), |&(_, some, few, search)| {
        (toys.min(some), toys.min(few), search)
    });
    let session = |threads| CpuSession::open(model, &Execution { threads, ..Execution::default() });
    let (one, two) = (session(1)?, session(2)?);
    let control = Control::default();
    let best = fit(model, &one, &FitOptions::default(), control);
    record.result("fit", &best);
    let best = best.map(|best| best.bestfit);
    if model.parameters.len() <= FEW {
        record
            .result("thorough", &fit(model, &one, &FitOptions::default().search(Search::Thorough), control));
    }
    record.done("fit");
    let points = points(model, best.ok())?;
    evaluate("cpu", &one, &points, record)?;
    record.done("points");
    let varied = FitOptions::default().search(search);
    let axis = ScanAxis::default().points(SCANNED);
    record.result("scan", &scan(model, &one, &ScanOptions::new(axis).fit(varied.clone()), control));
    record.done("scan");
    let options = RankingOptions::default().fit(varied.clone()).impacts(Impact::ALL).prefit(true);
    record.result("ranking", &ranking(model, &one, &options, control));
    record.done("ranking");
    record.result("hypotest", &hypotest(model, &one, TESTED, &HypotestOptions::default(), control));
    record.result("limits", &upper_limit(model, &one, &LimitOptions::default().fit(varied), control));
    record.done("limits");
    let options = HypotestToysOptions::default().n_toys(toys).seed(7);
    let Ok(test) = ToyTest::prepare(model, &one, TESTED, &options, control) else {
        record.word("toys", "refused");
        return kernels(model, &points, None, by_kernels, record);
    };
    record.numbers("toys.q_obs", &[test.header().q_obs]);
    let plan = test.plan();
    run("toys.one_thread", &plan.attach(model, &one), toys, record)?;
    record.done("toys");
    run("toys.two_threads", &plan.attach(model, &two), toys, record)?;
    record.done("by_two");
    single(&test, &one, record)?;
    record.done("single");
    kernels(model, &points, Some(&plan), by_kernels, record)
}

/// Returns the initial point, a random point and, if there is one, the best fit. At the random point, constrained
/// parameters are moved by random multiples of their widths, and unconstrained parameters are scaled.
fn points(model: &Model, best: Option<Vec<f64>>) -> Result<Points, Box<dyn Error>> {
    let (unit, stream) = (Normal::new(0.0, 1.0)?, Stream::new(11, 0, 0));
    let moved = model.parameters.iter().enumerate().map(|(p, parameter)| {
        let random = unit.draw(&stream, p as u32);
        let to = match parameter.constraint.prefit_sigma() {
            _ if parameter.fixed => return parameter.init,
            Some(sigma) => parameter.init + sigma * random,
            None => parameter.init * (0.3 * random).exp(),
        };
        to.clamp(parameter.bounds.0, parameter.bounds.1)
    });
    let init = model.parameters.iter().map(|parameter| parameter.init).collect();
    let mut points = vec![("init", init), ("random", moved.collect())];
    points.extend(best.map(|best| ("best", best)));
    Ok(points)
}

/// Records the value, gradient and Hessian of `-ln L`, and the expected data, at all points. `engine` is the name
/// of the engine that computes them, such as `cpu`.
fn evaluate(
    engine: &str,
    session: &dyn Session,
    points: &[(&str, Vec<f64>)],
    record: &mut Record,
) -> Outcome {
    let request =
        EvaluationRequest { nll: true, gradient: true, hessian: true, expected: true, samples: false };
    for (point, parameters) in points {
        let found = session.evaluate(&Data::observed(), parameters, request)?;
        record.numbers(&format!("{engine}.{point}.nll"), &found.nll);
        record.numbers(&format!("{engine}.{point}.parts"), &[found.nll_main, found.nll_constraint].concat());
        record.numbers(&format!("{engine}.{point}.gradient"), &found.gradient);
        record.numbers(&format!("{engine}.{point}.hessian"), &found.hessian);
        record.numbers(&format!("{engine}.{point}.expected"), &found.expected);
    }
    Ok(())
}

/// Draws and fits the first `n` toys of both hypotheses. Records the statistics, the best-fit values, and the number of
/// converged toys.
fn run(name: &str, test: &ToyTest<'_>, n: u64, record: &mut Record) -> Outcome {
    for hypothesis in Hypothesis::BOTH {
        let mut rows: Vec<ToyRow> = Vec::new();
        let ended = test.run(&[(hypothesis, 0..n)], Control::default(), &mut rows);
        if ended.is_err() {
            record.word(&format!("{name}.{hypothesis}"), "refused");
            continue;
        }
        let of = |pick: fn(&ToyRow) -> Option<f64>| -> Vec<f64> {
            rows.iter().map(|row| pick(row).unwrap_or(f64::NAN)).collect()
        };
        record.numbers(&format!("{name}.{hypothesis}.statistic"), &of(|row| row.statistic));
        record.numbers(&format!("{name}.{hypothesis}.mu_hat"), &of(|row| row.mu_hat));
        let certified = rows.iter().filter(|row| row.status == ToyStatus::Converged).count();
        record.numbers(&format!("{name}.{hypothesis}.converged"), &[certified as f64]);
    }
    Ok(())
}

/// Fits some toys twice and records the results. First the toys are fitted one by one, as given data. Then they are
/// fitted eight at a time in SIMD lanes, as drawn data.
fn single(test: &ToyTest<'_>, session: &dyn Session, record: &mut Record) -> Outcome {
    for hypothesis in Hypothesis::BOTH {
        let Some(task) = test.task(hypothesis, 0..SINGLE) else { continue };
        let Seen::Drawn(drawn) = &task.data.seen else { continue };
        let given =
            |toy| FitTask { data: drawn.source.draw(toy).into(), fits: task.fits.clone(), cancel: None };
        fits(&format!("single.{hypothesis}"), session, &(0..SINGLE).map(given).collect::<Vec<_>>(), record)?;
        fits(&format!("lanes.{hypothesis}"), session, std::slice::from_ref(&task), record)?;
    }
    Ok(())
}

/// Runs some tasks. For every fit, records `-ln L` at the minimum, the estimated distance to the minimum (EDM), the
/// numbers of iterations and evaluations, and the parameters.
fn fits(name: &str, session: &dyn Session, tasks: &[FitTask], record: &mut Record) -> Outcome {
    let mut outcomes: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(tasks, OutcomeParts::default(), Control::default(), &mut outcomes)?;
    let mut numbers = Vec::new();
    for fit in outcomes.iter().flat_map(|outcome| &outcome.fits) {
        let Ok(fit) = fit else {
            numbers.push(f64::NAN);
            continue;
        };
        numbers.extend([fit.nll, fit.certificate.edm, fit.n_iterations as f64, fit.n_evaluations as f64]);
        numbers.extend(&fit.parameters);
    }
    record.numbers(name, &numbers);
    Ok(())
}

/// Records results that the CUDA kernels, compiled for the CPU, compute: the likelihood at all points, a fit, and toys.
#[cfg(feature = "cuda-on-host")]
fn kernels(
    model: &Model,
    points: &[(&str, Vec<f64>)],
    plan: Option<&ns_inference::toys::ToyPlan>,
    toys: u64,
    record: &mut Record,
) -> Outcome {
    let execution = Execution { threads: 1, ..Execution::default() };
    let session = ns_compute::device::host::open(model, &execution)?;
    evaluate("kernels", &session, points, record)?;
    let local = FitOptions::default().search(Search::Local);
    record.result("kernels.fit", &fit(model, &session, &local, Control::default()));
    record.done("kernels");
    if let Some(plan) = plan {
        run("kernels.toys", &plan.attach(model, &session), toys, record)?;
        record.done("toys");
    }
    Ok(())
}

#[cfg(not(feature = "cuda-on-host"))]
fn kernels(
    _: &Model,
    _: &[(&str, Vec<f64>)],
    _: Option<&ns_inference::toys::ToyPlan>,
    _: u64,
    record: &mut Record,
) -> Outcome {
    record.word("kernels", "left out: built without cuda-on-host");
    Ok(())
}
