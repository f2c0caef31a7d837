// normsys: a factor on a sample that depends on one parameter (see mod.rs).
#pragma once
#include "plan.cuh"
#include "terms/normsys/code0.cuh"
#include "terms/normsys/code1.cuh"
#include "terms/normsys/code4.cuh"
#include "terms/normsys/code6.cuh"
#include "terms/normsys/exponential.cuh"
#include "terms/normsys/linear.cuh"
#include "terms/normsys/polynomial.cuh"

namespace ns {

// Makes the enclosing function return the member `ask` of the structure of interpolation code `code`. An
// unknown code ends the kernel.
#define NS_OF_NORMSYS(ask)                                 \
    switch ((NormsysCode)code) {                           \
        case NormsysCode::CODE0: return NormsysCode0::ask; \
        case NormsysCode::CODE1: return NormsysCode1::ask; \
        case NormsysCode::CODE4: return NormsysCode4::ask; \
        case NormsysCode::CODE6: return NormsysCode6::ask; \
    }                                                      \
    trap();                                                \
    return {}

// Returns which kind of function the factor of a code is at |alpha| = `size`.
NS_DEVICE Piece normsys_piece(int code, double size) {
    NS_OF_NORMSYS(piece(size));
}

// Computes the factor of term `i` at `alpha`, and its derivative divided by the factor (`ratio`). At a kink,
// the derivative is the mean of the slopes on both sides. The caller reads the coefficients of the
// polynomial, so that they are loaded in parallel with `alpha`.
NS_DEVICE void normsys(
    const Plan& plan, int code, int i, Pair high, Pair middle, Pair low, double alpha, double& factor, double& ratio
) {
    double size = fabs(alpha);
    Piece piece = normsys_piece(code, size);
    if (piece == Piece::POLYNOMIAL) {
        double first;
        polynomial(high, middle, low, alpha, factor, first);
        ratio = first * reciprocal(factor);
        return;
    }
    Pair rate = plan.norm_rate[i];
    double side = alpha < 0.0 ? rate.b : rate.a;
    ratio = alpha < 0.0 ? -rate.b : alpha > 0.0 ? rate.a : 0.5 * (rate.a - rate.b);
    if (piece == Piece::EXPONENTIAL) {
        factor = exponential(size * side);
    } else {
        factor = linear(size, side);
        ratio *= reciprocal(factor);
    }
}

// Returns the second derivative of the factor of term `i` divided by the factor, minus the square of `ratio`.
// For an exponential this difference is 0, also at its kink. The second derivative of a line is 0.
NS_DEVICE double normsys_second_derivative(const Plan& plan, int code, int i, double alpha, double factor, double ratio) {
    Piece piece = normsys_piece(code, fabs(alpha));
    if (piece != Piece::POLYNOMIAL) return piece == Piece::LINEAR ? -ratio * ratio : 0.0;
    const Pair* c = plan.norm_coefficient + i;
    double second = polynomial_second(c[0], c[plan.n_terms], c[2 * plan.n_terms], alpha);
    return fma(-ratio, ratio, second * reciprocal(factor));
}

// Returns whether the slope of the code jumps at 0.
NS_DEVICE bool normsys_has_kink(int code) {
    NS_OF_NORMSYS(KINK);
}

// Returns the code without kink that replaces `code` in a smooth approximation of the model.
NS_DEVICE int normsys_smooth(int code) {
    NS_OF_NORMSYS(SMOOTH);
}

// Returns half the difference of the slopes on both sides of 0, divided by the factor at 0, for term `i`.
NS_DEVICE double normsys_jump(const Plan& plan, int i) {
    Pair rate = plan.norm_rate[i];
    return 0.5 * (rate.a + rate.b);
}

}  // namespace ns
