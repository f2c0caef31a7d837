//! Converts results to Python objects. These are the objects that `json.loads` would return for the JSON of the result, but
//! the JSON is not written, and dictionaries are those of `nextstat.types`, whose keys are attributes. A number that is not
//! finite becomes None, as it is null in JSON.

use std::convert::Infallible;
use std::fmt;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyNone, PyString};
use serde::ser::{self, Serialize};

/// Converts a value to Python lists, dictionaries, strings and numbers.
///
/// # Errors
/// If a Python object cannot be created, or the value contains a tuple variant of an enum. No result contains one.
pub(crate) fn plain<'py>(py: Python<'py>, value: &(impl Serialize + ?Sized)) -> PyResult<Bound<'py, PyAny>> {
    value.serialize(Plain(py)).map_err(|error| error.0)
}

/// Converts a structure to a Python dictionary. Its parts are those of `nextstat.types`.
///
/// # Errors
/// The errors of [`plain`], and if the value is not a structure or map.
pub(crate) fn dictionary<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyDict>> {
    plain(py, value)?.cast_into::<PyDict>()?.copy()
}

/// The function of `nextstat.types` that makes a part of a dictionary.
static PART: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Returns a dictionary as a part of a result. `name` is that of the structure, if there is one.
fn part<'py>(dict: Bound<'py, PyDict>, name: Option<&str>) -> Made<'py> {
    let py = dict.py();
    let make =
        PART.get_or_try_init(py, || PyResult::Ok(py.import("nextstat.types")?.getattr("_part")?.unbind()))?;
    Ok(make.bind(py).call1((name, dict))?)
}

/// A Python exception, wrapped in a type that serde accepts as an error.
#[derive(Debug)]
struct Raised(PyErr);

impl From<PyErr> for Raised {
    fn from(error: PyErr) -> Self {
        Self(error)
    }
}

impl From<Infallible> for Raised {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl fmt::Display for Raised {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Raised {}

impl ser::Error for Raised {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(PyValueError::new_err(message.to_string()))
    }
}

/// A serializer that creates Python objects.
#[derive(Clone, Copy)]
struct Plain<'py>(Python<'py>);

type Made<'py> = Result<Bound<'py, PyAny>, Raised>;

/// A Python list that is being filled.
struct Items<'py>(Bound<'py, PyList>);

/// A Python dictionary that is being filled. `name` is that of the structure, if it is one. `key` is the last key, until its
/// value is known. If `variant` (the name
/// of an enum variant) is set, the finished dictionary becomes the only value of another dictionary, with the key
/// `variant`.
struct Entries<'py> {
    dict: Bound<'py, PyDict>,
    name: Option<&'static str>,
    key: Option<Bound<'py, PyAny>>,
    variant: Option<&'static str>,
}

impl<'py> Plain<'py> {
    fn entries(self, name: Option<&'static str>, variant: Option<&'static str>) -> Entries<'py> {
        Entries { dict: PyDict::new(self.0), name, key: None, variant }
    }

    /// Returns a dictionary with the key `variant` and the given value.
    fn of_variant(self, variant: &str, value: Bound<'py, PyAny>) -> Made<'py> {
        let dict = PyDict::new(self.0);
        dict.set_item(variant, value)?;
        Ok(dict.into_any())
    }
}

/// Defines serializer methods for types that PyO3 converts to Python objects.
macro_rules! direct {
    ($($method:ident: $kind:ty),*) => {
        $(fn $method(self, value: $kind) -> Made<'py> {
            Ok(value.into_pyobject(self.0)?.to_owned().into_any())
        })*
    };
}

impl<'py> ser::Serializer for Plain<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Raised;
    type SerializeSeq = Items<'py>;
    type SerializeTuple = Items<'py>;
    type SerializeTupleStruct = Items<'py>;
    type SerializeTupleVariant = ser::Impossible<Bound<'py, PyAny>, Raised>;
    type SerializeMap = Entries<'py>;
    type SerializeStruct = Entries<'py>;
    type SerializeStructVariant = Entries<'py>;

    direct! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_char: char,
        serialize_bytes: &[u8]
    }

    fn serialize_f32(self, value: f32) -> Made<'py> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Made<'py> {
        if value.is_finite() { Ok(value.into_pyobject(self.0)?.into_any()) } else { self.serialize_none() }
    }

    fn serialize_str(self, value: &str) -> Made<'py> {
        Ok(PyString::new(self.0, value).into_any())
    }

    fn serialize_none(self) -> Made<'py> {
        Ok(PyNone::get(self.0).to_owned().into_any())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Made<'py> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Made<'py> {
        self.serialize_none()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Made<'py> {
        self.serialize_none()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Made<'py> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Made<'py> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Made<'py> {
        self.of_variant(variant, value.serialize(self)?)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items<'py>, Raised> {
        Ok(Items(PyList::empty(self.0)))
    }

    fn serialize_tuple(self, n: usize) -> Result<Items<'py>, Raised> {
        self.serialize_seq(Some(n))
    }

    fn serialize_tuple_struct(self, _: &'static str, n: usize) -> Result<Items<'py>, Raised> {
        self.serialize_seq(Some(n))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Raised> {
        Err(ser::Error::custom(format!("no result has a list named '{variant}'")))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries<'py>, Raised> {
        Ok(self.entries(None, None))
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Entries<'py>, Raised> {
        Ok(self.entries(Some(name), None))
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Entries<'py>, Raised> {
        Ok(self.entries(None, Some(variant)))
    }
}

/// Implements serde's traits for lists. They differ only in the names of their methods.
macro_rules! items {
    ($($interface:ident: $method:ident),*) => {
        $(impl<'py> ser::$interface for Items<'py> {
            type Ok = Bound<'py, PyAny>;
            type Error = Raised;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Raised> {
                Ok(self.0.append(value.serialize(Plain(self.0.py()))?)?)
            }

            fn end(self) -> Made<'py> {
                Ok(self.0.into_any())
            }
        })*
    };
}

items! { SerializeSeq: serialize_element, SerializeTuple: serialize_element, SerializeTupleStruct: serialize_field }

impl<'py> ser::SerializeMap for Entries<'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Raised;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Raised> {
        self.key = Some(key.serialize(Plain(self.dict.py()))?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Raised> {
        let key = self.key.take().ok_or_else(|| <Raised as ser::Error>::custom("a value without a key"))?;
        Ok(self.dict.set_item(key, value.serialize(Plain(self.dict.py()))?)?)
    }

    fn end(self) -> Made<'py> {
        part(self.dict, None)
    }
}

/// Implements serde's traits for structures. They differ only in their names.
macro_rules! entries {
    ($($interface:ident),*) => {
        $(impl<'py> ser::$interface for Entries<'py> {
            type Ok = Bound<'py, PyAny>;
            type Error = Raised;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Raised> {
                Ok(self.dict.set_item(key, value.serialize(Plain(self.dict.py()))?)?)
            }

            fn end(self) -> Made<'py> {
                let py = self.dict.py();
                let made = part(self.dict, self.name)?;
                match self.variant {
                    None => Ok(made),
                    Some(variant) => Plain(py).of_variant(variant, made),
                }
            }
        })*
    };
}

entries! { SerializeStruct, SerializeStructVariant }
