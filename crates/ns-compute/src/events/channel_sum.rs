//! Evaluates one channel: its integrals, its amplitudes, the sums over its events, and the derivatives with respect
//! to its parameters.

use std::sync::Arc;

use ns_core::{EventTable, LogProbError};

use super::chain::{Derivatives, Inner};
use super::channel::ChannelPlan;
use super::conditional::ConditionalMemory;
use super::crew::{Crew, PieceMemory};
use super::integral::{Integral, IntegralMemory};
use super::offload::{ChannelSums, OffloadMemory, Totals, compute_numbers};
use super::program::{Input, Memory, Sources};
use super::sources::{FunctionMemory, Functions};
use super::sums::{Events, Point, Sums, triangle};
use super::wide::{Wide, WideAmplitudes};
use crate::simd::Level;

/// Working memory for evaluations of one channel.
#[derive(Debug, Clone)]
pub(super) struct ChannelMemory {
    /// Current values of the parameters and functions of parameters that the channel uses.
    pub(super) locals: Vec<f64>,
    /// Results of all integrals, one after the other.
    integrals: Vec<f64>,
    pub(super) integral_memories: Vec<IntegralMemory>,
    variables: Vec<f64>,
    amplitudes: Vec<Memory>,
    pub(super) amplitude_values: Vec<f64>,
    /// Memory of [`ChannelPlan::total`].
    total: Option<Memory>,
    /// The amplitudes as numbers of a wide range; `None` if all amplitudes and integrals are well within the range of
    /// doubles.
    wide: Option<WideAmplitudes>,
    /// The indices 0, 1, 2, ... of all values that the channel uses. Every amplitude has all these values as
    /// variables.
    every_local: Vec<usize>,
    pub(super) sums: Sums,
    pub(super) pieces: PieceMemory,
    /// Columns of the densities with context (such as a flow whose shape depends on parameters).
    conditionals: Vec<ConditionalMemory>,
    /// The reason why a density with context (a density that depends on further numbers) cannot be evaluated or
    /// normalised at the current values; `None` if there is no such problem.
    pub(super) failure: Option<LogProbError>,
    /// Index of the first infinite integral at the current values; `None` if there is none.
    pub(super) infinite: Option<usize>,
    offload: OffloadMemory,
    /// Derivatives with respect to the values that the channel uses.
    by_local: Derivatives,
}

impl ChannelMemory {
    pub(super) fn new(plan: &ChannelPlan) -> Self {
        let n = plan.locals.len();
        Self {
            locals: vec![0.0; n],
            integrals: vec![0.0; plan.integrals.iter().map(Integral::size).sum()],
            integral_memories: plan.integrals.iter().map(Integral::memory).collect(),
            variables: Vec::new(),
            amplitudes: plan.terms.iter().map(|term| Memory::new(&term.program, 1)).collect(),
            amplitude_values: vec![0.0; plan.terms.len()],
            total: plan.total.as_ref().map(|program| Memory::new(program, 1)),
            wide: None,
            every_local: (0..n).collect(),
            sums: Sums::new(plan.coordinates),
            pieces: PieceMemory::default(),
            conditionals: vec![ConditionalMemory::default(); plan.conditionals.len()],
            failure: None,
            infinite: None,
            offload: OffloadMemory::default(),
            by_local: Derivatives::new(n),
        }
    }

    /// Returns whether an amplitude or integral is not well within the range of doubles.
    pub(super) fn is_wide(&self) -> bool {
        self.wide.is_some()
    }

    /// Returns the values of all integrals.
    pub(super) fn integral_values(&self, plan: &ChannelPlan) -> Vec<Wide> {
        if let Some(wide) = &self.wide {
            return wide.integrals.clone();
        }
        let mut offset = 0;
        let value = |integral: &Integral| {
            let value = self.integrals.get(offset).copied().unwrap_or(f64::NAN);
            offset += integral.size();
            Wide::from(value)
        };
        plan.integrals.iter().map(value).collect()
    }

    /// Returns the expected number of events, followed by its derivatives with respect to the values that the channel uses.
    /// Returns `None` if it is the sum of the rates.
    pub(super) fn total<'a>(&'a self, plan: &ChannelPlan) -> Option<&'a [f64]> {
        self.total.as_ref().zip(plan.total.as_ref()).map(|(memory, program)| memory.value(program))
    }

    /// Returns the amplitude of a term, followed by its first derivatives with respect to the values that the channel
    /// uses.
    pub(super) fn amplitude<'a>(&'a self, plan: &ChannelPlan, term: usize) -> &'a [f64] {
        self.amplitudes[term].value(&plan.terms[term].program)
    }
}

/// Computes the values that a channel uses at `theta`, then its integrals and its amplitudes. The functions of the
/// model must have been evaluated at the same point before.
pub(super) fn prepare_channel(
    level: Level,
    functions: (&Functions, &FunctionMemory),
    plan: &ChannelPlan,
    theta: &[f64],
    memory: &mut ChannelMemory,
) {
    for (to, local) in memory.locals.iter_mut().zip(&plan.locals) {
        *to = match local.parameter {
            Some(p) => theta[p],
            None => functions.0.result(local.function, functions.1)[0],
        };
    }
    (memory.failure, memory.infinite) = (None, None);
    let mut offset = 0;
    for (integral, own) in plan.integrals.iter().zip(&mut memory.integral_memories) {
        memory.variables.clear();
        memory.variables.extend(integral.variables.iter().map(|&local| memory.locals[local]));
        let out = &mut memory.integrals[offset..offset + integral.size()];
        integral.evaluate(level, &memory.variables, own, out);
        if let IntegralMemory::Conditional(own) = own
            && memory.failure.is_none()
        {
            memory.failure.clone_from(&own.failure);
        }
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
    if let Some((program, own)) = plan.total.as_ref().zip(memory.total.as_mut()) {
        program.prepare(level, sources, own);
    }
    let integrals = inputs.iter().map(|input| input.result[0]);
    let is_wide = memory.failure.is_none() && WideAmplitudes::are_needed(integrals, &memory.amplitude_values);
    let ChannelMemory { locals, integral_memories, .. } = memory;
    memory.wide = is_wide.then(|| WideAmplitudes::new(level, plan, locals, integral_memories));
    memory.infinite = memory.wide.as_ref().and_then(|wide| wide.infinite);
}

/// Computes the sums over all events of a channel. [`prepare_channel`] must have been called before. If `floor` is
/// positive, the sums are also finite where the density of an event is not positive: a parabola continues `-ln f` below
/// the mean density times `floor`. `caution` is that of [`EventScratch::set_caution`](super::EventScratch::set_caution).
pub(super) fn sum_channel(
    level: Level,
    plan: &ChannelPlan,
    table: &EventTable,
    memory: &mut ChannelMemory,
    (floor, caution): (f64, Option<usize>),
    crew: Option<&Crew>,
) {
    let ChannelMemory { locals, conditionals, failure, .. } = memory;
    for (of, own) in plan.conditionals.iter().zip(conditionals.iter_mut()) {
        if failure.is_none() {
            *failure = own.update(of, &table.columns, locals, crew).err();
        }
    }
    if failure.is_some() {
        memory.sums.clear();
        memory.sums.value = f64::INFINITY;
        return;
    }
    // The columns of densities with context come after the columns of the table.
    let of_table = table.columns.iter().take(plan.columns()).map(|column| &column[..]);
    let further = memory.conditionals.iter().flat_map(|own| own.columns.iter().map(Vec::as_slice));
    let columns: Vec<&[f64]> = of_table.chain(further).collect();
    let events = Events { columns: &columns, weights: table.weights.as_deref(), count: table.len() };
    let ChannelMemory { locals, amplitude_values: amplitudes, wide, pieces, sums, .. } = memory;
    let least = (floor > 0.0).then(|| floor * mean_density(plan, table));
    let most_outliers = caution.filter(|_| least.is_none());
    let point = Point { level, locals, amplitudes, wide: wide.as_ref(), least, most_outliers };
    pieces.sum(plan, events, point, crew, sums);
}

/// Returns the density of the channel if all its events were distributed evenly over the fit ranges.
fn mean_density(plan: &ChannelPlan, table: &EventTable) -> f64 {
    let volume = |sides: &Vec<(f64, f64)>| sides.iter().map(|(lo, hi)| hi - lo).product::<f64>();
    let number = if plan.extended { table.sum_of_weights().max(1.0) } else { 1.0 };
    number / plan.boxes.iter().map(volume).sum::<f64>()
}

/// Lets `there` (for example a GPU) compute the sums over all events of a channel. [`prepare_channel`] must have been
/// called before. Returns false if `there` did not compute them, or if the density of an event is out of the range of
/// doubles or not positive.
pub(super) fn sum_elsewhere(
    level: Level,
    there: &dyn ChannelSums,
    (index, plan): (usize, &ChannelPlan),
    table: &Arc<EventTable>,
    memory: &mut ChannelMemory,
) -> bool {
    let ChannelMemory { locals, amplitude_values, wide, offload, sums, .. } = memory;
    // No other device computes densities with context.
    if wide.is_some() || !plan.conditionals.is_empty() {
        return false;
    }
    compute_numbers(level, plan, (locals, amplitude_values), offload);
    sums.clear();
    there.sum(index, table, &offload.numbers, &mut Totals::of(sums)) && sums.bad.is_none()
}

/// Converts derivatives with respect to the coordinates of a channel (amplitudes and variables of its densities) to
/// derivatives with respect to its parameters. Also adds the derivatives of a function of the sum of the channel's rates
/// (expected numbers of events). `by_rate` contains the first and the second derivative of this function.
pub(super) fn differentiate(
    functions: (&Functions, &FunctionMemory),
    channel: &ChannelPlan,
    memory: &mut ChannelMemory,
    by_rate: (f64, f64),
    out: &mut Derivatives,
) {
    let ChannelMemory { amplitudes, wide, every_local, sums, by_local, total, .. } = memory;
    let (amplitudes, wide) = (&*amplitudes, wide.as_ref());
    let amplitude = |t: usize| match wide {
        Some(wide) => wide.results[t].as_slice(),
        None => amplitudes[t].value(&channel.terms[t].program),
    };
    by_local.clear();
    let n = channel.terms.len();
    let own: Vec<&[usize]> = channel.leaves.iter().flat_map(|leaf| leaf.variables.chunks_exact(1)).collect();
    by_local.pull_back((&sums.gradient, &sums.squares, &sums.bends), &|a| match channel.terms.get(a) {
        Some(_) => Inner { result: Some(amplitude(a)), variables: every_local },
        None => Inner { result: None, variables: own[a - n] },
    });
    if let Some(result) = total.as_ref().zip(channel.total.as_ref()).map(|(own, of)| own.value(of)) {
        by_local.pull_back((&[by_rate.0], &[by_rate.1], &[0.0]), &|_| Inner {
            result: Some(result),
            variables: every_local,
        });
    }
    for (i, &rate) in channel.rates.iter().enumerate() {
        by_local.gradient[rate] += by_rate.0;
        if by_rate.1 != 0.0 {
            for (j, &other) in channel.rates[..=i].iter().enumerate() {
                let twice = if i != j && rate == other { 2.0 } else { 1.0 };
                by_local.squares[triangle(rate, other)] += twice * by_rate.1;
            }
        }
    }
    out.pull_back((&by_local.gradient, &by_local.squares, &by_local.bends), &|a| {
        let local = &channel.locals[a];
        let result = match local.parameter {
            Some(_) => None,
            None => Some(functions.0.result(local.function, functions.1)),
        };
        Inner { result, variables: &local.positions }
    });
}
