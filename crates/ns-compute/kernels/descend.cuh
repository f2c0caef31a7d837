// One descent to a certified minimum, with the same steps as lanes/descend.rs.
#pragma once
#include "memory.cuh"

namespace ns {

// The first RENEWED iterations always invert the metric. A later iteration keeps the old inverse if the last step
// reduced the EDM to at most the fraction KEPT_CONTRACTION of its value.
constexpr int RENEWED = 2;
constexpr double KEPT_CONTRACTION = 0.2;
// After this number of iterations, every iteration inverts the metric again.
constexpr int HARD = 10;

struct Descent {
    double value, noise, edm, last_edm, length, descent;
    int trials, iterations, evaluations;
    bool fresh, lost, converged;
};

// The known minimum: the lowest minimum that earlier descents of the fit found. `value` is its value of `-ln L`, and
// its parameters are in SNAPSHOT. `any` is false if there is no known minimum.
//
// `starts_near` tells whether the descent starts next to this minimum, to look for another minimum in the same valley.
struct KnownMinimum {
    double value;
    bool any, starts_near;
};

// Returns the side (1 or -1) to which a parameter at its kink moves, or 0 if the parameter stays. `half` is half the
// jump of the slope. `slope` is the mean of the slopes on both sides. It becomes the slope on the returned side.
NS_DEVICE double side_of(double half, double& slope) {
    double right = slope + half, left = slope - half;
    if (right < 0.0 && -right >= left) {
        slope = right;
        return 1.0;
    }
    if (left > 0.0) {
        slope = left;
        return -1.0;
    }
    return 0.0;
}

// Moves to the trial point. Stores the step and the change of the slope for L-BFGS, determines which parameters are
// held, and sets the slope. Returns whether the set of held parameters changed or a parameter leaves its kink.
template <bool SHARED, bool KINKS>
NS_DEVICE bool absorb(
    const Plan& plan, Codes codes, const State<SHARED>& state, bool fresh, Memory& memory, Sums& sums
) {
    double *theta = state[THETA], *slope = state[SLOPE], *held = state[HELD];
    const double *trial = state[TRIAL], *gradient = state[GRADIENT];
    const double *lower = state[LOWER], *upper = state[UPPER];
    double *steps = state[STEPS] + memory.next * plan.n_params;
    double *changes = state[CHANGES] + memory.next * plan.n_params;
    double parts[3] = {0.0, 0.0, 0.0};
    NS_EACH(p, plan.n_params) {
        double to = trial[p], g = gradient[p];
        bool was = held[p] != 0.0, rests = false, leaves = false;
        if (KINKS && codes.kinks && plan.kinked[p]) {
            double side = to == 0.0 ? side_of(state[JUMP][p], g) : 0.0;
            rests = to == 0.0 && side == 0.0;
            // The slope jumps at the kink, so the L-BFGS pairs are not valid any more.
            leaves = side != 0.0;
            state[SIDE][p] = side;
        }
        if (!fresh) {
            // A parameter that was held did not move, and its slope was set to 0.
            double step = to - theta[p], change = was ? 0.0 : g - slope[p];
            steps[p] = step;
            changes[p] = change;
            parts[0] = fma(step, change, parts[0]);
            parts[1] = fma(change, change, parts[1]);
        }
        theta[p] = to;
        bool holds = rests || lower[p] == upper[p] || (to <= lower[p] && g > 0.0) || (to >= upper[p] && g < 0.0);
        held[p] = holds ? 1.0 : 0.0;
        slope[p] = holds ? 0.0 : g;
        if (holds != was || leaves) parts[2] += 1.0;
    }
    sums.all(parts);
    if (!fresh) {
        // A pair of step and change of slope is used only if its curvature is positive and well above rounding
        // errors.
        if (thread() == 0) memory.inverse[memory.next] = parts[0] > LEAST_PAIR_CURVATURE * parts[1] ? 1.0 / parts[0] : 0.0;
        memory.next = memory.next + 1 == PAIRS ? 0 : memory.next + 1;
        memory.used = memory.used == PAIRS ? PAIRS : memory.used + 1;
        barrier();
    }
    return parts[2] != 0.0;
}

// Returns the lower bound of parameter `p` for one step from `theta`. A parameter with a Poisson constraint keeps at
// least the fraction LEFT_BY_A_STEP of its value, because the constraint term is infinite at 0.
NS_DEVICE double floor_of(const Plan& plan, int p, double lower, double theta) {
    return plan.constraint[p].x == POISSON ? fmax(lower, LEFT_BY_A_STEP * theta) : lower;
}

// Computes the bounds of parameter `p` for one step from `theta`. A parameter with a kink stays on its side of 0.
template <bool SHARED, bool KINKS>
NS_DEVICE void box(
    const Plan& plan, Codes codes, const State<SHARED>& state, int p, double theta, double& lower, double& upper
) {
    lower = state[LOWER][p];
    upper = state[UPPER][p];
    if (KINKS && codes.kinks && plan.kinked[p]) {
        double side = theta == 0.0 ? state[SIDE][p] : theta;
        if (side > 0.0) lower = fmax(lower, 0.0);
        if (side < 0.0) upper = fmin(upper, 0.0);
    }
    lower = floor_of(plan, p, lower, theta);
}

// Returns the largest fraction of DIRECTION, at most 1, for which a step from THETA stays within the bounds.
template <bool SHARED>
NS_DEVICE double reach(const Plan& plan, const State<SHARED>& state, Sums& sums) {
    const double *theta = state[THETA], *direction = state[DIRECTION];
    const double *lower = state[LOWER], *upper = state[UPPER];
    double least = 1.0;
    NS_EACH(p, plan.n_params) {
        double step = direction[p], to = theta[p] + step;
        double bottom = floor_of(plan, p, lower[p], theta[p]);
        if (!(to < bottom || to > upper[p])) continue;
        double room = step < 0.0 ? bottom - theta[p] : upper[p] - theta[p];
        // A negligible component of the direction does not limit the step.
        if (fabs(step) > LEAST_COMPONENT) least = fmin(least, room / step);
    }
    least = sums.least(least);
    return least > 0.0 ? least : 0.0;
}

// Holds those parameters that are on a bound (or a kink) and that the direction would move beyond it. Returns whether
// there were any such parameters.
template <bool SHARED, bool KINKS>
NS_DEVICE bool pin_outward(const Plan& plan, Codes codes, const State<SHARED>& state, Sums& sums) {
    const double *theta = state[THETA], *direction = state[DIRECTION];
    double *held = state[HELD], *slope = state[SLOPE], any = 0.0;
    NS_EACH(p, plan.n_params) {
        double step = direction[p], lower = state[LOWER][p], upper = state[UPPER][p];
        if (KINKS) box<SHARED, KINKS>(plan, codes, state, p, theta[p], lower, upper);
        bool outward = (theta[p] <= lower && step < 0.0) || (theta[p] >= upper && step > 0.0);
        if (outward && held[p] == 0.0) {
            held[p] = 1.0;
            slope[p] = 0.0;
            any = 1.0;
        }
    }
    return sums.one(any) != 0.0;
}

// Sets TRIAL to THETA + length DIRECTION. Each parameter is limited to its bounds and to its side of a kink. Returns
// the scalar product of this step and the slope.
template <bool SHARED>
NS_DEVICE double advance_along_edges(const Plan& plan, Codes codes, const State<SHARED>& state, double length, Sums& sums) {
    const double *theta = state[THETA], *direction = state[DIRECTION], *slope = state[SLOPE];
    double *trial = state[TRIAL], product = 0.0;
    NS_EACH(p, plan.n_params) {
        double lower, upper, x = theta[p];
        box<SHARED, true>(plan, codes, state, p, x, lower, upper);
        double to = fmin(fmax(fma(length, direction[p], x), lower), upper);
        trial[p] = state[HELD][p] != 0.0 ? x : to;
        product = fma(slope[p], trial[p] - x, product);
    }
    return sums.one(product);
}

// Sets TRIAL to THETA + length DIRECTION. Each parameter is limited to its bounds.
template <bool SHARED>
NS_DEVICE void advance(const Plan& plan, const State<SHARED>& state, double length) {
    const double *theta = state[THETA], *direction = state[DIRECTION];
    const double *lower = state[LOWER], *upper = state[UPPER];
    double* trial = state[TRIAL];
    NS_EACH(p, plan.n_params) {
        double to = fma(length, direction[p], theta[p]);
        trial[p] = fmin(fmax(to, lower[p]), upper[p]);
    }
    barrier();
}

// Copies the end of a descent to the arrays BEST, BEST_HELD and EMPTY of `to`. They contain the parameters, which
// parameters are held, and which bins have no positive expected yield.
template <bool SHARED>
NS_DEVICE void keep(const Plan& plan, const State<SHARED>& state, const State<SHARED>& to) {
    NS_EACH(p, plan.n_params) {
        to[BEST][p] = state[THETA][p];
        to[BEST_HELD][p] = state[HELD][p];
    }
    NS_EACH(b, plan.n_bins) to[EMPTY][b] = state[LAMBDA][b] > 0.0 ? 0.0 : 1.0;
}

// Returns whether the descent `at` is expected to end in the known minimum. This is the case if the predicted value
// and parameters of its end are nearly those of the known minimum. `known` is the value of that minimum.
template <bool SHARED, bool KINKS>
NS_DEVICE bool awaits(
    const Plan& plan, Codes codes, const State<SHARED>& state, const Descent& at, double known, Sums& sums
) {
    double predicted = at.value - at.edm;
    if (at.edm > (plan.strongly_nonlinear ? RECOGNISABLE : RECOGNISABLE_UNLESS_NONLINEAR) || fabs(predicted - known) > 0.5 * at.edm + SAME) return false;
    const double *theta = state[THETA], *direction = state[DIRECTION], *there = state[SNAPSHOT];
    double away = 0.0, close = plan.strongly_nonlinear ? CLOSE : CLOSE_UNLESS_NONLINEAR;
    NS_EACH(p, plan.n_params) {
        double width = plan.width[p], scale = width > 0.0 ? width : fabs(there[p]);
        double to = theta[p] + direction[p];
        if (KINKS) {
            double lower, upper;
            box<SHARED, KINKS>(plan, codes, state, p, theta[p], lower, upper);
            to = fmin(fmax(to, lower), upper);
            // Minima of neighbouring orthants (regions between kinks) may be close to each other. Therefore the
            // orthants must agree.
            if (codes.kinks && plan.kinked[p] && (to > 0.0) - (to < 0.0) != (there[p] > 0.0) - (there[p] < 0.0)) away = 1.0;
        }
        if (!(fabs(to - there[p]) <= close * fmax(scale, close))) away = 1.0;
    }
    return sums.one(away) == 0.0;
}

// Returns whether a descent of a fit with derivatives of its own cannot reach a lower value than the known minimum, or
// returns to this minimum. `KnownMinimum::recognises` in lanes/known_minimum.rs describes the tests.
template <bool SHARED>
NS_DEVICE bool returns(
    const Plan& plan, Codes codes, const State<SHARED>& state, const Descent& at, KnownMinimum known, Sums& sums
) {
    if (at.edm <= FORESEEABLE_WITH_DERIVATIVES) {
        if (at.value - EDM_MARGIN_WITH_DERIVATIVES * at.edm >= known.value - SAME) return true;
        if (awaits<SHARED, false>(plan, codes, state, at, known.value, sums)) return true;
    }
    double height = at.value - known.value;
    bool predicted = fabs(at.value - at.edm - known.value) <= 0.5 * at.edm + SAME;
    bool by_step = at.edm <= RETURNING_EDM && predicted;
    bool by_parabola = !known.starts_near && height > 0.0 && height <= RETURNING_HEIGHT;
    if (!by_step && !by_parabola) return false;
    const double *theta = state[THETA], *direction = state[DIRECTION], *slope = state[SLOPE], *there = state[SNAPSHOT];
    // Squares of the distance, now and after the next step, and the slope times the distance.
    double parts[3] = {0.0, 0.0, 0.0};
    NS_EACH(p, plan.n_params) {
        double width = plan.width[p], scale = fmax(width > 0.0 ? width : fabs(there[p]), CLOSE);
        double away = theta[p] - there[p], from = away / scale, to = from + direction[p] / scale;
        parts[0] = fma(from, from, parts[0]);
        parts[1] = fma(to, to, parts[1]);
        parts[2] = fma(slope[p], away, parts[2]);
    }
    sums.all(parts);
    double here = parts[0], ahead = parts[1], parabola = 2.0 * height;
    return (by_step && ahead <= APPROACH * APPROACH * here) ||
           (by_parabola && fabs(parts[2] - parabola) <= PARABOLA_DIFFERENCE * parabola &&
            PARABOLA_CURVATURE * here <= parabola && ahead <= APPROACH_ON_PARABOLA * APPROACH_ON_PARABOLA * here);
}

// Computes the direction of the next step. If `renew` is true, the metric is inverted again. Returns false if the
// metric is not positive definite, or if bounds still block the step after MOST_PINS attempts. OWN has the same meaning
// as in `factor`.
template <bool SHARED, bool KINKS, bool OWN>
NS_DEVICE bool direct(
    const Plan& plan, Codes codes, const Metric& metric, const State<SHARED>& state, Memory& memory, Descent& at,
    bool renew, Sums& sums
) {
    for (int pin = 0;; pin++) {
        if ((renew || pin > 0) && !factor<SHARED, OWN>(plan, metric, state, sums)) return false;
        before(plan, state, memory, sums);
        solve<SHARED, OWN>(plan, metric, state);
        at.descent = after(plan, state, memory, sums);
        if (KINKS) {
            // A step that meets a bound continues along the bound. A parameter is held only if it is already on a
            // bound and the step would leave it.
            at.length = 1.0;
            if (pin == MOST_PINS) return true;
        } else {
            at.length = reach(plan, state, sums);
            if (!(at.length < SHORTEST_REACH)) return true;
            if (pin == MOST_PINS) return false;
        }
        if (!pin_outward<SHARED, KINKS>(plan, codes, state, sums)) return true;
        memory.used = 0;
    }
}

// Descends from START (all parameters, within bounds) until the fit has converged, or gives up. The end point is in
// THETA. If there is a known minimum, the descent also ends, without a certificate, when it clearly cannot reach a
// lower value. If `probe` is true and the model has kinks, the function only evaluates `-ln L` at START.
//
// With OWN the metric has the derivatives at the point of the fit, which evaluations then compute too. The metric is
// inverted in every iteration.
template <bool SHARED, bool KINKS, bool OWN>
NS_DEVICE Descent descend(
    const Plan& plan, Codes codes, const Metric& metric, const State<SHARED>& state, KnownMinimum known, bool probe, Sums& sums
) {
    Descent at = {infinity(), 0.0, infinity(), infinity(), 1.0, 0.0, 0, 0, 0, true, false, false};
    // Change of `-ln L` to first order in a step that is limited to the bounds.
    double promised = 0.0;
    double* room = state[BLOCK_DATA] + MEMORY_AT;
    Memory memory = {room, room + PAIRS, 0, 0, false};
    barrier();
    NS_EACH(p, plan.n_params) {
        double x = state[START][p];
        state[TRIAL][p] = x;
        state[THETA][p] = x;
        state[HELD][p] = 0.0;
        state[SLOPE][p] = 0.0;
        state[DIRECTION][p] = 0.0;
        if (KINKS) state[SIDE][p] = 0.0;
    }
    barrier();
    for (;;) {
        Value here;
        if constexpr (OWN) {
            here = evaluate_with_derivatives(plan, codes, state, state[TRIAL], sums);
        } else {
            here = evaluate<SHARED, KINKS>(plan, codes, state, state[TRIAL], sums);
        }
        at.evaluations++;
        double value = here.main + here.constraint;
        if (KINKS && probe) {
            at.value = value;
            return at;
        }
        double first_order = KINKS ? promised : at.length * at.descent;
        double bound = at.value + LEAST_DECREASE * first_order + VALUE_ROUNDINGS * EPSILON * at.noise;
        bool good = at.fresh ? isfinite(value) : value <= bound;
        bool usable = here.least > LEAST_PRODUCT;
        if (!good || !usable) {
            at.trials++;
            if (at.fresh || at.trials > MOST_TRIALS || !usable) {
                at.lost = true;
                return at;
            }
            at.length *= SHORTENED;
            if (KINKS) {
                promised = advance_along_edges(plan, codes, state, at.length, sums);
            } else {
                advance(plan, state, at.length);
            }
            continue;
        }
        bool fresh = at.fresh;
        at.fresh = false;
        at.value = value;
        at.noise = here.noise;
        at.trials = 0;
        at.iterations++;
        bool turned = absorb<SHARED, KINKS>(plan, codes, state, fresh, memory, sums);
        if (turned) memory.used = 0;
        at.lost = at.iterations > MOST_ITERATIONS || value < BELOW_SATURATED;
        // An earlier inverse of the metric is used as long as steps reduce the EDM strongly.
        bool renew = OWN || turned || metric.n_dual == 0 || at.iterations <= RENEWED ||
                     at.iterations > HARD || !(at.edm <= KEPT_CONTRACTION * at.last_edm);
        if (!direct<SHARED, KINKS, OWN>(plan, codes, metric, state, memory, at, renew, sums)) at.lost = true;
        at.last_edm = fresh ? infinity() : at.edm;
        at.edm = -0.5 * at.descent;
        if (fresh) {
            memory.corrects = false;
        } else if (at.edm > GOOD_CONTRACTION * at.last_edm) {
            memory.corrects = true;
        }
        if (!(at.edm >= 0.0 && isfinite(at.edm))) at.lost = true;
        if (at.lost) return at;
        bool certain = at.edm <= SURELY * plan.edm_tolerance || fmax(at.edm, at.last_edm) <= plan.edm_tolerance;
        if (certain) {
            at.converged = true;
            return at;
        }
        if constexpr (OWN) {
            if (known.any && returns(plan, codes, state, at, known, sums)) return at;
        } else if (known.any && at.edm <= RECOGNISABLE_UNLESS_NONLINEAR) {
            if (at.edm <= FORESEEABLE && at.value - EDM_MARGIN * at.edm >= known.value - (KINKS ? LOWER_BY : SAME)) return at;
            if (awaits<SHARED, KINKS>(plan, codes, state, at, known.value, sums)) return at;
        }
        if (KINKS) {
            promised = advance_along_edges(plan, codes, state, at.length, sums);
        } else {
            advance(plan, state, at.length);
        }
    }
}

}  // namespace ns
