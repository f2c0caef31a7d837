// histosys: an additive variation of a nominal yield, `alpha S + f(alpha) A` (see mod.rs).
#pragma once
#include "terms/histosys/code0.cuh"
#include "terms/histosys/code2.cuh"
#include "terms/histosys/code4p.cuh"

namespace ns {

// Returns, from the enclosing function, the member `ask` of the structure of the interpolation code `code`. An
// unknown code ends the kernel.
#define NS_OF_HISTOSYS(ask)                                    \
    switch ((HistosysCode)code) {                              \
        case HistosysCode::CODE0: return HistosysCode0::ask;   \
        case HistosysCode::CODE2: return HistosysCode2::ask;   \
        case HistosysCode::CODE4P: return HistosysCode4P::ask; \
    }                                                          \
    trap();                                                    \
    return {}

// Returns `f`, `f'` and `f''` of an interpolation code at `alpha`. At a kink, `f'` is the mean of the slopes on both
// sides.
NS_DEVICE Curved histosys(int code, double alpha) {
    NS_OF_HISTOSYS(curved(alpha));
}

// Returns whether the slope of an interpolation code jumps at 0.
NS_DEVICE bool histosys_has_kink(int code) {
    NS_OF_HISTOSYS(KINK);
}

// Returns the code without kink that replaces `code` in a smooth approximation of the model.
NS_DEVICE int histosys_smooth(int code) {
    NS_OF_HISTOSYS(SMOOTH);
}

}  // namespace ns
