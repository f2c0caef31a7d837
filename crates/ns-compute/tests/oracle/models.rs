//! Random models with all types of modifiers, shared parameters, zero yields and zero counts.

use ns_core::{
    Channel, ChannelAxis, Constraint, Data, Effect, EvaluationRequest, HistosysCode, Interpolation, Model,
    Modifier, NormsysCode, Observations, Parameter, ParameterSet, Sample, Session,
};

/// A small random-number generator (SplitMix64). A failing model can be reproduced from its seed.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn between(&mut self, lo: f64, hi: f64) -> f64 {
        lo + (hi - lo) * self.next()
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        ((self.next() * n as f64) as usize).min(n - 1)
    }

    pub(super) fn chance(&mut self, p: f64) -> bool {
        self.next() < p
    }
}

const CODES: [Interpolation; 4] = [
    Interpolation::SMOOTH,
    Interpolation::PIECEWISE,
    Interpolation { normsys: NormsysCode::Code4, histosys: HistosysCode::Code2 },
    Interpolation { normsys: NormsysCode::Code1, histosys: HistosysCode::Code4p },
];

/// Returns a random model with up to four channels of up to six bins.
pub(super) fn random_model(seed: u64) -> Model {
    let mut r = Random(seed);
    let n_alphas = 1 + r.below(5);
    let mut parameters = Vec::new();
    let mut aux = Vec::new();
    let mut add = |name: &str, init, bounds, constraint: Option<(f64, f64)>, poisson: bool| {
        let constraint = constraint.map_or(Constraint::None, |(datum, width)| {
            aux.push(datum);
            let aux = aux.len() - 1;
            if poisson {
                Constraint::Poisson { tau: width, aux }
            } else {
                Constraint::Gaussian { sigma: width, aux }
            }
        });
        parameters.push(Parameter { name: name.into(), init, bounds, fixed: false, constraint });
        parameters.len() - 1
    };
    let mu = add("mu", 1.0, (0.0, 10.0), None, false);
    let norm = add("norm", 1.0, (-2.0, 5.0), None, false);
    let lumi = add("lumi", 1.0, (0.5, 1.5), Some((1.0, 0.03)), false);
    let alphas: Vec<usize> =
        (0..n_alphas).map(|i| add(&format!("alpha{i}"), 0.0, (-5.0, 5.0), Some((0.0, 1.0)), false)).collect();
    let n_channels = 1 + r.below(4);
    let bins: Vec<usize> = (0..n_channels).map(|_| 1 + r.below(6)).collect();
    let widest = *bins.iter().max().unwrap();
    let shared: Vec<usize> =
        (0..widest).map(|b| add(&format!("shared[{b}]"), 1.0, (0.0, 10.0), None, false)).collect();
    let mut channels = Vec::new();
    let mut main = Vec::new();
    let mut first_bin = 0;
    for (c, &n_bins) in bins.iter().enumerate() {
        let stat: Vec<usize> = (0..n_bins)
            .map(|b| {
                let width = r.between(0.02, 0.3);
                add(&format!("stat{c}[{b}]"), 1.0, (1e-10, 10.0), Some((1.0, width)), false)
            })
            .collect();
        let mut samples = Vec::new();
        for s in 0..1 + r.below(4) {
            let nominal: Vec<f64> =
                (0..n_bins).map(|_| if r.chance(0.1) { 0.0 } else { r.between(0.5, 60.0) }).collect();
            let mut modifiers = Vec::new();
            let mut push = |first, effect| modifiers.push(Modifier { name: String::new(), first, effect });
            if s == 0 {
                push(mu, Effect::NormFactor);
            }
            if r.chance(0.3) {
                push(norm, Effect::NormFactor);
            }
            if r.chance(0.5) {
                push(lumi, Effect::Lumi);
            }
            for &alpha in &alphas {
                if r.chance(0.6) {
                    let vary = |r: &mut Random, x: &f64| x * r.between(0.8, 1.2);
                    let symmetric = r.chance(0.3);
                    let hi: Vec<f64> = nominal.iter().map(|x| vary(&mut r, x)).collect();
                    let lo = nominal
                        .iter()
                        .zip(&hi)
                        .map(|(x, h)| if symmetric { 2.0 * x - h } else { vary(&mut r, x) })
                        .collect();
                    push(alpha, Effect::HistoSys { lo, hi });
                }
                if r.chance(0.6) {
                    push(alpha, Effect::NormSys { lo: r.between(0.7, 1.1), hi: r.between(0.9, 1.3) });
                }
            }
            if r.chance(0.7) {
                push(stat[0], Effect::StatError);
            }
            if r.chance(0.3) {
                push(shared[0], Effect::ShapeFactor);
            }
            if r.chance(0.4) {
                let own: Vec<usize> = (0..n_bins)
                    .map(|b| {
                        let tau = r.between(2.0, 80.0);
                        let count = if r.chance(0.1) { 0.0 } else { tau * r.between(0.5, 1.5) };
                        add(&format!("shape{c}{s}[{b}]"), 1.0, (1e-10, 10.0), Some((count, tau)), true)
                    })
                    .collect();
                push(own[0], Effect::ShapeSys);
            }
            samples.push(Sample { name: format!("s{s}"), nominal, modifiers });
        }
        for b in 0..n_bins {
            let total: f64 = samples.iter().map(|s| s.nominal[b]).sum();
            main.push(if r.chance(0.15) { 0.0 } else { (total * r.between(0.6, 1.4)).round().max(1.0) });
        }
        channels.push(Channel {
            name: format!("c{c}"),
            first_bin,
            n_bins,
            samples,
            axis: ChannelAxis::default(),
        });
        first_bin += n_bins;
    }
    let parameter_sets = parameters
        .iter()
        .enumerate()
        .map(|(i, p)| ParameterSet { name: p.name.clone(), range: i..i + 1, scalar: true })
        .collect();
    Model {
        format: ns_core::ModelFormat::Pyhf,
        unobserved: Vec::new(),
        measurement: "random".into(),
        channels,
        parameters,
        parameter_sets,
        pois: vec![mu],
        interpolation: CODES[r.below(CODES.len())],
        functions: Vec::new(),
        event_channels: Vec::new(),
        penalties: Vec::new(),
        open: Vec::new(),
        observed: Observations::binned(main, aux),
        warnings: Vec::new(),
    }
}

/// Returns a random point within the bounds. Unconstrained parameters are sometimes 0, where formulas that
/// divide by a factor fail.
pub(super) fn random_point(model: &Model, r: &mut Random) -> Vec<f64> {
    model
        .parameters
        .iter()
        .map(|p| match p.constraint {
            Constraint::Gaussian { sigma, .. } if p.bounds.0 < 0.0 => 2.2 * sigma * r.between(-1.0, 1.0),
            Constraint::None if r.chance(0.25) => 0.0,
            _ => r.between(0.6, 1.5),
        })
        .collect()
}

/// Fixes the unconstrained parameters for which the derivative of `-ln L` at `point` is zero, and frees all other
/// parameters. If parameters without effect were free, only the scalar optimiser of the CPU would make the fits, and
/// SIMD lanes and devices would not be tested. `session` is a session of `model`.
pub(super) fn hold_idle(model: &mut Model, session: &dyn Session, point: &[f64]) {
    let request = EvaluationRequest { gradient: true, ..EvaluationRequest::default() };
    let slopes = session.evaluate(&Data::observed(), point, request).unwrap().gradient;
    for (parameter, slope) in model.parameters.iter_mut().zip(slopes) {
        parameter.fixed = matches!(parameter.constraint, Constraint::None) && slope == 0.0;
    }
}
