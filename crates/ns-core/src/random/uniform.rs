//! Uniform numbers with 53 random bits, which are never equal to an end of their interval.
//!
//! Both functions take two words, 64 bits, and keep the upper 53 bits as an integer `i` from 0 to
//! 2<sup>53</sup> - 1. The usual `(i + 1/2) / 2^53` is not used: for large `i` it needs a 54th digit, and its
//! largest value rounds to 1.

use super::constants::UNIFORM_STEP;

/// Returns the upper 53 bits of the 64-bit integer with the halves `high` and `low`.
#[inline]
const fn bits53(low: u32, high: u32) -> u64 {
    (((high as u64) << 32) | low as u64) >> 11
}

/// Returns a uniform number in (0, 1): `i / 2^53`, where `i` is the integer of the upper 53 bits of the 64-bit integer
/// with the halves `high` and `low`. For `i = 0` the result is 2<sup>-54</sup>.
///
/// If a threshold `t` is a multiple of 2<sup>-53</sup>, the number is below `t` with a probability of exactly
/// `t`. The smallest value is 2<sup>-54</sup>, the largest 1 - 2<sup>-53</sup>.
#[must_use]
#[inline]
pub const fn open_uniform(low: u32, high: u32) -> f64 {
    let i = bits53(low, high);
    if i == 0 { 0.5 * UNIFORM_STEP } else { i as f64 * UNIFORM_STEP }
}

/// Returns a uniform number in (-1/2, 1/2): `(i - 2^52 + 1/2) / 2^53`, where `i` is the integer of the upper 53 bits
/// of the 64-bit integer with the halves `high` and `low`.
///
/// Every value is represented exactly. The set of values is symmetric about 0 and does not contain 0. The distance to
/// the nearer end, `0.5 - |u|`, is exact too and at least 2<sup>-54</sup>.
#[must_use]
#[inline]
pub const fn centred_uniform(low: u32, high: u32) -> f64 {
    let i = bits53(low, high) as i64 - (1_i64 << 52);
    (i as f64 + 0.5) * UNIFORM_STEP
}
