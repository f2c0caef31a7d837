//! A compiled model as a differentiable function of its parameters, its open inputs (numbers of the model that calls
//! can replace) and the data. The sessions of `ns_inference::differentiable` use this function.
//!
//! The derivatives are computed on the CPU. [`DeviceNll`] computes `-ln L` and its derivatives on a GPU, for callers
//! whose arrays are in the memory of the GPU.

#[cfg(feature = "cuda")]
use ns_core::Device;
use ns_core::{Data, Evaluation, EvaluationRequest, Execution, InputTable, Model, Session, SessionError};

pub use crate::cpu::Derivatives;
use crate::cpu::{CpuSession, Order};
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub use crate::device::{DeviceData, DeviceDependence, DeviceNll, DeviceRows, RowStatus};
pub use crate::follow::Follower;

/// A compiled model with derivatives of `-ln L` with respect to parameters, inputs and data. First derivatives,
/// second derivatives along any direction, and third derivatives along directions of the parameters are available.
pub struct DifferentiableAccelerator {
    session: CpuSession,
}

impl DifferentiableAccelerator {
    /// Compiles `model`. Its open inputs (numbers that calls can replace) are those that [`Model::open`] chose.
    ///
    /// # Errors
    /// The errors of [`CpuSession::open`]; [`SessionError::ForeignData`] for a model with event channels or
    /// penalties.
    pub fn open(model: &Model, execution: &Execution) -> Result<Self, SessionError> {
        if model.has_event_terms() {
            let remedy = "derivatives by inputs exist for binned models";
            return Err(SessionError::ForeignData { remedy });
        }
        Ok(Self { session: CpuSession::open(model, execution)? })
    }

    /// Uploads the model to the CUDA device `index`. `dependence` contains the data, and the formulae of those inputs
    /// that are functions of other inputs.
    ///
    /// # Errors
    /// If there is no such device, it has too little memory, or the data do not suit the model.
    #[cfg(feature = "cuda")]
    pub fn on_cuda(
        &self,
        index: usize,
        dependence: &DeviceDependence<'_>,
    ) -> Result<DeviceNll, SessionError> {
        DeviceNll::new(&self.session, crate::device::cuda::backend(index)?, Device::Cuda(index), dependence)
    }

    /// Uploads the model like `on_cuda`, but to a device that runs the kernels compiled for the CPU; for tests. Device
    /// addresses are then addresses in the memory of this process.
    ///
    /// # Errors
    /// If the data do not suit the model.
    #[cfg(feature = "cuda-on-host")]
    pub fn on_host(&self, dependence: &DeviceDependence<'_>) -> Result<DeviceNll, SessionError> {
        DeviceNll::new(&self.session, crate::device::host::backend(), ns_core::Device::Cuda(0), dependence)
    }

    /// Returns the CPU session of the compiled model. Fits use this session.
    #[must_use]
    pub fn session(&self) -> &CpuSession {
        &self.session
    }

    /// Returns the table of open inputs (numbers of the model that calls can replace): their order and their values in
    /// the compiled model.
    #[must_use]
    pub fn inputs(&self) -> &InputTable {
        self.session.inputs()
    }

    /// Returns `-ln L` at a point, and its derivatives with respect to parameters, inputs, main counts and auxiliary
    /// data.
    ///
    /// # Errors
    /// If a length does not fit the model, a number is not allowed, or `data` are toys.
    pub fn value(&self, data: &Data, point: &[f64]) -> Result<(f64, Derivatives), SessionError> {
        let request = EvaluationRequest { nll: true, gradient: true, ..EvaluationRequest::default() };
        let Evaluation { nll, gradient, .. } = self.session.evaluate(data, point, request)?;
        let mut made = self.session.derivatives(data, point, None, Order::First, false)?;
        made.parameters = gradient;
        Ok((nll.first().copied().unwrap_or(f64::NAN), made))
    }

    /// Returns the gradient of `-ln L` at a point with respect to the parameters.
    ///
    /// # Errors
    /// The errors of [`Self::value`].
    pub fn gradient(&self, data: &Data, point: &[f64]) -> Result<Vec<f64>, SessionError> {
        let request = EvaluationRequest { gradient: true, ..EvaluationRequest::default() };
        Ok(self.session.evaluate(data, point, request)?.gradient)
    }

    /// Returns the derivatives of `-ln L` at a point with respect to parameters, inputs, main counts and auxiliary
    /// data.
    ///
    /// # Errors
    /// The errors of [`Self::value`].
    pub fn slopes(&self, data: &Data, point: &[f64]) -> Result<Derivatives, SessionError> {
        self.session.derivatives(data, point, None, Order::First, true)
    }

    /// Returns the product of the full Hessian of `-ln L` at a point with a direction. The Hessian is over parameters,
    /// inputs, main counts and auxiliary data; so are the returned numbers. `parameters` is the part of the direction
    /// over the parameters, and `yields` the optional part over the inputs. The other parts are 0.
    ///
    /// # Errors
    /// The errors of [`Self::value`].
    pub fn along(
        &self,
        data: &Data,
        point: &[f64],
        parameters: &[f64],
        yields: Option<&[f64]>,
    ) -> Result<Derivatives, SessionError> {
        self.session.derivatives(data, point, Some((parameters, yields)), Order::First, true)
    }

    /// Returns the derivatives of `u' H u` with respect to parameters, inputs, main counts and auxiliary data. `u` is
    /// a direction of the parameters and `H` the Hessian of `-ln L`. Therefore `u' H u` is the second derivative of
    /// `-ln L` along `u`.
    ///
    /// # Errors
    /// The errors of [`Self::value`].
    pub fn curvature_along(
        &self,
        data: &Data,
        point: &[f64],
        direction: &[f64],
    ) -> Result<Derivatives, SessionError> {
        self.session.derivatives(data, point, Some((direction, None)), Order::Second, true)
    }

    /// Returns the derivatives, at a point, of a weighted sum of all expected data with respect to parameters and
    /// inputs. `main` contains the weights of the bins, and `aux` the weights of the auxiliary data. The values of the
    /// inputs are taken from `of`.
    ///
    /// # Errors
    /// The errors of [`Self::value`].
    pub fn expected(
        &self,
        of: &Data,
        point: &[f64],
        main: &[f64],
        aux: &[f64],
    ) -> Result<Derivatives, SessionError> {
        self.session.expected_derivatives(of, point, main, aux)
    }

    /// Solves `H x = b` for each right-hand side `b` in `sides`, and returns the solutions `x`. `H` is the exact
    /// Hessian of `-ln L` at a point, restricted to the parameters for which `free` is true. Elements of `x` that
    /// belong to fixed parameters are 0. Returns `None` if `H` is not positive definite.
    ///
    /// # Errors
    /// The errors of [`Self::value`].
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
