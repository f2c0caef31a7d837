// The kernels for the processor: blocks of one thread, one after the other. For tests without a card.
#include "ns.cu"

extern "C" {
// Sizes of the structures that both languages describe.
void ns_host_sizes(uint64_t* sizes) {
    const uint64_t all[] = {sizeof(ns::Plan),    sizeof(ns::Metric),    sizeof(ns::Override),
                            sizeof(ns::Request), sizeof(ns::Item),      sizeof(ns::Outcome),
                            sizeof(ns::FitLaunch), sizeof(ns::EvaluateLaunch), sizeof(ns::DrawLaunch)};
    for (int i = 0; i < 9; i++) sizes[i] = all[i];
}
void ns_host_fit(const ns::FitLaunch* launch, double* shared, int blocks, int near) {
    ns_shared = shared;
    for (int block = 0; block < blocks; block++) {
        near ? ns::fit_block<true>(*launch, block) : ns::fit_block<false>(*launch, block);
    }
}
void ns_host_evaluate(const ns::EvaluateLaunch* launch, double* shared, int blocks, int near) {
    ns_shared = shared;
    for (int block = 0; block < blocks; block++) {
        near ? ns::evaluate_block<true>(*launch, block, blocks) : ns::evaluate_block<false>(*launch, block, blocks);
    }
}
void ns_host_draw(const ns::DrawLaunch* launch, int blocks) {
    for (int block = 0; block < blocks; block++) ns::draw_block(*launch, block, blocks);
}
}
