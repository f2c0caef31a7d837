//! The models that the benchmarks measure. They are built in this file or read from published workspaces.
#![allow(dead_code, reason = "every benchmark uses some of them")]

use std::path::Path;

use ns_core::Model;
use ns_translate::pyhf::{ModelOptions, Workspace};

/// A sequence of numbers in [-1, 1] without repetitions. It is made from the fractional parts of multiples of the
/// golden ratio.
#[derive(Default)]
pub(crate) struct Wiggle(u64);

impl Wiggle {
    /// Returns the next number of the sequence.
    pub(crate) fn next(&mut self) -> f64 {
        self.0 += 1;
        2.0 * (self.0 as f64 * 0.618_033_988_749_894_9).fract() - 1.0
    }

    /// Returns `from` with every element changed by up to 0.1 % of its value.
    pub(crate) fn scaled(&mut self, from: &[f64]) -> Vec<f64> {
        from.iter().map(|x| x * (1.0 + 1e-3 * self.next())).collect()
    }

    /// Returns `from` with every element changed by up to 0.001.
    pub(crate) fn shifted(&mut self, from: &[f64]) -> Vec<f64> {
        from.iter().map(|x| x + 1e-3 * self.next()).collect()
    }
}

/// Returns a model of `n_channels` channels with `n_bins` bins each. Every bin has a background with its own
/// Poisson-constrained gamma (shapesys), and a signal; all signals share the strength `mu`.
/// `benches/peers/make_synthetic.py gammas` writes the same model.
pub(crate) fn gammas(n_channels: usize, n_bins: usize) -> Model {
    let (mut channels, mut observations) = (Vec::new(), Vec::new());
    for c in 0..n_channels {
        let bins = || (0..n_bins).map(|b| b as f64);
        let signal: Vec<f64> = (0..n_bins).map(|b| 1.5 + 0.25 * ((b + c) % 4) as f64).collect();
        let background: Vec<f64> = bins().map(|b| 40.0 + 0.5 * b + 0.2 * (c % 7) as f64).collect();
        let widths = vec![6.0; n_bins];
        let shifts = [3.0, -2.0, 5.0, -4.0, 0.0];
        let observed: Vec<f64> = background
            .iter()
            .zip(shifts.iter().cycle().skip(3 * c % 5))
            .map(|(yields, shift)| (yields + shift).round())
            .collect();
        channels.push(format!(
            r#"{{"name": "region{c}", "samples": [
                {{"name": "signal", "data": {signal:?},
                  "modifiers": [{{"name": "mu", "type": "normfactor", "data": null}}]}},
                {{"name": "background", "data": {background:?},
                  "modifiers": [{{"name": "gamma{c}", "type": "shapesys", "data": {widths:?}}}]}}]}}"#
        ));
        observations.push(format!(r#"{{"name": "region{c}", "data": {observed:?}}}"#));
    }
    compiled("gammas", &channels, &observations)
}

/// Returns a model with about `n_systematics` nuisance parameters in `n_channels` channels of `n_bins` bins each. Every
/// channel has a signal and three backgrounds. Every nuisance parameter changes the yields and the shape of one
/// background in all channels, by a few percent. The counts scatter around the expected yields
/// by about their square roots.
pub(crate) fn systematics(n_systematics: usize, n_channels: usize, n_bins: usize) -> Model {
    let (mut channels, mut observations) = (Vec::new(), Vec::new());
    let mut wiggle = Wiggle::default();
    for c in 0..n_channels {
        let peak = |b: usize| (-0.5 * ((b as f64 - 0.5 * n_bins as f64) / 4.0).powi(2)).exp();
        let signal: Vec<f64> = (0..n_bins).map(|b| 5.0 * peak(b)).collect();
        let mut samples = vec![format!(
            r#"{{"name": "signal", "data": {signal:?}, "modifiers": [{{"name": "mu", "type": "normfactor", "data": null}}]}}"#
        )];
        let mut total = signal;
        for s in 0..3 {
            let slope = 0.4 + 0.5 * s as f64 + 0.05 * c as f64;
            let nominal: Vec<f64> =
                (0..n_bins).map(|b| 60.0 * (-slope * b as f64 / n_bins as f64).exp()).collect();
            total.iter_mut().zip(&nominal).for_each(|(sum, yields)| *sum += yields);
            let modifiers = (0..n_systematics).filter(|k| k % 3 == s).map(|k| {
                let (tilt, size, rate) = (0.02 * wiggle.next(), 0.01 * wiggle.next(), 0.02 * wiggle.next());
                let shape = |b: usize| size + tilt * (2.0 * b as f64 / n_bins as f64 - 1.0);
                let moved = |side: f64| -> Vec<f64> {
                    nominal.iter().enumerate().map(|(b, x)| x * (1.0 + side * shape(b))).collect()
                };
                // Down differs from up by a tenth.
                let (up, down) = (1.0, -1.0 + 0.1 * wiggle.next());
                let (hi, lo) = (moved(up), moved(down));
                let (up, down) = (1.0 + up * rate, 1.0 + down * rate);
                format!(
                    r#"{{"name": "alpha{k}", "type": "histosys", "data": {{"hi_data": {hi:?}, "lo_data": {lo:?}}}}},
                       {{"name": "alpha{k}", "type": "normsys", "data": {{"hi": {up}, "lo": {down}}}}}"#
                )
            });
            let modifiers = modifiers.collect::<Vec<String>>().join(", ");
            samples.push(format!(
                r#"{{"name": "background{s}", "data": {nominal:?}, "modifiers": [{modifiers}]}}"#
            ));
        }
        let observed: Vec<f64> = total.iter().map(|x| (x + x.sqrt() * 1.7 * wiggle.next()).round()).collect();
        channels.push(format!(r#"{{"name": "region{c:02}", "samples": [{}]}}"#, samples.join(", ")));
        observations.push(format!(r#"{{"name": "region{c:02}", "data": {observed:?}}}"#));
    }
    compiled("systematics", &channels, &observations)
}

/// Returns the model of a workspace with the POI `mu` and the given channels and observations. Each channel and each
/// observation is JSON text.
fn compiled(name: &str, channels: &[String], observations: &[String]) -> Model {
    let text = format!(
        r#"{{"channels": [{}], "observations": [{}], "version": "1.0.0",
            "measurements": [{{"name": "{name}", "config": {{"poi": "mu", "parameters": []}}}}]}}"#,
        channels.join(", "),
        observations.join(", ")
    );
    Workspace::from_slice(text.as_bytes()).unwrap().model(&ModelOptions::default()).unwrap()
}

/// Returns the published models tHu and tttt, each with its name. They are read from the folder named by the
/// environment variable `NEXTSTAT_REFERENCE_DIR`. If the variable is not set, prints that the published models
/// are not measured.
pub(crate) fn published() -> Vec<(&'static str, Model)> {
    let Some(reference) = std::env::var_os("NEXTSTAT_REFERENCE_DIR") else {
        eprintln!("NEXTSTAT_REFERENCE_DIR is not set: the published workspaces are LEFT OUT");
        return Vec::new();
    };
    let read = |(name, file): (&'static str, &str)| {
        let path = Path::new(&reference).join("workspaces").join(file);
        (name, Workspace::from_path(path).unwrap().model(&ModelOptions::default()).unwrap())
    };
    [("tHu", "tHu.json"), ("tttt", "tttt_prod.json")].map(read).into()
}
