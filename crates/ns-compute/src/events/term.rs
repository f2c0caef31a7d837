//! All terms of `-ln L` besides those of bins and ordinary constraints: event channels and penalties.

use std::sync::Arc;

use ns_core::{EventModelError, EventTable, Model, SessionError, Value};

use super::chain::{Derivatives, Inner};
use super::channel::ChannelPlan;
use super::crew::{Crew, PieceMemory};
use super::integral::IntegralMemory;
use super::program::{Input, Memory, Sources};
use super::sources::{FormulaPlan, FunctionMemory, Functions, Local};
use super::sums::{Events, Sums};
use crate::simd::Level;

/// The event-level part of a compiled model.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventPlan {
    functions: Functions,
    channels: Vec<ChannelPlan>,
    penalties: Vec<FormulaPlan>,
}

impl EventPlan {
    /// Compiles functions, event channels and penalties of a model.
    ///
    /// # Errors
    /// If an index or a length is wrong, or a density cannot be normalised.
    pub(crate) fn new(model: &Model) -> Result<Self, EventModelError> {
        model.check_events()?;
        let functions = Functions::new(&model.functions);
        let dependencies = |value: Value| functions.dependencies(value);
        let local = |value: Value, parameters: &[usize]| {
            let own = functions.dependencies(value);
            let positions = own.iter().filter_map(|p| parameters.iter().position(|q| q == p)).collect();
            match value {
                Value::Function(function) => Local { parameter: None, function, positions },
                Value::Parameter(p) => Local { parameter: Some(p), function: 0, positions },
                Value::Number(_) => Local { parameter: None, function: 0, positions },
            }
        };
        let channels = model
            .event_channels
            .iter()
            .map(|channel| ChannelPlan::new(channel, &local, &dependencies))
            .collect::<Result<_, _>>()?;
        let penalties =
            model.penalties.iter().map(|penalty| FormulaPlan::penalty(&functions.plans, penalty)).collect();
        Ok(Self { functions, channels, penalties })
    }

    /// Returns whether there is no term.
    pub(crate) fn is_empty(&self) -> bool {
        self.channels.is_empty() && self.penalties.is_empty()
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
            length("list of columns of events", table.columns.len(), channel.observables)?;
            for column in table.columns.iter().chain(&table.weights) {
                length("column of events", column.len(), table.len())?;
                if let Some(index) = column.iter().position(|x| !x.is_finite()) {
                    let (what, value) = ("column of events", column[index]);
                    let remedy = "observables and weights are finite";
                    return Err(SessionError::BadNumber { what, index, value, remedy });
                }
            }
        }
        Ok(())
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
    functions: FunctionMemory,
    channels: Vec<ChannelMemory>,
    penalties: Vec<Memory>,
    /// Derivatives of each term by its parameters, in the order of [`EventPlan::parameters`].
    pub(crate) terms: Vec<Derivatives>,
    /// Channel and event of the first density that is not positive or not finite.
    pub(crate) bad: Option<(usize, usize)>,
    /// Threads that share the events; `None` for the calling thread alone.
    pub(crate) crew: Option<Crew>,
    last: Last,
}

/// The point and data of the last evaluation, whose results are used again.
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

/// Working memory of one channel.
#[derive(Debug, Clone)]
struct ChannelMemory {
    /// Values of the channel.
    locals: Vec<f64>,
    /// All integrals, one after the other.
    integrals: Vec<f64>,
    integral_memories: Vec<IntegralMemory>,
    variables: Vec<f64>,
    amplitudes: Vec<Memory>,
    amplitude_values: Vec<f64>,
    /// All values of the channel in order: the variables of an amplitude.
    every_local: Vec<usize>,
    sums: Sums,
    pieces: PieceMemory,
    /// Derivatives by the values of the channel.
    by_local: Derivatives,
}

impl ChannelMemory {
    fn new(plan: &ChannelPlan) -> Self {
        let n = plan.locals.len();
        Self {
            locals: vec![0.0; n],
            integrals: vec![0.0; plan.integrals.iter().map(super::integral::Integral::size).sum()],
            integral_memories: plan.integrals.iter().map(super::integral::Integral::memory).collect(),
            variables: Vec::new(),
            amplitudes: plan.terms.iter().map(|term| Memory::new(&term.program, 1)).collect(),
            amplitude_values: vec![0.0; plan.terms.len()],
            every_local: (0..n).collect(),
            sums: Sums::new(plan.coordinates),
            pieces: PieceMemory::default(),
            by_local: Derivatives::new(n),
        }
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
            crew: None,
            last: Last::default(),
        }
    }
}

/// Sums of the terms.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EventValues {
    /// Terms of the event channels; infinite if a density is not positive.
    pub(crate) events: f64,
    /// Penalties.
    pub(crate) penalties: f64,
    /// Sum of the absolute values of all parts.
    pub(crate) scale: f64,
}

/// Evaluates all terms with their derivatives at `theta`. `tables` has one table per event channel.
pub(crate) fn evaluate(
    level: Level,
    plan: &EventPlan,
    theta: &[f64],
    aux: &[f64],
    tables: &[Arc<EventTable>],
    scratch: &mut EventScratch,
) -> EventValues {
    let EventScratch { functions, channels, penalties, terms, bad, crew, last } = scratch;
    if last.is(theta, aux, tables) {
        return last.values;
    }
    let mut values = EventValues::default();
    *bad = None;
    plan.functions.evaluate(level, theta, functions);
    for term in terms.iter_mut() {
        term.clear();
    }
    let (of_channels, of_penalties) = terms.split_at_mut(plan.channels.len());
    for (c, (channel, memory)) in plan.channels.iter().zip(channels).enumerate() {
        for (to, local) in memory.locals.iter_mut().zip(&channel.locals) {
            *to = match local.parameter {
                Some(p) => theta[p],
                None => plan.functions.result(local.function, functions)[0],
            };
        }
        sum_channel(level, channel, &tables[c], memory, crew.as_ref());
        if let Some(event) = memory.sums.bad {
            *bad = bad.or(Some((c, event)));
        }
        let rate = channel.rates.iter().fold(channel.constant_rate, |sum, &r| sum + memory.locals[r]);
        values.events += memory.sums.value + rate;
        values.scale += memory.sums.scale + rate.abs();
        differentiate(plan, channel, functions, memory, &mut of_channels[c]);
    }
    if bad.is_some() || values.events.is_nan() {
        values.events = f64::INFINITY;
    }
    for ((penalty, memory), term) in plan.penalties.iter().zip(penalties).zip(of_penalties) {
        let result = plan.functions.penalty(level, penalty, theta, aux, functions, memory);
        let d = penalty.parameters.len();
        values.penalties += result[0];
        values.scale += result[0].abs();
        term.gradient.copy_from_slice(&result[1..=d]);
        term.bends.copy_from_slice(&result[1 + d..]);
        // The diagonal of a penalty is the best non-negative guess of its curvature.
        for i in 0..d {
            let at = super::sums::triangle(i, i);
            if term.bends[at] > 0.0 && d == 1 {
                term.squares[at] = term.bends[at];
                term.bends[at] = 0.0;
            }
        }
    }
    last.theta.clear();
    last.theta.extend_from_slice(theta);
    last.aux.clear();
    last.aux.extend_from_slice(aux);
    last.tables.clear();
    last.tables.extend(tables.iter().cloned());
    last.values = values;
    values
}

/// Computes integrals, amplitudes and the sums over all events of a channel.
fn sum_channel(
    level: Level,
    plan: &ChannelPlan,
    table: &EventTable,
    memory: &mut ChannelMemory,
    crew: Option<&Crew>,
) {
    let mut offset = 0;
    for (integral, own) in plan.integrals.iter().zip(&mut memory.integral_memories) {
        memory.variables.clear();
        memory.variables.extend(integral.variables.iter().map(|&local| memory.locals[local]));
        let out = &mut memory.integrals[offset..offset + integral.size()];
        integral.evaluate(level, &memory.variables, own, out);
        offset += integral.size();
    }
    let mut inputs: Vec<Input<'_>> = Vec::with_capacity(plan.integrals.len());
    let mut offset = 0;
    for integral in &plan.integrals {
        let result = &memory.integrals[offset..offset + integral.size()];
        inputs.push(Input { result, variables: &integral.variables });
        offset += integral.size();
    }
    let sources = Sources { variables: &memory.locals, inputs: &inputs, data: &[] };
    for ((term, own), value) in
        plan.terms.iter().zip(&mut memory.amplitudes).zip(&mut memory.amplitude_values)
    {
        term.program.prepare(level, sources, own);
        *value = own.value(&term.program)[0];
    }
    let columns: Vec<&[f64]> = table.columns.iter().map(|column| &column[..]).collect();
    let events = Events { columns: &columns, weights: table.weights.as_deref(), count: table.len() };
    let point = (memory.locals.as_slice(), memory.amplitude_values.as_slice());
    memory.pieces.sum(level, plan, events, point, crew, &mut memory.sums);
}

/// Turns derivatives by the coordinates of a channel into those by its parameters.
fn differentiate(
    plan: &EventPlan,
    channel: &ChannelPlan,
    functions: &FunctionMemory,
    memory: &mut ChannelMemory,
    out: &mut Derivatives,
) {
    let ChannelMemory { amplitudes, every_local, sums, by_local, .. } = memory;
    by_local.clear();
    let n = channel.terms.len();
    let own: Vec<&[usize]> = channel.leaves.iter().flat_map(|leaf| leaf.variables.chunks_exact(1)).collect();
    by_local.pull_back((&sums.gradient, &sums.squares, &sums.bends), &|a| match channel.terms.get(a) {
        Some(term) => Inner { result: Some(amplitudes[a].value(&term.program)), variables: every_local },
        None => Inner { result: None, variables: own[a - n] },
    });
    for &rate in &channel.rates {
        by_local.gradient[rate] += 1.0;
    }
    out.pull_back((&by_local.gradient, &by_local.squares, &by_local.bends), &|a| {
        let local = &channel.locals[a];
        let result = match local.parameter {
            Some(_) => None,
            None => Some(plan.functions.result(local.function, functions)),
        };
        Inner { result, variables: &local.positions }
    });
}
