//! Densities beyond the range of doubles.
//!
//! Far from the data a density is often smaller than the smallest double: the normal density is 0 at 39 standard
//! deviations. Its logarithm and the derivatives of the logarithm are ordinary numbers. Events whose density is not
//! well within the range of doubles are therefore evaluated with numbers whose exponent is an integer of its own
//! ([`Wide`]), by the same programs. If integrals are out of range too, all events of the channel are.

mod amplitudes;
mod event;
mod functions;
mod number;
mod run;

pub(super) use amplitudes::WideAmplitudes;
pub(super) use event::{EventMemory, add_event};
pub(super) use functions::exponential;
pub(super) use number::Wide;
pub(super) use run::{WideInput, WideMemory, WideSources};

#[cfg(test)]
mod tests;

/// Densities, integrals and amplitudes with an absolute value in this range are computed with doubles. The range leaves
/// room for products of two of them, for second derivatives, and for inverse powers.
pub(super) const RANGE: (f64, f64) = (1e-140, 1e140);

/// Returns whether doubles can be used for a number and what is computed from it.
pub(super) fn in_range(x: f64) -> bool {
    let size = x.abs();
    RANGE.0 < size && size < RANGE.1
}
