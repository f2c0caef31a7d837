//! The function `nextstat.splot`, which computes sPlot weights.

use ns_core::Data;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::array;
use crate::datasets::dataset;
use crate::error::inference_error;
use crate::load;
use crate::result::FitResult;
use crate::work::released;

/// Returns sPlot weights of the events of a channel. For each process there is an array with one weight per
/// event, in the order of the events.
///
/// A histogram of another observable, filled with the weights of a process, estimates the distribution of
/// this process. This holds if the other observable is independent of the observables in the fit. `result` is
/// a fit of the model. `data` are the data of the fit, as for `fit`. `channel` names the channel if the model
/// has several. If only the yields were free in the fit, the weights of a process add up to its expected
/// number of events.
#[pyfunction]
#[pyo3(signature = (model, result, channel = None, *, data = None))]
pub(crate) fn splot<'py>(
    py: Python<'py>,
    model: &Bound<'py, PyAny>,
    result: &Bound<'py, FitResult>,
    channel: Option<&str>,
    data: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let model = load::model(py, model, "cpu")?;
    let model = &model.get().inner;
    let data = match data {
        Some(data) => Data::from(dataset(model, data)?),
        None => ns_inference::observed(model).map_err(|error| inference_error(&error))?,
    };
    let fitted = result.get().whole(py)?;
    let weights = released(py, || ns_inference::splot(model, &data, &fitted.bestfit, channel))?;
    let weights = weights.map_err(|error| inference_error(&error))?;
    let dict = PyDict::new(py);
    for (process, column) in weights.processes.iter().zip(weights.weights) {
        let n = column.len();
        dict.set_item(process, array(py, column, &[n])?)?;
    }
    Ok(dict)
}
