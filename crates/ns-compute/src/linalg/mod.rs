//! Small dense linear algebra with upper triangles that are stored row by row. All functions use one function for
//! products of matrices. For 20 to 1 000 columns they are about twice as fast as a general library
//! (`docs/benchmarks.md`). They never allocate memory.

mod cholesky;
mod product;

pub(crate) use cholesky::{
    FROZEN, Pivots, factor_until, invert_factor, is_flat, is_negative, solve_lower, solve_upper,
};
pub(crate) use product::{Shape, product, product_until};
