//! Checks whether searches find the lowest minimum of random, strongly nonlinear models:
//! `cargo run --release -p ns-inference --example check_minima -- [FIRST] [COUNT] [--starts N] [--threads N]
//! [--search NAME] [--show] [--workspace FILE] [--write INDEX] [--save FILE] [--known FILE]
//! [--codes smooth|piecewise]`.
//!
//! Every model is fitted with each search (local, standard, thorough), with smooth and with piecewise interpolation
//! codes. It is also fitted by local descents from random starting points (50 by default). The output lists each search
//! whose minimum of `-ln L` is higher than the lowest of these descents, or higher than the minimum of a search of
//! lower effort. It gives the difference in `-ln L`. Counts and times follow. Descents that end below the saturated
//! model do not count. They are possible if a bin has a negative expected yield.
//!
//! `--search` makes only the named searches. `--show` prints the parameters that differ most. `--workspace` uses a
//! file instead of random models. `--write` prints the workspace of a random model. `--save` writes the lowest
//! `-ln L` of every model. `--known` reads these values and makes no descents, which take most of the time.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod nonlinear_models;

use std::collections::HashMap;
use std::error::Error;
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use nonlinear_models::{Draw, workspace};
use ns_core::{
    Control, Data, Execution, FitOutcome, FitRequest, FitTask, Model, OutcomeParts, Search, Session, Start,
    TaskOutcome,
};
use ns_inference::open_session;
use ns_translate::pyhf::{ModelOptions, Workspace};

/// Two minima count as different if their values of `-ln L` differ by more than this number, which is 1e-6 in
/// `twice_nll`.
const LOWER: f64 = 5e-7;

/// All searches with their names, in the order of increasing effort.
const SEARCHES: [(Search, &str); 3] =
    [(Search::Local, "local"), (Search::Standard, "standard"), (Search::Thorough, "thorough")];

/// The results for one model.
struct Row {
    /// Searches whose minimum of `-ln L` is higher than that of another result. Each entry has the name of the search,
    /// the name of the other result, and the difference in `-ln L`.
    above: Vec<(&'static str, &'static str, f64)>,
    /// For each search, whether it missed the lowest minimum: descents from random starting points found a lower
    /// `-ln L`.
    missed: [bool; 3],
    n_parameters: usize,
    seconds: [f64; 3],
    /// Identifies the model: whether its interpolation codes are piecewise, and its index.
    key: (bool, u64),
    /// Lowest known value of `-ln L` of the model.
    lowest: f64,
}

fn fit(session: &dyn Session, start: Start, search: Search) -> Result<Option<FitOutcome>, Box<dyn Error>> {
    let request = FitRequest { start, search, ..FitRequest::default() };
    let task = FitTask { data: Data::observed(), fits: vec![request], cancel: None };
    let mut out: Vec<TaskOutcome> = Vec::new();
    session.fit_batch(&[task], OutcomeParts::default(), Control::default(), &mut out)?;
    let fit = out.pop().and_then(|mut outcome| outcome.fits.pop());
    Ok(fit.and_then(Result::ok))
}

/// Returns a random starting point. Parameters with an initial value near 0 are moved by up to 3. All other parameters
/// are scaled. The factor is between `e^-1.5` and `e^1.5` for unconstrained parameters, and between 0.8 and 1.2 for
/// constrained parameters.
fn scattered(model: &Model, draw: &mut Draw) -> Vec<f64> {
    let spread = draw.between(0.3, 3.0);
    let point = model.parameters.iter().map(|p| {
        let x = if p.init.abs() < 0.5 {
            p.init + draw.between(-spread, spread)
        } else if p.constraint.aux().is_none() {
            p.init * draw.between(-1.5, 1.5).exp()
        } else {
            p.init * draw.between(0.8, 1.2)
        };
        x.clamp(p.bounds.0, p.bounds.1)
    });
    point.collect()
}

fn check(settings: &Settings, index: u64, piecewise: bool) -> Result<Row, Box<dyn Error>> {
    let Settings { starts, show, path, searches, .. } = settings;
    let (starts, show) = (*starts, *show);
    let made = |name: &str| searches.is_empty() || searches.iter().any(|wanted| wanted == name);
    let mut options = ModelOptions::default();
    if piecewise {
        options.interpolation = ns_core::Interpolation::PIECEWISE;
    }
    let model = match path {
        Some(path) => Workspace::from_path(path)?,
        None => Workspace::from_value(workspace(index))?,
    };
    let model = model.model(&options)?;
    let session = open_session(&model, &Execution { threads: 1, ..Execution::default() })?;
    let mut seconds = [0.0; 3];
    let mut found = [f64::INFINITY; 3];
    let mut points: [Vec<f64>; 3] = Default::default();
    let least = session.saturated_nll(&Data::observed())?.unwrap_or(f64::NEG_INFINITY) - 10.0;
    for (k, (search, name)) in SEARCHES.iter().enumerate() {
        if !made(name) {
            continue;
        }
        let clock = Instant::now();
        let outcome = fit(session.as_ref(), Start::Init, *search)?;
        if show && outcome.as_ref().is_none_or(|outcome| !outcome.converged()) {
            println!("{index} {name}: {:?}", outcome.map(|outcome| (outcome.status, outcome.nll)));
            continue;
        }
        seconds[k] = clock.elapsed().as_secs_f64();
        if let Some(outcome) = outcome.filter(FitOutcome::converged) {
            found[k] = outcome.nll;
            points[k] = outcome.parameters;
        }
    }
    let mut draw = Draw::new(index ^ 0xABCD_EF00);
    let (mut best, mut at, mut ends) = (f64::INFINITY, Vec::new(), Vec::new());
    if let Some(known) = settings.known.get(&(piecewise, index)) {
        best = *known;
    }
    for _ in 0..if settings.known.is_empty() { starts } else { 0 } {
        let start = Start::At(Arc::from(scattered(&model, &mut draw)));
        let Some(outcome) = fit(session.as_ref(), start, Search::Local)? else { continue };
        if !outcome.converged() || outcome.nll < least {
            continue;
        }
        ends.push(outcome.nll);
        if outcome.nll < best {
            best = outcome.nll;
            at = outcome.parameters;
        }
    }
    let physical = |values: &[f64]| values.iter().copied().filter(|v| *v >= least).fold(best, f64::min);
    let mut row = Row {
        above: Vec::new(),
        missed: [false; 3],
        n_parameters: model.parameters.len(),
        seconds,
        key: (piecewise, index),
        lowest: physical(&found),
    };
    for (k, (_, name)) in SEARCHES.iter().enumerate().filter(|(_, (_, name))| made(name)) {
        row.missed[k] = found[k] > best + LOWER;
        if k > 0 && row.missed[k] {
            row.above.push((name, "starts", found[k] - best));
            if show && points[k].len() == at.len() {
                let hits = ends.iter().filter(|e| **e < best + LOWER).count();
                let mut differences: Vec<(f64, usize)> =
                    at.iter().zip(&points[k]).map(|(a, b)| (a - b).abs()).zip(0..).collect();
                differences.sort_by(|a, b| b.0.total_cmp(&a.0));
                let far = differences.iter().filter(|d| d.0 > 0.5).count();
                println!(
                    "{index} {name}: {:.3e} above, found by {hits} of {} starts; {far} of {} parameters differ by more than 0.5:",
                    found[k] - best,
                    ends.len(),
                    at.len()
                );
                for (_, p) in differences.iter().take(8) {
                    let bounds = model.parameters[*p].bounds;
                    println!(
                        "    {:>12} {:8.3} -> {:8.3}  {bounds:?}",
                        model.parameters[*p].name, points[k][*p], at[*p]
                    );
                }
            }
        }
        for lesser in (0..k).filter(|lesser| made(SEARCHES[*lesser].1)) {
            if found[k] > found[lesser] + LOWER {
                row.above.push((name, SEARCHES[lesser].1, found[k] - found[lesser]));
            }
        }
    }
    Ok(row)
}

/// The settings from the command line.
struct Settings {
    first: u64,
    count: u64,
    starts: usize,
    threads: usize,
    show: bool,
    /// Path of a workspace file that replaces the random models.
    path: Option<String>,
    /// Names of the searches to make; an empty list means all searches.
    searches: Vec<String>,
    /// Interpolation codes to check: `smooth` or `piecewise`; an empty text means both.
    codes: String,
    /// Lowest values of `-ln L` from an earlier run. The key consists of a flag, which is true for piecewise
    /// interpolation codes, and the index of the model.
    known: HashMap<(bool, u64), f64>,
    /// Path of the file to which the lowest values of `-ln L` are written.
    save: Option<String>,
}

/// Reads the lowest values of `-ln L` from a file that was written with `--save`. The key of each value consists of a
/// flag, which is true for piecewise interpolation codes, and the index of the model.
fn read_known(path: &str) -> Result<HashMap<(bool, u64), f64>, Box<dyn Error>> {
    let mut known = HashMap::new();
    for line in std::fs::read_to_string(path)?.lines() {
        let mut words = line.split(' ');
        let (Some(codes), Some(index), Some(value)) = (words.next(), words.next(), words.next()) else {
            return Err(format!("{path}: a line is not `codes index value`: {line:?}").into());
        };
        known.insert((codes == "piecewise", index.parse()?), value.parse()?);
    }
    Ok(known)
}

/// Reads the command line. Returns `None` if a workspace was printed because of `--write`; no checks are then made.
fn settings() -> Result<Option<Settings>, Box<dyn Error>> {
    let mut settings = Settings {
        first: 0,
        count: 200,
        starts: 50,
        threads: 1,
        show: false,
        path: None,
        searches: Vec::new(),
        codes: String::new(),
        known: HashMap::new(),
        save: None,
    };
    let (mut given, mut all) = (Vec::new(), std::env::args().skip(1));
    while let Some(arg) = all.next() {
        let mut value = || all.next().ok_or(format!("{arg} lacks its value"));
        match arg.as_str() {
            "--starts" => settings.starts = value()?.parse()?,
            "--threads" => settings.threads = value()?.parse::<usize>()?.max(1),
            "--show" => settings.show = true,
            "--search" => settings.searches.push(value()?),
            "--workspace" => settings.path = Some(value()?),
            "--known" => settings.known = read_known(&value()?)?,
            "--codes" => settings.codes = value()?,
            "--save" => settings.save = Some(value()?),
            "--write" => {
                println!("{}", workspace(value()?.parse()?));
                return Ok(None);
            }
            other => given.push(other.parse::<u64>()?),
        }
    }
    settings.first = given.first().copied().unwrap_or(settings.first);
    settings.count = given.get(1).copied().unwrap_or(settings.count);
    if settings.path.is_some() {
        settings.count = 1;
    }
    Ok(Some(settings))
}

fn main() -> Result<(), Box<dyn Error>> {
    let Some(settings) = settings()? else { return Ok(()) };
    let mut saved = String::new();
    for piecewise in [false, true] {
        let codes = if piecewise { "piecewise" } else { "smooth" };
        if !settings.codes.is_empty() && settings.codes != codes {
            continue;
        }
        let next = AtomicU64::new(settings.first);
        let rows: Vec<Row> = std::thread::scope(|scope| {
            let work = || {
                let mut rows = Vec::new();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= settings.first + settings.count {
                        return rows;
                    }
                    match check(&settings, index, piecewise) {
                        Ok(row) => {
                            for (search, what, by) in &row.above {
                                println!("{codes} {index}: {search} is above {what} by {by:.3e}");
                            }
                            rows.push(row);
                        }
                        Err(error) => eprintln!("{codes} {index}: {error}"),
                    }
                }
            };
            let handles: Vec<_> = (0..settings.threads).map(|_| scope.spawn(work)).collect();
            handles.into_iter().flat_map(|h| h.join().unwrap_or_default()).collect()
        });
        for row in rows.iter().filter(|row| row.lowest.is_finite()) {
            writeln!(
                saved,
                "{} {} {:?}",
                if row.key.0 { "piecewise" } else { "smooth" },
                row.key.1,
                row.lowest
            )?;
        }
        if let Some(path) = &settings.save {
            std::fs::write(path, &saved)?;
        }
        let n = rows.len() as f64;
        let mean = rows.iter().map(|r| r.n_parameters as f64).sum::<f64>() / n;
        println!("{codes}: {} models, {mean:.0} parameters on average", rows.len());
        for (k, (_, name)) in SEARCHES.iter().enumerate() {
            let missed = rows.iter().filter(|r| r.missed[k]).count();
            let milliseconds = 1e3 * rows.iter().map(|r| r.seconds[k]).sum::<f64>() / n;
            let share = 1e2 * missed as f64 / n;
            let most = 1e3 * rows.iter().map(|r| r.seconds[k]).fold(0.0, f64::max);
            println!(
                "  {name:9} above the starts: {missed:5} ({share:.2} %), {milliseconds:.3} ms a fit, {most:.0} ms at most"
            );
        }
    }
    Ok(())
}
