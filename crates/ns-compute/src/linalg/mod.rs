//! Small dense linear algebra on row-major upper triangles, built on one product
//! kernel. At 20 to 1 000 columns it is about twice as fast as a general library
//! (`docs/benchmarks.md`), and it never allocates.

mod cholesky;
mod product;

pub(crate) use cholesky::{
    FROZEN, Pivots, factor_until, invert_factor, is_flat, is_negative, solve_lower, solve_upper,
};
pub(crate) use product::{Shape, product, product_until};
