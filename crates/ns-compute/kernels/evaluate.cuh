// Evaluation of `-ln L` and its gradient at one point.
#pragma once
#include "correlated.cuh"
#include "functions.cuh"
#include "terms/gaussian/gaussian.cuh"
#include "terms/histosys/histosys.cuh"
#include "terms/normsys/normsys.cuh"
#include "terms/per_bin/per_bin.cuh"
#include "terms/poisson/deviance.cuh"

namespace ns {

// Result of an evaluation, which is the same in all threads. It contains the main part and the constraint part of
// `-ln L` relative to the saturated model, and the sum of the absolute values of all their terms (`noise`). `least`
// is the smallest absolute value of the product of a block's normsys factors. A block of the model is one sample in
// one channel.
struct Value {
    double main, constraint, noise, least;
};

// Computes all normsys factors, sorted by block (FACTOR). Also computes their derivatives divided by the factors,
// sorted by parameter (RATIO).
template <bool SHARED>
NS_DEVICE void terms(const Plan& plan, int code, const State<SHARED>& state, const double* theta) {
    double *factor = state[FACTOR], *ratio = state[RATIO];
#pragma unroll 2
    for (int i = thread(); i < plan.n_terms; i += threads()) {
        const Pair* c = plan.norm_coefficient + i;
        Pair high = c[0], middle = c[plan.n_terms], low = c[2 * plan.n_terms];
        int place = plan.norm_place[i];
        double f, r;
        normsys(plan, code, i, high, middle, low, theta[plan.norm_param[i]], f, r);
        factor[place] = f;
        ratio[i] = r;
    }
}

// Computes the product of the normsys factors of each block (NORM), and this product times the block's scalar factors
// (SCALE). Returns the smallest absolute value of NORM among the blocks that this thread computes.
template <bool SHARED>
NS_DEVICE double block_factors(const Plan& plan, const State<SHARED>& state, const double* theta) {
    const double* factor = state[FACTOR];
    double *norm = state[NORM], *scale = state[SCALE];
    double least = infinity();
    if (plan.n_terms <= 2 * plan.n_blocks) {
        // There are few normsys terms, so one thread computes both products of a block.
        NS_EACH(block, plan.n_blocks) {
            int4 ranges = plan.block[3 * block], lists = plan.block[3 * block + 1];
            double product = 1.0;
#pragma unroll 1
            for (int i = ranges.x; i < ranges.y; i++) product *= factor[i];
            least = fmin(least, fabs(product));
            norm[block] = product;
            scale[block] = factors(plan.factor_param, 0, lists.x, lists.y, -1, -1, theta, product);
        }
        return least;
    }
    NS_EACH_TEAM(block, plan.n_blocks) {
        int4 ranges = plan.block[3 * block], lists = plan.block[3 * block + 1];
        double product = 1.0, scalar = 1.0;
#pragma unroll 1
        for (int k = lists.x + member(); k < lists.y; k += members()) scalar *= theta[plan.factor_param[k]];
        for (int i = ranges.x + member(); i < ranges.y; i += 4 * members()) {
            double f[4];
#pragma unroll
            for (int u = 0; u < 4; u++) {
                int k = i + u * members();
                f[u] = k < ranges.y ? factor[k] : 1.0;
            }
            product *= (f[0] * f[1]) * (f[2] * f[3]);
        }
        product = team_product(product);
        scalar = team_product(scalar);
        least = fmin(least, fabs(product));
        if (member() == 0) {
            norm[block] = product;
            scale[block] = product * scalar;
        }
    }
    return least;
}

// Computes for each cell (a bin of a block) the nominal yield plus the histosys variations (ADDITIVE), and the
// product of the per-bin factors (BINWISE).
template <bool SHARED>
NS_DEVICE void cells(const Plan& plan, const State<SHARED>& state, const double* theta) {
    double *additive = state[ADDITIVE], *product = state[BINWISE];
    const double* curved = state[CURVED];
    NS_EACH(cell, plan.n_cells) {
        int2 range = plan.slice[slice_of(cell)];
        double sum = plan.nominal[cell], curve_sum = 0.0;
        int only = plan.cell_factor[cell];
        // The lists of templates in a slice are padded to multiples of AT_A_TIME.
        for (int i = range.x + place_in_slice(cell); i < range.y; i += AT_A_TIME * WARP) {
            int p[AT_A_TIME];
            Pair shape[AT_A_TIME];
#pragma unroll
            for (int u = 0; u < AT_A_TIME; u++) {
                p[u] = plan.slice_param[i + WARP * u];
                shape[u] = plan.slice_template[i + WARP * u];
            }
#pragma unroll
            for (int u = 0; u < AT_A_TIME; u++) {
                sum = fma(theta[p[u]], shape[u].a, sum);
                curve_sum = fma(curved[p[u]], shape[u].b, curve_sum);
            }
        }
        additive[cell] = sum + curve_sum;
        product[cell] = per_bin(plan, cell, only, theta);
    }
}

// Computes all factors, and all arrays of cells that the expected yields at `theta` are made of. Returns the smallest
// absolute value of NORM among the blocks that this thread computes.
template <bool SHARED>
NS_DEVICE double factors_and_cells(const Plan& plan, Codes codes, const State<SHARED>& state, const double* theta) {
    double* curved = state[CURVED];
    NS_EACH(p, plan.n_params) curved[p] = histosys(codes.histosys, theta[p]).f;
    terms(plan, codes.normsys, state, theta);
    barrier();
    double least = block_factors(plan, state, theta);
    cells(plan, state, theta);
    barrier();
    return least;
}

// If lists are shorter than this number on average, single threads process one list each. Otherwise teams do.
constexpr int SHORT = 4;

// Computes LAMBDA, BIN_SLOPE and WEIGHT of bin `b`, whose expected yield is `lambda`. Adds the bin's Poisson term to
// `main`. Adds the absolute values of this term and of `lambda - n` to `noise`.
template <bool SHARED>
NS_DEVICE void count(const State<SHARED>& state, int b, double lambda, double& main, double& noise) {
    double n = state[MAIN][b];
    double term = poisson_term(lambda, n);
    main += term;
    noise += fabs(term) + fabs(lambda - n);
    state[LAMBDA][b] = lambda;
    state[BIN_SLOPE][b] = poisson_slope(lambda, n);
    // In a bin without counts, a small expected yield must not make the weight large.
    double positive = lambda > 0.0 ? (n > 0.0 ? lambda : fmax(lambda, FEWEST)) : 1.0;
    state[WEIGHT][b] = fmax(n, FEWEST) / (positive * positive);
}

// Computes the expected yields and the Poisson terms of all bins. Adds the terms that this thread computes to `main`,
// and their absolute values to `noise`.
template <bool SHARED>
NS_DEVICE void bins(const Plan& plan, const State<SHARED>& state, double& main, double& noise) {
    const double *additive = state[ADDITIVE], *product = state[BINWISE], *scale = state[SCALE];
    if (plan.n_cells < SHORT * plan.n_bins) {
        NS_EACH(b, plan.n_bins) {
            int2 range = plan.bin[b];
            double lambda = 0.0;
#pragma unroll 2
            for (int i = range.x; i < range.y; i++) {
                int2 at = plan.bin_cell[i];
                lambda = fma(additive[at.x] * scale[at.y], product[at.x], lambda);
            }
            count(state, b, lambda, main, noise);
        }
        return;
    }
    NS_EACH_TEAM(b, plan.n_bins) {
        int2 range = plan.bin[b];
        double lambda = 0.0;
#pragma unroll 2
        for (int i = range.x + member(); i < range.y; i += members()) {
            int2 at = plan.bin_cell[i];
            lambda = fma(additive[at.x] * scale[at.y], product[at.x], lambda);
        }
        lambda = team_sum(lambda);
        if (member() == 0) count(state, b, lambda, main, noise);
    }
}

// Computes the constraint terms, and sets GRADIENT to their derivatives. Adds the terms that this thread computes to
// `constraint`, and their absolute values to `noise`.
template <bool SHARED>
NS_DEVICE void constraints(
    const Plan& plan, const State<SHARED>& state, const double* theta, double& constraint, double& noise
) {
    const double* aux = state[AUX];
    double* gradient = state[GRADIENT];
    NS_EACH(p, plan.n_columns) {
        int2 kind = plan.constraint[p];
        double slope = 0.0, scale = plan.constraint_scale[p];
        if (kind.x == GAUSSIAN) {
            Pair term = gaussian(theta[p], aux[kind.y], scale);
            constraint += term.a;
            noise += term.a;
            slope = term.b;
            if (plan.correlations) {
                Pair more = correlated(*plan.correlations, p, theta, aux);
                constraint += more.a;
                noise += fabs(more.a);
                slope += more.b;
            }
        } else if (kind.x == POISSON) {
            double rate = theta[p] * scale, n = aux[kind.y];
            double term = poisson_term(rate, n);
            constraint += term;
            noise += fabs(term) + fabs(rate - n);
            slope = poisson_slope(rate, n) * scale;
        }
        gradient[p] = slope;
    }
}

// Adds the derivatives of the Poisson terms with respect to each per-bin factor to GRADIENT. Sets REACTION to the
// derivatives of the expected yields with respect to per-bin factors.
template <bool SHARED>
NS_DEVICE void per_bin_gradient(const Plan& plan, const State<SHARED>& state, const double* theta) {
    const double *additive = state[ADDITIVE], *scale = state[SCALE], *slopes = state[BIN_SLOPE];
    double *gradient = state[GRADIENT], *reaction = state[REACTION];
    // If lists are short, single threads process one list each. Otherwise teams do.
    bool alone = plan.n_scaled < SHORT * plan.n_binwise;
    int first = alone ? thread() : team(), stride = alone ? threads() : teams();
    int offset = alone ? 0 : member(), step = alone ? 1 : members();
    for (int i = first; i < plan.n_binwise; i += stride) {
        int4 list = plan.binwise[i];
        double sum = 0.0, reacts = 0.0;
#pragma unroll 2
        for (int k = list.x + offset; k < list.y; k += step) {
            int4 at = plan.binwise_cell[k];
            double other = additive[at.x] * scale[at.y];
            if (at.w >= 0) other *= several(plan, at.x, at.w, theta);
            sum = fma(slopes[at.z], other, sum);
            reacts += other;
        }
        if (!alone) {
            sum = team_sum(sum);
            reacts = team_sum(reacts);
        }
        if (offset == 0) {
            gradient[list.z] += sum;
            reaction[list.z] = reacts;
        }
    }
}

// Computes the derivatives of the Poisson terms with respect to the additive part of each cell (written to BINWISE),
// the logarithm of the factor SCALE of each block (TOTAL), each scalar factor (OTHERS), and each per-bin factor
// (added to GRADIENT). Sets REACTION (see `per_bin_gradient`). With WIDE a team computes a block, otherwise a thread.
template <bool SHARED, bool WIDE>
NS_DEVICE void pull_back(const Plan& plan, const State<SHARED>& state, const double* theta) {
    const double *additive = state[ADDITIVE], *scale = state[SCALE];
    const double *slopes = state[BIN_SLOPE], *norm = state[NORM];
    double *product = state[BINWISE], *total = state[TOTAL], *others = state[OTHERS];
    int own = WIDE ? member() : 0, size = WIDE ? members() : 1;
    for (int block = WIDE ? team() : thread(); block < plan.n_blocks; block += WIDE ? teams() : threads()) {
        int4 ranges = plan.block[3 * block], lists = plan.block[3 * block + 1];
        int bin = plan.block[3 * block + 2].x - ranges.z;
        double sum = 0.0, scaled = scale[block];
#pragma unroll 2
        for (int cell = ranges.z + own; cell < ranges.w; cell += size) {
            double slope = slopes[bin + cell] * product[cell];
            sum = fma(slope, additive[cell], sum);
            product[cell] = slope * scaled;
        }
        if (WIDE) sum = team_sum(sum);
        if (own == 0) total[block] = sum * scaled;
#pragma unroll 1
        for (int k = lists.x + own; k < lists.y; k += size) {
            others[k] = factors(plan.factor_param, 0, lists.x, lists.y, k, k, theta, norm[block]) * sum;
        }
    }
    per_bin_gradient(plan, state, theta);
}

// Returns the interpolation codes without kinks that replace `codes` in a smooth approximation of the model.
NS_DEVICE Codes smooth(Codes codes) {
    return Codes{histosys_smooth(codes.histosys), normsys_smooth(codes.normsys), false};
}

// Returns half the difference of the slopes of `-ln L` on both sides of a parameter's kink. All threads of a team
// compute it together. `curve_sum` is this thread's part of the weighted sum of the curves of the parameter's
// templates. `from` and `to` are the range of the parameter's normsys terms.
template <bool SHARED>
NS_DEVICE double jump(const Plan& plan, Codes codes, const State<SHARED>& state, double curve_sum, int from, int to) {
    double sum = histosys_has_kink(codes.histosys) ? curve_sum : 0.0;
    if (normsys_has_kink(codes.normsys)) {
        for (int t = from + member(); t < to; t += members()) {
            sum = fma(normsys_jump(plan, t), state[TOTAL][plan.norm_block[t]], sum);
        }
    }
    return team_sum(sum);
}

// Adds the derivatives of the Poisson terms with respect to scalar parameters (those of histosys, normsys, normfactor
// and lumi) to GRADIENT. Sets JUMP for parameters at their kink. With WIDE a warp computes a parameter, otherwise a
// team.
template <bool SHARED, bool KINKS, bool WIDE>
NS_DEVICE void scalar_gradient(const Plan& plan, Codes codes, const State<SHARED>& state, const double* theta) {
    const double *weight = state[BINWISE], *total = state[TOTAL], *ratio = state[RATIO];
    const double* others = state[OTHERS];
    double* gradient = state[GRADIENT];
    static_assert(!(WIDE && KINKS), "jumps at kinks are computed by teams");
    using Own = Group<WIDE>;
    for (int i = Own::number(); i < plan.n_reacting; i += Own::count()) {
        int4 ranges = plan.reacting[2 * i], rest = plan.reacting[2 * i + 1];
        double sum = 0.0, curve_sum = 0.0;
        int h = ranges.x + Own::index(), t = ranges.z + Own::index(), f = rest.x + Own::index();
        // Several entries of all three lists are read at the same time, because most of the time is spent waiting for
        // memory.
        for (bool more = true; more; more = t < ranges.w || f < rest.y) {
            double w[4], r[3], s[3];
            Pair shape[4];
#pragma unroll
            for (int u = 0; u < 4; u++) {
                int at = h + u * Own::size();
                bool there = at < ranges.y;
                w[u] = there ? weight[plan.hist_cell[at]] : 0.0;
                shape[u] = there ? plan.hist_template[at] : Pair{0.0, 0.0};
            }
#pragma unroll
            for (int u = 0; u < 3; u++) {
                int at = t + u * Own::size();
                bool there = at < ranges.w;
                r[u] = there ? ratio[at] : 0.0;
                s[u] = there ? total[plan.norm_block[at]] : 0.0;
            }
            if (f < rest.y) sum += others[plan.factor_place[f]];
#pragma unroll
            for (int u = 0; u < 4; u++) {
                sum = fma(w[u], shape[u].a, sum);
                curve_sum = fma(w[u], shape[u].b, curve_sum);
            }
#pragma unroll
            for (int u = 0; u < 3; u++) sum = fma(r[u], s[u], sum);
            h += 4 * Own::size();
            t += 3 * Own::size();
            f += Own::size();
        }
        for (; h < ranges.y; h += 4 * Own::size()) {
            double w[4];
            Pair shape[4];
#pragma unroll
            for (int u = 0; u < 4; u++) {
                int at = h + u * Own::size();
                bool there = at < ranges.y;
                w[u] = there ? weight[plan.hist_cell[at]] : 0.0;
                shape[u] = there ? plan.hist_template[at] : Pair{0.0, 0.0};
            }
#pragma unroll
            for (int u = 0; u < 4; u++) {
                sum = fma(w[u], shape[u].a, sum);
                curve_sum = fma(w[u], shape[u].b, curve_sum);
            }
        }
        double first = histosys(codes.histosys, theta[rest.z]).first;
        if (KINKS && codes.kinks && theta[rest.z] == 0.0) {
            double half = jump(plan, codes, state, curve_sum, ranges.z, ranges.w);
            if (member() == 0) state[JUMP][rest.z] = half;
        }
        sum = Own::sum(fma(curve_sum, first, sum));
        if (Own::index() == 0) gradient[rest.z] += sum;
    }
}

// Evaluates `-ln L` and its gradient at `theta` (in any memory) for the data in MAIN and AUX. Fills GRADIENT, LAMBDA,
// BIN_SLOPE, WEIGHT and REACTION; with KINKS also JUMP. With FUNCTIONS the model may have functions, and `theta` is then TRIAL;
// kernels without them are faster. With WIDE, larger groups of threads share the work if the
// thread block has many warps. The order of sums is then different.
template <bool SHARED, bool KINKS, bool WIDE = false, bool FUNCTIONS = !SHARED && !KINKS && !WIDE, int WARPS>
NS_DEVICE Value evaluate(
    const Plan& plan, Codes codes, const State<SHARED>& state, const double* theta, SumsOf<WARPS>& sums
) {
    if (FUNCTIONS && plan.functions) compute_functions(*plan.functions, plan.n_params, state, Order::FIRST);
    double least = factors_and_cells(plan, codes, state, theta);
    double parts[3] = {0.0, 0.0, 0.0};
    bins(plan, state, parts[0], parts[2]);
    constraints(plan, state, theta, parts[1], parts[2]);
    sums.all(parts);
    bool wide = WIDE && warps() >= MANY_WARPS;
    if (wide) {
        pull_back<SHARED, WIDE>(plan, state, theta);
    } else {
        pull_back<SHARED, false>(plan, state, theta);
    }
    barrier();
    if (wide) {
        scalar_gradient<SHARED, KINKS, WIDE>(plan, codes, state, theta);
    } else {
        scalar_gradient<SHARED, KINKS, false>(plan, codes, state, theta);
    }
    if (FUNCTIONS && plan.functions) {
        barrier();
        pull_functions(*plan.functions, state);
    }
    least = sums.least(least);
    return Value{parts[0], parts[1], parts[2], least};
}

}  // namespace ns
