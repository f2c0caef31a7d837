//! Flags of every analysis: the data, fixed parameters, and the starting point.

use std::path::PathBuf;

use clap::Args;
use ns_core::{Model, Search};
use ns_inference::{Blind, FitData, FitOptions};
use serde_json::{Value, json};

use crate::args::{ExecutionArgs, OutputArgs, real};
use crate::error::CliError;
use crate::{load, start};

/// Flags for the data, the fixed parameters and the starting point of all fits of an analysis.
#[derive(Debug, Args)]
#[command(next_help_heading = "Fit")]
pub(crate) struct DataArgs {
    /// Use the data expected at the initial parameters, with the parameters of interest at MU
    /// [default: their initial values]
    #[arg(long, value_name = "MU", num_args = 0..=1, value_parser = real)]
    asimov: Option<Option<f64>>,
    /// Blind channels: use the data that a fit of the other channels expects there, with the parameter of interest at the MU
    /// of --asimov, if given; repeatable (give a name that contains commas alone)
    #[arg(long, value_name = "CHANNEL,...", visible_alias = "asimov-channels")]
    blind: Vec<String>,
    /// Fix a parameter at a value, or parameters by a pattern with * and ?, or all but the parameters of interest ('all=0');
    /// repeatable
    #[arg(long, value_name = "NAME=V", value_parser = assignment)]
    fix: Vec<(String, f64)>,
    /// Starting point of the fit, from a JSON file: an object of names and values, a list of all values, or
    /// the result of an earlier fit
    #[arg(long, value_name = "FILE")]
    init: Option<PathBuf>,
    /// Effort of the search for the global minimum: local (one starting point), standard, or thorough (more
    /// starting points); it also holds for the fits of toys
    #[arg(long, value_name = "HOW", default_value = "standard", value_parser = search)]
    search: Search,
    /// Largest accepted relative error of integrals of densities without closed forms; with a larger error a fit is
    /// not converged [default: 1e-6]
    #[arg(long, value_name = "X", value_parser = real)]
    integral_tolerance: Option<f64>,
}

/// Flags that all analyses have in common: what is fitted, on which device, and where the result is written.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,
    #[command(flatten)]
    pub(crate) execution: ExecutionArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

impl RunArgs {
    /// Returns the flags of a command that makes no fit of its own, so that it has no flags for fits.
    pub(crate) fn without_fit(execution: ExecutionArgs, output: OutputArgs) -> Self {
        let data = DataArgs {
            asimov: None,
            blind: Vec::new(),
            fix: Vec::new(),
            init: None,
            search: Search::Standard,
            integral_tolerance: None,
        };
        Self { data, execution, output }
    }
}

/// Parses the value of `--search`.
fn search(text: &str) -> Result<Search, String> {
    text.parse()
}

/// Parses `NAME=V`.
fn assignment(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.rsplit_once('=').ok_or("expected NAME=VALUE, for example mu=1")?;
    match value.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && !name.is_empty() => Ok((name.to_owned(), number)),
        _ => Err(format!("'{value}' is not a finite number; expected NAME=VALUE, for example mu=1")),
    }
}

impl DataArgs {
    /// Returns whether channels may lack observations, because Asimov data are fitted or channels are blinded.
    pub(crate) fn needs_no_observations(&self) -> bool {
        self.asimov.is_some() || !self.blind.is_empty()
    }

    /// Returns the data to fit.
    pub(crate) fn data(&self, model: &Model) -> FitData {
        let binned = model.channels.iter().map(|channel| channel.name.as_str());
        let known: Vec<&str> = binned.chain(model.event_channels.iter().map(|c| c.name.as_str())).collect();
        match self.blinded(&known) {
            Some(blind) => FitData::Blind(blind),
            None => self.asimov.map_or(FitData::Observed, |poi| FitData::Asimov { poi }),
        }
    }

    /// Returns the blinded channels; `None` if there are none. `known` are the names of channels that are not split at
    /// commas.
    pub(crate) fn blinded(&self, known: &[&str]) -> Option<Blind> {
        let names = load::names(&self.blind, known);
        (!names.is_empty()).then(|| Blind::new(names, self.asimov.flatten()))
    }

    /// Returns the flags as JSON, for the header of a file. The starting point is its file's contents.
    ///
    /// # Errors
    /// If the file of `--init` cannot be read.
    pub(crate) fn settings(&self) -> Result<Value, CliError> {
        let usage = |why: String| CliError::Usage(format!("start values: {why}"));
        let init = |path: &PathBuf| load::form::<Value>(path, &usage, "JSON");
        Ok(json!({
            "asimov": self.asimov,
            "blind": self.blind,
            "fix": self.fix,
            "init": self.init.as_ref().map(init).transpose()?,
            "search": self.search.name(),
            "integral_tolerance": self.integral_tolerance,
        }))
    }

    /// Returns the parameters that `--fix` holds, with their values. `all` means all but the parameters of interest.
    ///
    /// # Errors
    /// If a pattern matches no parameter.
    fn fixed(&self, model: &Model) -> Result<Vec<(String, f64)>, CliError> {
        let known: Vec<&str> = model.parameters.iter().map(|p| p.name.as_str()).collect();
        let mut fixed = Vec::new();
        for (name, value) in &self.fix {
            let names = load::matching("--fix", name, &known)?;
            let is_all = name == "all" && !known.contains(&"all");
            fixed.extend(
                names
                    .into_iter()
                    .filter(|name| !is_all || !model.poi_names().any(|poi| poi == name))
                    .map(|name| (name, *value)),
            );
        }
        Ok(fixed)
    }

    /// Returns the options of the fit that the flags describe.
    ///
    /// # Errors
    /// If `--fix` gives a parameter two values, or the file of `--init` cannot be read.
    pub(crate) fn options(&self, model: &Model) -> Result<FitOptions, CliError> {
        let mut options =
            FitOptions::default().search(self.search).integral_tolerance(self.integral_tolerance);
        options = options.data(self.data(model));
        let fixed = self.fixed(model)?;
        for (i, (name, value)) in fixed.iter().enumerate() {
            let earlier = fixed.iter().take(i).find(|(known, _)| known == name);
            if let Some((_, other)) = earlier.filter(|(_, other)| other != value) {
                return Err(CliError::Usage(format!(
                    "--fix holds {name} at {other} and at {value}; give each parameter one value"
                )));
            }
            options = options.fix(name, *value);
        }
        if let Some(path) = &self.init {
            options = options.start(start::read(path, model)?);
        }
        Ok(options)
    }
}
