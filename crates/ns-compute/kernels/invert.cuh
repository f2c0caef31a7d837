// Inverse of a symmetric positive definite matrix by sweeps, which need no forward or backward substitution.
#pragma once
#include "state.cuh"

namespace ns {

// Replaces `a` (n x n, both triangles) by its inverse. `column` is working memory of 2 n doubles. Returns false if a
// pivot is not positive; `a` is then undefined. The function begins with a barrier. If it succeeds, it also ends with
// a barrier.
NS_DEVICE bool invert_any(int n, double* a, double* column) {
    barrier();
    NS_EACH(i, n) column[i] = a[i];
    barrier();
    for (int j = 0; j < n; j++) {
        // `c` is column j as it was before this step. The new values of column j + 1 are also written to `next`.
        const double* c = column + (j & 1) * n;
        double* next = column + (~j & 1) * n;
        double pivot = c[j];
        if (!(pivot > 0.0)) return false;
        double inverse = reciprocal(pivot), sign = j + 1 == n ? -1.0 : 1.0;
        for (int i = warp(); i < n; i += warps()) {
            double* row = a + i * n;
            double f = c[i] * inverse;
#pragma unroll 1
            for (int k = lane(); k < n; k += lanes()) {
                double x = i == j ? c[k] * inverse : fma(-f, c[k], row[k]);
                if (k == j) x = i == j ? -inverse : f;
                row[k] = sign * x;
                if (k == j + 1) next[i] = x;
            }
        }
        barrier();
    }
    return true;
}

#ifdef NS_MANY_THREADS
// Inverts a matrix of up to 16 R rows with MOST_THREADS threads. Each thread has R x C elements of the matrix in
// registers. `a_at` and `column_at` are the offsets of the matrix and of the working memory, in doubles from the
// start of shared memory. Loops are split so that the compiler knows every index of an array in registers. The
// function is not inlined, so its registers are separate from those of the caller.
template <int R>
NS_CALL bool invert_tiled(int n, uint32_t a_at, uint32_t column_at) {
    constexpr int C = 2 * R, N = 16 * R;
    double *a = ns_shared + a_at, *column = ns_shared + column_at;
    int row = thread() & 15, col = thread() >> 4;
    double x[R][C];
    barrier();
#pragma unroll
    for (int r = 0; r < R; r++) {
#pragma unroll
        for (int c = 0; c < C; c++) {
            int i = row + 16 * r, k = col + 8 * c;
            x[r][c] = i < n && k < n ? a[i * n + k] : 0.0;
        }
        if (col == 0) column[row + 16 * r] = x[r][0];
    }
    barrier();
#pragma unroll
    for (int part = 0; part < C; part++) {
#pragma unroll 1
        for (int jj = 0; jj < 8; jj++) {
            int j = 8 * part + jj;
            if (j >= n) break;
            const double* v = column + (j & 1) * N;
            double* next = column + (~j & 1) * N;
            double pivot = v[j];
            if (!(pivot > 0.0)) return false;
            double inverse = reciprocal(pivot), f[R], g[C];
#pragma unroll
            for (int c = 0; c < C; c++) g[c] = v[col + 8 * c];
#pragma unroll
            for (int r = 0; r < R; r++) f[r] = v[row + 16 * r] * inverse;
#pragma unroll
            for (int r = 0; r < R; r++) {
#pragma unroll
                for (int c = 0; c < C; c++) x[r][c] = fma(-f[r], g[c], x[r][c]);
            }
            // Threads that have elements of row j or column j replace these elements.
            bool own_row = row == (j & 15), own_column = col == jj;
#pragma unroll
            for (int c = 0; c < C; c++) x[part >> 1][c] = own_row ? g[c] * inverse : x[part >> 1][c];
#pragma unroll
            for (int r = 0; r < R; r++) {
                double here = row + 16 * r == j ? -inverse : f[r];
                x[r][part] = own_column ? here : x[r][part];
            }
            if (jj < 7) {
                if (col == jj + 1) {
#pragma unroll
                    for (int r = 0; r < R; r++) next[row + 16 * r] = x[r][part];
                }
            } else if (part + 1 < C && col == 0) {
#pragma unroll
                for (int r = 0; r < R; r++) next[row + 16 * r] = x[r][part + 1 < C ? part + 1 : 0];
            }
            barrier();
        }
    }
#pragma unroll
    for (int r = 0; r < R; r++) {
#pragma unroll
        for (int c = 0; c < C; c++) {
            int i = row + 16 * r, k = col + 8 * c;
            if (i < n && k < n) a[i * n + k] = -x[r][c];
        }
    }
    barrier();
    return true;
}
#endif

// Inverts the matrix at position `at` of the array `a`, in the fastest way for this block. The array `column` must have
// at least LEAST_COLUMNS and at least 2 n doubles.
template <bool SHARED>
NS_DEVICE bool invert(int n, const State<SHARED>& state, Array a, int at, Array column) {
#ifdef NS_MANY_THREADS
    if (SHARED && threads() == MOST_THREADS) {
        if (n <= 16) return invert_tiled<1>(n, state.offset[a] + at, state.offset[column]);
        if (n <= 32) return invert_tiled<2>(n, state.offset[a] + at, state.offset[column]);
        if (n <= MOST_TILED) return invert_tiled<3>(n, state.offset[a] + at, state.offset[column]);
    }
#endif
    return invert_any(n, state[a] + at, state[column]);
}

}  // namespace ns
