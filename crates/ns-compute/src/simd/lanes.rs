//! SIMD vectors of one, four and eight f64 numbers, with the same operations on every instruction set.
//!
//! Hot loops use these vectors instead of plain arrays. With plain arrays the compiler would choose the order of
//! loops, and would sometimes choose badly (for example gather instructions inside a matrix product).

/// Operations on a SIMD vector of `N` numbers.
pub(crate) trait Vector: Copy {
    /// Returns a vector with `x` in all lanes.
    fn splat(x: f64) -> Self;
    /// Loads the first `N` elements of `from`.
    fn load(from: &[f64]) -> Self;
    /// Writes the lanes to the first `N` elements of `to`.
    fn store(self, to: &mut [f64]);
    /// Returns `self * b`, lane by lane.
    fn mul(self, b: Self) -> Self;
    /// Returns `self + b`, lane by lane.
    fn add(self, b: Self) -> Self;
    /// Returns `self * b + c`, lane by lane.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// Returns `self - b`, lane by lane.
    fn sub(self, b: Self) -> Self;
    /// Returns `self / b`, lane by lane.
    fn div(self, b: Self) -> Self;
    /// Selects a number in each lane: `then` where `self < limit`, and `otherwise` in all other lanes, including those
    /// in which `self` is NaN.
    fn below(self, limit: Self, then: Self, otherwise: Self) -> Self;
    /// Returns the square root of each lane.
    fn sqrt(self) -> Self;
    /// Returns the sum of all lanes. The lanes are added in a fixed order.
    fn sum(self) -> f64;
    /// Writes the sum over all lanes of each of four vectors to the first four elements of `to`.
    #[inline(always)]
    fn sums(four: [Self; 4], to: &mut [f64]) {
        for (to, vector) in to[..4].iter_mut().zip(four) {
            *to = vector.sum();
        }
    }
    /// Returns `|self|`, lane by lane.
    #[inline(always)]
    fn abs(self) -> Self {
        let zero = Self::splat(0.0);
        self.below(zero, zero.sub(self), self)
    }
    /// Returns the sign of each lane: -1 for negative numbers, 1 for positive numbers, and 0 for 0.
    #[inline(always)]
    fn sign(self) -> Self {
        let zero = Self::splat(0.0);
        self.below(zero, Self::splat(-1.0), zero.below(self, Self::splat(1.0), zero))
    }
    /// Returns `1 / self`, lane by lane. The error is at most one or two units in the last place.
    fn reciprocal(self) -> Self;
    /// Loads the `N` elements of `from` that begin with index `at`. Implementations need not check the bounds.
    ///
    /// # Safety
    /// `from` must have at least `at + N` elements.
    #[inline(always)]
    unsafe fn load_at(from: &[f64], at: usize) -> Self {
        Self::load(&from[at..])
    }
}

/// An instruction set as a type. It determines the vector types, and how `a * b + c` is rounded.
pub(crate) trait MulAdd: Copy {
    /// A vector of one number.
    type V1: Vector;
    /// A vector of four numbers.
    type V4: Vector;
    /// A vector of eight numbers.
    type V8: Vector;
    /// Returns `a * b + c`. The result is rounded only once if the instruction set has a fused multiply-add, and
    /// otherwise after the product and after the sum.
    #[inline(always)]
    fn mul_add(a: f64, b: f64, c: f64) -> f64 {
        Self::V1::splat(a).mul_add(Self::V1::splat(b), Self::V1::splat(c)).sum()
    }
}

/// An instruction set without fused multiply-add. Products and sums are rounded separately. `f64::mul_add` is not used,
/// because it would call a slow library function.
#[derive(Clone, Copy)]
pub(crate) struct Separate;

/// An instruction set in which fused multiply-add is always available (NEON).
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

/// Defines methods of [`Vector`] that do the same in all lanes. Each method is given by one expression.
macro_rules! operations {
    ($($name:ident($x:ident $(, $arg:ident)*) $result:expr;)*) => {$(
        #[inline(always)]
        fn $name(self $(, $arg: Self)*) -> Self {
            let $x = self;
            $result
        }
    )*};
}

/// A vector of one number. Products and sums are rounded separately.
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

/// A portable vector, which is an array of `N` numbers. It uses fused multiply-add if `FUSED` is true.
#[derive(Clone, Copy)]
pub(crate) struct Lanes<const N: usize, const FUSED: bool>([f64; N]);

/// Computes a vector lane by lane, in a loop. A library function would not be compiled for the instruction set.
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
