//! Shared code of all analysis commands. Before the analysis a command opens the output, the model and the
//! session. During the analysis it shows progress and handles Ctrl-C. After the analysis it writes the
//! result.

use std::sync::atomic::Ordering;
use std::time::Instant;

use ns_core::{Control, Execution, Model, Session};
use ns_inference::present::{count, duration};
use ns_inference::report::hepdata::DataTable;
use ns_inference::report::{Part, PerPoi, Report, RunInfo};
use ns_inference::{FitData, InferenceError, Opened, Work, open_session_for};
use ns_translate::pyhf::file_of;
use serde::Serialize;

use crate::args::ModelArgs;
use crate::data_args::RunArgs;
use crate::error::CliError;
use crate::output::{Output, complain, distinct};
use crate::progress::Bar;
use crate::{interrupt, load};

/// Says on standard error what the model has, and which device is used.
pub(crate) fn about(model: &Model, session: &dyn Session, reason: Option<&str>, started: Instant) {
    let free = model.parameters.iter().filter(|parameter| !parameter.fixed).count();
    let ready = duration(started.elapsed().as_secs_f64());
    complain(
        "model",
        &format!(
            "{}, {}, {}, {} ({free} free), ready after {ready}",
            model.measurement,
            count(model.channels.len() + model.event_channels.len(), "channel"),
            count(model.n_bins(), "bin"),
            count(model.parameters.len(), "parameter"),
        ),
    );
    let why = reason.map_or_else(String::new, |reason| format!(", {reason}"));
    complain("device", &format!("{}{why}", session.device()));
}

/// A running analysis command.
pub(crate) struct Job {
    started: Instant,
    output: Output,
    quiet: bool,
    pub(crate) model: Model,
    session: Box<dyn Session>,
    /// The data that the fits use.
    data: FitData,
    execution: Execution,
    work: Work,
    /// Reason why `auto` chose the device; `None` if the user named the device.
    reason: Option<String>,
}

impl Job {
    /// Opens the output, the model and the session. Cheap steps come first, so that errors are found early.
    /// `work` describes the fits of the analysis, which influence the choice of the device `auto`.
    ///
    /// # Errors
    /// For an output that cannot be written, an invalid workspace, or a device that is not available.
    pub(crate) fn open(model: &ModelArgs, run: &RunArgs, work: Work) -> Result<Self, CliError> {
        Self::open_for(model, run, work, run.data.needs_no_observations())
    }

    /// Opens a job like [`Self::open`]. If `unobserved` is true, channels may lack observations.
    ///
    /// # Errors
    /// The errors of [`Self::open`].
    pub(crate) fn open_for(
        model: &ModelArgs,
        run: &RunArgs,
        work: Work,
        unobserved: bool,
    ) -> Result<Self, CliError> {
        let started = Instant::now();
        let RunArgs { execution, output, .. } = run;
        let quiet = output.quiet;
        distinct([("--input", Some(file_of(&model.input))), ("--output", output.output.as_deref())])?;
        let output = Output::open(output)?;
        let execution = execution.execution();
        let model = load::model(model, execution.device, unobserved)?;
        let Opened { session, reason } = open_session_for(&model, &execution, work)?;
        if run.output.verbose {
            about(&model, session.as_ref(), reason.as_deref(), started);
        }
        let data = run.data.data(&model);
        Ok(Self { started, output, quiet, model, session, data, execution, work, reason })
    }

    /// Runs `analysis` with a progress bar that shows the text `what`. The first Ctrl-C sets a flag that asks
    /// the analysis to stop.
    ///
    /// # Errors
    /// The errors of the analysis.
    pub(crate) fn work<'a, T, E>(
        &'a self,
        what: &'static str,
        analysis: impl FnOnce(&'a Model, &'a dyn Session, Control<'_>) -> Result<T, E>,
    ) -> Result<T, CliError>
    where
        CliError: From<E>,
    {
        let bar = Bar::new(what, self.quiet);
        let control = Control { observer: Some(&bar), cancel: Some(interrupt::listen()), task: None };
        let result = analysis(&self.model, self.session.as_ref(), control);
        bar.finish();
        let result = result.map_err(CliError::from);
        if let Err(CliError::Inference(InferenceError::NoPoi { .. })) = &result
            && !self.quiet
        {
            // The warnings name the workspace's parameter of interest, and parameters that may have been
            // meant instead.
            for warning in &self.model.warnings {
                complain("warning", warning);
            }
        }
        result
    }

    /// Runs `analysis` like [`Self::work`] once for each parameter of interest, which is the first one of the model that
    /// `analysis` gets. Stops at the first interruption; then fewer results than parameters of interest come back.
    ///
    /// # Errors
    /// The errors of the analysis, and if a session cannot be opened.
    pub(crate) fn work_for_each_poi<T, E>(
        &self,
        what: &'static str,
        analysis: impl Fn(&Model, &dyn Session, Control<'_>) -> Result<T, E>,
    ) -> Result<Vec<T>, CliError>
    where
        CliError: From<E>,
    {
        let mut results = vec![self.work(what, &analysis)?];
        for &poi in self.model.pois.iter().skip(1) {
            if interrupt::listen().load(Ordering::Relaxed) {
                break;
            }
            let model = self.model.with_first_poi(poi);
            let Opened { session, .. } = open_session_for(&model, &self.execution, self.work)?;
            let bar = Bar::new(what, self.quiet);
            let control = Control { observer: Some(&bar), cancel: Some(interrupt::listen()), task: None };
            let result = analysis(&model, session.as_ref(), control).map_err(CliError::from);
            bar.finish();
            match result {
                Err(CliError::Inference(InferenceError::Cancelled)) => break,
                other => results.push(other?),
            }
        }
        Ok(results)
    }

    /// Returns whether an analysis of each parameter of interest has several results.
    pub(crate) fn has_several_pois(&self) -> bool {
        self.model.pois.len() > 1
    }

    /// Writes the results of an analysis of each parameter of interest. A single result is written as by [`Self::finish`].
    /// Several are a list in one object, with the names of the parameters of interest. `parts` returns the report of one result.
    ///
    /// # Errors
    /// If the results cannot be written.
    pub(crate) fn finish_for_each_poi<R: Serialize>(
        self,
        results: &[R],
        warnings: impl Fn(&R) -> &[String],
        parts: impl Fn(&R) -> Vec<Part>,
        data: impl Fn(&R) -> Vec<DataTable>,
    ) -> Result<(), CliError> {
        if let [result] = results
            && !self.has_several_pois()
        {
            return self.finish_with(result, warnings(result), parts(result), || data(result));
        }
        let shown = results.iter().flat_map(parts).collect();
        self.finish_several(results, warnings, shown, |results| results.iter().flat_map(data).collect())
    }

    /// Writes the results for several parameters of interest as a list in one object. `parts` is the report of all of them.
    ///
    /// # Errors
    /// If the results cannot be written.
    pub(crate) fn finish_several<R: Serialize>(
        self,
        results: &[R],
        warnings: impl Fn(&R) -> &[String],
        mut parts: Vec<Part>,
        data: impl FnOnce(&[R]) -> Vec<DataTable>,
    ) -> Result<(), CliError> {
        let together = PerPoi::new(&self.model, results);
        let mut all = Vec::new();
        for warning in results.iter().flat_map(&warnings) {
            if !all.contains(warning) {
                all.push(warning.clone());
            }
        }
        parts.push(Part::Text(format!(
            "one after another for {}; in each, the others are fitted unless --fix holds them",
            together.pois.join(", ")
        )));
        self.finish_with(&together, &all, parts, || data(results))
    }

    /// Writes the result as JSON or as text. The text ends with lines about the run.
    ///
    /// # Errors
    /// If the result cannot be written.
    pub(crate) fn finish<R: Serialize>(
        self,
        result: &R,
        warnings: &[String],
        parts: Vec<Part>,
    ) -> Result<(), CliError> {
        self.finish_with(result, warnings, parts, Vec::new)
    }

    /// Writes the result like [`Self::finish`]. `data` makes the data tables, if they are asked for.
    ///
    /// # Errors
    /// If the result cannot be written.
    pub(crate) fn finish_with<R: Serialize>(
        self,
        result: &R,
        warnings: &[String],
        mut parts: Vec<Part>,
        data: impl FnOnce() -> Vec<DataTable>,
    ) -> Result<(), CliError> {
        let ran = RunInfo::on(self.session.as_ref(), self.reason, self.started);
        let ran = ran.about(&self.model, self.model.digest()).blinded(self.data.blind());
        parts.push(ran.closing(&self.model.measurement));
        self.output.write_with(&Report { result, ran, parts }, warnings, data)
    }
}
