//! Pictures of a result. Their files are checked before the analysis and written after it.

use std::path::{Path, PathBuf};

use clap::Args;
use ns_core::Model;
use ns_inference::picture::{Draw, DrawError, Style};
use ns_inference::reread::AnyResult;
use ns_viz::{Drawing, Format, PictureError};

use crate::error::{CliError, Exit};
use crate::job::Job;
use crate::output::{PendingFile, complain, distinct};
use crate::style::{StyleArgs, unfit};

/// Flag that asks for a picture of the result of an analysis.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct PlotArgs {
    /// Draw the result into a file; its extension is the format: svg, png or pdf
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    #[command(flatten)]
    style: StyleArgs,
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
        Plots::open(result, [("--plot", self.plot.as_deref())], self.style()?)
    }

    /// Returns the style of the picture.
    ///
    /// # Errors
    /// The errors of [`StyleArgs::style`].
    pub(crate) fn style(&self) -> Result<Style, CliError> {
        self.style.style()
    }
}

/// What stands for the name of a channel in the name of a file.
const CHANNEL: &str = "{channel}";

/// The open files of all requested pictures, and their style.
pub(crate) struct Plots {
    /// Each open file, with the flag that names this file.
    files: Vec<(&'static str, Target)>,
    style: Style,
}

struct Target {
    path: PathBuf,
    format: Format,
    /// `None` if each channel has a file of its own.
    file: Option<PendingFile>,
}

/// A picture that is asked for.
pub(crate) struct Asked<'a> {
    /// The flag that names its file.
    pub(crate) flag: &'static str,
    /// Whether each channel is a picture of its own.
    pub(crate) each: bool,
    /// Its style.
    pub(crate) style: &'a Style,
}

/// A picture that was drawn.
pub(crate) enum Drawn {
    /// One picture.
    One(Box<Drawing>),
    /// A picture for each channel, with the names of the channels.
    Each(Vec<(String, Drawing)>),
}

impl Asked<'_> {
    /// Draws a result as described.
    ///
    /// # Errors
    /// If the result has no such picture, or the style does not fit it.
    pub(crate) fn draw(&self, result: &AnyResult, draw: Draw) -> Result<Drawn, CliError> {
        let drawn = if self.each {
            draw.draw_each(result).map(Drawn::Each)
        } else {
            draw.draw(result).map(|drawing| Drawn::One(Box::new(drawing)))
        };
        drawn.map_err(|error| match error {
            DrawError::Picture(source) => source.into(),
            DrawError::Style(error) => unfit(&error),
            DrawError::Nothing(why) => CliError::Undrawn { path: PathBuf::new(), why: why.to_owned() },
            other => CliError::Usage(other.to_string()),
        })
    }
}

/// Draws a result. `kind` is the name of its picture; if empty, it is the usual one.
///
/// # Errors
/// If the result has no such picture, or the style does not fit it.
pub(crate) fn drawn(asked: &Asked<'_>, kind: &str, result: &AnyResult) -> Result<Drawn, CliError> {
    asked.draw(result, Draw { kind: kind.to_owned(), style: asked.style.clone(), ..Draw::default() })
}

/// Returns the first of the results for each parameter of interest; of an interrupted analysis there may be none.
pub(crate) fn first<T: Clone>(results: &[T], make: impl Fn(T) -> AnyResult) -> AnyResult {
    let none = || AnyResult::PerPoi { pois: Vec::new(), results: Vec::new() };
    results.first().cloned().map_or_else(none, make)
}

impl From<Drawing> for Drawn {
    fn from(drawing: Drawing) -> Self {
        Self::One(Box::new(drawing))
    }
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
    /// If two flags name the same file, an extension is not a picture format, a file cannot be created, or `{channel}` stands
    /// in the name of one.
    pub(crate) fn open<'a>(
        result: Option<&'a Path>,
        flags: impl IntoIterator<Item = (&'static str, Option<&'a Path>)>,
        style: Style,
    ) -> Result<Self, CliError> {
        Self::open_each(result, flags, &[], style)
    }

    /// Opens the files like [`Self::open`]. The names of files of the flags `each` may have `{channel}`, which stands for the
    /// name of each channel.
    ///
    /// # Errors
    /// The errors of [`Self::open`].
    pub(crate) fn open_each<'a>(
        result: Option<&'a Path>,
        flags: impl IntoIterator<Item = (&'static str, Option<&'a Path>)>,
        each: &[&str],
        style: Style,
    ) -> Result<Self, CliError> {
        let flags: Vec<_> = flags.into_iter().collect();
        distinct([("--output", result)].into_iter().chain(flags.iter().copied()))?;
        let mut files = Vec::new();
        for (flag, path) in flags {
            let Some(path) = path else { continue };
            let usage = |error: PictureError| CliError::Usage(format!("{flag}: {error}"));
            let format = Format::of(path).map_err(usage)?;
            let is_each = path.file_name().is_some_and(|name| name.to_string_lossy().contains(CHANNEL));
            if is_each && !each.contains(&flag) {
                return Err(CliError::Usage(format!(
                    "{flag}: {CHANNEL} is for pictures of events by channel; name one file"
                )));
            }
            // The names of the channels are not known yet, but whether the folder takes files is.
            let file = PendingFile::create(path)?;
            let file = (!is_each).then_some(file);
            files.push((flag, Target { path: path.to_owned(), format, file }));
        }
        Ok(Self { files, style })
    }

    /// Makes the axis of events, CLs or toys logarithmic if `log` is true.
    pub(crate) fn logarithmic(mut self, log: bool) -> Self {
        self.style.log |= log;
        self
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
        draw: impl Fn(&Asked<'_>) -> Result<Drawn, CliError>,
    ) -> Result<Exit, CliError> {
        let mut failed = None;
        for (flag, target) in self.files {
            let asked = Asked { flag, each: target.file.is_none(), style: &self.style };
            let Target { path, format, file } = target;
            let encoded = |drawing: &Drawing| drawing.encode(format).map_err(|source| picture(&path, source));
            let write = |drawn: Drawn| match (drawn, file) {
                (Drawn::One(drawing), Some(file)) => file.finish(&encoded(&drawing)?),
                (Drawn::One(drawing), None) => PendingFile::create(&path)?.finish(&encoded(&drawing)?),
                (Drawn::Each(drawings), _) => {
                    let names: Vec<&str> = drawings.iter().map(|(name, _)| name.as_str()).collect();
                    for (place, (_, drawing)) in places(&path, &names).iter().zip(&drawings) {
                        PendingFile::create(place)?.finish(&encoded(drawing)?)?;
                    }
                    Ok(())
                }
            };
            let drawn = draw(&asked).map_err(|error| match error {
                CliError::Picture { source, .. } => picture(&path, source),
                CliError::Undrawn { why, .. } => CliError::Undrawn { path: path.clone(), why },
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

/// Returns a path for each channel: that with the name in place of `{channel}`. What is no letter, digit, `-`, `_` or `.` in
/// a name becomes `_`, so that a name cannot lead to another folder, and names that are then the same get a number.
fn places(path: &Path, names: &[&str]) -> Vec<PathBuf> {
    let pattern = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut taken: Vec<String> = Vec::new();
    for name in names {
        let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        let name: String = name.chars().map(plain).collect();
        let numbered = (2..).map(|n| format!("{name}_{n}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|name| !taken.contains(name));
        taken.extend(free);
    }
    taken.iter().map(|name| path.with_file_name(pattern.replace(CHANNEL, name))).collect()
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
            let plots = Plots::open(None, flags, Style::default()).unwrap();
            let ended = plots.finish(exit, |asked| {
                let rows = if asked.flag == "--bad" { Vec::new() } else { vec![ns_viz::PullRow::default()] };
                Ok(ns_viz::Pulls { rows, ..ns_viz::Pulls::default() }.draw()?.into())
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

    #[test]
    fn each_channel_has_a_file_in_the_folder() {
        let found = places(Path::new("out/y_{channel}.pdf"), &["SR 1", "SR/1", "../b", "SR_1", "éta"]);
        let names: Vec<&str> = found.iter().filter_map(|path| path.to_str()).collect();
        let wanted =
            ["out/y_SR_1.pdf", "out/y_SR_1_2.pdf", "out/y_.._b.pdf", "out/y_SR_1_3.pdf", "out/y_éta.pdf"];
        assert_eq!(names, wanted);
    }
}
