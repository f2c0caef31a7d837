//! `nextstat validate`: lists every problem of a workspace, with its path in the file and a remedy.

use std::time::Instant;

use clap::Args;
use ns_core::plain;
use ns_inference::present::count as count_of;
use ns_inference::report::{Part, Report, RunInfo};
use ns_translate::Contents;

use crate::args::{ModelArgs, OutputArgs};
use crate::error::{CliError, Exit};
use crate::load;
use crate::output::Output;

/// Flags of `validate`.
#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    #[command(flatten)]
    model: ModelArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs the command. If the workspace has errors, they are written and the command ends with [`Exit::Input`].
///
/// # Errors
/// If the file cannot be read or the result cannot be written.
pub(crate) fn run(args: &ValidateArgs) -> Result<Exit, CliError> {
    let started = Instant::now();
    load::one_reader(&args.model.input, &args.model.patch)?;
    let output = Output::open(&args.output)?;
    let read = load::workspace(&args.model);
    let (contents, model) = Contents::validate(read, &load::options(&args.model)?)
        .map_err(|source| CliError::Workspace { origin: load::origin(&args.model), source })?;
    let ran = RunInfo::without_session(started);
    let ran = match &model {
        Some(model) => ran.about(model, model.digest()),
        None => ran,
    };
    let parts = vec![Part::Text(report(&patched(&args.model), &contents))];
    output.write(&Report { result: &contents, ran, parts }, &[])?;
    Ok(if contents.valid { Exit::Done } else { Exit::Input })
}

/// Returns the names of the input and of the applied patches as text. A problem may come from any of these files.
fn patched(args: &ModelArgs) -> String {
    let mut origin = load::origin(args);
    for (i, patch) in args.patch.iter().enumerate() {
        origin.push_str(&format!("{} {patch}", if i == 0 { " with patch" } else { "," }));
    }
    origin
}

/// Returns the list of problems as text. The last line gives the verdict and the numbers of errors and
/// warnings.
fn report(origin: &str, contents: &Contents) -> String {
    let mut lines: Vec<String> = contents
        .problems
        .iter()
        .map(|p| {
            let place = if p.path.is_empty() { "top level" } else { &p.path };
            format!("{} at {}\n  {}\n  {}", p.severity, plain(place), plain(&p.message), plain(&p.remedy))
        })
        .collect();
    let count = |severity: &str| contents.problems.iter().filter(|p| p.severity == severity).count();
    let (errors, warnings) = (count("error") + contents.problems_omitted, count("warning"));
    let verdict = if contents.valid { "valid" } else { "not valid" };
    lines.push(format!(
        "{origin}: {verdict}, {}, {}",
        count_of(errors, "error"),
        count_of(warnings, "warning")
    ));
    lines.join("\n")
}
