// What kernels and host share. Made from src/device/flow/layout.rs (src/device/header.rs says how): do not edit.
#pragma once
#include "block.cuh"

namespace ns {

// The parameter of the kernels `ns_flow_nll_reduce` and `ns_flow_batch_nll_reduce`. Log-densities are stored
// process after process, with `n_events` numbers for each.
struct FlowLaunch {
    int n_processes;
    // Number of sets of data. It is 1, except in a batch.
    int n_sets;
    // Number that identifies this call of `ns_flow_nll_reduce`. Every word of the answer contains it.
    uint32_t call;
    // Value that `finished` has before the last thread block of this call finishes.
    uint32_t last;
    uint64_t n_events;
    // Log-densities in double precision; null if they are in `singles`.
    const double* log_probs;
    // Log-densities in single precision.
    const float* singles;
    // Weights of the events; null if all are 1.
    const double* weights;
    // Working memory of the thread blocks; null if it is shared memory.
    double* room;
    // Doubles from the working memory of one thread block to that of the next.
    uint64_t room_stride;
    // Sums of each thread block of `ns_flow_nll_reduce`.
    double* partials;
    // Number of thread blocks of all calls of `ns_flow_nll_reduce` that have finished, modulo 2^32.
    int* finished;
    // Where the host waits for the sums of `ns_flow_nll_reduce`, in the order of `totals`.
    uint64_t* answer;
    // First event of each set of a batch, and the end of the last one.
    const uint64_t* starts;
    // Expected number of events of each process, n_processes per set of a batch.
    const double* rates;
    // Sums of each set of a batch: `-sum w ln f`, index of the first bad event, its derivatives by the rates, and
    // the lower triangle of its second derivatives.
    double* totals;
    // Expected number of events of each process for `ns_flow_nll_reduce`.
    double own_rates[64];
};
static_assert(sizeof(FlowLaunch) == 624, "as on the host");

}  // namespace ns
