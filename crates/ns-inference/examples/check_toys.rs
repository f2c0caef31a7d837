//! How toys of a test end, and whether they end in their lowest minimum:
//! `cargo run --release -p ns-inference --example check_toys -- WORKSPACE [TOYS] [MU] [REFITTED] [THREADS]`.
//!
//! Runs toys of both hypotheses as `hypotest-toys` does and counts how their rows end. Of some, picked at
//! random, both fits are then made again from three other starts each: constrained parameters moved by a
//! random part of their prefit width, free ones scaled. Minima lower by more than 1e-6 in `twice_nll` are
//! counted; there should be none.
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use ns_core::random::{Normal, Stream};
use ns_core::{
    Control, Data, Execution, FitOutcome, FitRequest, FitTask, Model, Search, Session, Start, TaskOutcome,
    Wanted,
};
use ns_inference::open_session;
use ns_inference::toys::{HypotestToysOptions, Hypothesis, ToyRow, ToyStatus, ToyTest};
use ns_translate::pyhf::{ModelOptions, Workspace};

/// Other starts of a fit.
const STARTS: u8 = 3;

/// A minimum lower by this in `-ln L` is another one: 1e-6 in `twice_nll`.
const LOWER: f64 = 5e-7;

/// Keys the choice of toys and the starts.
const SEED: u64 = 77;

/// Counts of refits.
#[derive(Debug, Default)]
struct Tally {
    toys: usize,
    /// First fits that reached a certificate and were made again, and the rest, which rows settle otherwise.
    fits: usize,
    left_out: usize,
    /// Further fits that are a minimum without empty bins.
    certified: usize,
    /// Fits with a lower minimum, and by how much at most in `twice_nll`.
    lower: usize,
    worst: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("usage: check_toys WORKSPACE [TOYS] [MU] [REFITTED] [THREADS]")?;
    let n: u64 = args.next().map_or(Ok(20_000), |x| x.parse())?;
    let mu: f64 = args.next().map_or(Ok(1.0), |x| x.parse())?;
    let refitted: u64 = args.next().map_or(Ok(200), |x| x.parse())?;
    let threads: usize = args.next().map_or(Ok(1), |x| x.parse())?;
    let model = Workspace::from_path(&path)?.model(&ModelOptions::default())?;
    let session = open_session(&model, &Execution { threads, ..Execution::default() })?;
    let options = HypotestToysOptions::default().n_toys(n);
    let test = ToyTest::prepare(&model, session.as_ref(), mu, &options, Control::default())?;
    println!("{path}: {n} toys per hypothesis, tested value {mu}");
    let mut sound = true;
    for hypothesis in Hypothesis::BOTH {
        let mut rows: Vec<ToyRow> = Vec::new();
        let began = Instant::now();
        let _ended = test.run(&[(hypothesis, 0..n)], Control::default(), &mut rows)?;
        let seconds = began.elapsed().as_secs_f64();
        println!("{hypothesis}: {:.0} toys per second", n as f64 / seconds);
        sound &= report_rows(&rows);
        let tally = refit(&model, session.as_ref(), &test, hypothesis, n, refitted)?;
        println!(
            "  again: {} toys, {} fits from {STARTS} starts each ({} certified; {} fits left out); {} lower, by up to {:.1e} in twice_nll",
            tally.toys, tally.fits, tally.certified, tally.left_out, tally.lower, tally.worst
        );
        sound &= tally.lower == 0;
    }
    if sound { Ok(()) } else { Err("some toys did not converge, failed, or have lower minima".into()) }
}

/// Prints how toys ended; true if all reached their certificates.
fn report_rows(rows: &[ToyRow]) -> bool {
    let count = |status| rows.iter().filter(|row| row.status == status).count();
    let (open, failed) = (count(ToyStatus::NotConverged), count(ToyStatus::Failed));
    println!("  {} converged, {open} not converged, {failed} failed", count(ToyStatus::Converged));
    let mut reasons: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.status != ToyStatus::Converged) {
        // Numbers differ from toy to toy, kinds of reasons do not.
        let kind: String = row.reason.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
        reasons.entry(kind).or_insert((0, row.index)).0 += 1;
    }
    for (reason, (times, first)) in reasons {
        println!("    {times} times (first: toy {first}): {reason}");
    }
    open + failed == 0
}

/// Makes both fits of some toys again from other starts.
fn refit(
    model: &Model,
    session: &dyn Session,
    test: &ToyTest<'_>,
    hypothesis: Hypothesis,
    n: u64,
    refitted: u64,
) -> Result<Tally, Box<dyn Error>> {
    let point = test.header().point(hypothesis).to_vec();
    let mut tally = Tally::default();
    for toy in chosen(n, refitted) {
        let task = test.task(hypothesis, toy..toy + 1).ok_or("the test has no such hypothesis")?;
        let Data::Drawn(drawn) = &task.data else { return Err("toys are not drawn".into()) };
        let data: Data = drawn.source.draw(toy).into();
        let first = run(session, task.clone())?;
        tally.toys += 1;
        for (k, (request, fit)) in task.fits.iter().zip(first.iter().flat_map(|o| &o.fits)).enumerate() {
            let Ok(fit) = fit else { continue };
            if !fit.converged() {
                tally.left_out += 1;
                continue;
            }
            tally.fits += 1;
            let mut best = f64::INFINITY;
            for start in 0..STARTS {
                let Some(found) = from_elsewhere(model, session, &data, request, &point, toy, start)? else {
                    continue;
                };
                tally.certified += 1;
                best = best.min(found.nll);
            }
            let gain = fit.nll - best;
            if gain > LOWER {
                tally.lower += 1;
                tally.worst = tally.worst.max(2.0 * gain);
                println!("    toy {toy}, fit {k}: a minimum lower by {:.2e} in twice_nll", 2.0 * gain);
            }
        }
    }
    Ok(tally)
}

/// Up to `wanted` of the toys `0..n`, one at random of every stretch.
fn chosen(n: u64, wanted: u64) -> impl Iterator<Item = u64> {
    let wanted = wanted.min(n);
    (0..wanted).map(move |k| {
        let (from, to) = (k * n / wanted, (k + 1) * n / wanted);
        let [low, high, ..] = Stream::new(SEED, k, STARTS).block(0, 0);
        from + (u64::from(low) << 32 | u64::from(high)) % (to - from)
    })
}

/// The same fit from another start: a certified minimum without empty bins, if it gets there.
fn from_elsewhere(
    model: &Model,
    session: &dyn Session,
    data: &Data,
    request: &FitRequest,
    point: &[f64],
    toy: u64,
    start: u8,
) -> Result<Option<FitOutcome>, Box<dyn Error>> {
    let unit = Normal::new(0.0, 1.0)?;
    let stream = Stream::new(SEED, toy, start);
    let moved = model.parameters.iter().zip(point).enumerate().map(|(p, (parameter, at))| {
        let random = unit.draw(&stream, p as u32);
        let to = match parameter.constraint.prefit_sigma() {
            _ if parameter.fixed => return *at,
            Some(sigma) => at + sigma * random,
            None => at * (0.3 * random).exp(),
        };
        to.clamp(parameter.bounds.0, parameter.bounds.1)
    });
    let request = FitRequest {
        start: Start::At(Arc::from_iter(moved)),
        search: Search::Local,
        metric: None,
        only_if: None,
        ..request.clone()
    };
    let task = FitTask { data: data.clone(), fits: vec![request] };
    let found = run(session, task)?.into_iter().flat_map(|outcome| outcome.fits).flatten().next();
    Ok(found.filter(|fit| fit.converged() && fit.empty_bins.is_empty()))
}

fn run(session: &dyn Session, task: FitTask) -> Result<Vec<TaskOutcome>, Box<dyn Error>> {
    let mut outcomes = Vec::new();
    session.fit_batch(&[task], Wanted::default(), Control::default(), &mut outcomes)?;
    Ok(outcomes)
}
