//! Densities with context, such as flows whose shape depends on parameters.
//!
//! ONNX Runtime or another program computes the log-densities `l` of all events, with their gradient `g` and Hessian
//! `h` with respect to the context. These numbers become further columns, after the columns of the events. The density
//! of a block of events is then the formula `exp(l + g' d + d' h d / 2)`. Here `d` is the difference between the
//! context and the context for which the columns were computed. `d` is always 0, so the formula has the value and both
//! derivatives of the density, and the rest of the evaluation is the same as for other densities.

use std::sync::{Arc, Mutex, PoisonError};

use ns_core::{ConditionalDensity, EventModelError, LogProbError, Value};

use super::crew::Crew;
use super::program::{Builder, Slot, Step, Unary, Values, components, pair};
use super::table::Locals;
use crate::pool::Pool;

/// Number of events whose log-densities one thread computes in a call. It is constant, so that results do not depend on
/// the number of threads.
const PIECE: usize = 4096;

/// One number of a context.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ContextNumber {
    Constant(f64),
    /// Index of a variable, or of a value of the channel.
    Variable(usize),
}

impl ContextNumber {
    /// Returns the number, given the variables.
    pub(super) fn of(self, variables: &[f64]) -> f64 {
        match self {
            Self::Constant(x) => x,
            Self::Variable(i) => variables.get(i).copied().unwrap_or(f64::NAN),
        }
    }
}

/// A density with context in a channel.
#[derive(Debug, Clone)]
pub(super) struct Conditional {
    pub(super) density: ConditionalDensity,
    /// The context of the density: constants and values of the channel.
    context: Vec<ContextNumber>,
    /// Index of the column with the log-densities. The columns with the derivatives come after this column.
    first: usize,
}

impl Conditional {
    /// Returns the densities with context of a channel. Their columns come after the first `columns` columns.
    pub(super) fn all(found: &[&ConditionalDensity], mut columns: usize, locals: &mut Locals) -> Vec<Self> {
        let mut number = |value: &Value| match (locals.index(*value), value) {
            (Some(local), _) => ContextNumber::Variable(local),
            (None, Value::Number(x)) => ContextNumber::Constant(*x),
            (None, _) => ContextNumber::Constant(f64::NAN),
        };
        let made = found.iter().map(|density| {
            let first = columns;
            columns += components(density.context.len());
            Self {
                density: (*density).clone(),
                context: density.context.iter().map(&mut number).collect(),
                first,
            }
        });
        made.collect()
    }

    /// Returns the context, given the values `locals` of the channel.
    pub(super) fn context(&self, locals: &[f64]) -> Vec<f64> {
        self.context.iter().map(|number| number.of(locals)).collect()
    }

    /// Appends the steps of the density. The data of the program are the values of its variables, so each difference is
    /// a variable minus its value.
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

/// Some events, for which one thread evaluates a density.
#[derive(Debug, Default)]
struct Piece {
    /// Features, event after event.
    rows: Vec<f64>,
    /// Log-densities and their derivatives, column after column.
    out: Vec<f64>,
    failure: Option<LogProbError>,
}

/// The columns of one density for one set of events and one context.
#[derive(Debug, Default)]
pub(super) struct ConditionalMemory {
    context: Vec<f64>,
    /// The features of the events for which the columns were computed.
    features: Vec<Arc<[f64]>>,
    pieces: Vec<Mutex<Piece>>,
    pub(super) columns: Vec<Vec<f64>>,
}

impl Clone for ConditionalMemory {
    /// Returns empty memory, which is filled when it is needed.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl ConditionalMemory {
    /// Computes the columns for the events of a table with these columns, unless they are known already.
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
        // The memory counts as empty until everything is computed.
        self.context.clear();
        self.evaluate(of, &context, crew)?;
        self.context = context;
        Ok(())
    }

    /// Computes the columns for other events, whose observables are `columns`.
    ///
    /// # Errors
    /// If the density cannot be evaluated for an event.
    pub(super) fn once<C: AsRef<[f64]>>(
        of: &Conditional,
        columns: &[C],
        locals: &[f64],
    ) -> Result<Vec<Vec<f64>>, LogProbError> {
        let mut memory = Self::default();
        memory.split(of, columns);
        memory.evaluate(of, &of.context(locals), None)?;
        Ok(memory.columns)
    }

    /// Divides the events into pieces.
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

/// Returns an error that names the process whose density cannot be normalised at the start values.
pub(super) fn at_start(place: &str, process: &str, cause: LogProbError) -> EventModelError {
    EventModelError::Conditional { place: place.to_owned(), process: process.to_owned(), cause }
}
