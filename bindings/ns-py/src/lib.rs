//! The native half of the `nextstat` Python package: convert, call the library, convert back.

mod analysis;
mod arrays;
mod batch;
mod bounds;
mod device;
mod edit;
mod error;
mod evaluate;
mod fit;
mod hypotest;
mod load;
mod model;
mod options;
mod pickle;
mod picture;
mod plain;
mod ranking;
mod result;
mod scan;
mod stages;
mod study;
mod table;
mod toys;
mod whole;
mod work;
mod written;
mod yields;

use pyo3::prelude::*;

/// Everything that `nextstat/__init__.py` re-exports.
#[pymodule]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    m.add("NextstatError", py.get_type::<error::NextstatError>())?;
    m.add("WorkspaceError", py.get_type::<error::WorkspaceError>())?;
    m.add("ConvergenceError", py.get_type::<error::ConvergenceError>())?;
    m.add("DeviceError", py.get_type::<error::DeviceError>())?;
    m.add_class::<model::Model>()?;
    m.add_class::<result::FitResult>()?;
    m.add_class::<result::Interval>()?;
    m.add_class::<batch::BatchResult>()?;
    m.add_class::<scan::ScanResult>()?;
    m.add_class::<scan::ScanInterval>()?;
    m.add_class::<ranking::RankingResult>()?;
    m.add_class::<hypotest::HypotestResult>()?;
    m.add_class::<hypotest::LimitResult>()?;
    m.add_class::<hypotest::SignificanceResult>()?;
    m.add_class::<hypotest::GoodnessResult>()?;
    m.add_class::<toys::HypotestToysResult>()?;
    m.add_class::<toys::ToyLimitResult>()?;
    m.add_class::<study::FitToysResult>()?;
    m.add_class::<stages::ToyTest>()?;
    m.add_class::<yields::YieldsResult>()?;
    m.add_class::<picture::Picture>()?;
    m.add_class::<device::DeviceInfo>()?;
    m.add_function(wrap_pyfunction!(load::load_workspace, m)?)?;
    m.add_function(wrap_pyfunction!(load::_restored, m)?)?;
    m.add_function(wrap_pyfunction!(pickle::_result, m)?)?;
    m.add_function(wrap_pyfunction!(result::_interval, m)?)?;
    m.add_function(wrap_pyfunction!(result::_fit, m)?)?;
    m.add_function(wrap_pyfunction!(scan::_scan_interval, m)?)?;
    m.add_function(wrap_pyfunction!(scan::_scan, m)?)?;
    m.add_function(wrap_pyfunction!(batch::_batch, m)?)?;
    m.add_function(wrap_pyfunction!(picture::_picture, m)?)?;
    m.add_function(wrap_pyfunction!(device::_device, m)?)?;
    m.add_function(wrap_pyfunction!(stages::_toy_test, m)?)?;
    #[cfg(debug_assertions)]
    m.add_function(wrap_pyfunction!(work::_panic, m)?)?;
    m.add_function(wrap_pyfunction!(load::_text, m)?)?;
    m.add_function(wrap_pyfunction!(edit::prune, m)?)?;
    m.add_function(wrap_pyfunction!(edit::rename, m)?)?;
    m.add_function(wrap_pyfunction!(edit::combine, m)?)?;
    m.add_function(wrap_pyfunction!(written::patch, m)?)?;
    m.add_function(wrap_pyfunction!(written::sort, m)?)?;
    m.add_function(wrap_pyfunction!(written::digest, m)?)?;
    m.add_function(wrap_pyfunction!(fit::fit, m)?)?;
    m.add_function(wrap_pyfunction!(batch::fit_batch, m)?)?;
    m.add_function(wrap_pyfunction!(scan::profile_scan, m)?)?;
    m.add_function(wrap_pyfunction!(ranking::ranking, m)?)?;
    m.add_function(wrap_pyfunction!(hypotest::hypotest, m)?)?;
    m.add_function(wrap_pyfunction!(hypotest::upper_limit, m)?)?;
    m.add_function(wrap_pyfunction!(hypotest::significance, m)?)?;
    m.add_function(wrap_pyfunction!(hypotest::goodness_of_fit, m)?)?;
    m.add_function(wrap_pyfunction!(toys::hypotest_toys, m)?)?;
    m.add_function(wrap_pyfunction!(study::fit_toys, m)?)?;
    m.add_function(wrap_pyfunction!(stages::toys_prepare, m)?)?;
    m.add_function(wrap_pyfunction!(stages::toys_from_header, m)?)?;
    m.add_function(wrap_pyfunction!(stages::toys_summarise, m)?)?;
    m.add_function(wrap_pyfunction!(yields::yields, m)?)?;
    m.add_function(wrap_pyfunction!(device::devices, m)?)?;
    m.add_function(wrap_pyfunction!(device::has_cuda, m)?)?;
    m.add_function(wrap_pyfunction!(device::has_metal, m)?)?;
    Ok(())
}
