//! Flags of pictures of events, and drawing such pictures.

use clap::Args;
use ns_core::Model;
use ns_inference::YieldsResult;
use ns_inference::picture::{BlindRange, Draw, Kind, Style};
use ns_inference::reread::AnyResult;
use ns_viz::Components;

use crate::error::CliError;
use crate::plot::{Asked, Drawn};
use crate::style::Ends;

/// Flags of pictures of expected and observed events.
#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(crate) struct EventPlotArgs {
    /// Draw events on a logarithmic axis
    #[arg(long)]
    plot_log: bool,
    /// Ends of the axis of ratios [default: what the error bars of each channel need]
    #[arg(long, value_name = "LOW:HIGH")]
    plot_ratio: Option<Ends>,
    /// Draw no data of single events where an observable is in this range; repeatable. The fit does not change
    #[arg(long, value_name = "NAME=FROM:TO")]
    plot_blind: Vec<BlindRange>,
    /// How samples are drawn: stack, or lines (a line for each, and one for their sum) [default: stack]
    #[arg(long, value_name = "HOW")]
    plot_components: Option<Components>,
}

impl EventPlotArgs {
    /// Checks the flags that change a picture of events, before the analysis. `drawn` and `summary` say whether there will be a
    /// picture of events by channel, and a summary of all channels. `flags` names the flags that ask for the former.
    ///
    /// # Errors
    /// If one of these flags is given but there will be no picture that it changes, if a range cannot be blinded, or if a
    /// summary would show the events of blinded ranges.
    pub(crate) fn check(
        &self,
        model: &Model,
        (drawn, summary): (bool, bool),
        flags: &str,
    ) -> Result<(), CliError> {
        let given = [
            ("--plot-log", self.plot_log, drawn || summary),
            ("--plot-ratio", self.plot_ratio.is_some(), drawn || summary),
            ("--plot-blind", !self.plot_blind.is_empty(), drawn),
            ("--plot-components", self.plot_components.is_some(), drawn),
        ];
        if let Some((flag, ..)) = given.iter().find(|(_, given, changes)| *given && !changes) {
            return Err(CliError::Usage(format!("{flag} changes the picture of events: add {flags}")));
        }
        if summary && !self.plot_blind.is_empty() {
            return Err(CliError::Usage(
                "--plot-summary shows all events of each channel, and --plot-blind hides a part: leave one out, or blind the \
                 channel in a style (--plot-style)"
                    .to_owned(),
            ));
        }
        for range in &self.plot_blind {
            range.check(model).map_err(|error| CliError::Usage(format!("--plot-blind: {error}")))?;
        }
        Ok(())
    }

    /// Adds the flags to a style.
    pub(crate) fn styled(&self, mut style: Style) -> Style {
        style.log |= self.plot_log;
        style.ratio = self.plot_ratio.map(|ends| ends.0).or(style.ratio);
        style.components = self.plot_components.or(style.components);
        style
    }

    /// Draws yields in the way that the flags describe. `before` are those before the fit, for a summary.
    ///
    /// # Errors
    /// If the picture cannot be drawn.
    pub(crate) fn draw(
        &self,
        asked: &Asked<'_>,
        kind: Kind,
        yields: YieldsResult,
        before: Option<YieldsResult>,
    ) -> Result<Drawn, CliError> {
        let blind = if kind == Kind::Yields { self.plot_blind.clone() } else { Vec::new() };
        let (kind, style) = (kind.name().to_owned(), asked.style.clone());
        asked.draw(&AnyResult::Yields(yields), Draw { kind, style, before, blind, ..Draw::default() })
    }
}
