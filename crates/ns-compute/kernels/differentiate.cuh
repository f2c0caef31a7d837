// `-ln L` as a function of parameters and inputs, with its derivatives with respect to both. Inputs are numbers of
// the model that every call may replace. One thread block computes one row at a time.
//
// Inputs and results are in device memory of the caller. Each thread block has its own copies of those arrays of the
// model that contain inputs. It writes the inputs to these copies before it evaluates the model.
#pragma once
#include "evaluate.cuh"
#include "inputs.cuh"
#include "terms/histosys/template.cuh"

namespace ns {

using WideSums = SumsOf<MOST_DIFFERENTIATING / WARP>;

// Returns number `i` of the inputs of a row, or `own` if `i` is negative.
NS_DEVICE double input_or(const double* inputs, int i, double own) { return i < 0 ? own : inputs[i]; }

// Returns the model, with the copies of this thread block in place of the arrays that contain inputs.
NS_DEVICE Plan with_copies(const DifferentiateLaunch& launch, int block) {
    Plan plan = launch.plan;
    double* copies = launch.copies + (size_t)block * launch.copies_stride;
    if (launch.n_cells > 0) {
        plan.nominal = copies + launch.nominal_at;
        plan.slice_template = (const Pair*)(copies + launch.slice_at);
        plan.hist_template = (const Pair*)(copies + launch.list_at);
    }
    if (launch.n_norms > 0) {
        plan.norm_coefficient = (const Pair*)(copies + launch.coefficient_at);
        plan.norm_rate = (const Pair*)(copies + launch.rate_at);
    }
    if (launch.n_widths > 0) plan.constraint_scale = copies + launch.scale_at;
    return plan;
}

// Writes the inputs of a row to the copies of this thread block. Returns how many numbers this thread found that are
// not allowed in a model. Adds to `constant` the change of the constants of `-ln L` due to the inputs that this
// thread wrote.
NS_DEVICE double write_inputs(const DifferentiateLaunch& launch, int block, const double* inputs, double& constant) {
    double* copies = launch.copies + (size_t)block * launch.copies_stride;
    double* nominal = copies + launch.nominal_at;
    Pair *slice = (Pair*)(copies + launch.slice_at), *list = (Pair*)(copies + launch.list_at);
    double bad = 0.0;
    NS_EACH(i, launch.n_inputs) {
        if (!isfinite(inputs[i])) bad += 1.0;
    }
    NS_EACH(i, launch.n_cells) {
        const InputCell& cell = launch.cells[i];
        nominal[cell.cell] = input_or(inputs, cell.nominal, cell.own);
    }
    NS_EACH(i, launch.n_templates) {
        const InputTemplate& t = launch.templates[i];
        double lo = input_or(inputs, t.lo, t.own_lo), hi = input_or(inputs, t.hi, t.own_hi);
        Pair parts = template_parts(lo, input_or(inputs, t.nominal, t.own_nominal), hi);
        slice[t.in_slice] = parts;
        list[t.in_list] = parts;
    }
    int code = launch.plan.normsys, n_terms = launch.plan.n_terms;
    Pair *coefficient = (Pair*)(copies + launch.coefficient_at), *rate = (Pair*)(copies + launch.rate_at);
    NS_EACH(i, launch.n_norms) {
        const InputNorm& norm = launch.norms[i];
        double lo = input_or(inputs, norm.lo, norm.own_lo), hi = input_or(inputs, norm.hi, norm.own_hi);
        if (!(lo > 0.0 && hi > 0.0)) bad += 1.0;
        double c[6];
        normsys_coefficients(code, lo, hi, c);
        coefficient[norm.term] = Pair{c[5], c[4]};
        coefficient[n_terms + norm.term] = Pair{c[3], c[2]};
        coefficient[2 * n_terms + norm.term] = Pair{c[1], c[0]};
        rate[norm.term] = Pair{normsys_rate(code, hi), normsys_rate(code, lo)};
    }
    double* scale = copies + launch.scale_at;
    NS_EACH(i, launch.n_widths) {
        const InputWidth& width = launch.widths[i];
        double x = inputs[width.input];
        if (!(x > 0.0)) bad += 1.0;
        bool own = x == width.own;
        if (width.kind == GAUSSIAN) {
            scale[width.param] = own ? width.own_scale : 1.0 / x;
            if (!own) constant += log(x / width.own);
        } else {
            scale[width.param] = own ? width.own_scale : 1.0 / (x * x);
        }
    }
    return bad;
}

// Sets `to` to `x`, or with ADDED adds `x` to it.
template <bool ADDED>
NS_DEVICE void put(double& to, double x) {
    to = ADDED ? to + x : x;
}

// Writes the derivatives of `-ln L` with respect to the yields and normsys factors of a row to `to`, which must contain
// zeros. With ADDED, adds them to `to`. Uses the results of `evaluate` and `pull_back`: the derivatives with respect to
// the additive part of each cell (BINWISE) and to the logarithm of the factor of each block (TOTAL), and the normsys
// factors (FACTOR).
template <bool SHARED, bool ADDED>
NS_DEVICE void by_yields(
    const DifferentiateLaunch& launch, const Plan& plan, const State<SHARED>& state, const double* inputs, double* to
) {
    const double *theta = state[TRIAL], *weights = state[BINWISE];
    NS_EACH_TEAM(i, launch.n_cells) {
        const InputCell& cell = launch.cells[i];
        double weight = weights[cell.cell], curved = 0.0;
        for (int k = cell.first + member(); k < cell.end; k += members()) {
            const InputTemplate& t = launch.templates[k];
            double alpha = theta[t.param], f = histosys(plan.histosys, alpha).f;
            Pair by = by_template(alpha, f);
            curved += f;
            if (t.lo >= 0) put<ADDED>(to[t.lo], weight * by.a);
            if (t.hi >= 0) put<ADDED>(to[t.hi], weight * by.b);
        }
        // The curved part of a template is its difference from the nominal yield.
        curved = team_sum(curved);
        if (cell.nominal >= 0 && member() == 0) put<ADDED>(to[cell.nominal], weight * (1.0 - curved));
    }
    NS_EACH(i, launch.n_norms) {
        const InputNorm& norm = launch.norms[i];
        double factor = state[FACTOR][plan.norm_place[norm.term]];
        double rest = state[TOTAL][plan.norm_block[norm.term]] / factor;
        double lo = input_or(inputs, norm.lo, norm.own_lo), hi = input_or(inputs, norm.hi, norm.own_hi);
        Pair by = normsys_by_factors(plan.normsys, theta[plan.norm_param[norm.term]], lo, hi, factor);
        if (norm.lo >= 0) put<ADDED>(to[norm.lo], rest * by.a);
        if (norm.hi >= 0) put<ADDED>(to[norm.hi], rest * by.b);
    }
}

// Writes the derivatives of `-ln L` with respect to the widths of constraints to `to`. The data are constant.
template <bool SHARED>
NS_DEVICE void by_widths(
    const DifferentiateLaunch& launch, const Plan& plan, const State<SHARED>& state, double* to
) {
    const double *theta = state[TRIAL], *aux = state[AUX];
    NS_EACH(i, launch.n_widths) {
        const InputWidth& width = launch.widths[i];
        double x = theta[width.param], scale = plan.constraint_scale[width.param];
        double datum = aux[plan.constraint[width.param].y];
        if (width.kind == GAUSSIAN) {
            // The term is `pull^2/2 + ln(sigma)` plus a constant.
            double pull = (x - datum) * scale;
            to[width.input] = scale * (1.0 - pull * pull);
        } else {
            // The rate is 1 divided by the square of the input.
            to[width.input] = poisson_slope(x * scale, datum) * x * (-2.0 * scale * sqrt(scale));
        }
    }
}

// Writes the results of a row that has none: the status, and NaN for all numbers.
NS_DEVICE void missing(const DifferentiateLaunch& launch, int row, int status) {
    double nothing = not_a_number();
    double* to_parameters = launch.by_parameters + (size_t)row * launch.by_parameters_stride;
    double* to_inputs = launch.by_inputs + (size_t)row * launch.by_inputs_stride;
    NS_EACH(p, launch.plan.n_params) to_parameters[p] = nothing;
    NS_EACH(i, launch.n_given) to_inputs[i] = nothing;
    if (thread() == 0) {
        launch.values[row] = nothing;
        launch.status[row] = status;
    }
}

template <bool SHARED>
NS_DEVICE void differentiate_block(const DifferentiateLaunch& launch, int block, int blocks) {
    State<SHARED> state = {launch.offset, launch.slab + (size_t)block * launch.slab_stride};
    WideSums sums = {ns_shared + launch.sums_at, 0};
    Plan plan = with_copies(launch, block);
    if constexpr (!SHARED) {
        if (plan.functions) clear_functions(*plan.functions, state);
    }
    for (int row = block; row < launch.n_rows; row += blocks) {
        const double* inputs = launch.inputs + (size_t)row * launch.inputs_stride;
        const double* theta = launch.parameters + (size_t)row * launch.parameters_stride;
        double* to_parameters = launch.by_parameters + (size_t)row * launch.by_parameters_stride;
        double* to_inputs = launch.by_inputs + (size_t)row * launch.by_inputs_stride;
        // Number of values that are not allowed, and the sum of the changes of constants.
        double seen[2] = {0.0, 0.0};
        barrier();
        NS_EACH(i, plan.n_bins) state[MAIN][i] = launch.data[i];
        NS_EACH(i, plan.n_aux) state[AUX][i] = launch.data[plan.n_bins + i];
        NS_EACH(p, plan.n_params) {
            state[TRIAL][p] = theta[p];
            if (!isfinite(theta[p])) seen[0] += 1.0;
        }
        seen[0] += write_inputs(launch, block, inputs, seen[1]);
        NS_EACH(i, launch.n_inputs) to_inputs[i] = 0.0;
        sums.all(seen);
        barrier();
        if (seen[0] > 0.0) {
            missing(launch, row, BAD_INPUT);
            continue;
        }
        Value value = evaluate<SHARED, false, true, !SHARED>(plan, codes_of(plan), state, state[TRIAL], sums);
        if (thread() == 0) {
            double nll = value.main + value.constraint + (launch.constant + seen[1]);
            launch.values[row] = nll;
            // The derivatives with respect to normsys factors contain a division by the factors.
            launch.status[row] = value.least < LEAST_PRODUCT ? ZERO_FACTOR : isfinite(nll) ? FINE : NO_LIKELIHOOD;
        }
        NS_EACH(p, plan.n_params) to_parameters[p] = state[GRADIENT][p];
        by_yields<SHARED, false>(launch, plan, state, inputs, to_inputs);
        by_widths(launch, plan, state, to_inputs);
    }
}

}  // namespace ns
