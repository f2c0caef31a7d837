// Operations that occur in the formulas of densities and of functions of parameters, with first and second derivatives
// (see src/events/program/elementary.rs and lookup.rs).
#pragma once
#include "event_structures.cuh"

namespace ns {

NS_DEVICE int triangle(int a, int b) { return a < b ? b * (b + 1) / 2 + a : a * (a + 1) / 2 + b; }
NS_DEVICE int pair_at(int d, int i, int j) { return 1 + d + triangle(i, j); }

// The variables, and the pairs of variables, with respect to which a result is differentiated.
struct Differentiated {
    const int *first, *first_end;
    const int2 *second, *second_end;
};

// The events of a channel, with everything that the formulas of their densities need. `weights` is null if all
// weights are 1.
struct Events {
    const EventChannel& channel;
    const double* columns;
    uint64_t n_events;
    const double* numbers;
    const double* weights;
};

// Computes `x^p` and its derivatives with respect to `x`. `x` may be 0.
NS_DEVICE void power_of_event(double x, double p, double& value, double& first, double& second) {
    value = pow(x, p);
    // For smaller `x`, `1/x` may be infinite.
    if (x > LEAST_NORMAL) {
        double inverse = 1.0 / x;
        first = p * value * inverse;
        second = (p - 1.0) * first * inverse;
        return;
    }
    first = p == 0.0 ? 0.0 : p * pow(x, p - 1.0);
    second = p == 0.0 || p == 1.0 ? 0.0 : p * (p - 1.0) * pow(x, p - 2.0);
}

constexpr double TWO_OVER_ROOT_PI = 1.1283791670955126;

// Computes the function `code` of `x`, or of `x` and `other()`. Writes six numbers to `f`: the value, the derivatives
// with respect to both arguments, and the second derivatives aa, ab and bb. Returns whether it is a function of two
// numbers. An unknown code ends the kernel.
template <class Other>
NS_DEVICE bool function_of_event(EventCode code, double number, double x, Other other, double (&f)[6]) {
    switch (code) {
        case EventCode::MUL: {
            double y = other();
            f[0] = x * y, f[1] = y, f[2] = x, f[4] = 1.0;
            return true;
        }
        case EventCode::DIV: {
            double r = 1.0 / other(), q = x * r;
            f[0] = q, f[1] = r, f[2] = -q * r, f[4] = -r * r, f[5] = 2.0 * q * r * r;
            return true;
        }
        case EventCode::POW: {
            double b = other(), l = x > 0.0 ? log(x) : 0.0, lower = pow(x, b - 1.0);
            power_of_event(x, b, f[0], f[1], f[3]);
            // A power of 0 is 0 or 1. Its derivatives with respect to the exponent are zero.
            f[2] = f[0] * l, f[4] = lower * (1.0 + b * l), f[5] = f[0] * l * l;
            return true;
        }
        case EventCode::ATAN2: {
            double y = other(), r = 1.0 / (x * x + y * y), by_x = y * r, by_y = -x * r, twice = 2.0 * by_x * by_y;
            f[0] = atan2(x, y), f[1] = by_x, f[2] = by_y, f[3] = twice, f[4] = by_y * by_y - by_x * by_x, f[5] = -twice;
            return true;
        }
        case EventCode::POWER: power_of_event(x, number, f[0], f[1], f[3]); return false;
        case EventCode::NEG: f[0] = -x, f[1] = -1.0; return false;
        case EventCode::EXP: f[0] = f[1] = f[3] = exp(x); return false;
        case EventCode::LN: {
            double r = 1.0 / x;
            f[0] = log(x), f[1] = r, f[3] = -r * r;
            return false;
        }
        case EventCode::SQRT: {
            double s = sqrt(x), r = 0.5 / s;
            f[0] = s, f[1] = r, f[3] = -0.5 * r / x;
            return false;
        }
        case EventCode::ABS: f[0] = fabs(x), f[1] = x < 0.0 ? -1.0 : 1.0; return false;
        case EventCode::SIN: f[0] = sin(x), f[1] = cos(x), f[3] = -f[0]; return false;
        case EventCode::COS: f[0] = cos(x), f[1] = -sin(x), f[3] = -f[0]; return false;
        case EventCode::TAN: {
            double t = tan(x), d = 1.0 + t * t;
            f[0] = t, f[1] = d, f[3] = 2.0 * t * d;
            return false;
        }
        case EventCode::ASIN:
        case EventCode::ACOS: {
            double r = 1.0 / (1.0 - x * x), s = sqrt(r), sign = code == EventCode::ASIN ? 1.0 : -1.0;
            f[0] = code == EventCode::ASIN ? asin(x) : acos(x), f[1] = sign * s, f[3] = sign * x * r * s;
            return false;
        }
        case EventCode::ATAN: {
            double r = 1.0 / (1.0 + x * x);
            f[0] = atan(x), f[1] = r, f[3] = -2.0 * x * r * r;
            return false;
        }
        case EventCode::ASINH: {
            double r = 1.0 / (1.0 + x * x), s = sqrt(r);
            f[0] = asinh(x), f[1] = s, f[3] = -x * r * s;
            return false;
        }
        case EventCode::ERF:
        case EventCode::ERFC: {
            // The slope is 0 where `x` is infinite, and the product would be NaN.
            double slope = (code == EventCode::ERF ? TWO_OVER_ROOT_PI : -TWO_OVER_ROOT_PI) * exp(-x * x);
            f[0] = code == EventCode::ERF ? erf(x) : erfc(x), f[1] = slope, f[3] = slope == 0.0 ? 0.0 : -2.0 * x * slope;
            return false;
        }
        case EventCode::SINH: f[0] = f[3] = sinh(x), f[1] = cosh(x); return false;
        case EventCode::COSH: f[0] = f[3] = cosh(x), f[1] = sinh(x); return false;
        case EventCode::TANH: {
            // `1 - tanh^2` would lose all digits for large arguments.
            double inverse = 1.0 / cosh(x), slope = inverse * inverse;
            f[0] = tanh(x), f[1] = slope, f[3] = -2.0 * f[0] * slope;
            return false;
        }
        case EventCode::RECIPROCAL: {
            double r = 1.0 / x;
            f[0] = r, f[1] = -r * r, f[3] = 2.0 * r * r * r;
            return false;
        }
        default: trap(); return false;
    }
}

// Computes the result of an operation on results with `d` variables. `of` returns a component of an operand, and `to` the place
// of a component of the result.
template <class Of, class To>
NS_DEVICE void apply(EventCode code, double number, const int (&operands)[3], int d, Differentiated by, Of of, To to) {
    int a = operands[0], b = operands[1];
    auto x = [&](int i) { return of(a, i); };
    auto y = [&](int i) { return of(b, i); };
    switch (code) {
        case EventCode::LESS: to(0) = x(0) < y(0) ? 1.0 : 0.0; return;
        case EventCode::LESS_EQUAL: to(0) = x(0) <= y(0) ? 1.0 : 0.0; return;
        case EventCode::EQUAL: to(0) = x(0) == y(0) ? 1.0 : 0.0; return;
        case EventCode::SELECT: {
            int chosen = x(0) != 0.0 ? b : operands[2];
            to(0) = of(chosen, 0);
            for (const int* v = by.first; v < by.first_end; v++) to(1 + *v) = of(chosen, 1 + *v);
            for (const int2* v = by.second; v < by.second_end; v++) {
                int at = pair_at(d, v->x, v->y);
                to(at) = of(chosen, at);
            }
            return;
        }
        case EventCode::ADD:
        case EventCode::SUB: {
            double sign = code == EventCode::ADD ? 1.0 : -1.0;
            to(0) = x(0) + sign * y(0);
            for (const int* v = by.first; v < by.first_end; v++) to(1 + *v) = x(1 + *v) + sign * y(1 + *v);
            for (const int2* v = by.second; v < by.second_end; v++) {
                int at = pair_at(d, v->x, v->y);
                to(at) = x(at) + sign * y(at);
            }
            return;
        }
        default: break;
    }
    // A function of one or two numbers: value, first derivatives, and second derivatives aa, ab and bb. The chain
    // rule follows.
    double f[6] = {};
    bool two = function_of_event(code, number, x(0), [&] { return y(0); }, f);
    to(0) = f[0];
    for (const int* v = by.first; v < by.first_end; v++) {
        double slope = f[1] * x(1 + *v);
        to(1 + *v) = two ? fma(f[2], y(1 + *v), slope) : slope;
    }
    for (const int2* v = by.second; v < by.second_end; v++) {
        int at = pair_at(d, v->x, v->y);
        double xv = x(1 + v->x), xw = x(1 + v->y);
        double bend = fma(f[1], x(at), f[3] * xv * xw);
        if (two) {
            double yv = y(1 + v->x), yw = y(1 + v->y);
            bend += f[2] * y(at) + f[4] * fma(xv, yw, xw * yv) + f[5] * yv * yw;
        }
        to(at) = bend;
    }
}

// Returns the index of the interval between two of the `n` edges that contains `x`, or -1 if there is none. The last
// edge belongs to the last interval.
NS_DEVICE int interval_of(const double* edges, int n, double x) {
    if (!(x >= edges[0] && x <= edges[n - 1])) return -1;
    int low = 0, high = n;
    // The loop finds the number of edges that are at most `x`.
    while (low < high) {
        int middle = (low + high) / 2;
        if (edges[middle] <= x) low = middle + 1;
        else high = middle;
    }
    return low - 1 < n - 2 ? low - 1 : n - 2;
}

// Returns the function `row` of a table for an event. It is the height of the event's bin, or the spline that is 1 at
// the knot `row`.
NS_DEVICE double table_at(const Events& events, const EventTable& table, int row, uint64_t event) {
    auto observable = [&](int2 axis) { return events.columns[axis.x * events.n_events + event]; };
    const double* edges = table.edges;
    if (!table.is_spline) {
        int index = 0, bins = 1;
        for (int k = 0; k < table.n_axes; k++) {
            int2 axis = table.axes[k];
            int bin = interval_of(edges, axis.y, observable(axis));
            if (bin < 0) return 0.0;
            index = index * (axis.y - 1) + bin;
            bins *= axis.y - 1;
            edges += axis.y;
        }
        return table.numbers[row * bins + index];
    }
    int2 axis = table.axes[0];
    int n = axis.y;
    double x = observable(axis);
    int i = interval_of(edges, n, x);
    if (i < 0) return 0.0;
    double h = edges[i + 1] - edges[i], a = (edges[i + 1] - x) / h, b = (x - edges[i]) / h;
    double value = (i == row ? a : 0.0) + (i + 1 == row ? b : 0.0);
    double curved = (a * a * a - a) * table.numbers[i * n + row] + (b * b * b - b) * table.numbers[(i + 1) * n + row];
    return value + curved * h * h / 6.0;
}

}  // namespace ns
