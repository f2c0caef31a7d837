//! Passes arrays in the memory of a device to other libraries, without a copy. The structures are those of DLPack,
//! whose layouts are stable.

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;

use pyo3::ffi;
use pyo3::prelude::*;

/// Name that DLPack prescribes for a capsule whose array no library has taken over yet.
const NAME: &CStr = c"dltensor";
/// DLPack's description of 64-bit floating-point numbers: the code of the type (2 means floating-point), the number of
/// bits, and the number of values per element.
const DOUBLE: (u8, u8, u16) = (2, 64, 1);

/// A device as DLPack describes it. The fields are the number of the type of device, and the index of the device among
/// those of its type.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DlDevice {
    pub(crate) kind: i32,
    pub(crate) index: i32,
}

impl DlDevice {
    /// Number of the device type "CPU" in DLPack.
    #[cfg(feature = "cuda-on-host")]
    pub(crate) const CPU: i32 = 1;
    /// Number of the device type "NVIDIA GPU" in DLPack.
    #[cfg(feature = "cuda")]
    pub(crate) const CUDA: i32 = 2;
}

#[repr(C)]
struct DlType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device: DlDevice,
    dimensions: i32,
    kind: DlType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// The structure that other libraries read (`managed`), the shape and strides that this structure points to, and the
/// owner of the numbers.
#[repr(C)]
struct Shared<O> {
    managed: Managed,
    shape: [i64; 2],
    strides: [i64; 2],
    owner: O,
}

unsafe extern "C" fn delete<O>(managed: *mut Managed) {
    // SAFETY: `managed` is the first field of a `Shared<O>` that `capsule` has put into a box; DLPack calls the
    // deleter once.
    drop(unsafe { Box::from_raw(managed.cast::<Shared<O>>()) });
}

/// Destructor of a capsule. Frees the array if no library has taken it over. A library that takes an array over changes
/// the name of the capsule.
unsafe extern "C" fn forget(capsule: *mut ffi::PyObject) {
    // SAFETY: the interpreter calls this with the capsule, whose pointer is that of a `Managed` while it has this name.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME.as_ptr()) == 1 {
            let managed = ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr()).cast::<Managed>();
            if let Some(deleter) = (*managed).deleter {
                deleter(managed);
            }
        }
    }
}

/// Returns a capsule with the array of 64-bit floating-point numbers that starts at `address` on `device`. The numbers
/// are stored row by row without gaps. `shape` has one or two lengths. `owner` is dropped when the array is no longer
/// used.
///
/// # Errors
/// If Python has no memory.
pub(crate) fn capsule<'py, O: Send + 'static>(
    py: Python<'py>,
    address: u64,
    shape: &[usize],
    device: DlDevice,
    owner: O,
) -> PyResult<Bound<'py, PyAny>> {
    let length = |i: usize| shape.get(i).map_or(1, |&n| n as i64);
    let strides = if shape.len() == 2 { [length(1), 1] } else { [1, 1] };
    let (code, bits, lanes) = DOUBLE;
    let tensor = DlTensor {
        data: if shape.contains(&0) { null_mut() } else { address as *mut c_void },
        device,
        dimensions: shape.len().min(2) as i32,
        kind: DlType { code, bits, lanes },
        shape: null_mut(),
        strides: null_mut(),
        byte_offset: 0,
    };
    let managed = Managed { tensor, context: null_mut(), deleter: Some(delete::<O>) };
    let shared = Box::into_raw(Box::new(Shared { managed, shape: [length(0), length(1)], strides, owner }));
    // SAFETY: the box is valid and nobody else has its address. The capsule owns it from here on; if there is no capsule,
    // it is freed here.
    unsafe {
        (*shared).managed.tensor.shape = (&raw mut (*shared).shape).cast();
        (*shared).managed.tensor.strides = (&raw mut (*shared).strides).cast();
        let made = ffi::PyCapsule_New(shared.cast(), NAME.as_ptr(), Some(forget));
        if made.is_null() {
            drop(Box::from_raw(shared));
        }
        Bound::from_owned_ptr_or_err(py, made)
    }
}
