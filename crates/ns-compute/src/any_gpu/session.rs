//! A session whose toys descend on a GPU of any maker. The CPU does everything else, and certifies every minimum.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use ns_core::{
    Control, Data, Device, Evaluation, EvaluationRequest, Execution, FitTask, InputTable, LeftToCpu, Model,
    OutcomeParts, ParameterTable, Precision, Pulled, Session, SessionError, Sink, SquaredWeights, ToySource,
};

use super::adapter::Gpu;
use super::descents::{DescentGpu, Made};
use crate::cpu::CpuSession;

/// What to do without a GPU, in messages.
const REMEDY: &str = "Use the device cpu, which supports every model; nextstat devices lists what was found";

/// A compiled model whose toys descend on a GPU.
pub struct AnyGpuSession {
    cpu: CpuSession,
    device: Device,
    gpu: Arc<DescentGpu>,
}

/// Counts of the descents that a session has made on its GPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Descents that the GPU made.
    pub made: u64,
    /// Those that had converged in single precision. The CPU rescues the others, which takes longer.
    pub converged: u64,
    /// Those whose `-ln L` fell without limit. The CPU makes them again as a whole.
    pub fallen: u64,
}

impl AnyGpuSession {
    /// Compiles `model`, and opens the GPU that `execution` names: [`Device::Vulkan`] or [`Device::Metal`].
    ///
    /// # Errors
    /// [`SessionError::DeviceUnavailable`] without such a GPU; [`SessionError::UnsupportedPrecision`] if the precision is
    /// f32, because minima are certified in f64; the errors of [`CpuSession::open`].
    pub fn open(model: &Model, execution: &Execution) -> Result<Self, SessionError> {
        let device = execution.device;
        let inner = Execution { precision: Precision::F64, ..execution.clone() };
        // The results are in double precision, so both names of what the device does are right.
        if execution.precision == Precision::F32 {
            execution.check_precision(device, Precision::Mixed)?;
        }
        let gpu = Gpu::of(device).map_err(|reason| SessionError::DeviceUnavailable {
            device,
            reason,
            remedy: REMEDY.to_owned(),
        })?;
        let gpu = Arc::new(DescentGpu::new(gpu));
        let cpu = CpuSession::open(model, &inner)?.with_descents(Arc::clone(&gpu) as _);
        Ok(Self { cpu, device, gpu })
    }

    /// Returns the counts of descents so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let Made { all, converged, fallen } = self.gpu.made();
        let read = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
        Counts { made: read(all), converged: read(converged), fallen: read(fallen) }
    }
}

impl Session for AnyGpuSession {
    fn device(&self) -> Device {
        self.device
    }

    fn parameters(&self) -> &ParameterTable {
        self.cpu.parameters()
    }

    fn fit_batch(
        &self,
        tasks: &[FitTask],
        wanted: OutcomeParts,
        control: Control<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), SessionError> {
        self.cpu.fit_batch(tasks, wanted, control, sink)?;
        match self.gpu.failure() {
            None => Ok(()),
            // Lanes have made the descents that the GPU did not, so all outcomes are right.
            Some(error) => Err(SessionError::DeviceLost {
                device: self.device,
                doing: "making the descents of toys",
                error: error.to_owned(),
                remedy: "Update its driver, or use the device cpu",
            }),
        }
    }

    fn evaluate(
        &self,
        data: &Data,
        points: &[f64],
        request: EvaluationRequest,
    ) -> Result<Evaluation, SessionError> {
        self.cpu.evaluate(data, points, request)
    }

    fn asimov_for(&self, parameters: &[f64], visited: &[&[f64]], of: &Data) -> Result<Data, SessionError> {
        self.cpu.asimov_for(parameters, visited, of)
    }

    fn toy_source(
        &self,
        parameters: &[f64],
        of: &Data,
        seed: u64,
        hypothesis: u8,
    ) -> Result<Arc<ToySource>, SessionError> {
        self.cpu.toy_source(parameters, of, seed, hypothesis)
    }

    fn combined_variances(
        &self,
        data: &Data,
        point: &[f64],
        free: &[bool],
        combinations: &[Vec<(usize, f64)>],
    ) -> Result<Option<Vec<f64>>, SessionError> {
        self.cpu.combined_variances(data, point, free, combinations)
    }

    fn squared_weights(
        &self,
        data: &Data,
        point: &[f64],
        form: SquaredWeights,
    ) -> Result<Option<Vec<f64>>, SessionError> {
        self.cpu.squared_weights(data, point, form)
    }

    fn inputs(&self) -> &InputTable {
        Session::inputs(&self.cpu)
    }

    fn pull_back(&self, data: &Data, point: &[f64], along: Option<&[f64]>) -> Result<Pulled, SessionError> {
        self.cpu.pull_back(data, point, along)
    }

    fn saturated_nll(&self, data: &Data) -> Result<Option<f64>, SessionError> {
        self.cpu.saturated_nll(data)
    }

    fn cpu(&self) -> Option<&dyn Session> {
        Some(&self.cpu)
    }

    fn left_to_cpu(&self) -> Option<LeftToCpu> {
        match self.gpu.unsuitable() {
            Some(LeftToCpu::SinglePrecision) => Some(LeftToCpu::SinglePrecision),
            _ if self.counts().made > 0 => None,
            reason => Some(reason.unwrap_or(LeftToCpu::NotToys)),
        }
    }
}
