// Makes the fits of one item of the queue. An item consists of the fits of one task or of one toy. Its data are
// loaded first, and then the fits are made one after the other.
#pragma once
#include "correlated.cuh"
#include "kinks.cuh"
#include "random.cuh"

namespace ns {

// Returns `n - n ln n + ln Gamma(n + 1)` for a drawn count `n`. It is computed by Stirling's formula with its error
// term.
NS_DEVICE double saturated(double n) {
    if (!(n > 0.0)) return 0.0;
    return 0.5 * log(TWO_PI * n) + stirling_error(Exact(n)).value;
}

// Fills MAIN and AUX with the data of an item. For a toy, returns `-ln L` of the saturated model without the constant
// of the Gaussian constraints. For given data, returns 0, because the host computes this value.
template <bool SHARED>
NS_DEVICE double load(const FitLaunch& launch, const State<SHARED>& state, int item, Sums& sums) {
    const Plan& plan = launch.plan;
    double *main = state[MAIN], *aux = state[AUX];
    int n = plan.n_bins + plan.n_aux;
    barrier();
    if (launch.items) {
        const double* data = launch.items[item].data;
        NS_EACH(i, n) (i < plan.n_bins ? main[i] : aux[i - plan.n_bins]) = data[i];
        barrier();
        return 0.0;
    }
    NS_EACH(i, n) {
        double x = draw_datum(*launch.draws, (uint32_t)i, launch.first_toy + (uint64_t)item);
        (i < plan.n_bins ? main[i] : aux[i - plan.n_bins]) = x;
    }
    barrier();
    if (launch.draws->joint) correlate(*launch.draws, aux);
    double constant = 0.0;
    NS_EACH(b, plan.n_bins) constant += saturated(main[b]);
    NS_EACH(p, plan.n_params) {
        int2 constraint = plan.constraint[p];
        if (constraint.x == POISSON) constant += saturated(aux[constraint.y]);
    }
    return sums.one(constant);
}

// Fills START, LOWER and UPPER for a request. `requests` contains all requests of the item. Returns false if the request
// starts from an earlier fit that is left to the CPU.
template <bool SHARED>
NS_DEVICE bool prepare(
    const FitLaunch& launch, const Request* requests, const Request& request, const State<SHARED>& state,
    int first_outcome
) {
    const Plan& plan = launch.plan;
    double *start = state[START], *lower = state[LOWER], *upper = state[UPPER];
    const double* from = request.point;
    // If `-ln L` of the earlier fit falls without limit, this fit starts where the earlier fit started.
    for (const Request* at = &request; at->start != START_AT;) {
        int earlier = first_outcome + at->earlier, status = launch.outcomes[earlier].status;
        if (status == CONVERGED) {
            from = launch.parameters + (size_t)earlier * plan.n_params;
            break;
        }
        if (status != FALLS) return false;
        at = requests + at->earlier;
        from = at->point;
    }
    barrier();
    NS_EACH(p, plan.n_params) {
        lower[p] = plan.lower[p];
        upper[p] = plan.upper[p];
    }
    barrier();
    NS_EACH(i, request.n_overrides) {
        const Override& other = request.overrides[i];
        lower[other.param] = other.lower;
        upper[other.param] = other.upper;
    }
    barrier();
    double length = 0.0;
    if (request.start == START_ALONG && request.held_param >= 0) {
        double along = request.point[request.held_param];
        length = (request.held_value - from[request.held_param]) / along;
        if (!isfinite(length)) length = 0.0;
    }
    NS_EACH(p, plan.n_params) {
        double x = from[p];
        if (length != 0.0) x = fma(length, request.point[p], x);
        start[p] = fmin(fmax(x, lower[p]), upper[p]);
    }
    return true;
}

// Returns whether the fit of a request is needed. This is the case if the request has no condition, if its condition
// holds, or if the earlier fit of the condition did not converge.
NS_DEVICE bool needed(const FitLaunch& launch, const Request& request, int first_outcome) {
    if (request.condition_fit < 0) return true;
    int earlier = first_outcome + request.condition_fit;
    if (launch.outcomes[earlier].status != CONVERGED) return true;
    double x = launch.parameters[(size_t)earlier * launch.plan.n_params + request.condition_param];
    return !(x < request.condition_low || x > request.condition_high);
}

// Makes the fit of request `which`, which has the index `index` in its item, and writes the outcome of the fit.
// `first_outcome` is the index of the item's first outcome. If `helps` is true, instead descends from starting points
// of another thread block's fit and writes no outcome. OWN has the same meaning as in `factor`.
template <bool SHARED, bool OWN>
NS_DEVICE void fit(
    const FitLaunch& launch, int which, const State<SHARED>& state, int block, bool helps, int first_outcome, int index,
    double saturated, Sums& sums
) {
    const Plan& plan = launch.plan;
    const Request& request = launch.requests[which];
    int place = first_outcome + index;
    Outcome outcome = {0.0, saturated, 0.0, LEFT, 0, 0, 0};
    bool asked = helps || needed(launch, request, first_outcome);
    if (!asked) {
        outcome.status = NOT_NEEDED;
    } else if (helps || prepare(launch, &request - index, request, state, first_outcome)) {
        // Every step reads the metric, so it is copied to BLOCK_DATA.
        uint64_t* copy = (uint64_t*)(state[BLOCK_DATA] + METRIC_AT);
        NS_EACH(i, (int)(sizeof(Metric) / 8)) copy[i] = ((const uint64_t*)request.metric)[i];
        barrier();
        const Metric& metric = *(const Metric*)copy;
        // Only the kernel `ns_fit_global` fits models with kinks.
        if (!SHARED && plan.kinked) {
            search_orthants(plan, request, metric, state, sums);
        } else {
            search<SHARED, OWN>(launch, which, metric, state, block, helps, sums);
        }
        if (helps) return;
        const BlockProgress& end = *progress_of(state);
        outcome.value = end.value;
        outcome.edm = end.edm;
        outcome.status = end.converged && !(end.several & OPEN) ? CONVERGED : LEFT;
        if (end.several & FALLEN) outcome.status = FALLS;
        outcome.iterations = end.iterations;
        outcome.evaluations = end.evaluations;
        outcome.usable = isfinite(end.value) && end.value >= 0.0;
        double* to = launch.parameters + (size_t)place * plan.n_params;
        uint8_t* flags = launch.flags + (size_t)place * (plan.n_params + plan.n_bins);
        NS_EACH(p, plan.n_params) {
            to[p] = state[BEST][p];
            flags[p] = state[BEST_HELD][p] != 0.0;
        }
        NS_EACH(b, plan.n_bins) flags[plan.n_params + b] = state[EMPTY][b] != 0.0;
    }
    if (outcome.evaluations == 0) {
        // Without a fit, the host gets zeros.
        NS_EACH(p, plan.n_params) launch.parameters[(size_t)place * plan.n_params + p] = 0.0;
        NS_EACH(i, plan.n_params + plan.n_bins) launch.flags[(size_t)place * (plan.n_params + plan.n_bins) + i] = 0;
    }
    if (thread() == 0) launch.outcomes[place] = outcome;
    // The next fit of the item may read the results of this one.
    barrier();
}

}  // namespace ns
