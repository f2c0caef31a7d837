// A number with its derivative with respect to one variable. Formulas that are written for any number type use it.
#pragma once
#include "block.cuh"

namespace ns {

struct Dual {
    double value, first;
};

NS_DEVICE Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.first + b.first}; }
NS_DEVICE Dual operator-(Dual a, Dual b) { return {a.value - b.value, a.first - b.first}; }
NS_DEVICE Dual operator*(Dual a, Dual b) { return {a.value * b.value, fma(a.value, b.first, a.first * b.value)}; }
NS_DEVICE Dual operator*(double a, Dual b) { return {a * b.value, a * b.first}; }
NS_DEVICE Dual operator-(Dual a, double b) { return {a.value - b, a.first}; }
NS_DEVICE Dual logarithm(Dual a) { return {log(a.value), a.first / a.value}; }
NS_DEVICE double logarithm(double a) { return log(a); }

}  // namespace ns
