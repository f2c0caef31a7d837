//! What every analysis command does around its one call of the library: open output, model and
//! session before the work; show progress and hear Ctrl-C during it; write the result after it.

use std::time::Instant;

use ns_core::{Control, Model, Session};
use ns_inference::open_session;
use serde::Serialize;

use crate::args::{ExecutionArgs, ModelArgs, OutputArgs};
use crate::error::CliError;
use crate::output::Output;
use crate::progress::Bar;
use crate::record::Record;
use crate::{interrupt, load};

/// One command at work.
pub(crate) struct Job {
    started: Instant,
    output: Output,
    quiet: bool,
    pub(crate) model: Model,
    pub(crate) session: Box<dyn Session>,
}

impl Job {
    /// Opens everything that can be wrong, the cheapest first.
    ///
    /// # Errors
    /// For an output that cannot be written, an invalid workspace, or a device that is not there.
    pub(crate) fn open(
        model: &ModelArgs,
        execution: &ExecutionArgs,
        output: &OutputArgs,
    ) -> Result<Self, CliError> {
        let started = Instant::now();
        let quiet = output.quiet;
        let output = Output::open(output)?;
        let model = load::model(model)?;
        let session = open_session(&model, &execution.execution())?;
        Ok(Self { started, output, quiet, model, session })
    }

    /// Calls the library with a progress bar and a flag that the first Ctrl-C sets.
    ///
    /// # Errors
    /// Those of the analysis.
    pub(crate) fn work<'a, T, E>(
        &'a self,
        what: &'static str,
        analysis: impl FnOnce(&'a Model, &'a dyn Session, Control<'_>) -> Result<T, E>,
    ) -> Result<T, CliError>
    where
        CliError: From<E>,
    {
        let bar = Bar::new(what, self.quiet);
        let control = Control { observer: Some(&bar), cancel: Some(interrupt::listen()) };
        let result = analysis(&self.model, self.session.as_ref(), control);
        bar.finish();
        Ok(result?)
    }

    /// Writes the result as JSON, or as the table that `table` makes of it, with a closing line on what
    /// ran.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn finish<T: Serialize>(
        self,
        result: &T,
        warnings: &[String],
        table: impl FnOnce(&Model) -> String,
    ) -> Result<(), CliError> {
        let record = Record::new(result, self.session.device(), Some(&self.model), self.started);
        let closing = format!(
            "measurement {}, {:.1} ms on {}\ninterpolation: {}",
            self.model.measurement,
            1e3 * record.seconds(),
            self.session.device(),
            self.model.interpolation
        );
        self.output.write(&record, warnings, || format!("{}\n{closing}", table(&self.model)))
    }
}
