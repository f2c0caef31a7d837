//! Computes `-ln L` of events with gradient and Hessian. The log-densities of the events come from a neural network,
//! and are in the memory of the host or of a GPU.
//!
//! `-ln L` is `sum_k nu_k - sum_i w_i ln sum_k nu_k p_k(x_i)` plus Gaussian constraint terms. `p_k(x_i)` is the
//! density of process `k` at event `i`, and `w_i` is the weight of the event. The rate `nu_k` of process `k` is a
//! constant, or a constant times a parameter.

use ns_compute::cuda_parquet::DeviceEvents;
use ns_compute::device::{DeviceFlow, FlowData, FlowSums};
use ns_core::SessionError;

/// A process (one kind of events, such as signal or background) of a [`GpuFlowSession`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowProcess {
    /// Expected number of events. If `parameter` is given, the expected number is `rate` times the value of this
    /// parameter.
    pub rate: f64,
    /// Index of the parameter that multiplies `rate`; `None` if the rate is constant.
    pub parameter: Option<usize>,
}

/// A Gaussian constraint of one parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlowConstraint {
    /// Index of the constrained parameter.
    pub parameter: usize,
    /// Mean of the Gaussian.
    pub mean: f64,
    /// Standard deviation of the Gaussian.
    pub sigma: f64,
}

/// Description of the model of a [`GpuFlowSession`]: processes, constraints and event weights.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FlowSessionOptions {
    /// Number of parameters.
    pub n_parameters: usize,
    /// The processes (signal and backgrounds). The log-densities are given in the order of this list.
    pub processes: Vec<FlowProcess>,
    /// The Gaussian constraints.
    pub constraints: Vec<FlowConstraint>,
    /// Weights of the events; `None` if all weights are 1. The methods for several sets of events do not support
    /// weights.
    pub weights: Option<Vec<f64>>,
}

/// `-ln L` with gradient and Hessian.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FlowNll {
    /// `-ln L` without the constants of the Gaussian constraints. Infinite if the density of an event is zero.
    pub nll: f64,
    /// Gradient with respect to the parameters, in the order of the parameters.
    pub gradient: Vec<f64>,
    /// Hessian with respect to the parameters: `n_parameters` rows of `n_parameters` numbers, one row after another.
    pub hessian: Vec<f64>,
    /// Index of the first event whose density is not positive or not finite; `None` if there is no such event.
    pub bad_event: Option<usize>,
}

/// Computes `-ln L` from log-densities of events on one GPU.
pub struct GpuFlowSession {
    device: DeviceFlow,
    options: FlowSessionOptions,
}

impl GpuFlowSession {
    /// Opens a session on the CUDA device `index`.
    ///
    /// # Errors
    /// If there is no such device, a parameter index is out of range, or a number in the options is not allowed.
    #[cfg(feature = "cuda")]
    pub fn open(index: usize, options: &FlowSessionOptions) -> Result<Self, SessionError> {
        Self::with(options, |n, weights: Option<&[f64]>| {
            ns_compute::device::cuda::open_flow(index, n, weights)
        })
    }

    /// Opens a session with the kernels compiled for the CPU, for tests. Device addresses are then addresses in host
    /// memory.
    ///
    /// # Errors
    /// If a parameter index is out of range or a number in the options is not allowed.
    #[cfg(feature = "cuda-on-host")]
    pub fn open_on_host(options: &FlowSessionOptions) -> Result<Self, SessionError> {
        Self::with(options, ns_compute::device::host::open_flow)
    }

    fn with(
        options: &FlowSessionOptions,
        open: impl FnOnce(usize, Option<&[f64]>) -> Result<DeviceFlow, SessionError>,
    ) -> Result<Self, SessionError> {
        let n_parameters = options.n_parameters;
        let of_processes = options.processes.iter().filter_map(|process| process.parameter);
        let all = of_processes.chain(options.constraints.iter().map(|constraint| constraint.parameter));
        if let Some(index) = all.into_iter().find(|&index| index >= n_parameters) {
            return Err(SessionError::NoSuchParameter { index, n_parameters });
        }
        let bad = |what, index, value, remedy| Err(SessionError::BadNumber { what, index, value, remedy });
        for (i, process) in options.processes.iter().enumerate() {
            if !process.rate.is_finite() {
                return bad("rates of processes", i, process.rate, "give a finite number");
            }
        }
        for (i, constraint) in options.constraints.iter().enumerate() {
            if !(constraint.sigma > 0.0 && constraint.sigma.is_finite()) {
                return bad("widths of constraints", i, constraint.sigma, "widths are positive");
            }
            if !constraint.mean.is_finite() {
                return bad("means of constraints", i, constraint.mean, "give a finite number");
            }
        }
        let device = open(options.processes.len(), options.weights.as_deref())?;
        Ok(Self { device, options: options.clone() })
    }

    /// Returns the name of the device on which the session runs.
    #[must_use]
    pub fn device(&self) -> String {
        self.device.device().to_string()
    }

    /// Returns `-ln L` for log-densities in host memory. `log_probs` has one row per process, with one number per
    /// event.
    ///
    /// # Errors
    /// If a length does not fit, a parameter is not finite, or the device fails.
    pub fn nll(&self, log_probs: &[f64], parameters: &[f64]) -> Result<FlowNll, SessionError> {
        let n_events = log_probs.len() / self.options.processes.len().max(1);
        // SAFETY: the log-densities are in memory of the host, and 0 is the default stream.
        unsafe { self.single(FlowData::Host(log_probs), n_events, parameters, 0) }
    }

    /// Returns `-ln L` for log-densities in double precision in device memory. `address` points to one row per
    /// process with `n_events` numbers. A kernel on the stream `stream` reads the log-densities without copying them.
    /// The call waits for the result.
    ///
    /// # Errors
    /// The errors of [`Self::nll`]; also [`SessionError::NotOnDevice`] if `address` is not an address in device
    /// memory.
    ///
    /// # Safety
    /// `address` must point to a device array with one number for each process and event. `stream` must be a stream
    /// of the device in this process, or 0 for the default stream.
    pub unsafe fn nll_device(
        &self,
        address: u64,
        n_events: usize,
        parameters: &[f64],
        stream: u64,
    ) -> Result<FlowNll, SessionError> {
        // SAFETY: the caller guarantees address and stream.
        unsafe { self.single(FlowData::Device(address), n_events, parameters, stream) }
    }

    /// Returns `-ln L` for log-densities that were copied from a file to the device. `columns` has one column per
    /// process, in the order of the processes, with one number per event.
    ///
    /// # Errors
    /// The errors of [`Self::nll_device`]; also if the number of columns is not the number of processes.
    pub fn nll_columns(&self, columns: &DeviceEvents, parameters: &[f64]) -> Result<FlowNll, SessionError> {
        let (actual, expected) = (columns.names().len(), self.options.processes.len());
        if actual != expected {
            let what = "the list of columns of log-densities";
            return Err(SessionError::WrongLength { what, actual, expected });
        }
        let address = columns.address(0).unwrap_or(0);
        // SAFETY: the columns are on the device, follow each other and are complete; the device checks the address.
        unsafe { self.single(FlowData::Device(address), columns.rows(), parameters, 0) }
    }

    /// Returns `-ln L` as [`Self::nll_device`] does, but for log-densities in single precision, such as the output of
    /// a network on the device. Sums are computed in double precision.
    ///
    /// # Errors
    /// The errors of [`Self::nll_device`].
    ///
    /// # Safety
    /// The conditions of [`Self::nll_device`].
    pub unsafe fn nll_device_ptr_f32(
        &self,
        address: u64,
        n_events: usize,
        parameters: &[f64],
        stream: u64,
    ) -> Result<FlowNll, SessionError> {
        // SAFETY: the caller guarantees address and stream.
        unsafe { self.single(FlowData::DeviceF32(address), n_events, parameters, stream) }
    }

    /// Returns `-ln L` of several sets of events, such as toys, with one result per set. `counts` has the number of
    /// events of each set. `parameters` has one row of `n_parameters` numbers per set. `log_probs` has one row per
    /// process; each row has the events of all sets one after another.
    ///
    /// # Errors
    /// The errors of [`Self::nll`].
    pub fn nll_batch(
        &self,
        log_probs: &[f64],
        counts: &[usize],
        parameters: &[f64],
    ) -> Result<Vec<FlowNll>, SessionError> {
        // SAFETY: the log-densities are in memory of the host, and 0 is the default stream.
        unsafe { self.batch(FlowData::Host(log_probs), counts, parameters, 0) }
    }

    /// Returns the results of [`Self::nll_batch`] for log-densities in double precision in device memory.
    ///
    /// # Errors
    /// The errors of [`Self::nll_device`].
    ///
    /// # Safety
    /// The conditions of [`Self::nll_device`].
    pub unsafe fn nll_batch_device(
        &self,
        address: u64,
        counts: &[usize],
        parameters: &[f64],
        stream: u64,
    ) -> Result<Vec<FlowNll>, SessionError> {
        // SAFETY: the caller guarantees address and stream.
        unsafe { self.batch(FlowData::Device(address), counts, parameters, stream) }
    }

    /// Returns the results of [`Self::nll_batch`] for log-densities in single precision in device memory.
    ///
    /// # Errors
    /// The errors of [`Self::nll_device`].
    ///
    /// # Safety
    /// The conditions of [`Self::nll_device`].
    pub unsafe fn nll_batch_device_ptr_f32(
        &self,
        address: u64,
        counts: &[usize],
        parameters: &[f64],
        stream: u64,
    ) -> Result<Vec<FlowNll>, SessionError> {
        // SAFETY: the caller guarantees address and stream.
        unsafe { self.batch(FlowData::DeviceF32(address), counts, parameters, stream) }
    }

    /// Computes `-ln L` of one set of events.
    ///
    /// # Safety
    /// The conditions of [`Self::nll_device`].
    unsafe fn single(
        &self,
        data: FlowData<'_>,
        n_events: usize,
        parameters: &[f64],
        stream: u64,
    ) -> Result<FlowNll, SessionError> {
        let rates = self.rates(parameters)?;
        // SAFETY: the caller guarantees address and stream.
        let sums = unsafe { self.device.nll(data, n_events, &rates, stream) }?;
        Ok(self.result(sums, &rates, parameters))
    }

    unsafe fn batch(
        &self,
        data: FlowData<'_>,
        counts: &[usize],
        parameters: &[f64],
        stream: u64,
    ) -> Result<Vec<FlowNll>, SessionError> {
        let n = self.options.n_parameters;
        let (actual, expected) = (parameters.len(), n * counts.len());
        if actual != expected {
            return Err(SessionError::WrongLength { what: "the parameters of all sets", actual, expected });
        }
        let of_set = |set: usize| parameters.get(set * n..(set + 1) * n).unwrap_or_default();
        let rates: Vec<Vec<f64>> =
            (0..counts.len()).map(|set| self.rates(of_set(set))).collect::<Result<_, _>>()?;
        // SAFETY: the caller guarantees address and stream.
        let sums = unsafe { self.device.nll_batch(data, counts, &rates.concat(), stream) }?;
        let sets = sums.into_iter().zip(&rates).enumerate();
        Ok(sets.map(|(set, (sums, rates))| self.result(sums, rates, of_set(set))).collect())
    }

    /// Returns the rates of the processes, i.e. their expected numbers of events, at the given parameters.
    fn rates(&self, parameters: &[f64]) -> Result<Vec<f64>, SessionError> {
        let (actual, expected) = (parameters.len(), self.options.n_parameters);
        if actual != expected {
            return Err(SessionError::WrongLength { what: "the parameters", actual, expected });
        }
        if let Some((index, &value)) = parameters.iter().enumerate().find(|(_, x)| !x.is_finite()) {
            let remedy = "give a finite number";
            return Err(SessionError::BadNumber { what: "parameters", index, value, remedy });
        }
        let factor = |p: Option<usize>| p.and_then(|p| parameters.get(p)).copied().unwrap_or(1.0);
        Ok(self.options.processes.iter().map(|process| process.rate * factor(process.parameter)).collect())
    }

    /// Computes `-ln L` and its derivatives from `sums`, the sums over events. Adds the rates, i.e. the expected
    /// numbers of events of the processes, and the terms of the Gaussian constraints. Converts derivatives with respect
    /// to rates to derivatives with respect to parameters.
    fn result(&self, sums: FlowSums, rates: &[f64], parameters: &[f64]) -> FlowNll {
        let n = self.options.n_parameters;
        let FlowSums { value, gradient: by_rates, curvature, bad } = sums;
        let mut nll = value + rates.iter().sum::<f64>();
        let (mut gradient, mut hessian) = (vec![0.0; n], vec![0.0; n * n]);
        for (k, (process, by_rate)) in self.options.processes.iter().zip(&by_rates).enumerate() {
            let Some(p) = process.parameter else { continue };
            gradient[p] += process.rate * (by_rate + 1.0);
            for (l, other) in self.options.processes.iter().enumerate() {
                let Some(q) = other.parameter else { continue };
                let at = if l <= k { k * (k + 1) / 2 + l } else { l * (l + 1) / 2 + k };
                hessian[p * n + q] += process.rate * other.rate * curvature[at];
            }
        }
        for FlowConstraint { parameter: p, mean, sigma } in &self.options.constraints {
            let pull = (parameters[*p] - mean) / sigma;
            nll += 0.5 * pull * pull;
            gradient[*p] += pull / sigma;
            hessian[*p * n + p] += 1.0 / (sigma * sigma);
        }
        FlowNll { nll, gradient, hessian, bad_event: bad }
    }
}
