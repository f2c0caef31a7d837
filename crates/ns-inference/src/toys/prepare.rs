//! Prepares the toys of a hypothesis test. Fits the observed data, and builds the requests of the fits of each toy.

use std::sync::Arc;

use ns_core::{
    Constraint, Control, Data, FitOutcome, FitRequest, FitTask, Model, OutcomeParts, Search, Session, Start,
};

use super::options::{check_number, origin};
use super::run::Prepare;
use super::statistic::{StatisticReader, needed};
use super::stream::Toys;
use super::{HypotestToysOptions, Hypothesis, ToyHeader, ToyRow, ToyTest};
use crate::analysis::{Analysis, WITH_INVERSE};
use crate::diagnosis;
use crate::hypotest::begin;
use crate::single_fits::of_single_fits;
use crate::{InferenceError, TestStatistic};

impl<'a> ToyTest<'a> {
    /// Fits the observed data. The fits give the observed statistic and the generating points of both hypotheses, i.e.
    /// the parameters at which toys are drawn. No toy is run.
    ///
    /// The statistic q0 tests the value 0 and ignores `mu`.
    ///
    /// # Errors
    /// The errors of [`crate::hypotest()`]. Also for an invalid number of toys, and if toys cannot be drawn because a
    /// bin has a negative expected yield.
    pub fn prepare(
        model: &'a Model,
        session: &'a dyn Session,
        mu: f64,
        options: &HypotestToysOptions,
        control: Control<'_>,
    ) -> Result<Self, InferenceError> {
        check_number(options.n_toys)?;
        let silent = Control { observer: None, cancel: control.cancel, task: None };
        let analysis = Analysis::new(model, of_single_fits(session), &options.fit, silent)?;
        let (mut tester, tested) = begin(analysis, options.statistic, mu, "a toy-based test")?;
        let value = tested.value;
        let point = |value: f64| tester.observed.at(value).map(|known| known.fit.parameters.clone());
        let (Some(point_b), Some(point_sb)) = (point(options.statistic.asimov_value()), point(value)) else {
            return Err(InferenceError::Cancelled);
        };
        let best = &tester.observed.best;
        let (seed, n_toys, shard) = (options.seed, options.n_toys, options.shard);
        let header = ToyHeader {
            origin: origin(&tester.analysis, seed, n_toys, shard, &best.parameters, &best.uncertainties),
            param: tester.name().to_owned(),
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
        Ok(Self::from_header(model, session, header, control)?.batch(options.batch))
    }
}

impl Prepare for ToyRow {
    type Reader = StatisticReader;
    type Head = ToyHeader;

    fn prepared(
        analysis: &mut Analysis<'_>,
        session: &dyn Session,
        header: &ToyHeader,
    ) -> Result<Vec<(Toys, StatisticReader)>, InferenceError> {
        let foreign = |what: &str, ours: String, theirs: String| {
            Err(InferenceError::ForeignToys { what: what.into(), ours, theirs })
        };
        let model = analysis.model;
        let all = [TestStatistic::Qtilde, TestStatistic::Q, TestStatistic::Q0];
        let Some(statistic) = all.into_iter().find(|s| s.name() == header.test_stat) else {
            return foreign("the statistic", "qtilde, q or q0".into(), header.test_stat.clone());
        };
        let poi = analysis.poi("a toy-based test")?;
        let parameter = model.parameters.get(poi);
        let name = parameter.map_or("", |p| p.name.as_str());
        if poi != header.poi_index || name != header.param {
            return foreign("the parameter of interest", name.to_owned(), header.param.clone());
        }
        let bounds = parameter.map_or((f64::NEG_INFINITY, f64::INFINITY), |p| p.bounds);
        let (value, points) = (header.mu_test, Hypothesis::BOTH.map(|hypothesis| header.point(hypothesis)));
        let requests = requests(analysis, statistic, poi, value, points)?;
        let series = Hypothesis::BOTH.into_iter().zip(requests).map(|(hypothesis, (fits, base))| {
            let source = session
                .toy_source(header.point(hypothesis), &analysis.data, header.origin.seed, hypothesis.number())
                .map_err(|error| diagnosis::expectation(model, "toys cannot be drawn", error))?;
            let toys = Toys { of: analysis.data.clone(), source, fits, wanted: OutcomeParts::default() };
            Ok((toys, StatisticReader { hypothesis, statistic, poi, value, bounds, base }))
        });
        series.collect()
    }
}

/// The requests of the two fits of a toy (first the free fit, then the conditional fit), and the base request from
/// which both are derived.
type Requests = (Vec<FitRequest>, FitRequest);

/// Builds the fit requests for the toys of both hypotheses, which are drawn at the two `points`. The conditional fit of
/// a toy starts at a point that is predicted from the free fit of the same toy.
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
    // The fits to the Asimov data of both points are made in one batch.
    let parents = [0, 1].map(|i| (asimov[i].clone(), free_parent(analysis, &bases[i], points[i])));
    let free_parents = parent_fits(analysis, parents)?;
    let parts = [0, 1].map(|i| {
        let parent = free_parents[i].as_ref();
        let free = FitRequest { metric: parent.and_then(FitOutcome::inverse_hessian), ..bases[i].clone() };
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
            metric: conditional_parents.next().flatten().and_then(|fit| fit.inverse_hessian()),
            search: base.search,
            only_if: Some(needed(statistic, poi, value)),
            ..parent
        };
        (vec![free, conditional], base)
    }))
}

/// Returns the row of the parameter of interest in the covariance matrix. If the parameter of interest is moved, the
/// minimum over the other parameters moves in the direction of this row. Returns `None` if the fit has no such row.
fn slope(fit: &FitOutcome, poi: usize) -> Option<Arc<[f64]>> {
    let inverse = fit.inverse_hessian()?;
    let row = inverse.row(poi)?;
    let usable = row.get(poi).is_some_and(|c| *c > 0.0) && row.iter().all(|c| c.is_finite());
    usable.then(|| Arc::from(&*row))
}

/// Builds the request of the free fit of toys drawn at the parameters `point`. The optimiser begins with the covariance
/// of a fit to the expected data `asimov`, which is more accurate for toys than the covariance of the fit to the
/// observed data. Also returns the fit to the expected data; `None` if this fit did not converge.
pub(super) fn free_request(
    analysis: &mut Analysis<'_>,
    asimov: &Data,
    point: &[f64],
) -> Result<(FitRequest, Option<FitOutcome>), InferenceError> {
    let base = free_base(analysis, point);
    let parent = free_parent(analysis, &base, point);
    let [parent] = parent_fits(analysis, [(asimov.clone(), parent)])?;
    let metric = parent.as_ref().and_then(FitOutcome::inverse_hessian);
    Ok((FitRequest { metric, ..base }, parent))
}

/// Builds the request of the free fit of toys drawn at the parameters `point`, still without the inverse Hessian of a
/// similar fit (the field `metric`).
///
/// With [`Search::Standard`], fits of toys of smooth models are descents in SIMD lanes (several fits computed at once)
/// or on the GPU. If the model can have several minima, there are also descents from further starting points. With
/// [`Search::Local`] there are no further starting points. With [`Search::Thorough`], the scalar optimiser (one fit at
/// a time) searches for the global minimum of every toy.
fn free_base(analysis: &Analysis<'_>, point: &[f64]) -> FitRequest {
    let (start, asked) = (Start::At(Arc::from(point)), analysis.base.search);
    let search = if asked == Search::Thorough { asked } else { analysis.nearby_search() };
    let single_descent = asked == Search::Local;
    FitRequest { start, search, single_descent, metric: None, ..analysis.base.clone() }
}

/// Builds the request of the parent fit, which is the fit to the data expected at the parameters `point`. The fits of
/// toys begin with the covariance of the parent fit. If an unconstrained parameter is at a bound, the bounds of this
/// parameter are widened in the parent fit.
fn free_parent(analysis: &Analysis<'_>, base: &FitRequest, point: &[f64]) -> FitRequest {
    let mut parent = FitRequest { search: Search::Local, ..base.clone() };
    for (i, (x, p)) in point.iter().zip(&analysis.model.parameters).enumerate() {
        // A parameter at a bound would have no covariance.
        let (lower, upper) = p.bounds;
        if matches!(p.constraint, Constraint::None) && !(lower < *x && *x < upper) && lower < upper {
            let room = 1.0 + x.abs();
            parent.bounds.push((i, (lower.min(x - room), upper.max(x + room))));
        }
    }
    parent
}

/// Makes the parent fits, i.e. fits to expected data whose covariances are used by the fits of toys. A result is `None`
/// if its fit did not converge.
pub(super) fn parent_fits<const N: usize>(
    analysis: &mut Analysis<'_>,
    jobs: [(Data, FitRequest); N],
) -> Result<[Option<FitOutcome>; N], InferenceError> {
    let tasks = jobs.map(|(data, request)| FitTask { data, fits: vec![request], cancel: None });
    let mut fits = analysis.run(&tasks, WITH_INVERSE)?.into_iter();
    if analysis.is_cancelled() {
        return Err(InferenceError::Cancelled);
    }
    Ok([(); N].map(|()| fits.next().and_then(Result::ok).filter(FitOutcome::converged)))
}
