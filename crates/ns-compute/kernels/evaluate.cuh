// Value and gradient at one point.
#pragma once
#include "interpolate.cuh"
#include "state.cuh"

namespace ns {

// Counts below this are taken for this many in the metric (see lanes/metric.rs).
constexpr double FEWEST = 0.25;

// `lambda - n ln(lambda) - (n - n ln n)` without cancellation (see src/simd/deviance.rs).
NS_DEVICE double deviance(double lambda, double n) {
    double z = (lambda - n) / n, x = lambda / n;
    uint64_t shifted = bits(x) + (0x3ff0000000000000ull - 0x3fe6a09e667f3bcdull);
    double k = (double)((int)(shifted >> 52) - 1023);
    double m = from_bits((shifted & 0x000fffffffffffffull) + 0x3fe6a09e667f3bcdull);
    double f = k == 0.0 ? z : m - 1.0;
    double s = f / (2.0 + f), s2 = s * s;
    double r = 1.479819860511658591e-1;
    r = fma(r, s2, 1.531383769920937332e-1);
    r = fma(r, s2, 1.818357216161805012e-1);
    r = fma(r, s2, 2.222219843214978396e-1);
    r = fma(r, s2, 2.857142874366239149e-1);
    r = fma(r, s2, 3.999999999940941908e-1);
    r = fma(r, s2, 6.666666666666735130e-1);
    double half = 0.5 * f * f;
    double tail = s * fma(r, s2, half);
    double near = half - tail;
    double far = z - fma(k, 6.93147180369123816490e-1, f - (near - k * 1.90821492927058770002e-10));
    return n * (k == 0.0 ? near : far);
}

// Poisson term from its saturated value, infinite where it is impossible.
NS_DEVICE double poisson_term(double lambda, double n) {
    if (!(n > 0.0)) return lambda;
    return lambda > 0.0 ? deviance(lambda, n) : infinity();
}

// Product of the scalar factors of a block, without that at `leave_out`.
NS_DEVICE double factors(const Plan& plan, int block, int leave_out, const double* theta, double product) {
    for (int k = plan.block_factor[block]; k < plan.block_factor[block + 1]; k++) {
        if (k != leave_out) product *= theta[plan.factor_param[k]];
    }
    return product;
}

// Product of the per-bin factors of a cell, without that at `leave_out`.
NS_DEVICE double binwise(const Plan& plan, int cell, int leave_out, const double* theta) {
    int only = plan.cell_factor[cell];
    if (only >= -1) return only < 0 || leave_out >= 0 ? 1.0 : theta[only];
    int block = plan.cell_block[cell], b = cell - plan.block_cell[block];
    double product = 1.0;
    for (int k = plan.block_binwise[block]; k < plan.block_binwise[block + 1]; k++) {
        if (k != leave_out) product *= theta[plan.binwise_first[k] + b];
    }
    return product;
}

// What an evaluation finds, the same in all threads.
struct Value {
    double main, constraint, noise, least;
};

// normsys factors and their relative derivatives, term by term (FACTOR, RATIO).
template <bool NEAR>
NS_DEVICE void terms(const Plan& plan, const State<NEAR>& state, const double* theta) {
    double *factor = state[FACTOR], *ratio = state[RATIO];
#pragma unroll 2
    NS_EACH(i, plan.n_terms) {
        double f, r;
        normsys(plan, i, theta[plan.norm_param[i]], f, r);
        factor[i] = f;
        ratio[i] = r;
    }
}

// Products of the normsys factors of blocks (NORM), with scalar factors (SCALE). Returns the least of this thread's.
template <bool NEAR>
NS_DEVICE double block_factors(const Plan& plan, const State<NEAR>& state, const double* theta) {
    const double* factor = state[FACTOR];
    double *norm = state[NORM], *scale = state[SCALE];
    double least = infinity();
    NS_EACH_TEAM(block, plan.n_blocks) {
        double product = 1.0;
        int end = plan.block_norm[block + 1];
        for (int i = plan.block_norm[block] + member(); i < end; i += 4 * members()) {
            double f[4];
#pragma unroll
            for (int u = 0; u < 4; u++) {
                int k = i + u * members();
                f[u] = k < end ? factor[plan.norm_of_block[k]] : 1.0;
            }
            product *= (f[0] * f[1]) * (f[2] * f[3]);
        }
        product = team_product(product);
        least = fmin(least, fabs(product));
        if (member() == 0) {
            norm[block] = product;
            scale[block] = factors(plan, block, -1, theta, product);
        }
    }
    return least;
}

// Nominal plus additive variations, and products of per-bin factors, of all cells.
template <bool NEAR>
NS_DEVICE void cells(const Plan& plan, const State<NEAR>& state, const double* theta) {
    double *additive = state[ADDITIVE], *product = state[BINWISE];
    const double* curved = state[CURVED];
    NS_EACH(place, 32 * plan.n_slices) {
        int cell = plan.slice_cell[place];
        if (cell < 0) continue;
        int slice = place >> 5, lane = place & 31;
        double sum = plan.nominal[cell], bent = 0.0;
        int end = plan.slice_start[slice + 1];
        // Slices are filled up to a multiple of four.
        for (int i = plan.slice_start[slice] + lane; i < end; i += 4 * 32) {
            int p[4];
            Pair shape[4];
#pragma unroll
            for (int u = 0; u < 4; u++) {
                p[u] = plan.slice_param[i + 32 * u];
                shape[u] = plan.slice_template[i + 32 * u];
            }
#pragma unroll
            for (int u = 0; u < 4; u++) {
                sum = fma(theta[p[u]], shape[u].a, sum);
                bent = fma(curved[p[u]], shape[u].b, bent);
            }
        }
        additive[cell] = sum + bent;
        product[cell] = binwise(plan, cell, -1, theta);
    }
}

// Expected yields and Poisson terms of the main bins; adds this thread's part to `main` and `noise`.
template <bool NEAR>
NS_DEVICE void bins(const Plan& plan, const State<NEAR>& state, double& main, double& noise) {
    const double *additive = state[ADDITIVE], *product = state[BINWISE], *scale = state[SCALE];
    const double* counts = state[MAIN];
    double *lambdas = state[LAMBDA], *slopes = state[BIN_SLOPE], *weights = state[WEIGHT];
    NS_EACH_TEAM(b, plan.n_bins) {
        double lambda = 0.0;
        int end = plan.bin_start[b + 1];
        for (int i = plan.bin_start[b] + member(); i < end; i += members()) {
            int cell = plan.bin_cell[i];
            lambda = fma(additive[cell] * scale[plan.cell_block[cell]], product[cell], lambda);
        }
        lambda = team_sum(lambda);
        if (member() == 0) {
            double n = counts[b];
            double term = poisson_term(lambda, n);
            main += term;
            noise += fabs(term) + fabs(lambda - n);
            lambdas[b] = lambda;
            slopes[b] = n > 0.0 ? (lambda - n) / lambda : 1.0;
            double positive = lambda > 0.0 ? lambda : 1.0;
            weights[b] = fmax(n, FEWEST) / (positive * positive);
        }
    }
}

// Constraint terms: sets GRADIENT to their slopes; adds this thread's part to `constraint` and `noise`.
template <bool NEAR>
NS_DEVICE void constraints(
    const Plan& plan, const State<NEAR>& state, const double* theta, double& constraint, double& noise
) {
    const double* aux = state[AUX];
    double* gradient = state[GRADIENT];
    NS_EACH(p, plan.n_params) {
        double slope = 0.0, scale = plan.constraint_scale[p];
        if (plan.constraint[p] == 1) {
            double pull = (theta[p] - aux[plan.constraint_aux[p]]) * scale;
            double term = 0.5 * pull * pull;
            constraint += term;
            noise += term;
            slope = pull * scale;
        } else if (plan.constraint[p] == 2) {
            double rate = theta[p] * scale, n = aux[plan.constraint_aux[p]];
            double term = poisson_term(rate, n);
            constraint += term;
            noise += fabs(term) + fabs(rate - n);
            slope = n > 0.0 ? (rate - n) / rate * scale : scale;
        }
        gradient[p] = slope;
    }
}

// What the bins' slopes mean for cells (CELL_WEIGHT), blocks (TOTAL), their scalar factors (OTHERS) and per-bin
// factors (GRADIENT, REACTION).
template <bool NEAR>
NS_DEVICE void pull_back(const Plan& plan, const State<NEAR>& state, const double* theta) {
    const double *additive = state[ADDITIVE], *product = state[BINWISE], *scale = state[SCALE];
    const double* slopes = state[BIN_SLOPE];
    double *weight = state[CELL_WEIGHT], *total = state[TOTAL], *others = state[OTHERS];
    const double* norm = state[NORM];
    double *gradient = state[GRADIENT], *reaction = state[REACTION];
    NS_EACH(block, plan.n_blocks) {
        double sum = 0.0, scaled = scale[block];
        for (int cell = plan.block_cell[block]; cell < plan.block_cell[block + 1]; cell++) {
            double slope = slopes[plan.cell_bin[cell]] * product[cell];
            sum = fma(slope, additive[cell], sum);
            weight[cell] = slope * scaled;
        }
        total[block] = sum * scaled;
        for (int k = plan.block_factor[block]; k < plan.block_factor[block + 1]; k++) {
            others[k] = factors(plan, block, k, theta, norm[block]) * sum;
        }
    }
    NS_EACH(i, plan.n_binwise) {
        double sum = 0.0, reacts = 0.0;
        for (int k = plan.binwise_start[i]; k < plan.binwise_start[i + 1]; k++) {
            int cell = plan.binwise_cell[k];
            double others = additive[cell] * scale[plan.cell_block[cell]];
            others *= binwise(plan, cell, plan.binwise_place[k], theta);
            sum = fma(slopes[plan.cell_bin[cell]], others, sum);
            reacts += others;
        }
        int p = plan.binwise_param[i];
        gradient[p] += sum;
        reaction[p] = reacts;
    }
}

// Gradient by scalar parameters: histosys, normsys, normfactor and lumi.
template <bool NEAR>
NS_DEVICE void scalar_gradient(const Plan& plan, const State<NEAR>& state) {
    const double *weight = state[CELL_WEIGHT], *total = state[TOTAL], *ratio = state[RATIO];
    const double *others = state[OTHERS], *first = state[CURVED_FIRST];
    double* gradient = state[GRADIENT];
    NS_EACH_TEAM(i, plan.n_reacting) {
        double sum = 0.0, bent = 0.0;
        int end = plan.reacting_hist[i + 1];
        for (int k = plan.reacting_hist[i] + member(); k < end; k += 4 * members()) {
            double w[4];
            Pair shape[4];
#pragma unroll
            for (int u = 0; u < 4; u++) {
                int at = k + u * members();
                bool there = at < end;
                w[u] = there ? weight[plan.hist_cell[at]] : 0.0;
                shape[u] = there ? plan.hist_template[at] : Pair{0.0, 0.0};
            }
#pragma unroll
            for (int u = 0; u < 4; u++) {
                sum = fma(w[u], shape[u].a, sum);
                bent = fma(w[u], shape[u].b, bent);
            }
        }
        int p = plan.reacting_param[i];
        sum = fma(bent, first[p], sum);
        int2 range = plan.reacting_norm[i];
        for (int k = range.x + member(); k < range.y; k += 4 * members()) {
            double r[4], t[4];
#pragma unroll
            for (int u = 0; u < 4; u++) {
                int at = k + u * members();
                bool there = at < range.y;
                r[u] = there ? ratio[at] : 0.0;
                t[u] = there ? total[plan.norm_block[at]] : 0.0;
            }
#pragma unroll
            for (int u = 0; u < 4; u++) sum = fma(r[u], t[u], sum);
        }
        end = plan.reacting_factor[i + 1];
        for (int k = plan.reacting_factor[i] + member(); k < end; k += members()) {
            sum += others[plan.factor_place[k]];
        }
        sum = team_sum(sum);
        if (member() == 0) gradient[p] += sum;
    }
}

// Evaluates at `theta` (any memory) for the data in MAIN and AUX; fills GRADIENT, LAMBDA, WEIGHT, REACTION.
template <bool NEAR>
NS_DEVICE Value evaluate(const Plan& plan, const State<NEAR>& state, const double* theta, Sums& sums) {
    double *curved = state[CURVED], *first = state[CURVED_FIRST];
    NS_EACH(p, plan.n_params) histosys(plan.histosys, theta[p], curved[p], first[p]);
    terms(plan, state, theta);
    barrier();
    double least = block_factors(plan, state, theta);
    cells(plan, state, theta);
    barrier();
    double parts[3] = {0.0, 0.0, 0.0};
    bins(plan, state, parts[0], parts[2]);
    constraints(plan, state, theta, parts[1], parts[2]);
    sums.all(parts);
    pull_back(plan, state, theta);
    barrier();
    scalar_gradient(plan, state);
    least = sums.least(least);
    return Value{parts[0], parts[1], parts[2], least};
}

}  // namespace ns
