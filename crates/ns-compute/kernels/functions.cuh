// Factors that are functions of parameters.
//
// The values of functions are further parameters of an evaluation, the columns. They are computed before it, and the chain rule
// follows it. Functions that many blocks share are computed once. A thread computes a function, operation by operation.
#pragma once
#include "event_functions.cuh"
#include "state.cuh"

namespace ns {

// Derivatives of functions that are computed: the first; also the second with respect to single parameters; also those with
// respect to pairs.
enum class Order { FIRST, BENDS, SECOND };

// Writes those components of results that are the same at all points. All others that no operation writes are 0.
template <bool SHARED>
NS_CALL void clear_functions(const Functions& of, State<SHARED> state) {
    double* room = state[FUNCTIONS];
    NS_EACH(i, of.n_components) room[i] = 0.0;
    barrier();
    NS_EACH(i, of.n_fixed) room[of.fixed_place[i]] = of.fixed_number[i];
    barrier();
}

// Computes one function at the parameters `theta`.
NS_CALL void run_function(const Functions& of, double* room, int function, const double* theta, Order order) {
    int4 ranges = of.function[function];
    for (int i = ranges.z; i < ranges.w; i++) room[of.variable[i].x] = theta[of.variable[i].y];
    for (int i = ranges.x; i < ranges.y; i++) {
        const FunctionStep& step = of.step[i];
        double* to = room + step.to;
        int end = step.second[order == Order::FIRST ? 0 : order == Order::BENDS ? 1 : 2];
        Differentiated by = {
            of.single + step.first[0], of.single + step.first[1], of.pair + step.second[0], of.pair + end
        };
        auto component = [=](int operand, int c) { return room[operand + c]; };
        apply((EventCode)step.code, step.number, step.operands, step.n_variables, by, component, [=](int c) -> double& {
            return to[c];
        });
    }
}

// Computes all functions at the `n_params` parameters in TRIAL, and sets the columns behind them.
template <bool SHARED>
NS_CALL void compute_functions(const Functions& of, int n_params, State<SHARED> state, Order order) {
    double *room = state[FUNCTIONS], *theta = state[TRIAL];
    NS_EACH(i, of.n_functions) run_function(of, room, i, theta, order);
    barrier();
    NS_EACH(i, of.n_columns) theta[n_params + i] = room[of.column[i].x];
    barrier();
}

// Adds the derivatives through functions to GRADIENT, whose elements of columns are the derivatives with respect to the values of
// the functions.
template <bool SHARED>
NS_CALL void pull_functions(const Functions& of, State<SHARED> state) {
    const double* room = state[FUNCTIONS];
    double* gradient = state[GRADIENT];
    NS_EACH(i, of.n_params) {
        int4 list = of.param[i];
        double sum = gradient[list.z];
        for (int k = list.x; k < list.y; k++) {
            int4 slope = of.slope[k];
            sum = fma(gradient[slope.x], room[slope.y], sum);
        }
        gradient[list.z] = sum;
    }
    barrier();
}

// Adds the derivatives through functions to DERIVATIVES, whose `n_bins` rows have `row` elements, and to BENDS. The functions have
// been computed with Order::BENDS.
template <bool SHARED>
NS_CALL void pull_own_derivatives(const Functions& of, State<SHARED> state, int n_bins, int row) {
    const double *room = state[FUNCTIONS], *gradient = state[GRADIENT];
    double *rows = state[DERIVATIVES], *bends = state[BENDS];
    NS_EACH(at, of.n_params * n_bins) {
        int bin = at / of.n_params;
        int4 list = of.param[at - bin * of.n_params];
        double* own = rows + bin * row;
        double sum = list.w ? own[list.z] : 0.0;
        for (int k = list.x; k < list.y; k++) {
            int4 slope = of.slope[k];
            sum = fma(own[slope.x], room[slope.y], sum);
        }
        own[list.z] = sum;
    }
    NS_EACH(i, of.n_params) {
        int4 list = of.param[i];
        double sum = list.w ? bends[list.z] : 0.0;
        for (int k = list.x; k < list.y; k++) {
            int4 slope = of.slope[k];
            sum = fma(gradient[slope.x], room[slope.z], sum);
        }
        bends[list.z] = sum;
    }
    barrier();
}

// Computes the Hessian with respect to the parameters, `to`, from the Hessian `h` with respect to parameters and columns. The
// functions have been computed with Order::SECOND.
template <bool SHARED>
NS_DEVICE void pull_hessian(const Plan& plan, const State<SHARED>& state, const double* h, double* to) {
    const Functions& of = *plan.functions;
    const double *room = state[FUNCTIONS], *gradient = state[GRADIENT];
    int n = plan.n_params, row = plan.n_columns;
    NS_EACH(at, n * n) {
        int p = at / n, q = at - p * n;
        int list_p = of.list_of[p], list_q = of.list_of[q];
        double sum = h[(size_t)p * row + q];
        int from = list_q < 0 ? 0 : of.param[list_q].x, end = list_q < 0 ? 0 : of.param[list_q].y;
        for (int k = from; k < end; k++) sum = fma(h[(size_t)p * row + of.slope[k].x], room[of.slope[k].y], sum);
        if (list_p >= 0) {
            for (int k = of.param[list_p].x; k < of.param[list_p].y; k++) {
                int4 by_p = of.slope[k];
                double inner = h[(size_t)by_p.x * row + q], second = 0.0;
                for (int m = from; m < end; m++) {
                    int4 by_q = of.slope[m];
                    inner = fma(h[(size_t)by_p.x * row + by_q.x], room[by_q.y], inner);
                    if (by_q.x != by_p.x) continue;
                    int2 column = of.column[by_p.x - n];
                    second = room[column.x + pair_at(column.y, by_p.w, by_q.w)];
                }
                sum = fma(inner, room[by_p.y], sum);
                sum = fma(gradient[by_p.x], second, sum);
            }
        }
        to[at] = sum;
    }
}

}  // namespace ns
