//! Random numbers that are a pure function of seed, toy, hypothesis and slot.
//!
//! There is no generator with a state. A [`Stream`] stands for one toy under one hypothesis, a *slot* for one
//! number of that toy (of a bin or an auxiliary datum), and an *attempt* counts the trials of a rejection
//! method. Toy, hypothesis, slot and attempt form the counter of Philox4x32-10, and the user's seed is its
//! key. A draw uses nothing but the resulting 128 bits. So a toy is the same on any thread, in any batch, in
//! any part of a divided run, and after a run is resumed.
//!
//! | what | from | method |
//! |---|---|---|
//! | [`philox4x32_10`] | counter and key | Salmon et al., SC11 |
//! | [`open_uniform`], [`centred_uniform`] | two words | 53 bits |
//! | [`Normal`] | one block | inversion, Wichura's AS 241 |
//! | [`Poisson`] | one block per attempt | inversion by a [`CountTable`] up to a mean of 1e4, Hörmann's PTRS above |
//!
//! # The same bits everywhere
//!
//! The samplers use integer operations, the IEEE 754 double operations `+ - * /` and `sqrt` rounded to
//! nearest, comparisons, `floor`, and conversions of integers that are exact. Logarithm and exponential are
//! [`ln`] and [`exp`] of this module, which are fixed sequences of such operations. The platform's functions
//! are never used. Multiplications and additions are never fused: Rust does not contract `a * b + c`, and a
//! device compiler needs an option for this (in CUDA `-fmad=false`, or `__dmul_rn` and `__dadd_rn`). A fused
//! multiply-add would be reproducible too, but a CPU without the instruction computes it in software, many
//! times slower, and the accuracy here does not need it. 32-bit x86 without SSE2 is not supported: it rounds
//! twice.

#[doc(hidden)]
pub mod constants;
mod count_table;
mod elementary;
mod lanes;
mod normal;
mod philox;
mod poisson;
mod probability;
mod uniform;

use thiserror::Error;

use self::lanes::per_lane;

pub use count_table::CountTable;
pub use elementary::{exp, ln};
pub use normal::{Normal, normal_quantile};
pub use philox::philox4x32_10;
pub use poisson::{Poisson, Rejection};
pub use uniform::{centred_uniform, open_uniform};

/// Version of the samplers. It changes whenever a bit of any draw changes, so that toys drawn before and after a change
/// are never combined. Version 2 is the first in which Poisson counts are looked up in tables.
pub const SAMPLERS: u32 = 2;

/// Reasons why random numbers cannot be drawn from a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[non_exhaustive]
pub enum RandomError {
    /// The mean of a Poisson distribution is negative, NaN, infinite or above [`Poisson::MAX_MEAN`].
    #[error("cannot draw a Poisson count with mean {mean}; the mean must be between 0 and {limit:e}")]
    PoissonMean {
        /// The mean.
        mean: f64,
        /// The largest mean allowed.
        limit: f64,
    },
    /// A normal distribution has a mean or a width that is not finite, or a negative width.
    #[error(
        "cannot draw from a normal distribution with mean {mean} and width {sigma}; both must be finite and the width not negative"
    )]
    NormalShape {
        /// The mean.
        mean: f64,
        /// The width.
        sigma: f64,
    },
}

/// The source of the random numbers of one toy under one hypothesis.
///
/// The counter of [`philox4x32_10`] has four 32-bit words, the key two:
///
/// | word | bits | content |
/// |---|---|---|
/// | counter 0 | 0-31 | toy index, low half |
/// | counter 1 | 0-31 | toy index, high half |
/// | counter 2 | 0-31 | slot |
/// | counter 3 | 24-31 | hypothesis |
/// | counter 3 | 0-23 | attempt |
/// | key 0, key 1 | 0-31 each | seed, low and high half |
///
/// With the same key, two different counters never give the same block: Philox is a bijection of the counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stream {
    seed: u64,
    toy: u64,
    hypothesis: u8,
}

impl Stream {
    /// Number of attempts (trials of a rejection method) at one slot that have different random bits. Attempt numbers
    /// are taken modulo this number.
    ///
    /// No sampler comes near this number: an attempt of a Poisson draw fails with a probability below 0.13.
    pub const ATTEMPTS: u32 = 1 << 24;

    /// Returns the stream of one toy, for the user's seed, the toy's index, and the number of the hypothesis
    /// under which the toy is drawn. The caller chooses the numbers of hypotheses.
    #[must_use]
    pub const fn new(seed: u64, toy: u64, hypothesis: u8) -> Self {
        Self { seed, toy, hypothesis }
    }

    /// Returns the user's seed.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// Returns the toy's index.
    #[must_use]
    pub const fn toy(&self) -> u64 {
        self.toy
    }

    /// Returns the number of the hypothesis.
    #[must_use]
    pub const fn hypothesis(&self) -> u8 {
        self.hypothesis
    }

    /// Returns the 128 random bits of one attempt at one slot for each of eight streams. Element `[w][l]` is word `w`
    /// (32 bits) of stream `l`.
    #[inline(always)]
    pub(crate) fn blocks(streams: &[Self; 8], slot: u32, attempt: u32) -> [[u32; 8]; 4] {
        let place = per_lane(|l| (u32::from(streams[l].hypothesis) << 24) | (attempt % Self::ATTEMPTS));
        let counters = [
            per_lane(|l| streams[l].toy as u32),
            per_lane(|l| (streams[l].toy >> 32) as u32),
            [slot; 8],
            place,
        ];
        let keys = [per_lane(|l| streams[l].seed as u32), per_lane(|l| (streams[l].seed >> 32) as u32)];
        philox::eight(counters, keys)
    }

    /// Returns the random bits of attempt 0 at eight consecutive slots, as eight calls of [`Self::block`] would.
    /// Element `[w][l]` is word `w` (32 bits) of slot `slot + l`.
    #[must_use]
    #[inline(always)]
    pub fn eight_slots(&self, slot: u32) -> [[u32; 8]; 4] {
        let slots = per_lane(|l| slot.wrapping_add(l as u32));
        let counters = [
            [self.toy as u32; 8],
            [(self.toy >> 32) as u32; 8],
            slots,
            [u32::from(self.hypothesis) << 24; 8],
        ];
        philox::eight(counters, [[self.seed as u32; 8], [(self.seed >> 32) as u32; 8]])
    }

    /// Returns the 128 random bits, as four words, of one attempt (trial of a rejection method) at one slot (index
    /// of a random draw within its toy).
    #[must_use]
    #[inline]
    pub const fn block(&self, slot: u32, attempt: u32) -> [u32; 4] {
        let place = ((self.hypothesis as u32) << 24) | (attempt % Self::ATTEMPTS);
        philox4x32_10(
            [self.toy as u32, (self.toy >> 32) as u32, slot, place],
            [self.seed as u32, (self.seed >> 32) as u32],
        )
    }
}
