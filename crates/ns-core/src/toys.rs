//! What pseudo-experiments are drawn from.
//!
//! A toy is a pure function of its source and its index: counts Poisson(expected yield) in every main bin,
//! auxiliary data N(theta, sigma) or Poisson(tau theta) of *every* constrained parameter, those of fixed
//! parameters included (`pyhf.Model.make_pdf(pars).sample()`). Means are computed once, by the CPU, and
//! handed to every device as they are, so that all devices draw the same bits.

use crate::BinnedData;
use crate::random::{Normal, Poisson, Stream};

/// The distribution of one auxiliary datum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AuxiliarySource {
    /// Of a Gaussian constraint.
    Gaussian(Normal),
    /// Of a Poisson constraint.
    Poisson(Poisson),
}

/// The distributions of all data at one parameter point, with the seed and the hypothesis that key the
/// random numbers. Made by [`crate::Session::toy_source`].
#[derive(Debug, Clone, PartialEq)]
pub struct ToySource {
    /// The user's seed.
    pub seed: u64,
    /// Number of the hypothesis: toys of two hypotheses share no random number.
    pub hypothesis: u8,
    /// The generating point, all parameters.
    pub parameters: Vec<f64>,
    /// Main counts, channel after channel.
    pub main: Vec<Poisson>,
    /// Auxiliary data in the model's order.
    pub auxiliary: Vec<AuxiliarySource>,
}

impl ToySource {
    /// Draws toy `index` into `main` and `auxiliary`, of the source's lengths. Slot `b` of the toy's stream
    /// belongs to main bin `b`, slot `n_bins + a` to auxiliary datum `a`.
    pub fn draw_into(&self, index: u64, main: &mut [f64], auxiliary: &mut [f64]) {
        let stream = Stream::new(self.seed, index, self.hypothesis);
        let mut slot = 0;
        for (to, poisson) in main.iter_mut().zip(&self.main) {
            *to = poisson.draw(&stream, slot);
            slot += 1;
        }
        for (to, source) in auxiliary.iter_mut().zip(&self.auxiliary) {
            *to = match source {
                AuxiliarySource::Gaussian(normal) => normal.draw(&stream, slot),
                AuxiliarySource::Poisson(poisson) => poisson.draw(&stream, slot),
            };
            slot += 1;
        }
    }

    /// Toy `index`.
    #[must_use]
    pub fn draw(&self, index: u64) -> BinnedData {
        let mut data = BinnedData { main: vec![0.0; self.main.len()], aux: vec![0.0; self.auxiliary.len()] };
        self.draw_into(index, &mut data.main, &mut data.aux);
        data
    }
}
