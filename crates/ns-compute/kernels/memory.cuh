// L-BFGS: corrects the inverse metric by the last steps and the changes of the slope along them (Nocedal and Wright,
// algorithm 7.4).
#pragma once
#include "metric.cuh"

namespace ns {

// State of the stored pairs. A pair consists of a step `s` and the change of the slope `y` along it. `corrects` says
// whether the pairs are used.
struct Memory {
    // `inverse` contains 1 / (s y) of each pair, and 0 for pairs that are not used. `weight` contains the weight of
    // each pair from the first loop. Both arrays are in shared memory. Thread 0 writes them, and all threads read
    // them after the next barrier.
    double* inverse;
    double* weight;
    // Index at which the next pair is stored, and number of stored pairs.
    int next, used;
    bool corrects;
};

NS_DEVICE int slot_of(int next, int age) {
    int slot = next + PAIRS - age;
    return slot >= PAIRS ? slot - PAIRS : slot;
}

// First loop of the algorithm: sets FROM to minus SLOPE, corrected by the pairs from the newest to the oldest. The
// caller applies the inverse metric to FROM next.
template <bool SHARED>
NS_DEVICE void before(const Plan& plan, const State<SHARED>& state, Memory& memory, Sums& sums) {
    double *from = state[FROM], *to = state[TO];
    const double* slope = state[SLOPE];
    NS_EACH(p, plan.n_params) {
        from[p] = -slope[p];
        to[p] = 0.0;
    }
    if (!memory.corrects) return;
    for (int age = 1; age <= memory.used; age++) {
        int slot = slot_of(memory.next, age);
        if (memory.inverse[slot] == 0.0) continue;
        const double *step = state[STEPS] + slot * plan.n_params, *change = state[CHANGES] + slot * plan.n_params;
        double sum = 0.0;
        NS_EACH(p, plan.n_params) {
            sum = fma(step[p], from[p], sum);
        }
        double weight = sums.one(sum) * memory.inverse[slot];
        if (thread() == 0) memory.weight[slot] = weight;
        NS_EACH(p, plan.n_params) {
            from[p] = fma(-weight, change[p], from[p]);
        }
    }
}

// Second loop of the algorithm: computes DIRECTION from TO, with the pairs from the oldest to the newest. TO is the
// product of the inverse metric and FROM. Returns the scalar product of DIRECTION and SLOPE.
template <bool SHARED>
NS_DEVICE double after(const Plan& plan, const State<SHARED>& state, Memory& memory, Sums& sums) {
    double *to = state[TO], *direction = state[DIRECTION];
    const double *slope = state[SLOPE], *held = state[HELD];
    for (int age = memory.used; memory.corrects && age >= 1; age--) {
        int slot = slot_of(memory.next, age);
        if (memory.inverse[slot] == 0.0) continue;
        const double *step = state[STEPS] + slot * plan.n_params, *change = state[CHANGES] + slot * plan.n_params;
        double sum = 0.0;
        NS_EACH(p, plan.n_params) {
            sum = fma(change[p], to[p], sum);
        }
        double weight = memory.weight[slot] - sums.one(sum) * memory.inverse[slot];
        NS_EACH(p, plan.n_params) {
            to[p] = fma(weight, step[p], to[p]);
        }
    }
    double descent = 0.0;
    NS_EACH(p, plan.n_params) {
        direction[p] = held[p] != 0.0 ? 0.0 : to[p];
        descent = fma(slope[p], direction[p], descent);
    }
    return sums.one(descent);
}

}  // namespace ns
