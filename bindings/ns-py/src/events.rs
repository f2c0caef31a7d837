//! Reads events from Python. They come from columns of data sets or from Parquet files.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use ns_core::{EventTable, Model, Observations, ParquetEventData};
use ns_translate::arrow::parquet::{
    Comparison, Condition, ParquetOptions, ParquetReadError, read_parquet_events_soa,
};
use ns_translate::hs3::{GivenEvents, WantedColumns};
use ns_unbinned::kernels::{KernelOptions, kernel_density};
use numpy::{PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{array, bad, convert};
use crate::arrow_stream;
use crate::work::released;

/// Reads the argument `events`, a dictionary from the name of a data set to a table of its events. `wanted` are the
/// columns that the model's data sets can use. All other columns are ignored.
///
/// # Errors
/// `TypeError` or `ValueError` that names the data set and the column.
pub(crate) fn given(
    object: &Bound<'_, PyAny>,
    wanted: &BTreeMap<String, WantedColumns>,
) -> PyResult<BTreeMap<String, GivenEvents>> {
    let mapping = object.cast::<PyDict>().map_err(|_| {
        PyTypeError::new_err("events must be a dictionary: the name of a data set, and its columns")
    })?;
    let mut given = BTreeMap::new();
    for (name, table) in mapping {
        let name: String = name.extract()?;
        let columns = match wanted.get(&name) {
            Some(wanted) => {
                let more: Vec<&str> = wanted.others.iter().map(String::as_str).collect();
                columns(&table, &format!("the events of '{name}'"), &wanted.axes, &more)?
            }
            // The reader of the model will report that there is no such data set.
            None => Vec::new(),
        };
        given.insert(name, GivenEvents { columns });
    }
    Ok(given)
}

/// Keys of the main counts and of the auxiliary data in a dictionary of events by channel.
pub(crate) const RESERVED: [&str; 2] = ["main", "auxdata"];

/// Reads data of a model from `channels`, a dictionary from the name of a channel to its counts or to a table of its
/// events. The keys [`RESERVED`] contain the main counts of all channels and the auxiliary data. Whatever the dictionary
/// lacks is taken from the observed data. Events outside the fit ranges are left out.
///
/// # Errors
/// `ValueError` for a channel that does not exist, a wrong number of counts, a column that is missing, events outside of
/// an axis, events for which a flow has no density, and a channel that has neither given nor observed counts.
pub(crate) fn data(model: &Model, channels: &Bound<'_, PyDict>) -> PyResult<Observations> {
    let mut data = model.observed.clone();
    let mut lacking: Vec<&str> = model.unobserved.iter().map(String::as_str).collect();
    for (name, table) in channels {
        let name: String = name.extract()?;
        let Some(i) = model.event_channels.iter().position(|channel| channel.name == name) else {
            let to = match (model.channels.iter().find(|c| c.name == name), name.as_str()) {
                (Some(channel), _) => {
                    lacking.retain(|other| *other != channel.name);
                    data.main.get_mut(channel.first_bin..channel.first_bin + channel.n_bins)
                }
                (None, key) if key == RESERVED[0] => {
                    lacking.clear();
                    Some(&mut data.main[..])
                }
                (None, key) if key == RESERVED[1] => Some(&mut data.aux[..]),
                (None, _) => None,
            };
            let Some(to) = to else {
                let bins = model.channels.iter().map(|c| format!("'{}' ({} counts)", c.name, c.n_bins));
                let events = model.event_channels.iter().map(|c| format!("'{}' (events)", c.name));
                let known = bins.chain(events).collect::<Vec<_>>().join(", ");
                return Err(bad(format!(
                    "the data have no channel '{name}'; the model's channels are {known}"
                )));
            };
            let given = numbers(&table, &format!("'{name}' of the data"))?;
            if given.len() != to.len() {
                let (given, needed) = (given.len(), to.len());
                return Err(bad(format!("'{name}' of the data has {given} numbers; {needed} are needed")));
            }
            let is_count = |x: &f64| x.is_finite() && *x >= 0.0;
            if let Some(i) = given.iter().position(|x| !is_count(x)).filter(|_| name != RESERVED[1]) {
                let x = given.get(i).copied().unwrap_or_default();
                return Err(bad(format!(
                    "number {i} of '{name}' of the data is {x}; counts are finite and not negative"
                )));
            }
            to.copy_from_slice(&given);
            continue;
        };
        let (Some(channel), Some(place)) = (model.event_channels.get(i), data.events.get_mut(i)) else {
            continue;
        };
        let what = format!("the events of '{name}'");
        if channel.binning.is_some() {
            return Err(bad(format!("the data of channel '{name}' are a histogram, not events")));
        }
        let axes: Vec<String> = channel.observables.iter().map(|axis| axis.name.clone()).collect();
        let mut columns = columns(&table, &what, &axes, &["weights"])?;
        let mut take = |name: &str| {
            let i = columns.iter().position(|(known, _)| known == name)?;
            Some(columns.swap_remove(i).1)
        };
        let mut table = EventTable::default();
        for axis in &channel.observables {
            let column =
                take(&axis.name).ok_or_else(|| bad(format!("{what} have no column '{}'", axis.name)))?;
            if let Some(row) = column.iter().position(|x| !x.is_finite()) {
                return Err(bad(format!(
                    "event {row} of {what} has no finite number on the axis '{}'",
                    axis.name
                )));
            }
            if let Some(row) = column.iter().position(|x| !(axis.min..=axis.max).contains(x)) {
                return Err(bad(format!(
                    "event {row} of {what} is outside of the axis '{}' from {} to {}",
                    axis.name, axis.min, axis.max
                )));
            }
            table.columns.push(column);
        }
        table.weights = take("weights");
        if table.columns.iter().chain(&table.weights).any(|column| column.len() != table.len()) {
            return Err(bad(format!("the columns of {what} have different lengths")));
        }
        let completed = channel.complete(within(table, &channel.ranges));
        *place = Arc::new(completed.map_err(|error| bad(format!("{what}: {error}")))?);
    }
    if let Some(first) = lacking.first() {
        return Err(bad(format!("the data lack counts of channel '{first}', which has no observed counts")));
    }
    Ok(data)
}

/// Keeps the events that lie in at least one of the boxes. A box is a list of ranges `(lower, upper)`, one for each
/// column. If there are no boxes, keeps all events.
fn within(table: EventTable, boxes: &[Vec<(f64, f64)>]) -> EventTable {
    if boxes.is_empty() {
        return table;
    }
    let inside = |row: usize| {
        boxes.iter().any(|region| {
            let mut axes = table.columns.iter().zip(region);
            axes.all(|(column, (from, to))| column.get(row).is_some_and(|x| (*from..=*to).contains(x)))
        })
    };
    let kept: Vec<bool> = (0..table.len()).map(inside).collect();
    let select = |column: &Arc<[f64]>| -> Arc<[f64]> {
        column.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(x, _)| *x).collect()
    };
    EventTable {
        columns: table.columns.iter().map(select).collect(),
        weights: table.weights.as_ref().map(select),
    }
}

/// Returns the columns of a table whose names are in `axes` or `more`. The table is an object that supports
/// Arrow, a mapping, or a structured or record array. It can also be a plain array, whose columns are the
/// axes in their order.
fn columns(
    table: &Bound<'_, PyAny>,
    what: &str,
    axes: &[String],
    more: &[&str],
) -> PyResult<Vec<(String, Arc<[f64]>)>> {
    let mut names: Vec<&str> = axes.iter().map(String::as_str).collect();
    names.extend(more);
    let columns = if table.hasattr("__arrow_c_stream__")? && table.hasattr("columns")? {
        arrow_stream::columns(table, what, &names)?
    } else if let Some(known) = fields(table)? {
        let mut columns: Vec<(String, Arc<[f64]>)> = Vec::new();
        for name in names {
            if known.iter().any(|known| known == name) && !columns.iter().any(|(have, _)| have == name) {
                let column = table.get_item(name)?;
                columns.push((name.to_owned(), numbers(&column, &format!("column '{name}' of {what}"))?));
            }
        }
        columns
    } else if table.hasattr("__arrow_c_stream__")? && !table.hasattr("__array__")? {
        arrow_stream::columns(table, what, &names)?
    } else {
        plain(table, what, axes)?
    };
    let n = columns.first().map(|(_, column)| column.len());
    match columns.iter().find(|(_, column)| Some(column.len()) != n) {
        Some((name, _)) => {
            Err(bad(format!("column '{name}' of {what} has another length than the first column")))
        }
        None => Ok(columns),
    }
}

/// Returns the names of the columns of a mapping, or of an array with named fields; `None` for any other
/// object.
fn fields(table: &Bound<'_, PyAny>) -> PyResult<Option<Vec<String>>> {
    let names = if table.hasattr("keys")? {
        table.call_method0("keys")?
    } else if table.hasattr("fields")? {
        // An awkward array has `fields`. The list is empty if the array has no records.
        table.getattr("fields")?
    } else if let Some(kind) = table.getattr_opt("dtype")? {
        match kind.getattr_opt("names")? {
            Some(names) if !names.is_none() => names,
            _ => return Ok(None),
        }
    } else {
        return Ok(None);
    };
    let names: Vec<String> =
        names.try_iter()?.map(|name| name?.str()?.extract::<String>()).collect::<PyResult<_>>()?;
    Ok((!names.is_empty()).then_some(names))
}

/// Returns a column as 64-bit floating-point numbers.
fn numbers(column: &Bound<'_, PyAny>, what: &str) -> PyResult<Arc<[f64]>> {
    let array = convert(what, column)?;
    if array.ndim() != 1 {
        return Err(bad(format!("{what} must have one dimension; it has shape {:?}", array.shape())));
    }
    let array = array.try_readonly().map_err(|error| bad(format!("{what}: {error}")))?;
    Ok(Arc::from(array.as_slice()?))
}

/// Returns the columns of a plain array. It has one row per event and one column per axis.
fn plain(table: &Bound<'_, PyAny>, what: &str, axes: &[String]) -> PyResult<Vec<(String, Arc<[f64]>)>> {
    let array = convert(what, table)?;
    let shape = array.shape().to_vec();
    let rows = array.try_readonly().map_err(|error| bad(format!("{what}: {error}")))?;
    let values = rows.as_slice()?;
    let width = match shape.as_slice() {
        [_] => 1,
        [_, width] => *width,
        _ => 0,
    };
    if width == 0 || width != axes.len() {
        return Err(bad(format!(
            "{what} must have a row per event and {} (one per axis: {}); they have shape {shape:?}",
            if axes.len() == 1 { "one column".to_owned() } else { format!("{} columns", axes.len()) },
            axes.join(", "),
        )));
    }
    let column = |i: usize| -> Arc<[f64]> { values.iter().skip(i).step_by(width).copied().collect() };
    Ok(axes.iter().enumerate().map(|(i, name)| (name.clone(), column(i))).collect())
}

/// Returns the exception for an error of reading a Parquet file.
pub(crate) fn parquet_error(error: &ParquetReadError) -> PyErr {
    match error {
        ParquetReadError::Io { path, source } => match source.raw_os_error() {
            Some(code) => PyOSError::new_err((code, source.to_string(), path.display().to_string())),
            None => PyOSError::new_err(error.to_string()),
        },
        _ => PyValueError::new_err(error.to_string()),
    }
}

/// Reads columns of a Parquet file as NumPy arrays of 64-bit floating-point numbers.
///
/// `columns` are the names of the columns; by default all columns are read. `where` is a list of conditions
/// `(column, sign, number)`, with the signs `<`, `<=`, `>`, `>=`, `==` and `!=`. Only rows that fulfil all
/// conditions are read. Row groups and pages are not decoded if their statistics show that none of their rows
/// fulfils the conditions. `threads` is the largest number of threads.
///
/// Raises `OSError` if the file cannot be read, and `ValueError` if a column does not exist or its values are not
/// numbers.
#[pyfunction]
#[pyo3(signature = (path, columns = None, *, r#where = None, threads = None))]
pub(crate) fn read_parquet<'py>(
    py: Python<'py>,
    path: PathBuf,
    columns: Option<Vec<String>>,
    r#where: Option<Vec<(String, String, f64)>>,
    threads: Option<NonZeroUsize>,
) -> PyResult<Bound<'py, PyDict>> {
    let condition = |(column, sign, limit): (String, String, f64)| match Comparison::of(&sign) {
        Some(comparison) => Ok(Condition { column, comparison, limit }),
        None => Err(bad(format!("'{sign}' is no comparison; use <, <=, >, >=, == or !="))),
    };
    let selection = r#where.into_iter().flatten().map(condition).collect::<PyResult<_>>()?;
    let options = ParquetOptions { columns, selection, threads };
    let read: Result<ParquetEventData, ParquetReadError> =
        released(py, || read_parquet_events_soa(&path, &options))?;
    let data = read.map_err(|error| parquet_error(&error))?;
    let dict = PyDict::new(py);
    for (name, column) in data.names.iter().zip(&data.columns) {
        dict.set_item(name, array(py, column.to_vec(), &[column.len()])?)?;
    }
    Ok(dict)
}

/// Returns some columns of a table of events as NumPy arrays: those with one of the given names or the name
/// `weights`.
#[pyfunction]
pub(crate) fn _event_columns<'py>(
    py: Python<'py>,
    table: &Bound<'py, PyAny>,
    names: Vec<String>,
) -> PyResult<Bound<'py, PyDict>> {
    let found = columns(table, "the events", &names, &["weights"])?;
    if let Some(name) = names.iter().find(|name| !found.iter().any(|(known, _)| known == *name)) {
        return Err(bad(format!("the events have no column '{name}'")));
    }
    let dict = PyDict::new(py);
    for (name, column) in found {
        dict.set_item(name, array(py, column.to_vec(), &[column.len()])?)?;
    }
    Ok(dict)
}

/// Points and values of a spline, and a limit on its error.
type Spline<'py> = (Bound<'py, PyArrayDyn<f64>>, Bound<'py, PyArrayDyn<f64>>, f64);

/// Returns the density of a sample as points and values of a natural cubic spline. Also returns an upper
/// limit on the difference between the spline and the sum of kernels, relative to the maximum of the density.
#[pyfunction]
pub(crate) fn _kernel_density<'py>(
    py: Python<'py>,
    sample: &Bound<'py, PyAny>,
    weights: Option<&Bound<'py, PyAny>>,
    low: f64,
    high: f64,
    bandwidth: f64,
    reflect: bool,
) -> PyResult<Spline<'py>> {
    let sample = numbers(sample, "the sample")?;
    let weights = weights.map(|weights| numbers(weights, "the weights of the sample")).transpose()?;
    let options = KernelOptions { bandwidth, reflect, ..KernelOptions::new(low, high) };
    let density = released(py, || kernel_density(&sample, weights.as_deref(), &options))?;
    let density = density.map_err(|error| bad(error.to_string()))?;
    let n = density.knots.len();
    Ok((array(py, density.knots, &[n])?, array(py, density.values, &[n])?, density.error))
}
