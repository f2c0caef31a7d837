// A fit with a look around for lower minima (see lanes/toys.rs).
#pragma once
#include "help.cuh"

namespace ns {

// Iterations of a descent over curved ground, where minima may lie close to each other.
constexpr int LONG = 30;
// Minima whose values differ by more than this are different ones.
constexpr double DISTINCT = 1e-3;

// Whether a descent from a start of a round that began with the minimum `before` tells of another minimum.
NS_DEVICE bool tells(const Descent& other, Known before) {
    // Most end before their certificate, as soon as they cannot win: how far they would have fallen is known
    // to a factor. An impossible start says nothing.
    bool distinct = other.value - 10.0 * other.edm > before.value + DISTINCT || other.value < before.value - DISTINCT;
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

// The whole fit from START; the result is in BEST, BEST_HELD, EMPTY and on the ticket. Or, if `helps`, starts of another
// block's fit, as long as there are any, from the one on the ticket; `state` has what `copy` copies.
//
// What goes on between descents is on the ticket, in shared memory: a descent needs all registers.
template <bool NEAR>
NS_DEVICE void search(
    const FitLaunch& launch, int which, const Metric& metric, const State<NEAR>& state, int block, bool helps, Sums& sums
) {
    const Plan& plan = launch.plan;
    const Request& request = launch.requests[which];
    Ticket* ticket = ticket_of(state);
    Known before = {infinity(), false};
    if (helps) {
        const Round& from = launch.rounds[ticket->owner];
        before = Known{from.known, true};
        lay_out(plan, request, state, from.number, ticket->start, sums);
    }
    barrier();
    if (thread() == 0) {
        // The first descent is a round of its own.
        ticket->round = -1;
        ticket->offered = helps;
        ticket->several = 0;
        ticket->iterations = 0;
        ticket->evaluations = 0;
        if (!helps) {
            ticket->start = 0;
            ticket->count = 1;
            ticket->owner = block;
        }
    }
    barrier();
    // There is one call of `descend`, which is large.
    for (;;) {
        Descent end = descend<NEAR, false>(plan, codes_of(plan), metric, state, before, false, sums);
        bool first = !helps && ticket->round < 0, offered = ticket->offered;
        bool lowest = first;
        if (offered) {
            State<NEAR> to = {launch.offset, launch.slab + (size_t)ticket->owner * launch.slab_stride};
            report(plan, state, to, launch.rounds[ticket->owner], ticket->start, end);
        } else {
            lowest = first || (end.converged && end.value < ticket->value);
            if (lowest) keep(plan, state, state);
        }
        barrier();
        if (thread() == 0) {
            if (lowest) {
                ticket->value = end.value;
                ticket->edm = end.edm;
                ticket->converged = end.converged;
            }
            if (!offered) {
                ticket->iterations += end.iterations;
                ticket->evaluations += end.evaluations;
                if (first ? end.iterations > LONG : tells(end, before)) ticket->several = 1;
                ticket->start++;
            } else {
                ticket->start = finish(launch, launch.rounds[ticket->owner], end, tells(end, before));
            }
        }
        barrier();
        if (first && (!end.converged || request.n_bendable + request.n_directions == 0)) return;
        if (offered && ticket->start < 0) {
            if (helps) return;
            gather(launch.rounds[block], ticket);
        }
        while (!helps && ticket->start >= ticket->count) {
            int round = ticket->round + 1;
            if (round == 2 || (round == 1 && !ticket->several)) return;
            before = Known{ticket->value, true};
            NS_EACH(p, plan.n_params) state[SNAPSHOT][p] = state[BEST][p];
            barrier();
            int count = starts_of(request, round);
            if (thread() == 0) {
                ticket->round = round;
                ticket->start = 0;
                ticket->count = count;
            }
            offer(launch, state, block, which, round, count, before.value);
        }
        int number = helps ? launch.rounds[ticket->owner].number : ticket->round;
        lay_out(plan, request, state, number, ticket->start, sums);
    }
}

}  // namespace ns
