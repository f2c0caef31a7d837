//! Parses and evaluates expressions such as `300*mu*pow(1.1, theta)`. Parsing turns text into an [`Expression`].
//!
//! ```
//! # fn main() -> Result<(), ns_unbinned::expression::ExpressionError> {
//! use ns_unbinned::expression::Expression;
//!
//! let yields = Expression::parse("300*mu*pow(1.1, theta)")?;
//! assert_eq!(yields.names(), ["mu", "theta"]);
//! assert_eq!(yields.value(|i| [2.0, 0.0][i]), 600.0);
//! # Ok(())
//! # }
//! ```
//!
//! The language is that of section 3.1 of the HS3 standard, version 0.2.9. It has two additions, because ROOT writes
//! them: the conditional operator `a ? b : c`, and functions beyond those of the standard, some of them with the prefix
//! `TMath::`. Logical values are numbers: 0
//! is false, and any other number is true. Comparisons give 0 or 1.

mod error;
mod evaluate;
mod function;
mod node;
mod parse;
mod tape;
mod token;
mod write;

pub use error::{ExpressionError, Mistake};
pub use function::Function;
pub use node::{Binary, Expression, Node, Unary};
pub use parse::{LONGEST, NESTING};
pub use write::{is_name, text, with_names};

#[cfg(test)]
mod tests;
