//! AVX2 and AVX-512 registers behind [`Vector`].
//!
//! These methods are only reached from functions that [`super::isa_fn!`] compiled for the
//! instruction set, after [`super::Level::detect`] found it on this machine.

use std::arch::x86_64::{
    __m256d, __m512d, _CMP_LT_OQ, _mm_add_pd, _mm_add_sd, _mm_cvtsd_f64, _mm_unpackhi_pd, _mm256_add_pd,
    _mm256_blend_pd, _mm256_blendv_pd, _mm256_castpd256_pd128, _mm256_cmp_pd, _mm256_div_pd,
    _mm256_extractf128_pd, _mm256_fmadd_pd, _mm256_hadd_pd, _mm256_loadu_pd, _mm256_mul_pd,
    _mm256_permute2f128_pd, _mm256_set1_pd, _mm256_sqrt_pd, _mm256_storeu_pd, _mm256_sub_pd, _mm512_add_pd,
    _mm512_castpd512_pd256, _mm512_cmp_pd_mask, _mm512_div_pd, _mm512_extractf64x4_pd, _mm512_fmadd_pd,
    _mm512_fnmadd_pd, _mm512_loadu_pd, _mm512_mask_blend_pd, _mm512_mul_pd, _mm512_rcp14_pd, _mm512_set1_pd,
    _mm512_sqrt_pd, _mm512_storeu_pd, _mm512_sub_pd,
};

use super::lanes::{Lanes, MulAdd, Vector};

/// 256-bit registers with fused multiply-add.
#[derive(Clone, Copy)]
pub(crate) struct Avx2;

/// 512-bit registers.
#[derive(Clone, Copy)]
pub(crate) struct Avx512;

impl MulAdd for Avx2 {
    type V1 = Lanes<1, true>;
    type V4 = V4;
    type V8 = V8Pair;

    #[inline(always)]
    fn mul_add(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}

impl MulAdd for Avx512 {
    type V1 = Lanes<1, true>;
    type V4 = V4;
    type V8 = V8;

    #[inline(always)]
    fn mul_add(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}

/// Four numbers in one register.
#[derive(Clone, Copy)]
pub(crate) struct V4(__m256d);

/// Eight numbers in two registers.
#[derive(Clone, Copy)]
pub(crate) struct V8Pair(__m256d, __m256d);

/// Eight numbers in one register.
#[derive(Clone, Copy)]
pub(crate) struct V8(__m512d);

#[inline(always)]
fn sum4(x: __m256d) -> f64 {
    // SAFETY: AVX2 is there (module comment).
    unsafe {
        let half = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd::<1>(x));
        _mm_cvtsd_f64(_mm_add_sd(half, _mm_unpackhi_pd(half, half)))
    }
}

impl Vector for V4 {
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        // SAFETY: the instruction set is there (module comment).
        Self(unsafe { _mm256_sub_pd(self.0, b.0) })
    }

    #[inline(always)]
    fn div(self, b: Self) -> Self {
        // SAFETY: the instruction set is there (module comment).
        Self(unsafe { _mm256_div_pd(self.0, b.0) })
    }

    #[inline(always)]
    fn below(self, limit: Self, then: Self, otherwise: Self) -> Self {
        // SAFETY: the instruction set is there (module comment).
        unsafe {
            let mask = _mm256_cmp_pd::<_CMP_LT_OQ>(self.0, limit.0);
            Self(_mm256_blendv_pd(otherwise.0, then.0, mask))
        }
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        // SAFETY: the instruction set is there (module comment).
        Self(unsafe { _mm256_sqrt_pd(self.0) })
    }

    #[inline(always)]
    fn add(self, b: Self) -> Self {
        // SAFETY: the instruction set is there (module comment).
        Self(unsafe { _mm256_add_pd(self.0, b.0) })
    }

    #[inline(always)]
    fn sums([a, b, c, d]: [Self; 4], to: &mut [f64]) {
        let to = &mut to[..4];
        // SAFETY: AVX2 is there (module comment); four elements are writable.
        unsafe {
            let (ab, cd) = (_mm256_hadd_pd(a.0, b.0), _mm256_hadd_pd(c.0, d.0));
            let sum =
                _mm256_add_pd(_mm256_permute2f128_pd::<0x21>(ab, cd), _mm256_blend_pd::<0b1100>(ab, cd));
            _mm256_storeu_pd(to.as_mut_ptr(), sum);
        }
    }

    #[inline(always)]
    fn reciprocal(self) -> Self {
        // SAFETY: AVX2 is there (module comment).
        Self(unsafe { _mm256_div_pd(_mm256_set1_pd(1.0), self.0) })
    }

    #[inline(always)]
    unsafe fn load_at(from: &[f64], at: usize) -> Self {
        debug_assert!(at + 4 <= from.len());
        // SAFETY: the caller vouches for the range; AVX2 is there.
        Self(unsafe { _mm256_loadu_pd(from.as_ptr().add(at)) })
    }

    #[inline(always)]
    fn splat(x: f64) -> Self {
        // SAFETY: AVX2 is there (module comment).
        Self(unsafe { _mm256_set1_pd(x) })
    }

    #[inline(always)]
    fn load(from: &[f64]) -> Self {
        let from = &from[..4];
        // SAFETY: four elements are readable, alignment is not required; AVX2 is there.
        Self(unsafe { _mm256_loadu_pd(from.as_ptr()) })
    }

    #[inline(always)]
    fn store(self, to: &mut [f64]) {
        let to = &mut to[..4];
        // SAFETY: four elements are writable, alignment is not required; AVX2 is there.
        unsafe { _mm256_storeu_pd(to.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        // SAFETY: AVX2 is there (module comment).
        Self(unsafe { _mm256_mul_pd(self.0, b.0) })
    }

    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: FMA is there (module comment).
        Self(unsafe { _mm256_fmadd_pd(self.0, b.0, c.0) })
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        sum4(self.0)
    }
}

impl Vector for V8Pair {
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        Self(V4(self.0).sub(V4(b.0)).0, V4(self.1).sub(V4(b.1)).0)
    }

    #[inline(always)]
    fn div(self, b: Self) -> Self {
        Self(V4(self.0).div(V4(b.0)).0, V4(self.1).div(V4(b.1)).0)
    }

    #[inline(always)]
    fn below(self, limit: Self, then: Self, otherwise: Self) -> Self {
        Self(
            V4(self.0).below(V4(limit.0), V4(then.0), V4(otherwise.0)).0,
            V4(self.1).below(V4(limit.1), V4(then.1), V4(otherwise.1)).0,
        )
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        Self(V4(self.0).sqrt().0, V4(self.1).sqrt().0)
    }

    #[inline(always)]
    fn add(self, b: Self) -> Self {
        // SAFETY: the instruction set is there (module comment).
        unsafe { Self(_mm256_add_pd(self.0, b.0), _mm256_add_pd(self.1, b.1)) }
    }

    #[inline(always)]
    fn sums(four: [Self; 4], to: &mut [f64]) {
        // SAFETY: AVX2 is there (module comment).
        V4::sums(four.map(|v| V4(unsafe { _mm256_add_pd(v.0, v.1) })), to);
    }

    #[inline(always)]
    fn reciprocal(self) -> Self {
        Self(V4(self.0).reciprocal().0, V4(self.1).reciprocal().0)
    }

    #[inline(always)]
    unsafe fn load_at(from: &[f64], at: usize) -> Self {
        // SAFETY: the caller vouches for the range.
        unsafe { Self(V4::load_at(from, at).0, V4::load_at(from, at + 4).0) }
    }

    #[inline(always)]
    fn splat(x: f64) -> Self {
        // SAFETY: AVX2 is there (module comment).
        unsafe { Self(_mm256_set1_pd(x), _mm256_set1_pd(x)) }
    }

    #[inline(always)]
    fn load(from: &[f64]) -> Self {
        let from = &from[..8];
        // SAFETY: eight elements are readable, alignment is not required; AVX2 is there.
        unsafe { Self(_mm256_loadu_pd(from.as_ptr()), _mm256_loadu_pd(from.as_ptr().add(4))) }
    }

    #[inline(always)]
    fn store(self, to: &mut [f64]) {
        let to = &mut to[..8];
        // SAFETY: eight elements are writable, alignment is not required; AVX2 is there.
        unsafe {
            _mm256_storeu_pd(to.as_mut_ptr(), self.0);
            _mm256_storeu_pd(to.as_mut_ptr().add(4), self.1);
        }
    }

    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        // SAFETY: AVX2 is there (module comment).
        unsafe { Self(_mm256_mul_pd(self.0, b.0), _mm256_mul_pd(self.1, b.1)) }
    }

    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: FMA is there (module comment).
        unsafe { Self(_mm256_fmadd_pd(self.0, b.0, c.0), _mm256_fmadd_pd(self.1, b.1, c.1)) }
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        // SAFETY: AVX2 is there (module comment).
        sum4(unsafe { _mm256_add_pd(self.0, self.1) })
    }
}

impl Vector for V8 {
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        // SAFETY: the instruction set is there (module comment).
        Self(unsafe { _mm512_sub_pd(self.0, b.0) })
    }

    #[inline(always)]
    fn div(self, b: Self) -> Self {
        // SAFETY: the instruction set is there (module comment).
        Self(unsafe { _mm512_div_pd(self.0, b.0) })
    }

    #[inline(always)]
    fn below(self, limit: Self, then: Self, otherwise: Self) -> Self {
        // SAFETY: the instruction set is there (module comment).
        unsafe {
            let mask = _mm512_cmp_pd_mask::<_CMP_LT_OQ>(self.0, limit.0);
            Self(_mm512_mask_blend_pd(mask, otherwise.0, then.0))
        }
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        // SAFETY: the instruction set is there (module comment).
        Self(unsafe { _mm512_sqrt_pd(self.0) })
    }

    #[inline(always)]
    fn add(self, b: Self) -> Self {
        // SAFETY: the instruction set is there (module comment).
        Self(unsafe { _mm512_add_pd(self.0, b.0) })
    }

    #[inline(always)]
    fn sums(four: [Self; 4], to: &mut [f64]) {
        let halves = four.map(|v| {
            // SAFETY: AVX-512 is there (module comment).
            V4(unsafe { _mm256_add_pd(_mm512_castpd512_pd256(v.0), _mm512_extractf64x4_pd::<1>(v.0)) })
        });
        V4::sums(halves, to);
    }

    /// An estimate of 14 bits and two Newton steps: a division takes four times as long.
    #[inline(always)]
    fn reciprocal(self) -> Self {
        // SAFETY: AVX-512 is there (module comment).
        unsafe {
            let one = _mm512_set1_pd(1.0);
            let mut x = _mm512_rcp14_pd(self.0);
            x = _mm512_fmadd_pd(x, _mm512_fnmadd_pd(self.0, x, one), x);
            x = _mm512_fmadd_pd(x, _mm512_fnmadd_pd(self.0, x, one), x);
            Self(x)
        }
    }

    #[inline(always)]
    unsafe fn load_at(from: &[f64], at: usize) -> Self {
        debug_assert!(at + 8 <= from.len());
        // SAFETY: the caller vouches for the range; AVX-512 is there.
        Self(unsafe { _mm512_loadu_pd(from.as_ptr().add(at)) })
    }

    #[inline(always)]
    fn splat(x: f64) -> Self {
        // SAFETY: AVX-512 is there (module comment).
        Self(unsafe { _mm512_set1_pd(x) })
    }

    #[inline(always)]
    fn load(from: &[f64]) -> Self {
        let from = &from[..8];
        // SAFETY: eight elements are readable, alignment is not required; AVX-512 is there.
        Self(unsafe { _mm512_loadu_pd(from.as_ptr()) })
    }

    #[inline(always)]
    fn store(self, to: &mut [f64]) {
        let to = &mut to[..8];
        // SAFETY: eight elements are writable, alignment is not required; AVX-512 is there.
        unsafe { _mm512_storeu_pd(to.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        // SAFETY: AVX-512 is there (module comment).
        Self(unsafe { _mm512_mul_pd(self.0, b.0) })
    }

    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: AVX-512 is there (module comment).
        Self(unsafe { _mm512_fmadd_pd(self.0, b.0, c.0) })
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        // SAFETY: AVX-512 is there (module comment).
        sum4(unsafe { _mm256_add_pd(_mm512_castpd512_pd256(self.0), _mm512_extractf64x4_pd::<1>(self.0)) })
    }
}
