//! Numbers that a kernel writes to memory of the host. The host waits for them there, which takes less time than a copy
//! from the device and an event after it.
//!
//! A number is two words of 64 bits. The lower half of a word is half of the number, the upper half is the number of the
//! call. A word is written whole, so that its upper half says whether it has arrived.

use ns_core::{Device, SessionError};

/// Reads the numbers of call `call` to `to`. `word` returns the current word with an index. Returns false if a word has
/// not arrived.
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

/// Returns the error that the kernel has ended without an answer.
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
