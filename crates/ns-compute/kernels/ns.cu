// All kernels in one translation unit. They make fits of the items of a queue, and compute values, gradients,
// Hessians and covariances at many points, derivatives with respect to inputs, and sums over events. They also draw
// toys and the events of toys.
#include "changing.cuh"
#include "covariance.cuh"
#include "event_toys.cuh"
#include "flow.cuh"
#include "item.cuh"

namespace ns {

template <bool SHARED, bool OWN>
NS_DEVICE void fit_block(const FitLaunch& launch, int block) {
    State<SHARED> state = {launch.offset, launch.slab + (size_t)block * launch.slab_stride};
    Sums sums = {state[BLOCK_DATA], 0};
    BlockProgress* progress = progress_of(state);
    bool helps = false;
    if constexpr (OWN) clear_derivatives(launch.plan, state);
    if constexpr (HAS_FUNCTIONS<SHARED, OWN>) {
        if (launch.plan.functions) clear_functions(*launch.plan.functions, state);
    }
    for (;;) {
        if (!helps) {
            barrier();
            if (thread() == 0) progress->item = add(launch.queue, 1);
            barrier();
            helps = progress->item >= launch.n_items;
        }
        if (helps && !(launch.rounds && look_for(launch, block, progress))) return;
        double of_data = 0.0;
        int first = 0, count = launch.n_requests, outcome = 0;
        if (helps) {
            int owner = progress->owner;
            State<SHARED> from = {launch.offset, launch.slab + (size_t)owner * launch.slab_stride};
            copy(launch.plan, from, state);
            first = launch.rounds[owner].request;
            count = 1;
        } else {
            int item = progress->item;
            of_data = load(launch, state, item, sums);
            outcome = item * launch.n_requests;
            if (launch.items) {
                first = launch.items[item].first_request;
                count = launch.items[item].n_requests;
                outcome = launch.items[item].first_outcome;
            }
        }
        for (int i = 0; i < count; i++) fit<SHARED, OWN>(launch, first + i, state, block, helps, outcome, i, of_data, sums);
        if (!helps && launch.rounds && thread() == 0) add(done_of(launch), 1);
    }
}

template <bool SHARED>
NS_DEVICE void evaluate_block(const EvaluateLaunch& launch, int block, int blocks) {
    const Plan& plan = launch.plan;
    State<SHARED> state = {launch.offset, launch.slab + (size_t)block * launch.slab_stride};
    Sums sums = {state[BLOCK_DATA], 0};
    if constexpr (!SHARED) {
        if (plan.functions) clear_functions(*plan.functions, state);
    }
    for (int point = block; point < launch.n_points; point += blocks) {
        int set = launch.data_of ? launch.data_of[point] : point;
        const double* data = launch.data + (size_t)set * launch.data_stride;
        barrier();
        NS_EACH(i, plan.n_bins) state[MAIN][i] = data[i];
        NS_EACH(i, plan.n_aux) state[AUX][i] = data[plan.n_bins + i];
        NS_EACH(p, plan.n_params) state[TRIAL][p] = launch.points[(size_t)point * plan.n_params + p];
        barrier();
        Value value = evaluate<SHARED, false>(plan, codes_of(plan), state, state[TRIAL], sums);
        if (launch.values && thread() == 0) {
            launch.values[2 * (size_t)point] = value.main;
            launch.values[2 * (size_t)point + 1] = value.constraint;
        }
        if (launch.gradients) {
            double* to = launch.gradients + (size_t)point * plan.n_params;
            NS_EACH(p, plan.n_params) to[p] = state[GRADIENT][p];
        }
        if constexpr (!SHARED) {
            if (launch.hessians) hessian(launch, state, value, point);
        }
    }
}

NS_DEVICE void draw_block(const DrawLaunch& launch, int block, int blocks) {
    for (int toy = block; toy < launch.n_toys; toy += blocks) {
        double* to = launch.data + (size_t)toy * launch.n_data;
        NS_EACH(i, launch.n_data) to[i] = draw_datum(*launch.draws, (uint32_t)i, launch.first_toy + (uint64_t)toy);
        if (launch.draws->joint) {
            barrier();
            correlate(*launch.draws, to + launch.draws->joint->n_main);
        }
    }
}

}  // namespace ns

#ifdef __CUDACC__
extern "C" __global__ void __launch_bounds__(ns::MOST_THREADS, 5) ns_fit(const __grid_constant__ ns::FitLaunch launch) {
    ns::fit_block<true, false>(launch, blockIdx.x);
}
extern "C" __global__ void __launch_bounds__(ns::MOST_THREADS, 4) ns_fit_global(const __grid_constant__ ns::FitLaunch launch) {
    ns::fit_block<false, false>(launch, blockIdx.x);
}
extern "C" __global__ void __launch_bounds__(ns::MOST_THREADS, 5) ns_fit_own(const __grid_constant__ ns::FitLaunch launch) {
    ns::fit_block<true, true>(launch, blockIdx.x);
}
extern "C" __global__ void __launch_bounds__(ns::MOST_THREADS) ns_evaluate(const __grid_constant__ ns::EvaluateLaunch launch) {
    ns::evaluate_block<true>(launch, blockIdx.x, gridDim.x);
}
extern "C" __global__ void __launch_bounds__(ns::MOST_THREADS) ns_evaluate_global(const __grid_constant__ ns::EvaluateLaunch launch) {
    ns::evaluate_block<false>(launch, blockIdx.x, gridDim.x);
}
extern "C" __global__ void __launch_bounds__(ns::MOST_INVERTING) ns_covariance(const __grid_constant__ ns::CovarianceLaunch launch) {
    ns::covariance_block(launch, blockIdx.x, gridDim.x);
}
extern "C" __global__ void __launch_bounds__(ns::MOST_THREADS) ns_draw(const __grid_constant__ ns::DrawLaunch launch) {
    ns::draw_block(launch, blockIdx.x, gridDim.x);
}
extern "C" __global__ void __launch_bounds__(ns::MOST_DIFFERENTIATING, 1) ns_differentiate(const __grid_constant__ ns::DifferentiateLaunch launch) {
    ns::differentiate_block<true>(launch, blockIdx.x, gridDim.x);
}
extern "C" __global__ void __launch_bounds__(ns::MOST_DIFFERENTIATING, 1) ns_differentiate_global(const __grid_constant__ ns::DifferentiateLaunch launch) {
    ns::differentiate_block<false>(launch, blockIdx.x, gridDim.x);
}
extern "C" __global__ void __launch_bounds__(ns::MOST_DIFFERENTIATING, 1) ns_differentiate_changing(const __grid_constant__ ns::DifferentiateLaunch launch) {
    ns::differentiate_changing_block<true>(launch, blockIdx.x, gridDim.x);
}
extern "C" __global__ void __launch_bounds__(ns::MOST_DIFFERENTIATING, 1) ns_differentiate_changing_global(const __grid_constant__ ns::DifferentiateLaunch launch) {
    ns::differentiate_changing_block<false>(launch, blockIdx.x, gridDim.x);
}
extern "C" __global__ void __launch_bounds__(ns::EVENT_THREADS) ns_event_sums(const __grid_constant__ ns::EventLaunch launch) {
    ns::sum_events(launch, blockIdx.x, gridDim.x);
}
extern "C" __global__ void __launch_bounds__(ns::EVENT_THREADS) ns_event_totals(const __grid_constant__ ns::EventLaunch launch) {
    ns::total_events(launch);
}
extern "C" __global__ void __launch_bounds__(ns::EVENT_THREADS, 4) ns_event_toys(const __grid_constant__ ns::EventToyLaunch launch) {
    ns::sum_toy_events<true>(launch, blockIdx.x, gridDim.x);
}
extern "C" __global__ void __launch_bounds__(ns::EVENT_THREADS, 4) ns_event_toys_global(const __grid_constant__ ns::EventToyLaunch launch) {
    ns::sum_toy_events<false>(launch, blockIdx.x, gridDim.x);
}
extern "C" __global__ void __launch_bounds__(ns::EVENT_THREADS) ns_event_draw(const __grid_constant__ ns::EventDrawLaunch launch) {
    ns::draw_events(launch, blockIdx.x);
}
extern "C" __global__ void __launch_bounds__(ns::EVENT_THREADS) ns_event_place(const __grid_constant__ ns::EventPlaceLaunch launch) {
    ns::place_events(launch, blockIdx.x, gridDim.x);
}
extern "C" __global__ void __launch_bounds__(ns::EVENT_THREADS) ns_flow_nll_reduce(const __grid_constant__ ns::FlowLaunch launch) {
    ns::flow_nll_reduce(launch, blockIdx.x, gridDim.x);
}
extern "C" __global__ void __launch_bounds__(ns::EVENT_THREADS) ns_flow_batch_nll_reduce(const __grid_constant__ ns::FlowLaunch launch) {
    ns::flow_batch_nll_reduce(launch, blockIdx.x, gridDim.x);
}
#endif
