//! The stages of a toy-based test: fits of the observed data, then toys in a stream.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use ns_core::{
    Constraint, Control, Data, FitOutcome, FitRequest, FitTask, Model, OutcomeParts, Search, Session, Start,
};

use super::options::{check_number, fit_options, origin};
use super::statistic::{StatisticReader, needed};
use super::stream::{Steps, ToySequence, Toys, stream};
use super::{HypotestToysOptions, Hypothesis, RowSink, ToyHeader, ToyRow, ToyRun};
use crate::analysis::Analysis;
use crate::diagnosis;
use crate::hypotest::tester::Tester;
use crate::{InferenceError, TestStatistic};

const WITH_COVARIANCE: OutcomeParts = OutcomeParts { uncertainties: true, covariance: true };

/// A test whose observed fits are done: it knows its generating points and runs toys.
pub struct ToyTest<'a> {
    model: &'a Model,
    session: &'a dyn Session,
    header: ToyHeader,
    plan: Arc<TestPlan>,
    batch: Option<u64>,
}

/// A prepared test without its model and session, for callers that hold these themselves.
#[derive(Clone)]
pub struct ToyPlan {
    header: ToyHeader,
    plan: Arc<TestPlan>,
}

impl ToyPlan {
    /// The header of the toys.
    #[must_use]
    pub fn header(&self) -> &ToyHeader {
        &self.header
    }

    /// The test again, on the model and session (or others of the same model) that it was prepared with.
    #[must_use]
    pub fn attach<'a>(&self, model: &'a Model, session: &'a dyn Session) -> ToyTest<'a> {
        ToyTest { model, session, header: self.header.clone(), plan: Arc::clone(&self.plan), batch: None }
    }
}

/// How the toys of both hypotheses are drawn and fitted.
struct TestPlan {
    statistic: TestStatistic,
    bounds: (f64, f64),
    /// In the order of [`Hypothesis::BOTH`].
    toys: [(Hypothesis, Toys, FitRequest); 2],
}

impl<'a> ToyTest<'a> {
    /// Fits the observed data: the observed statistic and both generating points. Runs no toy.
    ///
    /// For q0 the tested value is 0 whatever `mu` says.
    ///
    /// # Errors
    /// As [`crate::hypotest()`]; for a number of toys that cannot be run; if toys cannot be drawn since a bin
    /// has a negative expected yield.
    pub fn prepare(
        model: &'a Model,
        session: &'a dyn Session,
        mu: f64,
        options: &HypotestToysOptions,
        control: Control<'_>,
    ) -> Result<Self, InferenceError> {
        check_number(options.n_toys)?;
        let silent = Control { observer: None, cancel: control.cancel };
        let analysis = Analysis::new(model, of_single_fits(session), &options.fit, silent)?;
        let mut tester = Tester::new(analysis, options.statistic, "a toy-based test", 2)?;
        let name = tester.name().to_owned();
        if !mu.is_finite() {
            return Err(InferenceError::NotFinite { what: "the tested value", name, value: mu });
        }
        let value = match options.statistic {
            TestStatistic::Q0 => {
                if mu != 0.0 {
                    tester.notes.push(format!("q0 tests {name} = 0, not {mu}"));
                }
                0.0
            }
            TestStatistic::Q | TestStatistic::Qtilde => mu,
        };
        tester.note_outside(value);
        let tested = tester.report(value)?;
        tester.judge_at(value);
        let point = |value: f64| tester.observed.at(value).map(|known| known.fit.parameters.clone());
        let (Some(point_b), Some(point_sb)) = (point(options.statistic.asimov_value()), point(value)) else {
            return Err(InferenceError::Cancelled);
        };
        let best = &tester.observed.best;
        let (seed, n_toys, shard) = (options.seed, options.n_toys, options.shard);
        let header = ToyHeader {
            origin: origin(&tester.analysis, seed, n_toys, shard, &best.parameters, &best.uncertainties),
            param: name,
            mu_test: value,
            test_stat: options.statistic.name().to_owned(),
            q_obs: tested.q,
            mu_hat_obs: tester.best_value(),
            poi_index: tester.poi,
            point_b,
            point_sb,
            converged: tester.converged,
            warnings: std::mem::take(&mut tester.notes),
        };
        let mut test = Self::from_header(model, session, header, control)?;
        test.batch = options.batch;
        Ok(test)
    }

    /// Continues a test whose observed fits were done before or on another machine. Its rows are the same, bit by bit.
    ///
    /// # Errors
    /// [`InferenceError::ForeignToys`] if the header is that of another model; if toys cannot be drawn; if
    /// the device fails or the caller stopped the work.
    pub fn from_header(
        model: &'a Model,
        session: &'a dyn Session,
        header: ToyHeader,
        control: Control<'_>,
    ) -> Result<Self, InferenceError> {
        let foreign = |what: &str, ours: String, theirs: String| {
            Err(InferenceError::ForeignToys { what: what.into(), ours, theirs })
        };
        let options = fit_options(model, &header.origin)?;
        check_number(header.origin.n_toys)?;
        let all = [TestStatistic::Qtilde, TestStatistic::Q, TestStatistic::Q0];
        let Some(statistic) = all.into_iter().find(|s| s.name() == header.test_stat) else {
            return foreign("the statistic", "qtilde, q or q0".into(), header.test_stat.clone());
        };
        let silent = Control { observer: None, cancel: control.cancel };
        let mut analysis = Analysis::new(model, of_single_fits(session), &options, silent)?;
        let poi = analysis.poi("a toy-based test")?;
        let parameter = model.parameters.get(poi);
        let name = parameter.map_or("", |p| p.name.as_str());
        if poi != header.poi_index || name != header.param {
            return foreign("the parameter of interest", name.to_owned(), header.param.clone());
        }
        let bounds = parameter.map_or((f64::NEG_INFINITY, f64::INFINITY), |p| p.bounds);
        let points = Hypothesis::BOTH.map(|hypothesis| header.point(hypothesis));
        let [of_b, of_sb] = requests(&mut analysis, statistic, poi, header.mu_test, points)?;
        let data = analysis.data;
        let plan = |hypothesis: Hypothesis, (fits, base)| -> Result<_, InferenceError> {
            let point = header.point(hypothesis);
            let source = session
                .toy_source(point, &data, header.origin.seed, hypothesis.number())
                .map_err(|error| diagnosis::expectation(model, "toys cannot be drawn", error))?;
            Ok((hypothesis, Toys { of: data.clone(), source, fits, wanted: OutcomeParts::default() }, base))
        };
        let [b, sb] = Hypothesis::BOTH;
        let toys = [plan(b, of_b)?, plan(sb, of_sb)?];
        let plan = Arc::new(TestPlan { statistic, bounds, toys });
        Ok(Self { model, session, header, plan, batch: None })
    }

    /// The header of the toys, to be stored with their rows.
    #[must_use]
    pub fn header(&self) -> &ToyHeader {
        &self.header
    }

    /// The prepared test, without model and session.
    #[must_use]
    pub fn plan(&self) -> ToyPlan {
        ToyPlan { header: self.header.clone(), plan: Arc::clone(&self.plan) }
    }

    /// The toys of this header's shard: the same range of both hypotheses.
    #[must_use]
    pub fn ranges(&self) -> Vec<(Hypothesis, Range<u64>)> {
        let range = self.header.origin.shard.range(self.header.origin.n_toys);
        Hypothesis::BOTH.into_iter().map(|hypothesis| (hypothesis, range.clone())).collect()
    }

    /// What the session is first asked for to make rows of these toys: the free fit (0) and the conditional
    /// one (1). For the study of single toys. Fits without a certificate are repeated before a row is made.
    #[must_use]
    pub fn task(&self, hypothesis: Hypothesis, range: Range<u64>) -> Option<FitTask> {
        let (_, toys, _) = self.plan.toys.iter().find(|(h, ..)| *h == hypothesis)?;
        Some(FitTask { data: toys.drawn(range), fits: toys.fits.clone() })
    }

    /// Sets how many toys go to the device at a time; results do not depend on it.
    pub fn set_batch(&mut self, batch: Option<u64>) {
        self.batch = batch;
    }

    /// Runs toys and hands their rows on as they get ready, in the order of the ranges; takes the same memory
    /// however many they are. Where the caller stops the work, the rows up to there have been handed on.
    ///
    /// # Errors
    /// If the device fails or the sink refuses rows.
    pub fn run(
        &self,
        ranges: &[(Hypothesis, Range<u64>)],
        control: Control<'_>,
        sink: &mut dyn RowSink,
    ) -> Result<ToyRun, InferenceError> {
        let started = Instant::now();
        let wanted: u64 = ranges.iter().map(|(_, r)| r.end.saturating_sub(r.start)).sum();
        let total = usize::try_from(wanted.saturating_mul(2)).unwrap_or(usize::MAX);
        let mut steps = Steps { control, done: 0, total };
        let readers: Vec<(&Toys, Range<u64>, StatisticReader<'_>)> = ranges
            .iter()
            .filter_map(|(hypothesis, range)| {
                let (_, toys, base) = self.plan.toys.iter().find(|(h, ..)| h == hypothesis)?;
                let reader = StatisticReader {
                    model: self.model,
                    hypothesis: *hypothesis,
                    statistic: self.plan.statistic,
                    poi: self.header.poi_index,
                    value: self.header.mu_test,
                    bounds: self.plan.bounds,
                    base: base.clone(),
                };
                Some((toys, range.clone(), reader))
            })
            .collect();
        let sequences: Vec<_> = readers
            .iter()
            .map(|(toys, range, reader)| ToySequence { toys, range: range.clone(), reader })
            .collect();
        let mut emit = |rows: &[ToyRow]| sink.rows(rows);
        let n_rows = stream(self.session, &sequences, self.batch, &mut steps, &mut emit)?;
        Ok(ToyRun { n_rows, interrupted: n_rows < wanted, wall_s: started.elapsed().as_secs_f64() })
    }
}

/// The session for the few fits before the toys, which wait for each other. The header is then the same, bit by bit,
/// whichever device the toys run on.
pub(crate) fn of_single_fits(session: &dyn Session) -> &dyn Session {
    session.cpu().unwrap_or(session)
}

/// The free and the conditional fit of a toy, and what both vary.
type Requests = (Vec<FitRequest>, FitRequest);

/// The requests of toys drawn at either of two `points`. The conditional fit starts where the toy's own free fit expects it.
fn requests(
    analysis: &mut Analysis<'_>,
    statistic: TestStatistic,
    poi: usize,
    value: f64,
    points: [&[f64]; 2],
) -> Result<[Requests; 2], InferenceError> {
    let [b, sb] = points;
    let model = analysis.model;
    let refused = |error| diagnosis::expectation(model, "toys cannot be drawn", error);
    let asimov = [b, sb].map(|point| analysis.session.asimov(point, &analysis.data).map_err(refused));
    let [of_b, of_sb] = asimov;
    let asimov = [of_b?, of_sb?];
    let bases = points.map(|point| free_base(analysis, point));
    // Both in one batch.
    let parents = [0, 1].map(|i| (asimov[i].clone(), free_parent(analysis, &bases[i], points[i])));
    let free_parents = parent_fits(analysis, parents)?;
    let parts = [0, 1].map(|i| {
        let parent = free_parents[i].as_ref();
        let free = FitRequest { metric: parent.and_then(|fit| fit.covariance.clone()), ..bases[i].clone() };
        let mut fixed = free.fixed.clone();
        fixed.retain(|(i, _)| *i != poi);
        fixed.insert(0, (poi, value));
        let predicted = match parent {
            Some(fit) => analysis.predict(fit, &[(poi, value)]),
            None => points[i].to_vec(),
        };
        let start = Start::At(Arc::from(predicted));
        let conditional = FitRequest { start, fixed, search: Search::Local, ..free.clone() };
        (free, conditional, parent.and_then(|fit| slope(fit, poi)))
    });
    let parents = [0, 1].map(|i| (asimov[i].clone(), parts[i].1.clone()));
    let mut conditional_parents = parent_fits(analysis, parents)?.into_iter();
    Ok(parts.map(|(free, parent, direction)| {
        let base = FitRequest { metric: None, ..free.clone() };
        let conditional = FitRequest {
            start: direction.map_or(Start::Earlier(0), |direction| Start::Along(0, direction)),
            metric: conditional_parents.next().flatten().and_then(|fit| fit.covariance),
            search: base.search,
            only_if: Some(needed(statistic, poi, value)),
            ..parent
        };
        (vec![free, conditional], base)
    }))
}

/// How all parameters follow one: its row of the covariance.
fn slope(fit: &FitOutcome, poi: usize) -> Option<Arc<[f64]>> {
    let covariance = fit.covariance.as_ref()?;
    let row: Vec<f64> = (0..covariance.n).map(|i| covariance.get(poi, i)).collect();
    let usable = row.get(poi).is_some_and(|c| *c > 0.0) && row.iter().all(|c| c.is_finite());
    usable.then(|| Arc::from(row))
}

/// The free fit of a toy drawn at `point`. It starts there, with the curvature that the data expected there
/// have, which is nearer to that of toys than the observed data's. Also the fit of the expected data.
pub(super) fn free_request(
    analysis: &mut Analysis<'_>,
    asimov: &Data,
    point: &[f64],
) -> Result<(FitRequest, Option<FitOutcome>), InferenceError> {
    let base = free_base(analysis, point);
    let parent = free_parent(analysis, &base, point);
    let [parent] = parent_fits(analysis, [(asimov.clone(), parent)])?;
    let metric = parent.as_ref().and_then(|fit| fit.covariance.clone());
    Ok((FitRequest { metric, ..base }, parent))
}

/// The free fit of a toy drawn at `point`, as long as no curvature is known.
fn free_base(analysis: &Analysis<'_>, point: &[f64]) -> FitRequest {
    let (start, search) = (Start::At(Arc::from(point)), analysis.nearby_search());
    FitRequest { start, search, metric: None, ..analysis.base.clone() }
}

/// The fit of the data expected at `point`.
fn free_parent(analysis: &Analysis<'_>, base: &FitRequest, point: &[f64]) -> FitRequest {
    let mut parent = FitRequest { search: Search::Local, ..base.clone() };
    for (i, (x, p)) in point.iter().zip(&analysis.model.parameters).enumerate() {
        // At a bound a parameter would have no covariance.
        let (lower, upper) = p.bounds;
        if matches!(p.constraint, Constraint::None) && !(lower < *x && *x < upper) && lower < upper {
            let room = 1.0 + x.abs();
            parent.bounds.push((i, (lower.min(x - room), upper.max(x + room))));
        }
    }
    parent
}

/// Runs fits whose covariances are optional: a failure is ignored.
fn parent_fits<const N: usize>(
    analysis: &mut Analysis<'_>,
    jobs: [(Data, FitRequest); N],
) -> Result<[Option<FitOutcome>; N], InferenceError> {
    let tasks = jobs.map(|(data, request)| FitTask { data, fits: vec![request] });
    let mut fits = analysis.run(&tasks, WITH_COVARIANCE)?.into_iter();
    if analysis.is_cancelled() {
        return Err(InferenceError::Cancelled);
    }
    Ok([(); N].map(|()| fits.next().and_then(Result::ok).filter(FitOutcome::converged)))
}
