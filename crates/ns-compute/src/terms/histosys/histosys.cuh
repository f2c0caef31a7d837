// histosys: an additive shift of a template, `alpha S + f(alpha) A` (see mod.rs).
#pragma once
#include "terms/histosys/code0.cuh"
#include "terms/histosys/code2.cuh"
#include "terms/histosys/code4p.cuh"

namespace ns {

// What the code says. There is no other: one that is not known ends the kernel.
#define NS_OF_HISTOSYS(ask)                                    \
    switch ((HistosysCode)code) {                              \
        case HistosysCode::CODE0: return HistosysCode0::ask;   \
        case HistosysCode::CODE2: return HistosysCode2::ask;   \
        case HistosysCode::CODE4P: return HistosysCode4P::ask; \
    }                                                          \
    trap();                                                    \
    return {}

// `f` of a code with its derivatives; at a kink the mean slope.
NS_DEVICE Curved histosys(int code, double alpha) {
    NS_OF_HISTOSYS(curved(alpha));
}

// Whether the slope jumps at 0.
NS_DEVICE bool histosys_has_kink(int code) {
    NS_OF_HISTOSYS(KINK);
}

// The code of the smooth twin.
NS_DEVICE int histosys_smooth(int code) {
    NS_OF_HISTOSYS(SMOOTH);
}

}  // namespace ns
