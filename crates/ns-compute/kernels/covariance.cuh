// Covariances: inverses of Hessians over the parameters that are free to move. A parameter is not free if it is
// fixed, on a kink, or held by a bound.
//
// A Hessian is scaled to a unit diagonal and inverted in place by symmetric sweeps over TILE columns at a time. Only
// tiles (TILE x TILE elements) of the lower triangle are stored, in shared memory if they fit there. Element `e` of
// tile `t` is at the index `e n_tiles + t`. Neighbouring threads have neighbouring tiles, and thus read neighbouring
// numbers.
#pragma once
#include "hessian.cuh"

namespace ns {

// If `-ln L` would fall beyond a bound by at most this number, it is uncertain whether the bound holds the parameter.
// The CPU then computes the covariance.
constexpr double BARELY = 1e-10;

// Replaces a tile with elements `x[r][c]` by minus its inverse, by sweeps. `least` becomes the smallest pivot of this
// and all earlier tiles, or -1 if a pivot is not positive.
NS_DEVICE void invert_tile(double (&x)[TILE][TILE], double& least) {
#pragma unroll
    for (int k = 0; k < TILE; k++) {
        double pivot = x[k][k];
        if (!(pivot > least)) least = pivot > 0.0 ? pivot : -1.0;
        double inverse = reciprocal(pivot);
#pragma unroll
        for (int r = 0; r < TILE; r++) {
            double f = x[r][k] * inverse;
#pragma unroll
            for (int c = 0; c < TILE; c++) {
                if (r != k && c != k) x[r][c] = fma(-f, x[k][c], x[r][c]);
            }
        }
#pragma unroll
        for (int r = 0; r < TILE; r++) {
            if (r != k) x[r][k] = x[k][r] = x[r][k] * inverse;
        }
        x[k][k] = -inverse;
    }
}

// Arrays of one inversion. All of them are in shared memory, except `matrix` if it is too large.
struct Table {
    // For each row: its scale, the gradient times the scale, and the row's contribution to `g' C g`. Then the columns
    // of a sweep, before (`old`) and after it (`swept`).
    double *scale, *slope, *back, *old, *swept;
    int* row;
    double* matrix;
    // Number of rows of tiles, and number of tiles.
    int side, n_tiles;

    // Returns element (i, j) of the matrix, for j <= i.
    NS_DEVICE double& operator()(int i, int j) const {
        int I = i / TILE, J = j / TILE, e = (i % TILE) * TILE + j % TILE;
        return matrix[(size_t)e * n_tiles + I * (I + 1) / 2 + J];
    }
};

// Replaces the matrix by minus its inverse. Returns the smallest pivot, or -1 if a pivot is not positive. The result
// is the same in all threads.
NS_DEVICE double sweep(const Table& table) {
    int side = table.side, n_tiles = table.n_tiles;
    double* matrix = table.matrix;
    double least = infinity();
    for (int step = 0; step < side; step++) {
        int pivot = step * (step + 1) / 2 + step;
        barrier();
        // Stores the columns of this step twice: unchanged, and multiplied by the inverse of their diagonal tile.
        // Every thread inverts the diagonal tile itself.
        double square[TILE][TILE];
#pragma unroll
        for (int r = 0; r < TILE; r++) {
#pragma unroll
            for (int c = 0; c < TILE; c++) {
                square[r][c] = matrix[(size_t)(r >= c ? r * TILE + c : c * TILE + r) * n_tiles + pivot];
            }
        }
        invert_tile(square, least);
        NS_EACH(i, side * TILE) {
            int I = i / TILE, r = i % TILE;
            double old[TILE];
#pragma unroll
            for (int c = 0; c < TILE; c++) {
                int e = I >= step ? r * TILE + c : c * TILE + r;
                int t = I >= step ? I * (I + 1) / 2 + step : pivot - step + I;
                old[c] = matrix[(size_t)e * n_tiles + t];
            }
#pragma unroll
            for (int c = 0; c < TILE; c++) {
                double sum = 0.0;
#pragma unroll
                for (int k = 0; k < TILE; k++) sum = fma(-old[k], square[k][c], sum);
                table.old[(c * TILE + r) * side + I] = old[c];
                table.swept[(c * TILE + r) * side + I] = sum;
            }
        }
        barrier();
        NS_EACH(t, n_tiles) {
            int I, J;
            of_triangle(t, I, J);
            const double *left = table.swept + I, *right = table.old + J;
            double x[TILE][TILE];
            if (I != step && J != step) {
                double u[TILE], v[TILE];
#pragma unroll
                for (int r = 0; r < TILE; r++) {
#pragma unroll
                    for (int c = 0; c < TILE; c++) x[r][c] = matrix[(size_t)(r * TILE + c) * n_tiles + t];
                }
#pragma unroll
                for (int k = 0; k < TILE; k++) {
#pragma unroll
                    for (int r = 0; r < TILE; r++) {
                        u[r] = left[(k * TILE + r) * side];
                        v[r] = right[(k * TILE + r) * side];
                    }
#pragma unroll
                    for (int r = 0; r < TILE; r++) {
#pragma unroll
                        for (int c = 0; c < TILE; c++) x[r][c] = fma(-u[r], v[c], x[r][c]);
                    }
                }
            } else {
                const double* across = table.swept + J;
#pragma unroll
                for (int r = 0; r < TILE; r++) {
#pragma unroll
                    for (int c = 0; c < TILE; c++) {
                        double off = J == step ? left[(c * TILE + r) * side] : across[(r * TILE + c) * side];
                        x[r][c] = I == J ? square[r][c] : off;
                    }
                }
            }
#pragma unroll
            for (int r = 0; r < TILE; r++) {
#pragma unroll
                for (int c = 0; c < TILE; c++) matrix[(size_t)(r * TILE + c) * n_tiles + t] = x[r][c];
            }
        }
    }
    barrier();
    return least;
}

// Returns the size, in doubles, of the arrays that precede the matrix in shared memory. `n` is the number of
// parameters. src/device/covariance.rs computes the same number.
NS_DEVICE int table_size(int n) {
    int rows = (n + TILE - 1) / TILE * TILE;
    return TABLE_COLUMNS * rows;
}

// Writes results for a matrix without a covariance. Otherwise the host would copy uninitialised memory.
NS_DEVICE void give_up(const CovarianceLaunch& launch, int which) {
    if (thread() == 0) launch.found[which] = Pair{-1.0, 0.0};
    NS_EACH(p, launch.n) {
        launch.variances[(size_t)which * launch.n + p] = 0.0;
        launch.steps[(size_t)which * launch.n + p] = 0.0;
    }
}

NS_DEVICE void covariance_of(const CovarianceLaunch& launch, int which, double* in_global) {
    int n = launch.n, rows = (n + TILE - 1) / TILE * TILE;
    double* room = ns_shared;
    Table table = {room, room + rows, room + 2 * rows, room + 3 * rows, room + (3 + TILE) * rows, nullptr, nullptr, 0, 0};
    table.row = (int*)(room + (3 + 2 * TILE) * rows);
    table.matrix = launch.in_shared ? room + table_size(n) : in_global;
    int* moves = table.row + rows;
    double* hessian = launch.hessians + (size_t)which * n * n;
    const double* gradient = launch.gradients + (size_t)which * n;
    barrier();
    bool usable = launch.usable[which] != 0;
    NS_EACH(p, n) {
        int rests = launch.rests[(size_t)which * n + p];
        bool barely = false;
        if (usable && rests == HELD_BY_BOUND) {
            barely = !(0.5 * gradient[p] * gradient[p] > BARELY * hessian[(size_t)p * n + p]);
        }
        moves[p] = barely ? -n : rests == MOVES_FREELY ? 1 : 0;
    }
    barrier();
    int size = 0;
#pragma unroll 4
    for (int p = 0; p < n; p++) size += moves[p];
    if (!usable || size <= 0) {
        give_up(launch, which);
        return;
    }
    NS_EACH(p, n) {
        int place = 0;
#pragma unroll 4
        for (int q = 0; q < p; q++) place += moves[q];
        if (moves[p]) {
            double curvature = hessian[(size_t)p * n + p];
            double scale = curvature > 0.0 ? 1.0 / sqrt(curvature) : -1.0;
            table.row[place] = p;
            table.scale[place] = scale;
            table.slope[place] = scale * gradient[p];
        }
    }
    barrier();
    double positive = infinity();
#pragma unroll 4
    for (int i = 0; i < size; i++) positive = fmin(positive, table.scale[i]);
    if (!(positive > 0.0)) {
        give_up(launch, which);
        return;
    }
    table.side = (size + TILE - 1) / TILE;
    table.n_tiles = table.side * (table.side + 1) / 2;
    NS_EACH(t, table.n_tiles) {
        int I, J;
        of_triangle(t, I, J);
        for (int e = 0; e < TILE * TILE; e++) {
            int i = TILE * I + e / TILE, j = TILE * J + e % TILE;
            double x = i == j ? 1.0 : 0.0;
            if (i != j && i < size && j < size) {
                x = hessian[(size_t)table.row[i] * n + table.row[j]] * table.scale[i] * table.scale[j];
            }
            table.matrix[(size_t)e * table.n_tiles + t] = x;
        }
    }
    double least = sweep(table);
    // g' C g / 2 is summed over rows in a fixed order.
    double* steps = launch.steps + (size_t)which * n;
    NS_EACH(p, n) {
        if (moves[p] != 1) steps[p] = 0.0;
    }
    NS_EACH(i, size) {
        double sum = 0.0;
#pragma unroll 2
        for (int j = 0; j < size; j++) {
            sum = fma(j <= i ? -table(i, j) : -table(j, i), table.slope[j], sum);
        }
        steps[table.row[i]] = -sum * table.scale[i];
        table.back[i] = sum * table.slope[i];
    }
    double* variances = launch.variances + (size_t)which * n;
    NS_EACH(p, n) variances[p] = 0.0;
    if (launch.wanted) {
        NS_EACH(at, n * n) hessian[at] = 0.0;
    }
    barrier();
    if (warp() == 0) {
        double sum = 0.0;
        for (int i = lane(); i < size; i += lanes()) {
            sum += table.back[i];
            // The values 1 / C_ii do not depend on the order of the parameters, unlike the pivots. No pivot is
            // smaller than the smallest of these values.
            least = fmin(least, -1.0 / table(i, i));
        }
        sum = warp_sum(sum);
        least = warp_min(least);
        if (lane() == 0) launch.found[which] = Pair{least, 0.5 * sum};
    }
    NS_EACH(i, size) variances[table.row[i]] = -table(i, i) * (table.scale[i] * table.scale[i]);
    if (!launch.wanted) return;
    for (int i = warp(); i < size; i += warps()) {
        for (int j = lane(); j <= i; j += lanes()) {
            double x = -table(i, j) * (table.scale[i] * table.scale[j]);
            size_t p = table.row[i], q = table.row[j];
            hessian[p * n + q] = x;
            hessian[q * n + p] = x;
        }
    }
}

NS_DEVICE void covariance_block(const CovarianceLaunch& launch, int block, int blocks) {
    double* in_global = launch.slab + (size_t)block * launch.slab_stride;
    for (int which = block; which < launch.n_matrices; which += blocks) covariance_of(launch, which, in_global);
}

}  // namespace ns
