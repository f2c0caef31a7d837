// Draws the data of toys on the device that fits the toys.
//
// A datum depends only on its distribution, the seed, the hypothesis, the index of the toy, and the slot (the index
// of the datum in the toy). Therefore any thread may draw any datum in any order, and no thread waits for another.
// The bits are the same as those that ns-core draws on the CPU. ns-core creates the distributions (`ToySource`), and
// `src/device/draws.rs` uploads them.
#pragma once

#include "normal.cuh"
#include "poisson.cuh"

namespace ns {

// Returns the datum with index `slot` of the toy with index `toy`.
NS_DEVICE double draw_datum(const Draws& draws, uint32_t slot, uint64_t toy) {
    const DatumSource& source = draws.sources[slot];
    const double* n = source.numbers;
    const Stream stream = {draws.seed, toy, draws.hypothesis};
    switch (source.method) {
        case DRAW_TABLE: {
            const CountTable table = {draws.thresholds + source.thresholds, draws.guides + source.guide, n[0]};
            return draw_from_table(table, stream, slot);
        }
        case DRAW_REJECTION: {
            const PoissonRejection of = {n[0], n[1], n[2], n[3], n[4], n[5], n[6]};
            return draw_rejected(of, stream, slot);
        }
        default:
            return draw_normal(n[0], n[1], stream, slot);
    }
}

}  // namespace ns
