//! Reads columns of numbers from objects that support Arrow, such as DataFrames and tables of pandas, polars,
//! pyarrow and DuckDB.
//!
//! `__arrow_c_stream__` of such an object returns a capsule with a stream of record batches (the Arrow
//! PyCapsule Interface). The structures in this file are those of the Arrow C Data Interface and C Stream
//! Interface. Their layouts are stable.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::Arc;

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

#[repr(C)]
struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut ArrowSchema,
    dictionary: *mut ArrowSchema,
    release: Option<unsafe extern "C" fn(*mut ArrowSchema)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrowArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut ArrowArray,
    dictionary: *mut ArrowArray,
    release: Option<unsafe extern "C" fn(*mut ArrowArray)>,
    private_data: *mut c_void,
}

#[repr(C)]
struct ArrowArrayStream {
    get_schema: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowSchema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut ArrowArrayStream, *mut ArrowArray) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut ArrowArrayStream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut ArrowArrayStream)>,
    private_data: *mut c_void,
}

/// Implements `Drop` for structures of Arrow. When a structure goes out of scope, the function `release` of its
/// producer frees the memory.
macro_rules! released_on_drop {
    ($($kind:ident),*) => {$(
        impl Drop for $kind {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: a structure with a `release` is valid. It is released only once, because its producer
                    // clears `release`.
                    unsafe { release(self) };
                }
            }
        }
    )*};
}
released_on_drop!(ArrowSchema, ArrowArray, ArrowArrayStream);

/// Returns the columns of an object that have one of the given names, as 64-bit floating-point numbers. `what` is the
/// object's name in messages.
///
/// # Errors
/// `TypeError` if the values of a column are not numbers. `ValueError` if a column has nulls, or integers that a
/// 64-bit floating-point number cannot hold. Also the errors that the producer of the stream reports.
pub(crate) fn columns(
    object: &Bound<'_, PyAny>,
    what: &str,
    names: &[&str],
) -> PyResult<Vec<(String, Arc<[f64]>)>> {
    let capsule = object.call_method0("__arrow_c_stream__")?;
    let capsule = capsule
        .cast::<PyCapsule>()
        .map_err(|_| PyTypeError::new_err(format!("{what} is no Arrow stream")))?;
    let place = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<ArrowArrayStream>().as_ptr();
    // SAFETY: a capsule of this name holds a stream. The stream is moved out of the capsule, as the interface
    // requires. The capsule keeps a stream that is marked as released, so that the stream is released only
    // once.
    let mut stream = unsafe {
        let taken = place.read();
        (*place).release = None;
        taken
    };
    if stream.release.is_none() {
        return Err(PyValueError::new_err(format!("the Arrow stream of {what} was read already")));
    }
    let mut schema = ArrowSchema {
        format: null(),
        name: null(),
        metadata: null(),
        flags: 0,
        n_children: 0,
        children: null_mut(),
        dictionary: null_mut(),
        release: None,
        private_data: null_mut(),
    };
    let get_schema = stream.get_schema.ok_or_else(|| failed(what, "it has no schema"))?;
    // SAFETY: the stream is valid until it is released, and the schema is an empty structure to be filled.
    let code = unsafe { get_schema(&mut stream, &mut schema) };
    check(&mut stream, code, what)?;
    let mut wanted = chosen(&schema, what, names)?;
    loop {
        let mut batch = ArrowArray {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: null_mut(),
            children: null_mut(),
            dictionary: null_mut(),
            release: None,
            private_data: null_mut(),
        };
        let get_next = stream.get_next.ok_or_else(|| failed(what, "it has no data"))?;
        // SAFETY: the stream is valid until it is released, and the batch is an empty structure to be filled.
        let code = unsafe { get_next(&mut stream, &mut batch) };
        check(&mut stream, code, what)?;
        if batch.release.is_none() {
            break;
        }
        for column in &mut wanted {
            column.append(&batch, what)?;
        }
    }
    Ok(wanted.into_iter().map(|column| (column.name, Arc::from(column.values))).collect())
}

fn failed(what: &str, reason: &str) -> PyErr {
    PyValueError::new_err(format!("the Arrow stream of {what} cannot be read: {reason}"))
}

/// Checks `code`, the value that a function of the stream returned. If it is not 0, returns an error with the message
/// of the stream's producer. `what` is the name of the object in messages.
fn check(stream: &mut ArrowArrayStream, code: c_int, what: &str) -> PyResult<()> {
    if code == 0 {
        return Ok(());
    }
    let text = stream.get_last_error.map_or(null(), |get| {
        // SAFETY: the stream is valid, and the interface allows this call after an error.
        unsafe { get(stream) }
    });
    // SAFETY: a text that is not null ends with a zero and lives until the next call on the stream.
    let text = (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
    Err(failed(what, text.as_deref().unwrap_or("its producer reports an error")))
}

/// The type in which a column stores its numbers.
#[derive(Clone, Copy)]
enum Kind {
    Boolean,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
}

/// A column of a stream, with the numbers that have been read so far.
struct Column {
    name: String,
    /// Index of this column among all columns of the stream.
    index: usize,
    kind: Kind,
    values: Vec<f64>,
}

/// Finds the columns of a stream whose names are in `names`. No numbers are read yet. `what` is the name of the object
/// in messages.
fn chosen(schema: &ArrowSchema, what: &str, names: &[&str]) -> PyResult<Vec<Column>> {
    // SAFETY: a filled schema has a format that ends with a zero.
    let table = unsafe { text(schema.format) };
    if table != "+s" {
        let message = format!("{what} has one column without a name; give a table with named columns");
        return Err(PyTypeError::new_err(message));
    }
    let mut columns: Vec<Column> = Vec::new();
    for index in 0..usize::try_from(schema.n_children).unwrap_or(0) {
        // SAFETY: a schema has `n_children` valid children, each with a format; the name may be null.
        let (name, format, encoded) = unsafe {
            let child = &**schema.children.add(index);
            (text(child.name), text(child.format), !child.dictionary.is_null())
        };
        if !names.contains(&name.as_str()) || columns.iter().any(|column| column.name == name) {
            continue;
        }
        let kind = match format.as_str() {
            _ if encoded => None,
            "b" => Some(Kind::Boolean),
            "c" => Some(Kind::I8),
            "C" => Some(Kind::U8),
            "s" => Some(Kind::I16),
            "S" => Some(Kind::U16),
            "i" => Some(Kind::I32),
            "I" => Some(Kind::U32),
            "l" => Some(Kind::I64),
            "L" => Some(Kind::U64),
            "f" => Some(Kind::F32),
            "g" => Some(Kind::F64),
            _ => None,
        };
        let Some(kind) = kind else {
            return Err(PyTypeError::new_err(format!(
                "column '{name}' of {what} has no plain numbers (Arrow format '{format}'{}); convert it to float64",
                if encoded { ", dictionary-encoded" } else { "" }
            )));
        };
        columns.push(Column { name, index, kind, values: Vec::new() });
    }
    Ok(columns)
}

/// Returns a C string as text; empty for a null pointer.
///
/// # Safety
/// The pointer must be null or point to a text that ends with a zero byte.
unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the caller guarantees this.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

impl Column {
    /// Appends the numbers that the record batch `batch` contains for this column. `what` is the name of the object in
    /// messages.
    fn append(&mut self, batch: &ArrowArray, what: &str) -> PyResult<()> {
        let rows = usize::try_from(batch.length).unwrap_or(0);
        if rows == 0 {
            return Ok(());
        }
        let short = || failed(what, "a column has fewer rows than its table");
        if self.index >= usize::try_from(batch.n_children).unwrap_or(0) {
            return Err(failed(what, "a batch has fewer columns than its schema"));
        }
        // SAFETY: a batch has `n_children` valid children, and the index is smaller.
        let child = unsafe { &**batch.children.add(self.index) };
        let skipped = usize::try_from(batch.offset).unwrap_or(0);
        let start = usize::try_from(child.offset).unwrap_or(0) + skipped;
        if usize::try_from(child.length).unwrap_or(0) < skipped + rows || child.n_buffers < 2 {
            return Err(short());
        }
        // SAFETY: a column of plain numbers has two buffers: validity, which may be null, and values.
        let (validity, values) = unsafe { (*child.buffers, *child.buffers.add(1)) };
        if values.is_null() {
            return Err(short());
        }
        // SAFETY: the buffer has a bit for each of `offset + length` rows.
        let bit = |bits: *const c_void, row: usize| unsafe {
            *bits.cast::<u8>().add(row / 8) >> (row % 8) & 1 == 1
        };
        if child.null_count != 0
            && !validity.is_null()
            && let Some(row) = (start..start + rows).position(|row| !bit(validity, row))
        {
            return Err(PyValueError::new_err(format!(
                "column '{}' of {what} has no number (null) in row {}; drop or fill such rows",
                self.name,
                self.values.len() + row
            )));
        }
        let before = self.values.len();
        macro_rules! numbers {
            ($kind:ty, $number:expr) => {{
                let first = values.cast::<$kind>();
                if !first.is_aligned() {
                    return Err(failed(what, "a column is not aligned"));
                }
                // SAFETY: the buffer has `offset + length` numbers of the type that the format names, is aligned for
                // it, and lives as long as the batch.
                let slice = unsafe { std::slice::from_raw_parts(first.add(start), rows) };
                self.values.extend(slice.iter().map($number));
            }};
        }
        match self.kind {
            Kind::Boolean => {
                self.values.extend((start..start + rows).map(|row| f64::from(u8::from(bit(values, row)))))
            }
            Kind::I8 => numbers!(i8, |x| f64::from(*x)),
            Kind::U8 => numbers!(u8, |x| f64::from(*x)),
            Kind::I16 => numbers!(i16, |x| f64::from(*x)),
            Kind::U16 => numbers!(u16, |x| f64::from(*x)),
            Kind::I32 => numbers!(i32, |x| f64::from(*x)),
            Kind::U32 => numbers!(u32, |x| f64::from(*x)),
            Kind::I64 => numbers!(i64, |x| *x as f64),
            Kind::U64 => numbers!(u64, |x| *x as f64),
            Kind::F32 => numbers!(f32, |x| f64::from(*x)),
            Kind::F64 => numbers!(f64, |x| *x),
        }
        let new = self.values.get(before..).unwrap_or_default();
        // Integers above 2^53 are rounded. 2^53 is refused too, because 2^53 + 1 is rounded to this number.
        if matches!(self.kind, Kind::I64 | Kind::U64)
            && let Some(row) = new.iter().position(|x| x.abs() >= 9_007_199_254_740_992.0)
        {
            return Err(PyValueError::new_err(format!(
                "column '{}' of {what} has an integer in row {} that a 64-bit floating-point number cannot hold",
                self.name,
                before + row
            )));
        }
        Ok(())
    }
}
