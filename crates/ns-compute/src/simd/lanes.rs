//! Vectors of one, four and eight f64 with the same operations on every instruction set.
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
    #[inline(always)]
    fn sums(four: [Self; 4], to: &mut [f64]) {
        for (to, vector) in to[..4].iter_mut().zip(four) {
            *to = vector.sum();
        }
    }
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
    #[inline(always)]
    unsafe fn load_at(from: &[f64], at: usize) -> Self {
        Self::load(&from[at..])
    }
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
    #[inline(always)]
    fn mul_add(a: f64, b: f64, c: f64) -> f64 {
        Self::V1::splat(a).mul_add(Self::V1::splat(b), Self::V1::splat(c)).sum()
    }
}

/// Separate rounding: `f64::mul_add` would call a library function there.
#[derive(Clone, Copy)]
pub(crate) struct Separate;

/// NEON: fused multiply-add belongs to the baseline.
#[cfg(any(target_arch = "aarch64", test))]
#[derive(Clone, Copy)]
pub(crate) struct Fused;

impl MulAdd for Separate {
    type V1 = f64;
    type V4 = Lanes<4, false>;
    type V8 = Lanes<8, false>;
}

#[cfg(any(target_arch = "aarch64", test))]
impl MulAdd for Fused {
    type V1 = Lanes<1, true>;
    type V4 = Lanes<4, true>;
    type V8 = Lanes<8, true>;
}

/// The operations that treat every lane alike, from what one does.
macro_rules! operations {
    ($($name:ident($x:ident $(, $arg:ident)*) $result:expr;)*) => {$(
        #[inline(always)]
        fn $name(self $(, $arg: Self)*) -> Self {
            let $x = self;
            $result
        }
    )*};
}

/// One number, with separate rounding.
impl Vector for f64 {
    operations! {
        add(a, b) a + b;
        sub(a, b) a - b;
        mul(a, b) a * b;
        div(a, b) a / b;
        mul_add(a, b, c) a * b + c;
        below(a, limit, then, otherwise) if a < limit { then } else { otherwise };
        sqrt(a) f64::sqrt(a);
        reciprocal(a) 1.0 / a;
    }

    #[inline(always)]
    fn splat(x: f64) -> Self {
        x
    }

    #[inline(always)]
    fn load(from: &[f64]) -> Self {
        from[0]
    }

    #[inline(always)]
    fn store(self, to: &mut [f64]) {
        to[0] = self;
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        self
    }
}

/// The portable vector: an array.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<const N: usize, const FUSED: bool>([f64; N]);

/// Lanes one by one. A loop: a library call would not inherit the instruction set.
macro_rules! each {
    ($i:ident => $lane:expr) => {{
        let mut lanes = [0.0; N];
        for $i in 0..N {
            lanes[$i] = $lane;
        }
        Self(lanes)
    }};
}

impl<const N: usize, const FUSED: bool> Vector for Lanes<N, FUSED> {
    operations! {
        add(a, b) each!(i => a.0[i] + b.0[i]);
        sub(a, b) each!(i => a.0[i] - b.0[i]);
        mul(a, b) each!(i => a.0[i] * b.0[i]);
        div(a, b) each!(i => a.0[i] / b.0[i]);
        mul_add(a, b, c) each!(i => if FUSED { a.0[i].mul_add(b.0[i], c.0[i]) } else { a.0[i] * b.0[i] + c.0[i] });
        below(a, limit, then, otherwise) each!(i => if a.0[i] < limit.0[i] { then.0[i] } else { otherwise.0[i] });
        sqrt(a) each!(i => a.0[i].sqrt());
        reciprocal(a) each!(i => 1.0 / a.0[i]);
    }

    #[inline(always)]
    fn splat(x: f64) -> Self {
        Self([x; N])
    }

    #[inline(always)]
    #[allow(clippy::manual_memcpy)] // as in `each`
    fn load(from: &[f64]) -> Self {
        let from = &from[..N];
        each!(i => from[i])
    }

    #[inline(always)]
    #[allow(clippy::manual_memcpy)] // as in `each`
    fn store(self, to: &mut [f64]) {
        let to = &mut to[..N];
        for i in 0..N {
            to[i] = self.0[i];
        }
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
