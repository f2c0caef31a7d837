//! Densities of the single processes of event channels. They are used for yields, plots and sPlot weights.

use std::collections::HashMap;

use ns_core::{
    BinRule, Binning, EventChannel, EventModelError, EventTable, LogProbError, Model, SessionError,
};

use super::asimov::{GridOf, panels, side_nodes, weighted_grid};
use super::block::multiply_leaves;
use super::channel::{ChannelPlan, MOST_BINS};
use super::channel_sum::{ChannelMemory, prepare_channel};
use super::conditional::ConditionalMemory;
use super::error::of_normalisations;
use super::grid::Point;
use super::integral::Purpose;
use super::sources::{AtStart, Functions};
use super::sums::{BLOCK, SumMemory};
use super::total::total;
use crate::simd::Level;

/// The sum of all bins of a process may differ from its rate by this fraction. If it differs by more, the quick integrals over
/// the bins have missed a part, such as a narrow peak, and the bins are integrated again with care.
const MOST_OFF: f64 = 1e-7;

/// The processes of all event channels of a model. Each process is compiled separately. Evaluations allocate memory,
/// which is acceptable because they are made for final results and not in fits.
#[derive(Debug, Clone)]
pub struct EventShapes {
    level: Level,
    functions: Functions,
    /// For each channel and each of its processes, a compiled channel that contains only this process.
    channels: Vec<Vec<ChannelPlan>>,
}

impl EventShapes {
    /// Compiles the processes of a model.
    ///
    /// # Errors
    /// If the model is inconsistent, or a density cannot be normalised.
    pub fn new(model: &Model, level: Level) -> Result<Self, EventModelError> {
        Self::with_bins(model, level, &[])
    }

    /// Returns the largest number of bins of a channel in [`EventShapes::with_bins`].
    #[must_use]
    pub fn most_bins() -> usize {
        MOST_BINS
    }

    /// Compiles the processes of a model with bins. `edges` has one element per event channel: the bin edges of each
    /// observable, ascending, or nothing for a channel without bins. The fit ranges must end at edges. [`EventShapes::grids`] then returns the centres of the bins, weighted with the expected numbers of events in
    /// the bins, and [`EventShapes::densities`] the means over the bins. A channel with a density that is not a formula
    /// gets no bins.
    ///
    /// # Errors
    /// As [`EventShapes::new`], and for more than [`EventShapes::most_bins`] bins in a channel.
    pub fn with_bins(model: &Model, level: Level, edges: &[Vec<Vec<f64>>]) -> Result<Self, EventModelError> {
        model.check_events()?;
        let functions = Functions::new(&model.functions);
        let start = AtStart::new(level, &functions, model.parameters.iter().map(|p| p.init).collect());
        let alone = |(index, channel): (usize, &EventChannel)| {
            let edges = edges.get(index).filter(|edges| !edges.is_empty() && channel.has_formulas());
            let binning = edges.map(|edges| Binning { edges: edges.clone(), rule: BinRule::Integral });
            let processes = channel.processes.iter().map(|process| {
                // This channel is extended, so that it has a rate. It has no bins of the model, so that its density is
                // defined at every point.
                let one = EventChannel {
                    extended: true,
                    processes: vec![process.clone()],
                    binning: binning.clone(),
                    ..channel.clone()
                };
                let mut plan = ChannelPlan::new(&one, &start)?;
                serve(&mut plan, Purpose::Picture);
                Ok(plan)
            });
            processes.collect::<Result<Vec<_>, _>>()
        };
        let channels = model.event_channels.iter().enumerate().map(alone).collect::<Result<_, _>>()?;
        Ok(Self { level, functions, channels })
    }

    /// Returns the number of equal panels into which a grid divides each fit range of an observable. `observables` is
    /// the number of observables of the channel.
    #[must_use]
    pub fn panels(observables: usize) -> usize {
        panels(observables)
    }

    /// Returns the rate of each process of a channel, which is its expected number of events. If the channel is not
    /// extended, the rate of a process is the fraction of the events that belong to it. `parameters` contains the
    /// values of all parameters of the model.
    #[must_use]
    pub fn rates(&self, parameters: &[f64], channel: usize) -> Vec<f64> {
        let of = |(plan, memory): (&ChannelPlan, ChannelMemory)| total(plan, &memory);
        self.prepared(parameters, channel).into_iter().map(of).collect()
    }

    /// Returns the largest relative error of the integrals of a channel at `parameters`. It is infinite if an error is not
    /// known.
    #[must_use]
    pub fn integral_error(&self, parameters: &[f64], channel: usize) -> f64 {
        let of_plan = |plan: &ChannelPlan, own: &ChannelMemory| {
            let mut sums = SumMemory::new(plan);
            sums.prepare(self.level, plan, &own.locals);
            let bins =
                plan.leaves.iter().zip(&sums.leaves).filter_map(|(leaf, own)| leaf.integral_error(own));
            let errors = of_normalisations(plan, own);
            bins.chain(errors).fold(0.0, |worst, (error, _)| larger(worst, error))
        };
        let of = |(plan, own): (&ChannelPlan, ChannelMemory)| match of_plan(plan, &own) {
            error if error <= MOST_OFF => error,
            _ => of_plan(&careful(plan), &own),
        };
        self.prepared(parameters, channel).into_iter().map(of).fold(0.0, larger)
    }

    /// Returns the rate times the density of each process of a channel, for each event. `columns` contains the
    /// observables and log-densities of the events. The densities of a process are NaN if it cannot be evaluated, for
    /// example because a flow is far from its training data.
    #[must_use]
    pub fn densities(&self, parameters: &[f64], channel: usize, columns: &[&[f64]]) -> Vec<Vec<f64>> {
        let n = columns.first().map_or(0, |column| column.len());
        let prepared = self.prepared(parameters, channel);
        let of = |(plan, own): (&ChannelPlan, ChannelMemory)| {
            let mut memory = SumMemory::new(plan);
            memory.prepare(self.level, plan, &own.locals);
            let mut densities = Vec::with_capacity(n);
            let further: Result<Vec<_>, LogProbError> = plan
                .conditionals
                .iter()
                .map(|of| ConditionalMemory::once(of, columns, &own.locals))
                .collect();
            // Columns of other processes may lie between the columns of this process.
            let Ok(further) = further else { return vec![f64::NAN; n] };
            let of_table = columns.iter().take(plan.columns()).copied();
            let views: Vec<&[f64]> = of_table.chain(further.iter().flatten().map(Vec::as_slice)).collect();
            for start in (0..n).step_by(BLOCK) {
                let here = BLOCK.min(n - start);
                for (leaf, own) in plan.leaves.iter().zip(&mut memory.leaves) {
                    leaf.run(self.level, &views, start, here, own);
                }
                multiply_leaves(plan, &mut memory);
                densities.extend((0..here).map(|i| {
                    let terms = memory.products.iter().zip(&own.amplitude_values);
                    terms.map(|(product, a)| a * product[i]).sum::<f64>()
                }));
            }
            densities
        };
        prepared.into_iter().map(of).collect()
    }

    /// Returns a grid over the fit ranges for each process of a channel, as a table of weighted points. The weights of
    /// a grid add up to the rate of its process (its expected number of events). In a channel without bins
    /// ([`EventShapes::with_bins`]), [`EventShapes::panels`] returns the
    /// number of equal panels into which a grid divides each fit range of an observable: 200 in a channel with one
    /// observable, 10 with two observables, 2 with three, and 1 with more.
    ///
    /// # Errors
    /// If a density is not finite.
    pub fn grids(&self, parameters: &[f64], channel: usize) -> Result<Vec<EventTable>, SessionError> {
        let of = |(plan, memory): (&ChannelPlan, ChannelMemory)| {
            let total = total(plan, &memory);
            // A process with a negative rate has the same shape as with a positive rate. For example, a signal that
            // is fitted below 0 has a negative rate.
            let sign = if total < 0.0 { -1.0 } else { 1.0 };
            let amplitudes: Vec<f64> = memory.amplitude_values.iter().map(|a| sign * a).collect();
            // The amplitudes of a process with rate 0 are 0, so they do not give its shape.
            if total == 0.0 {
                return Ok(EventTable {
                    columns: vec![std::sync::Arc::from([]); plan.observables],
                    weights: Some(std::sync::Arc::from([])),
                });
            }
            let point = Point { locals: memory.locals.clone(), amplitudes };
            let made = |plan: &ChannelPlan| {
                weighted_grid(self.level, plan, (&point, &[]), sign * total, GridOf::Process)
                    .map_err(|error| error.in_channel(channel))
            };
            let (mut grid, error) = made(plan)?;
            if !(error <= MOST_OFF) {
                (grid, _) = made(&careful(plan))?;
            }
            if sign < 0.0 {
                grid.weights = grid.weights.map(|weights| weights.iter().map(|w| -w).collect());
            }
            Ok(grid)
        };
        self.prepared(parameters, channel).into_iter().map(of).collect()
    }

    /// Returns the expected number of events per unit of one observable at `points`, for each process of a channel.
    /// This number is the integral over all other observables. Outside the fit ranges it is 0. In channels with
    /// several observables, or with a flow without context, it is interpolated linearly between the nodes of
    /// [`EventShapes::grids`].
    ///
    /// # Errors
    /// If a density is not finite.
    pub fn projections(
        &self,
        parameters: &[f64],
        channel: usize,
        observable: usize,
        points: &[f64],
    ) -> Result<Vec<Vec<f64>>, SessionError> {
        let plans = self.channels.get(channel).map(Vec::as_slice).unwrap_or_default();
        let Some(plan) = plans.first() else { return Ok(Vec::new()) };
        let mut sides: Vec<(f64, f64)> =
            plan.boxes.iter().filter_map(|region| region.get(observable).copied()).collect();
        sides.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        sides.dedup();
        if plan.observables == 1 && plans.iter().all(|plan| plan.logs.is_empty()) {
            let mut found = self.densities(parameters, channel, &[points]);
            for densities in &mut found {
                for (density, x) in densities.iter_mut().zip(points) {
                    if !sides.iter().any(|(lo, hi)| lo <= x && x <= hi) {
                        *density = 0.0;
                    }
                }
            }
            return Ok(found);
        }
        let grids = self.grids(parameters, channel)?;
        let projected = |grid: &EventTable| -> Vec<f64> {
            let mut weights: HashMap<u64, f64> = HashMap::new();
            let column = grid.columns.get(observable).map(|column| &column[..]).unwrap_or_default();
            for (x, weight) in column.iter().zip(grid.weights.as_deref().unwrap_or_default()) {
                *weights.entry(x.to_bits()).or_default() += weight;
            }
            let mut densities = vec![0.0; points.len()];
            for &side in &sides {
                let density = |(x, length): &(f64, f64)| {
                    (*x, weights.get(&x.to_bits()).copied().unwrap_or_default() / length)
                };
                let known: Vec<(f64, f64)> =
                    side_nodes(side, panels(plan.observables)).iter().map(density).collect();
                for (density, &x) in densities.iter_mut().zip(points) {
                    if side.0 <= x && x <= side.1 {
                        *density += interpolated(&known, x);
                    }
                }
            }
            densities
        };
        Ok(grids.iter().map(projected).collect())
    }

    /// Returns the processes of a channel. Each comes with the memory that contains its values, integrals and
    /// amplitudes at `parameters`.
    fn prepared(&self, parameters: &[f64], channel: usize) -> Vec<(&ChannelPlan, ChannelMemory)> {
        let mut functions = self.functions.memory();
        self.functions.evaluate(self.level, parameters, &mut functions);
        let plans = self.channels.get(channel).map(Vec::as_slice).unwrap_or_default();
        let ready = |plan| {
            let mut memory = ChannelMemory::new(plan);
            prepare_channel(self.level, (&self.functions, &functions), plan, parameters, &mut memory);
            (plan, memory)
        };
        plans.iter().map(ready).collect()
    }
}

/// Changes what the integrals over the bins of a channel are for.
fn serve(plan: &mut ChannelPlan, purpose: Purpose) {
    plan.leaves.iter_mut().for_each(|leaf| leaf.serve(purpose));
}

/// Returns a channel whose bins are integrated with the care of a likelihood.
fn careful(plan: &ChannelPlan) -> ChannelPlan {
    let mut plan = plan.clone();
    serve(&mut plan, Purpose::Bin);
    plan
}

/// Returns the larger of two errors. An error that is not a number counts as infinite.
fn larger(a: f64, b: f64) -> f64 {
    if b.is_nan() { f64::INFINITY } else { a.max(b) }
}

/// Returns the value at `x` of the linear interpolation between neighbouring `points`. Below the first point and above
/// the last point, it returns the value at that point.
fn interpolated(points: &[(f64, f64)], x: f64) -> f64 {
    let above = points.partition_point(|point| point.0 < x);
    match (above.checked_sub(1).and_then(|below| points.get(below)), points.get(above)) {
        (Some(&(a, y)), Some(&(b, z))) => y + (z - y) * (x - a) / (b - a),
        (Some(&(_, y)), None) | (None, Some(&(_, y))) => y,
        (None, None) => 0.0,
    }
}
