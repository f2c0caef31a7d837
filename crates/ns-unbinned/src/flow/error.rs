//! Errors of flows: each names the place and what to do.

use std::path::PathBuf;

use ns_core::LogProbError;
use thiserror::Error;

/// Why a flow cannot be loaded.
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
    /// The library of ONNX Runtime is not there, or too old.
    #[error(
        "the library of ONNX Runtime cannot be loaded from '{library}': {cause}. Install it (`pip install onnxruntime`), and let ORT_DYLIB_PATH name the library file, such as .../onnxruntime/capi/libonnxruntime.so.1.31.1"
    )]
    Library {
        /// The file or name that was tried.
        library: String,
        /// What the loader said.
        cause: String,
    },
    /// A file cannot be read.
    #[error("'{path}' cannot be read: {cause}. Check the path")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
    /// The manifest is no JSON, or its structure is wrong.
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
        /// What to do.
        remedy: String,
    },
    /// A graph lies outside of the manifest's folder.
    #[error(
        "manifest '{manifest}', at {place}: the file '{file}' does not stay in the folder of the manifest. Put the graph beside the manifest, and write its path relative to that folder"
    )]
    Outside {
        /// The manifest.
        manifest: PathBuf,
        /// Path of the file's name within the JSON.
        place: String,
        /// The file.
        file: String,
    },
    /// A graph is not the one that the manifest names.
    #[error(
        "manifest '{manifest}', at {place}: the SHA-256 hash of '{file}' is {actual}, not {expected}. Restore the file, or export the flow again"
    )]
    Digest {
        /// The manifest.
        manifest: PathBuf,
        /// Path of the digest within the JSON.
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
        /// What ONNX Runtime said.
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
        /// The name that is needed.
        name: &'static str,
        /// The names that there are.
        known: Vec<String>,
    },
    /// An input or output has a wrong element type.
    #[error(
        "'{name}' of the graph '{file}' is of type {actual}. Export it with 32-bit or 64-bit floating-point numbers"
    )]
    ElementType {
        /// The file.
        file: PathBuf,
        /// The input or output.
        name: String,
        /// Its type.
        actual: String,
    },
    /// An output has a wrong shape.
    #[error(
        "'{name}' of the graph '{file}' has the shape {actual:?} for {events} events, not {expected:?}. Correct the graph, and export it again"
    )]
    Shape {
        /// The file.
        file: PathBuf,
        /// The output.
        name: &'static str,
        /// Number of events that were evaluated.
        events: usize,
        /// Its shape.
        actual: Vec<i64>,
        /// The shape that is needed.
        expected: Vec<i64>,
    },
    /// The caller's context is not that of the manifest.
    #[error("the flow has the context {expected:?}, and {actual:?} was given. Name each of them once")]
    Context {
        /// Names in the manifest.
        expected: Vec<String>,
        /// Names given.
        actual: Vec<String>,
    },
    /// The sizes of batches for a GPU are out of order.
    #[error(
        "the sizes of batches on a GPU are {least}, {best} and {most}; write 1 <= profile_min_batch <= profile_opt_batch <= profile_max_batch < 2^31"
    )]
    Batches {
        /// The smallest size.
        least: usize,
        /// The size that is best.
        best: usize,
        /// The largest size.
        most: usize,
    },
    /// An evaluation failed.
    #[error(transparent)]
    LogProb(#[from] LogProbError),
}
