// The kernels for the CPU, for tests without a GPU. This file is compiled twice: with one thread per block, which is
// fast, and (NS_MANY_THREADS) with as many threads per block as on a GPU.
#ifdef NS_MANY_THREADS
#define ns ns_of_many
#define NS_NAMED(name) ns_many_##name
#else
#define NS_NAMED(name) ns_host_##name
#endif
#include "ns.cu"

#include <thread>
#include <vector>

#ifndef NS_MANY_THREADS
namespace ns {
template <class Body>
void run_block(int, Body body) {
    body();
}
}  // namespace ns
#endif

extern "C" {
// Runs thread blocks of `threads` threads each. If blocks help each other they run in parallel, otherwise one after
// the other. Each block has `numbers` doubles of shared memory.
void NS_NAMED(fit)(const ns::FitLaunch* launch, int threads, int numbers, int blocks, int in_shared, int own) {
    auto run = [=](int block) {
        // The memory is filled with NaN, so reads of unwritten numbers are noticed.
        std::vector<double> shared(numbers, NAN);
        ns_shared = shared.data();
        ns::run_block(threads, [=] {
            if (own) {
                ns::fit_block<true, true>(*launch, block);
            } else {
                in_shared ? ns::fit_block<true, false>(*launch, block) : ns::fit_block<false, false>(*launch, block);
            }
        });
    };
    if (!launch->rounds) {
        for (int block = 0; block < blocks; block++) run(block);
        return;
    }
    std::vector<std::thread> all;
    for (int block = 0; block < blocks; block++) all.emplace_back(run, block);
    for (std::thread& one : all) one.join();
}
void NS_NAMED(evaluate)(const ns::EvaluateLaunch* launch, int threads, int numbers, int blocks, int in_shared) {
    std::vector<double> shared(numbers, NAN);
    ns_shared = shared.data();
    for (int block = 0; block < blocks; block++) {
        ns::run_block(threads, [=] {
            in_shared ? ns::evaluate_block<true>(*launch, block, blocks) : ns::evaluate_block<false>(*launch, block, blocks);
        });
    }
}
void NS_NAMED(covariance)(const ns::CovarianceLaunch* launch, int threads, int numbers, int blocks) {
    std::vector<double> shared(numbers, NAN);
    ns_shared = shared.data();
    for (int block = 0; block < blocks; block++) {
        ns::run_block(threads, [=] { ns::covariance_block(*launch, block, blocks); });
    }
}
void NS_NAMED(differentiate)(const ns::DifferentiateLaunch* launch, int threads, int numbers, int blocks, int in_shared) {
    std::vector<double> shared(numbers, NAN);
    ns_shared = shared.data();
    for (int block = 0; block < blocks; block++) {
        ns::run_block(threads, [=] {
            in_shared ? ns::differentiate_block<true>(*launch, block, blocks) : ns::differentiate_block<false>(*launch, block, blocks);
        });
    }
}
void NS_NAMED(differentiate_changing)(
    const ns::DifferentiateLaunch* launch, int threads, int numbers, int blocks, int in_shared
) {
    std::vector<double> shared(numbers, NAN);
    ns_shared = shared.data();
    for (int block = 0; block < blocks; block++) {
        ns::run_block(threads, [=] {
            in_shared ? ns::differentiate_changing_block<true>(*launch, block, blocks)
                      : ns::differentiate_changing_block<false>(*launch, block, blocks);
        });
    }
}
void NS_NAMED(event_sums)(const ns::EventLaunch* launch, int threads, int blocks) {
    for (int block = 0; block < blocks; block++) {
        ns::run_block(threads, [=] { ns::sum_events(*launch, block, blocks); });
    }
}
void NS_NAMED(event_totals)(const ns::EventLaunch* launch, int threads, int) {
    ns::run_block(threads, [=] { ns::total_events(*launch); });
}
void NS_NAMED(event_toys)(const ns::EventToyLaunch* launch, int threads, int numbers, int blocks, int in_shared) {
    std::vector<double> shared(numbers, NAN);
    ns_shared = shared.data();
    for (int block = 0; block < blocks; block++) {
        ns::run_block(threads, [=] {
            in_shared ? ns::sum_toy_events<true>(*launch, block, blocks) : ns::sum_toy_events<false>(*launch, block, blocks);
        });
    }
}
void NS_NAMED(event_draw)(const ns::EventDrawLaunch* launch, int threads, int blocks) {
    for (int block = 0; block < blocks; block++) {
        ns::run_block(threads, [=] { ns::draw_events(*launch, block); });
    }
}
void NS_NAMED(event_place)(const ns::EventPlaceLaunch* launch, int threads, int blocks) {
    for (int block = 0; block < blocks; block++) {
        ns::run_block(threads, [=] { ns::place_events(*launch, block, blocks); });
    }
}
void NS_NAMED(flow_nll_reduce)(const ns::FlowLaunch* launch, int threads, int numbers, int blocks) {
    std::vector<double> shared(numbers, NAN);
    ns_shared = shared.data();
    for (int block = 0; block < blocks; block++) {
        ns::run_block(threads, [=] { ns::flow_nll_reduce(*launch, block, blocks); });
    }
}
void NS_NAMED(flow_batch_nll_reduce)(const ns::FlowLaunch* launch, int threads, int numbers, int blocks) {
    std::vector<double> shared(numbers, NAN);
    ns_shared = shared.data();
    for (int block = 0; block < blocks; block++) {
        ns::run_block(threads, [=] { ns::flow_batch_nll_reduce(*launch, block, blocks); });
    }
}
void NS_NAMED(draw)(const ns::DrawLaunch* launch, int threads, int blocks) {
    for (int block = 0; block < blocks; block++) {
        ns::run_block(threads, [=] { ns::draw_block(*launch, block, blocks); });
    }
}
}
