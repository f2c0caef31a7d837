//! Writes results, messages and files. Text from files is escaped before it is printed, so that names cannot
//! control a terminal.

use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use ns_core::plain_lines;
use ns_inference::report::hepdata::{DataTable, hepdata};
use ns_inference::report::{DocumentFormat, Part, Report, to_json};
use serde::Serialize;
use tempfile::{Builder, NamedTempFile};

use crate::args::{Format, OutputArgs};
use crate::error::CliError;
use crate::interrupt::remove_at_end;
use crate::streams::stdout_is_closed;
use crate::table;

/// Whether files that were written are named on standard error.
static ANNOUNCED: AtomicBool = AtomicBool::new(false);

/// Sets whether files that were written are named on standard error. They are named only on a terminal.
pub(crate) fn announce_files(wanted: bool) {
    ANNOUNCED.store(wanted && io::stderr().is_terminal(), Ordering::Relaxed);
}

/// Names a file that was written.
fn announce(path: &Path) {
    if ANNOUNCED.load(Ordering::Relaxed) {
        let _ = writeln!(io::stderr().lock(), "wrote {}", plain_lines(&path.display().to_string()));
    }
}

/// Destination of a command's result. It is opened before the analysis. A wrong path is therefore reported at
/// once.
pub(crate) struct Output {
    target: Target,
    format: Format,
    quiet: bool,
    /// What the format `hepdata` writes.
    data: Vec<DataTable>,
}

enum Target {
    Stdout,
    File(PendingFile),
}

/// A file that is written either completely or not at all.
pub(crate) enum PendingFile {
    /// A regular file. The first field is a temporary file in the same folder, which receives the content. It is then
    /// moved to the final path, the second field. The third field has the permissions of the file that it replaces,
    /// if there is one. The fourth is the path as the user gave it, for messages.
    Whole(NamedTempFile, PathBuf, Option<Permissions>, PathBuf),
    /// A pipe or device, which is written directly, with its path.
    Stream(File, PathBuf),
}

impl Output {
    /// Opens the file that the flags name, or standard output.
    ///
    /// # Errors
    /// If the file cannot be created, or standard output is closed.
    pub(crate) fn open(args: &OutputArgs) -> Result<Self, CliError> {
        let target = match &args.output {
            None => Target::Stdout,
            Some(path) if path.as_os_str() == "-" => Target::Stdout,
            Some(path) => Target::File(PendingFile::create(path)?),
        };
        if matches!(target, Target::Stdout) && stdout_is_closed() {
            return Err(CliError::Lost {
                path: STDOUT.into(),
                source: io::Error::other("it is closed; open it, or name a file with --output"),
                instead: "",
            });
        }
        let terminal = matches!(target, Target::Stdout) && io::stdout().is_terminal();
        let format = args.format.unwrap_or(if terminal { Format::Table } else { Format::Json });
        Ok(Self { target, format, quiet: args.quiet, data: Vec::new() })
    }

    /// Writes a report to the destination and the warnings to standard error.
    ///
    /// # Errors
    /// The errors of [`Output::write_parts`].
    pub(crate) fn write<R: Serialize>(self, report: &Report<R>, warnings: &[String]) -> Result<(), CliError> {
        self.write_parts(report, warnings, &report.parts)
    }

    /// Writes a report like [`Self::write`]. `data` makes the data tables, if they are asked for.
    ///
    /// # Errors
    /// The errors of [`Self::write_parts`].
    pub(crate) fn write_with<R: Serialize>(
        mut self,
        report: &Report<R>,
        warnings: &[String],
        data: impl FnOnce() -> Vec<DataTable>,
    ) -> Result<(), CliError> {
        if self.format == Format::Hepdata {
            self.data = data();
        }
        self.write(report, warnings)
    }

    /// Writes a result to the destination, as JSON (`result`) or as text (`parts`), and the warnings to
    /// standard error.
    ///
    /// # Errors
    /// If the bytes cannot be written. A closed pipe is not an error.
    pub(crate) fn write_parts(
        self,
        result: &impl Serialize,
        warnings: &[String],
        parts: &[Part],
    ) -> Result<(), CliError> {
        if !self.quiet {
            for warning in warnings {
                complain("warning", warning);
            }
        }
        let bytes = match self.format {
            Format::Json => to_json(result)?,
            Format::Table => (plain_lines(&table::render(parts)).into_owned() + "\n").into_bytes(),
            Format::Latex => DocumentFormat::Latex.render(parts).into_bytes(),
            Format::Markdown => DocumentFormat::Markdown.render(parts).into_bytes(),
            Format::Csv => DocumentFormat::Csv.render(parts).into_bytes(),
            Format::Hepdata => hepdata(&self.data).into_bytes(),
        };
        self.deliver(&bytes)
    }

    /// Writes bytes unchanged. If the file could be opened but cannot be written, the bytes are written to
    /// standard output. The result is then not lost.
    ///
    /// # Errors
    /// If the bytes cannot be written to the file, even if they were written to standard output instead.
    pub(crate) fn deliver(self, bytes: &[u8]) -> Result<(), CliError> {
        match self.target {
            Target::File(file) => file.finish(bytes).map_err(|error| match error {
                CliError::Lost { path, source, .. } if !stdout_is_closed() && print(bytes).is_ok() => {
                    CliError::Lost { path, source, instead: "; the result is on standard output instead" }
                }
                other => other,
            }),
            Target::Stdout => print(bytes),
        }
    }
}

/// Name of standard output in messages.
const STDOUT: &str = "standard output";

/// Writes bytes to standard output.
///
/// # Errors
/// If the bytes cannot be written. A closed pipe is not an error.
fn print(bytes: &[u8]) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(source) if source.kind() != ErrorKind::BrokenPipe => {
            Err(CliError::Lost { path: STDOUT.into(), source, instead: "" })
        }
        _ => Ok(()),
    }
}

impl PendingFile {
    /// Prepares to write to `path`. Opens a pipe or device, or creates the temporary file in the folder of a regular
    /// file.
    ///
    /// # Errors
    /// If the path cannot be written.
    pub(crate) fn create(path: &Path) -> Result<Self, CliError> {
        let failed = |source| CliError::Write { path: path.to_owned(), source };
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(failed(ErrorKind::IsADirectory.into())),
            Ok(found) if !found.is_file() => {
                let file = File::options().write(true).open(path).map_err(failed)?;
                Ok(Self::Stream(file, path.to_owned()))
            }
            found => {
                let given = path.to_owned();
                // A link is kept, and the file to which it refers is replaced.
                let path = target(path);
                if found.is_ok() {
                    // The system does not require write permission for a file that is replaced. It is checked
                    // here.
                    File::options().append(true).open(&path).map_err(failed)?;
                }
                let mode = found.ok().map(|found| found.permissions());
                let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let mut builder = Builder::new();
                builder.prefix(".nextstat-");
                #[cfg(unix)]
                builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
                let file =
                    builder.tempfile_in(folder).map_err(|error| failed(without_name(&error, folder)))?;
                remove_at_end(file.path().to_owned());
                Ok(Self::Whole(file, path, mode, given))
            }
        }
    }

    /// Writes everything and moves the file to its path.
    ///
    /// # Errors
    /// If the file cannot be written, because the disk is full or the folder no longer exists, for example.
    pub(crate) fn finish(self, bytes: &[u8]) -> Result<(), CliError> {
        match self {
            Self::Whole(mut file, path, mode, given) => {
                let failed = |source| CliError::Lost { path: given.clone(), source, instead: "" };
                let mut writer = BufWriter::new(file.as_file_mut());
                writer.write_all(bytes).and_then(|()| writer.flush()).map_err(failed)?;
                drop(writer);
                if let Some(mode) = mode {
                    file.as_file().set_permissions(mode).map_err(failed)?;
                }
                file.persist(&path).map_err(|error| failed(error.error))?;
                announce(&given);
                Ok(())
            }
            Self::Stream(mut file, path) => match file.write_all(bytes) {
                Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                    Err(CliError::Lost { path, source: error, instead: "" })
                }
                _ => Ok(()),
            },
        }
    }
}

/// Follows symbolic links, and returns the path of the file that `path` finally leads to. The file need not exist.
fn target(path: &Path) -> PathBuf {
    if let Ok(found) = fs::canonicalize(path) {
        return found;
    }
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(next) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    path
}

/// Largest number of symbolic links that are followed one after another. Linux has the same limit.
const MOST_LINKS: usize = 40;

/// Checks that no two flags name the same file, even if they spell its path differently. Otherwise an output
/// could overwrite another output or an input. Standard streams, pipes and devices may be named twice.
///
/// # Errors
/// [`CliError::Usage`] if two flags name the same file.
pub(crate) fn distinct<'a>(
    flags: impl IntoIterator<Item = (&'a str, Option<&'a Path>)>,
) -> Result<(), CliError> {
    let mut seen: Vec<(&str, PathBuf)> = Vec::new();
    for (flag, path) in flags {
        let Some(path) = path.filter(|path| path.as_os_str() != "-") else { continue };
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            continue;
        }
        let place = place(path);
        if let Some((other, _)) = seen.iter().find(|(_, known)| *known == place) {
            let path = path.display();
            return Err(CliError::Usage(format!(
                "{other} and {flag} both name {path}; give each a file of its own"
            )));
        }
        seen.push((flag, place));
    }
    Ok(())
}

/// Returns the absolute path of a file, with all symbolic links resolved. The file need not exist.
fn place(path: &Path) -> PathBuf {
    if let Ok(found) = fs::canonicalize(path) {
        return found;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (fs::canonicalize(folder), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// Removes the name of a temporary file from `error`. The error occurred when this file was created in `folder`.
fn without_name(error: &io::Error, folder: &Path) -> io::Error {
    if error.kind() == ErrorKind::NotFound && !folder.exists() {
        let why = format!("the folder {} does not exist", folder.display());
        return io::Error::new(ErrorKind::NotFound, why);
    }
    // The system's message is kept, because the error kind has no text for rare errors ("uncategorized error").
    let words = error.to_string();
    let words = words.split(" at path ").next().unwrap_or_default();
    io::Error::new(error.kind(), words)
}

/// Prints `kind` (such as "warning"), a colon and the message to standard error. Errors in writing are
/// ignored.
pub(crate) fn complain(kind: &str, message: &str) {
    let _ = writeln!(io::stderr().lock(), "{kind}: {}", plain_lines(message));
}
