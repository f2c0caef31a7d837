//! Errors of flows. Each message says where the error is and what to do.

use std::path::PathBuf;

use ns_core::LogProbError;
use thiserror::Error;

/// Reasons why a flow cannot be loaded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FlowError {
    /// This build of NextStat does not support flows.
    #[error(
        "this build of NextStat has no flows, and '{manifest}' is one. Build it with the feature 'neural': cargo install --path crates/ns-cli --features neural, or for Python with MATURIN_PEP517_ARGS=\"--features pyo3/extension-module,neural\""
    )]
    NotBuilt {
        /// Path of the manifest.
        manifest: PathBuf,
    },
    /// The library of ONNX Runtime cannot be loaded, for example because it does not exist or is too old.
    #[error(
        "the library of ONNX Runtime cannot be loaded from '{library}': {cause}. Install it (`pip install onnxruntime`), and let ORT_DYLIB_PATH name the library file, such as .../onnxruntime/capi/libonnxruntime.so.1.31.1"
    )]
    Library {
        /// Path or name of the library that could not be loaded.
        library: String,
        /// Reason why the library cannot be loaded.
        cause: String,
    },
    /// A file cannot be read.
    #[error("'{path}' cannot be read: {cause}. Check the path")]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        cause: std::io::Error,
    },
    /// The manifest is not valid JSON, or its structure is wrong.
    #[error(
        "manifest '{manifest}', at {place}: {cause}. The keys of a manifest are in docs/flow-manifest.schema.json"
    )]
    Manifest {
        /// Path of the manifest.
        manifest: PathBuf,
        /// Path of the error within the JSON.
        place: String,
        /// Description of the error.
        cause: String,
    },
    /// A value in the manifest cannot be used.
    #[error("manifest '{manifest}', at {place}: {problem}. {remedy}")]
    Value {
        /// Path of the manifest.
        manifest: PathBuf,
        /// Path of the value within the JSON.
        place: String,
        /// Description of the problem.
        problem: String,
        /// Sentence that tells the user what to do.
        remedy: String,
    },
    /// The path of a graph file leads out of the folder of the manifest.
    #[error(
        "manifest '{manifest}', at {place}: the file '{file}' does not stay in the folder of the manifest. Put the graph beside the manifest, and write its path relative to that folder"
    )]
    Outside {
        /// Path of the manifest.
        manifest: PathBuf,
        /// Path within the JSON of the entry that has the file name.
        place: String,
        /// Path of the graph file, as the manifest gives it.
        file: String,
    },
    /// The hash of a graph file differs from the hash in the manifest.
    #[error(
        "manifest '{manifest}', at {place}: the SHA-256 hash of '{file}' is {actual}, not {expected}. Restore the file, or export the flow again"
    )]
    Digest {
        /// Path of the manifest.
        manifest: PathBuf,
        /// Path within the JSON of the entry that has the hash.
        place: String,
        /// Path of the graph file, as the manifest gives it.
        file: String,
        /// SHA-256 hash of the graph file.
        actual: String,
        /// SHA-256 hash that the manifest gives for the graph file.
        expected: String,
    },
    /// ONNX Runtime cannot load a graph.
    #[error(
        "ONNX Runtime cannot load the graph '{file}': {cause}. Export it again, as one file without external data"
    )]
    Graph {
        /// Path of the graph file.
        file: PathBuf,
        /// Message of ONNX Runtime.
        cause: String,
    },
    /// A graph lacks an input or an output.
    #[error(
        "the graph '{file}' has no {kind} '{name}'; it has {known:?}. Export it with the names of docs/flows.md"
    )]
    Tensor {
        /// Path of the graph file.
        file: PathBuf,
        /// Kind of the missing tensor: `input` or `output`.
        kind: &'static str,
        /// Name of the required input or output.
        name: &'static str,
        /// Names of the inputs, or of the outputs, that the graph has.
        known: Vec<String>,
    },
    /// The element type of an input or output is wrong.
    #[error(
        "'{name}' of the graph '{file}' is of type {actual}. Export it with 32-bit or 64-bit floating-point numbers"
    )]
    ElementType {
        /// Path of the graph file.
        file: PathBuf,
        /// Name of the input or output.
        name: String,
        /// Element type that the graph has.
        actual: String,
    },
    /// The shape of an output is wrong.
    #[error(
        "'{name}' of the graph '{file}' has the shape {actual:?} for {events} events, not {expected:?}. Correct the graph, and export it again"
    )]
    Shape {
        /// Path of the graph file.
        file: PathBuf,
        /// Name of the output.
        name: &'static str,
        /// Number of events that were evaluated.
        events: usize,
        /// Shape that the output has.
        actual: Vec<i64>,
        /// Shape that the output must have.
        expected: Vec<i64>,
    },
    /// The context variables that the caller gave do not have the names in the manifest.
    #[error("the flow has the context {expected:?}, and {actual:?} was given. Name each of them once")]
    Context {
        /// Names of the context variables in the manifest.
        expected: Vec<String>,
        /// Names of the context variables that the caller gave.
        actual: Vec<String>,
    },
    /// The numbers of events per evaluation in `FlowGpuConfig` are not in ascending order, or not allowed.
    #[error(
        "the sizes of batches on a GPU are {least}, {best} and {most}; write 1 <= profile_min_batch <= profile_opt_batch <= profile_max_batch < 2^31"
    )]
    Batches {
        /// Smallest number of events in one evaluation.
        least: usize,
        /// Number of events for which TensorRT chooses its kernels.
        best: usize,
        /// Largest number of events in one evaluation.
        most: usize,
    },
    /// The log-densities could not be evaluated.
    #[error(transparent)]
    LogProb(#[from] LogProbError),
}
