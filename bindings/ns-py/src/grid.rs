//! `nextstat.grid`: the upper limits of many signals. The Python side makes rows of what is returned here.

use std::path::PathBuf;

use ns_core::Device;
use ns_inference::grid::{GridFile, GridPoint, GridResult, GridRow, Labels, Prepared, upper_limits};
use ns_inference::report::DocumentFormat;
use ns_inference::report::hepdata::hepdata;
use ns_inference::row_file::{RowFileError, RowHeader};
use ns_inference::{FitData, FitOptions, LimitOptions};
use ns_translate::ModelSource;
use ns_translate::pyhf::{ChannelSelection, DigestCheck, ModelOptions, Signal, WorkspaceError};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;

use crate::device::execution;
use crate::error::{ToPython, workspace_error};
use crate::hypotest::statistic;
use crate::limit::confidence_level;
use crate::load::{Names, Text, interpolation};
use crate::options;
use crate::picture::{self, Picture};
use crate::plain::plain;
use crate::signals::Given;
use crate::table;
use crate::work::{Progress, run_keeping, without_result};

impl ToPython for RowFileError {
    /// `OSError` for an error of the operating system, otherwise `ValueError`.
    fn exception(&self) -> PyErr {
        match self {
            Self::Store(error) => error.exception(),
            other => PyValueError::new_err(other.to_string().replace("--save", "save")),
        }
    }
}

/// An error that ends a whole grid.
enum Failure {
    Workspace(WorkspaceError),
    File(RowFileError),
}

impl From<WorkspaceError> for Failure {
    fn from(error: WorkspaceError) -> Self {
        Self::Workspace(error)
    }
}

impl From<RowFileError> for Failure {
    fn from(error: RowFileError) -> Self {
        Self::File(error)
    }
}

/// The result as plain data, text and HTML of the limits of each row, and what interrupted the work.
type Found<'py> = (Bound<'py, PyAny>, Vec<Option<(String, String)>>, Option<PyErr>);

/// Finds the upper limits of signals. Returns the JSON of the result, and the text and the HTML of the limits of each
/// row. If an exception interrupted the work, it is the third element.
#[pyfunction]
#[pyo3(signature = (workspace, patches, *, names = None, save = None, resume = false, measurement = None,
                    interp_defaults = "smooth", normsys_code = None, histosys_code = None, poi = None,
                    digest_check = true, channels = None, mask = None, cl = None, alpha = None, test_stat = "qtilde",
                    expected_only = false, observed_only = false, asimov = None, blind = None, fixed = None,
                    search = "standard", integral_tolerance = None, device = "auto", threads = 0, progress = None))]
pub(crate) fn _limit_grid<'py>(
    py: Python<'py>,
    workspace: &Bound<'_, PyAny>,
    patches: &Bound<'_, PyAny>,
    names: Option<Names>,
    save: Option<PathBuf>,
    resume: bool,
    measurement: Option<String>,
    interp_defaults: &str,
    normsys_code: Option<&str>,
    histosys_code: Option<&str>,
    poi: Option<String>,
    digest_check: bool,
    channels: Option<Names>,
    mask: Option<Names>,
    cl: Option<f64>,
    alpha: Option<f64>,
    test_stat: &str,
    expected_only: bool,
    observed_only: bool,
    asimov: Option<&Bound<'_, PyAny>>,
    blind: Option<Names>,
    fixed: Option<&Bound<'_, PyAny>>,
    #[pyo3(from_py_with = crate::whole::word::search)] search: &str,
    integral_tolerance: Option<f64>,
    #[pyo3(from_py_with = crate::whole::word::device)] device: &str,
    #[pyo3(from_py_with = crate::whole::threads)] threads: usize,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Found<'py>> {
    if expected_only && observed_only {
        return Err(PyValueError::new_err("expected_only and observed_only leave nothing to find"));
    }
    if resume && save.is_none() {
        return Err(PyValueError::new_err("resume=True continues the file that save names; give save"));
    }
    let fit = FitOptions::default().search(options::search(search)?).integral_tolerance(integral_tolerance);
    let blind = blind.map(Names::list);
    let fit = match options::blinded(asimov, blind.clone())? {
        Some(blind) => fit.data(FitData::Blind(blind)),
        None => options::asimov(fit, asimov)?,
    };
    let fit = options::fixed(fit, None, fixed)?;
    let options = LimitOptions::default()
        .fit(fit)
        .statistic(statistic(test_stat)?)
        .cl(confidence_level(cl, alpha)?)
        .expected_only(expected_only)
        .observed_only(observed_only);
    let execution = execution(device, threads)?;
    let made = ModelOptions {
        measurement,
        interpolation: interpolation(interp_defaults, normsys_code, histosys_code)?,
        pois: poi.into_iter().collect(),
        flows: if execution.device == Device::Auto { Device::Cpu } else { execution.device },
        unobserved: true,
        ..ModelOptions::default()
    };
    let selection =
        ChannelSelection { keep: channels.map(Names::list), mask: mask.map(Names::list).unwrap_or_default() };
    let (text, mut given, progress) = (Text::of(workspace)?, Given::of(patches)?, Progress::read(progress)?);
    let check = if digest_check { DigestCheck::Verify } else { DigestCheck::Skip };
    let names = names.map(Names::list).unwrap_or_default();
    let header_fit = json!({
        "asimov": asimov.map(|value| value.to_string()), "blind": blind, "fixed": fixed.map(|value| value.to_string()),
        "search": search, "integral_tolerance": integral_tolerance,
    });

    let file =
        save.map(|path| GridFile::claim(path, resume)).transpose().map_err(|error| error.exception())?;
    let (raised, result) = run_keeping(py, &progress, |control| -> Result<GridResult, Failure> {
        let background = ModelSource::background(&text.bytes()?)?;
        let grid = given.grid(background, check)?.chosen(&names)?;
        let point = |signal: &Signal| -> Result<GridPoint, WorkspaceError> {
            let digest = if file.is_some() { grid.patch(signal)?.digest() } else { String::new() };
            Ok(GridPoint { name: signal.name.clone(), values: Labels(signal.values.clone()), digest })
        };
        let points: Vec<GridPoint> = grid.signals().iter().map(point).collect::<Result<_, _>>()?;
        let (mut rows, mut saving) = (Vec::new(), None);
        if let Some(file) = file {
            let entries = [
                ("version", json!(env!("CARGO_PKG_VERSION"))),
                ("background", json!(grid.background().digest())),
                ("measurement", json!(made.measurement)),
                ("poi", json!(made.pois.first())),
                ("channels", json!(selection.keep)),
                ("mask", json!(selection.mask)),
                ("interpolation", json!(made.interpolation.to_string())),
                ("cl", json!(options.cl)),
                ("test_stat", json!(options.statistic.name())),
                ("expected_only", json!(expected_only)),
                ("observed_only", json!(observed_only)),
                ("fit", header_fit),
            ];
            let header: RowHeader = entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
            let recording = file.begin(header, &points)?;
            rows = recording.taken().to_vec();
            saving = Some(recording);
        }
        let wanted: Vec<usize> =
            (0..points.len()).filter(|i| !rows.iter().any(|(known, _)| known == i)).collect();
        let prepare = |index: usize| -> Result<Prepared, String> {
            let signal = grid.signals().get(index).ok_or("there is no such signal")?;
            let model = grid.model(signal, &made, &selection).map_err(|error| error.to_string())?;
            Ok((model, options.clone()))
        };
        let mut take = |index: usize, row: GridRow| -> Result<(), Failure> {
            if let Some(saving) = &mut saving {
                saving.add(&row)?;
            }
            rows.push((index, row));
            Ok(())
        };
        let done = upper_limits(&points, &wanted, &prepare, &execution, control, &mut take);
        if let Some(saving) = saving {
            saving.finish()?;
        }
        done?;
        Ok(GridResult::new(&points, grid.labels(), options.cl, options.statistic, rows))
    });
    let result = match (result, raised.as_ref()) {
        (Some(Ok(result)), _) => result,
        (_, Some(error)) => return Err(error.clone_ref(py)),
        (Some(Err(Failure::Workspace(error))), None) => return Err(workspace_error(py, &error)),
        (Some(Err(Failure::File(error))), None) => return Err(error.exception()),
        (None, None) => return Err(without_result()),
    };
    let shown = |row: &GridRow| {
        let parts = row.result.as_ref()?.parts(&options);
        Some((table::text(&parts), table::html(&parts)))
    };
    Ok((plain(py, &result)?, result.rows.iter().map(shown).collect(), raised))
}

/// Reads a grid from its JSON.
fn read(text: &str) -> PyResult<GridResult> {
    serde_json::from_str(text)
        .map_err(|error| PyValueError::new_err(format!("these rows are not the limits of a grid: {error}")))
}

/// Returns the report of a grid, given as JSON: as "text" or "html" for displays, or as "latex", "markdown", "csv" or
/// "hepdata".
#[pyfunction]
pub(crate) fn _grid_shown(json: &str, format: &str) -> PyResult<String> {
    let grid = read(json)?;
    if format == "hepdata" {
        return Ok(hepdata(&grid.data_tables()));
    }
    let parts = grid.parts();
    Ok(match format {
        "html" => table::html(&parts),
        "latex" => DocumentFormat::Latex.render(&parts),
        "markdown" => DocumentFormat::Markdown.render(&parts),
        "csv" => DocumentFormat::Csv.render(&parts),
        _ => table::text(&parts),
    })
}

/// Draws a grid, given as JSON, against the labels. Saves the picture if `path` is given.
#[pyfunction]
#[pyo3(signature = (json, labels, path, title, subtitle))]
pub(crate) fn _grid_plot(
    py: Python<'_>,
    json: &str,
    labels: Vec<String>,
    path: Option<PathBuf>,
    title: Option<String>,
    subtitle: Option<String>,
) -> PyResult<Picture> {
    picture::check(path.as_deref())?;
    let mut drawn = ns_inference::picture::grid(&read(json)?, &labels)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    drawn.set_titles(title, subtitle);
    picture::finish(py, drawn.draw(), path)
}
