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
    let level = level_outside(py);
    for text in texts {
        // Names in files may contain NUL, which ends a C string.
        let text = CString::new(plain(text).replace('\0', " ")).unwrap_or_default();
        PyErr::warn(py, &category, &text, level)?;
    }
    Ok(())
}

/// Returns the stack level of the first line outside the package, such as that of the user of a function in Python that
/// calls the native module. It is 1, the innermost line, where the stack is not known.
fn level_outside(py: Python<'_>) -> i32 {
    let is_ours = |frame: &Bound<'_, PyAny>| -> PyResult<bool> {
        let name = frame.getattr("f_globals")?.call_method1("get", ("__name__", ""))?;
        let name: String = name.extract()?;
        Ok(name.split('.').next() == Some("nextstat"))
    };
    let level = || -> PyResult<i32> {
        let mut frame = py.import("sys")?.call_method0("_getframe")?;
        let mut level = 1;
        while is_ours(&frame)? {
            frame = frame.getattr("f_back")?;
            if frame.is_none() {
                return Ok(1);
            }
            level += 1;
        }
        Ok(level)
    };
    level().unwrap_or(1)
}

/// Issues the warnings of a result. Those that the model already has were issued when it was made.
///
/// # Errors
/// If the user has made warnings errors.
pub(crate) fn warn_of_result(py: Python<'_>, model: &ns_core::Model, warnings: &[String]) -> PyResult<()> {
    warn(py, warnings.iter().filter(|text| !model.warnings.contains(text)).map(String::as_str))
}
