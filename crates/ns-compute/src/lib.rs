//! Compiles models, and evaluates and fits them on the CPU and on GPUs.

#[cfg(feature = "metal")]
pub mod any_gpu;
pub mod cpu;
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub mod cuda_parquet;
mod curvature;
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub mod device;
pub mod differentiable;
mod eval;
mod events;
mod factors;
mod follow;
pub mod function_values;
mod lanes;
mod linalg;
mod number;
mod optimise;
mod plan;
mod pool;
mod pull;
mod shared_constants;
mod simd;
mod stop;
mod task;
mod terms;

pub use cpu::CpuSession;
pub use events::EventShapes;
pub use plan::Plan;
pub use simd::Level;
