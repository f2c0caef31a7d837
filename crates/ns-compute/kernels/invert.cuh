// Inverse of a symmetric positive definite matrix by sweeps: no step waits for a substitution.
#pragma once
#include "block.cuh"

namespace ns {

// Replaces `a` (n x n, both triangles) by its inverse; `column` has room for 2 n numbers. False if a pivot is not
// positive. Starts and ends with the block in step.
NS_CALL bool invert(int n, double* a, double* column) {
    barrier();
    NS_EACH(i, n) column[i] = a[i];
    barrier();
    int first_i = thread() / n, first_k = thread() % n, down = threads() / n, right = threads() % n;
    for (int j = 0; j < n; j++) {
        // Column j as it is before this step; the next one is copied as it becomes known.
        const double* c = column + (j & 1) * n;
        double* next = column + (~j & 1) * n;
        double pivot = c[j];
        if (!(pivot > 0.0)) return false;
        double inverse = 1.0 / pivot, sign = j + 1 == n ? -1.0 : 1.0;
        int i = first_i, k = first_k;
        while (i < n) {
            double x;
            if (i == j) {
                x = k == j ? -inverse : c[k] * inverse;
            } else if (k == j) {
                x = c[i] * inverse;
            } else {
                x = fma(-c[i] * inverse, c[k], a[i * n + k]);
            }
            a[i * n + k] = sign * x;
            if (k == j + 1) next[i] = x;
            i += down;
            k += right;
            if (k >= n) {
                k -= n;
                i++;
            }
        }
        barrier();
    }
    return true;
}

}  // namespace ns
