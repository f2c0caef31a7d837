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
    ATAN2,
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
    ERF,
    ERFC,
    SINH,
    COSH,
    TANH,
    RECIPROCAL,
    POWER,
};

// How the kernels compute a leaf: by the operations of its formula, or by a function of its own.
enum class LeafKind {
    PROGRAM,
    GAUSSIAN,
    EXPONENTIAL,
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
    // Value of `LeafKind`. The rest is for leaves with a function of their own.
    int kind;
    // Index of the first of its variables in the numbers that change with the parameters.
    int numbers;
    int observable;
    // Lower and upper end of the observable's axis.
    double axis[2];
};
static_assert(sizeof(EventLeaf) == 64, "as on the host");

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
    // Number of second derivatives of the density that can differ from zero.
    int n_bends;
    // Number of sums over the events of a toy.
    int n_outputs;
    // For each pair of coordinates, in the order of a lower triangle, the index of its second derivative, or -1.
    const int* bends;
    // For each sum over the events of a toy, one row or the two rows whose product is added; -1 for no second row.
    const int2* outputs;
};
static_assert(sizeof(EventChannel) == 96, "as on the host");

// The parameter of `ns_event_sums` and `ns_event_totals`.
struct EventLaunch {
    EventChannel channel;
    uint64_t n_events;
    // Observables, one column of `n_events` numbers after the other.
    const double* columns;
    // Weights of the events; null if all are 1.
    const double* weights;
    // Numbers that change with the parameters: the amplitudes, then the results that all events share.
    const double* numbers;
    // Working memory of the thread blocks.
    double* room;
    // Doubles from the working memory of one thread block to that of the next.
    uint64_t room_stride;
    // Sums of each thread block.
    double* partials;
    // Sums over all events: value, magnitude of its terms, index of the first bad event, then gradient, squares
    // and bends (`events/sums.rs`).
    double* totals;
    // Number of thread blocks of `ns_event_sums`.
    int n_blocks;
    int padding;
};
static_assert(sizeof(EventLaunch) == 168, "as on the host");

// Events of one toy that one thread block adds up.
struct EventPiece {
    // Index of the first observable of the toy's first event. The columns of a toy follow each other.
    uint64_t start;
    // Number of events of the toy.
    uint64_t n_events;
    // First event of the piece.
    uint64_t first;
    // Number of events of the piece.
    int count;
    // Index of the toy's numbers that change with the parameters.
    int point;
};
static_assert(sizeof(EventPiece) == 32, "as on the host");

// The parameter of `ns_event_toys`.
struct EventToyLaunch {
    EventChannel channel;
    // Events of all toys.
    const double* columns;
    const EventPiece* pieces;
    // Numbers that change with the parameters, `n_numbers` for each toy.
    const double* numbers;
    uint64_t n_numbers;
    // Working memory of the thread blocks, unless it is in shared memory.
    double* room;
    // Doubles from the working memory of one thread block to that of the next.
    uint64_t room_stride;
    // For each piece, its sums, then the index of its first bad event.
    double* partials;
    int n_pieces;
    int padding;
};
static_assert(sizeof(EventToyLaunch) == 160, "as on the host");

// One cell of the hat below which events are drawn (`events/sample/hat.rs`).
struct EventCell {
    double begin;
    double low;
    double last;
    double slope;
    double sure;
};
static_assert(sizeof(EventCell) == 40, "as on the host");

// Events of one toy that one thread block draws.
struct EventDraw {
    uint64_t toy;
    // Index of the toy's first event in the columns.
    uint64_t start;
    // First event of the piece.
    uint32_t first;
    uint32_t count;
    // Slot of the toy's first event.
    uint32_t slot;
    uint32_t padding;
};
static_assert(sizeof(EventDraw) == 32, "as on the host");

// The parameter of `ns_event_draw`.
struct EventDrawLaunch {
    uint64_t seed;
    uint32_t hypothesis;
    uint32_t n_guide;
    const EventCell* cells;
    const uint32_t* guide;
    // One piece per thread block.
    const EventDraw* draws;
    double* columns;
    // Number of attempts that the bounds of the density neither accept nor reject.
    int* n_open;
    // The thread block and the event of each such attempt.
    int2* open;
    // Largest number of such attempts that can be listed.
    uint32_t most_open;
    uint32_t padding;
};
static_assert(sizeof(EventDrawLaunch) == 72, "as on the host");

// The parameter of `ns_event_place`.
struct EventPlaceLaunch {
    double* columns;
    // Indices in the columns.
    const uint64_t* places;
    const double* values;
    uint64_t count;
};
static_assert(sizeof(EventPlaceLaunch) == 32, "as on the host");

}  // namespace ns
