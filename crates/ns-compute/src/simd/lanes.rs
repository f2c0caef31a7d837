//! Vectors of four and eight f64 with the same operations on every instruction set.
//!
//! Plain arrays leave the shape of the loops to the compiler, which now and then turns them
//! inside out (gathers in the middle of a matrix product); registers do not.

/// What kernels need of a vector of `N` numbers.
pub(crate) trait Vector: Copy {
    /// All lanes `x`.
    fn splat(x: f64) -> Self;
    /// The first `N` elements.
    fn load(from: &[f64]) -> Self;
    /// Writes the first `N` elements.
    fn store(self, to: &mut [f64]);
    /// `self * b`.
    fn mul(self, b: Self) -> Self;
    /// `self + b`.
    fn add(self, b: Self) -> Self;
    /// `self * b + c`.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// `self - b`.
    fn sub(self, b: Self) -> Self;
    /// `self / b`.
    fn div(self, b: Self) -> Self;
    /// Lane by lane `then` where `self < limit`, else `otherwise` (also where `self` is NaN).
    fn below(self, limit: Self, then: Self, otherwise: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Sum of all lanes, in a fixed order.
    fn sum(self) -> f64;
    /// Writes the lane sums of four vectors to the first four elements of `to`.
    fn sums(four: [Self; 4], to: &mut [f64]);
    /// `|self|`.
    #[inline(always)]
    fn abs(self) -> Self {
        let zero = Self::splat(0.0);
        self.below(zero, zero.sub(self), self)
    }
    /// -1 below 0, 1 above, and 0.
    #[inline(always)]
    fn sign(self) -> Self {
        let zero = Self::splat(0.0);
        self.below(zero, Self::splat(-1.0), zero.below(self, Self::splat(1.0), zero))
    }
    /// `1 / self`, to one or two units in the last place.
    fn reciprocal(self) -> Self;
    /// The first `N` elements, without a check.
    ///
    /// # Safety
    /// `at + N` elements exist.
    unsafe fn load_at(from: &[f64], at: usize) -> Self;
}

/// An instruction set, as a type: how products round, and its vectors.
pub(crate) trait MulAdd: Copy {
    /// One number, with the same operations.
    type V1: Vector;
    /// Four numbers.
    type V4: Vector;
    /// Eight numbers.
    type V8: Vector;
    /// `a * b + c`, rounded once where the instruction set can.
    fn mul_add(a: f64, b: f64, c: f64) -> f64;
}

/// Separate rounding: `f64::mul_add` would call a library function there.
#[derive(Clone, Copy)]
pub(crate) struct Separate;

/// NEON: fused multiply-add belongs to the baseline.
#[cfg(any(target_arch = "aarch64", test))]
#[derive(Clone, Copy)]
pub(crate) struct Fused;

impl MulAdd for Separate {
    type V1 = Lanes<1, false>;
    type V4 = Lanes<4, false>;
    type V8 = Lanes<8, false>;

    #[inline(always)]
    fn mul_add(a: f64, b: f64, c: f64) -> f64 {
        a * b + c
    }
}

#[cfg(any(target_arch = "aarch64", test))]
impl MulAdd for Fused {
    type V1 = Lanes<1, true>;
    type V4 = Lanes<4, true>;
    type V8 = Lanes<8, true>;

    #[inline(always)]
    fn mul_add(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}

/// The portable vector: an array.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<const N: usize, const FUSED: bool>([f64; N]);

impl<const N: usize, const FUSED: bool> Vector for Lanes<N, FUSED> {
    #[inline(always)]
    fn sums(four: [Self; 4], to: &mut [f64]) {
        for (to, vector) in to[..4].iter_mut().zip(four) {
            *to = vector.sum();
        }
    }

    #[inline(always)]
    fn reciprocal(self) -> Self {
        let mut out = [0.0; N];
        for i in 0..N {
            out[i] = 1.0 / self.0[i];
        }
        Self(out)
    }

    #[inline(always)]
    unsafe fn load_at(from: &[f64], at: usize) -> Self {
        Self::load(&from[at..])
    }

    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self([x; N])
    }

    #[inline(always)]
    #[allow(clippy::manual_memcpy)] // a library call would not inherit the instruction set
    fn load(from: &[f64]) -> Self {
        let from = &from[..N];
        let mut lanes = [0.0; N];
        for i in 0..N {
            lanes[i] = from[i];
        }
        Self(lanes)
    }

    #[inline(always)]
    #[allow(clippy::manual_memcpy)] // as in `load`
    fn store(self, to: &mut [f64]) {
        let to = &mut to[..N];
        for i in 0..N {
            to[i] = self.0[i];
        }
    }

    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        let mut out = [0.0; N];
        for i in 0..N {
            out[i] = self.0[i] * b.0[i];
        }
        Self(out)
    }

    #[inline(always)]
    fn add(self, b: Self) -> Self {
        let mut out = [0.0; N];
        for i in 0..N {
            out[i] = self.0[i] + b.0[i];
        }
        Self(out)
    }

    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        let mut out = [0.0; N];
        for i in 0..N {
            out[i] = if FUSED { self.0[i].mul_add(b.0[i], c.0[i]) } else { self.0[i] * b.0[i] + c.0[i] };
        }
        Self(out)
    }

    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        let mut out = [0.0; N];
        for i in 0..N {
            out[i] = self.0[i] - b.0[i];
        }
        Self(out)
    }

    #[inline(always)]
    fn div(self, b: Self) -> Self {
        let mut out = [0.0; N];
        for i in 0..N {
            out[i] = self.0[i] / b.0[i];
        }
        Self(out)
    }

    #[inline(always)]
    fn below(self, limit: Self, then: Self, otherwise: Self) -> Self {
        let mut out = [0.0; N];
        for i in 0..N {
            out[i] = if self.0[i] < limit.0[i] { then.0[i] } else { otherwise.0[i] };
        }
        Self(out)
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        let mut out = [0.0; N];
        for i in 0..N {
            out[i] = self.0[i].sqrt();
        }
        Self(out)
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        let mut lanes = self.0;
        let mut half = N / 2;
        while half > 0 {
            for i in 0..half {
                lanes[i] += lanes[i + half];
            }
            half /= 2;
        }
        lanes[0]
    }
}
