//! Random numbers for the construction of a model, generated with SplitMix64. The numbers depend only on the index of
//! the model.

/// Generator of the random numbers of one model.
pub struct Draw {
    state: u64,
}

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

impl Draw {
    /// Creates the generator for the model with the index `index`.
    pub fn new(index: u64) -> Self {
        let mut draw = Self { state: index.wrapping_add(1).wrapping_mul(GOLDEN) ^ 0x5DEE_CE66_D1A4_B87F };
        draw.bits();
        draw
    }

    fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a random number that is uniform in `[0, 1)`.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a random number that is uniform between `a` and `b`.
    pub fn between(&mut self, a: f64, b: f64) -> f64 {
        a + (b - a) * self.uniform()
    }

    /// Returns true with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.uniform() < p
    }

    /// Returns a random integer from `a` to `b`, including both ends.
    pub fn integer(&mut self, a: usize, b: usize) -> usize {
        a + (self.bits() % (b - a + 1) as u64) as usize
    }

    /// Returns one of the items, chosen at random.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.integer(0, items.len() - 1)]
    }

    /// Returns up to `n` different items in random order.
    pub fn some<T: Copy>(&mut self, items: &[T], n: usize) -> Vec<T> {
        let mut rest = items.to_vec();
        (0..n.min(items.len())).map(|_| rest.swap_remove(self.integer(0, rest.len() - 1))).collect()
    }

    /// Returns a random number from a Gaussian with mean 0 and width 1.
    pub fn normal(&mut self) -> f64 {
        let (u, v) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// Returns a random count from a Poisson distribution. For a mean above 200, the count is the nearest integer to
    /// a Gaussian random number, but at least 0.
    pub fn poisson(&mut self, mean: f64) -> f64 {
        if mean > 200.0 {
            return (mean + mean.sqrt() * self.normal()).round().max(0.0);
        }
        let (mut n, mut left) = (0.0, (-mean.max(0.0)).exp() - self.uniform());
        let mut p = (-mean.max(0.0)).exp();
        while left < 0.0 && n < 1000.0 {
            n += 1.0;
            p *= mean / n;
            left += p;
        }
        n
    }
}
