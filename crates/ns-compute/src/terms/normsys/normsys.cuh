// normsys: a factor on a sample that depends on one parameter (see mod.rs).
#pragma once
#include "plan.cuh"
#include "terms/normsys/code0.cuh"
#include "terms/normsys/code1.cuh"
#include "terms/normsys/code4.cuh"
#include "terms/normsys/code6.cuh"
#include "terms/normsys/exponential.cuh"
#include "terms/normsys/linear.cuh"
#include "terms/normsys/log_normal.cuh"
#include "terms/normsys/polynomial.cuh"

namespace ns {

// Returns, from the enclosing function, the member `ask` of the structure of the interpolation code `code`. An
// unknown code ends the kernel.
#define NS_OF_NORMSYS(ask)                                 \
    switch ((NormsysCode)code) {                           \
        case NormsysCode::CODE0: return NormsysCode0::ask; \
        case NormsysCode::CODE1: return NormsysCode1::ask; \
        case NormsysCode::CODE4: return NormsysCode4::ask; \
        case NormsysCode::CODE6: return NormsysCode6::ask; \
        case NormsysCode::LNN: return NormsysLogNormal::ask; \
    }                                                      \
    trap();                                                \
    return {}

// Returns the kind of function that the factor is at |alpha| = `size`.
NS_DEVICE Piece normsys_piece(int code, double size) {
    NS_OF_NORMSYS(piece(size));
}

// Computes the factor of term `i` at `alpha`, and its derivative divided by the factor (`ratio`). At a kink, the
// derivative is the mean of the slopes on both sides. The caller reads the coefficients of the polynomial. They are
// then loaded in parallel with `alpha`.
NS_DEVICE void normsys(
    const Plan& plan, int code, int i, Pair high, Pair middle, Pair low, double alpha, double& factor, double& ratio
) {
    double size = fabs(alpha), exponent;
    Piece piece = normsys_piece(code, size);
    if (piece == Piece::POLYNOMIAL || piece == Piece::LOG_POLYNOMIAL) {
        double value, first;
        polynomial(high, middle, low, alpha, value, first);
        if (piece == Piece::POLYNOMIAL) {
            factor = value;
            ratio = first * reciprocal(value);
            return;
        }
        exponent = value - 1.0;
        ratio = first;
    } else {
        Pair rate = plan.norm_rate[i];
        double side = alpha < 0.0 ? rate.b : rate.a;
        ratio = alpha < 0.0 ? -rate.b : alpha > 0.0 ? rate.a : 0.5 * (rate.a - rate.b);
        if (piece == Piece::LINEAR) {
            factor = linear(size, side);
            ratio *= reciprocal(factor);
            return;
        }
        exponent = size * side;
    }
    factor = exponential(exponent);
}

// Returns the second derivative of the factor of term `i` divided by the factor, minus the square of `ratio`. This
// difference is 0 for an exponential, also at its kink, and the second derivative of the exponent in general. For a
// line, the second derivative is 0.
NS_DEVICE double normsys_second_derivative(const Plan& plan, int code, int i, double alpha, double factor, double ratio) {
    Piece piece = normsys_piece(code, fabs(alpha));
    if (piece == Piece::EXPONENTIAL) return 0.0;
    if (piece == Piece::LINEAR) return -ratio * ratio;
    const Pair* c = plan.norm_coefficient + i;
    double second = polynomial_second(c[0], c[plan.n_terms], c[2 * plan.n_terms], alpha);
    return piece == Piece::LOG_POLYNOMIAL ? second : fma(-ratio, ratio, second * reciprocal(factor));
}

// Computes the coefficients of alpha to alpha^6 for any number type `T`, given the factors at -1 and 1.
template <class T>
NS_DEVICE void normsys_coefficients(int code, T lo, T hi, T (&c)[6]) {
    switch ((NormsysCode)code) {
        case NormsysCode::CODE0: return NormsysCode0::coefficients(lo, hi, c);
        case NormsysCode::CODE1: return NormsysCode1::coefficients(lo, hi, c);
        case NormsysCode::CODE4: return NormsysCode4::coefficients(lo, hi, c);
        case NormsysCode::CODE6: return NormsysCode6::coefficients(lo, hi, c);
        case NormsysCode::LNN: return NormsysLogNormal::coefficients(lo, hi, c);
    }
    trap();
}

// Returns the rate of the factor outside the range of the polynomial, on the side of 0 on which the factor at |alpha|
// = 1 is `factor`.
NS_DEVICE double normsys_rate(int code, double factor) {
    bool grows = normsys_piece(code, infinity()) == Piece::EXPONENTIAL;
    return grows ? exponential_rate(factor) : linear_rate(factor);
}

// Returns the derivatives of the factor `value` at `alpha` with respect to the factors `lo` at -1 and `hi` at 1.
NS_DEVICE Pair normsys_by_factors(int code, double alpha, double lo, double hi, double value) {
    double size = fabs(alpha);
    Piece piece = normsys_piece(code, size);
    if (piece == Piece::POLYNOMIAL || piece == Piece::LOG_POLYNOMIAL) {
        Dual by_lo[6], by_hi[6];
        normsys_coefficients(code, Dual{lo, 1.0}, Dual{hi, 0.0}, by_lo);
        normsys_coefficients(code, Dual{lo, 0.0}, Dual{hi, 1.0}, by_hi);
        Pair sum = {0.0, 0.0};
        for (int i = 5; i >= 0; i--) {
            sum.a = (sum.a + by_lo[i].first) * alpha;
            sum.b = (sum.b + by_hi[i].first) * alpha;
        }
        if (piece == Piece::LOG_POLYNOMIAL) sum.a *= value, sum.b *= value;
        return sum;
    }
    double side = alpha > 0.0 ? hi : lo;
    double by_side = piece == Piece::EXPONENTIAL ? size * value / side : size;
    return alpha > 0.0 ? Pair{0.0, by_side} : Pair{by_side, 0.0};
}

// Returns whether the slope of an interpolation code jumps at 0.
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
