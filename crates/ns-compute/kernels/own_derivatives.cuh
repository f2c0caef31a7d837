// Derivatives of the expected yields at the point of each fit. The metric of strongly nonlinear models uses them (see
// lanes/derivatives.rs).
#pragma once
#include "evaluate.cuh"

namespace ns {

// Returns the length of a row of the array DERIVATIVES. A row has one element per parameter and column, and there is
// one row per bin. The length is odd, so that elements of the same column are in different banks of shared memory.
NS_DEVICE int row_length(const Plan& plan) { return plan.n_columns | 1; }

// Sets DERIVATIVES and BENDS to 0. Evaluations later write only the elements of parameters that act on a bin.
template <bool SHARED>
NS_DEVICE void clear_derivatives(const Plan& plan, const State<SHARED>& state) {
    NS_EACH(i, plan.n_bins * row_length(plan)) state[DERIVATIVES][i] = 0.0;
    NS_EACH(p, plan.n_columns) state[BENDS][p] = 0.0;
    barrier();
}

// Computes for each cell (a bin of a block) the product of all factors (CELL_SCALE) and the expected yield (YIELD). For
// each block, computes the sum over its bins of the expected yield times the derivative of the Poisson term with respect
// to it (TOTAL). For each scalar factor, computes the product of the other scalar factors and the normsys factors of its
// block (OTHERS).
template <bool SHARED>
NS_DEVICE void scale_cells(const Plan& plan, const State<SHARED>& state, const double* theta) {
    const double *additive = state[ADDITIVE], *product = state[BINWISE], *scale = state[SCALE];
    const double *slopes = state[BIN_SLOPE], *norm = state[NORM];
    double *cell_scale = state[CELL_SCALE], *yields = state[YIELD], *total = state[TOTAL], *others = state[OTHERS];
    NS_EACH(block, plan.n_blocks) {
        int4 ranges = plan.block[3 * block], lists = plan.block[3 * block + 1];
        int bin = plan.block[3 * block + 2].x - ranges.z;
        double sum = 0.0, scaled = scale[block];
#pragma unroll 2
        for (int cell = ranges.z; cell < ranges.w; cell++) {
            double all = product[cell] * scaled, yield = additive[cell] * all;
            cell_scale[cell] = all;
            yields[cell] = yield;
            sum = fma(slopes[bin + cell], yield, sum);
        }
        total[block] = sum;
#pragma unroll 1
        for (int k = lists.x; k < lists.y; k++) {
            others[k] = factors(plan.factor_param, 0, lists.x, lists.y, k, k, theta, norm[block]);
        }
    }
}

// Returns this thread's part of the contribution of a parameter's normsys terms to the second derivative of the Poisson
// terms. The contribution is the sum over the terms of `f'' / f` times the element of TOTAL for the term's block. `f` is
// the normsys factor and `f''` its second derivative. `from` and `to` are the range of the parameter's terms.
template <bool SHARED>
NS_DEVICE double bends_of(
    const Plan& plan, const Effects& effects, int code, const State<SHARED>& state, double alpha, int from, int to
) {
    const double* total = state[TOTAL];
    if (effects.norm_bend) {
        // Sums over the terms of the coefficients of 1, alpha and alpha^2 in the approximation of `f'' / f`.
        double constant = 0.0, linear = 0.0, square = 0.0;
#pragma unroll 2
        for (int t = from + member(); t < to; t += members()) {
            const double* bend = effects.norm_bend + t;
            double a = bend[0], b = bend[plan.n_terms], c = bend[2 * plan.n_terms], weight = total[plan.norm_block[t]];
            constant = fma(weight, a, constant);
            linear = fma(weight, b, linear);
            square = fma(weight, c, square);
        }
        double near = fmin(fmax(alpha, -1.0), 1.0);
        return fma(fma(square, near, linear), near, constant);
    }
    double sum = 0.0;
#pragma unroll 1
    for (int t = from + member(); t < to; t += members()) {
        double ratio = state[RATIO][t], factor = state[FACTOR][plan.norm_place[t]];
        double second = normsys_second_derivative(plan, code, t, alpha, factor, ratio);
        sum = fma(total[plan.norm_block[t]], fma(ratio, ratio, second), sum);
    }
    return sum;
}

// Computes DERIVATIVES and BENDS. A row of DERIVATIVES contains the derivatives of one expected yield with respect to all
// parameters. BENDS contains, for each parameter, the part of the second derivative of `-ln L` that comes from the
// second derivatives of the expected yields. Adds the derivatives of the Poisson terms with respect to scalar parameters
// to GRADIENT.
template <bool SHARED>
NS_DEVICE void differentiate_yields(const Plan& plan, Codes codes, const State<SHARED>& state, const double* theta) {
    const Effects& effects = *plan.effects;
    const double *cell_scale = state[CELL_SCALE], *yields = state[YIELD], *ratio = state[RATIO];
    const double* slopes = state[BIN_SLOPE];
    double *rows = state[DERIVATIVES], *bends = state[BENDS], *gradient = state[GRADIENT];
    const int4* parts = effects.part;
    int row = row_length(plan);
    for (int i = team(); i < effects.n_params; i += teams()) {
        int4 head = effects.param[2 * i];
        int2 terms = {effects.param[2 * i + 1].x, effects.param[2 * i + 1].y};
        double alpha = theta[head.z], sum = 0.0, curve_sum = 0.0;
        Curved curved = histosys(codes.histosys, alpha);
        for (int part = head.x; part < head.y; part++) {
            int4 ranges = parts[2 * part], rest = parts[2 * part + 1];
            for (int own = member(); own < TEAM; own += members()) {
                int bin = effects.bin[part * TEAM + own];
                if (bin < 0) continue;
                double slope_of = slopes[bin], derivative = 0.0, curve = 0.0;
#pragma unroll 2
                for (int k = ranges.x + own; k < ranges.y; k += EFFECTS_AT_A_TIME * TEAM) {
                    int cell[EFFECTS_AT_A_TIME];
                    Pair shape[EFFECTS_AT_A_TIME];
#pragma unroll
                    for (int u = 0; u < EFFECTS_AT_A_TIME; u++) {
                        cell[u] = effects.cell[k + u * TEAM];
                        shape[u] = effects.shape[k + u * TEAM];
                    }
#pragma unroll
                    for (int u = 0; u < EFFECTS_AT_A_TIME; u++) {
                        double weight = cell_scale[cell[u]];
                        derivative = fma(weight, shape[u].a, derivative);
                        curve = fma(weight, shape[u].b, curve);
                    }
                }
                derivative = fma(curved.first, curve, derivative);
#pragma unroll 2
                for (int k = ranges.z + own; k < ranges.w; k += EFFECTS_AT_A_TIME * TEAM) {
                    int2 at[EFFECTS_AT_A_TIME];
#pragma unroll
                    for (int u = 0; u < EFFECTS_AT_A_TIME; u++) at[u] = effects.norm[k + u * TEAM];
#pragma unroll
                    for (int u = 0; u < EFFECTS_AT_A_TIME; u++) {
                        if (at[u].x >= 0) derivative = fma(ratio[at[u].x], yields[at[u].y], derivative);
                    }
                }
                double of_factors = 0.0, of_per_bin = 0.0;
#pragma unroll 1
                for (int k = rest.x + own; k < rest.y; k += TEAM) {
                    int4 at = effects.factor[k];
                    if (at.x < 0) continue;
                    double additive = state[ADDITIVE][at.x];
                    if (at.z >= 0) {
                        of_factors = fma(state[OTHERS][at.z], additive * state[BINWISE][at.x], of_factors);
                    } else {
                        double other = additive * state[SCALE][at.y];
                        if (at.w >= 0) other *= several(plan, at.x, at.w, theta);
                        of_per_bin += other;
                    }
                }
                derivative += of_factors;
                // `per_bin_gradient` adds the contribution of per-bin factors to the gradient.
                sum = fma(slope_of, derivative, sum);
                curve_sum = fma(slope_of, curve, curve_sum);
                rows[bin * row + head.z] = derivative + of_per_bin;
            }
        }
        double bend = fma(curved.second, curve_sum, bends_of(plan, effects, codes.normsys, state, alpha, terms.x, terms.y));
        sum = team_sum(sum);
        bend = team_sum(bend);
        if (member() == 0) {
            gradient[head.z] += sum;
            bends[head.z] = bend;
        }
    }
}

// Evaluates `-ln L` and its gradient at `theta` as `evaluate` does, for a model without kinks. Also fills DERIVATIVES and
// BENDS.
template <bool SHARED>
NS_DEVICE Value evaluate_with_derivatives(
    const Plan& plan, Codes codes, const State<SHARED>& state, const double* theta, Sums& sums
) {
    if (plan.functions) compute_functions(*plan.functions, plan.n_params, state, Order::BENDS);
    double least = factors_and_cells(plan, codes, state, theta);
    double parts[3] = {0.0, 0.0, 0.0};
    bins(plan, state, parts[0], parts[2]);
    constraints(plan, state, theta, parts[1], parts[2]);
    sums.all(parts);
    scale_cells(plan, state, theta);
    per_bin_gradient(plan, state, theta);
    barrier();
    differentiate_yields(plan, codes, state, theta);
    if (plan.functions) {
        barrier();
        pull_functions(*plan.functions, state);
        pull_own_derivatives(*plan.functions, state, plan.n_bins, row_length(plan));
    }
    least = sums.least(least);
    return Value{parts[0], parts[1], parts[2], least};
}

}  // namespace ns
