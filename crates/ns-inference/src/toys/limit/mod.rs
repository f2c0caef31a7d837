//! CLs upper limits with toys.
//!
//! The search begins at the asymptotic limit. It tests values of the POI until CLs differs from `1 - cl` by less than
//! half its statistical error. The searches for the observed limit and for the expected limits use the same tested
//! values and the same toys.

mod options;
mod result;

use ns_core::{Control, Model, Observer, Session};

pub use options::ToyLimitOptions;
pub use result::{ToyLimitPoint, ToyLimitResult};

use super::options::check_number;
use super::{HypotestToysOptions, Summary, ToyTest};
use crate::limit::bracket::{Bracket, End};
use crate::present::{exact, significant};
use crate::single_fits::of_single_fits;
use crate::{InferenceError, LimitOptions, upper_limit};

/// Largest number of values of the POI tested in the search for one limit.
const MOST_POINTS: usize = 20;

/// Largest absolute value of the search function, in units of its statistical error, that counts as 0. The root of the
/// search function is the limit.
const NEAR: f64 = 0.5;

/// Largest value of the search function at a tested value where CLs is 0. CLs is 0 if no toy of the tested hypothesis
/// has a test statistic of at least the observed (or expected) one. Because this number is negative, the search
/// continues at smaller values of the POI.
const BELOW: f64 = -0.1;

/// A tested value of the POI, and the value of the search function of each limit there. The first function is for the
/// observed limit, and the others are for the expected limits.
struct Tested {
    point: ToyLimitPoint,
    levels: Vec<Option<Level>>,
}

/// The value of the search function of one limit at a tested value of the POI. The root of the search function is the
/// limit.
#[derive(Debug, Clone, Copy)]
struct Level {
    /// Value of the search function. It is positive below the limit, 0 at the limit, and nearly linear.
    height: f64,
    /// Statistical error of `height`.
    error: f64,
    /// Whether CLs at the tested value is above 0, i.e. whether at least one toy of the tested hypothesis has a test
    /// statistic of at least the observed (or expected) one. If false, only the sign of `height` has a meaning.
    counts: bool,
}

/// The search for one limit.
struct ToyLimitSearch {
    /// Index of the limit in [`Tested::levels`].
    slot: usize,
    search: Bracket,
    steps: usize,
}

/// The common state of the searches for all limits.
struct Work<'a> {
    model: &'a Model,
    session: &'a dyn Session,
    options: &'a ToyLimitOptions,
    control: Control<'a>,
    tested: Vec<Tested>,
    /// Pairs of a warning and the number of later warnings that differ from it only in their numbers.
    notes: Vec<(String, usize)>,
    converged: bool,
    n_toys: u64,
    wall_s: f64,
}

/// Finds the CLs upper limit with toys, and the statistical error of the limit. The limit is the value of the
/// parameter of interest at which CLs falls below `1 - cl`.
///
/// # Errors
/// The errors of [`upper_limit`] and [`super::hypotest_toys`].
pub fn upper_limit_toys(
    model: &Model,
    session: &dyn Session,
    options: &ToyLimitOptions,
    control: Control<'_>,
) -> Result<ToyLimitResult, InferenceError> {
    check_number(options.n_toys)?;
    let silent = Control { observer: None, cancel: control.cancel, task: None };
    let asymptotic = LimitOptions::default()
        .fit(options.fit.clone())
        .statistic(options.statistic)
        .cl(options.cl)
        .observed_only(!options.expected);
    let start = upper_limit(model, of_single_fits(session), &asymptotic, silent)?;
    let (lower, upper) = model
        .poi()
        .and_then(|i| model.parameters.get(i))
        .map_or((f64::NEG_INFINITY, f64::INFINITY), |p| p.bounds);

    let root = (-2.0 * (1.0 - options.cl).ln()).sqrt();
    // CLs is 1 at two values: at the best fit, where the statistic is 0, and at 0, where both hypotheses are equal.
    let search = |low: f64, guess: Option<f64>| {
        let low = low.clamp(lower, upper);
        Bracket::new(low, root, guess.unwrap_or(f64::NAN), upper, 0.0)
    };
    let low = start.mu_hat.max(0.0);
    let mut searches = vec![ToyLimitSearch { slot: 0, search: search(low, start.observed), steps: 0 }];
    for k in 0..start.expected.len() {
        let guess = start.expected.get(k).copied().flatten();
        searches.push(ToyLimitSearch { slot: k + 1, search: search(0.0, guess), steps: 0 });
    }
    let mut work = Work {
        model,
        session,
        options,
        control,
        tested: Vec::new(),
        notes: start.warnings.iter().map(|note| (note.clone(), 0)).collect(),
        converged: start.converged,
        n_toys: 0,
        wall_s: 0.0,
    };
    let interrupted = !work.follow(&mut searches, root)?;
    Ok(work.finish(&searches, root, start, interrupted))
}

impl Work<'_> {
    /// Runs the search for each limit to its end. Returns false if the caller stopped the work. `root` is
    /// `sqrt(-2 ln(1 - cl))`.
    fn follow(&mut self, searches: &mut [ToyLimitSearch], root: f64) -> Result<bool, InferenceError> {
        for wanted in searches {
            while let Some(value) = wanted.search.next().filter(|_| wanted.steps < MOST_POINTS) {
                wanted.steps += 1;
                if !self.test(value, root)? {
                    return Ok(false);
                }
                let level = self.level(wanted.slot, value);
                // If the function differs from 0 by less than half its statistical error, it counts as 0.
                let found = level.is_some_and(|l| l.counts && l.height.abs() <= NEAR * l.error);
                wanted.search.accept(if found { Some(0.0) } else { level.map(|l| l.height) });
            }
        }
        Ok(true)
    }

    /// Returns the search function of the limit with index `slot` at a tested value. Returns `None` if `value` has not
    /// been tested, or if the search function does not exist there.
    fn level(&self, slot: usize, value: f64) -> Option<Level> {
        self.tested.iter().find(|t| t.point.mu == value)?.levels.get(slot).copied().flatten()
    }

    /// Tests a value of the POI with toys. Does nothing if the value has been tested before. `root` is
    /// `sqrt(-2 ln(1 - cl))`. Returns false if the caller stopped the work.
    fn test(&mut self, value: f64, root: f64) -> Result<bool, InferenceError> {
        if self.tested.iter().any(|t| t.point.mu == value) {
            return Ok(true);
        }
        let options = HypotestToysOptions::default()
            .fit(self.options.fit.clone())
            .statistic(self.options.statistic)
            .n_toys(self.options.n_toys)
            .seed(self.options.seed);
        let test = match ToyTest::prepare(self.model, self.session, value, &options, self.control) {
            Ok(test) => test,
            Err(InferenceError::Cancelled) => return Ok(false),
            Err(error @ (InferenceError::FitFailed { .. } | InferenceError::Session(_)))
                if !self.tested.is_empty() =>
            {
                self.note(format!("no toys at {value}: {error}"));
                self.tested.push(Tested { point: without_toys(value), levels: Vec::new() });
                return Ok(true);
            }
            Err(error) => return Err(error),
        };
        let mut summary = Summary::new(test.header()).expected_set(self.options.expected);
        let done = self.tested.len();
        let shifted = Shifted { control: self.control, done, expected: done.max(2) + 1 };
        let control = Control { observer: Some(&shifted), cancel: self.control.cancel, task: None };
        let run = test.run(&test.ranges(), control, &mut summary)?;
        self.n_toys += run.n_rows;
        self.wall_s += run.wall_s;
        if run.interrupted {
            return Ok(false);
        }
        let expected = summary.expected_cls();
        let result = summary.finish();
        result.warnings.into_iter().for_each(|note| self.note(note));
        self.converged &= result.converged;
        let observed = result.cls.zip(result.cls_error);
        let levels = std::iter::once(observed)
            .chain(expected.iter().copied())
            .map(|cls| cls.map(|(cls, error)| level_of(cls, error, root)))
            .collect();
        let point = ToyLimitPoint {
            mu: value,
            cls: result.cls,
            cls_error: result.cls_error,
            clsb: result.clsb,
            clb: result.clb,
            q_obs: Some(result.q_obs),
            expected_cls: expected.iter().map(|e| e.map(|e| e.0)).collect(),
            expected_cls_error: expected.iter().map(|e| e.map(|e| e.1)).collect(),
            n_nonconverged: result.n_nonconverged,
            n_error: result.n_error,
        };
        self.tested.push(Tested { point, levels });
        Ok(true)
    }

    /// Adds a warning about a tested value. A warning that differs from an earlier warning only in its numbers is
    /// counted as a repetition of the earlier warning.
    fn note(&mut self, note: String) {
        let words = |text: &str| text.replace(|c: char| c.is_ascii_digit() || ".-e".contains(c), "");
        if self.notes.iter().any(|(known, _)| *known == note) {
            return;
        }
        match self.notes.iter_mut().find(|(known, _)| words(known) == words(&note)) {
            Some((_, more)) => *more += 1,
            None => self.notes.push((note, 0)),
        }
    }

    /// Returns the limit found by a search, and the statistical error of the limit. The search function is interpolated
    /// by a straight line through its values at two tested values of the POI, and the limit is the root of this line.
    /// One of the two is the tested value where the search function is closest to 0.
    fn limit(&self, wanted: &ToyLimitSearch, root: f64) -> Option<(f64, f64)> {
        let low = wanted.search.start();
        let known: Vec<(f64, Level)> = self
            .tested
            .iter()
            .filter_map(|t| Some((t.point.mu, t.levels.get(wanted.slot).copied().flatten()?)))
            .filter(|(mu, level)| *mu > low && level.counts)
            .collect();
        let lowest = |a: &&(f64, Level), b: &&(f64, Level)| a.1.height.abs().total_cmp(&b.1.height.abs());
        let &(mu, level) = match wanted.search.end() {
            Some(End::Found(value)) => known.iter().find(|(mu, _)| *mu == value)?,
            _ => known.iter().min_by(lowest)?,
        };
        // The slope between two values is not known if toys cannot distinguish the values.
        let apart = |(_, other): &&(f64, Level)| (other.height - level.height).abs() > 3.0 * level.error;
        let (other, height) = known
            .iter()
            .filter(apart)
            .min_by(|a, b| (a.0 - mu).abs().total_cmp(&(b.0 - mu).abs()))
            .map_or((low, root), |(other, l)| (*other, l.height));
        let slope = (level.height - height) / (mu - other);
        let limit = mu - level.height / slope;
        (slope < 0.0 && limit.is_finite()).then_some((limit, level.error / -slope))
    }

    /// Returns the smallest tested value at which CLs for a limit is 0, because no toy of the tested hypothesis has a
    /// test statistic of at least the observed (or expected) one. Also returns the error of CLs there, which is an
    /// upper bound on CLs.
    fn lowest_without_toys(&self, slot: usize) -> Option<(f64, f64)> {
        let bound = |t: &Tested| {
            let error = match slot {
                0 => t.point.cls_error,
                k => t.point.expected_cls_error.get(k - 1).copied().flatten(),
            };
            Some((t.point.mu, error?))
        };
        let empty = |t: &&Tested| t.levels.get(slot).copied().flatten().is_some_and(|l| !l.counts);
        let lowest = |a: &(f64, f64), b: &(f64, f64)| a.0.total_cmp(&b.0);
        self.tested.iter().filter(empty).filter_map(bound).min_by(lowest)
    }

    fn finish(
        mut self,
        searches: &[ToyLimitSearch],
        root: f64,
        start: crate::LimitResult,
        interrupted: bool,
    ) -> ToyLimitResult {
        let level = significant(1.0 - self.options.cl);
        let mut limits: Vec<Option<(f64, f64)>> = Vec::with_capacity(searches.len());
        for wanted in searches {
            let which = match wanted.slot {
                0 => "the observed limit".to_owned(),
                k => format!("the expected limit at {:+} sigma", k as i64 - 3),
            };
            let limit = self.limit(wanted, root);
            let (limit, why) = match wanted.search.end() {
                Some(End::Found(_)) if limit.is_some() => (limit, None),
                Some(End::NotCrossed { upper }) => (
                    None,
                    Some(format!(
                        "{which} is null: CLs stays above {level} up to the upper bound {} of {}",
                        exact(upper),
                        start.param
                    )),
                ),
                Some(End::Wall { below } | End::Exhausted { below }) => (
                    None,
                    Some(format!(
                        "{which} is null: CLs stays above {level} up to {} = {below}, and no toys count beyond",
                        start.param
                    )),
                ),
                None if interrupted => (None, Some(format!("{which} is null: interrupted"))),
                // The search has made all its steps. The search function does not count as 0 at any tested value.
                None if limit.is_some() => (
                    limit,
                    Some(format!(
                        "{which} rests on few toys: CLs jumps across {level} from one value tested to the next; run \
                         more toys"
                    )),
                ),
                _ => (
                    None,
                    Some(match self.lowest_without_toys(wanted.slot) {
                        Some((mu, bound)) => format!(
                            "{which} is null: too few toys: at {} = {} none counts, which leaves CLs anywhere below {}, and \
                             at smaller values CLs lies above {level}; run more toys",
                            start.param,
                            significant(mu),
                            significant(bound)
                        ),
                        None => format!("{which} is null: no value tested has a CLs near {level}"),
                    }),
                ),
            };
            self.notes.extend(why.map(|why| (why, 0)));
            limits.push(limit);
        }
        self.tested.sort_by(|a, b| a.point.mu.total_cmp(&b.point.mu));
        let expected = limits.get(1..).unwrap_or_default();
        ToyLimitResult {
            cl: self.options.cl,
            test_stat: self.options.statistic.name(),
            observed: limits.first().copied().flatten().map(|l| l.0),
            observed_error: limits.first().copied().flatten().map(|l| l.1),
            expected: expected.iter().map(|l| l.map(|l| l.0)).collect(),
            expected_error: expected.iter().map(|l| l.map(|l| l.1)).collect(),
            nsigma_order: crate::hypotest::NsigmaOrder::default(),
            observed_asymptotic: start.observed,
            mu_hat: start.mu_hat,
            n_evaluations: self.tested.len(),
            n_toys: self.options.n_toys,
            seed: self.options.seed,
            search: self.options.fit.search.name().to_owned(),
            points: self.tested.into_iter().map(|t| t.point).collect(),
            toys_per_s: (self.wall_s > 0.0).then(|| self.n_toys as f64 / self.wall_s),
            converged: self.converged,
            param: start.param,
            warnings: self.notes.into_iter().map(said).collect(),
            interrupted,
        }
    }
}

/// Formats a warning. The text also gives `more`, the number of other tested values with the same warning.
fn said((note, more): (String, usize)) -> String {
    match more {
        0 => note,
        more => format!("{note} (and alike at {more} of the other values tested)"),
    }
}

/// Creates the entry of a tested value for which no toys could be run.
fn without_toys(mu: f64) -> ToyLimitPoint {
    ToyLimitPoint {
        mu,
        cls: None,
        cls_error: None,
        clsb: None,
        clb: None,
        q_obs: None,
        expected_cls: Vec::new(),
        expected_cls_error: Vec::new(),
        n_nonconverged: Default::default(),
        n_error: Default::default(),
    }
}

/// Returns the search function `root - sqrt(-2 ln CLs)` and its error, where `root` is `sqrt(-2 ln(1 - cl))`. As a
/// function of the tested value, CLs falls approximately like a Gaussian. The search function is therefore nearly
/// linear.
fn level_of(cls: f64, error: f64, root: f64) -> Level {
    // If no toy is counted, `error` is an upper bound on CLs. With few toys this bound may lie above `1 - cl`. The
    // search must nevertheless continue at smaller values of the POI.
    let counts = cls > 0.0;
    let cls = if counts { cls } else { 0.5 * error };
    let y = (-2.0 * cls.clamp(f64::MIN_POSITIVE, 1.0).ln()).sqrt();
    let height = if counts { root - y } else { (root - y).min(BELOW) };
    Level { height, error: error / (cls * y.max(0.1)), counts }
}

/// Converts the progress of the toys at one tested value to the progress of the whole search, and reports it. The
/// total number of tested values is not known in advance, and its estimate grows with the number of values tested so
/// far.
struct Shifted<'a> {
    control: Control<'a>,
    done: usize,
    expected: usize,
}

impl Observer for Shifted<'_> {
    fn progress(&self, done: usize, total: usize) {
        self.control.progress(self.done * total + done, self.expected * total);
    }
}
