// A fit with a look around for lower minima (see lanes/toys.rs).
#pragma once
#include "descend.cuh"

namespace ns {

// Iterations of a descent over curved ground, where minima may lie close to each other.
constexpr int LONG = 30;
// Minima whose values differ by more than this are different ones.
constexpr double DISTINCT = 1e-3;

// Keeps what a descent ended with: parameters, what is held, bins that expect nothing.
template <bool NEAR>
NS_DEVICE void keep(const Plan& plan, const State<NEAR>& state) {
    NS_EACH(p, plan.n_params) {
        state[BEST][p] = state[THETA][p];
        state[BEST_HELD][p] = state[HELD][p];
    }
    NS_EACH(b, plan.n_bins) state[EMPTY][b] = state[LAMBDA][b] > 0.0 ? 0.0 : 1.0;
}

// Takes in a further descent from a start of a round that began with the minimum `before`. Returns whether it tells
// of another minimum.
template <bool NEAR>
NS_DEVICE bool merge(const Plan& plan, const State<NEAR>& state, const Descent& other, Known before, Descent& best) {
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

// START = one of the start points that all fits share, or the minimum known; held parameters where they are held.
template <bool NEAR>
NS_DEVICE void begin_at(const Plan& plan, const State<NEAR>& state, const double* point) {
    barrier();
    NS_EACH(p, plan.n_params) {
        double x = point[p];
        state[START][p] = state[LOWER][p] == state[UPPER][p] ? state[LOWER][p] : x;
    }
    barrier();
}

// Moves START along a direction to one of its places.
template <bool NEAR>
NS_DEVICE void go(const State<NEAR>& state, const Direction& direction, double place, Sums& sums) {
    double* start = state[START];
    double at = 0.0;
    NS_EACH(i, direction.n) at += direction.parts[i] * start[direction.params[i]] / direction.widths[i];
    at = sums.one(at);
    NS_EACH(i, direction.n) {
        int p = direction.params[i];
        double to = start[p] + (place - at) * direction.parts[i] * direction.widths[i];
        start[p] = fmin(fmax(to, state[LOWER][p]), state[UPPER][p]);
    }
}

// START = start `k` of a round: first those that all fits share, then transformations of the minimum known
// (SNAPSHOT): along directions in which normsys effects add up, and its mirror image, all strongly asymmetric
// parameters on their other side.
template <bool NEAR>
NS_DEVICE void lay_out(
    const Plan& plan, const Request& request, const State<NEAR>& state, int round, int k, Sums& sums
) {
    int shared = round == 0 ? request.n_first : request.n_second;
    const double* points = round == 0 ? request.first : request.second;
    begin_at(plan, state, k < shared ? points + k * plan.n_params : state[SNAPSHOT]);
    if (k < shared) return;
    int own = k - shared;
    if (round == 0 && own < 2 * request.n_directions) {
        const Direction& direction = request.directions[own >> 1];
        go(state, direction, direction.places[own & 1], sums);
        return;
    }
    NS_EACH(i, request.n_bendable) {
        int p = request.bendable[i];
        state[START][p] = fmin(fmax(-state[START][p], state[LOWER][p]), state[UPPER][p]);
    }
}

// Number of starts in a round.
NS_DEVICE int starts_of(const Request& request, int round) {
    bool mirror = request.n_bendable > 0 && (request.n_directions < MOST_DIRECTIONS) == (round == 0);
    int shared = round == 0 ? request.n_first : request.n_second;
    return shared + (round == 0 ? 2 * request.n_directions : 0) + (mirror ? 1 : 0);
}

// The whole fit from START; the result is in BEST, BEST_HELD and EMPTY.
template <bool NEAR>
NS_DEVICE Descent search(
    const Plan& plan, const Request& request, const Metric& metric, const State<NEAR>& state, Sums& sums
) {
    Descent best = {};
    Known before = {infinity(), false};
    bool several = false;
    // The first descent is a round of its own. There is one call of `descend`, which is large.
    int round = -1, k = 0, count = 1;
    for (;;) {
        Descent end = descend(plan, metric, state, before, sums);
        if (round < 0) {
            best = end;
            keep(plan, state);
            if (!best.converged || request.n_bendable + request.n_directions == 0) return best;
            several = best.iterations > LONG;
        } else {
            several |= merge(plan, state, end, before, best);
        }
        k++;
        while (k >= count) {
            round++;
            if (round == 2 || (round == 1 && !several)) return best;
            before = Known{best.value, true};
            barrier();
            NS_EACH(p, plan.n_params) state[SNAPSHOT][p] = state[BEST][p];
            k = 0;
            count = starts_of(request, round);
        }
        lay_out(plan, request, state, round, k, sums);
    }
}

}  // namespace ns
