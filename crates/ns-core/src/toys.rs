//! The distributions that toys (pseudo-experiments) are drawn from.
//!
//! A toy is a pure function of its source and its index. The count of each main bin is drawn from
//! Poisson(expected yield), and the auxiliary datum of *every* constrained parameter, fixed ones included,
//! from N(theta, sigma) or Poisson(tau theta), as by `pyhf.Model.make_pdf(pars).sample()`. The CPU computes
//! the means once and copies them unchanged to every device, so that the toys are the same bit for bit on all
//! devices. Correlated auxiliary data are drawn independently first. The events of event channels come after the auxiliary data, channel after channel.

use std::sync::Arc;

use crate::random::{Normal, Poisson, Stream};
use crate::{EventColumns, EventSource, EventTable, FitFailure, Model, Observations};

/// The distribution of one auxiliary datum.
#[derive(Debug, Clone, PartialEq)]
pub enum AuxiliarySource {
    /// Distribution of the auxiliary datum of a Gaussian constraint.
    Gaussian(Normal),
    /// Distribution of the auxiliary datum of a Poisson constraint.
    Poisson(Poisson),
}

/// Auxiliary data that are drawn jointly. They have a multivariate normal distribution with the means and widths of their
/// [`AuxiliarySource`]s.
#[derive(Debug, Clone, PartialEq)]
pub struct JointSource {
    /// Indices of the auxiliary data, whose sources are [`AuxiliarySource::Gaussian`].
    pub data: Vec<usize>,
    /// Cholesky factor of their correlation matrix, row by row (see [`crate::Correlations::lower`]).
    pub lower: Arc<[f64]>,
}

impl Model {
    /// Returns the auxiliary data that are drawn jointly, because their constraints are correlated.
    #[must_use]
    pub fn joint_sources(&self) -> Vec<JointSource> {
        let datum = |p: &usize| self.parameters.get(*p).and_then(|p| p.constraint.aux());
        self.correlations()
            .map(|own| JointSource {
                data: own.parameters().iter().filter_map(datum).collect(),
                lower: Arc::clone(own.lower()),
            })
            .collect()
    }
}

/// The distributions of all data at one parameter point. The seed and the hypothesis select the random
/// numbers. [`crate::Session::toy_source`] makes such a source.
#[derive(Debug, Clone, PartialEq)]
pub struct ToySource {
    /// The user's seed.
    pub seed: u64,
    /// Index of the hypothesis. Toys of two hypotheses share no random number.
    pub hypothesis: u8,
    /// Values of all parameters at the point where the toys are generated.
    pub parameters: Vec<f64>,
    /// Distributions of the main counts, channel after channel.
    pub main: Vec<Poisson>,
    /// Distributions of the auxiliary data, in the model's order.
    pub auxiliary: Vec<AuxiliarySource>,
    /// Auxiliary data that are correlated.
    pub joint: Vec<JointSource>,
    /// Distributions of the events, one per event channel.
    pub events: Vec<EventSource>,
}

impl ToySource {
    /// Correlates the auxiliary data that were drawn independently. Datum `a` is element `stride a + offset`.
    ///
    /// With independent pulls `z`, the pulls `L z` have the correlation matrix `L L'`.
    fn correlate(&self, auxiliary: &mut [f64], stride: usize, offset: usize) {
        for group in &self.joint {
            let source = |index: usize| match self.auxiliary.get(index) {
                Some(AuxiliarySource::Gaussian(normal)) if normal.sigma() > 0.0 => Some(normal),
                _ => None,
            };
            for &index in &group.data {
                if let (Some(normal), Some(x)) = (source(index), auxiliary.get_mut(stride * index + offset)) {
                    *x = (*x - normal.mean()) / normal.sigma();
                }
            }
            // A pull depends on those before it, so the last one is computed first.
            for (row, &index) in group.lower.chunks(group.data.len().max(1)).zip(&group.data).rev() {
                let pulls = group.data.iter().map(|other| auxiliary.get(stride * other + offset).copied());
                let pull: f64 = row
                    .iter()
                    .zip(pulls)
                    .map(|(l, z)| if *l == 0.0 { 0.0 } else { l * z.unwrap_or(0.0) })
                    .sum();
                if let (Some(normal), Some(x)) = (source(index), auxiliary.get_mut(stride * index + offset)) {
                    *x = normal.mean() + normal.sigma() * pull;
                }
            }
        }
    }

    /// Draws the main counts and auxiliary data of toy `index` into `main` and `auxiliary`, which must be as long as
    /// the fields with these names. Main bin `b` uses slot `b` of the toy's random [`Stream`], and auxiliary datum `a`
    /// uses slot `n_bins + a`.
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
        self.correlate(auxiliary, 1, 0);
    }

    /// Draws the main counts and auxiliary data of the eight toys with the indices `first` to `first + 7`. Element
    /// `8 b + l` of `main` is main bin `b` of toy `first + l`, and element `8 a + l` of `auxiliary` is auxiliary datum
    /// `a` of that toy. The bits of each toy are the same as those of [`Self::draw_into`].
    pub fn draw_eight_into(&self, first: u64, main: &mut [f64], auxiliary: &mut [f64]) {
        #[cfg(target_arch = "x86_64")]
        {
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2")]
            fn avx512(source: &ToySource, first: u64, main: &mut [f64], auxiliary: &mut [f64]) {
                source.eight(first, main, auxiliary);
            }
            #[target_feature(enable = "avx2")]
            fn avx2(source: &ToySource, first: u64, main: &mut [f64], auxiliary: &mut [f64]) {
                source.eight(first, main, auxiliary);
            }
            let wide = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512bw");
            if wide && is_x86_feature_detected!("avx2") {
                // SAFETY: the CPU was found above to have these instructions.
                return unsafe { avx512(self, first, main, auxiliary) };
            }
            if is_x86_feature_detected!("avx2") {
                // SAFETY: the CPU was found above to have AVX2.
                return unsafe { avx2(self, first, main, auxiliary) };
            }
        }
        self.eight(first, main, auxiliary);
    }

    #[inline(always)]
    fn eight(&self, first: u64, main: &mut [f64], auxiliary: &mut [f64]) {
        let streams: [Stream; 8] =
            std::array::from_fn(|l| Stream::new(self.seed, first.wrapping_add(l as u64), self.hypothesis));
        let mut slot = 0;
        for (to, poisson) in main.chunks_exact_mut(8).zip(&self.main) {
            to.copy_from_slice(&poisson.draw_eight(&streams, slot));
            slot += 1;
        }
        for (to, source) in auxiliary.chunks_exact_mut(8).zip(&self.auxiliary) {
            let drawn = match source {
                AuxiliarySource::Gaussian(normal) => streams.map(|stream| normal.draw(&stream, slot)),
                AuxiliarySource::Poisson(poisson) => poisson.draw_eight(&streams, slot),
            };
            to.copy_from_slice(&drawn);
            slot += 1;
        }
        for lane in 0..8 {
            self.correlate(auxiliary, 8, lane);
        }
    }

    /// Draws the counts and auxiliary data of toy `index`, without events.
    #[must_use]
    pub fn draw(&self, index: u64) -> Observations {
        let mut data = Observations::binned(vec![0.0; self.main.len()], vec![0.0; self.auxiliary.len()]);
        self.draw_into(index, &mut data.main, &mut data.aux);
        data
    }

    /// Draws toy `index` with its events.
    ///
    /// # Errors
    /// The errors of [`Self::draw_events`].
    pub fn draw_whole(&self, index: u64) -> Result<Observations, FitFailure> {
        let mut data = self.draw(index);
        self.draw_events(index, &mut EventColumns::default(), &mut data.events)?;
        Ok(data)
    }

    /// Draws the events of toy `index`: one table per event channel. The events use the slots (indices of random
    /// draws within the toy) of the toy's [`Stream`] that come after those of the auxiliary data. `buffer` is
    /// working memory that is reused from toy to toy.
    ///
    /// # Errors
    /// [`FitFailure::NotDrawn`] if a density is negative or not a number where an event is drawn.
    pub fn draw_events(
        &self,
        index: u64,
        buffer: &mut EventColumns,
        tables: &mut Vec<Arc<EventTable>>,
    ) -> Result<(), FitFailure> {
        let stream = Stream::new(self.seed, index, self.hypothesis);
        let mut slot = (self.main.len() + self.auxiliary.len()) as u32;
        tables.clear();
        for (channel, source) in self.events.iter().enumerate() {
            let next = source.0.draw(&stream, slot, buffer);
            slot = next.map_err(|_| FitFailure::NotDrawn { channel })?;
            tables.push(Arc::new(buffer.table()));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_toys_at_once_are_those_of_one_at_a_time() {
        let means = [0.0, 1e-8, 0.3, 5.0, 9.99, 10.0, 14.0, 31.0, 200.5, 1e4, 10_000.5, 3e5, 1e9, 1e15];
        let poisson: Vec<Poisson> = means.iter().filter_map(|&mean| Poisson::new(mean).ok()).collect();
        assert_eq!(poisson.len(), means.len());
        let mut auxiliary: Vec<AuxiliarySource> =
            poisson.iter().cloned().map(AuxiliarySource::Poisson).collect();
        auxiliary.extend(
            [0.2, 0.3]
                .into_iter()
                .filter_map(|sigma| Normal::new(1.0, sigma).ok())
                .map(AuxiliarySource::Gaussian),
        );
        let source = ToySource {
            seed: 7,
            hypothesis: 1,
            parameters: Vec::new(),
            main: poisson,
            auxiliary,
            joint: vec![JointSource {
                data: vec![means.len(), means.len() + 1],
                lower: [1.0, 0.0, 0.6, 0.8].into(),
            }],
            events: Vec::new(),
        };
        let (mut main, mut aux) = (vec![0.0; 8 * means.len()], vec![0.0; 8 * (means.len() + 2)]);
        for first in (0..4000).step_by(8).chain([u64::from(u32::MAX) - 3]) {
            source.draw_eight_into(first, &mut main, &mut aux);
            for l in 0..8 {
                let one = source.draw(first + l as u64);
                assert!(one.main.iter().enumerate().all(|(b, n)| main[8 * b + l] == *n), "{first} {l}");
                assert!(one.aux.iter().enumerate().all(|(a, n)| aux[8 * a + l] == *n), "{first} {l}");
            }
        }
    }

    #[test]
    fn every_datum_has_a_slot_of_its_own() {
        let poisson = |mean| Poisson::new(mean).ok();
        let normal = Normal::new(0.0, 1.0).ok();
        let main: Vec<Poisson> = [3.0, 3.0, 1e6].into_iter().filter_map(poisson).collect();
        let auxiliary: Vec<AuxiliarySource> = [poisson(3.0).map(AuxiliarySource::Poisson)]
            .into_iter()
            .chain([normal.map(AuxiliarySource::Gaussian)])
            .flatten()
            .collect();
        assert_eq!((main.len(), auxiliary.len()), (3, 2));
        let source = ToySource {
            seed: 7,
            hypothesis: 1,
            parameters: Vec::new(),
            main,
            auxiliary,
            joint: Vec::new(),
            events: Vec::new(),
        };
        for toy in 0..50 {
            let (data, stream) = (source.draw(toy), Stream::new(7, toy, 1));
            let main: Vec<f64> =
                (0..).zip(&source.main).map(|(slot, poisson)| poisson.draw(&stream, slot)).collect();
            let auxiliary = (3..).zip(&source.auxiliary).map(|(slot, source)| match source {
                AuxiliarySource::Gaussian(normal) => normal.draw(&stream, slot),
                AuxiliarySource::Poisson(poisson) => poisson.draw(&stream, slot),
            });
            assert_eq!((data.main, data.aux), (main, auxiliary.collect::<Vec<f64>>()), "toy {toy}");
        }
    }
}
