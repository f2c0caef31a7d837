// A fit with a look around for lower minima (see lanes/toys.rs).
#pragma once
#include "descend.cuh"

namespace ns {

// Iterations of a descent over curved ground, where minima may lie close to each other.
constexpr int LONG = 30;
// Minima whose values differ by more than this are different ones.
constexpr double DISTINCT = 1e-3;

// Keeps what a descent ended with: parameters, what is held, bins that expect nothing.
NS_DEVICE void keep(const Plan& plan, const State& state) {
    NS_EACH(p, plan.n_params) {
        state[BEST][p] = state[THETA][p];
        state[BEST_HELD][p] = state[HELD][p];
    }
    NS_EACH(b, plan.n_bins) state[EMPTY][b] = state[LAMBDA][b] > 0.0 ? 0.0 : 1.0;
}

// Descends once more, from START, and keeps what is lower than `best`. `before` is the minimum known when
// this round began. Returns whether the descent tells of another minimum.
NS_DEVICE bool again(
    const Plan& plan, const Metric& metric, const State& state, Known before, Descent& best, Sums& sums
) {
    Descent other = descend(plan, metric, state, before, sums);
    // Most end before their certificate, as soon as they cannot win: how far they would have fallen is known
    // to a factor. An impossible start says nothing.
    bool distinct = other.value - 10.0 * other.edm > before.value + DISTINCT || other.value < before.value - DISTINCT;
    int iterations = best.iterations + other.iterations, evaluations = best.evaluations + other.evaluations;
    if (other.converged && other.value < best.value) {
        best = other;
        keep(plan, state);
    }
    best.iterations = iterations;
    best.evaluations = evaluations;
    return distinct && isfinite(other.value);
}

// START = one of the start points that all fits share, with held parameters where they are held.
NS_DEVICE void begin_at(const Plan& plan, const State& state, const double* point) {
    barrier();
    NS_EACH(p, plan.n_params) {
        double x = point[p];
        state[START][p] = state[LOWER][p] == state[UPPER][p] ? state[LOWER][p] : x;
    }
}

// The whole fit from START; the result is in BEST, BEST_HELD and EMPTY.
NS_CALL Descent search(const Plan& plan, const Request& request, const State& state, Sums& sums) {
    const Metric& metric = *request.metric;
    Descent best = descend(plan, metric, state, Known{infinity(), false}, sums);
    keep(plan, state);
    if (!best.converged || request.n_bendable == 0) return best;
    bool several = best.iterations > LONG;
    for (int round = 0; round < 2; round++) {
        Known before = {best.value, true};
        barrier();
        NS_EACH(p, plan.n_params) state[SNAPSHOT][p] = state[BEST][p];
        int shared = round == 0 ? request.n_first : request.n_second;
        const double* points = round == 0 ? request.first : request.second;
        for (int i = 0; i < shared; i++) {
            begin_at(plan, state, points + i * plan.n_params);
            several |= again(plan, metric, state, before, best, sums);
        }
        if (round == 0) {
            // The mirror image of the minimum: all strongly asymmetric parameters on their other side.
            begin_at(plan, state, state[SNAPSHOT]);
            barrier();
            NS_EACH(i, request.n_bendable) {
                int p = request.bendable[i];
                double x = fmin(fmax(-state[START][p], state[LOWER][p]), state[UPPER][p]);
                state[START][p] = x;
            }
            several |= again(plan, metric, state, before, best, sums);
        }
        if (!several) break;
    }
    barrier();
    return best;
}

}  // namespace ns
