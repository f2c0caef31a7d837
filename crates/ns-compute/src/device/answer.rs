//! Reads results that a kernel writes directly to memory of the host. Waiting for these results takes less time than
//! waiting for a copy from the device.
//!
//! A result is a 64-bit floating-point number, which the kernel writes as two words of 64 bits. The high 32 bits of a
//! word contain the number of the call. The low 32 bits contain half of the bits of the result. The device writes a
//! word as a whole. The number of the call therefore shows whether the word has arrived.

use ns_core::{Device, SessionError};

/// Writes the results of the call number `call` to `to` and returns true. `word` returns the current value of the word
/// with the given index. Returns false if a word has not arrived yet.
pub(super) fn answered(word: impl Fn(usize) -> u64, call: u32, to: &mut [f64]) -> bool {
    for (i, to) in to.iter_mut().enumerate() {
        let (high, low) = (word(2 * i), word(2 * i + 1));
        if high >> 32 != u64::from(call) || low >> 32 != u64::from(call) {
            return false;
        }
        *to = f64::from_bits(high << 32 | low & u64::from(u32::MAX));
    }
    true
}

/// Returns the error for a kernel that has ended without writing its results.
pub(super) fn no_answer(device: Device) -> SessionError {
    SessionError::DeviceRefused {
        device,
        doing: "waiting for results",
        error: "a kernel ended without its results".to_owned(),
        remedy: "This is a defect of the program: please report it with this message and the name of the GPU",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_arrived_with_all_their_words() {
        let numbers = [-1.5e300, 0.1, f64::INFINITY];
        let words = |call: u64| {
            let halves = |x: f64| [x.to_bits() >> 32, x.to_bits() & 0xffff_ffff];
            numbers.iter().flat_map(|&x| halves(x)).map(|half| call << 32 | half).collect::<Vec<_>>()
        };
        let mut to = [0.0; 3];
        assert!(answered(|i| words(7)[i], 7, &mut to));
        assert_eq!(to, numbers);
        for late in 0..6 {
            assert!(!answered(|i| words(if i == late { 6 } else { 7 })[i], 7, &mut to), "{late}");
        }
    }
}
