// What kernels and host share. Made from src/device/events/layout.rs (src/device/header.rs says how): do not edit.
#pragma once
#include "block.cuh"

namespace ns {

// Operations of the formulas of densities.
enum class EventCode {
    OBSERVABLE,
    TABLE,
    ADD,
    SUB,
    MUL,
    DIV,
    POW,
    LESS,
    LESS_EQUAL,
    EQUAL,
    SELECT,
    NEG,
    EXP,
    LN,
    SQRT,
    ABS,
    SIN,
    COS,
    TAN,
    ASIN,
    ACOS,
    ATAN,
    ASINH,
    RECIPROCAL,
    POWER,
};

// One operation of the formula of a density. Results have `1 + d + d (d + 1) / 2` components for the `d`
// variables of the density: value, first and second derivatives. An operand is the index of the first
// component of a result for one event, or, if it is negative, -1 minus that of a result that all events share
// (`EventLaunch::numbers`).
struct EventStep {
    // Value of `EventCode`.
    int code;
    // Index of the first component of the result.
    int to;
    int operands[3];
    // Observable (OBSERVABLE) or index of the table (TABLE).
    int source;
    // Row of the table.
    int row;
    // Range in `EventChannel::singles` of the variables with a first derivative.
    int first[2];
    // Range in `EventChannel::pairs` of the pairs of variables with a second derivative.
    int second[2];
    int padding;
    // Exponent (POWER).
    double number;
};
static_assert(sizeof(EventStep) == 56, "as on the host");

// A density before its normalisation.
struct EventLeaf {
    int n_variables;
    // Coordinate of the first variable.
    int first;
    // Range of its operations in `EventChannel::steps`.
    int steps[2];
    // Its value, as an operand.
    int result;
    // Range in `EventChannel::singles` of the variables with a first derivative.
    int singles[2];
    // Range in `EventChannel::pairs` of the pairs of variables with a second derivative.
    int pairs[2];
    int padding;
};
static_assert(sizeof(EventLeaf) == 40, "as on the host");

// A function of observables that is given by numbers.
struct EventTable {
    // 1 for natural cubic splines, 0 for a histogram.
    int is_spline;
    int n_axes;
    // Observable and number of edges or knots of each axis.
    const int2* axes;
    // Edges or knots, axis after axis.
    const double* edges;
    // Heights of the bins, the last axis varying fastest; or second derivatives of spline `j` at knot `i`, at
    // `i n + j`.
    const double* numbers;
};
static_assert(sizeof(EventTable) == 32, "as on the host");

// An event channel: its density is the sum over terms of an amplitude times a product of leaves.
struct EventChannel {
    int n_terms;
    int n_leaves;
    // Number of coordinates of the sums: the terms, then the variables of all leaves.
    int n_coordinates;
    // Number of components of all results for one event.
    int n_components;
    const EventLeaf* leaves;
    const EventStep* steps;
    const int* singles;
    const int2* pairs;
    // Range of each term in `term_leaves`.
    const int2* terms;
    const int* term_leaves;
    const EventTable* tables;
};
static_assert(sizeof(EventChannel) == 72, "as on the host");

// The parameter of `ns_event_sums` and `ns_event_totals`.
struct EventLaunch {
    EventChannel channel;
    uint64_t n_events;
    // Observables, one column of `n_events` numbers after the other.
    const double* columns;
    // Weights of the events; null if all are 1.
    const double* weights;
    // What changes with the parameters: the amplitudes, then results that all events share.
    const double* numbers;
    // Working memory of the thread blocks.
    double* room;
    // Doubles from the working memory of one thread block to that of the next.
    uint64_t room_stride;
    // Sums of each thread block.
    double* partials;
    // Sums of all: value, magnitude of its terms, index of the first bad event, then gradient, squares and
    // bends (`events/sums.rs`).
    double* totals;
    // Number of thread blocks of `ns_event_sums`.
    int n_blocks;
    int padding;
};
static_assert(sizeof(EventLaunch) == 144, "as on the host");

}  // namespace ns
