//! A fixed number of f64 lanes with elementwise arithmetic.

/// How `a * b + c` is rounded: once where the instruction set has it, else twice.
pub(crate) trait MulAdd: Copy {
    /// `a * b + c`.
    fn mul_add(a: f64, b: f64, c: f64) -> f64;
}

/// Fused multiply-add (AVX2, AVX-512, NEON).
#[derive(Clone, Copy)]
pub(crate) struct Fused;

/// Separate rounding: `f64::mul_add` would call a library function there.
#[derive(Clone, Copy)]
pub(crate) struct Separate;

impl MulAdd for Fused {
    #[inline(always)]
    fn mul_add(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}

impl MulAdd for Separate {
    #[inline(always)]
    fn mul_add(a: f64, b: f64, c: f64) -> f64 {
        a * b + c
    }
}

/// `N` numbers that travel together.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<const N: usize>(pub(crate) [f64; N]);

impl<const N: usize> Lanes<N> {
    /// All lanes `x`.
    #[inline(always)]
    pub(crate) fn splat(x: f64) -> Self {
        Self([x; N])
    }

    /// The first `N` elements of `from`.
    #[inline(always)]
    pub(crate) fn load(from: &[f64]) -> Self {
        let mut lanes = [0.0; N];
        lanes.copy_from_slice(&from[..N]);
        Self(lanes)
    }

    /// Writes the first `N` elements of `to`.
    #[inline(always)]
    pub(crate) fn store(self, to: &mut [f64]) {
        to[..N].copy_from_slice(&self.0);
    }

    /// `self * b + c`.
    #[inline(always)]
    pub(crate) fn mul_add<M: MulAdd>(self, b: Self, c: Self) -> Self {
        let mut out = [0.0; N];
        for i in 0..N {
            out[i] = M::mul_add(self.0[i], b.0[i], c.0[i]);
        }
        Self(out)
    }

    /// `self + b`.
    #[inline(always)]
    pub(crate) fn add(self, b: Self) -> Self {
        let mut out = [0.0; N];
        for i in 0..N {
            out[i] = self.0[i] + b.0[i];
        }
        Self(out)
    }

    /// `self * b`.
    #[inline(always)]
    pub(crate) fn mul(self, b: Self) -> Self {
        let mut out = [0.0; N];
        for i in 0..N {
            out[i] = self.0[i] * b.0[i];
        }
        Self(out)
    }

    /// Sum of all lanes, by halves (a fixed order).
    #[inline(always)]
    pub(crate) fn sum(self) -> f64 {
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
