// Fits of models whose interpolation has kinks at 0: which side a parameter is on, and the search of all sides.
//
// Between kinks the function is smooth. A kink bounds the orthant that a step starts in: a parameter that reaches it stays
// there while both slopes point uphill (see src/optimise/active.rs). Every orthant may have a minimum of its own, so fits
// look around as those of the processor do (src/optimise/search.rs): from the minimum under smooth codes, and on the other
// side of one parameter after the other.
#pragma once
#include "search.cuh"

namespace ns {

// A descent that is lost so little above the minimum, or below it, might have become a lower one.
constexpr double OPEN_BELOW = 1.0;

// What a descent of the search is for.
enum Stage { FROM_START, SMOOTH, FROM_SMOOTH, ELSEWHERE, PROBE, FLIP };

// Keeps the end of a descent if it is certified and the lowest. One that has come far down without a certificate is for the
// processor to finish, and the fit with it. Starts and ends with the block in step.
template <bool NEAR>
NS_DEVICE bool keep_lower(const Plan& plan, const State<NEAR>& state, const Descent& end, bool first, Ticket* ticket) {
    bool lowest = first || (end.converged && end.value < ticket->value - LOWER_BY);
    bool open = !first && end.lost && end.value < ticket->value + OPEN_BELOW;
    barrier();
    if (lowest) keep(plan, state, state);
    if (thread() == 0) {
        if (lowest) {
            ticket->value = end.value;
            ticket->edm = end.edm;
            ticket->converged = end.converged;
        }
        if (open) ticket->several |= OPEN;
        ticket->iterations += end.iterations;
        ticket->evaluations += end.evaluations;
    }
    barrier();
    return lowest;
}

// SNAPSHOT = BEST: what further descents must get below.
template <bool NEAR>
NS_DEVICE Known known_best(const Plan& plan, const State<NEAR>& state, const Ticket* ticket) {
    NS_EACH(p, plan.n_params) state[SNAPSHOT][p] = state[BEST][p];
    barrier();
    return Known{ticket->value, true};
}

// START = BEST with parameter `p` on its other side.
template <bool NEAR>
NS_DEVICE void mirror(const Plan& plan, const State<NEAR>& state, int p) {
    barrier();
    NS_EACH(q, plan.n_params) {
        double x = state[BEST][q];
        state[START][q] = q == p ? fmin(fmax(-x, state[LOWER][q]), state[UPPER][q]) : x;
    }
    barrier();
}

// The whole fit from START; the result is in BEST, BEST_HELD, EMPTY and on the ticket.
//
// RISE has, per parameter, how high its mirrored point lies above the minimum; below 0 for one that is not to be tried (any
// more).
template <bool NEAR>
NS_DEVICE void search_orthants(
    const Plan& plan, const Request& request, const Metric& metric, const State<NEAR>& state, Sums& sums
) {
    Ticket* ticket = ticket_of(state);
    double* rise = state[RISE];
    barrier();
    NS_EACH(i, request.n_bendable) rise[request.bendable[i]] = 0.0;
    if (thread() == 0) {
        ticket->iterations = 0;
        ticket->evaluations = 0;
        ticket->several = 0;
    }
    Known known = {infinity(), false};
    Stage stage = FROM_START;
    int at = -1, flips = 0;
    for (;;) {
        Codes codes = stage == SMOOTH ? smooth(codes_of(plan)) : codes_of(plan);
        Descent end = descend<NEAR, true>(plan, codes, metric, state, known, stage == PROBE, sums);
        bool lower = false;
        if (stage == PROBE) {
            if (thread() == 0) {
                int p = request.bendable[at];
                double above = end.value - ticket->value;
                rise[p] = above < MOST_RISE_BETWEEN_KINKS ? fmax(above, 0.0) : -1.0;
                ticket->evaluations += end.evaluations;
            }
            barrier();
        } else if (stage != SMOOTH) {
            lower = keep_lower(plan, state, end, stage == FROM_START, ticket);
        }
        if (stage == FROM_START) {
            if (!end.converged || request.n_bendable == 0) return;
            stage = SMOOTH;
            known = Known{infinity(), false};
            continue;
        }
        if (stage == SMOOTH) {
            NS_EACH(p, plan.n_params) state[START][p] = state[THETA][p];
            if (thread() == 0) ticket->evaluations += end.evaluations;
            known = known_best(plan, state, ticket);
            stage = FROM_SMOOTH;
            continue;
        }
        // Start points that all fits share; there are none of large models.
        if (stage == FROM_SMOOTH || stage == ELSEWHERE) {
            if (lower) known = known_best(plan, state, ticket);
            stage = ELSEWHERE;
            if (++at < request.n_first) {
                begin_at(plan, state, request.first + at * plan.n_params);
                continue;
            }
        }
        // Mirrored points are looked at from the first one on at the beginning and after every new minimum.
        if (stage == ELSEWHERE || lower) {
            NS_EACH(i, request.n_bendable) rise[request.bendable[i]] = 0.0;
            known = known_best(plan, state, ticket);
            at = -1;
            stage = PROBE;
        }
        if (stage == PROBE) {
            for (at++; at < request.n_bendable; at++) {
                int p = request.bendable[at];
                if (state[BEST][p] != 0.0 && state[LOWER][p] < state[UPPER][p]) break;
            }
            if (at < request.n_bendable) {
                mirror(plan, state, request.bendable[at]);
                continue;
            }
            stage = FLIP;
        }
        // The lowest of the mirrored points that are left.
        if (flips == MOST_FLIPS_BETWEEN_KINKS) break;
        if (thread() == 0) {
            int next = -1;
            for (int i = 0; i < request.n_bendable; i++) {
                int p = request.bendable[i];
                if (rise[p] < 0.0 || state[BEST][p] == 0.0 || !(state[LOWER][p] < state[UPPER][p])) continue;
                if (next < 0 || rise[p] < rise[next]) next = p;
            }
            if (next >= 0) rise[next] = -1.0;
            ticket->start = next;
        }
        barrier();
        if (ticket->start < 0) break;
        flips++;
        mirror(plan, state, ticket->start);
    }
}

}  // namespace ns
