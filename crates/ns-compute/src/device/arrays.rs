//! Working arrays of the kernels. `kernels/structures.cuh` declares them too; it is generated (`header.rs`).

#[cfg(test)]
use super::declare::Declaration;
use super::declare::enumeration;

enumeration! {
    /// Working arrays of one thread block. The arrays before FIRST_GLOBAL are in shared memory if the model
    /// is small enough, otherwise in the block's slab (its part of device memory).
    Array, arrays {
        BlockData, Trial, Gradient, Curved, Slope, Direction, Theta, Held, From, To,
        Lambda, BinSlope, Weight, Bins, Root, Main, Aux,
        Norm, Scale, Total, Others, Additive, Binwise,
        Parts, BinsTo, Column, Matrix, Local, LocalReaction, Dual, Right, Moves, Inner, Scaled, Columns, Reaction,
        /// These four arrays are used only in fits whose metric has the derivatives at their own point (see
        /// own_derivatives.cuh).
        CellScale, Yield, Derivatives, Bends,
        /// This array and all later ones are always in the slab.
        Factor, Ratio, Lower, Upper, Start, Best, BestHeld, Empty, Snapshot, Steps, Changes, Data, Jump, Side, Rise,
        /// Values and derivatives of functions of parameters (see functions.cuh).
        Functions,
        /// Heights along one parameter of functions, then the lowest points in other valleys along all of them.
        Folds,
    }
}

enumeration! {
    /// Further arrays for a Hessian. They come after the arrays of an evaluation in the block's slab.
    Extra, extras {
        /// First derivative `f'` of the histosys interpolation code, per parameter.
        First,
        /// Second derivative `f''` of the histosys interpolation code, per parameter.
        Second,
        /// Rank of each parameter. Scalar parameters, which act on all bins of a sample, have the lowest
        /// ranks.
        Rank,
        /// Second derivative of the Poisson term by the expected yield, per bin.
        Curvature,
        /// Product `G` of the per-bin factors of a cell, per cell.
        Product,
        /// Sum of `r G A` over the cells of a block, per block (see hessian.cuh).
        Bare,
        /// Product `N F` of the factor's block without this factor, per scalar factor.
        Left,
        /// Index of the block, per scalar factor.
        Owner,
        /// Derivative of `N` divided by `N`, blocks x scalar parameters.
        Ratios,
        /// Derivative of `S = N F`, blocks x scalar parameters.
        Rates,
        /// Derivative of BARE through its factor `A`, blocks x scalar parameters.
        Tilts,
        /// Derivative of the expected yield, bins x parameters (and columns).
        Jacobian,
        /// Hessian with respect to parameters and columns, in models with functions.
        Whole,
    }
}

/// Number of working arrays.
pub(super) const N_ARRAYS: usize = Array::ALL.len();

/// Number of offsets in a launch: `N_ARRAYS` rounded up to an even number, so that the next field is aligned.
pub(super) const N_OFFSETS: usize = N_ARRAYS.next_multiple_of(2);

/// Index of the first array that is always in the block's slab of device memory.
pub(super) const FIRST_GLOBAL: usize = Array::Factor as usize;

/// Number of arrays that only a Hessian needs.
pub(super) const N_EXTRA: usize = Extra::ALL.len();
