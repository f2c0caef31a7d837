//! Densities with context: densities whose shape depends on further numbers, such as parameters of the model.
//! Conditional flows are an example.
//!
//! ONNX Runtime or another program computes the log-densities `l` of all events. It also computes the gradient `g` and
//! the Hessian `h` of `l` with respect to the context (the further numbers). `l`, `g` and `h` become further columns
//! of the events.
//!
//! The density of an event is then the formula `exp(l + g' d + d' h d / 2)`. Here `d` is the context minus the context
//! for which the columns were computed. When the formula is evaluated, `d` is always 0. There the formula has the same
//! value, first and second derivatives as the density. The rest of the evaluation is therefore the same as for other
//! densities.

use std::sync::{Arc, Mutex, PoisonError};

use ns_core::{ConditionalDensity, EventModelError, LogProbError, Value};

use super::convolution::{Source, TableMemory};
use super::crew::Crew;
use super::program::{Builder, Slot, Step, Unary, Values, components, pair};
use super::table::Locals;
use crate::pool::Pool;

/// Number of events whose log-densities one thread computes in one call. It is a constant, so results do not depend
/// on the number of threads.
const PIECE: usize = 4096;

/// One element of the context of a density: a constant or a variable. The context consists of the numbers on which
/// the density depends besides its features.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ContextNumber {
    Constant(f64),
    /// Index in the list of values that the channel uses. These values are the variables of the channel's program.
    Variable(usize),
}

impl ContextNumber {
    /// Returns the value of this number. `variables` contains the values of all variables.
    pub(super) fn of(self, variables: &[f64]) -> f64 {
        match self {
            Self::Constant(x) => x,
            Self::Variable(i) => variables.get(i).copied().unwrap_or(f64::NAN),
        }
    }
}

/// A density with context in an event channel, such as a flow whose shape depends on parameters.
#[derive(Debug, Clone)]
pub(super) struct Conditional {
    pub(super) density: ConditionalDensity,
    /// The context of the density. Each element is a constant or a value that the channel uses.
    context: Vec<ContextNumber>,
    /// Index of the column with the log-densities. The columns with the derivatives of the log-densities follow.
    first: usize,
    /// The table from which leaves read the density, if it has one. It then has no columns.
    pub(super) table: Option<Arc<Source>>,
}

impl Conditional {
    /// Prepares all densities with context (densities that depend on further numbers) of a channel. The columns of
    /// these densities follow the first `columns` columns of the events. `tables` are the densities that are tables.
    pub(super) fn all(
        found: &[&ConditionalDensity],
        mut columns: usize,
        locals: &mut Locals,
        tables: &[Arc<Source>],
    ) -> Vec<Self> {
        let mut number = |value: &Value| match (locals.index(*value), value) {
            (Some(local), _) => ContextNumber::Variable(local),
            (None, Value::Number(x)) => ContextNumber::Constant(*x),
            (None, _) => ContextNumber::Constant(f64::NAN),
        };
        let made = found.iter().map(|density| {
            let first = columns;
            let is_own =
                |table: &&Arc<Source>| std::ptr::addr_eq(Arc::as_ptr(*table), Arc::as_ptr(&density.source.0));
            let table = tables.iter().find(is_own).cloned();
            if table.is_none() {
                columns += components(density.context.len());
            }
            Self {
                density: (*density).clone(),
                context: density.context.iter().map(&mut number).collect(),
                first,
                table,
            }
        });
        made.collect()
    }

    /// Returns the numbers of the context of the density. `locals` contains the values that the channel uses.
    pub(super) fn context(&self, locals: &[f64]) -> Vec<f64> {
        self.context.iter().map(|number| number.of(locals)).collect()
    }

    /// Appends to the program `b` the steps that compute the density. Returns the slot (the index) of the result.
    ///
    /// The formula contains the distance `d` from the context for which the columns were computed. The program
    /// computes each component of `d` as a variable minus an auxiliary datum. When the program runs, its auxiliary
    /// data must be the values of its variables. `d` is then 0, but its derivatives are not.
    pub(super) fn value(&self, b: &mut Builder, values: Values<'_>) -> Slot {
        let c = self.context.len();
        let mut distances = Vec::with_capacity(c);
        for value in &self.density.context {
            let slot = values(b, *value);
            distances.push(b.variable(slot).map(|variable| {
                let here = b.push(Step::Datum(variable));
                b.sub(slot, here)
            }));
        }
        let mut exponent = b.push(Step::Observable(self.first));
        let mut add = |b: &mut Builder, component: usize, factor: Slot| {
            let column = b.push(Step::Observable(self.first + component));
            let product = b.mul(column, factor);
            exponent = b.add(exponent, product);
        };
        for (i, distance) in distances.iter().enumerate() {
            let Some(own) = *distance else { continue };
            add(b, 1 + i, own);
            for (j, other) in distances[..=i].iter().enumerate() {
                let Some(other) = *other else { continue };
                let both = b.mul(own, other);
                let both = if i == j { b.scale(0.5, both) } else { both };
                add(b, pair(c, i, j), both);
            }
        }
        b.unary(Unary::Exp, exponent)
    }
}

/// A piece: some events for which one thread evaluates a density.
#[derive(Debug, Default)]
struct Piece {
    /// Features (inputs of the density), event after event.
    rows: Vec<f64>,
    /// Log-densities and their derivatives, one column after the other.
    out: Vec<f64>,
    failure: Option<LogProbError>,
}

/// The columns of one density with context, for one set of events and one context.
#[derive(Debug, Default)]
pub(super) struct ConditionalMemory {
    context: Vec<f64>,
    /// The features of the events for which the columns were computed. Their addresses identify the events.
    features: Vec<Arc<[f64]>>,
    pieces: Vec<Mutex<Piece>>,
    pub(super) columns: Vec<Vec<f64>>,
}

impl Clone for ConditionalMemory {
    /// Returns empty memory. It is filled when it is needed.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl ConditionalMemory {
    /// Computes the columns for the events whose observables are `columns`. Does nothing if the columns for these
    /// events and this context are already known.
    ///
    /// # Errors
    /// If the density cannot be evaluated for an event.
    pub(super) fn update(
        &mut self,
        of: &Conditional,
        columns: &[Arc<[f64]>],
        locals: &[f64],
        crew: Option<&Crew>,
    ) -> Result<(), LogProbError> {
        let context = of.context(locals);
        if let Some(table) = &of.table {
            return table.prepare(&context, &mut TableMemory::default());
        }
        let features = of.density.observables.iter().filter_map(|&x| columns.get(x));
        let same = self.features.len() == of.density.observables.len()
            && features.clone().zip(&self.features).all(|(a, b)| Arc::ptr_eq(a, b));
        if same && context == self.context {
            return Ok(());
        }
        if !same {
            self.features = features.cloned().collect();
            self.split(of, columns);
        }
        // An empty context marks the memory as empty until everything is computed.
        self.context.clear();
        self.evaluate(of, &context, crew)?;
        self.context = context;
        Ok(())
    }

    /// Computes and returns the columns for the events whose observables are `columns`. Does not keep them for later
    /// calls.
    ///
    /// # Errors
    /// If the density cannot be evaluated for an event.
    pub(super) fn once<C: AsRef<[f64]>>(
        of: &Conditional,
        columns: &[C],
        locals: &[f64],
    ) -> Result<Vec<Vec<f64>>, LogProbError> {
        let mut memory = Self::default();
        if let Some(table) = &of.table {
            table.prepare(&of.context(locals), &mut TableMemory::default())?;
            return Ok(memory.columns);
        }
        memory.split(of, columns);
        memory.evaluate(of, &of.context(locals), None)?;
        Ok(memory.columns)
    }

    /// Divides the events into pieces, and copies the features (inputs of the density) of the events to the pieces.
    fn split<C: AsRef<[f64]>>(&mut self, of: &Conditional, columns: &[C]) {
        let n = columns.first().map_or(0, |column| column.as_ref().len());
        let width = components(of.context.len());
        self.pieces.clear();
        for from in (0..n).step_by(PIECE) {
            let events = from..n.min(from + PIECE);
            let mut piece = Piece { out: vec![0.0; width * events.len()], ..Piece::default() };
            of.density.push_rows(columns, events, &mut piece.rows);
            self.pieces.push(Mutex::new(piece));
        }
        self.columns = vec![Vec::with_capacity(n); width];
    }

    fn evaluate(
        &mut self,
        of: &Conditional,
        context: &[f64],
        crew: Option<&Crew>,
    ) -> Result<(), LogProbError> {
        let source = &*of.density.source.0;
        let pieces = &self.pieces;
        let work = |i: usize| {
            let mut piece = pieces[i].lock().unwrap_or_else(PoisonError::into_inner);
            let Piece { rows, out, failure } = &mut *piece;
            *failure = source.context_derivatives(rows, context, out).err();
        };
        let threads = crew.map_or(1, |crew| crew.threads);
        Pool::each(crew.map(|crew| &*crew.pool), threads, pieces.len(), &work);
        self.columns.iter_mut().for_each(Vec::clear);
        let width = self.columns.len();
        for (i, piece) in self.pieces.iter_mut().enumerate() {
            let piece = piece.get_mut().unwrap_or_else(PoisonError::into_inner);
            if let Some(mut failure) = piece.failure.take() {
                if let LogProbError::NotANumber { event, .. } = &mut failure {
                    *event += i * PIECE;
                }
                return Err(failure);
            }
            let n = piece.out.len() / width.max(1);
            for (column, part) in self.columns.iter_mut().zip(piece.out.chunks_exact(n.max(1))) {
                column.extend_from_slice(part);
            }
        }
        Ok(())
    }
}

/// Returns the error for a density that cannot be normalised at the initial parameters. The error names the process of
/// the density. `place` says which channel the density belongs to.
pub(super) fn at_start(place: &str, process: &str, cause: LogProbError) -> EventModelError {
    EventModelError::Conditional { place: place.to_owned(), process: process.to_owned(), cause }
}
