//! Small dense linear algebra: products of matrices, and Cholesky factors with their solutions and inverses. Triangles
//! are stored row by row. The functions never allocate memory. For 20 to 1 000 columns they are about twice as fast as
//! a general library (`docs/benchmarks.md`).

mod cholesky;
mod product;

pub(crate) use cholesky::{
    FROZEN, Pivots, factor_until, invert_factor, is_flat, is_negative, solve_lower, solve_upper,
};
pub(crate) use product::{Shape, product, product_until};
