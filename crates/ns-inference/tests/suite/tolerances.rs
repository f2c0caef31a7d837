//! Checks that the tolerances of the parity contract (differences allowed between CPU and GPU) are the same in the
//! Rust tests and in the Python tests.
#![allow(clippy::unwrap_used)]

#[path = "../gpu/tolerances.rs"]
mod constants;

use std::collections::BTreeMap;

#[test]
fn rust_and_python_hold_the_same_numbers() {
    let text = include_str!("../../../../tests/python/_tolerances.py");
    let python: BTreeMap<&str, f64> = text
        .lines()
        .filter_map(|line| line.split_once(" = "))
        .filter(|(name, _)| name.starts_with("CUDA_"))
        .map(|(name, value)| (name, value.trim().parse().unwrap()))
        .collect();
    let rust: BTreeMap<&str, f64> = constants::ALL.into_iter().collect();
    assert_eq!(rust.len(), constants::ALL.len());
    assert_eq!(python, rust);
}
