// What kernels and host share. Made from src/device/flow/layout.rs (src/device/header.rs says how): do not edit.
#pragma once
#include "block.cuh"

namespace ns {

// The parameter of `ns_flow_nll_reduce`, `ns_flow_nll_total` and `ns_flow_batch_nll_reduce`. Log-densities are
// those of one process after the other, `n_events` numbers each.
struct FlowLaunch {
    int n_processes;
    // Number of sets of data, 1 but for a batch.
    int n_sets;
    // Number of thread blocks of `ns_flow_nll_reduce`.
    int n_blocks;
    int padding;
    uint64_t n_events;
    // Log-densities in double precision; null if they are in `singles`.
    const double* log_probs;
    // Log-densities in single precision.
    const float* singles;
    // Weights of the events; null if all are 1.
    const double* weights;
    // First event of each set of a batch, and the end of the last one.
    const uint64_t* starts;
    // Expected number of events of each process, n_processes per set.
    const double* rates;
    // Working memory of the thread blocks.
    double* room;
    // Doubles from the working memory of one thread block to that of the next.
    uint64_t room_stride;
    // Sums of each thread block of `ns_flow_nll_reduce`.
    double* partials;
    // Sums of each set: `-sum w ln f`, index of the first bad event, its derivatives by the rates, and the lower
    // triangle of its second derivatives.
    double* totals;
};
static_assert(sizeof(FlowLaunch) == 96, "as on the host");

}  // namespace ns
