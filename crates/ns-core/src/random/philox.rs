//! Philox4x32-10, which turns a counter of 128 bits into 128 random bits, with a key of 64 bits.
//!
//! J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11
//! (2011), [doi:10.1145/2063384.2063405](https://doi.org/10.1145/2063384.2063405). The authors report that
//! the numbers of Philox pass TestU01's BigCrush, within one stream and between streams. Seven rounds are the
//! least that pass, so ten rounds leave a margin of three.
//!
//! One round multiplies two of the four counter words by constants, to products of 64 bits. It combines the
//! high halves with the other two words and the key by exclusive or. After each round constants are added to
//! the key.

use super::constants::{
    PHILOX_MULTIPLIER_0, PHILOX_MULTIPLIER_2, PHILOX_ROUNDS, PHILOX_WEYL_0, PHILOX_WEYL_1,
};
use super::lanes::per_lane;

/// Returns the high and the low half (32 bits each) of the 64-bit product of two words.
#[inline]
const fn multiply(a: u32, b: u32) -> (u32, u32) {
    let product = (a as u64) * (b as u64);
    ((product >> 32) as u32, product as u32)
}

/// Computes Philox4x32 with ten rounds. The result is the block of 128 random bits that belongs to `counter` and `key`.
///
/// For a fixed key this function is a bijection of the counters. It is not cryptographically secure.
///
/// ```
/// let block = ns_core::random::philox4x32_10([0; 4], [0; 2]);
/// assert_eq!(block, [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
/// ```
#[must_use]
#[inline]
pub const fn philox4x32_10(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    let [mut k0, mut k1] = key;
    let mut round = 0;
    while round < PHILOX_ROUNDS {
        let (high_0, low_0) = multiply(PHILOX_MULTIPLIER_0, c0);
        let (high_2, low_2) = multiply(PHILOX_MULTIPLIER_2, c2);
        (c0, c1, c2, c3) = (high_2 ^ c1 ^ k0, low_2, high_0 ^ c3 ^ k1, low_0);
        k0 = k0.wrapping_add(PHILOX_WEYL_0);
        k1 = k1.wrapping_add(PHILOX_WEYL_1);
        round += 1;
    }
    [c0, c1, c2, c3]
}

/// Computes [`philox4x32_10`] for eight counters side by side. In the counters, the keys and the result, element
/// `[w][l]` is word `w` of the counter, key or block with the index `l`.
#[inline(always)]
pub(super) fn eight(counters: [[u32; 8]; 4], keys: [[u32; 8]; 2]) -> [[u32; 8]; 4] {
    // The words are kept in 64-bit integers, as their products are, because vector units multiply eight
    // 64-bit integers at once.
    let wide = |words: [u32; 8]| per_lane(|l| u64::from(words[l]));
    let [c0, c1, c2, c3] = counters;
    let (mut c0, mut c1, mut c2, mut c3) = (wide(c0), wide(c1), wide(c2), wide(c3));
    let [mut k0, mut k1] = keys;
    for _ in 0..PHILOX_ROUNDS {
        let product_0: [u64; 8] = per_lane(|l| c0[l] * u64::from(PHILOX_MULTIPLIER_0));
        let product_2: [u64; 8] = per_lane(|l| c2[l] * u64::from(PHILOX_MULTIPLIER_2));
        c0 = per_lane(|l| (product_2[l] >> 32) ^ c1[l] ^ u64::from(k0[l]));
        c1 = per_lane(|l| product_2[l] & LOW);
        c2 = per_lane(|l| (product_0[l] >> 32) ^ c3[l] ^ u64::from(k1[l]));
        c3 = per_lane(|l| product_0[l] & LOW);
        k0 = per_lane(|l| k0[l].wrapping_add(PHILOX_WEYL_0));
        k1 = per_lane(|l| k1[l].wrapping_add(PHILOX_WEYL_1));
    }
    let narrow = |words: [u64; 8]| per_lane(|l| words[l] as u32);
    [narrow(c0), narrow(c1), narrow(c2), narrow(c3)]
}

/// Mask that selects the lower 32 bits of a 64-bit product.
const LOW: u64 = 0xffff_ffff;

#[cfg(test)]
mod tests {
    use super::{eight, philox4x32_10};

    #[test]
    fn eight_blocks_are_those_of_one_at_a_time() {
        let word = |w: u32, l: usize| 0x9e37_79b9_u32.wrapping_mul(7 * w + l as u32 + 1);
        let counters: [[u32; 8]; 4] = std::array::from_fn(|w| std::array::from_fn(|l| word(w as u32, l)));
        let keys: [[u32; 8]; 2] = std::array::from_fn(|w| std::array::from_fn(|l| word(9 + w as u32, l)));
        let blocks = eight(counters, keys);
        for l in 0..8 {
            let one = philox4x32_10(counters.map(|c| c[l]), keys.map(|k| k[l]));
            assert_eq!(blocks.map(|b| b[l]), one);
        }
    }
}
