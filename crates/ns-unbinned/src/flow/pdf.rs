//! The type [`FlowPdf`]: a normalising flow that has been loaded.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use ns_core::{Base, BoxIntegral, LogProbError};

use super::FlowError;
use super::gpu::{Compared, FlowGpuConfig, FlowGpuEpKind, FlowPrecision, FlowWarning, Placed, place, spread};
use super::manifest::{BaseName, Checked};
use super::runtime::{Graph, Rows, Width};

mod log_prob;

/// A box in the space of features, a context, and the integral over the box for this context.
type KnownIntegral = (Vec<(f64, f64)>, Vec<f64>, BoxIntegral);

/// Number of integrals over boxes that are kept for reuse.
const KNOWN: usize = 64;

/// A normalising flow, loaded from a manifest.
#[derive(Debug)]
pub struct FlowPdf {
    name: String,
    features: Vec<String>,
    context: Vec<String>,
    /// Names of the context variables, in the caller's order.
    given: Vec<String>,
    /// For each context variable in the order of the manifest, its position in the caller's context.
    order: Vec<usize>,
    support: Vec<(f64, f64)>,
    digest: String,
    log_prob: Graph,
    sampler: Option<(Graph, Base, usize)>,
    gradient: Option<Graph>,
    /// Step of central differences for each context variable, in the order of the manifest.
    steps: Vec<f64>,
    /// Integrals over boxes that have been computed. They are kept for reuse.
    integrals: Mutex<Vec<KnownIntegral>>,
    /// Whether the integral over the whole support has been checked.
    is_checked: AtomicBool,
    /// The graph of the log-density if a GPU evaluates it. All other graphs are evaluated on the CPU.
    placed: Option<Placed>,
    warnings: Vec<FlowWarning>,
}

impl FlowPdf {
    /// Loads the flow of a manifest. `context` lists the names of the context variables in the order in which later
    /// calls give the numbers. It must contain each name in the manifest once. It is empty for a flow without
    /// context.
    ///
    /// Each graph is evaluated for two events. A wrong shape is therefore found when the flow is loaded.
    ///
    /// # Errors
    /// If the manifest is wrong; if a graph file is missing, has another hash or is outside the folder of the
    /// manifest; if a graph does not have the required inputs, outputs and shapes; if the library of ONNX Runtime
    /// cannot be loaded.
    pub fn from_manifest(path: impl AsRef<Path>, context: &[&str]) -> Result<Self, FlowError> {
        Self::open(&Checked::read(path.as_ref())?, context)
    }

    /// Loads the flow of a manifest. The context variables have the order of the manifest.
    ///
    /// # Errors
    /// The errors of [`Self::from_manifest`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FlowError> {
        let checked = Checked::read(path.as_ref())?;
        let names: Vec<&str> = checked.manifest.context.iter().map(String::as_str).collect();
        Self::open(&checked, &names)
    }

    fn open(checked: &Checked, context: &[&str]) -> Result<Self, FlowError> {
        let of = &checked.manifest;
        let order: Option<Vec<usize>> =
            of.context.iter().map(|name| context.iter().position(|given| given == name)).collect();
        let order = order.filter(|order| order.len() == context.len()).ok_or_else(|| FlowError::Context {
            expected: of.context.clone(),
            actual: context.iter().map(|name| (*name).to_owned()).collect(),
        })?;
        let (d, c) = (of.features.len(), of.context.len());
        let with = |first: &'static str| if c > 0 { vec![first, "context"] } else { vec![first] };
        let file = checked.graph("log_prob", &of.log_prob.file, &of.log_prob.sha256)?;
        let log_prob = Graph::new(file, &with("x"), "log_prob", Width::One)?;
        let sampler = match &of.sampler {
            None => None,
            Some(sampler) => {
                let file = checked.graph("sampler", &sampler.file, &sampler.sha256)?;
                let base = match sampler.base {
                    BaseName::Normal => Base::Normal,
                    BaseName::Uniform => Base::Uniform,
                };
                Some((Graph::new(file, &with("z"), "x", Width::Many(d))?, base, sampler.numbers))
            }
        };
        let gradient = match &of.context_gradient {
            None => None,
            Some(graph) => {
                let file = checked.graph("context_gradient", &graph.file, &graph.sha256)?;
                Some(Graph::new(file, &with("x"), "gradient", Width::Many(c))?)
            }
        };
        let flow = Self {
            name: of.name.clone(),
            features: of.features.clone(),
            context: of.context.clone(),
            given: context.iter().map(|name| (*name).to_owned()).collect(),
            order,
            support: checked.support.clone(),
            digest: checked.digest.clone(),
            log_prob,
            sampler,
            gradient,
            steps: of.finite_differences.clone(),
            integrals: Mutex::default(),
            is_checked: AtomicBool::new(false),
            placed: None,
            warnings: Vec::new(),
        };
        flow.try_graphs()?;
        Ok(flow)
    }

    /// Evaluates every graph for two events, to check the shapes of its results.
    fn try_graphs(&self) -> Result<(), FlowError> {
        let middle = |(lo, hi): &(f64, f64)| match (lo.is_finite(), hi.is_finite()) {
            (true, true) => 0.5 * (lo + hi),
            (true, false) => lo + 1.0,
            (false, true) => hi - 1.0,
            (false, false) => 0.0,
        };
        let event: Vec<f64> = self.support.iter().map(middle).collect();
        let rows = [event.as_slice(), &event].concat();
        let context = vec![0.0; 2 * self.context.len()];
        self.run(&self.log_prob, (&rows, event.len()), &context, &mut [0.0; 2])?;
        if let Some(graph) = &self.gradient {
            self.run(graph, (&rows, event.len()), &context, &mut vec![0.0; context.len()])?;
        }
        if let Some((graph, _, numbers)) = &self.sampler {
            self.run(graph, (&vec![0.5; 2 * numbers], *numbers), &context, &mut vec![0.0; rows.len()])?;
        }
        Ok(())
    }

    /// Returns the names of the features, in the order of the columns of events.
    #[must_use]
    pub fn features(&self) -> &[String] {
        &self.features
    }

    /// Returns the names of the context variables, in the order of the manifest.
    #[must_use]
    pub fn context_names(&self) -> &[String] {
        &self.context
    }

    /// Evaluates log-densities on the NVIDIA GPU with index `device` from now on. The provider `first` is tried
    /// first, then CUDA. If neither can be used, the CPU evaluates log-densities. [`Self::gpu_ep_kind`] returns the
    /// provider that is used. [`Self::warnings`] returns the reasons why a provider or a faster precision is not
    /// used.
    ///
    /// The results of GPU and CPU are compared for 1 024 events and the given context. `sides` has the lower and
    /// upper end of each feature. The events are distributed evenly over the part of this box within the support.
    /// Integrals, samples and derivatives with respect to the context are always computed on the CPU.
    ///
    /// # Errors
    /// [`FlowError::Batches`] if the numbers of events in `config` are not in ascending order. [`FlowError::LogProb`]
    /// if the number of sides or of context numbers is wrong, or if the CPU cannot evaluate the events.
    pub fn on_gpu(
        mut self,
        device: usize,
        first: FlowGpuEpKind,
        config: &FlowGpuConfig,
        (sides, context): (&[(f64, f64)], &[f64]),
    ) -> Result<Self, FlowError> {
        config.check()?;
        self.length("the sides", sides.len(), self.features.len())?;
        let clip = |((lo, hi), end): (&(f64, f64), &(f64, f64))| (lo.max(end.0), hi.min(end.1));
        let clipped: Vec<(f64, f64)> = sides.iter().zip(&self.support).map(clip).collect();
        let events = spread(&clipped);
        let n = events.len() / self.features.len();
        let context = self.ordered(context)?.repeat(n);
        let mut expected = vec![0.0; n];
        self.run(&self.log_prob, (&events, self.features.len()), &context, &mut expected)?;
        let check = Compared { events: &events, context: &context, expected: &expected };
        (self.placed, self.warnings) = place(&self.log_prob, device, first, config, &check);
        Ok(self)
    }

    /// Returns the GPU provider that evaluates log-densities; `None` if the CPU evaluates them.
    #[must_use]
    pub fn gpu_ep_kind(&self) -> Option<FlowGpuEpKind> {
        self.placed.as_ref().map(|placed| placed.kind)
    }

    /// Returns the precision in which log-densities are evaluated.
    #[must_use]
    pub fn flow_precision(&self) -> FlowPrecision {
        let own = if self.log_prob.is_single() { FlowPrecision::F32 } else { FlowPrecision::F64 };
        self.placed.as_ref().map_or(own, |placed| placed.precision)
    }

    /// Returns the largest difference between the log-densities of GPU and CPU for 1 024 events. A difference is
    /// divided by the larger of 1 and the absolute value of the log-density. Returns `None` if the CPU evaluates
    /// log-densities.
    #[must_use]
    pub fn largest_difference(&self) -> Option<f64> {
        self.placed.as_ref().map(|placed| placed.difference)
    }

    /// Returns the reasons why the provider or the precision that was tried first is not used.
    #[must_use]
    pub fn warnings(&self) -> &[FlowWarning] {
        &self.warnings
    }

    pub(super) fn label(&self) -> &str {
        &self.name
    }

    pub(super) fn order(&self) -> &[usize] {
        &self.order
    }

    pub(super) fn steps(&self) -> &[f64] {
        &self.steps
    }

    pub(super) fn has_gradient(&self) -> bool {
        self.gradient.is_some()
    }

    /// Returns whether the graph of log-densities or the graph of derivatives has 32-bit numbers.
    pub(super) fn is_single(&self) -> bool {
        self.log_prob.is_single() || self.gradient.as_ref().is_some_and(Graph::is_single)
    }

    /// Evaluates a graph and writes its output to `out`. `rows` has `width` numbers per event. `context` has one row
    /// per event. The numbers in a row have the order in which the manifest lists the context variables.
    fn run(
        &self,
        graph: &Graph,
        (rows, width): (&[f64], usize),
        context: &[f64],
        out: &mut [f64],
    ) -> Result<(), FlowError> {
        let n = rows.len() / width;
        let inputs = [Rows { numbers: rows, width }, Rows { numbers: context, width: self.context.len() }];
        let given = if self.context.is_empty() { &inputs[..1] } else { &inputs[..] };
        graph.run(n, given, out)
    }

    /// Returns the caller's context, sorted in the order of the manifest.
    fn ordered(&self, context: &[f64]) -> Result<Vec<f64>, LogProbError> {
        self.length("the context", context.len(), self.context.len())?;
        Ok(self.order.iter().filter_map(|&i| context.get(i)).copied().collect())
    }

    pub(super) fn length(
        &self,
        what: &'static str,
        actual: usize,
        expected: usize,
    ) -> Result<(), LogProbError> {
        if actual == expected {
            return Ok(());
        }
        Err(LogProbError::WrongLength { density: self.name.clone(), what, actual, expected })
    }

    fn failed(&self, error: FlowError) -> LogProbError {
        match error {
            FlowError::LogProb(own) => own,
            other => LogProbError::Failed { density: self.name.clone(), cause: other.to_string() },
        }
    }

    fn inside(&self, event: &[f64]) -> bool {
        event.iter().zip(&self.support).all(|(x, (lo, hi))| lo <= x && x <= hi)
    }

    /// Computes log-densities on the GPU, if the flow uses a GPU. Returns the number of events for which this is
    /// done, counted from the first event. The CPU must evaluate the remaining events, which are too few for the
    /// GPU.
    fn on_device(&self, events: &[f64], context: &[f64], out: &mut [f64]) -> Result<usize, LogProbError> {
        let Some(placed) = &self.placed else { return Ok(0) };
        let (d, n) = (self.features.len(), out.len());
        let rest = n % placed.graph.rows();
        let taken = if rest < placed.least { n - rest } else { n };
        let (Some(events), Some(context), Some(out)) =
            (events.get(..taken * d), context.get(..taken * self.context.len()), out.get_mut(..taken))
        else {
            return Ok(0);
        };
        self.run(&placed.graph, (events, d), context, out).map_err(|error| {
            let cause = format!("{} failed: {error}. Try the device cpu", placed.kind);
            LogProbError::Failed { density: self.name.clone(), cause }
        })?;
        Ok(taken)
    }

    /// Computes log-densities for one context, which must be in the order of the manifest. If `placed` is true and
    /// the flow uses a GPU, the GPU computes them. Otherwise the CPU does.
    pub(super) fn evaluate(
        &self,
        events: &[f64],
        context: &[f64],
        out: &mut [f64],
        placed: bool,
    ) -> Result<(), LogProbError> {
        let (d, c) = (self.features.len(), self.context.len());
        self.length("the events", events.len(), d * out.len())?;
        let repeated = context.repeat(out.len());
        let done = if placed { self.on_device(events, &repeated, out)? } else { 0 };
        if let (Some(events), Some(context), Some(out)) =
            (events.get(done * d..), repeated.get(done * c..), out.get_mut(done..))
            && !out.is_empty()
        {
            self.run(&self.log_prob, (events, d), context, out).map_err(|error| self.failed(error))?;
        }
        for (event, (log, row)) in out.iter_mut().zip(events.chunks_exact(d)).enumerate() {
            if !self.inside(row) {
                *log = f64::NEG_INFINITY;
            } else if log.is_nan() || *log == f64::INFINITY {
                let (density, at, value) = (self.name.clone(), row.to_vec(), *log);
                return Err(LogProbError::NotANumber { density, event, at, value });
            }
        }
        Ok(())
    }
}

impl FlowPdf {
    /// Computes the derivatives with respect to the context, using the graph of derivatives. The result has one row
    /// per event. The context and the derivatives are in the order of the manifest.
    pub(super) fn gradients(
        &self,
        events: &[f64],
        context: &[f64],
        out: &mut [f64],
    ) -> Result<(), LogProbError> {
        let Some(graph) = &self.gradient else { return Ok(()) };
        let (d, c) = (self.features.len(), context.len().max(1));
        let repeated = context.repeat(out.len() / c);
        self.run(graph, (events, d), &repeated, out).map_err(|error| self.failed(error))?;
        for (event, (row, to)) in events.chunks_exact(d).zip(out.chunks_exact_mut(c)).enumerate() {
            if !self.inside(row) {
                to.fill(0.0);
            } else if let Some(value) = to.iter().find(|x| !x.is_finite()) {
                let (density, at, value) = (format!("derivative of {}", self.name), row.to_vec(), *value);
                return Err(LogProbError::NotANumber { density, event, at, value });
            }
        }
        Ok(())
    }
}
