//! Checks the properties of one model and lists the violated properties.

use ns_core::{Control, Execution, Model, Session};
use ns_inference::{FitOptions, FitResult, HypotestResult, fit, open_session};

use super::random::Draw;
use super::reference::{Reference, SAME, noise};
use super::workspace::Case;
use super::{far, intervals, tests};

/// A property that does not hold, or an analysis that returned an error.
#[derive(Debug, Clone)]
pub struct Finding {
    pub property: &'static str,
    pub numbers: String,
    /// Size of the violation, in the units of the quantity that the property compares. The worst violation has the
    /// largest size.
    pub size: f64,
}

/// All findings for one model.
#[derive(Debug, Default)]
pub struct Report {
    /// Properties that do not hold.
    pub violations: Vec<Finding>,
    /// Violated properties of a model with a negative expected yield at a minimum. The likelihood of such a model
    /// grows towards the corners of the bounds, so these violations say nothing about realistic models.
    pub negative_yield: Vec<Finding>,
    /// Analyses that returned an error.
    pub refused: Vec<Finding>,
    /// Names of the checked properties, one entry for each check.
    pub looked: Vec<&'static str>,
    /// Duration of all checks, in seconds.
    pub seconds: f64,
}

impl Report {
    /// Records that a property was checked. If `holds` is false, also records the violation, with its size and with
    /// the description that `numbers` returns.
    pub fn check(
        &mut self,
        property: &'static str,
        holds: bool,
        size: f64,
        numbers: impl FnOnce() -> String,
    ) {
        self.looked.push(property);
        if !holds {
            self.violations.push(Finding { property, numbers: numbers(), size });
        }
    }

    pub fn refuse(&mut self, analysis: &'static str, reason: String) {
        self.refused.push(Finding { property: analysis, numbers: reason, size: 0.0 });
    }
}

/// The model under test, and results that all checks of this model use.
pub struct Subject<'a> {
    pub model: &'a Model,
    pub session: &'a dyn Session,
    pub reference: Reference<'a>,
    pub report: Report,
    /// Generator of the random numbers by which the checks choose parameters.
    pub draw: Draw,
    /// Result of the fit with default options.
    pub best: FitResult,
    /// Hypothesis tests that have been made: the tested value of the POI, and the result (`None` after an error).
    pub tests: Vec<(f64, Option<HypotestResult>)>,
}

impl Subject<'_> {
    pub fn name(&self, parameter: usize) -> &str {
        &self.model.parameters[parameter].name
    }

    /// Returns the lowest `-ln L` of the observed data with the parameters in `held` fixed. The result is infinite if
    /// no likelihood is finite. `near` are minima of similar fits, which are additional starting points.
    pub fn held(&mut self, held: &[(usize, f64)], near: &[Vec<f64>]) -> f64 {
        self.reference.lowest_among(false, held, near).map_or(f64::INFINITY, |lowest| lowest.nll)
    }

    /// Chooses parameters to check: the POI, followed by up to `n` other free parameters.
    pub fn choose(&mut self, n: usize) -> Vec<usize> {
        let poi = self.model.poi();
        let free: Vec<usize> = (0..self.model.parameters.len())
            .filter(|i| Some(*i) != poi && !self.best.fixed.contains(&self.model.parameters[*i].name))
            .filter(|i| self.model.parameters[*i].bounds.0 < self.model.parameters[*i].bounds.1)
            .collect();
        let poi = poi.filter(|i| !self.best.fixed.contains(&self.model.parameters[*i].name));
        let mut chosen: Vec<usize> = poi.into_iter().collect();
        chosen.extend(self.draw.some(&free, n));
        chosen
    }
}

/// Largest number of free parameters of a model for which limits and the ranking take little time.
const QUICK_MODEL: usize = 30;

/// Selects whether all properties of a model are checked or only some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// Every property.
    Whole,
    /// A subset of the checks, chosen by the index of the model: a hypothesis test of one of two values, two of the
    /// six limits, and one other analysis. For models with more free parameters than [`QUICK_MODEL`], limits are
    /// computed for every second model only. Fits of models with kinks take seconds. For these models, limits and the
    /// ranking are computed for every fourth model only.
    Part,
    /// Only conditional fits: far values, scans of few points, and all refits of a ranking.
    Conditional,
    /// Of the checks of [`Depth::Whole`], only those of the free fit and of one analysis: `MINOS`, `uncertainty`, `scan`,
    /// `ranking` or `limit`.
    Only(&'static str),
}

/// Decides from the index of a model which checks are made. With [`Depth::Whole`] all checks are made.
#[derive(Debug, Clone, Copy)]
pub struct Turns {
    index: u64,
    depth: Depth,
}

impl Turns {
    /// Returns whether a check is made. With [`Depth::Whole`] the check is made for every model, otherwise only for
    /// the models whose index is `which` modulo `n`.
    pub fn of(self, which: usize, n: u64) -> bool {
        matches!(self.depth, Depth::Whole | Depth::Only(_)) || self.index % n == which as u64
    }
}

/// Checks the properties of the model of `case`.
pub fn check(case: &Case, depth: Depth) -> Report {
    match case.model() {
        Ok(model) => check_model(case.index, &model, depth),
        Err(error) => {
            let mut report = Report::default();
            report.check("the workspace is read", false, 1.0, || error);
            report
        }
    }
}

/// Checks the properties of the model `model`, whose index is `index`.
pub fn check_model(index: u64, model: &Model, depth: Depth) -> Report {
    let mut report = Report::default();
    let execution = Execution { threads: 1, ..Execution::default() };
    let session = match open_session(model, &execution) {
        Ok(session) => session,
        Err(error) => {
            report.check("the session opens", false, 1.0, || error.to_string());
            return report;
        }
    };
    let session = session.as_ref();
    let mut draw = Draw::new(index ^ 0xC0FF_EE00_0000);
    let mut reference = Reference::new(model, session);
    let turns = Turns { index: index / 4, depth };
    let turn = |number: u64| match depth {
        Depth::Whole => true,
        Depth::Part => index % 4 == number,
        Depth::Conditional => number >= 2,
        Depth::Only(_) => false,
    };
    let asked = |analysis: &str| matches!(depth, Depth::Only(name) if name == analysis);
    let many = !matches!(depth, Depth::Conditional | Depth::Only(_));
    // The fit also computes the MINOS intervals of some parameters.
    let free: Vec<&str> = model
        .parameters
        .iter()
        .filter(|p| !p.fixed && p.bounds.0 < p.bounds.1)
        .map(|p| p.name.as_str())
        .collect();
    let mut names: Vec<&str> = model.poi().map(|i| model.parameters[i].name.as_str()).into_iter().collect();
    names.retain(|n| free.contains(n));
    names.extend(draw.some(&free, 2));
    if !turn(0) && !asked("MINOS") {
        names.clear();
    }
    let options = names.iter().fold(FitOptions::default(), |options, name| options.minos(*name));
    let best = match fit(model, session, &options, Control::default()) {
        Ok(best) => best,
        Err(error) => {
            // An error means that no likelihood is finite. Then the thorough search must not find a minimum.
            let refused = reference.lowest(false, &[]).is_none();
            report.check("a fit is made where there is one", refused, 1.0, || error.to_string());
            report.refuse("fit", error.to_string());
            return report;
        }
    };
    let mut subject = Subject { model, session, reference, report, draw, best, tests: Vec::new() };
    let point = subject.best.bestfit.clone();
    subject.reference.look_at(false, &point);
    if !subject.reference.negative_yield {
        free_fit(&mut subject);
    }
    // For such a model, the other checks are not meaningful.
    if subject.reference.negative_yield {
        let aside = subject.report.violations.len();
        if depth == Depth::Whole {
            tests::numbers(&mut subject);
        }
        subject.report.violations.drain(..aside);
        subject.report.negative_yield.push(Finding {
            property: "the free fit",
            numbers: "a bin with a negative expected yield".to_owned(),
            size: 0.0,
        });
        return subject.report;
    }
    far::products(&mut subject);
    if turn(0) || asked("MINOS") {
        intervals::minos(&mut subject);
    }
    if turn(1) || asked("uncertainty") {
        intervals::uncertainties(&mut subject);
    }
    if turn(1) || asked("scan") {
        intervals::scan(&mut subject);
    }
    let kinks = subject.model.interpolation.has_kinks();
    let of_large =
        |n: u64| depth != Depth::Part || free.len() <= QUICK_MODEL || turns.index.is_multiple_of(n);
    if turn(2) && of_large(4) {
        far::held(&mut subject);
    }
    if turn(3) && of_large(4) {
        far::sparse_scan(&mut subject);
        far::slope_zero(&mut subject);
    }
    if (turn(2) && (!kinks || of_large(4))) || asked("ranking") {
        intervals::ranking(&mut subject, if depth == Depth::Part { 3 } else { 20 }, asked("ranking"));
    }
    if many {
        tests::hypotest(&mut subject, turns);
    }
    if many && turn(3) {
        tests::significance(&mut subject);
    }
    if (many && of_large(if kinks { 4 } else { 2 })) || asked("limit") {
        tests::limit(&mut subject, turns);
    }
    let Subject { mut report, reference, .. } = subject;
    let negative_yield = reference.negative_yield;
    report.looked.extend(std::iter::repeat_n("the thorough search misses nothing", reference.n_fits));
    for missed in reference.missed {
        report.violations.push(Finding {
            property: "the thorough search misses nothing",
            size: missed.depth,
            numbers: format!(
                "{} with {} held ends {:.3e} above; lower point {:?}",
                if missed.asimov { "Asimov fit" } else { "fit" },
                missed
                    .held
                    .iter()
                    .map(|(i, x)| format!("{}={x}", model.parameters[*i].name))
                    .collect::<Vec<_>>()
                    .join(","),
                missed.depth,
                missed.point,
            ),
        });
    }
    if negative_yield {
        report.negative_yield = std::mem::take(&mut report.violations);
    }
    report
}

/// Checks that the free fit has converged, and that its `-ln L` is not above that of the thorough fit.
fn free_fit(s: &mut Subject<'_>) {
    let (nll, point) = (s.best.nll, s.best.bestfit.clone());
    s.report.check("the free fit converges", s.best.converged, 1.0, || s.best.termination_reason.clone());
    if s.best.converged {
        s.reference.learn(false, &[], nll, &point);
    }
    let lowest = s.held(&[], &[]);
    let above = nll - lowest;
    s.report.check("the free fit is not above the thorough one", above <= SAME + noise(nll), above, || {
        format!("by {above:.3e} in nll")
    });
}
