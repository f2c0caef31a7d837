//! A compiled model on a device, as a differentiable function of its parameters and inputs.

use std::sync::{Arc, Mutex, PoisonError};

use ns_core::{Device, SessionError};

use super::super::arena::{Arena, moved};
use super::super::backend::{Backend, Buffer, Guest, Kernel, Shape};
use super::super::fit_kind::Size;
use super::super::limit::Limited;
use super::super::offset::{Offset, OffsetMut};
use super::super::shape::{self, ArrayPlacement};
use super::super::upload;
use super::changes::{self, DeviceDependence, StartData};
use super::copies;
use super::layout::DifferentiateLaunch;
use crate::cpu::CpuSession;
use crate::shared_constants::{
    BAD_INPUT, FINE, MOST_DIFFERENTIATING, MOST_SUMS, NO_ASIMOV, NO_LIKELIHOOD, WARP, ZERO_FACTOR,
};

/// Number of doubles for the partial sums of a thread block. There are two areas, which are used alternately.
const SUMS: usize = 2 * MOST_SUMS * (MOST_DIFFERENTIATING / WARP);

/// Arguments of one call: the number of rows and the addresses of arrays. A row is one set of values of inputs and
/// parameters; `-ln L` is computed once per row. All addresses are addresses in device memory, as the CUDA driver
/// gives them. All arrays contain f64 numbers, except `status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceRows {
    /// Number of rows. `-ln L` is computed at one point per row.
    pub n_rows: usize,
    /// Address of the values of the caller's inputs: one array for each row, or a single array for all rows.
    pub inputs: u64,
    /// Whether `inputs` is a single array for all rows.
    pub one_row_of_inputs: bool,
    /// Address of the parameter values: one array for each row, or a single array for all rows.
    pub parameters: u64,
    /// Whether `parameters` is a single array for all rows.
    pub one_row_of_parameters: bool,
    /// Address to which `-ln L` is written, one number per row.
    pub values: u64,
    /// Address to which the derivatives with respect to the parameters are written, one number per row and parameter,
    /// row after row.
    pub by_parameters: u64,
    /// Address to which the derivatives with respect to the inputs are written, one number per row and input, row
    /// after row.
    pub by_inputs: u64,
    /// Distances between the starts of neighbouring rows in `by_parameters` and in `by_inputs`, counted in f64 numbers.
    /// `None` means that the rows follow each other without gaps.
    pub strides: Option<(usize, usize)>,
    /// Address to which the status of each row is written, as a 32-bit integer. [`RowStatus::of`] decodes it.
    pub status: u64,
}

/// Result of the checks of one row (one point at which `-ln L` is computed).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowStatus {
    /// All results are finite.
    Fine,
    /// An input or a parameter is not finite, or an input that must be positive (a factor or a width) is not. All
    /// results of the row are NaN.
    BadInput,
    /// `-ln L` is not finite at this point.
    NoLikelihood,
    /// A product of normsys factors is zero. The derivatives with respect to these factors and their parameters are
    /// then not finite.
    ZeroFactor,
    /// The Asimov data do not exist, because an expected count is negative or not finite. All results of the row are
    /// NaN.
    NoAsimov,
}

impl RowStatus {
    /// Returns the meaning of a status that a kernel wrote, or `None` if the number is not a status.
    #[must_use]
    pub fn of(status: i32) -> Option<Self> {
        match status {
            FINE => Some(Self::Fine),
            BAD_INPUT => Some(Self::BadInput),
            NO_LIKELIHOOD => Some(Self::NoLikelihood),
            ZERO_FACTOR => Some(Self::ZeroFactor),
            NO_ASIMOV => Some(Self::NoAsimov),
            _ => None,
        }
    }
}

/// Computes `-ln L` of a model and its derivatives with respect to parameters and inputs on one device. The arrays of
/// the caller are in the memory of this device.
///
/// A call returns before its work ends, because the work is a part of the caller's stream. Different calls may use
/// different streams. The work of all calls of one object runs in the order of the calls.
pub struct DeviceNll {
    device: Device,
    /// Launches kernels. This field must be dropped first, because dropping it waits for all work. The later fields
    /// contain the memory that this work uses.
    work: Mutex<Work>,
    backend: Arc<dyn Backend>,
    _lists: Buffer,
    data: Buffer,
    launch: DifferentiateLaunch,
    placement: ArrayPlacement,
    kernel: Kernel,
    threads: u32,
    /// Largest number of thread blocks in one launch.
    most_blocks: usize,
    /// Initial content of one thread block's copy of the model arrays. In this copy, inputs replace
    /// numbers of the model.
    copies: Vec<f64>,
}

/// Working memory of launches. It grows when a call needs more thread blocks than all calls before.
struct Work {
    guest: Box<dyn Guest>,
    blocks: usize,
    slab: Option<Buffer>,
    copies: Option<Buffer>,
}

impl DeviceNll {
    /// Uploads the model of the session `cpu` with its open inputs (numbers of the model that calls can replace). Also
    /// uploads what the likelihood depends on beside them.
    ///
    /// # Errors
    /// If the device has too little memory, or the data do not suit the model.
    pub(crate) fn new(
        cpu: &CpuSession,
        backend: Arc<dyn Backend>,
        device: Device,
        dependence: &DeviceDependence<'_>,
    ) -> Result<Self, SessionError> {
        let refused = |reason: &str| {
            let remedy = "Give arrays in the memory of the CPU".to_owned();
            Err(SessionError::DeviceUnavailable { device, reason: reason.to_owned(), remedy })
        };
        if let Some(why) = cpu.plan.why_not_on_gpus() {
            return refused(why);
        }
        let backend = Limited::around(backend, device, cpu.memory_limit);
        let mut arena = Arena::default();
        let (plan, places) = upload::plan(&cpu.plan, &mut arena);
        let threads = threads(plan.n_terms.max(plan.n_cells) + plan.n_params);
        let mut launch = DifferentiateLaunch { plan, ..DifferentiateLaunch::default() };
        let mut copies = copies::place(&cpu.plan, &places, &mut arena, &mut launch);
        let StartData { numbers, constant } =
            changes::place(cpu, dependence, &mut arena, &mut launch, &mut copies)?;
        launch.constant = constant;
        if changes::is_changing(&launch) && cpu.plan.has_function_factors() {
            return refused(
                "derivatives of models with functions of parameters, where data or other numbers of the model change with the inputs, are computed on the CPU",
            );
        }
        let copies = copies.finish(&mut launch);
        let lists = arena.upload(&backend)?;
        let mut launch = moved(launch, lists.start());
        let data = Buffer::holding(&backend, &numbers)?;
        launch.data = data.at();
        let placement = shape::place_arrays(&launch.plan, Size::default(), false, backend.properties());
        let kernel = match (changes::is_changing(&launch), placement.in_shared) {
            (false, true) => Kernel::Differentiate,
            (false, false) => Kernel::DifferentiateGlobal,
            (true, true) => Kernel::DifferentiateChanging,
            (true, false) => Kernel::DifferentiateChangingGlobal,
        };
        launch.offset = placement.offset;
        launch.slab_stride = placement.slab as u64;
        launch.sums_at = (placement.shared / 8) as i32;
        let shared = placement.shared + 8 * SUMS;
        let resident = backend.resident(kernel, threads, shared)?;
        let per_block = placement.slab + copies.len();
        let most_blocks = resident.min(shape::most_slabs(backend.properties(), per_block, usize::MAX));
        let guest = Arc::clone(&backend).guest()?;
        Ok(Self {
            device,
            work: Mutex::new(Work { guest, blocks: 0, slab: None, copies: None }),
            backend,
            _lists: lists,
            data,
            launch,
            placement,
            kernel,
            threads,
            most_blocks,
            copies,
        })
    }

    /// Returns the device on which the model is.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Checks that all arrays of `rows` are in the memory of the device.
    ///
    /// # Errors
    /// [`SessionError::NotOnDevice`] with the name of an array that is not in the memory of the device.
    pub fn check_addresses(&self, rows: &DeviceRows) -> Result<(), SessionError> {
        let work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let addresses = [
            ("the array of yields", rows.inputs, self.launch.n_given),
            ("the array of parameters", rows.parameters, self.launch.plan.n_params),
            ("the array of values", rows.values, 1),
            ("the array of derivatives by parameters", rows.by_parameters, self.launch.plan.n_params),
            ("the array of derivatives by yields", rows.by_inputs, self.launch.n_given),
            ("the array of states", rows.status, 1),
        ];
        for (what, address, per_row) in addresses {
            if per_row > 0 && rows.n_rows > 0 {
                work.guest.check_address(what, address)?;
            }
        }
        Ok(())
    }

    /// Starts the computation of all rows on the caller's `stream`, and returns before it ends. `stream` is the
    /// driver's handle of the stream; 0 is the default stream. Memory is allocated only if the call has more rows
    /// than all calls before.
    ///
    /// # Errors
    /// If the device reports an error.
    ///
    /// # Safety
    /// Every address must be the address of an array on the device (see [`Self::check_addresses`]). Each array must
    /// have the size that [`DeviceRows`] describes, and must exist until the stream has done this work. `stream` must
    /// be a stream of the device in this process.
    pub unsafe fn enqueue(&self, stream: u64, rows: DeviceRows) -> Result<(), SessionError> {
        if rows.n_rows == 0 {
            return Ok(());
        }
        let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let blocks = rows.n_rows.min(self.most_blocks).max(1);
        self.reserve(&mut work, blocks)?;
        let stride = |one: bool, n: i32| if one { 0 } else { n as u64 };
        let dense = (self.launch.plan.n_params as usize, self.launch.n_given as usize);
        let (by_parameters_stride, by_inputs_stride) = rows.strides.unwrap_or(dense);
        let launch = DifferentiateLaunch {
            n_rows: i32::try_from(rows.n_rows).map_err(|_| too_many(rows.n_rows))?,
            slab: work.slab.as_ref().map_or(OffsetMut::NULL, Buffer::at),
            copies: work.copies.as_ref().map_or(OffsetMut::NULL, Buffer::at),
            inputs: Offset::new(rows.inputs),
            inputs_stride: stride(rows.one_row_of_inputs, self.launch.n_given),
            parameters: Offset::new(rows.parameters),
            parameters_stride: stride(rows.one_row_of_parameters, self.launch.plan.n_params),
            values: OffsetMut::new(rows.values),
            by_parameters: OffsetMut::new(rows.by_parameters),
            by_parameters_stride: by_parameters_stride as u64,
            by_inputs: OffsetMut::new(rows.by_inputs),
            by_inputs_stride: by_inputs_stride as u64,
            status: OffsetMut::new(rows.status),
            ..self.launch
        };
        let shared = (self.placement.shared + 8 * SUMS) as u32;
        let shape = Shape { blocks: blocks as u32, threads: self.threads, shared };
        // SAFETY: the caller guarantees stream and arrays; the other arrays live as long as `self`, which waits for the work
        // when it is dropped.
        unsafe { work.guest.launch(stream, self.kernel, shape, bytemuck::bytes_of(&launch)) }
    }

    /// Enlarges the working memory if it is too small for `blocks` thread blocks.
    fn reserve(&self, work: &mut Work, blocks: usize) -> Result<(), SessionError> {
        if work.blocks >= blocks {
            return Ok(());
        }
        work.guest.wait()?;
        (work.blocks, work.slab, work.copies) = (0, None, None);
        let slab = Buffer::new(&self.backend, 8 * self.placement.slab * blocks)?;
        let copies = Buffer::new(&self.backend, 8 * self.copies.len() * blocks)?;
        for block in 0..blocks {
            let to = copies.at::<f64, true>().plus(block * self.copies.len()).cast();
            self.backend.write(to, bytemuck::cast_slice(&self.copies))?;
        }
        // The copies run on the device's own stream. Reading a number waits for them.
        let mut last = [0.0_f64; 1];
        if !self.copies.is_empty() {
            copies.read_into(0, &mut last)?;
        } else {
            self.data.read_into(0, last.get_mut(..usize::from(self.data.bytes() > 0)).unwrap_or_default())?;
        }
        (work.blocks, work.slab, work.copies) = (blocks, Some(slab), Some(copies));
        Ok(())
    }
}

/// Returns the number of threads of a thread block. `work` is the number of parameters plus the number of normsys
/// terms or of cells (bins of samples), whichever is larger. The number of threads determines the order of sums, so it
/// depends on the model alone.
fn threads(work: i32) -> u32 {
    match work {
        ..=32 => 32,
        33..=160 => 64,
        161..=640 => 128,
        641..=1280 => 256,
        1281..=1600 => 512,
        _ => MOST_DIFFERENTIATING as u32,
    }
}

fn too_many(rows: usize) -> SessionError {
    SessionError::TooLarge {
        what: "the number of rows of one call".to_owned(),
        needed: rows as u64,
        limit: i32::MAX as u64,
    }
}
