// The Gauss-Newton metric of one fit: its inversion at the current point, and the product of the inverse with
// a vector. lanes/metric.rs describes the method and defines the symbols.
#pragma once
#include "invert.cuh"
#include "own_derivatives.cuh"

namespace ns {

// A group of bins. Its dual parameters act on no other bins. `kernel` and `rows` are the positions of its matrices in
// `Metric::kernel` (and in MATRIX) and in `Metric::dual_rows` (and in `dual_columns`).
struct BinGroup {
    int bin, bin_end, dual, dual_end, kernel, rows;
    NS_DEVICE int bins() const { return bin_end - bin; }
};

NS_DEVICE BinGroup group_of(const Metric& metric, int index) {
    int4 at = metric.group[index], next = metric.group[index + 1];
    return BinGroup{at.x, next.x, at.y, next.y, at.z, at.w};
}

// Computes `to[b] = sum_r rows[r][b] x[r]`, plus `start[b]` if `start` is not null. The work is distributed over the
// threads both by `b` and by `r`.
template <bool SHARED>
NS_DEVICE void combine(
    const State<SHARED>& state, int n_bins, int n_rows, const double* rows, const double* x, const double* start,
    double* to
) {
    double* room = state[PARTS];
    int parts = threads() / n_bins;
    if (parts <= 1) {
        NS_EACH(b, n_bins) {
            double sum = start ? start[b] : 0.0;
#pragma unroll 2
            for (int r = 0; r < n_rows; r++) sum = fma(rows[r * n_bins + b], x[r], sum);
            to[b] = sum;
        }
        barrier();
        return;
    }
    int part = thread() / n_bins, b = thread() % n_bins;
    if (part < parts) {
        double sum[4] = {0.0, 0.0, 0.0, 0.0};
        const double* row = rows + part * n_bins + b;
        int r = part, stride = parts * n_bins;
        for (; r + 3 * parts < n_rows; r += 4 * parts) {
            double y[4];
#pragma unroll
            for (int u = 0; u < 4; u++) y[u] = row[u * stride];
#pragma unroll
            for (int u = 0; u < 4; u++) sum[u] = fma(y[u], x[r + u * parts], sum[u]);
            row += 4 * stride;
        }
#pragma unroll
        for (int u = 0; u < 3; u++) {
            if (r + u * parts < n_rows) sum[u] = fma(row[u * stride], x[r + u * parts], sum[u]);
        }
        room[thread()] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
    barrier();
    if (part == 0) {
        double sum = start ? start[b] : 0.0;
#pragma unroll 2
        for (int q = 0; q < parts; q++) sum += room[q * n_bins + b];
        to[b] = sum;
    }
    barrier();
}

// Returns the scalar product of `row` and `x`. All threads of a team compute it together.
NS_DEVICE double team_dot(int n, const double* row, const double* x) {
    double sum = 0.0;
#pragma unroll 4
    for (int b = member(); b < n; b += members()) sum = fma(row[b], x[b], sum);
    return team_sum(sum);
}

// Computes the matrix `J D^-1 J'` over the bins with the derivatives `J` at the point of the fit, and replaces it by
// `1 + W^(1/2) (J D^-1 J' + B) W^(1/2)`. ROOT contains the square roots of the weights `W`, BINS the diagonal of
// `1 + W B`, and DUAL the elements of `D^-1`.
template <bool SHARED>
NS_DEVICE void fill_own(const Plan& plan, const Metric& metric, const State<SHARED>& state) {
    const double *rows = state[DERIVATIVES], *dual = state[DUAL], *root = state[ROOT], *diagonal = state[BINS];
    double* matrix = state[MATRIX];
    int n = plan.n_bins, row = row_length(plan);
    // A team computes four neighbouring elements of a row of the lower triangle.
    constexpr int N = 4;
    int per_row = (n + N - 1) / N;
    NS_EACH_TEAM(place, n * per_row) {
        int i = place / per_row, first = N * (place % per_row);
        if (first > i) continue;
        double sum[N] = {0.0, 0.0, 0.0, 0.0};
        const double *own = rows + i * row, *other[N];
#pragma unroll
        for (int u = 0; u < N; u++) other[u] = rows + (first + u < n ? first + u : first) * row;
#pragma unroll 2
        for (int d = member(); d < metric.n_dual; d += members()) {
            int p = metric.dual_param[d];
            double x = own[p] * dual[d];
#pragma unroll
            for (int u = 0; u < N; u++) sum[u] = fma(x, other[u][p], sum[u]);
        }
#pragma unroll
        for (int u = 0; u < N; u++) {
            double x = team_sum(sum[u]);
            int k = first + u;
            if (k > i || member() != u % members()) continue;
            x *= root[i] * root[k];
            matrix[i * n + k] = i == k ? x + diagonal[i] : x;
            matrix[k * n + i] = i == k ? x + diagonal[i] : x;
        }
    }
}

// Inverts the metric at the point of the last evaluation, over the parameters that are not held. With OWN the metric has
// the derivatives at this point (lanes/own_metric.rs), otherwise those that all fits share. Metrics with OWN have a single
// group of bins. Returns false if the metric is not positive definite.
template <bool SHARED, bool OWN>
NS_DEVICE bool factor(const Plan& plan, const Metric& metric, const State<SHARED>& state, Sums& sums) {
    const double *held = state[HELD], *theta = state[THETA], *aux = state[AUX], *weight = state[WEIGHT];
    const double* reaction = state[REACTION];
    double *root = state[ROOT], *local = state[LOCAL], *reacts = state[LOCAL_REACTION], *matrix = state[MATRIX];
    double* diagonal = state[BINS];
    int n = plan.n_bins;
    NS_EACH(b, n) {
        double sum = 0.0;
#pragma unroll 1
        for (int i = metric.local_start[b]; i < metric.local_start[b + 1]; i++) {
            int p = metric.local_param[i], count = metric.local_count[i];
            double inverse = 1.0 / metric.local_stiffness[i];
            if (count >= 0) inverse = theta[p] * theta[p] / fmax(aux[count], FEWEST);
            if (held[p] != 0.0) inverse = 0.0;
            double r = metric.local_factor[i] ? reaction[p] : metric.local_reaction[i];
            local[i] = inverse;
            reacts[i] = r;
            sum = fma(r * r, inverse, sum);
        }
        diagonal[b] = fma(weight[b], sum, 1.0);
        root[b] = sqrt(weight[b]);
        if (metric.n_dual == 0) matrix[b] = 1.0 / diagonal[b];
    }
    double* dual = state[DUAL];
    double n_held = 0.0;
    NS_EACH(i, metric.n_dual) {
        int p = metric.dual_param[i];
        bool holds = held[p] != 0.0;
        double inverse = metric.dual_inverse[i];
        if (OWN) inverse = 1.0 / fmax(1.0 / inverse + state[BENDS][p], LEAST_STIFFNESS / inverse);
        dual[i] = holds ? 0.0 : inverse;
        n_held += holds ? 1.0 : 0.0;
    }
    if (!OWN) n_held = sums.one(n_held);
    barrier();
    if (OWN && metric.n_dual > 0) {
        fill_own(plan, metric, state);
        if (!invert(n, state, MATRIX, 0, COLUMN)) return false;
    } else if (!OWN && metric.n_dual > 0) {
        for (int g = 0; g < metric.n_groups; g++) {
            BinGroup group = group_of(metric, g);
            int n_of = group.bins();
            double* own = matrix + group.kernel;
            const double *kernel = metric.kernel + group.kernel, *root_of = root + group.bin;
            NS_EACH_TEAM(i, n_of) {
#pragma unroll 2
                for (int k = member(); k < n_of; k += members()) {
                    double x = kernel[i * n_of + k] * (root_of[i] * root_of[k]);
                    own[i * n_of + k] = i == k ? x + diagonal[group.bin + i] : x;
                }
            }
            // `metric.kernel` is a sum over all dual parameters, so the contributions of held parameters are
            // subtracted. All threads loop over the same few parameters.
            for (int d = group.dual; n_held > 0.0 && d < group.dual_end; d++) {
                if (dual[d] != 0.0) continue;
                n_held -= 1.0;
                const double* row = metric.dual_rows + group.rows + (d - group.dual) * n_of;
                NS_EACH_TEAM(i, n_of) {
                    double taken = -metric.dual_inverse[d] * row[i] * root_of[i];
#pragma unroll 1
                    for (int k = member(); k < n_of; k += members()) {
                        own[i * n_of + k] = fma(taken, row[k] * root_of[k], own[i * n_of + k]);
                    }
                }
            }
            if (!invert(n_of, state, MATRIX, group.kernel, COLUMN)) return false;
        }
    }
    int inner = metric.n_primal;
    if (inner == 0) return true;
    double *moves = state[MOVES], *columns = state[COLUMNS], *k_matrix = state[INNER];
    NS_EACH(u, inner) moves[u] = held[metric.primal_param[u]] != 0.0 ? 0.0 : 1.0;
    // For the primal parameters, SCALED becomes W^(1/2) J, and COLUMNS becomes M^-1 W^(1/2) J.
    double* scaled = state[SCALED];
    NS_EACH(place, inner * n) {
        int u = place / n, b = place % n;
        int p = metric.primal_param[u];
        double moving = held[p] != 0.0 ? 0.0 : root[b];
        scaled[place] = moving * (OWN ? state[DERIVATIVES][b * row_length(plan) + p] : metric.primal_rows[place]);
    }
    barrier();
    for (int g = 0; g < metric.n_groups; g++) {
        BinGroup group = group_of(metric, g);
        int n_of = group.bins();
        NS_EACH(place, inner * n_of) {
            int u = place / n_of, b = place % n_of;
            const double* row = scaled + u * n + group.bin;
            double sum[2] = {0.0, 0.0};
            if (metric.n_dual == 0) {
                sum[0] = matrix[group.bin + b] * row[b];
            } else {
                const double* from = matrix + group.kernel + b;
                int k = 0;
                for (; k + 1 < n_of; k += 2, from += 2 * n_of) {
                    sum[0] = fma(from[0], row[k], sum[0]);
                    sum[1] = fma(from[n_of], row[k + 1], sum[1]);
                }
                if (k < n_of) sum[0] = fma(from[0], row[k], sum[0]);
            }
            columns[u * n + group.bin + b] = sum[0] + sum[1];
        }
    }
    barrier();
    NS_EACH_TEAM(place, inner * inner) {
        int u = place / inner, v = place % inner;
        double sum = team_dot(n, scaled + u * n, columns + v * n);
        if (u == v) {
            double stiffness = metric.primal_stiffness[u];
            if (OWN && metric.primal_bends[u]) stiffness += fmax(state[BENDS][metric.primal_param[u]], 0.0);
            sum = moves[u] != 0.0 ? sum + stiffness : 1.0;
        } else if (metric.primal_coupling) {
            sum = fma(moves[u] * moves[v], metric.primal_coupling[place], sum);
        }
        if (member() == 0) k_matrix[place] = sum;
    }
    return invert_any(inner, k_matrix, state[COLUMN]);
}

// Subtracts `D^-1 J' x` from the elements of TO that belong to dual parameters. `D` contains their curvatures, `J` the
// derivatives of the expected yields at the point of the fit, and `x` is the vector BINS_TO.
template <bool SHARED>
NS_DEVICE void move_back_own(const Plan& plan, const Metric& metric, const State<SHARED>& state) {
    const double *dual = state[DUAL], *back = state[BINS_TO];
    double* to = state[TO];
    int n = plan.n_bins, row = row_length(plan);
    NS_EACH(i, metric.n_dual) {
        int p = metric.dual_param[i];
        const double* column = state[DERIVATIVES] + p;
        double sum[2] = {0.0, 0.0};
        int b = 0;
        for (; b + 1 < n; b += 2, column += 2 * row) {
            sum[0] = fma(column[0], back[b], sum[0]);
            sum[1] = fma(column[row], back[b + 1], sum[1]);
        }
        if (b < n) sum[0] = fma(column[0], back[b], sum[0]);
        to[p] -= (sum[0] + sum[1]) * dual[i];
    }
}

// Does the same as `move_back_own` with the derivatives that all fits share.
template <bool SHARED>
NS_DEVICE void move_back(const Metric& metric, const State<SHARED>& state) {
    const double *dual = state[DUAL], *back = state[BINS_TO];
    double* to = state[TO];
    // The transpose of `dual_rows` is used here, because neighbouring threads then read neighbouring numbers.
    for (int g = 0; g < metric.n_groups; g++) {
        BinGroup group = group_of(metric, g);
        int stride = group.dual_end - group.dual, n_of = group.bins();
        const double* seen = back + group.bin;
        NS_EACH(i, stride) {
            const double* column = metric.dual_columns + group.rows + i;
            double sum[4] = {0.0, 0.0, 0.0, 0.0};
            int b = 0;
            for (; b + 3 < n_of; b += 4) {
                double y[4];
#pragma unroll
                for (int u = 0; u < 4; u++) y[u] = column[u * stride];
#pragma unroll
                for (int u = 0; u < 4; u++) sum[u] = fma(y[u], seen[b + u], sum[u]);
                column += 4 * stride;
            }
            for (; b < n_of; b++) {
                sum[0] = fma(*column, seen[b], sum[0]);
                column += stride;
            }
            int d = group.dual + i;
            to[metric.dual_param[d]] -= ((sum[0] + sum[1]) + (sum[2] + sum[3])) * dual[d];
        }
    }
}

// Sets TO to the product of the inverse metric and FROM. TO is 0 for parameters that are fixed or held. OWN has the same
// meaning as in `factor`.
template <bool SHARED, bool OWN>
NS_DEVICE void solve(const Plan& plan, const Metric& metric, const State<SHARED>& state) {
    const double *from = state[FROM], *root = state[ROOT], *matrix = state[MATRIX];
    const double *local = state[LOCAL], *reacts = state[LOCAL_REACTION], *dual = state[DUAL];
    double *to = state[TO], *bins = state[BINS], *back = state[BINS_TO], *right = state[RIGHT];
    double* y = state[COLUMN];
    int n = plan.n_bins, inner = metric.n_primal;
    barrier();
    NS_EACH(b, n) {
        double sum = 0.0;
#pragma unroll 1
        for (int i = metric.local_start[b]; i < metric.local_start[b + 1]; i++) {
            double step = from[metric.local_param[i]] * local[i];
            to[metric.local_param[i]] = step;
            sum = fma(reacts[i], step, sum);
        }
        bins[b] = sum;
    }
    NS_EACH(i, metric.n_dual) {
        int p = metric.dual_param[i];
        y[i] = from[p] * dual[i];
        to[p] = y[i];
    }
    barrier();
    if (OWN && metric.n_dual > 0) {
        NS_EACH_TEAM(b, n) {
            const double* row = state[DERIVATIVES] + b * row_length(plan);
            double sum = 0.0;
#pragma unroll 2
            for (int i = member(); i < metric.n_dual; i += members()) {
                sum = fma(row[metric.dual_param[i]], y[i], sum);
            }
            sum = team_sum(sum);
            if (member() == 0) bins[b] = (bins[b] + sum) * root[b];
        }
        barrier();
        combine(state, n, n, matrix, bins, nullptr, back);
    } else if (!OWN && metric.n_dual > 0) {
        for (int g = 0; g < metric.n_groups; g++) {
            BinGroup group = group_of(metric, g);
            double* of = bins + group.bin;
            int n_dual = group.dual_end - group.dual;
            combine(state, group.bins(), n_dual, metric.dual_rows + group.rows, y + group.dual, of, of);
        }
        NS_EACH(b, n) bins[b] *= root[b];
        barrier();
        for (int g = 0; g < metric.n_groups; g++) {
            BinGroup group = group_of(metric, g);
            int n_of = group.bins();
            combine(state, n_of, n_of, matrix + group.kernel, bins + group.bin, nullptr, back + group.bin);
        }
    } else {
        NS_EACH(b, n) {
            bins[b] *= root[b];
            back[b] = bins[b] * matrix[b];
        }
        barrier();
    }
    if (inner > 0) {
        NS_EACH_TEAM(u, inner) {
            double sum = team_dot(n, state[COLUMNS] + u * n, bins);
            if (member() == 0) right[u] = (from[metric.primal_param[u]] - sum) * state[MOVES][u];
        }
        barrier();
        NS_EACH(u, inner) {
            double sum = 0.0;
#pragma unroll 1
            for (int v = 0; v < inner; v++) sum = fma(state[INNER][u * inner + v], right[v], sum);
            y[u] = sum;
            to[metric.primal_param[u]] = sum;
        }
        barrier();
        combine(state, n, inner, state[COLUMNS], y, back, back);
    }
    NS_EACH(b, n) {
        double seen = back[b] * root[b];
        back[b] = seen;
#pragma unroll 1
        for (int i = metric.local_start[b]; i < metric.local_start[b + 1]; i++) {
            to[metric.local_param[i]] -= reacts[i] * (seen * local[i]);
        }
    }
    barrier();
    if constexpr (OWN) {
        move_back_own(plan, metric, state);
    } else {
        move_back(metric, state);
    }
    barrier();
}

}  // namespace ns
