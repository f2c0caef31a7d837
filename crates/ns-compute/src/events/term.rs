//! The terms of `-ln L` that belong to event channels and penalties. The terms of bins and of ordinary constraints are
//! computed elsewhere.

use std::sync::Arc;

use ns_core::{
    EventModelError, EventTable, JointSource, LogProbError, Model, Penalty, PenaltyForm, SessionError,
};

use super::asimov::{GridOf, weighted_grid};
use super::chain::Derivatives;
use super::channel::ChannelPlan;
use super::channel_sum::{ChannelMemory, differentiate, prepare_channel, sum_channel, sum_elsewhere};
use super::correlation::CorrelationPlan;
use super::crew::Crew;
use super::grid::Point;
use super::offload::{ChannelSums, Offload};
use super::program::Memory;
use super::sources::{AtStart, FormulaPlan, FunctionMemory, Functions, Local};
use super::sums::triangle;
use super::total::{Wall, is_negative, total};
use crate::simd::Level;

/// The event channels, penalties and functions of a compiled model.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventPlan {
    pub(super) functions: Functions,
    pub(super) channels: Vec<ChannelPlan>,
    penalties: Vec<FormulaPlan>,
    correlations: Vec<CorrelationPlan>,
    /// Auxiliary data that are correlated, for toys.
    pub(crate) joint: Vec<JointSource>,
    /// Indices of the parameters for which the terms have a kink at 0, in ascending order.
    kinks: Vec<usize>,
    /// Indices of the parameters that move a jump of a density, in ascending order.
    jumps: Vec<usize>,
    /// Auxiliary data of penalty terms. Each element contains the index of the datum, the formula of its expected
    /// value, and the formula of its width. The last is `None` for a datum that is a count.
    pub(super) expected: Vec<(usize, FormulaPlan, Option<FormulaPlan>)>,
}

impl EventPlan {
    /// Compiles the functions, event channels and penalty terms of a model.
    ///
    /// # Errors
    /// If an index or a length is wrong, or a density cannot be normalised.
    pub(crate) fn new(model: &Model) -> Result<Self, EventModelError> {
        model.check_events()?;
        let functions = Functions::new(&model.functions);
        let start =
            AtStart::new(Level::detect(), &functions, model.parameters.iter().map(|p| p.init).collect());
        let channels = model
            .event_channels
            .iter()
            .map(|channel| ChannelPlan::new(channel, &start))
            .collect::<Result<_, _>>()?;
        let formulas = model.penalties.iter().filter(|penalty| penalty.form.correlations().is_none());
        let penalties = formulas.map(|penalty| FormulaPlan::penalty(&functions.plans, penalty)).collect();
        let correlations = model.correlations().map(|own| CorrelationPlan::new(model, own)).collect();
        let expectation = |penalty: &Penalty| {
            let datum = penalty.form.datum()?;
            let width = match penalty.form {
                PenaltyForm::Gaussian { sigma, .. } | PenaltyForm::Lognormal { sigma, .. } => {
                    Some(FormulaPlan::value(&functions.plans, sigma))
                }
                PenaltyForm::Poisson { .. } | PenaltyForm::Gamma { .. } | PenaltyForm::Correlated(_) => None,
            };
            Some((datum, FormulaPlan::expected(&functions.plans, penalty), width))
        };
        let expected = model.penalties.iter().filter_map(expectation).collect();
        let mut jumps: Vec<usize> =
            model.density_jumps().into_iter().flat_map(|jump| jump.parameters).collect();
        jumps.sort_unstable();
        jumps.dedup();
        Ok(Self {
            functions,
            channels,
            penalties,
            correlations,
            joint: model.joint_sources(),
            kinks: model.event_kinks(),
            jumps,
            expected,
        })
    }

    /// Returns whether the model has neither event channels nor penalty terms.
    pub(crate) fn is_empty(&self) -> bool {
        self.channels.is_empty() && self.penalties.is_empty() && self.correlations.is_empty()
    }

    /// Returns whether the model has event channels or penalty terms that are formulas. Only without them the saturated model has
    /// a finite `-ln L`, and SIMD lanes make the fits of toys.
    pub(crate) fn has_formulas(&self) -> bool {
        !(self.channels.is_empty() && self.penalties.is_empty())
    }

    /// Returns the correlations between the constraints of parameters.
    pub(crate) fn correlations(&self) -> &[CorrelationPlan] {
        &self.correlations
    }

    /// Returns the part of `-ln L` of the saturated model that belongs to correlations.
    pub(crate) fn saturated(&self) -> f64 {
        self.correlations.iter().map(|own| own.constant).sum()
    }

    /// Returns the indices of the parameters for which the terms have a kink at 0, in ascending order.
    pub(crate) fn kinks(&self) -> &[usize] {
        &self.kinks
    }

    /// Returns the indices of the parameters that move a jump of a density, in ascending order.
    pub(crate) fn jumps(&self) -> &[usize] {
        &self.jumps
    }

    /// Returns the index of the process whose density needs an integral, and the observables of the integral.
    pub(crate) fn place_of(&self, channel: usize, integral: usize) -> (usize, Vec<usize>) {
        let integral = self.channels.get(channel).and_then(|channel| channel.integrals.get(integral));
        integral.map(|integral| (integral.process, integral.observables.clone())).unwrap_or_default()
    }

    /// Returns whether the data of a channel are a histogram.
    pub(crate) fn is_binned(&self, channel: usize) -> bool {
        self.channels.get(channel).is_some_and(|channel| channel.binning.is_some())
    }

    /// Returns the lower and the upper end of the observable's axis, for a channel whose events have one column and are
    /// not a histogram. Returns `None` for all other channels.
    pub(crate) fn line(&self, channel: usize) -> Option<(f64, f64)> {
        let channel = self.channels.get(channel).filter(|c| c.columns() == 1 && c.binning.is_none())?;
        let ends = channel.boxes.iter().flatten();
        let (low, high) =
            ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &(low, high)| (a.min(low), b.max(high)));
        (low < high).then_some((low, high))
    }

    /// Returns whether the number of expected events of a channel depends on parameters.
    pub(crate) fn has_totals(&self) -> bool {
        self.channels.iter().any(|channel| !channel.rates.is_empty() || channel.total.is_some())
    }

    /// Returns the indices of the parameters on which the shapes of densities depend, in ascending order.
    pub(crate) fn shape_parameters(&self) -> Vec<usize> {
        let of = |channel: &ChannelPlan| -> Vec<usize> {
            let locals = channel.leaves.iter().flat_map(|leaf| &leaf.variables);
            let positions = locals.flat_map(|&local| &channel.locals[local].positions);
            positions.map(|&position| channel.parameters[position]).collect()
        };
        let mut found: Vec<usize> = self.channels.iter().flat_map(of).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns whether a penalty term depends on a parameter.
    pub(crate) fn is_constrained(&self, parameter: usize) -> bool {
        self.penalties.iter().any(|penalty| penalty.parameters.contains(&parameter))
    }

    /// Returns the number of event channels.
    pub(crate) fn n_channels(&self) -> usize {
        self.channels.len()
    }

    /// Returns whether the model has event channels.
    pub(crate) fn has_channels(&self) -> bool {
        !self.channels.is_empty()
    }

    /// Checks that every event channel has a table with the right number of columns, and that all numbers in the tables
    /// are allowed.
    ///
    /// # Errors
    /// If a length is wrong, or a number is not finite.
    pub(crate) fn check_tables(&self, tables: &[Arc<EventTable>]) -> Result<(), SessionError> {
        let length = |what, actual, expected| {
            if actual == expected {
                Ok(())
            } else {
                Err(SessionError::WrongLength { what, actual, expected })
            }
        };
        length("list of event tables", tables.len(), self.channels.len())?;
        for (channel, table) in self.channels.iter().zip(tables) {
            length("list of columns of events", table.columns.len(), channel.columns())?;
            for (place, column) in table.columns.iter().chain(&table.weights).enumerate() {
                length("column of events", column.len(), table.len())?;
                // A log-density may be minus infinity, because the density of an event may be 0.
                let is_log = (channel.observables..channel.columns()).contains(&place);
                let is_good = |x: f64| x.is_finite() || (is_log && x == f64::NEG_INFINITY);
                if let Some(index) = column.iter().position(|&x| !is_good(x)) {
                    let (what, value) = ("column of events", column[index]);
                    let remedy = "observables and weights are finite";
                    return Err(SessionError::BadNumber { what, index, value, remedy });
                }
            }
        }
        Ok(())
    }

    /// Returns for each event channel the description from which another device can compute it. The element is `None`
    /// if the channel uses functions for which other devices have no code.
    pub(crate) fn offloads(&self) -> Vec<Option<Offload>> {
        self.channels.iter().map(Offload::new).collect()
    }

    /// Iterates over the terms: event channels, then penalty terms that are formulas, then correlations. Each element contains the indices of
    /// the parameters on which the term depends.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &[usize]> {
        let channels = self.channels.iter().map(|channel| channel.parameters.as_slice());
        let penalties = self.penalties.iter().map(|penalty| penalty.parameters.as_slice());
        channels.chain(penalties).chain(self.correlations.iter().map(|own| own.parameters.as_slice()))
    }
}

/// Values and derivatives of all terms at one point, with the memory for their evaluation.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventScratch {
    pub(super) functions: FunctionMemory,
    pub(super) channels: Vec<ChannelMemory>,
    penalties: Vec<Memory>,
    /// Derivatives of each term with respect to the parameters on which it depends. The terms are in the order of
    /// [`EventPlan::parameters`].
    pub(crate) terms: Vec<Derivatives>,
    /// Index of the channel and index of the event for the first density that is not positive or not finite; `None` if
    /// there is no such event.
    pub(crate) bad: Option<(usize, usize)>,
    /// Index of the first channel in which a density with context (a density that also depends on values of the
    /// channel) cannot be evaluated or normalised at this point, with the reason.
    pub(crate) failure: Option<(usize, LogProbError)>,
    /// Index of the channel and index of the integral for the first integral that is infinite; `None` if there is none.
    pub(crate) infinite: Option<(usize, usize)>,
    /// Index of the first channel whose expected number of events is negative at this point; `None` if there is no such
    /// channel.
    pub(crate) negative: Option<usize>,
    /// If this is not `None`, an expected number of events may be negative, and one element per channel says how much
    /// that adds to `-ln L`.
    walls: Option<Vec<Wall>>,
    /// Whether the last results depend on `walls`.
    touched: bool,
    /// If this is positive, `-ln L` is also finite where densities of events are not positive (see [`sum_channel`]).
    floor: f64,
    /// If this is given, points at which far more events than this number are outliers count as impossible.
    caution: Option<usize>,
    /// Parameters whose value is at a kink. Each element contains the index of the parameter, and half the jump of the
    /// derivative of `-ln L` across the kink.
    pub(crate) jumps: Vec<(usize, f64)>,
    /// For each element of `jumps`, half the jumps of the second derivatives of `-ln L` with respect to its parameter and
    /// each parameter of the model.
    bend_jumps: Vec<f64>,
    /// Working memory for a point just above all kinks: parameters whose value is at a kink (0) are moved to a tiny
    /// positive value.
    beside: Vec<f64>,
    /// Threads that evaluate the events together. `None` means that only the calling thread evaluates the events.
    pub(crate) crew: Option<Crew>,
    /// Device that computes sums over events; `None` if the CPU computes them.
    pub(crate) elsewhere: Option<Arc<dyn ChannelSums>>,
    last: Last,
}

/// Point, data and results of the last evaluation. If the point and the data are the same again, the results are
/// reused.
#[derive(Debug, Clone, Default)]
struct Last {
    theta: Vec<f64>,
    aux: Vec<f64>,
    tables: Vec<Arc<EventTable>>,
    values: EventValues,
}

impl Last {
    fn is(&self, theta: &[f64], aux: &[f64], tables: &[Arc<EventTable>]) -> bool {
        self.theta == theta
            && self.aux == aux
            && self.tables.len() == tables.len()
            && self.tables.iter().zip(tables).all(|(a, b)| Arc::ptr_eq(a, b))
    }
}

impl EventScratch {
    /// Allocates the memory for evaluations of all terms.
    pub(crate) fn new(plan: &EventPlan) -> Self {
        Self {
            functions: plan.functions.memory(),
            channels: plan.channels.iter().map(ChannelMemory::new).collect(),
            penalties: plan.penalties.iter().map(FormulaPlan::memory).collect(),
            terms: plan.parameters().map(|parameters| Derivatives::new(parameters.len())).collect(),
            bad: None,
            failure: None,
            infinite: None,
            negative: None,
            walls: None,
            touched: false,
            floor: 0.0,
            caution: None,
            jumps: Vec::with_capacity(plan.kinks.len()),
            bend_jumps: Vec::new(),
            beside: Vec::new(),
            crew: None,
            elsewhere: None,
            last: Last::default(),
        }
    }

    /// Sets the density, relative to the mean density, below which a parabola continues the terms of events. With 0, a
    /// density that is not positive makes the point impossible.
    pub(crate) fn set_floor(&mut self, floor: f64) {
        if self.floor != floor && self.bad.is_some() {
            self.forget();
        }
        self.floor = floor;
    }

    /// Sets the caution of the next evaluations. Events whose density is not well within the range of doubles (outliers)
    /// take a hundred times longer than others. If `caution` is given, a point at which far more events than this number are
    /// outliers counts as impossible.
    pub(crate) fn set_caution(&mut self, caution: Option<usize>) {
        if self.caution != caution && self.bad.is_some() {
            self.forget();
        }
        self.caution = caution;
    }

    /// Returns the number of events whose density is not well within the range of doubles at the last point.
    pub(crate) fn outliers(&self) -> usize {
        self.channels.iter().map(|memory| memory.sums.outliers).sum()
    }

    /// Sets what negative expected numbers of events add to `-ln L`, one element per channel. With `None`, they make
    /// the point impossible.
    pub(crate) fn set_walls(&mut self, walls: Option<Vec<Wall>>) {
        // Most walls have no effect at the last point, whose results then stay valid.
        if self.touched || walls.iter().flatten().any(|wall| wall.multiplier > 0.0) {
            self.forget();
        }
        self.walls = walls;
    }

    /// Returns the expected number of events of each extended channel at the last point, and 0 for all other channels.
    pub(crate) fn totals(&self, plan: &EventPlan) -> Vec<f64> {
        plan.channels.iter().zip(&self.channels).map(|(plan, own)| total(plan, own)).collect()
    }

    /// Returns the extended channels whose expected number of events is 0 at the last point.
    pub(crate) fn empty(&self, plan: &EventPlan) -> Vec<usize> {
        let is_held = |c: usize| self.walls.as_ref().is_some_and(|walls| walls[c].multiplier > 0.0);
        let all = plan.channels.iter().zip(self.totals(plan)).enumerate();
        all.filter(|(c, (channel, total))| channel.extended && (*total <= 0.0 || is_held(*c)))
            .map(|(c, _)| c)
            .collect()
    }

    /// Returns the derivatives of the expected number of events of a channel at the last point, with respect to all
    /// `n` parameters of the model.
    pub(crate) fn total_gradient(&self, plan: &EventPlan, channel: usize, n: usize) -> Vec<f64> {
        let mut gradient = vec![0.0; n];
        let Some(own) = plan.channels.get(channel) else { return gradient };
        let mut add = |local: &Local, by: f64| match local.parameter {
            Some(p) => gradient[p] += by,
            None => {
                let result = plan.functions.result(local.function, &self.functions);
                for (slope, &position) in result[1..].iter().zip(&local.positions) {
                    gradient[own.parameters[position]] += by * slope;
                }
            }
        };
        own.rates.iter().for_each(|&rate| add(&own.locals[rate], 1.0));
        if let Some(result) = self.channels.get(channel).and_then(|memory| memory.total(own)) {
            own.locals.iter().zip(&result[1..]).for_each(|(local, &by)| add(local, by));
        }
        gradient
    }

    /// Returns whether an amplitude or integral is not well within the range of doubles at the last point.
    pub(crate) fn is_wide(&self) -> bool {
        self.channels.iter().any(ChannelMemory::is_wide)
    }

    /// Returns half the jumps of the second derivatives of `-ln L` at the kink of parameter `p`, with respect to `p` and
    /// each parameter of the model. Returns an empty slice if the last point was not on this kink.
    pub(crate) fn bend_jumps(&self, p: usize) -> &[f64] {
        let n = self.last.theta.len();
        let place = self.jumps.iter().position(|(other, _)| *other == p);
        place.and_then(|k| self.bend_jumps.get(k * n..(k + 1) * n)).unwrap_or_default()
    }

    /// Forgets the last evaluation, so that the next evaluation does not reuse its results.
    pub(super) fn forget(&mut self) {
        self.last.theta.clear();
        self.last.tables.clear();
        self.jumps.clear();
    }
}

/// Sums of the values of the terms at one point.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EventValues {
    /// Sum of the terms of event channels. It is infinite if the density at an event is not positive.
    pub(crate) events: f64,
    /// Sum of the penalty terms.
    pub(crate) penalties: f64,
    /// Sum of the absolute values of all terms. The rounding errors of the other sums are proportional to this number.
    pub(crate) scale: f64,
}

/// Evaluates all terms and their derivatives at `theta`. `tables` has one table per event channel. For a parameter at a
/// kink, the derivative is the mean of the derivatives on both sides, and `scratch.jumps` contains half the difference
/// of these two derivatives.
pub(crate) fn evaluate(
    level: Level,
    plan: &EventPlan,
    theta: &[f64],
    aux: &[f64],
    tables: &[Arc<EventTable>],
    scratch: &mut EventScratch,
) -> EventValues {
    if scratch.last.is(theta, aux, tables) {
        return scratch.last.values;
    }
    scratch.jumps.clear();
    scratch.jumps.extend(plan.kinks.iter().filter(|&&p| theta[p] == 0.0).map(|&p| (p, 0.0)));
    if !scratch.jumps.is_empty() {
        scratch.bend_jumps.clear();
        scratch.bend_jumps.resize(scratch.jumps.len() * theta.len(), 0.0);
        // This point is just above all kinks. Only the derivatives with respect to parameters at kinks differ there.
        let mut beside = std::mem::take(&mut scratch.beside);
        beside.clear();
        beside.extend_from_slice(theta);
        for &(p, _) in &scratch.jumps {
            beside[p] = f64::MIN_POSITIVE;
        }
        evaluate_once(level, plan, (&beside, aux), tables, None, scratch);
        scratch.beside = beside;
        add_slopes(plan, scratch, 1.0);
    }
    let values = evaluate_once(level, plan, (theta, aux), tables, None, scratch);
    add_slopes(plan, scratch, -1.0);
    let last = &mut scratch.last;
    last.theta.clear();
    last.theta.extend_from_slice(theta);
    last.aux.clear();
    last.aux.extend_from_slice(aux);
    last.tables.clear();
    last.tables.extend(tables.iter().cloned());
    last.values = values;
    values
}

/// For each parameter at a kink, adds the first and second derivatives with respect to this parameter, multiplied by
/// `sign`, to the parameter's elements of `scratch.jumps` and `scratch.bend_jumps`.
fn add_slopes(plan: &EventPlan, scratch: &mut EventScratch, sign: f64) {
    let EventScratch { jumps, bend_jumps, terms, .. } = scratch;
    let n = bend_jumps.len() / jumps.len().max(1);
    for ((p, jump), bends) in jumps.iter_mut().zip(bend_jumps.chunks_exact_mut(n.max(1))) {
        for (parameters, term) in plan.parameters().zip(terms.iter()) {
            if let Ok(i) = parameters.binary_search(p) {
                *jump += sign * term.gradient[i];
                for (j, &q) in parameters.iter().enumerate() {
                    let at = triangle(i, j);
                    bends[q] += sign * (term.squares[at] + term.bends[at]);
                }
            }
        }
    }
}

/// Evaluates all terms and their derivatives, without special treatment of kinks. The rates (expected numbers of
/// events) of channel `c` are multiplied by `factors[c]`, or by 1 if `factors` is `None`.
pub(super) fn evaluate_once(
    level: Level,
    plan: &EventPlan,
    (theta, aux): (&[f64], &[f64]),
    tables: &[Arc<EventTable>],
    factors: Option<&[f64]>,
    scratch: &mut EventScratch,
) -> EventValues {
    let EventScratch {
        functions,
        channels,
        penalties,
        terms,
        bad,
        failure,
        infinite,
        negative,
        walls,
        touched,
        floor,
        caution,
        crew,
        elsewhere,
        ..
    } = scratch;
    let mut values = EventValues::default();
    (*bad, *failure, *infinite) = (None, None, None);
    (*negative, *touched) = (None, false);
    plan.functions.evaluate(level, theta, functions);
    for term in terms.iter_mut() {
        term.clear();
    }
    let (of_channels, of_penalties) = terms.split_at_mut(plan.channels.len());
    for (c, (channel, memory)) in plan.channels.iter().zip(channels).enumerate() {
        prepare_channel(level, (&plan.functions, functions), channel, theta, memory);
        let is_summed = elsewhere
            .as_deref()
            .is_some_and(|there| sum_elsewhere(level, there, (c, channel), &tables[c], memory));
        if !is_summed {
            sum_channel(level, channel, &tables[c], memory, (*floor, *caution), crew.as_ref());
            values.scale += rounding(channel, &tables[c]);
        }
        if let Some(cause) = memory.failure.take() {
            failure.get_or_insert((c, cause));
        }
        if let Some(event) = memory.sums.bad {
            *bad = bad.or(Some((c, event)));
        }
        if let Some(integral) = memory.infinite {
            *infinite = infinite.or(Some((c, integral)));
        }
        let rate = total(channel, memory);
        let factor = factors.map_or(1.0, |factors| factors[c]);
        values.events += memory.sums.value + factor * rate;
        values.scale += memory.sums.scale + rate.abs();
        let wall = walls.as_ref().map_or([0.0; 3], |walls| walls[c].at(rate));
        *touched |= wall[0] != 0.0 || (channel.extended && rate < 0.0);
        values.events += wall[0];
        if walls.is_none() && is_negative(channel, memory) {
            negative.get_or_insert(c);
        }
        let slopes = (factor + wall[1], wall[2]);
        differentiate((&plan.functions, functions), channel, memory, slopes, &mut of_channels[c]);
    }
    let forbidden = bad.is_some() && *floor == 0.0;
    if forbidden || failure.is_some() || infinite.is_some() || negative.is_some() || values.events.is_nan() {
        values.events = f64::INFINITY;
    }
    let (of_penalties, of_correlations) = of_penalties.split_at_mut(plan.penalties.len());
    for (own, term) in plan.correlations.iter().zip(of_correlations) {
        let (value, scale) = own.evaluate(theta, aux, term);
        values.penalties += value;
        values.scale += scale;
    }
    for ((penalty, memory), term) in plan.penalties.iter().zip(penalties).zip(of_penalties) {
        let result = plan.functions.penalty(level, penalty, theta, aux, functions, memory);
        let d = penalty.parameters.len();
        values.penalties += result[0];
        values.scale += result[0].abs();
        term.gradient.copy_from_slice(&result[1..=d]);
        term.bends.copy_from_slice(&result[1 + d..]);
        // If a penalty depends on a single parameter and its second derivative is positive, the second derivative
        // belongs to the part of the Hessian that is positive semi-definite.
        for i in 0..d {
            let at = triangle(i, i);
            if term.bends[at] > 0.0 && d == 1 {
                term.squares[at] = term.bends[at];
                term.bends[at] = 0.0;
            }
        }
    }
    values
}

/// Returns the size of the additional rounding errors that come from densities with context, which are computed with
/// 32-bit numbers. The errors of different events are independent random numbers.
fn rounding(channel: &ChannelPlan, table: &EventTable) -> f64 {
    let most = channel.conditionals.iter().map(|own| own.density.source.0.rounding()).fold(0.0, f64::max);
    if most <= 1.0 {
        return 0.0;
    }
    let squares = match &table.weights {
        Some(weights) => weights.iter().map(|w| w * w).sum(),
        None => table.len() as f64,
    };
    most * squares.sqrt()
}

/// Computes the expected auxiliary data of penalty terms at `theta`, and writes them to `aux`.
pub(crate) fn expected_data(
    level: Level,
    plan: &EventPlan,
    theta: &[f64],
    aux: &mut [f64],
    scratch: &mut EventScratch,
) {
    plan.functions.evaluate(level, theta, &mut scratch.functions);
    for (datum, formula, _) in &plan.expected {
        let mut memory = formula.memory();
        let result = plan.functions.penalty(level, formula, theta, &[], &mut scratch.functions, &mut memory);
        aux[*datum] = result[0];
    }
}

/// Prepares all channels at `theta`: computes their values, integrals and amplitudes. [`asimov`] and
/// [`super::event_sources`] need this.
pub(crate) fn prepare_channels(level: Level, plan: &EventPlan, theta: &[f64], scratch: &mut EventScratch) {
    scratch.forget();
    let EventScratch { functions, channels, .. } = scratch;
    plan.functions.evaluate(level, theta, functions);
    for (channel, memory) in plan.channels.iter().zip(channels) {
        prepare_channel(level, (&plan.functions, functions), channel, theta, memory);
    }
}

/// Returns the expected number of events of a prepared channel. For a channel that is not extended, this is the sum
/// of the weights of the events in `table`.
pub(super) fn expected_number(channel: &ChannelPlan, memory: &ChannelMemory, table: &EventTable) -> f64 {
    if channel.extended { total(channel, memory) } else { table.sum_of_weights() }
}

/// Returns the Asimov data of all event channels at `theta`, and for each channel the estimated error of twice `-ln L`.
/// The data of a channel are the nodes of a rule for numerical integration, and each node is weighted with the expected
/// number of events around it. The rule is also accurate for densities at the points `visited`. A channel that is not
/// extended gets as many events as its table in `tables` contains.
///
/// # Errors
/// If an expected number of events is negative or not finite.
pub(crate) fn asimov(
    level: Level,
    plan: &EventPlan,
    (theta, visited): (&[f64], &[&[f64]]),
    tables: &[Arc<EventTable>],
    scratch: &mut EventScratch,
) -> Result<(Vec<Arc<EventTable>>, Vec<f64>), SessionError> {
    let mut also: Vec<Vec<Point>> = vec![Vec::new(); plan.channels.len()];
    for other in visited {
        prepare_channels(level, plan, other, scratch);
        for (points, memory) in also.iter_mut().zip(&scratch.channels) {
            let point = Point::of(memory);
            let is_finite = point.locals.iter().chain(&point.amplitudes).all(|x| x.is_finite());
            if is_finite && memory.failure.is_none() && !points.contains(&point) {
                points.push(point);
            }
        }
    }
    prepare_channels(level, plan, theta, scratch);
    let (mut made, mut errors) = (Vec::with_capacity(tables.len()), Vec::with_capacity(tables.len()));
    let channels = plan.channels.iter().zip(&scratch.channels).zip(&mut also);
    for (index, (((channel, memory), also), table)) in channels.zip(tables).enumerate() {
        let total = expected_number(channel, memory, table);
        let point = Point::of(memory);
        also.retain(|other| *other != point);
        let (table, error) = weighted_grid(level, channel, (&point, also), total, GridOf::Channel)
            .map_err(|error| error.in_channel(index))?;
        made.push(Arc::new(table));
        errors.push(error);
    }
    Ok((made, errors))
}
