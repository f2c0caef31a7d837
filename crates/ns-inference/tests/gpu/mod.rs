//! Functions and constants that the tests of GPUs share: the devices, the published workspaces, and random points.
#![allow(unreachable_pub, dead_code)]

pub mod fits;
pub mod points;
pub mod tolerances;
pub mod toys;

use std::path::PathBuf;

use ns_core::random::{Normal, Stream};
use ns_core::{Device, Execution, Interpolation, Model, Session};
use ns_inference::{CpuSession, devices, open_session};
use ns_translate::pyhf::{ModelOptions, Workspace};

/// Names of the published workspaces.
pub const WORKSPACES: [&str; 9] = [
    "1Lbb_C1N2_700_400",
    "complex_all_modifiers",
    "pyhf_2bin_1channel",
    "pyhf_4measurements_sb",
    "pyhf_shapefactor_shapesys",
    "tHu",
    "tttt_prod",
    "xml_multibin",
    "xml_multichan_coupledhistosys",
];

/// The two pairs of interpolation codes with which each model is tested: smooth and piecewise.
pub const CODES: [Interpolation; 2] = [Interpolation::SMOOTH, Interpolation::PIECEWISE];

/// Returns whether kernels compiled for the CPU are tested in place of a GPU. These kernels are slow. This is the
/// case if the build contains these kernels and the environment variable `NEXTSTAT_CUDA_ON_HOST` is set.
pub fn on_host() -> bool {
    cfg!(feature = "cuda-on-host") && std::env::var_os("NEXTSTAT_CUDA_ON_HOST").is_some()
}

/// Returns the number of GPUs. For kernels compiled for the CPU the number is 2. If there is no GPU, prints the
/// reason and returns 0.
pub fn n_devices() -> usize {
    if on_host() {
        return 2;
    }
    let list = devices();
    let there = list.iter().filter(|d| d.available && d.name.starts_with("cuda:")).count();
    if there == 0 {
        let why = list.iter().find(|d| d.name == "cuda").and_then(|d| d.reason.clone());
        eprintln!("SKIPPED: no CUDA device: {}", why.unwrap_or_default());
    }
    there
}

/// Returns whether a model is tested with the given interpolation codes. If `NEXTSTAT_GPU_TEST_MODELS` is set, only
/// the models in it are tested, for example `tHu,tttt_prod/smooth`. The variable is set if the tests run under tools
/// that slow them down.
fn is_asked_for(name: &str, codes: Interpolation) -> bool {
    let Ok(only) = std::env::var("NEXTSTAT_GPU_TEST_MODELS") else { return true };
    let named = |entry: &str| WORKSPACES.contains(&entry.split('/').next().unwrap_or(entry));
    assert!(only.split(',').all(named), "NEXTSTAT_GPU_TEST_MODELS={only}: no such workspace");
    let setting = if codes == Interpolation::SMOOTH { "smooth" } else { "piecewise" };
    let asked = only.split(',').any(|entry| entry == name || entry == format!("{name}/{setting}"));
    if !asked {
        eprintln!("SKIPPED: {name}, {setting}: NEXTSTAT_GPU_TEST_MODELS does not name it");
    }
    asked
}

/// Reads the workspaces `names` from the reference folder. If the folder is not set, prints a notice and returns an
/// empty list.
pub fn models(names: &[&'static str], codes: Interpolation) -> Vec<(&'static str, Model)> {
    let Some(folder) = std::env::var_os("NEXTSTAT_REFERENCE_DIR") else {
        eprintln!("SKIPPED: set NEXTSTAT_REFERENCE_DIR to the reference folder to run this test");
        return Vec::new();
    };
    let folder = PathBuf::from(folder).join("workspaces");
    let options = ModelOptions { interpolation: codes, ..ModelOptions::default() };
    let model = |name: &&'static str| {
        let workspace = Workspace::from_path(folder.join(format!("{name}.json"))).unwrap();
        (*name, workspace.model(&options).unwrap())
    };
    names.iter().filter(|name| is_asked_for(name, codes)).map(model).collect()
}

/// Names of models with factors that are functions of parameters, among the fixtures of the repository.
pub const FUNCTIONS: [&str; 2] = ["eft", "abcd"];

/// Reads a model from the fixtures of the repository.
pub fn fixture(name: &str) -> Model {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    Workspace::from_path(folder.join(format!("{name}.json")))
        .unwrap()
        .model(&ModelOptions::default())
        .unwrap()
}

/// Opens a session on the CPU that uses all threads.
pub fn cpu_session(model: &Model) -> CpuSession {
    CpuSession::open(model, &Execution::default()).unwrap()
}

/// Opens a session on the GPU with the index `index`.
pub fn device(model: &Model, index: usize) -> Box<dyn Session> {
    #[cfg(feature = "cuda-on-host")]
    if on_host() {
        let execution = Execution::default();
        return Box::new(ns_compute::device::host::open(model, &execution).unwrap());
    }
    let execution = Execution { device: Device::Cuda(index), ..Execution::default() };
    open_session(model, &execution).unwrap()
}

/// Opens a session on all GPUs.
pub fn all_devices(model: &Model) -> Box<dyn Session> {
    #[cfg(feature = "cuda-on-host")]
    if on_host() {
        let execution = Execution::default();
        return Box::new(ns_compute::device::host::open_several(model, &execution, 2).unwrap());
    }
    let execution = Execution { device: Device::CudaAll, ..Execution::default() };
    open_session(model, &execution).unwrap()
}

/// Returns `n` random points around the initial parameters. The points follow each other in one list. Constrained
/// parameters are moved by random multiples of their widths, and unconstrained parameters are scaled.
pub fn random_points(model: &Model, n: u64) -> Vec<f64> {
    let unit = Normal::new(0.0, 1.0).unwrap();
    let mut points = Vec::new();
    for k in 0..n {
        let stream = Stream::new(5, k, 0);
        points.extend(model.parameters.iter().enumerate().map(|(p, parameter)| {
            let random = unit.draw(&stream, p as u32);
            let to = match parameter.constraint.prefit_sigma() {
                _ if parameter.fixed => return parameter.init,
                Some(sigma) => parameter.init + sigma * random,
                None => parameter.init * (0.3 * random).exp(),
            };
            to.clamp(parameter.bounds.0, parameter.bounds.1)
        }));
    }
    points
}

/// Returns a lower bound on the sum of the absolute terms of `-ln L`. The bound is the absolute value of the
/// saturated `-ln L`, plus the absolute difference between `nll` and the saturated `-ln L`.
pub fn absolute_terms(nll: f64, saturated: f64) -> f64 {
    (nll - saturated).abs() + saturated.abs()
}

/// Returns whether two lists of numbers are equal to the last bit.
pub fn same_bits(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.to_bits() == y.to_bits())
}
