//! Structures of the kernels that reduce log-densities to `-ln L`. `kernels/flow_structures.cuh` is generated from this
//! file (`header.rs`).

use bytemuck::{Pod, Zeroable};

#[cfg(test)]
use super::super::declare::Declaration;
use super::super::declare::{Element, Field, structures};
use super::super::offset::{Offset, OffsetMut};

/// Largest number of processes. A thread keeps sums for each process.
pub(super) const MOST_PROCESSES: usize = 64;

structures! {
    /// The parameter of the kernels `ns_flow_nll_reduce` and `ns_flow_batch_nll_reduce`. Log-densities are stored
    /// process after process, with `n_events` numbers for each.
    FlowLaunch {
        n_processes: i32,
        /// Number of sets of data. It is 1, except in a batch.
        n_sets: i32,
        /// Number that identifies this call of `ns_flow_nll_reduce`. Every word of the answer contains it.
        call: u32,
        /// Value that `finished` has before the last thread block of this call finishes.
        last: u32,
        n_events: u64,
        /// Log-densities in double precision; null if they are in `singles`.
        log_probs: Offset<f64>,
        /// Log-densities in single precision.
        singles: Offset<f32>,
        /// Weights of the events; null if all are 1.
        weights: Offset<f64>,
        /// Working memory of the thread blocks; null if it is shared memory.
        room: OffsetMut<f64>,
        /// Doubles from the working memory of one thread block to that of the next.
        room_stride: u64,
        /// Sums of each thread block of `ns_flow_nll_reduce`.
        partials: OffsetMut<f64>,
        /// Number of thread blocks of all calls of `ns_flow_nll_reduce` that have finished, modulo 2^32.
        finished: OffsetMut<i32>,
        /// Where the host waits for the sums of `ns_flow_nll_reduce`, in the order of `totals`.
        answer: OffsetMut<u64>,
        /// First event of each set of a batch, and the end of the last one.
        starts: Offset<u64>,
        /// Expected number of events of each process, n_processes per set of a batch.
        rates: Offset<f64>,
        /// Sums of each set of a batch: `-sum w ln f`, index of the first bad event, its derivatives by the rates, and
        /// the lower triangle of its second derivatives.
        totals: OffsetMut<f64>,
        /// Expected number of events of each process for `ns_flow_nll_reduce`.
        own_rates: [f64; MOST_PROCESSES],
    }
}
