//! A compiled model as a differentiable function of its parameters, of the inputs that it opened and of the
//! data. The sessions of `ns_inference::differentiable` are written on top of it.
//!
//! It computes on the CPU; [`DeviceNll`] computes `-ln L` and its derivatives on a GPU, for callers who have their arrays
//! there.

#[cfg(feature = "cuda")]
use ns_core::Device;
use ns_core::{Data, Evaluation, EvaluationRequest, Execution, InputTable, Model, Session, SessionError};

pub use crate::cpu::Derivatives;
use crate::cpu::{CpuSession, Order};
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub use crate::device::{DeviceNll, DeviceRows, RowStatus};

/// A compiled model with its derivatives of first order by everything, of second order along any direction, and of
/// third order along directions of the parameters.
pub struct DifferentiableAccelerator {
    session: CpuSession,
}

impl DifferentiableAccelerator {
    /// Compiles a model with its inputs ([`Model::open`]).
    ///
    /// # Errors
    /// As [`CpuSession::open`]; [`SessionError::ForeignData`] for a model with event channels or penalties.
    pub fn open(model: &Model, execution: &Execution) -> Result<Self, SessionError> {
        if model.has_event_terms() {
            let remedy = "derivatives by inputs exist for binned models";
            return Err(SessionError::ForeignData { remedy });
        }
        Ok(Self { session: CpuSession::open(model, execution)? })
    }

    /// Uploads the model to a CUDA device, with `data` that all calls share.
    ///
    /// # Errors
    /// If there is no such device, it has too little memory, or the data do not suit the model.
    #[cfg(feature = "cuda")]
    pub fn on_cuda(&self, index: usize, data: &Data) -> Result<DeviceNll, SessionError> {
        DeviceNll::new(&self.session, crate::device::cuda::backend(index)?, Device::Cuda(index), data)
    }

    /// Prepares the kernels compiled for the CPU, for tests. Addresses are those of the process.
    ///
    /// # Errors
    /// If the data do not suit the model.
    #[cfg(feature = "cuda-on-host")]
    pub fn on_host(&self, data: &Data) -> Result<DeviceNll, SessionError> {
        DeviceNll::new(&self.session, crate::device::host::backend(), ns_core::Device::Cuda(0), data)
    }

    /// Returns the session of the compiled model, for fits.
    #[must_use]
    pub fn session(&self) -> &CpuSession {
        &self.session
    }

    /// Returns the inputs, their order and compiled values.
    #[must_use]
    pub fn inputs(&self) -> &InputTable {
        self.session.inputs()
    }

    /// Returns `-ln L` at a point, with its derivatives by parameters, inputs, counts and auxiliary data.
    ///
    /// # Errors
    /// If a length does not fit the model, a number is not allowed, or the data are toys.
    pub fn value(&self, data: &Data, point: &[f64]) -> Result<(f64, Derivatives), SessionError> {
        let request = EvaluationRequest { nll: true, gradient: true, ..EvaluationRequest::default() };
        let Evaluation { nll, gradient, .. } = self.session.evaluate(data, point, request)?;
        let mut made = self.session.derivatives(data, point, None, Order::First, false)?;
        made.parameters = gradient;
        Ok((nll.first().copied().unwrap_or(f64::NAN), made))
    }

    /// Returns the derivatives, by everything, of the derivative of `-ln L` along a direction of the parameters and
    /// one of the inputs: a product of the Hessian over all of them with the direction.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub fn along(
        &self,
        data: &Data,
        point: &[f64],
        parameters: &[f64],
        yields: Option<&[f64]>,
    ) -> Result<Derivatives, SessionError> {
        self.session.derivatives(data, point, Some((parameters, yields)), Order::First, true)
    }

    /// Returns the derivatives, by everything, of the second derivative of `-ln L` along a direction of the
    /// parameters, `u' H u`.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub fn curvature_along(
        &self,
        data: &Data,
        point: &[f64],
        direction: &[f64],
    ) -> Result<Derivatives, SessionError> {
        self.session.derivatives(data, point, Some((direction, None)), Order::Second, true)
    }

    /// Returns the derivatives, by parameters and inputs, of the sum of all expected data at a point, each
    /// multiplied by its number in `main` or `aux`. `of` gives the numbers of the inputs.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub fn expected(
        &self,
        of: &Data,
        point: &[f64],
        main: &[f64],
        aux: &[f64],
    ) -> Result<Derivatives, SessionError> {
        self.session.expected_derivatives(of, point, main, aux)
    }

    /// Solves `H x = b` with the exact Hessian `H` of `-ln L` at a point over the parameters that are `free`, for
    /// each `b` of `sides`. Elements of the others are 0. Returns `None` if `H` is not positive definite.
    ///
    /// # Errors
    /// As [`Self::value`].
    pub fn solve(
        &self,
        data: &Data,
        point: &[f64],
        free: &[bool],
        sides: &[&[f64]],
    ) -> Result<Option<Vec<Vec<f64>>>, SessionError> {
        self.session.solve_hessian(data, point, free, sides)
    }
}
