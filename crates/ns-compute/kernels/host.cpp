// The kernels for the processor: blocks of one thread. For tests without a card.
#include "ns.cu"

#include <thread>
#include <vector>

extern "C" {
// Sizes of the structures that both languages describe.
void ns_host_sizes(uint64_t* sizes) {
    const uint64_t all[] = {sizeof(ns::Plan),    sizeof(ns::Metric),    sizeof(ns::Override),
                            sizeof(ns::Request), sizeof(ns::Item),      sizeof(ns::Outcome),
                            sizeof(ns::FitLaunch), sizeof(ns::EvaluateLaunch), sizeof(ns::DrawLaunch),
                            sizeof(ns::Round),   sizeof(ns::CovarianceLaunch)};
    for (int i = 0; i < 11; i++) sizes[i] = all[i];
}
// Blocks side by side if they help each other, else one after the other. `numbers`: shared memory of each.
void ns_host_fit(const ns::FitLaunch* launch, int numbers, int blocks, int near) {
    auto run = [=](int block) {
        // Who reads what nobody wrote is found out.
        std::vector<double> shared(numbers, NAN);
        ns_shared = shared.data();
        near ? ns::fit_block<true>(*launch, block) : ns::fit_block<false>(*launch, block);
    };
    if (!launch->rounds) {
        for (int block = 0; block < blocks; block++) run(block);
        return;
    }
    std::vector<std::thread> all;
    for (int block = 0; block < blocks; block++) all.emplace_back(run, block);
    for (std::thread& one : all) one.join();
}
void ns_host_evaluate(const ns::EvaluateLaunch* launch, double* shared, int blocks, int near) {
    ns_shared = shared;
    for (int block = 0; block < blocks; block++) {
        near ? ns::evaluate_block<true>(*launch, block, blocks) : ns::evaluate_block<false>(*launch, block, blocks);
    }
}
void ns_host_covariance(const ns::CovarianceLaunch* launch, double* shared, int blocks) {
    ns_shared = shared;
    for (int block = 0; block < blocks; block++) ns::covariance_block(*launch, block, blocks);
}
void ns_host_draw(const ns::DrawLaunch* launch, int blocks) {
    for (int block = 0; block < blocks; block++) ns::draw_block(*launch, block, blocks);
}
}
