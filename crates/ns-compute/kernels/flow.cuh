// `-sum_i w_i ln sum_k nu_k p_k(x_i)` from given log-densities, with first and second derivatives with respect to the
// rates nu_k. The order of sums is fixed, and depends only on the number of events.
#pragma once
#include "flow_structures.cuh"

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

// Sums over the events `first`, `first + step`, and so on, up to `end`. Writes the sums of the thread block to `to`.
NS_DEVICE void reduce_flow(
    const FlowLaunch& launch, int block, uint64_t first, uint64_t step, uint64_t end, const double* rates, double* to
) {
    int n = launch.n_processes, sums = n_flow_sums(launch), stride = threads();
    double* start = launch.room + (size_t)block * launch.room_stride;
    // Numbers of this thread: the densities of the processes divided by the total density, and then the sums.
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
    NS_EACH(i, sums) {
        const double* of_threads = start + (size_t)(n + i) * stride;
        double sum = of_threads[0];
        for (int t = 1; t < stride; t++) sum = i == 1 ? fmin(sum, of_threads[t]) : sum + of_threads[t];
        to[i] = sum;
    }
    // The working memory is used again for the next set.
    barrier();
}

// Sums over the events of one set of data. Each thread block sums a part of them.
NS_DEVICE void flow_nll_reduce(const FlowLaunch& launch, int block, int blocks) {
    double* to = blocks == 1 ? launch.totals : launch.partials + (size_t)block * n_flow_sums(launch);
    uint64_t step = (uint64_t)blocks * threads();
    reduce_flow(launch, block, (uint64_t)block * threads(), step, launch.n_events, launch.rates, to);
}

// Adds the sums of all thread blocks.
NS_DEVICE void flow_nll_total(const FlowLaunch& launch) {
    int sums = n_flow_sums(launch);
    NS_EACH(i, sums) {
        double sum = launch.partials[i];
        for (int b = 1; b < launch.n_blocks; b++) {
            double x = launch.partials[(size_t)b * sums + i];
            sum = i == 1 ? fmin(sum, x) : sum + x;
        }
        launch.totals[i] = sum;
    }
}

// Sums over the events of many sets of data, with one thread block per set.
NS_DEVICE void flow_batch_nll_reduce(const FlowLaunch& launch, int block, int blocks) {
    for (int set = block; set < launch.n_sets; set += blocks) {
        const double* rates = launch.rates + (size_t)set * launch.n_processes;
        double* to = launch.totals + (size_t)set * n_flow_sums(launch);
        reduce_flow(launch, block, launch.starts[set], threads(), launch.starts[set + 1], rates, to);
    }
}

}  // namespace ns
