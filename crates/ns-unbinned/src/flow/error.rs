//! Errors of flows. Each error names the place and the remedy.

use std::path::PathBuf;

use ns_core::LogProbError;
use thiserror::Error;

/// Reasons why a flow cannot be loaded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FlowError {
    /// The program was built without flows.
    #[error(
        "this build of NextStat has no flows, and '{manifest}' is one. Build it with the feature 'neural': cargo install --path crates/ns-cli --features neural, or for Python with MATURIN_PEP517_ARGS=\"--features pyo3/extension-module,neural\""
    )]
    NotBuilt {
        /// The manifest.
        manifest: PathBuf,
    },
    /// The library of ONNX Runtime does not exist, or is too old.
    #[error(
        "the library of ONNX Runtime cannot be loaded from '{library}': {cause}. Install it (`pip install onnxruntime`), and let ORT_DYLIB_PATH name the library file, such as .../onnxruntime/capi/libonnxruntime.so.1.31.1"
    )]
    Library {
        /// The file or name that was tried.
        library: String,
        /// Message of the loader.
        cause: String,
    },
    /// A file cannot be read.
    #[error("'{path}' cannot be read: {cause}. Check the path")]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        cause: std::io::Error,
    },
    /// The manifest is not valid JSON, or its structure is wrong.
    #[error(
        "manifest '{manifest}', at {place}: {cause}. The keys of a manifest are in docs/flow-manifest.schema.json"
    )]
    Manifest {
        /// The manifest.
        manifest: PathBuf,
        /// Path of the mistake within the JSON.
        place: String,
        /// What is wrong.
        cause: String,
    },
    /// A value of the manifest cannot be used.
    #[error("manifest '{manifest}', at {place}: {problem}. {remedy}")]
    Value {
        /// The manifest.
        manifest: PathBuf,
        /// Path of the value within the JSON.
        place: String,
        /// What is wrong.
        problem: String,
        /// What the user can do.
        remedy: String,
    },
    /// The path of a graph leads out of the manifest's folder.
    #[error(
        "manifest '{manifest}', at {place}: the file '{file}' does not stay in the folder of the manifest. Put the graph beside the manifest, and write its path relative to that folder"
    )]
    Outside {
        /// The manifest.
        manifest: PathBuf,
        /// Path of the file name within the JSON.
        place: String,
        /// The file.
        file: String,
    },
    /// The content of a graph file differs from the content that the manifest describes.
    #[error(
        "manifest '{manifest}', at {place}: the SHA-256 hash of '{file}' is {actual}, not {expected}. Restore the file, or export the flow again"
    )]
    Digest {
        /// The manifest.
        manifest: PathBuf,
        /// Path of the hash within the JSON.
        place: String,
        /// The file.
        file: String,
        /// Hash of the file.
        actual: String,
        /// Hash in the manifest.
        expected: String,
    },
    /// ONNX Runtime refuses a graph.
    #[error(
        "ONNX Runtime cannot load the graph '{file}': {cause}. Export it again, as one file without external data"
    )]
    Graph {
        /// The file.
        file: PathBuf,
        /// Message of ONNX Runtime.
        cause: String,
    },
    /// A graph lacks an input or an output.
    #[error(
        "the graph '{file}' has no {kind} '{name}'; it has {known:?}. Export it with the names of docs/flows.md"
    )]
    Tensor {
        /// The file.
        file: PathBuf,
        /// `input` or `output`.
        kind: &'static str,
        /// The name that is required.
        name: &'static str,
        /// The names that exist.
        known: Vec<String>,
    },
    /// An input or output has a wrong element type.
    #[error(
        "'{name}' of the graph '{file}' is of type {actual}. Export it with 32-bit or 64-bit floating-point numbers"
    )]
    ElementType {
        /// The file.
        file: PathBuf,
        /// Name of the input or output.
        name: String,
        /// Element type in the graph.
        actual: String,
    },
    /// An output has a wrong shape.
    #[error(
        "'{name}' of the graph '{file}' has the shape {actual:?} for {events} events, not {expected:?}. Correct the graph, and export it again"
    )]
    Shape {
        /// The file.
        file: PathBuf,
        /// Name of the output.
        name: &'static str,
        /// Number of events that were evaluated.
        events: usize,
        /// Actual shape.
        actual: Vec<i64>,
        /// Required shape.
        expected: Vec<i64>,
    },
    /// The names of the caller's context differ from the names in the manifest.
    #[error("the flow has the context {expected:?}, and {actual:?} was given. Name each of them once")]
    Context {
        /// Names in the manifest.
        expected: Vec<String>,
        /// Names that the caller gave.
        actual: Vec<String>,
    },
    /// The sizes of batches for a GPU are not in ascending order, or not allowed.
    #[error(
        "the sizes of batches on a GPU are {least}, {best} and {most}; write 1 <= profile_min_batch <= profile_opt_batch <= profile_max_batch < 2^31"
    )]
    Batches {
        /// The smallest size.
        least: usize,
        /// The size for which the kernels are chosen.
        best: usize,
        /// The largest size.
        most: usize,
    },
    /// An evaluation failed.
    #[error(transparent)]
    LogProb(#[from] LogProbError),
}
