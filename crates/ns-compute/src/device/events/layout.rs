//! Structures of the kernels that sum over events. `kernels/event_structures.cuh` is generated from this file
//! (`header.rs`).

use bytemuck::{Pod, Zeroable};

#[cfg(test)]
use super::super::declare::Declaration;
use super::super::declare::{Element, Field, enumeration, structures};
use super::super::offset::{Offset, OffsetMut};

enumeration! {
    /// Operations of the formulas of densities.
    EventCode, event_codes {
        Observable, Table, Add, Sub, Mul, Div, Pow, Atan2, Less, LessEqual, Equal, Select,
        Neg, Exp, Ln, Sqrt, Abs, Sin, Cos, Tan, Asin, Acos, Atan, Asinh, Erf, Erfc, Sinh, Cosh,
        Tanh, Reciprocal, Power,
    }
}

enumeration! {
    /// How the kernels compute a leaf: by the operations of its formula, or by a function of its own.
    LeafKind, leaf_kinds {
        Program, Gaussian, Exponential,
    }
}

structures! {
    /// One operation of the formula of a density. Results have `1 + d + d (d + 1) / 2` components for the `d`
    /// variables of the density: value, first and second derivatives. An operand is the index of the first
    /// component of a result for one event, or, if it is negative, -1 minus that of a result that all events share
    /// (`EventLaunch::numbers`).
    EventStep {
        /// Value of `EventCode`.
        code: i32,
        /// Index of the first component of the result.
        to: i32,
        operands: [i32; 3],
        /// Observable (OBSERVABLE) or index of the table (TABLE).
        source: i32,
        /// Row of the table.
        row: i32,
        /// Range in `EventChannel::singles` of the variables with a first derivative.
        first: [i32; 2],
        /// Range in `EventChannel::pairs` of the pairs of variables with a second derivative.
        second: [i32; 2],
        padding: i32,
        /// Exponent (POWER).
        number: f64,
    }

    /// A density before its normalisation.
    EventLeaf {
        n_variables: i32,
        /// Coordinate of the first variable.
        first: i32,
        /// Range of its operations in `EventChannel::steps`.
        steps: [i32; 2],
        /// Its value, as an operand.
        result: i32,
        /// Range in `EventChannel::singles` of the variables with a first derivative.
        singles: [i32; 2],
        /// Range in `EventChannel::pairs` of the pairs of variables with a second derivative.
        pairs: [i32; 2],
        /// Value of `LeafKind`. The rest is for leaves with a function of their own.
        kind: i32,
        /// Index of the first of its variables in the numbers that change with the parameters.
        numbers: i32,
        observable: i32,
        /// Lower and upper end of the observable's axis.
        axis: [f64; 2],
    }

    /// A function of observables that is given by numbers.
    EventTable {
        /// 1 for natural cubic splines, 0 for a histogram.
        is_spline: i32,
        n_axes: i32,
        /// Observable and number of edges or knots of each axis.
        axes: Offset<[i32; 2]>,
        /// Edges or knots, axis after axis.
        edges: Offset<f64>,
        /// Heights of the bins, the last axis varying fastest; or second derivatives of spline `j` at knot `i`, at
        /// `i n + j`.
        numbers: Offset<f64>,
    }

    /// An event channel: its density is the sum over terms of an amplitude times a product of leaves.
    EventChannel {
        n_terms: i32,
        n_leaves: i32,
        /// Number of coordinates of the sums: the terms, then the variables of all leaves.
        n_coordinates: i32,
        /// Number of components of all results for one event.
        n_components: i32,
        leaves: Offset<EventLeaf>,
        steps: Offset<EventStep>,
        singles: Offset<i32>,
        pairs: Offset<[i32; 2]>,
        /// Range of each term in `term_leaves`.
        terms: Offset<[i32; 2]>,
        term_leaves: Offset<i32>,
        tables: Offset<EventTable>,
        /// Number of second derivatives of the density that can differ from zero.
        n_bends: i32,
        /// Number of sums over the events of a toy.
        n_outputs: i32,
        /// For each pair of coordinates, in the order of a lower triangle, the index of its second derivative, or -1.
        bends: Offset<i32>,
        /// For each sum over the events of a toy, one row or the two rows whose product is added; -1 for no second row.
        outputs: Offset<[i32; 2]>,
    }

    /// The parameter of `ns_event_sums` and `ns_event_totals`.
    EventLaunch {
        channel: EventChannel,
        n_events: u64,
        /// Observables, one column of `n_events` numbers after the other.
        columns: Offset<f64>,
        /// Weights of the events; null if all are 1.
        weights: Offset<f64>,
        /// Numbers that change with the parameters: the amplitudes, then the results that all events share.
        numbers: Offset<f64>,
        /// Working memory of the thread blocks.
        room: OffsetMut<f64>,
        /// Doubles from the working memory of one thread block to that of the next.
        room_stride: u64,
        /// Sums of each thread block.
        partials: OffsetMut<f64>,
        /// Sums over all events: value, magnitude of its terms, index of the first bad event, then gradient, squares
        /// and bends (`events/sums.rs`).
        totals: OffsetMut<f64>,
        /// Number of thread blocks of `ns_event_sums`.
        n_blocks: i32,
        padding: i32,
    }
    /// Events of one toy that one thread block adds up.
    EventPiece {
        /// Index of the first observable of the toy's first event. The columns of a toy follow each other.
        start: u64,
        /// Number of events of the toy.
        n_events: u64,
        /// First event of the piece.
        first: u64,
        /// Number of events of the piece.
        count: i32,
        /// Index of the toy's numbers that change with the parameters.
        point: i32,
    }

    /// The parameter of `ns_event_toys`.
    EventToyLaunch {
        channel: EventChannel,
        /// Events of all toys.
        columns: Offset<f64>,
        pieces: Offset<EventPiece>,
        /// Numbers that change with the parameters, `n_numbers` for each toy.
        numbers: Offset<f64>,
        n_numbers: u64,
        /// Working memory of the thread blocks, unless it is in shared memory.
        room: OffsetMut<f64>,
        /// Doubles from the working memory of one thread block to that of the next.
        room_stride: u64,
        /// For each piece, its sums, then the index of its first bad event.
        partials: OffsetMut<f64>,
        n_pieces: i32,
        padding: i32,
    }

    /// One cell of the hat below which events are drawn (`events/sample/hat.rs`).
    EventCell {
        begin: f64,
        low: f64,
        last: f64,
        slope: f64,
        sure: f64,
    }

    /// Events of one toy that one thread block draws.
    EventDraw {
        toy: u64,
        /// Index of the toy's first event in the columns.
        start: u64,
        /// First event of the piece.
        first: u32,
        count: u32,
        /// Slot of the toy's first event.
        slot: u32,
        padding: u32,
    }

    /// The parameter of `ns_event_draw`.
    EventDrawLaunch {
        seed: u64,
        hypothesis: u32,
        n_guide: u32,
        cells: Offset<EventCell>,
        guide: Offset<u32>,
        /// One piece per thread block.
        draws: Offset<EventDraw>,
        columns: OffsetMut<f64>,
        /// Number of attempts that the bounds of the density neither accept nor reject.
        n_open: OffsetMut<i32>,
        /// The thread block and the event of each such attempt.
        open: OffsetMut<[i32; 2]>,
        /// Largest number of such attempts that can be listed.
        most_open: u32,
        padding: u32,
    }

    /// The parameter of `ns_event_place`.
    EventPlaceLaunch {
        columns: OffsetMut<f64>,
        /// Indices in the columns.
        places: Offset<u64>,
        values: Offset<f64>,
        count: u64,
    }
}
