//! Computes `-ln L` and its derivatives on a GPU for callers whose arrays are in GPU memory.

use ns_compute::differentiable::DeviceNll;
use ns_core::{Data, SessionError};

use super::DifferentiableSession;
use crate::InferenceError;
use crate::options::FitData;

impl DifferentiableSession {
    /// Copies the model and its data to the CUDA device `index`. The result computes the same numbers on this device as
    /// [`Self::nll`] on the CPU, within the tolerances of `docs/gpu-contract.md`.
    ///
    /// # Errors
    /// If there is no such device, or too little memory on it. [`SessionError::ForeignData`] if data, templates or
    /// widths change with the inputs, which only the CPU supports.
    #[cfg(feature = "cuda")]
    pub fn on_cuda(&self, index: usize) -> Result<DeviceNll, InferenceError> {
        Ok(self.accelerator.on_cuda(index, &self.held_data()?)?)
    }

    /// Returns the same as [`Self::on_cuda`], but with the CUDA kernels compiled for the CPU, for tests. Device
    /// addresses are then addresses in host memory.
    ///
    /// # Errors
    /// The errors of [`Self::on_cuda`].
    #[cfg(feature = "cuda-on-host")]
    pub fn on_host(&self) -> Result<DeviceNll, InferenceError> {
        Ok(self.accelerator.on_host(&self.held_data()?)?)
    }

    /// Returns the data that all calls of the likelihood on the device use.
    ///
    /// # Errors
    /// If data, templates or widths change with the inputs, because the data would then differ from call to call.
    fn held_data(&self) -> Result<Data, InferenceError> {
        let remedy = match &self.data {
            _ if self.followers.has_rules() => {
                "on a GPU templates and widths do not follow the inputs; leave out follow, or use \
                                                the device cpu"
            }
            FitData::Asimov { .. } => {
                "on a GPU data do not follow the inputs; leave out asimov, or use the device cpu"
            }
            FitData::Observed if self.followers.has_data() => {
                "auxiliary data of a shapesys follow its widths, which are inputs, but not on a GPU; give data, or use the \
                 device cpu"
            }
            FitData::Observed => return Ok(Data::observed()),
            FitData::Given(given) => return Ok(Data::observed().with(std::sync::Arc::clone(given))),
        };
        Err(SessionError::ForeignData { remedy }.into())
    }
}
