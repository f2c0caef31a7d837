// `-sum_i w_i ln sum_k nu_k p_k(x_i)` of given log-densities, with first and second derivatives by the rates nu_k. Sums
// have a fixed order, which depends on the numbers of events and processes alone.
#pragma once
#include "flow_structures.cuh"
#include "state.cuh"

namespace ns {

// Number of sums that do not depend on the processes: the value, and the first bad event.
constexpr int PLAIN_FLOW_SUMS = 2;

NS_DEVICE int n_flow_sums(const FlowLaunch& launch) {
    int n = launch.n_processes;
    return PLAIN_FLOW_SUMS + n + n * (n + 1) / 2;
}

NS_DEVICE double log_prob(const FlowLaunch& launch, int process, uint64_t event) {
    uint64_t at = process * launch.n_events + event;
    return launch.singles ? (double)launch.singles[at] : launch.log_probs[at];
}

// Returns sum `i` of `count` numbers, for all threads of a warp. The index of the first bad event is a minimum.
NS_DEVICE double flow_sum(int i, const double* numbers, int count) {
    bool least = i == 1;
    double sum = least ? infinity() : 0.0;
    for (int j = lane(); j < count; j += lanes()) sum = least ? fmin(sum, numbers[j]) : sum + numbers[j];
    return least ? warp_min(sum) : warp_sum(sum);
}

// Sums over the events from `first` to `end` in steps of `step`. Calls `write(i, sum)` in one thread for each sum of the
// thread block.
template <class Write>
NS_DEVICE void reduce_flow(
    const FlowLaunch& launch, int block, uint64_t first, uint64_t step, uint64_t end, const double* rates, Write write
) {
    int n = launch.n_processes, sums = n_flow_sums(launch), stride = threads();
    double* start = launch.room ? launch.room + (size_t)block * launch.room_stride : ns_shared;
    // Numbers of this thread: densities divided by that of all processes, then its sums.
    double* own = start + thread();
    double* total = own + (size_t)n * stride;
    for (int i = 0; i < sums; i++) total[(size_t)i * stride] = i == 1 ? infinity() : 0.0;
    for (uint64_t event = first + thread(); event < end; event += step) {
        double most = -infinity();
        for (int k = 0; k < n; k++) most = fmax(most, log_prob(launch, k, event));
        double density = 0.0;
        for (int k = 0; k < n; k++) {
            double p = exp(log_prob(launch, k, event) - most);
            own[(size_t)k * stride] = p;
            density = fma(rates[k], p, density);
        }
        if (!(density > 0.0 && density < infinity())) {
            total[stride] = fmin(total[stride], (double)event);
            continue;
        }
        double weight = launch.weights ? launch.weights[event] : 1.0, inverse = 1.0 / density;
        total[0] -= weight * (most + log(density));
        for (int k = 0, at = PLAIN_FLOW_SUMS + n; k < n; k++) {
            double slope = own[(size_t)k * stride] * inverse, weighted = weight * slope;
            own[(size_t)k * stride] = slope;
            total[(size_t)(PLAIN_FLOW_SUMS + k) * stride] -= weighted;
            for (int l = 0; l <= k; l++, at++) {
                double* bend = total + (size_t)at * stride;
                *bend = fma(weighted, own[(size_t)l * stride], *bend);
            }
        }
    }
    barrier();
    for (int i = warp(); i < sums; i += warps()) {
        double sum = flow_sum(i, start + (size_t)(n + i) * stride, stride);
        if (lane() == 0) write(i, sum);
    }
    // The working memory is used again.
    barrier();
}

// Writes a number where the host waits for it: two words, each with half of the number and the number of the call. A
// word is written whole, so that the host needs no other sign of its arrival.
NS_DEVICE void answer(const FlowLaunch& launch, int i, double x) {
    uint64_t call = (uint64_t)launch.call << 32;
    volatile uint64_t* to = launch.answer + 2 * (size_t)i;
    to[0] = call | bits(x) >> 32;
    to[1] = call | (bits(x) & 0xffffffffull);
}

// Sums over the events of one set of data; each thread block has its part. The last block that finishes adds the sums of
// all blocks.
NS_DEVICE void flow_nll_reduce(const FlowLaunch& launch, int block, int blocks) {
    int sums = n_flow_sums(launch);
    uint64_t first = (uint64_t)block * threads(), step = (uint64_t)blocks * threads();
    reduce_flow(launch, block, first, step, launch.n_events, launch.own_rates, [&](int i, double sum) {
        if (blocks == 1) {
            answer(launch, i, sum);
        } else {
            launch.partials[(size_t)i * blocks + block] = sum;
            fence();
        }
    });
    if (blocks == 1) return;
    int* is_last = (int*)ns_shared;
    if (thread() == 0) *is_last = (uint32_t)add(launch.finished, 1) == launch.last;
    barrier();
    if (!*is_last) return;
    fence();
    for (int i = warp(); i < sums; i += warps()) {
        double sum = flow_sum(i, launch.partials + (size_t)i * blocks, blocks);
        if (lane() == 0) answer(launch, i, sum);
    }
}

// Sums over the events of many sets of data, with one thread block per set.
NS_DEVICE void flow_batch_nll_reduce(const FlowLaunch& launch, int block, int blocks) {
    for (int set = block; set < launch.n_sets; set += blocks) {
        const double* rates = launch.rates + (size_t)set * launch.n_processes;
        double* to = launch.totals + (size_t)set * n_flow_sums(launch);
        uint64_t first = launch.starts[set], end = launch.starts[set + 1];
        reduce_flow(launch, block, first, threads(), end, rates, [&](int i, double sum) { to[i] = sum; });
    }
}

}  // namespace ns
