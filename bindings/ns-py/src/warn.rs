//! Issues warnings about models and results as Python warnings.

use std::ffi::CString;

use ns_core::plain;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;

/// Issues each text as a `UserWarning` of the line that called the package.
///
/// # Errors
/// If the user has made warnings errors.
pub(crate) fn warn<'a>(py: Python<'_>, texts: impl IntoIterator<Item = &'a str>) -> PyResult<()> {
    let category = py.get_type::<PyUserWarning>();
    for text in texts {
        // Names in files may contain NUL, which ends a C string.
        let text = CString::new(plain(text).replace('\0', " ")).unwrap_or_default();
        PyErr::warn(py, &category, &text, 1)?;
    }
    Ok(())
}

/// Issues the warnings of a result. Those that the model already has were issued when it was made.
///
/// # Errors
/// If the user has made warnings errors.
pub(crate) fn warn_of_result(py: Python<'_>, model: &ns_core::Model, warnings: &[String]) -> PyResult<()> {
    warn(py, warnings.iter().filter(|text| !model.warnings.contains(text)).map(String::as_str))
}
