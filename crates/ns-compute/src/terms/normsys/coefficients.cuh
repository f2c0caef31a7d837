// Coefficients of the polynomials of normsys factors, for any number type `T` (see code4.rs, code6.rs and log_normal.rs).
#pragma once
#include "dual.cuh"

namespace ns {

// Computes the coefficients of alpha to alpha^6 for code4, given the factors at -1 and 1.
template <class T>
NS_DEVICE void coefficients_of_code4(T lo, T hi, T (&c)[6]) {
    T log_hi = logarithm(hi), log_lo = logarithm(lo);
    // Value (minus 1), first and second derivatives at 1, and the same at -1 (mirrored).
    T v_up = hi - 1.0, d_up = hi * log_hi, s_up = d_up * log_hi;
    T v_dn = lo - 1.0, minus_d_dn = lo * log_lo, s_dn = minus_d_dn * log_lo;
    T even[3] = {0.5 * (v_up + v_dn), 0.5 * (d_up + minus_d_dn), 0.5 * (s_up + s_dn)};
    T odd[3] = {0.5 * (v_up - v_dn), 0.5 * (d_up - minus_d_dn), 0.5 * (s_up - s_dn)};
    c[5] = even[0] + -0.625 * even[1] + 0.125 * even[2];
    c[3] = -3.0 * even[0] + 1.75 * even[1] + -0.25 * even[2];
    c[1] = 3.0 * even[0] + -1.125 * even[1] + 0.125 * even[2];
    c[4] = 0.375 * odd[0] + -0.375 * odd[1] + 0.125 * odd[2];
    c[2] = -1.25 * odd[0] + 1.25 * odd[1] + -0.25 * odd[2];
    c[0] = 1.875 * odd[0] + -0.875 * odd[1] + 0.125 * odd[2];
}

// Computes the coefficients of alpha to alpha^6 for code6, given the factors at -1 and 1.
template <class T>
NS_DEVICE void coefficients_of_code6(T lo, T hi, T (&c)[6]) {
    T s = 0.5 * (hi - lo), a = 0.5 * ((hi - 1.0) + (lo - 1.0));
    c[0] = s;
    c[1] = 1.875 * a;
    c[2] = 0.0 * a;
    c[3] = -1.25 * a;
    c[4] = 0.0 * a;
    c[5] = 0.375 * a;
}

// Computes the coefficients of alpha to alpha^6 of the logarithm of the factor for lnN, given the factors at -1 and 1.
template <class T>
NS_DEVICE void coefficients_of_log_normal(T lo, T hi, T (&c)[6]) {
    T log_hi = logarithm(hi), log_lo = logarithm(lo);
    T a = 0.5 * (log_hi - log_lo), d = 0.5 * (log_hi + log_lo);
    c[0] = a;
    c[1] = 3.75 * d;
    c[2] = 0.0 * d;
    c[3] = -10.0 * d;
    c[4] = 0.0 * d;
    c[5] = 12.0 * d;
}

}  // namespace ns
