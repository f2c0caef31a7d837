// Correlations between Gaussian constraints: the terms of `-ln L` by which they differ from independent constraints, and the
// auxiliary data of toys (see src/events/correlation.rs and ns-core/src/toys.rs).
#pragma once
#include "plan.cuh"

namespace ns {

// Returns the part of parameter `p` in the value of the terms, and the derivative with respect to `p`.
NS_DEVICE Pair correlated(const Correlations& of, int p, const double* theta, const double* aux) {
    int i = of.place[p];
    if (i < 0) return {0.0, 0.0};
    int4 own = of.member[i];
    const double* excess = of.excess + of.row[i];
    double slope = 0.0;
    for (int j = own.z; j < own.w; j++) {
        int4 other = of.member[j];
        slope = fma(excess[j - own.z], (theta[other.x] - aux[other.y]) * of.weight[j], slope);
    }
    double pull = (theta[p] - aux[own.y]) * of.weight[i];
    return {0.5 * pull * slope, slope * of.weight[i]};
}

// Returns the second derivative of the terms with respect to the parameters `p` and `q`.
NS_DEVICE double correlated_second(const Correlations& of, int p, int q) {
    int i = of.place[p], j = of.place[q];
    if (i < 0 || j < 0 || of.member[i].z != of.member[j].z) return 0.0;
    return of.excess[of.row[i] + j - of.member[i].z] * of.weight[i] * of.weight[j];
}

// Correlates the auxiliary data of a toy that were drawn independently. `aux` contains them. A thread correlates a group. The bits are those of the CPU.
NS_DEVICE void correlate(const Draws& draws, double* aux) {
    const Joint& joint = *draws.joint;
    NS_EACH(g, joint.n) {
        int4 own = joint.group[g];
        int size = own.y - own.x;
        const int* datum = joint.datum + own.x;
        for (int k = 0; k < size; k++) {
            const double* n = draws.sources[joint.n_main + datum[k]].numbers;
            aux[datum[k]] = (aux[datum[k]] - n[0]) / n[1];
        }
        // A pull depends on those before it, so the last one is computed first.
        for (int k = size - 1; k >= 0; k--) {
            const double* lower = joint.lower + own.z + k * size;
            double pull = 0.0;
            for (int j = 0; j <= k; j++) pull = pull + lower[j] * aux[datum[j]];
            const double* n = draws.sources[joint.n_main + datum[k]].numbers;
            aux[datum[k]] = n[0] + n[1] * pull;
        }
    }
    barrier();
}

}  // namespace ns
