//! Support for `pickle` and `copy`. A pickle of an object contains the name of a function that restores the object, and
//! the arguments of this function.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The value of `__reduce__`: a function of the module `nextstat._native`, and its arguments.
pub(crate) type Reduced<'py> = (Bound<'py, PyAny>, Bound<'py, PyTuple>);

/// Returns the function with this name from the module `nextstat._native`. It restores pickled objects.
///
/// # Errors
/// If there is no such function.
pub(crate) fn restorer<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("nextstat._native")?.getattr(name)
}

/// Returns a value as JSON text.
///
/// # Errors
/// If the value cannot be written as JSON.
pub(crate) fn written(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Reads a value from the text of [`written`].
///
/// # Errors
/// If the text has another type or version.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text)
        .map_err(|error| PyValueError::new_err(format!("this is no pickled result of this version: {error}")))
}

/// Defines a Python class of read-only attributes, its conversion to a dictionary, and a function that
/// restores it from this dictionary. `pickle` and `copy` store the dictionary. With `from`, also defines the
/// conversion from a Rust type with the same fields.
macro_rules! attributes {
    ($(#[$doc:meta])* $name:ident, $restore:ident from $library:ty { $($key:ident: $kind:ty,)* }) => {
        $crate::pickle::attributes! { $(#[$doc])* $name, $restore { $($key: $kind,)* } }

        impl From<$library> for $name {
            fn from(from: $library) -> Self {
                Self { $($key: from.$key,)* }
            }
        }
    };
    ($(#[$doc:meta])* $name:ident, $restore:ident { $($key:ident: $kind:ty,)* }) => {
        $(#[$doc])*
        #[pyclass(frozen, module = "nextstat", get_all)]
        pub(crate) struct $name {
            $($key: $kind,)*
        }

        impl $name {
            /// Returns the attributes as a dictionary.
            fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
                let dict = PyDict::new(py);
                $(dict.set_item(stringify!($key), &self.$key)?;)*
                Ok(dict)
            }

            fn reduced<'py>(&self, py: Python<'py>) -> PyResult<$crate::pickle::Reduced<'py>> {
                let restorer = $crate::pickle::restorer(py, stringify!($restore))?;
                Ok((restorer, (self.attributes(py)?,).into_pyobject(py)?))
            }
        }

        #[doc = concat!("Restores a pickled `", stringify!($name), "` from its attributes.")]
        #[pyfunction]
        pub(crate) fn $restore(attributes: &Bound<'_, PyDict>) -> PyResult<$name> {
            let of = |key: &str| attributes.as_any().get_item(key);
            Ok($name { $($key: of(stringify!($key))?.extract()?,)* })
        }
    };
}
pub(crate) use attributes;
