// Limited memory of the last steps: corrects the metric (Nocedal and Wright, algorithm 7.4).
#pragma once
#include "metric.cuh"

namespace ns {

// Pairs of steps and changes of the slope.
struct Memory {
    // In shared memory: 1 / (s y) of each pair, 0 where it is of no use, and the weights of the first half. Thread 0
    // writes; all read after the next barrier.
    double* inverse;
    double* weight;
    // The slot of the next pair, and how many there are.
    int next, used;
    bool corrects;
};

NS_DEVICE int slot_of(int next, int age) {
    int slot = next + PAIRS - age;
    return slot >= PAIRS ? slot - PAIRS : slot;
}

// FROM: first half of a direction.
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

// DIRECTION from TO: second half. Returns its scalar product with the slope.
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
