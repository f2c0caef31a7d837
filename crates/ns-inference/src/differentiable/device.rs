//! Computes `-ln L` and its derivatives on a GPU for callers whose arrays are in GPU memory.

use std::sync::Arc;

use ns_compute::differentiable::{DeviceData, DeviceDependence, DeviceNll};
use ns_core::Data;

use super::DifferentiableSession;
use crate::InferenceError;
use crate::options::FitData;

impl DifferentiableSession {
    /// Copies the model and its data to the CUDA device `index`. The result computes the same numbers on this device as
    /// [`Self::nll`] on the CPU, within the tolerances of `docs/gpu-contract.md`.
    ///
    /// # Errors
    /// If there is no such device, or too little memory on it.
    #[cfg(feature = "cuda")]
    pub fn on_cuda(&self, index: usize) -> Result<DeviceNll, InferenceError> {
        Ok(self.accelerator.on_cuda(index, &self.dependence())?)
    }

    /// Returns the same as [`Self::on_cuda`], but with the CUDA kernels compiled for the CPU, for tests. Device
    /// addresses are then addresses in host memory.
    ///
    /// # Errors
    /// The errors of [`Self::on_cuda`].
    #[cfg(feature = "cuda-on-host")]
    pub fn on_host(&self) -> Result<DeviceNll, InferenceError> {
        Ok(self.accelerator.on_host(&self.dependence())?)
    }

    /// Returns what determines `-ln L` on a device besides the parameters and the caller's inputs: the rules that
    /// compute the additional inputs from the caller's inputs, and the data.
    fn dependence(&self) -> DeviceDependence<'_> {
        let data = match &self.data {
            FitData::Asimov { .. } => DeviceData::Asimov(self.asimov_point.clone()),
            FitData::Observed if self.followers.has_data() => {
                DeviceData::ObservedRates(self.followers.places_of_data())
            }
            FitData::Observed | FitData::Blind(_) => DeviceData::Constant(Data::observed()),
            FitData::Given(given) => DeviceData::Constant(Data::observed().with(Arc::clone(given))),
        };
        DeviceDependence { followers: &self.followers.numbers, data }
    }
}
