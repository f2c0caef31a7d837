//! The likelihood of events: densities with their normalisation, and the terms of `-ln L` with gradient and Hessian.
//!
//! A channel is compiled to amplitudes times products of *leaves*, which are densities without normalisation
//! (`expand`). One loop over the events (`sums`) computes `-ln L` and its first and second derivatives with respect to
//! the amplitudes and the variables of the leaves. Integrals, rates (expected numbers of events) and coefficients are
//! parts of the amplitudes and are evaluated once per point. The chain rule (`chain`) then gives the derivatives with
//! respect to the parameters. `sample` draws the events of toys.

mod asimov;
mod bin_means;
mod block;
mod cells;
mod chain;
mod channel;
mod channel_sum;
mod conditional;
mod convolution;
mod correlation;
mod cost;
mod crew;
mod densities;
mod error;
mod expand;
mod formula;
mod grid;
mod integral;
mod kernels;
mod leaf;
mod offload;
mod places;
mod program;
mod sample;
mod shapes;
mod sources;
mod special;
mod squared;
mod sums;
mod table;
mod tape;
mod term;
mod total;
mod wide;

pub(crate) use cells::Cells;
pub(crate) use crew::Crew;
pub(crate) use error::integral_error;
pub(crate) use offload::ChannelSums;
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub(crate) use offload::{LeafSteps, Offload, Operand, Operation, OwnKernel, Totals, UnaryOperation};

pub(crate) use places::{MovingPeak, Place, find_peaks, peak_parameters, places, rivals, without_peak};
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub(crate) use program::Table;
pub(crate) use program::pair;
#[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
pub(crate) use sample::DeviceHat;
pub(crate) use sample::{auxiliary_widths, event_sources};
pub use shapes::EventShapes;
pub(crate) use sources::{FunctionMemory, Functions};
pub(crate) use squared::squared_weights;
pub(crate) use tape::FunctionTape;
pub(crate) use term::{EventPlan, EventScratch, asimov, evaluate, expected_data, prepare_channels};
pub(crate) use total::Wall;
