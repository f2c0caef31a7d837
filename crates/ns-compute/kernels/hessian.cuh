// Exact Hessian of `-ln L` at one point. It is computed after an evaluation at this point.
//
// A block of the model is one sample in one channel, and a cell is one bin of a block. The expected yield of a cell
// is `A S G`. `A` is its additive part. `S = N F` is the product of the normsys factors `N` and the scalar factors
// `F` of its block. `G` is the product of its per-bin factors. Let `lambda` be the expected yields of the bins, `r`
// and `c` the first and second derivatives of their Poisson terms, and `J` the Jacobian of `lambda`. The Hessian is
// the sum of three parts: `J' c J`, the second derivatives of the constraints, and the second derivatives of the
// cells' yields weighted by `r`.
//
// The third part is computed block by block for pairs of scalar parameters (those that act on all bins of a sample),
// from arrays of blocks x parameters. The elements of a per-bin factor are computed from its few cells. As in the
// gradient, nothing is divided by a factor, except by normsys factors.
//
// One thread block computes the Hessian at a point, in phases with barriers in between. Within a phase, one thread or
// team computes an element.
#pragma once
#include "descend.cuh"

namespace ns {

struct Extras {
    const EvaluateLaunch& launch;
    double* slab;

    NS_DEVICE double* operator[](Extra which) const { return slab + launch.extra[(int)which]; }
    NS_DEVICE int* whole(Extra which) const { return (int*)(slab + launch.extra[(int)which]); }
};

// Computes the row and the column of element `at` of a lower triangle that is stored row by row.
NS_DEVICE void of_triangle(int at, int& row, int& column) {
    row = (int)((sqrtf(8.0f * (float)at + 1.0f) - 1.0f) * 0.5f);
    while ((int64_t)row * (row + 1) / 2 > at) row--;
    while ((int64_t)(row + 1) * (row + 2) / 2 <= at) row++;
    column = at - (int)((int64_t)row * (row + 1) / 2);
}

// Adds `weight dA/dp` of a cell to `row`, for all parameters `p` of the cell's templates. The index in `row` is
// `rank[p]`, or `p` if `rank` is null. All threads of a team work on one row, cell after cell.
NS_DEVICE void spread(
    const Plan& plan, const double* first, int cell, double weight, const int* rank, double* row
) {
    int2 range = plan.slice[slice_of(cell)];
#pragma unroll 2
    for (int i = range.x + place_in_slice(cell) + WARP * member(); i < range.y; i += WARP * members()) {
        Pair shape = plan.slice_template[i];
        // This entry is padding of the slice.
        if (shape.a == 0.0 && shape.b == 0.0) continue;
        int p = plan.slice_param[i];
        double* to = row + (rank ? rank[p] : p);
        *to = fma(weight, fma(first[p], shape.b, shape.a), *to);
    }
    team_barrier();
}

// Fills the arrays `Extra` (see structures.cuh) from the evaluation at the point `theta`.
NS_DEVICE void expand(const EvaluateLaunch& launch, const State<false>& state, const Extras& extra, const double* theta) {
    const Plan& plan = launch.plan;
    int n = plan.n_columns, width = plan.n_reacting;
    double *first = extra[Extra::FIRST], *second = extra[Extra::SECOND], *product = extra[Extra::PRODUCT];
    double *bare = extra[Extra::BARE], *left = extra[Extra::LEFT], *curvature = extra[Extra::CURVATURE];
    double *ratios = extra[Extra::RATIOS], *rates = extra[Extra::RATES], *tilts = extra[Extra::TILTS];
    double* jacobian = extra[Extra::JACOBIAN];
    const double *additive = state[ADDITIVE], *scale = state[SCALE], *slopes = state[BIN_SLOPE];
    int *rank = extra.whole(Extra::RANK), *owner = extra.whole(Extra::OWNER);
    NS_EACH(p, n) {
        Curved curved = histosys(plan.histosys, theta[p]);
        first[p] = curved.first;
        second[p] = curved.second;
        rank[p] = width + p;
    }
    NS_EACH(b, plan.n_bins) {
        double count = state[MAIN][b], lambda = state[LAMBDA][b];
        curvature[b] = count > 0.0 ? count / lambda / lambda : 0.0;
    }
    NS_EACH(cell, plan.n_cells) {
        product[cell] = per_bin(plan, cell, plan.cell_factor[cell], theta);
    }
    NS_EACH(i, plan.n_blocks * width) ratios[i] = rates[i] = tilts[i] = 0.0;
    NS_EACH(i, plan.n_bins * launch.row) jacobian[i] = 0.0;
    barrier();
    NS_EACH(a, width) rank[plan.reacting[2 * a + 1].z] = a;
    NS_EACH(block, plan.n_blocks) {
        int4 ranges = plan.block[3 * block], lists = plan.block[3 * block + 1];
        int bin = plan.block[3 * block + 2].x - ranges.z;
        double sum = 0.0;
#pragma unroll 2
        for (int cell = ranges.z; cell < ranges.w; cell++) {
            sum = fma(slopes[bin + cell] * product[cell], additive[cell], sum);
        }
        bare[block] = sum;
#pragma unroll 1
        for (int k = lists.x; k < lists.y; k++) {
            left[k] = factors(plan.factor_param, 0, lists.x, lists.y, k, k, theta, state[NORM][block]);
            owner[k] = block;
        }
    }
    NS_EACH_TEAM(a, width) {
        int4 ranges = plan.reacting[2 * a];
        for (int t = ranges.z + member(); t < ranges.w; t += members()) {
            int block = plan.norm_block[t];
            double ratio = state[RATIO][t];
            ratios[block * width + a] = ratio;
            rates[block * width + a] = scale[block] * ratio;
        }
    }
    barrier();
    NS_EACH(k, plan.n_factors) rates[owner[k] * width + rank[plan.factor_param[k]]] += left[k];
    NS_EACH_TEAM(block, plan.n_blocks) {
        int4 ranges = plan.block[3 * block];
        int bin = plan.block[3 * block + 2].x - ranges.z;
        for (int cell = ranges.z; cell < ranges.w; cell++) {
            spread(plan, first, cell, slopes[bin + cell] * product[cell], rank, tilts + block * width);
        }
    }
    barrier();
    // The Jacobian: first the parts of scalar factors and normsys factors, then those of templates, and then those of
    // per-bin factors.
    NS_EACH(i, plan.n_bins * width) {
        int b = i / width, a = i - b * width;
        int2 range = plan.bin[b];
        double sum = 0.0;
#pragma unroll 4
        for (int k = range.x; k < range.y; k++) {
            int2 at = plan.bin_cell[k];
            sum = fma(additive[at.x] * product[at.x], rates[at.y * width + a], sum);
        }
        jacobian[b * launch.row + plan.reacting[2 * a + 1].z] = sum;
    }
    barrier();
    NS_EACH_TEAM(b, plan.n_bins) {
        int2 range = plan.bin[b];
        for (int k = range.x; k < range.y; k++) {
            int2 at = plan.bin_cell[k];
            spread(plan, first, at.x, scale[at.y] * product[at.x], nullptr, jacobian + b * launch.row);
        }
    }
    NS_EACH(i, plan.n_binwise) {
        int4 list = plan.binwise[i];
#pragma unroll 2
        for (int k = list.x; k < list.y; k++) {
            int4 at = plan.binwise_cell[k];
            double other = per_bin_slope(plan, at, theta);
            double* to = jacobian + at.z * launch.row + list.z;
            *to = fma(additive[at.x] * scale[at.y], other, *to);
        }
    }
    barrier();
}

// Sets both triangles of `h` to `J' c J` plus the second derivatives of the constraints.
NS_DEVICE void products(const EvaluateLaunch& launch, const State<false>& state, const Extras& extra, const double* theta, double* h) {
    const Plan& plan = launch.plan;
    const double *jacobian = extra[Extra::JACOBIAN], *curvature = extra[Extra::CURVATURE];
    int n = plan.n_columns, row = launch.row, tiles = row / TILE;
    NS_EACH(at, tiles * (tiles + 1) / 2) {
        int i, j;
        of_triangle(at, i, j);
        double sum[TILE][TILE];
#pragma unroll
        for (int r = 0; r < TILE; r++) {
#pragma unroll
            for (int c = 0; c < TILE; c++) sum[r][c] = 0.0;
        }
        const Pair* left = (const Pair*)(jacobian + TILE * i);
        const Pair* right = (const Pair*)(jacobian + TILE * j);
#pragma unroll 2
        for (int b = 0; b < plan.n_bins; b++) {
            Pair low = left[0], high = left[1], x = right[0], y = right[1];
            double weight = curvature[b];
            double u[TILE] = {weight * low.a, weight * low.b, weight * high.a, weight * high.b};
            double v[TILE] = {x.a, x.b, y.a, y.b};
#pragma unroll
            for (int r = 0; r < TILE; r++) {
#pragma unroll
                for (int c = 0; c < TILE; c++) sum[r][c] = fma(u[r], v[c], sum[r][c]);
            }
            left += row / 2;
            right += row / 2;
        }
#pragma unroll
        for (int r = 0; r < TILE; r++) {
#pragma unroll
            for (int c = 0; c < TILE; c++) {
                int p = TILE * i + r, q = TILE * j + c;
                if (p >= n || q > p) continue;
                double x = sum[r][c];
                if (p == q) {
                    int2 kind = plan.constraint[p];
                    double of = plan.constraint_scale[p], count = kind.x == POISSON ? state[AUX][kind.y] : 0.0;
                    if (kind.x == GAUSSIAN) x = gaussian_add_second(of, x);
                    if (count > 0.0) x += count / theta[p] / theta[p];
                }
                if (plan.correlations) x += correlated_second(*plan.correlations, p, q);
                h[(size_t)p * n + q] = x;
                h[(size_t)q * n + p] = x;
            }
        }
    }
    barrier();
}

// Returns the second derivative of the cells' yields, weighted by `r` and summed, with respect to two scalar
// parameters. `a` and `b` are the ranks of the parameters, with `b <= a`. The second derivatives of single histosys
// and normsys terms are left out; `add_second_derivatives` adds them.
NS_DEVICE double of_scalars(const Plan& plan, const State<false>& state, const Extras& extra, const double* theta, int a, int b) {
    const double *ratios = extra[Extra::RATIOS], *rates = extra[Extra::RATES], *tilts = extra[Extra::TILTS];
    const double *bare = extra[Extra::BARE], *left = extra[Extra::LEFT], *scale = state[SCALE], *ratio = state[RATIO];
    const int* owner = extra.whole(Extra::OWNER);
    int width = plan.n_reacting;
    int4 ranges = plan.reacting[2 * a], rest = plan.reacting[2 * a + 1];
    int other = plan.reacting[2 * b + 1].z;
    double sum = 0.0;
#pragma unroll 4
    for (int t = ranges.z; t < ranges.w; t++) {
        int block = plan.norm_block[t], at = block * width + b;
        sum = fma(ratio[t], fma(scale[block], tilts[at], bare[block] * rates[at]), sum);
    }
    if (ranges.x < ranges.y) {
#pragma unroll 4
        for (int block = 0; block < plan.n_blocks; block++) {
            sum = fma(tilts[block * width + a], rates[block * width + b], sum);
        }
    }
#pragma unroll 1
    for (int i = rest.x; i < rest.y; i++) {
        int k = plan.factor_place[i], block = owner[k], at = block * width + b;
        sum = fma(left[k], fma(bare[block], ratios[at], tilts[at]), sum);
        int4 lists = plan.block[3 * block + 1];
#pragma unroll 1
        for (int g = lists.x; g < lists.y; g++) {
            if (g == k || plan.factor_param[g] != other) continue;
            double both = factors(plan.factor_param, 0, lists.x, lists.y, k, g, theta, 1.0);
            sum = fma(bare[block] * state[NORM][block], both, sum);
        }
    }
    return sum;
}

// Adds the second derivatives of the cells' yields, weighted by `r`, to `h`. At first only the elements (p, q) are
// complete in which p has the higher rank. At the end they are copied to (q, p).
NS_DEVICE void add_second_derivatives(const EvaluateLaunch& launch, const State<false>& state, const Extras& extra, const double* theta, double* h) {
    const Plan& plan = launch.plan;
    const double *additive = state[ADDITIVE], *scale = state[SCALE], *slopes = state[BIN_SLOPE];
    const double *first = extra[Extra::FIRST], *second = extra[Extra::SECOND], *rates = extra[Extra::RATES];
    const int* rank = extra.whole(Extra::RANK);
    int n = plan.n_columns, width = plan.n_reacting;
    NS_EACH(at, width * (width + 1) / 2) {
        int a, b;
        of_triangle(at, a, b);
        int p = plan.reacting[2 * a + 1].z, q = plan.reacting[2 * b + 1].z;
        h[(size_t)p * n + q] += of_scalars(plan, state, extra, theta, a, b);
    }
    // All pairs of a per-bin factor and a scalar parameter that scales its cells.
    NS_EACH(i, plan.n_binwise * width) {
        int at = i / width, a = i - at * width;
        int4 list = plan.binwise[at];
        double sum = 0.0;
#pragma unroll 2
        for (int k = list.x; k < list.y; k++) {
            int4 cell = plan.binwise_cell[k];
            double other = per_bin_slope(plan, cell, theta);
            sum = fma(slopes[cell.z] * other * additive[cell.x], rates[cell.y * width + a], sum);
        }
        h[(size_t)list.z * n + plan.reacting[2 * a + 1].z] += sum;
    }
    barrier();
    // All pairs of a per-bin factor and a template, and all pairs of two per-bin factors of the same cell.
    NS_EACH_TEAM(i, plan.n_binwise) {
        int4 list = plan.binwise[i];
        double* row = h + (size_t)list.z * n;
        for (int k = list.x; k < list.y; k++) {
            int4 cell = plan.binwise_cell[k];
            double other = per_bin_slope(plan, cell, theta);
            spread(plan, first, cell.x, slopes[cell.z] * other * scale[cell.y], nullptr, row);
            if (cell.w < 0 || member() != 0) continue;
            int4 lists = plan.block[3 * cell.y + 1];
            int b = cell.x - plan.block[3 * cell.y].z;
#pragma unroll 1
            for (int g = lists.z; g < lists.w; g++) {
                int q = plan.binwise_first[g] + b;
                if (g == cell.w || q >= list.z) continue;
                double both = factors(plan.binwise_first, b, lists.z, lists.w, g, cell.w, theta, 1.0);
                row[q] += slopes[cell.z] * additive[cell.x] * scale[cell.y] * both;
            }
        }
    }
    // Second derivatives of single histosys and normsys terms.
    NS_EACH_TEAM(a, width) {
        int4 ranges = plan.reacting[2 * a];
        int p = plan.reacting[2 * a + 1].z;
        double curved = 0.0, sum = 0.0;
        for (int k = ranges.x + member(); k < ranges.y; k += members()) {
            curved = fma(state[BINWISE][plan.hist_cell[k]], plan.hist_template[k].b, curved);
        }
        for (int t = ranges.z + member(); t < ranges.w; t += members()) {
            double factor = state[FACTOR][plan.norm_place[t]], ratio = state[RATIO][t];
            double more = normsys_second_derivative(plan, plan.normsys, t, theta[p], factor, ratio);
            sum = fma(more, state[TOTAL][plan.norm_block[t]], sum);
        }
        sum = team_sum(fma(second[p], curved, sum));
        if (member() == 0) h[(size_t)p * n + p] += sum;
    }
    barrier();
    for (int p = warp(); p < n; p += warps()) {
        for (int q = lane(); q < p; q += lanes()) {
            double *here = h + (size_t)p * n + q, *there = h + (size_t)q * n + p;
            if (rank[p] > rank[q]) {
                *there = *here;
            } else {
                *here = *there;
            }
        }
    }
}

// Computes the Hessian at point number `point`. `value` is the result of the evaluation at this point.
NS_DEVICE void hessian(const EvaluateLaunch& launch, const State<false>& state, const Value& value, int point) {
    bool usable = isfinite(value.main + value.constraint) && value.least > LEAST_PRODUCT;
    if (thread() == 0) launch.usable[point] = usable ? 1 : 0;
    int n = launch.plan.n_params;
    double* h = launch.hessians + (size_t)point * n * n;
    if (!usable) {
        // The host copies the memory of all Hessians together, so this memory must be initialised.
        NS_EACH(at, n * n) h[at] = 0.0;
        return;
    }
    Extras extra = {launch, state.slab};
    const double* theta = state[TRIAL];
    bool functions = launch.plan.functions != nullptr;
    double* whole = functions ? extra[Extra::WHOLE] : h;
    expand(launch, state, extra, theta);
    products(launch, state, extra, theta, whole);
    add_second_derivatives(launch, state, extra, theta, whole);
    if (!functions) return;
    barrier();
    compute_functions(*launch.plan.functions, launch.plan.n_params, state, Order::SECOND);
    pull_hessian(launch.plan, state, whole, h);
    barrier();
}

}  // namespace ns
