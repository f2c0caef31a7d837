// `-ln L` with its derivatives, where other numbers of the model or the data change with the inputs of the caller. The
// derivatives include this change. One thread block computes one row at a time.
#pragma once
#include "differentiate.cuh"
#include "terms/poisson/saturated.cuh"

namespace ns {

// Passes over the model for one row. Only Asimov data need the first and the last.
enum Pass {
    // Computes the Asimov data, which are the expected yields at the parameters of the Asimov data.
    EXPECT,
    // Computes `-ln L` and its derivatives for constant data.
    DIFFERENTIATE,
    // Adds the derivatives through the Asimov data.
    THROUGH_DATA,
};

// Writes all inputs of a row to `all`. These are the inputs of the caller, which are in `given`, and the numbers that
// follow them (see follow.rs). Writes the derivative of each of these numbers with respect to its sources to `changes`.
NS_DEVICE void follow(const DifferentiateLaunch& launch, const double* given, double* all, double* changes) {
    NS_EACH(i, launch.n_given) all[i] = given[i];
    NS_EACH(k, launch.n_inputs - launch.n_given) {
        const InputFollower& number = launch.followers[k];
        double sum = number.held;
        for (int i = number.first; i < number.end; i++) sum += given[launch.sources[i]];
        all[launch.n_given + k] = number.inverse ? number.factor / sum : number.factor * sum;
        changes[k] = number.inverse ? -number.factor / (sum * sum) : number.factor;
    }
}

// Writes the derivatives with respect to the inputs of the caller to `to`. `all` has the derivatives with respect to
// all inputs.
NS_DEVICE void contract(const DifferentiateLaunch& launch, const double* all, const double* changes, double* to) {
    NS_EACH(i, launch.n_given) {
        double sum = all[i];
        for (int k = launch.followers_from[i]; k < launch.followers_from[i + 1]; k++) {
            int number = launch.followers_of[k];
            sum = fma(all[launch.n_given + number], changes[number], sum);
        }
        to[i] = sum;
    }
}

// Computes the auxiliary data that change with the widths of their constraints. Returns the part of this thread in
// their constants of `-ln L`.
template <bool SHARED>
NS_DEVICE double change_auxiliary(const DifferentiateLaunch& launch, const Plan& plan, const State<SHARED>& state) {
    double constant = 0.0;
    NS_EACH(i, launch.n_data) {
        const InputDatum& datum = launch.changing[i];
        double n = datum.ratio * plan.constraint_scale[datum.param];
        state[AUX][datum.aux] = n;
        constant += saturated_term(n);
    }
    return constant;
}

// Adds the derivatives through the auxiliary data that change. A rate is 1 divided by the square of its input.
template <bool SHARED>
NS_DEVICE void through_auxiliary(
    const DifferentiateLaunch& launch, const Plan& plan, const State<SHARED>& state, double* to
) {
    NS_EACH(i, launch.n_data) {
        const InputDatum& datum = launch.changing[i];
        double scale = plan.constraint_scale[datum.param];
        double by_count = poisson_by_count(state[TRIAL][datum.param] * scale, state[AUX][datum.aux]);
        to[datum.input] += by_count * datum.ratio * (-2.0 * scale * sqrt(scale));
    }
}

// Makes the expected yields in LAMBDA the data in MAIN. Returns how many numbers this thread found that cannot be
// counts. Adds the constants of `-ln L` of this thread's data to `constant`.
template <bool SHARED>
NS_DEVICE double take_expected(const Plan& plan, const State<SHARED>& state, double& constant) {
    double bad = 0.0;
    NS_EACH(b, plan.n_bins) {
        double n = state[LAMBDA][b];
        state[MAIN][b] = n;
        if (n >= 0.0 && isfinite(n)) {
            constant += saturated_term(n);
        } else {
            bad += 1.0;
        }
    }
    return bad;
}

template <bool SHARED>
NS_DEVICE void differentiate_changing_block(const DifferentiateLaunch& launch, int block, int blocks) {
    State<SHARED> state = {launch.offset, launch.slab + (size_t)block * launch.slab_stride};
    WideSums sums = {ns_shared + launch.sums_at, 0};
    Plan plan = with_copies(launch, block);
    Codes codes = codes_of(plan);
    double* copies = launch.copies + (size_t)block * launch.copies_stride;
    double *inputs = copies + launch.all_at, *to = copies + launch.by_all_at, *changes = copies + launch.changes_at;
    int first = launch.asimov ? EXPECT : DIFFERENTIATE, last = launch.asimov ? THROUGH_DATA : DIFFERENTIATE;
    bool wide = warps() >= MANY_WARPS;
    for (int row = block; row < launch.n_rows; row += blocks) {
        const double* theta = launch.parameters + (size_t)row * launch.parameters_stride;
        double* to_parameters = launch.by_parameters + (size_t)row * launch.by_parameters_stride;
        // Number of values that are not allowed, and the sum of the changes of constants.
        double seen[2] = {0.0, 0.0};
        barrier();
        follow(launch, launch.inputs + (size_t)row * launch.inputs_stride, inputs, changes);
        NS_EACH(i, plan.n_bins) state[MAIN][i] = launch.data[i];
        NS_EACH(i, plan.n_aux) state[AUX][i] = launch.data[plan.n_bins + i];
        NS_EACH(p, plan.n_params) {
            if (!isfinite(theta[p])) seen[0] += 1.0;
        }
        NS_EACH(i, launch.n_inputs) to[i] = 0.0;
        barrier();
        seen[0] += write_inputs(launch, block, inputs, seen[1]);
        sums.all(seen);
        barrier();
        if (seen[0] > 0.0) {
            missing(launch, row, BAD_INPUT);
            continue;
        }
        double nll = 0.0, bad = 0.0, least = infinity();
        double constant = change_auxiliary(launch, plan, state);
#pragma unroll 1
        for (int pass = first; pass <= last; pass++) {
            NS_EACH(p, plan.n_params) state[TRIAL][p] = pass == DIFFERENTIATE ? theta[p] : launch.asimov[p];
            barrier();
            least = fmin(least, factors_and_cells(plan, codes, state, state[TRIAL]));
            double main = 0.0, constraint = 0.0, noise = 0.0;
            bins(plan, state, main, noise);
            if (pass == EXPECT) {
                barrier();
                bad = take_expected(plan, state, constant);
                continue;
            }
            if (pass == DIFFERENTIATE) {
                constraints(plan, state, state[TRIAL], constraint, noise);
                double all[4] = {main, constraint, constant, bad};
                sums.all(all);
                bad = all[3];
                if (bad > 0.0) break;
                nll = all[0] + all[1] + (launch.constant + seen[1] + all[2]);
            } else {
                barrier();
                // The previous pass has left the derivatives with respect to the data in MAIN.
                NS_EACH(b, plan.n_bins) state[BIN_SLOPE][b] = state[MAIN][b];
                barrier();
            }
            if (wide) {
                pull_back<SHARED, true>(plan, state, state[TRIAL]);
            } else {
                pull_back<SHARED, false>(plan, state, state[TRIAL]);
            }
            barrier();
            by_yields<SHARED, true>(launch, plan, state, inputs, to);
            if (pass == THROUGH_DATA) break;
            by_widths(launch, plan, state, to);
            if (wide) {
                scalar_gradient<SHARED, false, true>(plan, codes, state, state[TRIAL]);
            } else {
                scalar_gradient<SHARED, false, false>(plan, codes, state, state[TRIAL]);
            }
            barrier();
            NS_EACH(p, plan.n_params) to_parameters[p] = state[GRADIENT][p];
            if (last == THROUGH_DATA) {
                NS_EACH(b, plan.n_bins) state[MAIN][b] = poisson_by_count(state[LAMBDA][b], state[MAIN][b]);
            }
            through_auxiliary(launch, plan, state, to);
            barrier();
        }
        if (bad > 0.0) {
            missing(launch, row, NO_ASIMOV);
            continue;
        }
        least = sums.least(least);
        if (thread() == 0) {
            launch.values[row] = nll;
            launch.status[row] = least < LEAST_PRODUCT ? ZERO_FACTOR : isfinite(nll) ? FINE : NO_LIKELIHOOD;
        }
        contract(launch, to, changes, launch.by_inputs + (size_t)row * launch.by_inputs_stride);
    }
}

}  // namespace ns
