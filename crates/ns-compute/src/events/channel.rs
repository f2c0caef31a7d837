//! A compiled event channel.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use ns_core::{Binning, EventChannel, EventModelError, LogDensity, LogProbError, Value};

use super::bin_means::{is_integrated, over_bins};
use super::conditional::{Conditional, at_start};
use super::convolution::resolved;
use super::expand::{Amount, Expansion, Term, divide};
use super::integral::Integral;
use super::leaf::Leaf;
use super::program::{Builder, Components, Program};
use super::sources::{AtStart, Local};
use crate::simd::Level;

/// Largest number of bins of a channel whose bin contents are compared with integrals of the density.
pub(super) const MOST_BINS: usize = 20_000;

/// Largest number of parts of grids for which log-densities are kept.
const MOST_PARTS: usize = 2000;

/// Columns of log-densities at the nodes of parts of a grid. A part is identified by the bits of its boundaries.
type KnownLogs = BTreeMap<Vec<u64>, Vec<Vec<f64>>>;

/// One term of a channel's density: an amplitude (a number that is the same for all events) times a product of leaves
/// (basic densities).
#[derive(Debug, Clone)]
pub(super) struct Amplitude {
    /// Program that computes the amplitude from the values that the channel uses and from its integrals.
    pub(super) program: Program,
    /// Indices of the leaves (basic densities) that the amplitude multiplies.
    pub(super) leaves: Vec<usize>,
}

/// One event channel: `-ln L = sum rates - sum_i w_i ln sum_t a_t prod_j p_tj(x_i)`. `x_i` are the observables of event
/// `i`, and `w_i` is its weight.
///
/// `a_t` is the amplitude of term `t`. `p_tj` are the densities of the term, which are called leaves. The
/// *coordinates* of the sum over events are first the amplitudes, then the shape variables of each leaf in turn. Each
/// coordinate is a function of the channel's *values*, which are parameters or functions of parameters.
#[derive(Debug, Clone)]
pub(crate) struct ChannelPlan {
    /// Number of observables of the channel.
    pub(super) observables: usize,
    /// Densities whose logarithms are columns of the events. These columns come after the columns of the observables.
    pub(super) logs: Vec<LogDensity>,
    /// The log-densities `logs` at grid points of Asimov data, as columns.
    known_logs: Arc<Mutex<KnownLogs>>,
    /// Densities with context (densities that depend on constants and on values that the channel uses). Their columns
    /// come after all other columns.
    pub(super) conditionals: Vec<Conditional>,
    /// Fit ranges: boxes, each with a lower and an upper end per observable.
    pub(super) boxes: Vec<Vec<(f64, f64)>>,
    pub(super) extended: bool,
    /// Bins of the data; `None` if the data are single events.
    pub(super) binning: Option<Binning>,
    /// Values that the channel uses. Each is a parameter or a function of parameters.
    pub(super) locals: Vec<Local>,
    pub(super) leaves: Vec<Leaf>,
    pub(super) integrals: Vec<Integral>,
    /// Sums of products of integrals that normalise the densities: [`Expansion::normalisations`].
    pub(super) normalisations: Vec<Vec<Vec<usize>>>,
    pub(super) terms: Vec<Amplitude>,
    /// For each leaf (basic density), the index of the coordinate that is its first variable.
    pub(super) first: Vec<usize>,
    /// Number of coordinates of the sum over events: all amplitudes, and the shape variables of all leaves.
    pub(super) coordinates: usize,
    /// Constant part of the sum of the rates (expected numbers of events). The sum is a part of `-ln L`. Its other
    /// part is the sum of the channel's values whose indices are in `rates`.
    pub(super) constant_rate: f64,
    pub(super) rates: Vec<usize>,
    /// Program that computes the expected number of events from the values that the channel uses and from its integrals.
    /// `None` if it is the sum of the rates.
    pub(super) total: Option<Program>,
    /// Parameters on which the channel depends, in ascending order.
    pub(super) parameters: Vec<usize>,
}

impl ChannelPlan {
    /// Returns the number of columns of the channel's events. Columns of densities with context are not included in
    /// this number.
    pub(super) fn columns(&self) -> usize {
        self.logs.last().map_or(self.observables, |last| last.column + 1)
    }

    /// Returns whether all densities of the channel are formulae.
    pub(super) fn has_formulas(&self) -> bool {
        self.logs.is_empty() && self.conditionals.is_empty()
    }

    /// Returns the relative rounding error of the densities: far above that of 64-bit numbers if a neural network
    /// computes a density with 32-bit numbers.
    pub(super) fn rounding(&self) -> f64 {
        let logs = self.logs.iter().map(|density| &density.source);
        let sources = logs.chain(self.conditionals.iter().map(|own| &own.density.source));
        f64::EPSILON * sources.map(|source| source.0.rounding()).fold(1.0, f64::max)
    }

    /// Returns the log-densities at nodes whose observables are `columns`, one column per log-density. `part`
    /// identifies the nodes: the numbers are kept, and later calls return the same numbers.
    ///
    /// # Errors
    /// If a density cannot be evaluated at a node.
    pub(super) fn logs_at(
        &self,
        part: Option<Vec<u64>>,
        columns: &[Vec<f64>],
    ) -> Result<Vec<Vec<f64>>, LogProbError> {
        if self.logs.is_empty() {
            return Ok(Vec::new());
        }
        let known = || self.known_logs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = part.as_ref().and_then(|part| known().get(part).cloned()) {
            return Ok(found);
        }
        let mut made = vec![Vec::new(); self.columns() - self.observables];
        for density in &self.logs {
            made[density.column - self.observables] = density.evaluate(columns)?;
        }
        let mut known = known();
        if let Some(part) = part.filter(|_| known.len() < MOST_PARTS) {
            known.insert(part, made.clone());
        }
        Ok(made)
    }

    /// Compiles a channel. `functions` contains the initial values of all parameters and functions of parameters.
    pub(super) fn new(channel: &EventChannel, functions: &AtStart<'_>) -> Result<Self, EventModelError> {
        let cannot = || EventModelError::CannotNormalise {
            place: channel.name.clone(),
            process: channel.processes.first().map(|process| process.name.clone()).unwrap_or_default(),
        };
        let (channel, tables) = resolved(channel, Level::detect()).ok_or_else(cannot)?;
        let channel = &*channel;
        let logs: Vec<LogDensity> = channel.log_densities().into_iter().cloned().collect();
        let columns = logs.last().map_or(channel.observables.len(), |last| last.column + 1);
        let start = |value: Value| functions.value(value);
        let mut expansion = Expansion::new(channel, columns, &start, &tables);
        expansion.boxes = channel.references();
        let mut terms: Vec<Term> = Vec::new();
        for (index, process) in channel.processes.iter().enumerate() {
            expansion.process = index;
            let own = expansion.terms(&process.density).ok_or_else(|| match expansion.failure.take() {
                Some(cause) => at_start(&channel.name, &process.name, cause),
                None => EventModelError::CannotNormalise {
                    place: channel.name.clone(),
                    process: process.name.clone(),
                },
            })?;
            terms.extend(own.into_iter().map(|term| Term {
                amount: Amount::Product(vec![Amount::Value(process.rate), term.amount]),
                leaves: term.leaves,
            }));
        }
        expansion.boxes = channel.boxes();
        let mut expected = None;
        if expansion.boxes != channel.references() {
            let total = expansion.expected(&terms).ok_or_else(cannot)?;
            if channel.extended {
                expected = Some(total);
            } else {
                divide(&mut terms, &total);
            }
        }
        if is_integrated(channel) {
            let bins = |edges: &Vec<f64>| edges.len() - 1;
            let count = channel.binning.iter().flat_map(|b| &b.edges).map(bins).product();
            if count > MOST_BINS {
                let (place, most) = (channel.name.clone(), MOST_BINS);
                return Err(EventModelError::TooManyBins { place, count, most });
            }
            terms = over_bins(&mut expansion, terms).ok_or_else(cannot)?;
        }
        let (mut constant_rate, mut rates) = (0.0, Vec::new());
        if channel.extended && expected.is_none() {
            for process in &channel.processes {
                match (process.rate, expansion.locals.index(process.rate)) {
                    (Value::Number(rate), _) => constant_rate += rate,
                    (_, index) => rates.extend(index),
                }
            }
        }
        let inputs: Vec<Components> = expansion
            .integrals
            .iter()
            .map(|integral| {
                let moved = |i: &usize| integral.variables[*i];
                let own = integral.components();
                let first: Vec<usize> = own.first.iter().map(moved).collect();
                Components::of_variables(&first)
            })
            .collect();
        let mut built = Vec::new();
        for term in terms {
            let mut b = Builder::default();
            let result = term.amount.build(&mut b, &mut expansion.locals);
            built.push((b, result, term.leaves));
        }
        let total = expected.map(|total| {
            let mut b = Builder::default();
            let result = total.build(&mut b, &mut expansion.locals);
            (b, result)
        });
        let values = expansion.locals.values;
        let terms: Vec<Amplitude> = built
            .into_iter()
            .map(|(b, result, leaves)| Amplitude { program: b.finish(result, values.len(), &inputs), leaves })
            .collect();
        let total = total.map(|(b, result)| b.finish(result, values.len(), &inputs));
        let mut first = Vec::new();
        let mut coordinates = terms.len();
        for leaf in &expansion.leaves {
            first.push(coordinates);
            coordinates += leaf.variables.len();
        }
        let mut parameters: Vec<usize> =
            values.iter().flat_map(|&value| functions.dependencies(value)).collect();
        parameters.sort_unstable();
        parameters.dedup();
        Ok(Self {
            observables: channel.observables.len(),
            logs,
            known_logs: Arc::default(),
            conditionals: expansion.conditionals,
            boxes: channel.boxes(),
            extended: channel.extended,
            binning: channel.binning.clone(),
            locals: values.iter().map(|&value| functions.local(value, &parameters)).collect(),
            leaves: expansion.leaves,
            integrals: expansion.integrals,
            normalisations: expansion.normalisations,
            terms,
            first,
            coordinates,
            constant_rate,
            rates,
            total,
            parameters,
        })
    }
}
