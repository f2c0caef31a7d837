//! The convolution or projection as a density that is read from a table.

use std::sync::{Arc, Mutex, PoisonError};

use ns_core::{Base, BoxIntegral, GradientMethod, LogProb, LogProbError, Observable};

use super::Integrand;
use super::panels::densities;
use super::table::Table;
use crate::events::program::components;
use crate::events::sums::BLOCK;
use crate::events::wide::{Wide, exponential};
use crate::simd::Level;

/// Number of tables that are kept. Threads that fit several toys at once are at different points.
const MOST_TABLES: usize = 16;

/// Tables with the points at which they were made, the latest last.
type Known = Vec<(Level, Vec<f64>, Arc<Table>)>;

/// The table at one point, for the evaluation of events.
#[derive(Debug, Clone, Default)]
pub(in crate::events) struct TableMemory(Option<Arc<Table>>);

impl TableMemory {
    /// Writes the density at at most [`BLOCK`] events, with its derivatives, to `out`: for each component a column of [`BLOCK`]
    /// numbers. They are not numbers if there is no table.
    pub(in crate::events) fn densities(&self, level: Level, events: &[f64], out: &mut [f64]) {
        debug_assert!(events.len() <= BLOCK);
        match &self.0 {
            Some(table) => densities(level, table, events, out),
            None => out.fill(f64::NAN),
        }
    }
}

/// A convolution or projection, whose context are the parameters of its densities.
#[derive(Debug)]
pub(in crate::events) struct Source {
    name: String,
    axis: Observable,
    support: [(f64, f64); 1],
    integrand: Integrand,
    context: Vec<String>,
    digest: String,
    level: Level,
    known: Mutex<Known>,
}

impl Source {
    pub(super) fn new(
        (what, digest): (&str, String),
        axis: &Observable,
        integrand: Integrand,
        numbers: usize,
        level: Level,
    ) -> Self {
        Self {
            name: format!("{what} along {}", axis.name),
            axis: axis.clone(),
            support: [(axis.min, axis.max)],
            integrand,
            context: (0..numbers).map(|i| format!("number {i}")).collect(),
            digest: format!("{digest} {} {}", axis.min, axis.max),
            level,
            known: Mutex::default(),
        }
    }

    /// Reads the table at a point, in which it is made if it is not known.
    ///
    /// # Errors
    /// If the convolution is not a density.
    pub(in crate::events) fn prepare(
        &self,
        context: &[f64],
        to: &mut TableMemory,
    ) -> Result<(), LogProbError> {
        to.0 = None;
        to.0 = Some(self.table(self.level, context)?);
        Ok(())
    }

    /// Returns the density at one event with its derivatives, as numbers of a wide range.
    pub(in crate::events) fn wide(&self, x: f64, context: &[f64]) -> Option<Vec<Wide>> {
        let table = self.table(self.level, context).ok()?;
        let mut row = vec![0.0; table.size()];
        table.at(x, &mut row);
        Some(exponential(&row, table.variables))
    }

    /// Returns the table at a point.
    fn table(&self, level: Level, context: &[f64]) -> Result<Arc<Table>, LogProbError> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |(of, at, _): &(Level, Vec<f64>, Arc<Table>)| *of == level && at == context;
        if let Some((_, _, table)) = known().iter().find(|entry| is_it(entry)) {
            return Ok(Arc::clone(table));
        }
        if context.len() != self.context.len() {
            return Err(LogProbError::WrongLength {
                density: self.name.clone(),
                what: "the context",
                actual: context.len(),
                expected: self.context.len(),
            });
        }
        let made = Table::new(level, &self.integrand, context, &self.axis).map_err(|failure| {
            LogProbError::NotNormalised { density: self.name.clone(), cause: failure.message().to_owned() }
        })?;
        let made = Arc::new(made);
        let mut known = known();
        if known.len() >= MOST_TABLES {
            known.remove(0);
        }
        known.push((level, context.to_vec(), Arc::clone(&made)));
        Ok(made)
    }

    /// Writes the first components of the log-density at each event to `out`, one column after another.
    fn columns(
        &self,
        events: &[f64],
        context: &[f64],
        count: usize,
        out: &mut [f64],
    ) -> Result<(), LogProbError> {
        let n = events.len();
        self.check("the result", out.len(), n * count)?;
        let table = self.table(self.level, context)?;
        let mut row = vec![0.0; count];
        for (event, &x) in events.iter().enumerate() {
            table.at(x, &mut row);
            for (component, value) in row.iter().enumerate() {
                out[component * n + event] = *value;
            }
        }
        Ok(())
    }

    fn check(&self, what: &'static str, actual: usize, expected: usize) -> Result<(), LogProbError> {
        if actual == expected {
            return Ok(());
        }
        Err(LogProbError::WrongLength { density: self.name.clone(), what, actual, expected })
    }
}

impl LogProb for Source {
    fn name(&self) -> &str {
        &self.name
    }

    fn dimension(&self) -> usize {
        1
    }

    fn context(&self) -> &[String] {
        &self.context
    }

    fn gradient_method(&self) -> Option<GradientMethod> {
        None
    }

    fn rounding(&self) -> f64 {
        1.0
    }

    fn support(&self) -> &[(f64, f64)] {
        &self.support
    }

    fn digest(&self) -> &str {
        &self.digest
    }

    fn log_prob(&self, events: &[f64], context: &[f64], out: &mut [f64]) -> Result<(), LogProbError> {
        self.columns(events, context, 1, out)
    }

    fn context_gradient(
        &self,
        events: &[f64],
        context: &[f64],
        out: &mut [f64],
    ) -> Result<GradientMethod, LogProbError> {
        let (n, c) = (events.len(), context.len());
        self.check("the gradient", out.len(), n * c)?;
        let mut columns = vec![0.0; n * (1 + c)];
        self.columns(events, context, 1 + c, &mut columns)?;
        for (event, row) in out.chunks_exact_mut(c.max(1)).enumerate() {
            for (i, to) in row.iter_mut().enumerate() {
                *to = columns[(1 + i) * n + event];
            }
        }
        Ok(GradientMethod::Graph)
    }

    fn context_derivatives(
        &self,
        events: &[f64],
        context: &[f64],
        out: &mut [f64],
    ) -> Result<(), LogProbError> {
        self.columns(events, context, components(context.len()), out)
    }

    fn integral(&self, sides: &[(f64, f64)], context: &[f64]) -> Result<BoxIntegral, LogProbError> {
        let mut out = [0.0];
        let error = self.integral_of(sides, context, &mut out)?;
        Ok(BoxIntegral { value: out[0], error, panels: 1 })
    }

    fn integral_derivatives(
        &self,
        sides: &[(f64, f64)],
        _panels: usize,
        context: &[f64],
        out: &mut [f64],
    ) -> Result<f64, LogProbError> {
        self.check("the integral", out.len(), components(context.len()))?;
        self.integral_of(sides, context, out)
    }

    fn base(&self) -> Option<(Base, usize)> {
        Some((Base::Uniform, 1))
    }

    fn sample(&self, base: &[f64], context: &[f64], out: &mut [f64]) -> Result<(), LogProbError> {
        self.check("the sample", out.len(), base.len())?;
        // The baseline instruction set gives the same toys on every CPU of one architecture.
        let table = self.table(Level::Baseline, context)?;
        base.iter().zip(out).for_each(|(share, to)| *to = table.place(*share));
        Ok(())
    }
}

impl Source {
    fn integral_of(
        &self,
        sides: &[(f64, f64)],
        context: &[f64],
        out: &mut [f64],
    ) -> Result<f64, LogProbError> {
        let &[ends] = sides else {
            return Err(LogProbError::WrongLength {
                density: self.name.clone(),
                what: "the box",
                actual: sides.len(),
                expected: 1,
            });
        };
        let table = self.table(self.level, context)?;
        out.fill(0.0);
        Ok(table.integrate(ends, out))
    }
}
