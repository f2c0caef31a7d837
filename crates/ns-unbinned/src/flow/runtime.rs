//! ONNX Runtime: its library and its graphs. The library is loaded together with the first flow.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock};

use ort::environment::Environment;
use ort::session::builder::SessionBuilder;
use ort::session::{Session, SessionInputValue};
use ort::value::{TensorElementType, TensorRef};

use super::FlowError;

/// Name of the environment variable with the path of the library file.
const VARIABLE: &str = "ORT_DYLIB_PATH";

/// Name of the library if the environment variable is not set. The system's loader searches for it.
const LIBRARY: &str = if cfg!(target_os = "windows") {
    "onnxruntime.dll"
} else if cfg!(target_os = "macos") {
    "libonnxruntime.dylib"
} else {
    "libonnxruntime.so"
};

/// Number of rows (events) that the CPU evaluates in one call of ONNX Runtime. The number is constant, so that
/// results do not depend on the number of threads.
const ROWS: usize = 4096;

/// Returns the path of ONNX Runtime's library, or its name if the system's loader must search for it.
pub(super) fn library() -> PathBuf {
    std::env::var_os(VARIABLE)
        .filter(|path| !path.is_empty())
        .map_or_else(|| PathBuf::from(LIBRARY), PathBuf::from)
}

/// Returns the environment of ONNX Runtime. The environment exists until the process ends. If it cannot be created,
/// the next call tries again.
pub(super) fn environment() -> Result<&'static Environment, FlowError> {
    static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();
    static LOADING: Mutex<()> = Mutex::new(());
    let _guard = LOADING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(known) = ENVIRONMENT.get() {
        return Ok(known);
    }
    let library = library();
    let wrong = |cause: String| FlowError::Library { library: library.display().to_string(), cause };
    let builder = ort::init_from(&library).map_err(|error| wrong(error.to_string()))?;
    let made = builder.with_name("nextstat").with_telemetry(false).build();
    let made = made.map_err(|error| wrong(error.message().to_owned()))?;
    Ok(ENVIRONMENT.get_or_init(|| made))
}

/// One input of a graph: rows that all have `width` numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rows<'a> {
    pub(super) numbers: &'a [f64],
    pub(super) width: usize,
}

impl<'a> Rows<'a> {
    /// Returns the content of the rows `from..to`, row after row.
    fn part(&self, from: usize, to: usize) -> &'a [f64] {
        self.numbers.get(from * self.width..to * self.width).unwrap_or_default()
    }
}

/// Number of values per row in the output of a graph. Below, `n` is the number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// A single number per row: the shape is `[n]` or `[n, 1]`.
    One,
    /// The given number `d` of values per row: the shape is `[n, d]`.
    Many(usize),
}

/// An ONNX graph with several inputs and one output. Each input has the shape `[n, d]`, i.e. `n` rows of `d` numbers.
pub(super) struct Graph {
    path: PathBuf,
    bytes: Vec<u8>,
    /// Name of each input, and whether its numbers have 32 bits.
    inputs: Vec<(&'static str, bool)>,
    /// Whether any input or the output has 32-bit numbers.
    single: bool,
    output: &'static str,
    width: Width,
    /// Sessions that are not in use. Each call of ONNX Runtime needs its own session while it runs.
    idle: Mutex<Vec<Session>>,
    /// Whether there is only one session, so that calls wait for each other. This is the case for a graph on a GPU.
    alone: bool,
    /// Number of rows that are evaluated in one call.
    rows: usize,
}

impl std::fmt::Debug for Graph {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Graph")
            .field("path", &self.path)
            .field("output", &self.output)
            .finish_non_exhaustive()
    }
}

impl Graph {
    /// Loads a graph and checks the names and types of its inputs and its output.
    pub(super) fn new(
        (path, bytes): (PathBuf, Vec<u8>),
        inputs: &[&'static str],
        output: &'static str,
        width: Width,
    ) -> Result<Self, FlowError> {
        let session = open(&path, &bytes)?;
        let has_singles = |kind: &'static str, name: &'static str, outlets: &[ort::value::Outlet]| {
            let found = outlets.iter().find(|outlet| outlet.name() == name);
            let known = || outlets.iter().map(|outlet| outlet.name().to_owned()).collect();
            let found =
                found.ok_or_else(|| FlowError::Tensor { file: path.clone(), kind, name, known: known() })?;
            match found.dtype().tensor_type() {
                Some(TensorElementType::Float32) => Ok(true),
                Some(TensorElementType::Float64) => Ok(false),
                _ => Err(FlowError::ElementType {
                    file: path.clone(),
                    name: name.to_owned(),
                    actual: found.dtype().to_string(),
                }),
            }
        };
        let typed: Result<Vec<_>, FlowError> =
            inputs.iter().map(|name| Ok((*name, has_singles("input", name, session.inputs())?))).collect();
        let typed = typed?;
        let single =
            has_singles("output", output, session.outputs())? || typed.iter().any(|(_, single)| *single);
        if let Some(other) = session.inputs().iter().find(|outlet| !inputs.contains(&outlet.name())) {
            let cause = format!("it has the input '{}', which is not given", other.name());
            return Err(FlowError::Graph { file: path, cause });
        }
        let idle = Mutex::new(vec![session]);
        Ok(Self { path, bytes, inputs: typed, output, single, width, idle, alone: false, rows: ROWS })
    }

    /// Evaluates the graph for `n` rows and writes its output to `out`. `given` has the inputs in the order of their
    /// names in [`Self::new`].
    pub(super) fn run(&self, n: usize, given: &[Rows<'_>], out: &mut [f64]) -> Result<(), FlowError> {
        let mut idle = self.idle();
        let taken = idle.pop();
        let held = self.alone.then_some(idle);
        let mut session = match taken {
            Some(session) => session,
            None => open(&self.path, &self.bytes)?,
        };
        let width = match self.width {
            Width::One => 1,
            Width::Many(width) => width,
        };
        let mut done = Ok(());
        let rows = self.rows;
        for (first, out) in (0..n).step_by(rows).zip(out.chunks_mut(rows * width)) {
            done = self.piece(&mut session, first, rows.min(n - first), given, out);
            if done.is_err() {
                break;
            }
        }
        held.unwrap_or_else(|| self.idle()).push(session);
        done
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Session>> {
        self.idle.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Returns whether any input or the output has 32-bit numbers.
    pub(super) fn is_single(&self) -> bool {
        self.single
    }

    /// Returns the number of rows that are evaluated in one call.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    fn piece(
        &self,
        session: &mut Session,
        first: usize,
        n: usize,
        given: &[Rows<'_>],
        out: &mut [f64],
    ) -> Result<(), FlowError> {
        let failed = |error: ort::Error| FlowError::Graph {
            file: self.path.clone(),
            cause: error.message().to_owned(),
        };
        let (from, to) = (first, first + n);
        // The arrays for 32-bit and for 64-bit inputs must exist until the call ends.
        let singles: Vec<Vec<f32>> =
            self.inputs
                .iter()
                .zip(given)
                .map(|((_, single), rows)| {
                    if *single { rows.part(from, to).iter().map(|&x| x as f32).collect() } else { Vec::new() }
                })
                .collect();
        let mut values: Vec<(&str, SessionInputValue<'_>)> = Vec::with_capacity(given.len());
        for (((name, single), rows), narrow) in self.inputs.iter().zip(given).zip(&singles) {
            let shape = [n, rows.width];
            let value: SessionInputValue<'_> = if *single {
                TensorRef::from_array_view((shape, narrow.as_slice())).map_err(failed)?.into()
            } else {
                TensorRef::from_array_view((shape, rows.part(from, to))).map_err(failed)?.into()
            };
            values.push((name, value));
        }
        let outputs = session.run(values).map_err(failed)?;
        let Some(value) = outputs.get(self.output) else {
            return Err(FlowError::Tensor {
                file: self.path.clone(),
                kind: "output",
                name: self.output,
                known: Vec::new(),
            });
        };
        let check = |shape: &[i64]| {
            let rows = n as i64;
            let fits = match self.width {
                Width::One => shape == [rows] || shape == [rows, 1],
                Width::Many(width) => shape == [rows, width as i64],
            };
            if fits {
                return Ok(());
            }
            let expected = match self.width {
                Width::One => vec![rows],
                Width::Many(width) => vec![rows, width as i64],
            };
            let (file, actual) = (self.path.clone(), shape.to_vec());
            Err(FlowError::Shape { file, name: self.output, events: n, actual, expected })
        };
        if value.dtype().tensor_type() == Some(TensorElementType::Float32) {
            let (shape, numbers) = value.try_extract_tensor::<f32>().map_err(failed)?;
            check(shape)?;
            out.iter_mut().zip(numbers).for_each(|(to, x)| *to = f64::from(*x));
        } else {
            let (shape, numbers) = value.try_extract_tensor::<f64>().map_err(failed)?;
            check(shape)?;
            out.iter_mut().zip(numbers).for_each(|(to, x)| *to = *x);
        }
        Ok(())
    }
}

#[cfg(feature = "neural-cuda")]
impl Graph {
    /// Returns a copy of the graph that uses only the session `session`, which evaluates the graph on another device.
    /// One call evaluates `rows` rows.
    pub(super) fn with_session(&self, session: Session, rows: usize) -> Self {
        Self {
            path: self.path.clone(),
            bytes: self.bytes.clone(),
            inputs: self.inputs.clone(),
            output: self.output,
            single: self.single,
            width: self.width,
            idle: Mutex::new(vec![session]),
            alone: true,
            rows,
        }
    }

    /// Returns the content of the graph file.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the names of the inputs.
    pub(super) fn inputs(&self) -> impl Iterator<Item = &'static str> {
        self.inputs.iter().map(|(name, _)| *name)
    }

    /// Ends the profile of a session that was opened with profiling. Returns the profile as JSON text.
    ///
    /// # Errors
    /// The reason if there is no profile.
    pub(super) fn end_profiling(&self) -> Result<Vec<u8>, String> {
        let mut idle = self.idle();
        let session = idle.first_mut().ok_or_else(|| "there is no session".to_owned())?;
        let path = session.end_profiling().map_err(|error| error.message().to_owned())?;
        std::fs::read(path).map_err(|error| format!("its profile: {error}"))
    }
}

/// Begins to build a session that uses one thread. NextStat distributes the work over its own threads. The terms of
/// each sum are then always added in the same order.
pub(super) fn builder(environment: &Environment) -> Result<SessionBuilder, ort::Error> {
    Ok(Session::builder(environment)?.with_intra_threads(1)?.with_inter_threads(1)?)
}

/// Opens a session for the graph with the content `bytes`. `path` is for error messages.
fn open(path: &Path, bytes: &[u8]) -> Result<Session, FlowError> {
    let environment = environment()?;
    let wrong = |cause: &str| FlowError::Graph { file: path.to_owned(), cause: cause.to_owned() };
    let mut builder = builder(environment).map_err(|error| wrong(error.message()))?;
    builder.commit_from_memory(bytes).map_err(|error| wrong(error.message()))
}
