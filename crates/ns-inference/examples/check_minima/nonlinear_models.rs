//! Random models whose expected yields are strongly nonlinear functions of the parameters. They have 20 to 130
//! parameters, 2 to 5 channels of 1 to 5 bins, 2 to 5 samples, and a few to hundreds of events. A nuisance parameter
//! changes a yield by 5 to 40 %. Its effects at +1 and at -1 are independent of each other.

use serde_json::{Value, json};

/// A sequence of random numbers that depends only on its seed (SplitMix64).
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D)
    }

    /// Returns a random number, uniform in [0, 1).
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Returns a random integer `n` with `low <= n <= high`.
    pub(crate) fn integer(&mut self, low: usize, high: usize) -> usize {
        low + ((high - low + 1) as f64 * self.unit()) as usize
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Returns a Poisson-distributed number. The method is inversion, which is suitable for means of up to a few
    /// hundred.
    fn count(&mut self, mean: f64) -> f64 {
        let (mut n, mut left) = (0.0, self.unit());
        let mut p = (-mean).exp();
        while left > p && n < 1e4 {
            left -= p;
            n += 1.0;
            p *= mean / n;
        }
        n
    }

    /// Returns a random relative change of a yield. Its absolute value is 0.05 to 0.4; its sign is random.
    fn effect(&mut self) -> f64 {
        let size = self.between(0.05, 0.4);
        if self.chance(0.5) { size } else { -size }
    }
}

/// Builds the workspace of random model number `index`.
pub(crate) fn workspace(index: u64) -> Value {
    let mut draw = Draw::new(index);
    let n_channels = draw.integer(2, 5);
    let n_samples = draw.integer(2, 5);
    let n_systematics = draw.integer(15, 100);
    let events = 10_f64.powf(draw.between(0.6, 2.8));
    let gammas = draw.chance(0.6);
    let mut channels = Vec::new();
    let mut observations = Vec::new();
    // For each systematic uncertainty: its modifiers (0: normsys, 1: histosys, 2: both), its channel if it acts on
    // one channel only, and the probability that it acts on a sample.
    let reach: Vec<(usize, Option<usize>, f64)> = (0..n_systematics)
        .map(|_| {
            let everywhere = draw.chance(0.6);
            let channel = draw.integer(0, n_channels - 1);
            (draw.integer(0, 2), (!everywhere).then_some(channel), draw.between(0.2, 0.8))
        })
        .collect();
    for c in 0..n_channels {
        let n_bins = draw.integer(1, 5);
        let mut samples = Vec::new();
        let mut total = vec![0.0; n_bins];
        for s in 0..n_samples {
            let scale = events / (n_bins * n_samples) as f64
                * if s == 0 { draw.between(0.1, 0.8) } else { draw.between(0.4, 2.0) };
            let nominal: Vec<f64> = (0..n_bins).map(|_| scale * draw.between(0.4, 1.6)).collect();
            for (t, n) in total.iter_mut().zip(&nominal) {
                *t += n;
            }
            let mut modifiers = Vec::new();
            if s == 0 {
                modifiers.push(json!({"name": "mu", "type": "normfactor", "data": null}));
            }
            for (k, (kind, only, share)) in reach.iter().enumerate() {
                if only.is_some_and(|only| only != c) || !draw.chance(*share) {
                    continue;
                }
                if *kind != 1 {
                    let (hi, lo) = (1.0 + draw.effect(), 1.0 + draw.effect());
                    modifiers.push(
                        json!({"name": format!("sys{k}"), "type": "normsys", "data": {"hi": hi, "lo": lo}}),
                    );
                }
                if *kind != 0 {
                    let hi: Vec<f64> = nominal.iter().map(|n| n * (1.0 + draw.effect())).collect();
                    let lo: Vec<f64> = nominal.iter().map(|n| n * (1.0 + draw.effect())).collect();
                    modifiers.push(json!({"name": format!("sys{k}"), "type": "histosys",
                        "data": {"hi_data": hi, "lo_data": lo}}));
                }
            }
            if gammas {
                let errors: Vec<f64> = nominal.iter().map(|n| n * draw.between(0.02, 0.2)).collect();
                modifiers.push(json!({"name": format!("stat_c{c}"), "type": "staterror", "data": errors}));
            }
            samples.push(json!({"name": format!("s{s}"), "data": nominal, "modifiers": modifiers}));
        }
        let data: Vec<f64> = total
            .iter()
            .map(|t| {
                let mean = t * draw.between(0.6, 1.4);
                draw.count(mean)
            })
            .collect();
        channels.push(json!({"name": format!("c{c}"), "samples": samples}));
        observations.push(json!({"name": format!("c{c}"), "data": data}));
    }
    json!({
        "version": "1.0.0",
        "channels": channels,
        "observations": observations,
        "measurements": [{"name": "m", "config": {"poi": "mu", "parameters": []}}],
    })
}
