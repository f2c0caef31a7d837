//! Compiled models, their evaluation and optimisation on each device.

pub mod cpu;

pub use cpu::CpuSession;
