//! Pictures of a result. Their files are checked before the analysis and written after it.

use std::path::{Path, PathBuf};

use clap::Args;
use ns_core::Model;
use ns_inference::picture::BlindRange;
use ns_viz::{Components, Drawing, Format, PictureError, Yields};

use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::output::{PendingFile, complain, distinct};

/// Flag that asks for a picture of the result of an analysis.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct PlotArgs {
    /// Draw the result into a file; its extension is the format: svg, png or pdf
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

impl PlotArgs {
    /// Returns whether the user asked for a picture.
    pub(crate) fn wanted(&self) -> bool {
        self.plot.is_some()
    }

    /// Returns the file of the picture.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.plot.as_deref()
    }

    /// Opens the file of the picture. `result` is the file of `--output`.
    ///
    /// # Errors
    /// The errors of [`Plots::open`].
    pub(crate) fn open(&self, result: Option<&Path>) -> Result<Plots, CliError> {
        Plots::open(result, [("--plot", self.plot.as_deref())])
    }
}

/// Flags of pictures of expected and observed events.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct EventPlotArgs {
    /// Draw no data of single events where an observable is in this range; repeatable. The fit does not change
    #[arg(long, value_name = "NAME=FROM:TO")]
    plot_blind: Vec<BlindRange>,
    /// How samples are drawn: stack, or lines (a line for each, and one for their sum) [default: stack]
    #[arg(long, value_name = "HOW")]
    plot_components: Option<Components>,
}

impl EventPlotArgs {
    /// Checks the flags that change a picture of events, before the analysis. `drawn` says whether there will be such
    /// a picture. `flags` names the flags that ask for one.
    ///
    /// # Errors
    /// If one of these flags is given but there will be no picture of events, or if a range cannot be blinded.
    pub(crate) fn check(&self, model: &Model, drawn: bool, flags: &str) -> Result<(), CliError> {
        if !drawn && (!self.plot_blind.is_empty() || self.plot_components.is_some()) {
            return Err(CliError::Usage(format!(
                "--plot-blind and --plot-components change the picture of events: add {flags}"
            )));
        }
        for range in &self.plot_blind {
            range.check(model).map_err(|error| CliError::Usage(format!("--plot-blind: {error}")))?;
        }
        Ok(())
    }

    /// Draws a picture of events in the way that the flags describe.
    ///
    /// # Errors
    /// If the picture cannot be drawn.
    pub(crate) fn draw(&self, mut yields: Yields) -> Result<Drawing, CliError> {
        yields.components = self.plot_components.unwrap_or_default();
        for range in &self.plot_blind {
            let wrong = |error| CliError::Usage(format!("--plot-blind: {error}"));
            ns_inference::picture::blind(&mut yields, range).map_err(wrong)?;
        }
        Ok(yields.draw()?)
    }
}

/// The open files of all requested pictures.
pub(crate) struct Plots {
    /// Each open file, with the flag that names this file.
    files: Vec<(&'static str, Target)>,
}

struct Target {
    path: PathBuf,
    format: Format,
    file: PendingFile,
}

impl Plots {
    /// Checks that a picture is about one parameter of interest.
    ///
    /// # Errors
    /// [`CliError::Usage`] if a picture is asked for and the model has several parameters of interest.
    pub(crate) fn only_one(&self, job: &Job) -> Result<(), CliError> {
        if self.files.is_empty() || !job.has_several_pois() {
            return Ok(());
        }
        let names: Vec<&str> = job.model.poi_names().collect();
        Err(CliError::Usage(format!(
            "a picture shows one parameter of interest, and there are {}; choose one with --poi NAME",
            names.join(", ")
        )))
    }

    /// Opens the file that each flag names. `result` is the file of `--output`.
    ///
    /// # Errors
    /// If two flags name the same file, an extension is not a picture format, or a file cannot be created.
    pub(crate) fn open<'a>(
        result: Option<&'a Path>,
        flags: impl IntoIterator<Item = (&'static str, Option<&'a Path>)>,
    ) -> Result<Self, CliError> {
        let flags: Vec<_> = flags.into_iter().collect();
        distinct([("--output", result)].into_iter().chain(flags.iter().copied()))?;
        let mut files = Vec::new();
        for (flag, path) in flags {
            let Some(path) = path else { continue };
            let usage = |error: PictureError| CliError::Usage(format!("{flag}: {error}"));
            let format = Format::of(path).map_err(usage)?;
            files.push((flag, Target { path: path.to_owned(), format, file: PendingFile::create(path)? }));
        }
        Ok(Self { files })
    }

    /// Returns whether the flag of a picture was given.
    pub(crate) fn wanted(&self, flag: &str) -> bool {
        self.files.iter().any(|(known, _)| *known == flag)
    }

    /// Returns a warning if the model's names have characters that no font of this machine contains. PNG and
    /// PDF files show a replacement character in their place. If all pictures are SVG files, there is no
    /// warning.
    pub(crate) fn font_warning(&self, model: &Model) -> Option<String> {
        if self.files.iter().all(|(_, target)| target.format == Format::Svg) {
            return None;
        }
        let parameters = model.parameters.iter().map(|parameter| parameter.name.as_str());
        let channels = model.channels.iter().map(|channel| channel.name.as_str());
        let samples = model.channels.iter().flat_map(|channel| &channel.samples);
        let names = parameters.chain(channels).chain(samples.map(|sample| sample.name.as_str()));
        let of_events = model.event_channels.iter().flat_map(|channel| {
            let axes = channel.observables.iter().map(|axis| axis.name.as_str());
            let processes = channel.processes.iter().map(|process| process.name.as_str());
            axes.chain(processes).chain([channel.name.as_str()])
        });
        ns_viz::font_warning(names.chain(of_events))
    }

    /// Draws and writes every picture, and returns the exit code of the command. `exit` is the exit code
    /// without pictures, and `draw` draws the picture of a flag. If one picture fails, the others are still
    /// written.
    ///
    /// # Errors
    /// If a picture cannot be drawn or written and `exit` is [`Exit::Done`]. Otherwise this error is only
    /// printed.
    pub(crate) fn finish(
        self,
        exit: Exit,
        draw: impl Fn(&str) -> Result<Drawing, CliError>,
    ) -> Result<Exit, CliError> {
        let mut failed = None;
        for (flag, target) in self.files {
            let Target { path, format, file } = target;
            let write = |drawing: Drawing| {
                let bytes = drawing.encode(format).map_err(|source| picture(&path, source))?;
                file.finish(&bytes)
            };
            let drawn = draw(flag).map_err(|error| match error {
                CliError::Picture { source, .. } => picture(&path, source),
                other => other,
            });
            if let Err(error) = drawn.and_then(write) {
                // The caller reports the last error. Earlier errors are reported here.
                if let Some(earlier) = failed.replace(error) {
                    complain("error", &earlier.to_string());
                }
            }
        }
        match failed {
            None => Ok(exit),
            Some(error) if exit == Exit::Done => Err(error),
            // The analysis itself failed or was interrupted, so its exit code is returned.
            Some(error) => {
                complain("error", &error.to_string());
                Ok(exit)
            }
        }
    }
}

fn picture(path: &Path, source: PictureError) -> CliError {
    CliError::Picture { path: path.to_owned(), source }
}

impl From<PictureError> for CliError {
    fn from(source: PictureError) -> Self {
        Self::Picture { path: PathBuf::new(), source }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_missing_picture_does_not_hide_what_went_wrong_before() {
        let folder = tempfile::tempdir().unwrap();
        let (good, bad) = (folder.path().join("good.svg"), folder.path().join("bad.svg"));
        for (exit, wanted) in [
            (Exit::Done, None),
            (Exit::Interrupted, Some(Exit::Interrupted)),
            (Exit::Failed, Some(Exit::Failed)),
        ] {
            let flags = [("--bad", Some(bad.as_path())), ("--good", Some(good.as_path()))];
            let plots = Plots::open(None, flags).unwrap();
            let ended = plots.finish(exit, |flag| {
                let rows = if flag == "--bad" { Vec::new() } else { vec![ns_viz::PullRow::default()] };
                Ok(ns_viz::Pulls { rows, ..ns_viz::Pulls::default() }.draw()?)
            });
            assert_eq!(ended.as_ref().ok().copied(), wanted);
            if let Err(error) = ended {
                assert_eq!(error.exit(), Exit::Failed);
                assert!(error.to_string().contains("bad.svg: pulls: `rows`"), "{error}");
            }
            assert!(good.exists() && !bad.exists(), "one failure does not take the others with it");
            std::fs::remove_file(&good).unwrap();
        }
    }
}
