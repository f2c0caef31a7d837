// A fit with a search for lower minima. After the first descent there are rounds of descents from further starting
// points (see lanes/search.rs).
#pragma once
#include "help.cuh"

namespace ns {

// Index of the first round in which parameters are flipped: descents start from the minimum with the sign of one
// parameter changed (see lanes/flips.rs).
constexpr int FLIPS = 2;

// Index of the first round with starts in other valleys along parameters of functions (see lanes/folds.rs).
constexpr int UNFOLD = FLIPS + FLIP_ROUNDS;

// Returns whether the descent `other` of a round indicates that there is another minimum than `before`, the lowest
// minimum at the beginning of the round.
NS_DEVICE bool tells(const Descent& other, KnownMinimum before) {
    // Most descents end early, when they cannot reach a lower value than the known minimum. They would have fallen by
    // at most EDM_MARGIN times their EDM. A starting point with an infinite value indicates nothing.
    bool distinct = other.value - EDM_MARGIN * other.edm > before.value + DISTINCT || other.value < before.value - DISTINCT;
    return distinct && isfinite(other.value);
}

// Returns whether a descent was given up at a point below the known minimum. The CPU must then finish the fit.
NS_DEVICE bool is_open(const Descent& other, KnownMinimum before) {
    return other.lost && other.value >= 0.0 && other.value < before.value - SAME;
}

// Sets START to `point`, which is the known minimum or a starting point that all fits share. Each parameter is
// limited to the bounds of the request.
template <bool SHARED>
NS_DEVICE void begin_at(const Plan& plan, const State<SHARED>& state, const double* point) {
    barrier();
    NS_EACH(p, plan.n_params) {
        // The bounds of a request may be narrower than those of the model.
        state[START][p] = fmin(fmax(point[p], state[LOWER][p]), state[UPPER][p]);
    }
    barrier();
}

// Moves START along a direction until its coordinate along the direction is `place`. The parameters stay within their
// bounds.
template <bool SHARED>
NS_DEVICE void go(const State<SHARED>& state, const Direction& direction, double place, Sums& sums) {
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

// Whether the kernel with these options fits models with functions.
template <bool SHARED, bool OWN>
constexpr bool HAS_FUNCTIONS = OWN || !SHARED;

// Returns `-ln L` at the known minimum (SNAPSHOT) with parameter `p` moved to `to`, within its bounds. The function
// is not inlined, because calls are rare and the code of an evaluation is large.
template <bool SHARED, bool OWN>
NS_CALL double value_with(const Plan& plan, State<SHARED> state, int p, double to) {
    Sums sums = {state[BLOCK_DATA], 0};
    barrier();
    NS_EACH(q, plan.n_params) state[TRIAL][q] = state[SNAPSHOT][q];
    barrier();
    if (thread() == 0) state[TRIAL][p] = fmin(fmax(to, state[LOWER][p]), state[UPPER][p]);
    barrier();
    Value value = evaluate<SHARED, false, false, HAS_FUNCTIONS<SHARED, OWN>>(plan, codes_of(plan), state, state[TRIAL], sums);
    barrier();
    return value.main + value.constraint;
}

// Flips each nonlinear parameter of the known minimum, one at a time. Sets RISE to the height of each flipped point
// above the minimum, in units of `-ln L`, or to infinity if no descent should start there. Returns the number of
// points from which descents should start, at most MOST_FLIPS. `known` is `-ln L` at the known minimum.
template <bool SHARED, bool OWN>
NS_DEVICE int choose_flips(const Plan& plan, const Request& request, const State<SHARED>& state, double known) {
    int worth = 0;
    for (int i = 0; i < request.n_nonlinear; i++) {
        int p = request.nonlinear[i];
        double rise = value_with<SHARED, OWN>(plan, state, p, -state[SNAPSHOT][p]) - known;
        double hump = value_with<SHARED, OWN>(plan, state, p, 0.0) - known;
        bool is = rise < MOST_RISE && rise < LEAST_DENT * hump;
        if (thread() == 0) state[RISE][i] = is ? rise : infinity();
        worth += is;
    }
    if (thread() == 0) progress_of(state)->evaluations += 2 * request.n_nonlinear;
    barrier();
    return worth < MOST_FLIPS ? worth : MOST_FLIPS;
}

// Changes the sign of one parameter of START. It is the parameter with the index `k` (from 0) in the order of
// increasing `rise`.
template <bool SHARED>
NS_DEVICE void flip(const Request& request, const State<SHARED>& state, const double* rise, int k) {
    NS_EACH(i, request.n_nonlinear) {
        if (!(rise[i] < infinity())) continue;
        int before = 0;
        for (int j = 0; j < request.n_nonlinear; j++) before += rise[j] < rise[i] || (rise[j] == rise[i] && j < i);
        int p = request.nonlinear[i];
        if (before == k) state[START][p] = fmin(fmax(-state[START][p], state[LOWER][p]), state[UPPER][p]);
    }
}

// Moves each parameter along which functions turn to several values, and finds the lowest ones in other valleys than that of the
// known minimum. Writes at most MOST_VALLEYS values per parameter to FOLDS, the lowest first, or infinity. Returns the number of
// points from which descents should start: those with one parameter moved and, if there are several parameters, the point with all
// of them moved. `known` is `-ln L` at the known minimum.
template <bool SHARED, bool OWN>
NS_CALL int choose_valleys(const Plan& plan, const Request& request, State<SHARED> state, double known) {
    double* heights = state[FOLDS];
    int found = 0, moved = 0;
    for (int i = 0; i < request.n_folds; i++) {
        int p = request.fold_param[i];
        const double* values = request.fold_values + i * FOLD_VALUES;
        for (int v = 0; v < FOLD_VALUES; v++) {
            double rise = value_with<SHARED, OWN>(plan, state, p, values[v]) - known;
            if (thread() == 0) heights[v] = rise;
        }
        barrier();
        double* valleys = heights + FOLD_VALUES + i * MOST_VALLEYS;
        if (thread() == 0) {
            double here = state[SNAPSHOT][p], step = values[1] - values[0], lowest[MOST_VALLEYS];
            for (int m = 0; m < MOST_VALLEYS; m++) valleys[m] = lowest[m] = infinity();
            for (int v = 0; v < FOLD_VALUES; v++) {
                double rise = heights[v], before = v > 0 ? heights[v - 1] : infinity();
                double after = v + 1 < FOLD_VALUES ? heights[v + 1] : infinity();
                if (!(rise <= before && rise < after && fabs(values[v] - here) > step && rise < HIGHEST_VALLEY)) continue;
                int m = MOST_VALLEYS;
                while (m > 0 && rise < lowest[m - 1]) m--;
                if (m == MOST_VALLEYS) continue;
                for (int j = MOST_VALLEYS - 1; j > m; j--) {
                    lowest[j] = lowest[j - 1];
                    valleys[j] = valleys[j - 1];
                }
                lowest[m] = rise;
                valleys[m] = values[v];
            }
        }
        barrier();
        for (int m = 0; m < MOST_VALLEYS; m++) found += isfinite(valleys[m]);
        moved += isfinite(valleys[0]);
    }
    if (thread() == 0) progress_of(state)->evaluations += FOLD_VALUES * request.n_folds;
    barrier();
    return moved > 1 ? found + 1 : found;
}

// Moves START to the starting point with the index `k` of those that `choose_valleys` has found.
template <bool SHARED>
NS_DEVICE void unfold(const Request& request, const State<SHARED>& state, const double* folds, int k) {
    if (thread() != 0) return;
    double* start = state[START];
    const double* valleys = folds + FOLD_VALUES;
    int at = 0;
    for (int i = 0; i < request.n_folds * MOST_VALLEYS; i++) {
        if (!isfinite(valleys[i])) continue;
        if (at == k) start[request.fold_param[i / MOST_VALLEYS]] = valleys[i];
        at++;
    }
    if (at > k) return;
    for (int i = 0; i < request.n_folds; i++) {
        double to = valleys[i * MOST_VALLEYS];
        if (isfinite(to)) start[request.fold_param[i]] = to;
    }
}

// Sets START to the starting point with the index `k` in a round. A round before FLIPS begins with the starting
// points that all fits share. Points that are made from the known minimum (SNAPSHOT) follow. Some are moved along
// directions in which normsys effects add up. One is the mirror image, in which all strongly asymmetric parameters
// have the opposite sign. Rounds from FLIPS on change the sign of single parameters of the known minimum, in the
// order of `rise`. Rounds from UNFOLD on move parameters to other valleys; `rise` is then the array FOLDS. The round RESCUE has
// starting points that all fits share.
template <bool SHARED, bool OWN>
NS_DEVICE void lay_out(
    const Plan& plan, const Request& request, const State<SHARED>& state, const double* rise, int round, int k, Sums& sums
) {
    if constexpr (HAS_FUNCTIONS<SHARED, OWN>) {
        if (round >= UNFOLD) {
            begin_at(plan, state, state[SNAPSHOT]);
            unfold(request, state, rise, k);
            return;
        }
    }
    if (round >= FLIPS) {
        begin_at(plan, state, state[SNAPSHOT]);
        flip(request, state, rise, k);
        return;
    }
    if (round == RESCUE) {
        begin_at(plan, state, request.others + k * plan.n_params);
        return;
    }
    int shared = round == 0 ? request.n_first : request.n_second;
    const double* points = round == 0 ? request.first : request.second;
    begin_at(plan, state, k < shared ? points + k * plan.n_params : state[SNAPSHOT]);
    if (k < shared) return;
    int own = k - shared;
    if (round == 0 && own < PLACES * request.n_directions) {
        const Direction& direction = request.directions[(unsigned)own / PLACES];
        go(state, direction, direction.places[(unsigned)own % PLACES], sums);
        return;
    }
    NS_EACH(i, request.n_nonlinear) {
        int p = request.nonlinear[i];
        state[START][p] = fmin(fmax(-state[START][p], state[LOWER][p]), state[UPPER][p]);
    }
}

// Returns the number of starting points in a round whose index is below FLIPS.
NS_DEVICE int starts_of(const Request& request, int round) {
    if (round == RESCUE) return request.n_others;
    bool mirror = request.n_nonlinear > 0 && (request.n_directions < MOST_DIRECTIONS) == (round == 0);
    int shared = round == 0 ? request.n_first : request.n_second;
    return shared + (round == 0 ? PLACES * request.n_directions : 0) + (mirror ? 1 : 0);
}

// Ends a fit without a certified minimum, after the round RESCUE. The outcome is the end of the first descent.
NS_DEVICE void give_up(BlockProgress* progress) {
    // All threads must have read `BlockProgress` before it changes.
    barrier();
    if (thread() == 0) {
        progress->value = progress->fallen;
        if (!(progress->several & STANDING)) progress->several |= FALLEN;
    }
    barrier();
}

// Returns the array RISE of the thread block that owns the round, or the array FOLDS in rounds from UNFOLD on.
template <bool SHARED>
NS_DEVICE const double* rises(const FitLaunch& launch, const State<SHARED>& state, const BlockProgress* progress, int round) {
    return launch.slab + (size_t)progress->owner * launch.slab_stride + state.offset[round >= UNFOLD ? FOLDS : RISE];
}

// Makes a fit from START, including the search for lower minima. The outcome is in BEST, BEST_HELD, EMPTY and in
// `BlockProgress`.
//
// If `helps` is true, instead makes descents from starting points of another thread block's fit, beginning with the
// one in `BlockProgress`, until none is left. In this case `copy` must have filled `state` before.
//
// With OWN the metric has the derivatives at the point of the fit (see `factor`).
//
// A descent needs all registers. Variables that are needed after a descent are therefore in `BlockProgress`, in
// shared memory.
template <bool SHARED, bool OWN>
NS_DEVICE void search(
    const FitLaunch& launch, int which, const Metric& metric, const State<SHARED>& state, int block, bool helps, Sums& sums
) {
    const Plan& plan = launch.plan;
    const Request& request = launch.requests[which];
    BlockProgress* progress = progress_of(state);
    KnownMinimum before = {infinity(), false, false};
    if (helps) {
        const Round& from = launch.rounds[progress->owner];
        before = KnownMinimum{from.known, from.number != RESCUE, from.number >= FLIPS && from.number < UNFOLD};
        lay_out<SHARED, OWN>(plan, request, state, rises(launch, state, progress, from.number), from.number, progress->start, sums);
    }
    barrier();
    if (thread() == 0) {
        progress->round = FIRST;
        progress->offered = helps;
        progress->several = 0;
        progress->iterations = 0;
        progress->evaluations = 0;
        if (!helps) {
            progress->start = 0;
            progress->count = 1;
            progress->owner = block;
        }
    }
    barrier();
    // `descend` is called only at this place, because its code is large and inlined.
    for (;;) {
        Descent end = descend<SHARED, false, OWN>(plan, codes_of(plan), metric, state, before, false, sums);
        int current = helps ? launch.rounds[progress->owner].number : progress->round;
        bool first = current == FIRST, rescues = current == RESCUE, offered = progress->offered;
        // As in the search of SIMD lanes: `-ln L` fell far below its value in the saturated model.
        bool fallen = !end.converged && end.value < BELOW_SATURATED;
        bool lowest = first;
        if (offered) {
            State<SHARED> to = {launch.offset, launch.slab + (size_t)progress->owner * launch.slab_stride};
            report(plan, state, to, launch.rounds[progress->owner], progress->start, end);
        } else {
            lowest = first || (end.converged && end.value < progress->value);
            if (lowest) keep(plan, state, state);
        }
        barrier();
        if (thread() == 0) {
            if (lowest) {
                progress->value = end.value;
                progress->edm = end.edm;
                progress->converged = end.converged;
            }
            if (!offered) {
                progress->iterations += end.iterations;
                progress->evaluations += end.evaluations;
                if (rescues) {
                    if (!fallen) progress->several |= STANDING;
                } else {
                    if (first ? end.iterations > LONG : tells(end, before)) progress->several |= SEVERAL;
                    if (!first && is_open(end, before)) progress->several |= OPEN;
                }
                progress->start++;
            } else {
                progress->start = finish(
                    launch, launch.rounds[progress->owner], end, rescues ? !fallen : tells(end, before),
                    !rescues && is_open(end, before)
                );
            }
        }
        barrier();
        if (first && !end.converged && !(fallen && request.n_others > 0)) return;
        bool scatters = request.n_nonlinear + request.n_directions > 0;
        if (first && end.converged && !scatters && request.n_folds == 0) return;
        if (offered && progress->start < 0) {
            if (helps) return;
            gather(launch.rounds[block], progress);
        }
        while (!helps && progress->start >= progress->count) {
            int round = progress->round + 1;
            if (round == RESCUE && progress->converged) round = 0;
            if (round == 0 && !progress->converged) {
                give_up(progress);
                return;
            }
            if (round == 0 && !scatters) round = FLIPS;
            if (round == 1 && !(progress->several & (SEVERAL | OPEN))) round = FLIPS;
            bool lower = progress->value < before.value - SAME;
            if (round >= FLIPS && round < UNFOLD && !(plan.strongly_nonlinear && (round == FLIPS || lower))) round = UNFOLD;
            if (round >= UNFOLD && !(HAS_FUNCTIONS<SHARED, OWN> && request.n_folds > 0 && (round == UNFOLD || (round < UNFOLD + FLIP_ROUNDS && lower)))) return;
            before = KnownMinimum{progress->value, true, round >= FLIPS && round < UNFOLD};
            if (round == RESCUE) before = KnownMinimum{infinity(), false, false};
            NS_EACH(p, plan.n_params) state[SNAPSHOT][p] = state[BEST][p];
            barrier();
            int count = 0;
            if (round < FLIPS) {
                count = starts_of(request, round);
            } else if (round < UNFOLD) {
                count = choose_flips<SHARED, OWN>(plan, request, state, before.value);
            } else if constexpr (HAS_FUNCTIONS<SHARED, OWN>) {
                count = choose_valleys<SHARED, OWN>(plan, request, state, before.value);
            }
            if (thread() == 0) {
                if (round == RESCUE) {
                    progress->fallen = progress->value;
                    progress->value = infinity();
                }
                progress->round = round;
                progress->start = 0;
                progress->count = count;
            }
            offer(launch, state, block, which, round, count, before.value);
        }
        int number = helps ? launch.rounds[progress->owner].number : progress->round;
        lay_out<SHARED, OWN>(plan, request, state, rises(launch, state, progress, number), number, progress->start, sums);
    }
}

}  // namespace ns
