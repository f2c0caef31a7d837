// Fits of models whose interpolation has kinks at 0, where the slope jumps. They search for minima on both sides of
// the kinks.
//
// `-ln L` is smooth between kinks. An orthant is a region between kinks. A step ends at the kinks that bound the
// orthant in which it starts. A parameter that reaches its kink stays there if `-ln L` rises on both sides (see
// src/optimise/active.rs).
//
// Every orthant may have a minimum. Fits therefore make further descents, as on the CPU (src/optimise/search). These
// start from the minimum of the model with smooth interpolation codes, and from the lowest minimum with the sign of
// one parameter changed, one parameter after the other.
#pragma once
#include "search.cuh"

namespace ns {

// A descent that was given up might still have led to a lower minimum if `-ln L` at its end exceeds the lowest
// minimum by less than this number.
constexpr double OPEN_BELOW = 1.0;

// Purposes of descents, in this order: from START; to the minimum of the model with smooth codes; from that minimum;
// from a starting point that all fits share; for the value at a mirrored point only; from a mirrored point.
enum Stage { FROM_START, SMOOTH, FROM_SMOOTH, ELSEWHERE, PROBE, FLIP };

// Keeps the end of a descent and returns true, if the descent is the first one or converged to a lower minimum. If a
// descent was given up close to or below the lowest minimum, sets the flag OPEN; the CPU then finishes the fit. The
// function begins and ends with a barrier.
template <bool SHARED>
NS_DEVICE bool keep_lower(const Plan& plan, const State<SHARED>& state, const Descent& end, bool first, BlockProgress* progress) {
    bool lowest = first || (end.converged && end.value < progress->value - LOWER_BY);
    bool open = !first && end.lost && end.value < progress->value + OPEN_BELOW;
    barrier();
    if (lowest) keep(plan, state, state);
    if (thread() == 0) {
        if (lowest) {
            progress->value = end.value;
            progress->edm = end.edm;
            progress->converged = end.converged;
        }
        if (open) progress->several |= OPEN;
        progress->iterations += end.iterations;
        progress->evaluations += end.evaluations;
    }
    barrier();
    return lowest;
}

// Copies BEST to SNAPSHOT, and returns it as the known minimum. Further descents must reach a lower value.
template <bool SHARED>
NS_DEVICE KnownMinimum known_best(const Plan& plan, const State<SHARED>& state, const BlockProgress* progress) {
    NS_EACH(p, plan.n_params) state[SNAPSHOT][p] = state[BEST][p];
    barrier();
    return KnownMinimum{progress->value, true, false};
}

// Sets START to BEST with the sign of parameter `p` changed.
template <bool SHARED>
NS_DEVICE void mirror(const Plan& plan, const State<SHARED>& state, int p) {
    barrier();
    NS_EACH(q, plan.n_params) {
        double x = state[BEST][q];
        state[START][q] = q == p ? fmin(fmax(-x, state[LOWER][q]), state[UPPER][q]) : x;
    }
    barrier();
}

// Makes a fit from START, including the search for lower minima. The outcome is in BEST, BEST_HELD, EMPTY and in
// `BlockProgress`.
//
// The mirrored point of a parameter is the lowest minimum with the sign of this parameter changed. For each
// parameter, RISE contains the height of the mirrored point above the minimum. The height is negative if no descent
// will start there.
template <bool SHARED>
NS_DEVICE void search_orthants(
    const Plan& plan, const Request& request, const Metric& metric, const State<SHARED>& state, Sums& sums
) {
    BlockProgress* progress = progress_of(state);
    double* rise = state[RISE];
    barrier();
    NS_EACH(i, request.n_nonlinear) rise[request.nonlinear[i]] = 0.0;
    if (thread() == 0) {
        progress->iterations = 0;
        progress->evaluations = 0;
        progress->several = 0;
    }
    KnownMinimum known = {infinity(), false, false};
    Stage stage = FROM_START;
    int at = -1, flips = 0;
    for (;;) {
        Codes codes = stage == SMOOTH ? smooth(codes_of(plan)) : codes_of(plan);
        Descent end = descend<SHARED, true, false>(plan, codes, metric, state, known, stage == PROBE, sums);
        bool lower = false;
        if (stage == PROBE) {
            if (thread() == 0) {
                int p = request.nonlinear[at];
                double above = end.value - progress->value;
                rise[p] = above < MOST_RISE_BETWEEN_KINKS ? fmax(above, 0.0) : -1.0;
                progress->evaluations += end.evaluations;
            }
            barrier();
        } else if (stage != SMOOTH) {
            lower = keep_lower(plan, state, end, stage == FROM_START, progress);
        }
        if (stage == FROM_START) {
            if (!end.converged || request.n_nonlinear == 0) return;
            stage = SMOOTH;
            known = KnownMinimum{infinity(), false, false};
            continue;
        }
        if (stage == SMOOTH) {
            NS_EACH(p, plan.n_params) state[START][p] = state[THETA][p];
            if (thread() == 0) progress->evaluations += end.evaluations;
            known = known_best(plan, state, progress);
            stage = FROM_SMOOTH;
            continue;
        }
        // Starting points that all fits share. Large models have none.
        if (stage == FROM_SMOOTH || stage == ELSEWHERE) {
            if (lower) known = known_best(plan, state, progress);
            stage = ELSEWHERE;
            if (++at < request.n_first) {
                begin_at(plan, state, request.first + at * plan.n_params);
                continue;
            }
        }
        // All mirrored points are evaluated before the first flip, and again after every new lowest minimum.
        if (stage == ELSEWHERE || lower) {
            NS_EACH(i, request.n_nonlinear) rise[request.nonlinear[i]] = 0.0;
            known = known_best(plan, state, progress);
            at = -1;
            stage = PROBE;
        }
        if (stage == PROBE) {
            for (at++; at < request.n_nonlinear; at++) {
                int p = request.nonlinear[at];
                if (state[BEST][p] != 0.0 && state[LOWER][p] < state[UPPER][p]) break;
            }
            if (at < request.n_nonlinear) {
                mirror(plan, state, request.nonlinear[at]);
                continue;
            }
            stage = FLIP;
        }
        // The next descent starts from the lowest mirrored point that is left.
        if (flips == MOST_FLIPS_BETWEEN_KINKS) break;
        if (thread() == 0) {
            int next = -1;
            for (int i = 0; i < request.n_nonlinear; i++) {
                int p = request.nonlinear[i];
                if (rise[p] < 0.0 || state[BEST][p] == 0.0 || !(state[LOWER][p] < state[UPPER][p])) continue;
                if (next < 0 || rise[p] < rise[next]) next = p;
            }
            if (next >= 0) rise[next] = -1.0;
            progress->start = next;
        }
        barrier();
        if (progress->start < 0) break;
        flips++;
        mirror(plan, state, progress->start);
    }
}

}  // namespace ns
