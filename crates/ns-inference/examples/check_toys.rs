//! Checks the fits of the toys of a hypothesis test: whether they converge, and whether they end in the lowest
//! minimum. `cargo run --release -p ns-inference --example check_toys -- WORKSPACE [TOYS] [MU] [REFITTED] [THREADS]
//! [--only-refits] [--toys LIST] [--key N] [--seed N]`.
//!
//! Runs toys of both hypotheses as `hypotest-toys` does, and counts the toys of each status. If a toy did not
//! converge, the reason should name bins in which no events are expected. For some toys, chosen at random, both fits
//! are repeated from three other starting points each. In these points, constrained parameters are moved by random
//! multiples of their pre-fit widths, and unconstrained parameters are scaled. Minima that are lower by more than
//! 1e-6 in `twice_nll` are counted and printed with the parameters that differ most. There should be none.
//!
//! `--only-refits` makes only the repeated fits. `--toys LIST` selects the toys whose fits are repeated. `--key`
//! changes the random choice of toys and starting points. `--seed N` is the seed of the toys.
#![allow(clippy::print_stdout)]

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use ns_core::random::{Normal, Stream};
use ns_core::{
    Control, Execution, FitOutcome, FitRequest, FitTask, Model, OutcomeParts, Search, Seen, Session, Start,
    TaskOutcome,
};
use ns_inference::open_session;
use ns_inference::toys::{HypotestToysOptions, Hypothesis, ToyRow, ToyStatus, ToyTest};
use ns_translate::pyhf::{ModelOptions, Workspace};

/// Number of times that each fit is repeated, each time from another starting point.
const STARTS: u8 = 3;

/// Largest difference in `-ln L` up to which two minima count as equal. It is 1e-6 in `twice_nll`.
const LOWER: f64 = 5e-7;

/// Default key of the random numbers that choose toys and starting points.
const KEY: u64 = 77;

/// Number of toys whose fits are repeated in one batch.
const TOGETHER: usize = 64;

/// Largest number of parameters that are printed if a repeated fit finds a lower minimum.
const SHOWN: usize = 6;

/// Numbers of first fits and of repeated fits of toys, by the result of the fits.
#[derive(Debug, Default)]
struct Tally {
    toys: usize,
    /// Number of first fits that converged. Only these fits are compared with repeated fits.
    fits: usize,
    /// Number of first fits that did not converge. These fits are not compared with repeated fits.
    left_out: usize,
    /// Number of repeated fits that converged and have no empty bins.
    certified: usize,
    /// Number of first fits for which a repeated fit found a lower minimum.
    lower: usize,
    /// Largest difference in `twice_nll` between a first fit and a lower minimum.
    worst: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut only_refits, mut key, mut seed, mut picked) = (false, KEY, 0, None);
    let (mut given, mut all) = (Vec::new(), std::env::args().skip(1));
    while let Some(arg) = all.next() {
        match arg.as_str() {
            "--only-refits" => only_refits = true,
            "--toys" => {
                let list = all.next().ok_or("--toys needs numbers, separated by commas")?;
                picked = Some(list.split(',').map(str::parse).collect::<Result<Vec<u64>, _>>()?);
            }
            "--seed" => seed = all.next().ok_or("--seed needs a number")?.parse()?,
            "--key" => key = all.next().ok_or("--key needs a number")?.parse()?,
            _ => given.push(arg),
        }
    }
    let mut args = given.into_iter();
    let usage = "usage: check_toys WORKSPACE [TOYS] [MU] [REFITTED] [THREADS] [--only-refits] [--toys LIST] [--key N] [--seed N]";
    let path = args.next().ok_or(usage)?;
    let n: u64 = args.next().map_or(Ok(20_000), |x| x.parse())?;
    let mu: f64 = args.next().map_or(Ok(1.0), |x| x.parse())?;
    let refitted: u64 = args.next().map_or(Ok(200), |x| x.parse())?;
    let threads: usize = args.next().map_or(Ok(1), |x| x.parse())?;
    let model = Workspace::from_path(&path)?.model(&ModelOptions::default())?;
    let session = open_session(&model, &Execution { threads, ..Execution::default() })?;
    let options = HypotestToysOptions::default().n_toys(n).seed(seed);
    let test = ToyTest::prepare(&model, session.as_ref(), mu, &options, Control::default())?;
    println!("{path}: {n} toys per hypothesis, tested value {mu}");
    let mut sound = true;
    for hypothesis in Hypothesis::BOTH {
        if only_refits {
            println!("{hypothesis}:");
        } else {
            let mut rows: Vec<ToyRow> = Vec::new();
            let began = Instant::now();
            let _ended = test.run(&[(hypothesis, 0..n)], Control::default(), &mut rows)?;
            let seconds = began.elapsed().as_secs_f64();
            println!("{hypothesis}: {:.0} toys per second", n as f64 / seconds);
            sound &= report_rows(&rows);
        }
        let toys = picked.clone().unwrap_or_else(|| chosen(n, refitted, key).collect());
        let tally =
            Refits { model: &model, session: session.as_ref(), test: &test, hypothesis, key }.of(&toys)?;
        println!(
            "  again: {} toys, {} fits from {STARTS} starts each ({} certified; {} fits left out); {} lower, by up to {:.1e} in twice_nll",
            tally.toys, tally.fits, tally.certified, tally.left_out, tally.lower, tally.worst
        );
        sound &= tally.lower == 0;
    }
    if sound {
        Ok(())
    } else {
        Err("some toys did not converge without a physical reason, failed, or have lower minima".into())
    }
}

/// Prints the number of toys with each status. Returns whether all toys converged, apart from toys that did not
/// converge because no events are expected in some bins. With such bins `-ln L` can fall without bound, and there may
/// be no minimum.
fn report_rows(rows: &[ToyRow]) -> bool {
    let count = |status| rows.iter().filter(|row| row.status == status).count();
    let (open, failed) = (count(ToyStatus::NotConverged), count(ToyStatus::Failed));
    let emptied = |row: &&ToyRow| {
        row.status == ToyStatus::NotConverged && row.reason.contains("no expected events left in ")
    };
    let emptied = rows.iter().filter(emptied).count();
    println!(
        "  {} converged, {open} not converged ({emptied} with no expected events left in a bin), {failed} failed",
        count(ToyStatus::Converged)
    );
    let mut reasons: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.status != ToyStatus::Converged) {
        // Without their digits, reasons of the same kind are equal texts.
        let kind: String = row.reason.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
        reasons.entry(kind).or_insert((0, row.index)).0 += 1;
    }
    for (reason, (times, first)) in reasons {
        println!("    {times} times (first: toy {first}): {reason}");
    }
    open == emptied && failed == 0
}

/// Returns up to `wanted` of the toys `0..n`. The toys are divided into `wanted` ranges of equal length, and one toy
/// of each range is chosen at random.
fn chosen(n: u64, wanted: u64, key: u64) -> impl Iterator<Item = u64> {
    let wanted = wanted.min(n);
    (0..wanted).map(move |k| {
        let (from, to) = (k * n / wanted, (k + 1) * n / wanted);
        let [low, high, ..] = Stream::new(key, k, STARTS).block(0, 0);
        from + (u64::from(low) << 32 | u64::from(high)) % (to - from)
    })
}

/// Repeats fits of toys from other starting points.
struct Refits<'a> {
    model: &'a Model,
    session: &'a dyn Session,
    test: &'a ToyTest<'a>,
    hypothesis: Hypothesis,
    key: u64,
}

impl Refits<'_> {
    /// Repeats the free and the conditional fit of each given toy, and compares the repeated fits with the first
    /// fits.
    fn of(&self, toys: &[u64]) -> Result<Tally, Box<dyn Error>> {
        let mut tally = Tally::default();
        for toys in toys.chunks(TOGETHER) {
            self.some(toys, &mut tally)?;
        }
        Ok(tally)
    }

    /// Does the work of [`Self::of`] for a few toys in one batch. Adds the numbers of fits to `tally`.
    fn some(&self, toys: &[u64], tally: &mut Tally) -> Result<(), Box<dyn Error>> {
        let mut first: Vec<FitTask> = Vec::new();
        let mut again: Vec<FitTask> = Vec::new();
        for neighbours in toys.chunk_by(|a, b| a + 1 == *b) {
            let (Some(from), Some(to)) = (neighbours.first(), neighbours.last()) else { continue };
            let task = self.test.task(self.hypothesis, *from..to + 1);
            let task = task.ok_or("the test has no such hypothesis")?;
            let Seen::Drawn(drawn) = &task.data.seen else { return Err("toys are not drawn".into()) };
            for toy in neighbours {
                let starts =
                    (0..STARTS).map(|start| self.elsewhere(*toy, start)).collect::<Result<Vec<_>, _>>()?;
                let fits = task.fits.iter().flat_map(|request| {
                    starts.iter().map(|start| FitRequest {
                        start: Start::At(Arc::clone(start)),
                        search: Search::Local,
                        metric: None,
                        single_descent: false,
                        only_if: None,
                        ..request.clone()
                    })
                });
                again.push(FitTask {
                    data: drawn.source.draw(*toy).into(),
                    fits: fits.collect(),
                    cancel: None,
                });
            }
            first.push(task);
        }
        let (first, again) = (self.run(&first)?, self.run(&again)?);
        for ((toy, first), again) in toys.iter().zip(&first).zip(&again) {
            tally.toys += 1;
            for (k, (fit, others)) in
                first.fits.iter().zip(again.fits.chunks(usize::from(STARTS))).enumerate()
            {
                let Ok(fit) = fit else { continue };
                if !fit.converged() {
                    tally.left_out += 1;
                    continue;
                }
                tally.fits += 1;
                // Only converged fits without empty bins are compared.
                let sound = |other: &&FitOutcome| other.converged() && other.empty_bins.is_empty();
                let found = || others.iter().flatten().filter(sound);
                tally.certified += found().count();
                let Some(best) = found().min_by(|a, b| a.nll.total_cmp(&b.nll)) else { continue };
                let gain = 2.0 * (fit.nll - best.nll);
                if gain > 2.0 * LOWER {
                    tally.lower += 1;
                    tally.worst = tally.worst.max(gain);
                    println!("    toy {toy}, fit {k}: a minimum lower by {gain:.2e} in twice_nll");
                    self.show(fit, best);
                }
            }
        }
        Ok(())
    }

    /// Prints the parameters in which two minima differ most. Differences are in units of the widths of the
    /// constraints.
    fn show(&self, fit: &FitOutcome, other: &FitOutcome) {
        let mut differences: Vec<(f64, String)> = Vec::new();
        for (parameter, (here, there)) in
            self.model.parameters.iter().zip(fit.parameters.iter().zip(&other.parameters))
        {
            let width = parameter.constraint.prefit_sigma().unwrap_or(1.0);
            let text = format!("      {}: {here:.3}, there {there:.3}", parameter.name);
            differences.push(((here - there).abs() / width, text));
        }
        differences.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, text) in differences.iter().take(SHOWN) {
            println!("{text}");
        }
    }

    /// Returns the random starting point with the index `start` for the repeated fits of a toy.
    fn elsewhere(&self, toy: u64, start: u8) -> Result<Arc<[f64]>, Box<dyn Error>> {
        let unit = Normal::new(0.0, 1.0)?;
        let stream = Stream::new(self.key, toy, start);
        let point = self.test.header().point(self.hypothesis);
        let moved = self.model.parameters.iter().zip(point).enumerate().map(|(p, (parameter, at))| {
            let random = unit.draw(&stream, p as u32);
            let to = match parameter.constraint.prefit_sigma() {
                _ if parameter.fixed => return *at,
                Some(sigma) => at + sigma * random,
                None => at * (0.3 * random).exp(),
            };
            to.clamp(parameter.bounds.0, parameter.bounds.1)
        });
        Ok(Arc::from_iter(moved))
    }

    fn run(&self, tasks: &[FitTask]) -> Result<Vec<TaskOutcome>, Box<dyn Error>> {
        let mut outcomes = Vec::new();
        self.session.fit_batch(tasks, OutcomeParts::default(), Control::default(), &mut outcomes)?;
        Ok(outcomes)
    }
}
