//! Implements [`Vector`] with AVX2 and AVX-512 registers.
//!
//! These methods are called only from functions that [`super::isa_fn!`] compiled for the instruction set. Such a
//! function is called only after [`super::Level::detect`] found the instruction set on this CPU.

use std::arch::x86_64::{
    __m256d, __m512d, _CMP_LT_OQ, _mm_add_pd, _mm_add_sd, _mm_cvtsd_f64, _mm_unpackhi_pd, _mm256_add_pd,
    _mm256_blend_pd, _mm256_blendv_pd, _mm256_castpd256_pd128, _mm256_cmp_pd, _mm256_div_pd,
    _mm256_extractf128_pd, _mm256_fmadd_pd, _mm256_hadd_pd, _mm256_mul_pd, _mm256_permute2f128_pd,
    _mm256_set1_pd, _mm256_sqrt_pd, _mm256_sub_pd, _mm512_add_pd, _mm512_castpd512_pd256, _mm512_cmp_pd_mask,
    _mm512_div_pd, _mm512_extractf64x4_pd, _mm512_fmadd_pd, _mm512_fnmadd_pd, _mm512_mask_blend_pd,
    _mm512_mul_pd, _mm512_rcp14_pd, _mm512_set1_pd, _mm512_sqrt_pd, _mm512_sub_pd,
};
use std::mem::transmute;

use super::lanes::{Lanes, MulAdd, Vector};

/// The AVX2 instruction set: 256-bit registers with fused multiply-add.
#[derive(Clone, Copy)]
pub(crate) struct Avx2;

/// The AVX-512 instruction set: 512-bit registers with fused multiply-add.
#[derive(Clone, Copy)]
pub(crate) struct Avx512;

impl MulAdd for Avx2 {
    type V1 = Lanes<1, true>;
    type V4 = V4;
    type V8 = V8Pair;
}

impl MulAdd for Avx512 {
    type V1 = Lanes<1, true>;
    type V4 = V4;
    type V8 = V8;
}

/// Four numbers in one 256-bit register.
#[derive(Clone, Copy)]
pub(crate) struct V4(__m256d);

/// Eight numbers in two 256-bit registers.
#[derive(Clone, Copy)]
pub(crate) struct V8Pair(V4, V4);

/// Eight numbers in one 512-bit register.
#[derive(Clone, Copy)]
pub(crate) struct V8(__m512d);

/// Defines the operations of [`Vector`] that take one instruction on a register of `$n` numbers.
macro_rules! instructions {
    ($n:literal, $register:ident, $splat:ident, $($name:ident($($arg:ident),*) $instruction:ident),*) => {
        #[inline(always)]
        fn splat(x: f64) -> Self {
            // SAFETY: the CPU has the instruction set (module comment).
            Self(unsafe { $splat(x) })
        }

        #[inline(always)]
        fn load(from: &[f64]) -> Self {
            let from = &from[..$n];
            // SAFETY: a register and an array of `$n` numbers have the same bits, and `from` has `$n` elements. The
            // intrinsic for loads would check its arguments in builds with debug assertions, which takes longer than the load.
            Self(unsafe { transmute::<[f64; $n], $register>(*from.as_ptr().cast::<[f64; $n]>()) })
        }

        #[inline(always)]
        unsafe fn load_at(from: &[f64], at: usize) -> Self {
            debug_assert!(at + $n <= from.len());
            // SAFETY: as above; the caller guarantees the range.
            Self(unsafe { transmute::<[f64; $n], $register>(*from.as_ptr().wrapping_add(at).cast::<[f64; $n]>()) })
        }

        #[inline(always)]
        fn store(self, to: &mut [f64]) {
            let to = &mut to[..$n];
            // SAFETY: a register and an array of `$n` numbers have the same bits, and `to` has `$n` elements.
            unsafe { *to.as_mut_ptr().cast::<[f64; $n]>() = transmute::<$register, [f64; $n]>(self.0) }
        }

        $(#[inline(always)]
        fn $name(self $(, $arg: Self)*) -> Self {
            // SAFETY: as above.
            Self(unsafe { $instruction(self.0 $(, $arg.0)*) })
        })*
    };
}

/// Defines operations on a pair of registers that do the same with both registers.
macro_rules! halves {
    ($($name:ident($($arg:ident),*)),*) => {$(
        #[inline(always)]
        fn $name(self $(, $arg: Self)*) -> Self {
            Self(self.0.$name($($arg.0),*), self.1.$name($($arg.1),*))
        }
    )*};
}

impl Vector for V4 {
    instructions! {
        4, __m256d, _mm256_set1_pd, add(b) _mm256_add_pd, sub(b) _mm256_sub_pd,
        mul(b) _mm256_mul_pd, div(b) _mm256_div_pd, mul_add(b, c) _mm256_fmadd_pd, sqrt() _mm256_sqrt_pd
    }

    #[inline(always)]
    fn below(self, limit: Self, then: Self, otherwise: Self) -> Self {
        // SAFETY: the CPU has the instruction set (module comment).
        unsafe {
            let mask = _mm256_cmp_pd::<_CMP_LT_OQ>(self.0, limit.0);
            Self(_mm256_blendv_pd(otherwise.0, then.0, mask))
        }
    }

    #[inline(always)]
    fn reciprocal(self) -> Self {
        Self::splat(1.0).div(self)
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        // SAFETY: the CPU has the instruction set (module comment).
        unsafe {
            let half = _mm_add_pd(_mm256_castpd256_pd128(self.0), _mm256_extractf128_pd::<1>(self.0));
            _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)))
        }
    }

    #[inline(always)]
    fn sums([a, b, c, d]: [Self; 4], to: &mut [f64]) {
        // SAFETY: the CPU has the instruction set (module comment).
        let sums = unsafe {
            let (ab, cd) = (_mm256_hadd_pd(a.0, b.0), _mm256_hadd_pd(c.0, d.0));
            _mm256_add_pd(_mm256_permute2f128_pd::<0x21>(ab, cd), _mm256_blend_pd::<0b1100>(ab, cd))
        };
        Self(sums).store(to);
    }
}

impl Vector for V8Pair {
    halves! {
        add(b), sub(b), mul(b), div(b), mul_add(b, c), sqrt(), reciprocal(), below(limit, then, otherwise)
    }

    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self(V4::splat(x), V4::splat(x))
    }

    #[inline(always)]
    fn load(from: &[f64]) -> Self {
        let from = &from[..8];
        Self(V4::load(from), V4::load(&from[4..]))
    }

    #[inline(always)]
    unsafe fn load_at(from: &[f64], at: usize) -> Self {
        // SAFETY: the caller guarantees the range.
        unsafe { Self(V4::load_at(from, at), V4::load_at(from, at + 4)) }
    }

    #[inline(always)]
    fn store(self, to: &mut [f64]) {
        let to = &mut to[..8];
        self.0.store(to);
        self.1.store(&mut to[4..]);
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        self.0.add(self.1).sum()
    }

    #[inline(always)]
    fn sums(four: [Self; 4], to: &mut [f64]) {
        // A closure, for example in `map`, would have no instruction set, and its calls would not be inlined.
        let [a, b, c, d] = four;
        V4::sums([a.0.add(a.1), b.0.add(b.1), c.0.add(c.1), d.0.add(d.1)], to);
    }
}

impl V8 {
    /// Returns a register with four sums: each of the first four numbers plus the number four places after it.
    #[inline(always)]
    fn folded(self) -> V4 {
        // SAFETY: the CPU has the instruction set (module comment).
        V4(unsafe { _mm256_add_pd(_mm512_castpd512_pd256(self.0), _mm512_extractf64x4_pd::<1>(self.0)) })
    }
}

impl Vector for V8 {
    instructions! {
        8, __m512d, _mm512_set1_pd, add(b) _mm512_add_pd, sub(b) _mm512_sub_pd,
        mul(b) _mm512_mul_pd, div(b) _mm512_div_pd, mul_add(b, c) _mm512_fmadd_pd, sqrt() _mm512_sqrt_pd
    }

    #[inline(always)]
    fn below(self, limit: Self, then: Self, otherwise: Self) -> Self {
        // SAFETY: the CPU has the instruction set (module comment).
        unsafe {
            let mask = _mm512_cmp_pd_mask::<_CMP_LT_OQ>(self.0, limit.0);
            Self(_mm512_mask_blend_pd(mask, otherwise.0, then.0))
        }
    }

    /// Computes `1 / self` from an estimate with a precision of 14 bits and two Newton steps. A division takes four
    /// times as long.
    #[inline(always)]
    fn reciprocal(self) -> Self {
        // SAFETY: the CPU has the instruction set (module comment).
        unsafe {
            let one = _mm512_set1_pd(1.0);
            let mut x = _mm512_rcp14_pd(self.0);
            x = _mm512_fmadd_pd(x, _mm512_fnmadd_pd(self.0, x, one), x);
            x = _mm512_fmadd_pd(x, _mm512_fnmadd_pd(self.0, x, one), x);
            Self(x)
        }
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        self.folded().sum()
    }

    #[inline(always)]
    fn sums(four: [Self; 4], to: &mut [f64]) {
        // A closure, for example in `map`, would have no instruction set, and its calls would not be inlined.
        let [a, b, c, d] = four;
        V4::sums([a.folded(), b.folded(), c.folded(), d.folded()], to);
    }
}
