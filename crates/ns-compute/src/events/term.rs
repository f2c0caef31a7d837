//! The terms of `-ln L` other than bins and ordinary constraints: event channels and penalties.

use std::sync::Arc;

use ns_core::{
    EventModelError, EventTable, LogProbError, Measured, Model, Penalty, PenaltyForm, SessionError, Value,
};

use super::asimov::{GridOf, weighted_grid};
use super::chain::Derivatives;
use super::channel::ChannelPlan;
use super::channel_sum::{ChannelMemory, differentiate, prepare_channel, sum_channel, sum_elsewhere};
use super::crew::Crew;
use super::offload::{ChannelSums, Offload};
use super::program::Memory;
use super::sources::{AtStart, FormulaPlan, FunctionMemory, Functions};
use super::sums::triangle;
use crate::simd::Level;

/// The event channels, penalties and functions of a compiled model.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventPlan {
    pub(super) functions: Functions,
    pub(super) channels: Vec<ChannelPlan>,
    penalties: Vec<FormulaPlan>,
    /// Parameters for which the terms have a kink at the value 0, ascending.
    kinks: Vec<usize>,
    /// Auxiliary data of penalties: index, formula of the expected value and, if the penalty is Gaussian,
    /// formula of the width.
    pub(super) expected: Vec<(usize, FormulaPlan, Option<FormulaPlan>)>,
}

impl EventPlan {
    /// Compiles functions, event channels and penalties of a model.
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
        let penalties =
            model.penalties.iter().map(|penalty| FormulaPlan::penalty(&functions.plans, penalty)).collect();
        let formula = |value: Value| FormulaPlan::value(&functions.plans, value);
        let expectation = |penalty: &Penalty| match penalty.form {
            PenaltyForm::Gaussian { x, mean: Measured::Datum(datum), sigma } => {
                Some((datum, formula(x), Some(formula(sigma))))
            }
            PenaltyForm::Poisson { mean, count: Measured::Datum(datum) } => {
                Some((datum, formula(mean), None))
            }
            _ => None,
        };
        let expected = model.penalties.iter().filter_map(expectation).collect();
        Ok(Self { functions, channels, penalties, kinks: model.event_kinks(), expected })
    }

    /// Returns whether there is no term.
    pub(crate) fn is_empty(&self) -> bool {
        self.channels.is_empty() && self.penalties.is_empty()
    }

    /// Returns the parameters for which the terms have a kink at the value 0, ascending.
    pub(crate) fn kinks(&self) -> &[usize] {
        &self.kinks
    }

    /// Returns whether the data of a channel are a histogram.
    pub(crate) fn is_binned(&self, channel: usize) -> bool {
        self.channels.get(channel).is_some_and(|channel| channel.binning.is_some())
    }

    /// Returns the ends of the axis of a channel whose events have one column and are not a histogram; `None`
    /// for other channels.
    pub(crate) fn line(&self, channel: usize) -> Option<(f64, f64)> {
        let channel = self.channels.get(channel).filter(|c| c.columns() == 1 && c.binning.is_none())?;
        let ends = channel.boxes.iter().flatten();
        let (low, high) =
            ends.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &(low, high)| (a.min(low), b.max(high)));
        (low < high).then_some((low, high))
    }

    /// Returns the number of event channels.
    pub(crate) fn n_channels(&self) -> usize {
        self.channels.len()
    }

    /// Returns whether there are event channels.
    pub(crate) fn has_channels(&self) -> bool {
        !self.channels.is_empty()
    }

    /// Checks that every event channel has a table with its columns, and that all numbers can be used.
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
                // Log-densities may be minus infinity, because a density may be 0.
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

    /// Returns the channels in the form in which another device computes them; `None` for channels with functions
    /// that other devices lack.
    pub(crate) fn offloads(&self) -> Vec<Option<Offload>> {
        self.channels.iter().map(Offload::new).collect()
    }

    /// Iterates over the parameters of each term, channels first.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &[usize]> {
        let channels = self.channels.iter().map(|channel| channel.parameters.as_slice());
        channels.chain(self.penalties.iter().map(|penalty| penalty.parameters.as_slice()))
    }
}

/// Value and derivatives of all terms at one point, with the memory of their evaluation.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventScratch {
    pub(super) functions: FunctionMemory,
    pub(super) channels: Vec<ChannelMemory>,
    penalties: Vec<Memory>,
    /// Derivatives of each term with respect to its parameters, in the order of [`EventPlan::parameters`].
    pub(crate) terms: Vec<Derivatives>,
    /// Channel and event of the first density that is not positive or not finite.
    pub(crate) bad: Option<(usize, usize)>,
    /// Index of the first channel with a density with context that cannot be evaluated or normalised at this
    /// point, and the reason.
    pub(crate) failure: Option<(usize, LogProbError)>,
    /// Parameters that are at a kink, each with half the jump of the derivative with respect to it.
    pub(crate) jumps: Vec<(usize, f64)>,
    /// A point close to the last point, with the parameters at kinks moved off their kinks.
    beside: Vec<f64>,
    /// Threads that share the events; `None` for the calling thread alone.
    pub(crate) crew: Option<Crew>,
    /// Computes sums over events outside the threads of the CPU; `None` if the CPU computes them.
    pub(crate) elsewhere: Option<Arc<dyn ChannelSums>>,
    last: Last,
}

/// The point and data of the last evaluation, whose results are reused.
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
    /// Allocates the memory of all terms.
    pub(crate) fn new(plan: &EventPlan) -> Self {
        Self {
            functions: plan.functions.memory(),
            channels: plan.channels.iter().map(ChannelMemory::new).collect(),
            penalties: plan.penalties.iter().map(FormulaPlan::memory).collect(),
            terms: plan.parameters().map(|parameters| Derivatives::new(parameters.len())).collect(),
            bad: None,
            failure: None,
            jumps: Vec::with_capacity(plan.kinks.len()),
            beside: Vec::new(),
            crew: None,
            elsewhere: None,
            last: Last::default(),
        }
    }

    /// Forgets the last evaluation, so that its results are not reused.
    pub(super) fn forget(&mut self) {
        self.last.theta.clear();
        self.last.tables.clear();
        self.jumps.clear();
    }
}

/// Sums of the terms.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EventValues {
    /// Terms of the event channels; infinite if a density is not positive.
    pub(crate) events: f64,
    /// Penalties.
    pub(crate) penalties: f64,
    /// Sum of the absolute values of all terms.
    pub(crate) scale: f64,
}

/// Evaluates all terms with their derivatives at `theta`. `tables` has one table per event channel. The derivative
/// with respect to a parameter at a kink is the mean of the derivatives on both sides; `scratch.jumps` has half
/// their difference.
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
        // A point just above all kinks. Only the derivatives with respect to the parameters at kinks differ
        // there.
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

/// Adds the derivatives with respect to the parameters at kinks, multiplied by `sign`, to their jumps.
fn add_slopes(plan: &EventPlan, scratch: &mut EventScratch, sign: f64) {
    let EventScratch { jumps, terms, .. } = scratch;
    for (p, jump) in jumps {
        for (parameters, term) in plan.parameters().zip(terms.iter()) {
            if let Ok(i) = parameters.binary_search(p) {
                *jump += sign * term.gradient[i];
            }
        }
    }
}

/// Evaluates all terms. The rates of each channel are multiplied by its element of `factors`, or by 1 if
/// `factors` is `None`.
pub(super) fn evaluate_once(
    level: Level,
    plan: &EventPlan,
    (theta, aux): (&[f64], &[f64]),
    tables: &[Arc<EventTable>],
    factors: Option<&[f64]>,
    scratch: &mut EventScratch,
) -> EventValues {
    let EventScratch { functions, channels, penalties, terms, bad, failure, crew, elsewhere, .. } = scratch;
    let mut values = EventValues::default();
    (*bad, *failure) = (None, None);
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
            sum_channel(level, channel, &tables[c], memory, crew.as_ref());
            values.scale += rounding(channel, &tables[c]);
        }
        if let Some(cause) = memory.failure.take() {
            failure.get_or_insert((c, cause));
        }
        if let Some(event) = memory.sums.bad {
            *bad = bad.or(Some((c, event)));
        }
        let rate = channel.rates.iter().fold(channel.constant_rate, |sum, &r| sum + memory.locals[r]);
        let factor = factors.map_or(1.0, |factors| factors[c]);
        values.events += memory.sums.value + factor * rate;
        values.scale += memory.sums.scale + rate.abs();
        differentiate((&plan.functions, functions), channel, memory, factor, &mut of_channels[c]);
    }
    if bad.is_some() || failure.is_some() || values.events.is_nan() {
        values.events = f64::INFINITY;
    }
    for ((penalty, memory), term) in plan.penalties.iter().zip(penalties).zip(of_penalties) {
        let result = plan.functions.penalty(level, penalty, theta, aux, functions, memory);
        let d = penalty.parameters.len();
        values.penalties += result[0];
        values.scale += result[0].abs();
        term.gradient.copy_from_slice(&result[1..=d]);
        term.bends.copy_from_slice(&result[1 + d..]);
        // If a penalty depends on one parameter and its second derivative is positive, this derivative
        // belongs to the part of the Hessian that is never negative.
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

/// Returns the additional scale of rounding errors due to densities with context that are computed with 32-bit numbers.
/// The errors of different events are independent and random.
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

/// Writes the expected auxiliary data of penalties at `theta` to `aux`.
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

/// Prepares all channels at `theta`, for [`asimov`] and [`super::event_sources`].
pub(super) fn prepare_channels(level: Level, plan: &EventPlan, theta: &[f64], scratch: &mut EventScratch) {
    scratch.forget();
    let EventScratch { functions, channels, .. } = scratch;
    plan.functions.evaluate(level, theta, functions);
    for (channel, memory) in plan.channels.iter().zip(channels) {
        prepare_channel(level, (&plan.functions, functions), channel, theta, memory);
    }
}

/// Returns the expected number of events of a prepared channel. For a channel that is not extended, returns
/// the sum of the weights of the events in `table`.
pub(super) fn expected_number(channel: &ChannelPlan, memory: &ChannelMemory, table: &EventTable) -> f64 {
    if channel.extended {
        channel.rates.iter().fold(channel.constant_rate, |sum, &r| sum + memory.locals[r])
    } else {
        table.sum_of_weights()
    }
}

/// Returns Asimov data of all event channels at `theta`: the nodes of a fine quadrature rule, weighted with
/// the expected number of events around each node. Channels that are not extended have the number of events
/// of their table in `tables`.
///
/// # Errors
/// If an expected number of events is negative or not finite.
pub(crate) fn asimov(
    level: Level,
    plan: &EventPlan,
    theta: &[f64],
    tables: &[Arc<EventTable>],
    scratch: &mut EventScratch,
) -> Result<Vec<Arc<EventTable>>, SessionError> {
    prepare_channels(level, plan, theta, scratch);
    let mut made = Vec::with_capacity(tables.len());
    for ((channel, memory), table) in plan.channels.iter().zip(&scratch.channels).zip(tables) {
        let total = expected_number(channel, memory, table);
        let values = (memory.locals.as_slice(), memory.amplitude_values.as_slice());
        made.push(Arc::new(weighted_grid(level, channel, values, total, GridOf::Channel)?));
    }
    Ok(made)
}
