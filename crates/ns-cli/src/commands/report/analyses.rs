//! The analyses of a report, in the order of the page.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use ns_core::{Control, Model, Session};
use ns_inference::present::{measurement, significant};
use ns_inference::report::{Part, Report, RunInfo, Table, to_json};
use ns_inference::{
    FitOptions, FitResult, InferenceError, LimitOptions, RankingOptions, YieldsAt, expected_yields, fit,
    goodness_of_fit, picture, ranking, significance, upper_limit,
};
use ns_translate::Contents;
use ns_viz::{Drawing, Format, PictureError, Pulls, Ranking};
use serde::Serialize;

use super::command::{command, joined};
use super::diagnostics::diagnostics;
use super::{ReportArgs, ReportFile};
use crate::contents;
use crate::error::CliError;
use crate::interrupt;
use crate::progress::Bar;

/// A part of the page: one analysis with its tables, pictures and messages.
#[derive(Default)]
pub(super) struct Section {
    /// Name of the section in links.
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    /// The commands that make the files of the section again, in this order.
    pub(super) commands: Vec<String>,
    /// What the summary at the top of the page says of this analysis: names and values.
    pub(super) summary: Vec<(String, String)>,
    pub(super) warnings: Vec<String>,
    pub(super) parts: Vec<Part>,
    pub(super) figures: Vec<Figure>,
    pub(super) files: Vec<ReportFile>,
    /// Message of an analysis that failed.
    pub(super) failure: Option<String>,
    /// Whether the analysis succeeded, with fits that converged.
    pub(super) good: bool,
}

/// File of the pulls of the parameters of single bins, if there are others.
const BINS: &str = "pulls_of_bins.svg";

/// A picture, which is one of the files of its section.
pub(super) struct Figure {
    pub(super) file: String,
    pub(super) caption: String,
}

/// A model with all that its analyses need.
pub(super) struct Analyses<'a> {
    pub(super) args: &'a ReportArgs,
    pub(super) model: &'a Model,
    pub(super) session: &'a dyn Session,
    pub(super) options: &'a FitOptions,
    pub(super) reason: Option<String>,
}

impl Analyses<'_> {
    /// Runs the analyses. After `stop` is set, no further one is begun.
    pub(super) fn all(&self, contents: &Contents, stop: &AtomicBool) -> Vec<Section> {
        let mut sections = vec![self.contents(contents)];
        let mut fitted = None;
        sections.push(self.run("fit", "Fit", |section| {
            fitted = Some(self.fit(section)?);
            Ok(())
        }));
        sections.extend(fitted.as_ref().map(|fitted| self.diagnostics(fitted)));
        type Analysis<'b> =
            (&'static str, &'static str, Box<dyn FnOnce(&mut Section) -> Result<(), CliError> + 'b>);
        let rest: [Analysis<'_>; 5] = [
            ("yields", "Yields", Box::new(|section| self.yields(section, fitted.as_ref()))),
            ("ranking", "Ranking", Box::new(|section| self.ranking(section))),
            ("gof", "Goodness of fit", Box::new(|section| self.goodness(section))),
            ("significance", "Significance", Box::new(|section| self.significance(section))),
            ("limit", "Upper limit", Box::new(|section| self.limit(section))),
        ];
        for (id, title, analysis) in rest {
            if self.args.includes(id) && !stop.load(Ordering::Relaxed) {
                sections.push(self.run(id, title, analysis));
            }
        }
        sections
    }

    /// Runs one analysis. Its error becomes a message of its section.
    fn run(
        &self,
        id: &'static str,
        title: &'static str,
        analysis: impl FnOnce(&mut Section) -> Result<(), CliError>,
    ) -> Section {
        let mut section = Section { id, title, good: true, ..Section::default() };
        match analysis(&mut section) {
            Ok(()) => {}
            // A model without a parameter of interest has no ranking and no limit, which is no failure.
            Err(CliError::Inference(error @ InferenceError::NoPoi { .. })) => {
                section.warnings.push(error.to_string());
            }
            Err(error) => {
                section.failure = Some(error.to_string());
                section.good = false;
            }
        }
        section
    }

    fn contents(&self, contents: &Contents) -> Section {
        let warnings = contents.warnings.iter().map(|warning| warning.trim_end().to_owned()).collect();
        let mut summary = vec![
            ("measurement".to_owned(), self.model.measurement.clone()),
            ("file".to_owned(), super::input_name(&self.args.model.input)),
        ];
        if let Some(blind) = self.options.data.blind() {
            summary.push(("data".to_owned(), blind.note()));
        }
        Section {
            id: "model",
            title: "Model",
            commands: vec![self.command("inspect", &[])],
            summary,
            warnings,
            parts: contents::parts(contents),
            good: true,
            ..Section::default()
        }
    }

    fn fit(&self, section: &mut Section) -> Result<FitResult, CliError> {
        let started = Instant::now();
        let options = self.options.clone().covariance(true);
        let result = self.work("fit", |control| fit(self.model, self.session, &options, control))?;
        let mut written = result.clone();
        written.take_large_covariance(None);
        let ran = self.ran(started);
        section.parts = written.parts(self.model, &ran);
        let warnings = written.warnings.clone();
        self.finish(section, "fit.json", written, ran, warnings)?;
        section.good = result.converged;
        section.summary.push(("fit".to_owned(), result.termination_reason.clone()));
        if let Some(i) = result.poi_index {
            let value = result.bestfit.get(i).copied().unwrap_or(f64::NAN);
            let shown = match result.uncertainties.get(i).copied().flatten() {
                Some(sigma) => measurement(value, sigma),
                None => significant(value),
            };
            let name = result.parameter_names.get(i).cloned().unwrap_or_default();
            section.summary.push((format!("best fit of {name}"), shown));
        }
        let pulls = picture::pulls(&result);
        let (bins, others): (Vec<_>, Vec<_>) =
            pulls.rows.iter().cloned().partition(|row| row.parameter.ends_with(']'));
        let mut flags = vec!["-o", "fit.json"];
        let mut again = Vec::new();
        let is_split = !bins.is_empty() && !others.is_empty();
        let systematics = match others.iter().any(|row| row.pull.is_some()) {
            true => "Pulls of the systematic uncertainties",
            false => "Parameters without a constraint",
        };
        let groups = [
            ("pulls.svg", systematics, "--exclude", others),
            (
                if is_split { BINS } else { "pulls.svg" },
                "Pulls of the parameters of single bins",
                "--include",
                bins,
            ),
        ];
        for (file, caption, choice, rows) in groups {
            if rows.is_empty() {
                continue;
            }
            figure(section, file, caption, Pulls { rows, ..pulls.clone() }.draw())?;
            match is_split {
                true => again.push(joined(&["nextstat", "draw", "fit.json", "-o", file, choice, "*]"])),
                false => flags.extend(["--plot", file]),
            }
        }
        if let Some(correlation) = picture::correlation(&result, None) {
            let caption = "Correlations of the parameters";
            figure(section, "correlation.svg", caption, correlation.draw())?;
            flags.extend(["--plot-correlation", "correlation.svg"]);
        }
        section.commands = std::iter::once(self.command("fit", &flags)).chain(again).collect();
        Ok(result)
    }

    /// Returns what the fit found out about its minimum. The numbers are those of its result.
    fn diagnostics(&self, fitted: &FitResult) -> Section {
        Section {
            id: "diagnostics",
            title: "Diagnostics",
            commands: vec![self.command("fit", &["-o", "fit.json"])],
            parts: vec![Part::Table(diagnostics(fitted))],
            good: true,
            ..Section::default()
        }
    }

    fn yields(&self, section: &mut Section, fitted: Option<&FitResult>) -> Result<(), CliError> {
        let started = Instant::now();
        let flags = ["--prefit", "-o", "yields_before.json", "--plot", "yields_before.svg"];
        section.commands.push(self.command("yields", &flags));
        let before = expected_yields(self.model, self.session, self.options, YieldsAt::Prefit)?;
        section.parts.push(Part::Text("Before the fit".to_owned()));
        section.parts.extend(before.parts(false));
        figure(section, "yields_before.svg", "Events before the fit", picture::yields(&before).draw())?;
        if let Some(fitted) = fitted {
            let flags = ["-o", "yields.json", "--plot", "yields.svg"];
            section.commands.push(self.command("yields", &flags));
            let at = YieldsAt::Postfit(fitted);
            let after = expected_yields(self.model, self.session, self.options, at)?;
            section.parts.push(Part::Text("After the fit".to_owned()));
            section.parts.extend(after.parts(false));
            figure(section, "yields.svg", "Events after the fit", picture::yields(&after).draw())?;
            section.good = after.converged;
            let warnings = after.warnings.clone();
            self.finish(section, "yields.json", after, self.ran(started), warnings)?;
        }
        let ran = self.ran(started);
        self.finish(section, "yields_before.json", before, ran, Vec::new())
    }

    fn ranking(&self, section: &mut Section) -> Result<(), CliError> {
        let started = Instant::now();
        let top = self.args.top.to_string();
        let mut flags = vec!["--top", &top, "-o", "ranking.json"];
        let mut options = RankingOptions::default().fit(self.options.clone());
        options.top = Some(self.args.top as usize);
        let result = self.work("ranking", |control| ranking(self.model, self.session, &options, control))?;
        section.parts = result.parts();
        section.good = result.converged;
        if !result.ranking.is_empty() {
            let drawing = Ranking { max_rows: options.top, ..picture::ranking(&result) }.draw();
            figure(section, "ranking.svg", "Parameters of largest impact", drawing)?;
            flags.extend(["--plot", "ranking.svg"]);
        }
        section.commands.push(self.command("ranking", &flags));
        let warnings = result.warnings.clone();
        self.finish(section, "ranking.json", result, self.ran(started), warnings)
    }

    fn goodness(&self, section: &mut Section) -> Result<(), CliError> {
        let started = Instant::now();
        section.commands.push(self.command("gof", &["-o", "gof.json"]));
        let result =
            self.work("fit", |control| goodness_of_fit(self.model, self.session, self.options, control))?;
        section.parts = result.parts();
        section.good = result.converged;
        let p_value = result.p_value.map_or_else(|| "none".to_owned(), significant);
        section.summary.push(("p-value of the fit".to_owned(), p_value));
        let warnings = result.warnings.clone();
        self.finish(section, "gof.json", result, self.ran(started), warnings)
    }

    fn significance(&self, section: &mut Section) -> Result<(), CliError> {
        let started = Instant::now();
        section.commands.push(self.command("significance", &["-o", "significance.json"]));
        let result =
            self.work("test", |control| significance(self.model, self.session, self.options, control))?;
        section.parts = result.parts();
        section.good = result.converged;
        let shown = |z: Option<f64>| z.map_or_else(|| "none".to_owned(), |z| format!("{z:.2}"));
        let text = format!("{}, expected {}", shown(result.z), shown(result.z_expected));
        section.summary.push(("significance".to_owned(), text));
        let warnings = result.warnings.clone();
        self.finish(section, "significance.json", result, self.ran(started), warnings)
    }

    fn limit(&self, section: &mut Section) -> Result<(), CliError> {
        let started = Instant::now();
        let cl = self.args.cl.to_string();
        let mut flags = vec!["--cl", &cl, "-o", "limit.json"];
        let options = LimitOptions::default().cl(self.args.cl).fit(self.options.clone()).auto_scan(Some(41));
        let result =
            self.work("limit", |control| upper_limit(self.model, self.session, &options, control))?;
        section.parts = result.parts(&options);
        section.good = result.converged;
        let shown = |limit: Option<f64>| limit.map_or_else(|| "none".to_owned(), significant);
        let median = result.expected.get(2).copied().flatten();
        let text = format!("{}, expected {}", shown(result.observed), shown(median));
        section.summary.push((format!("upper limit on {}", result.param), text));
        if let Some(limit) = picture::limit(&result) {
            figure(section, "limit.svg", "CLs and its expected bands", limit.draw())?;
            flags.extend(["--plot", "limit.svg"]);
        }
        section.commands.push(self.command("upper-limit", &flags));
        let warnings = result.warnings.clone();
        self.finish(section, "limit.json", result, self.ran(started), warnings)
    }

    /// Runs an analysis with a progress bar.
    fn work<T>(
        &self,
        what: &'static str,
        analysis: impl FnOnce(Control<'_>) -> Result<T, InferenceError>,
    ) -> Result<T, CliError> {
        let bar = Bar::new(what, self.args.quiet);
        let control = Control { observer: Some(&bar), cancel: Some(interrupt::listen()), task: None };
        let result = analysis(control);
        bar.finish();
        Ok(result?)
    }

    fn ran(&self, started: Instant) -> RunInfo {
        RunInfo::on(self.session, self.reason.clone(), started)
            .about(self.model, self.model.digest())
            .blinded(self.options.data.blind())
    }

    fn command(&self, name: &str, more: &[&str]) -> String {
        command(&std::env::args_os().collect::<Vec<_>>(), name, more)
    }

    /// Adds the result of an analysis to its section, as a JSON file.
    fn finish<R: Serialize>(
        &self,
        section: &mut Section,
        file: &str,
        result: R,
        ran: RunInfo,
        warnings: Vec<String>,
    ) -> Result<(), CliError> {
        section.warnings.extend(warnings.iter().map(|warning| for_people(warning)));
        section.file(file, to_json(&Report { result, ran, parts: Vec::new() })?);
        Ok(())
    }
}

/// Returns a warning about a number that is `null` in the JSON with the words of the tables.
fn for_people(warning: &str) -> String {
    match warning.split_once(" is null: ") {
        Some((what, why)) => format!("{} is none: {why}", what.replace("p_value", "p-value")),
        None => warning.to_owned(),
    }
}

/// Adds a picture to a section.
fn figure(
    section: &mut Section,
    file: &str,
    caption: &str,
    drawing: Result<Drawing, PictureError>,
) -> Result<(), CliError> {
    section.file(file, drawing?.encode(Format::Svg)?);
    section.figures.push(Figure { file: file.to_owned(), caption: caption.to_owned() });
    Ok(())
}

/// Returns the summary of all sections as a table.
pub(super) fn summary(sections: &[Section]) -> Table {
    let mut table = Table::new(&["", ""], &[]);
    for (name, value) in sections.iter().flat_map(|section| &section.summary) {
        table.row([name.clone(), value.clone()]);
    }
    table
}
