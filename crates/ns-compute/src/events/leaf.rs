//! Leaves: compiled basic densities that are evaluated for every event.

use std::sync::Arc;

use ns_core::{Density, Value};

use super::bin_means::{BinMeans, BinMeansMemory};
use super::conditional::Conditional;
use super::convolution::{Source, TableMemory};
use super::densities::{self, Space};
use super::integral::Purpose;
use super::kernels::Kernel;
use super::program::{Builder, Memory, Program, Slot, Sources, Step, components};
use super::sums::Point;
use super::table::Locals;
use super::wide::Wide;
use crate::simd::Level;

/// A leaf: a density without normalisation that is neither a product nor a mixture.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    pub(super) density: Density,
    /// Indices of those values of the channel that are the variables of the density.
    pub(super) variables: Vec<usize>,
    program: Program,
    kernel: Option<Kernel>,
    /// The table that replaces the program, and the index of its observable.
    table: Option<(Arc<Source>, usize)>,
    /// Means over bins that replace the density. They are used if the data are a histogram and its contents are
    /// compared with integrals over the bins.
    means: Option<Box<BinMeans>>,
}

/// Working memory for the evaluation of one leaf (basic density).
#[derive(Debug, Clone)]
pub(super) struct LeafMemory {
    memory: Memory,
    variables: Vec<f64>,
    /// Value and derivatives of the density for each event. This field is used if a kernel (a loop for one frequent
    /// density) or a table computes the density, or if means over bins replace it.
    columns: Vec<f64>,
    table: TableMemory,
    means: BinMeansMemory,
}

/// Assigns values (constants, parameters, and functions of parameters) to slots (indices of results) of a program.
/// Constants stay constants. All other values become variables of the program.
#[derive(Debug, Default)]
pub(super) struct Variables {
    /// Indices of the channel's values that are the variables of the program, in the order of the variables.
    pub(super) locals: Vec<usize>,
}

impl Variables {
    /// Returns the slot (index of the result) of a value in the program `b`. Appends a step if necessary.
    pub(super) fn slot(&mut self, b: &mut Builder, value: Value, locals: &mut Locals) -> Slot {
        let Some(local) = locals.index(value) else {
            return b.number(if let Value::Number(x) = value { x } else { f64::NAN });
        };
        let variable = self.locals.iter().position(|&known| known == local).unwrap_or_else(|| {
            self.locals.push(local);
            self.locals.len() - 1
        });
        b.push(Step::Variable(variable))
    }
}

impl Leaf {
    /// Compiles a density to a leaf. Returns `None` if the density has no formula. `conditionals` contains the
    /// densities with context (densities that depend on further numbers) of the channel.
    pub(super) fn new(
        density: &Density,
        space: Space<'_>,
        conditionals: &[Conditional],
        locals: &mut Locals,
    ) -> Option<Self> {
        let (mut b, mut variables) = (Builder::default(), Variables::default());
        let mut values = |b: &mut Builder, value: Value| variables.slot(b, value, locals);
        let mut table = None;
        let result = match density {
            Density::Conditional(own) => {
                let known = conditionals.iter().find(|known| known.density == *own)?;
                table = known.table.clone().zip(own.observables.first().copied());
                known.value(&mut b, &mut values)
            }
            _ => densities::value(&mut b, density, space, &mut values)?,
        };
        let program = b.finish(result, variables.locals.len(), &[]);
        let kernel =
            Kernel::new(density, space).filter(|kernel| kernel.variables() == variables.locals.len());
        Some(Self {
            density: density.clone(),
            variables: variables.locals,
            program,
            kernel,
            table,
            means: None,
        })
    }

    /// Creates a leaf whose values are the means over bins of a product of densities. Returns `None` if a density has
    /// no formula or no integral.
    pub(super) fn of_bins(
        factors: &[Density],
        space: Space<'_>,
        locals: &mut Locals,
        means: impl FnOnce(&mut Vec<usize>) -> Option<BinMeans>,
    ) -> Option<Self> {
        let (mut b, mut variables) = (Builder::default(), Variables::default());
        let mut product = b.number(1.0);
        for factor in factors {
            let mut values = |b: &mut Builder, value: Value| variables.slot(b, value, locals);
            let factor = densities::value(&mut b, factor, space, &mut values)?;
            product = b.mul(product, factor);
        }
        let means = means(&mut variables.locals)?;
        let program = b.finish(product, variables.locals.len(), &[]);
        let density = match factors {
            [only] => only.clone(),
            several => Density::Product(several.to_vec()),
        };
        let means = Some(Box::new(means));
        Some(Self { density, variables: variables.locals, program, kernel: None, table: None, means })
    }

    /// Changes what the integrals over bins are for, if there are any.
    pub(super) fn serve(&mut self, purpose: Purpose) {
        if let Some(means) = &mut self.means {
            means.serve(purpose);
        }
    }

    /// Returns whether means over bins replace the density.
    pub(super) fn is_of_bins(&self) -> bool {
        self.means.is_some()
    }

    /// Returns the observables of the density, in ascending order.
    pub(super) fn observables(&self) -> Vec<usize> {
        let mut own = self.density.observables();
        own.sort_unstable();
        own.dedup();
        own
    }

    /// Returns whether the density is a formula of its observables.
    pub(super) fn has_formula(&self) -> bool {
        !matches!(self.density, Density::Log(_) | Density::Conditional(_))
    }

    /// Returns the program that computes the density by its formula.
    pub(super) fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the kernel (a loop for one frequent density) that computes the density in place of the program, if there
    /// is one.
    pub(super) fn kernel(&self) -> Option<&Kernel> {
        self.kernel.as_ref()
    }

    /// Allocates the working memory for blocks of `lanes` events.
    pub(super) fn memory(&self, lanes: usize) -> LeafMemory {
        let columns = match &self.kernel {
            Some(kernel) => kernel.columns(),
            None if self.has_program() => Vec::new(),
            None => vec![0.0; lanes * components(self.variables.len())],
        };
        LeafMemory {
            memory: if self.has_program() { Memory::new(&self.program, lanes) } else { Memory::default() },
            variables: vec![0.0; self.variables.len()],
            columns,
            table: TableMemory::default(),
            means: self.means.as_ref().map(|means| means.memory()).unwrap_or_default(),
        }
    }

    /// Returns whether the program computes the density of events.
    fn has_program(&self) -> bool {
        self.kernel.is_none() && self.means.is_none() && self.table.is_none()
    }

    /// Prepares the evaluation of blocks of events. `locals` contains the values that the channel uses.
    pub(super) fn prepare(&self, level: Level, locals: &[f64], memory: &mut LeafMemory) {
        for (to, &local) in memory.variables.iter_mut().zip(&self.variables) {
            *to = locals[local];
        }
        if let Some(means) = &self.means {
            means.prepare(level, locals, &mut memory.means);
        } else if let Some((table, _)) = &self.table {
            // Without a table the densities are not numbers. The reason is that of the integral of the density.
            let _ = table.prepare(&memory.variables, &mut memory.table);
        } else if self.kernel.is_none() {
            // The program of a density with context subtracts the values of its variables from these variables.
            let variables = memory.variables.as_slice();
            let sources = Sources { data: variables, ..Sources::of(variables) };
            self.program.prepare(level, sources, &mut memory.memory);
        }
    }

    /// Evaluates the density and its derivatives for a block of events: the events `from..from + n` of `columns`.
    pub(super) fn run(
        &self,
        level: Level,
        columns: &[&[f64]],
        from: usize,
        n: usize,
        memory: &mut LeafMemory,
    ) {
        match (&self.kernel, &self.means, &self.table) {
            (Some(kernel), ..) => {
                kernel.run(level, &memory.variables, columns, (from, n), &mut memory.columns)
            }
            (None, Some(means), _) => means.look_up(columns, (from, n), &memory.means, &mut memory.columns),
            (None, None, Some((_, x))) => {
                memory.table.densities(level, &columns[*x][from..from + n], &mut memory.columns);
            }
            (None, None, None) => self.program.run(level, columns, from, n, &mut memory.memory),
        }
    }

    /// Returns the largest relative error of the means over bins, with the index of the process to which it belongs.
    /// Returns `None` if the density is evaluated at every event.
    pub(super) fn integral_error(&self, memory: &LeafMemory) -> Option<(f64, usize)> {
        self.means.as_ref().map(|_| memory.means.error)
    }

    /// Returns the density and its derivatives for the events of the last block. Each component (value or derivative)
    /// is a column of `lanes` numbers.
    pub(super) fn result<'a>(&self, memory: &'a LeafMemory) -> &'a [f64] {
        if self.has_program() { memory.memory.value(&self.program) } else { &memory.columns }
    }

    /// Returns the same numbers as [`Self::result`], to change them.
    pub(super) fn result_mut<'a>(&self, memory: &'a mut LeafMemory) -> &'a mut [f64] {
        if self.has_program() { memory.memory.value_mut(&self.program) } else { &mut memory.columns }
    }

    /// Returns the density of the event `index`, or its mean over the bin, with its derivatives, as numbers of a wide range.
    /// Returns `None` if the program computes it.
    pub(super) fn wide(&self, point: Point<'_>, columns: &[&[f64]], index: usize) -> Option<Vec<Wide>> {
        if let Some((table, x)) = &self.table {
            let context: Vec<f64> = self.variables.iter().map(|&local| point.locals[local]).collect();
            return table.wide(columns[*x][index], &context);
        }
        self.means.as_ref().map(|means| means.wide(point, columns, index))
    }

    /// Returns two lists. The first contains the variables for which the first derivative of the density may differ
    /// from zero. The second contains the pairs of variables for which the second derivative may differ from zero.
    pub(super) fn active(&self) -> (&[usize], &[(usize, usize)]) {
        self.program.result().map_or((&[], &[]), |active| (&active.first, &active.second))
    }
}
