//! Compiles a `Model` to a `Plan`.

use std::collections::HashMap;

use ns_core::{Channel, Constraint, Device, Effect, Execution, Model, ParameterTable, Sample, SessionError};

use super::nonlinearity::Nonlinearity;
use super::{Block, GaussianTerms, Incidence, LANES, Layout, NormRun, Plan, PoissonTerms, TERM_LANES};
use crate::optimise::EDM_TOLERANCE;
use crate::terms::normsys::normsys;

/// One normsys before the terms are sorted by parameter.
struct NormTerm {
    param: usize,
    block: usize,
    slot: u32,
    lo: f64,
    hi: f64,
}

impl Plan {
    /// Compiles a model. The model is trusted to be validated; sizes are not.
    ///
    /// # Errors
    /// [`SessionError::MemoryLimit`] if the arrays would exceed the memory limit, and
    /// [`SessionError::NoSuchParameter`] or [`SessionError::WrongLength`] if the model
    /// is inconsistent.
    pub fn compile(model: &Model, execution: &Execution) -> Result<Self, SessionError> {
        check(model, execution)?;
        let n = model.parameters.len();
        let mut plan = Self {
            table: ParameterTable {
                init: model.parameters.iter().map(|p| p.init).collect(),
                bounds: model.parameters.iter().map(|p| p.bounds).collect(),
                fixed: model.parameters.iter().map(|p| p.fixed).collect(),
            },
            n_bins: model.n_bins(),
            n_aux: model.observed.aux.len(),
            normsys: normsys(model.interpolation.normsys),
            histosys: model.interpolation.histosys,
            blocks: Vec::new(),
            n_cells: 0,
            nominal: Vec::new(),
            hist_param: Vec::new(),
            hist_slot: Vec::new(),
            hist_slope: Vec::new(),
            hist_curve: Vec::new(),
            hist_params: Vec::new(),
            norm_runs: Vec::new(),
            norm_block: Vec::new(),
            norm_coefficients: Default::default(),
            norm_rate_hi: Vec::new(),
            norm_rate_lo: Vec::new(),
            norm_of_block: Vec::new(),
            norm_slot: Vec::new(),
            factor_param: Vec::new(),
            factor_slot: Vec::new(),
            binwise_first: Vec::new(),
            block_params: Vec::new(),
            gaussian: GaussianTerms::default(),
            poisson: PoissonTerms::default(),
            constrained: model.parameters.iter().map(|p| p.constraint.aux().is_some()).collect(),
            kinked: vec![false; n],
            has_kinks: false,
            asymmetric: vec![false; n],
            nonlinear: vec![false; n],
            nonlinearity: Nonlinearity::default(),
            strongly_nonlinear: false,
            edm_tolerance: if multiplies_free_factors(model) { EDM_OF_PRODUCTS } else { EDM_TOLERANCE },
            layout: Layout::default(),
            wide: Layout::default(),
            flat: Layout::default(),
        };
        let mut norms = Vec::new();
        for channel in &model.channels {
            for sample in &channel.samples {
                plan.add_block(channel, sample, &mut norms);
            }
        }
        plan.add_normsys(norms);
        plan.add_constraints(model);
        let mut used = plan.hist_param.iter().map(|&p| p as usize).collect::<Vec<_>>();
        used.sort_unstable();
        used.dedup();
        plan.hist_params = used;
        plan.has_kinks = plan.kinked.iter().any(|&k| k);
        plan.nonlinearity = Nonlinearity::new(model);
        plan.nonlinear = (0..n).map(|p| plan.nonlinearity.is_nonlinear(p)).collect();
        plan.strongly_nonlinear = plan.nonlinearity.is_strong();
        let incidence = Incidence::new(&plan);
        plan.layout = Layout::nested(&plan, &incidence);
        plan.wide = Layout::wide(&plan, &incidence);
        plan.flat = Layout::flat(&plan, &incidence);
        Ok(plan)
    }

    fn add_block(&mut self, channel: &Channel, sample: &Sample, norms: &mut Vec<NormTerm>) {
        let (nb, index) = (channel.n_bins, self.blocks.len());
        let n_lanes = nb.div_ceil(LANES);
        let padded = n_lanes * LANES;
        let mut slots: HashMap<usize, u32> = HashMap::new();
        let mut params: Vec<u32> = Vec::new();
        let mut slot = |param: usize| {
            *slots.entry(param).or_insert_with(|| {
                params.push(param as u32);
                (params.len() - 1) as u32
            })
        };
        let cell = self.nominal.len();
        self.nominal.extend_from_slice(&sample.nominal);
        self.nominal.resize(cell + padded, 0.0);
        let (hist, slope, curve) = (self.hist_param.len(), self.hist_slope.len(), self.hist_curve.len());
        let (factor, binwise) = (self.factor_param.len(), self.binwise_first.len());

        // Asymmetric templates first, then those with S alone; templates equal to the nominal vanish.
        let mut symmetric = Vec::new();
        for modifier in &sample.modifiers {
            match &modifier.effect {
                Effect::HistoSys { lo, hi } => {
                    let s: Vec<f64> = lo.iter().zip(hi).map(|(l, h)| 0.5 * (h - l)).collect();
                    let a: Vec<f64> = (0..nb)
                        .map(|b| 0.5 * ((hi[b] - sample.nominal[b]) + (lo[b] - sample.nominal[b])))
                        .collect();
                    if a.iter().any(|&x| x != 0.0) {
                        self.kinked[modifier.first] |= self.histosys.has_kink();
                        self.asymmetric[modifier.first] = true;
                        self.hist_param.push(modifier.first as u32);
                        self.hist_slot.push(slot(modifier.first));
                        push_padded(&mut self.hist_slope, &s, padded);
                        push_padded(&mut self.hist_curve, &a, padded);
                    } else if s.iter().any(|&x| x != 0.0) {
                        symmetric.push((modifier.first, s));
                    }
                }
                Effect::NormSys { lo, hi } => {
                    if *lo != 1.0 || *hi != 1.0 {
                        let asymmetric = self.normsys.is_asymmetric(*lo, *hi);
                        self.kinked[modifier.first] |= asymmetric && self.normsys.has_kink();
                        self.asymmetric[modifier.first] |= asymmetric;
                        norms.push(NormTerm {
                            param: modifier.first,
                            block: index,
                            slot: slot(modifier.first),
                            lo: *lo,
                            hi: *hi,
                        });
                    }
                }
                Effect::NormFactor | Effect::Lumi => {
                    self.factor_param.push(modifier.first as u32);
                    self.factor_slot.push(slot(modifier.first));
                }
                Effect::ShapeSys | Effect::StatError | Effect::ShapeFactor => {
                    self.binwise_first.push(modifier.first as u32);
                }
            }
        }
        let hist_curved = self.hist_param.len();
        for (param, s) in symmetric {
            self.hist_param.push(param as u32);
            self.hist_slot.push(slot(param));
            push_padded(&mut self.hist_slope, &s, padded);
        }
        let start = self.block_params.len();
        self.block_params.extend_from_slice(&params);
        self.n_cells = self.nominal.len();
        self.blocks.push(Block {
            cell,
            bin: channel.first_bin,
            n_bins: nb,
            n_lanes,
            hist: (hist, self.hist_param.len()),
            hist_curved,
            slope,
            curve,
            norm: (0, 0),
            factor: (factor, self.factor_param.len()),
            binwise: (binwise, self.binwise_first.len()),
            params: (start, self.block_params.len()),
        });
    }

    /// Sorts normsys terms by parameter, so that a whole run shares one alpha and one
    /// branch of the interpolation, and lists them again by block.
    fn add_normsys(&mut self, mut terms: Vec<NormTerm>) {
        terms.sort_by_key(|t| (t.param, t.block));
        let dummy = self.blocks.len() as u32;
        let mut by_block: Vec<Vec<(u32, u32)>> = vec![Vec::new(); self.blocks.len()];
        for run in terms.chunk_by(|a, b| a.param == b.param) {
            let start = self.norm_block.len();
            for term in run {
                by_block[term.block].push((self.norm_block.len() as u32, term.slot));
                self.norm_block.push(term.block as u32);
                let coefficients = (self.normsys.coefficients)(term.lo, term.hi);
                for (array, c) in self.norm_coefficients.iter_mut().zip(coefficients) {
                    array.push(c);
                }
                self.norm_rate_hi.push(self.normsys.beyond.rate(term.hi));
                self.norm_rate_lo.push(self.normsys.beyond.rate(term.lo));
            }
            let end = self.norm_block.len();
            let padded = start + (end - start).div_ceil(TERM_LANES) * TERM_LANES;
            self.norm_block.resize(padded, dummy);
            for array in &mut self.norm_coefficients {
                array.resize(padded, 0.0);
            }
            self.norm_rate_hi.resize(padded, 0.0);
            self.norm_rate_lo.resize(padded, 0.0);
            self.norm_runs.push(NormRun { param: run[0].param, start, end: padded });
        }
        for (block, list) in self.blocks.iter_mut().zip(&by_block) {
            let start = self.norm_of_block.len();
            for &(term, slot) in list {
                self.norm_of_block.push(term);
                self.norm_slot.push(slot);
            }
            block.norm = (start, self.norm_of_block.len());
        }
    }

    fn add_constraints(&mut self, model: &Model) {
        for (index, parameter) in model.parameters.iter().enumerate() {
            match parameter.constraint {
                Constraint::None => {}
                Constraint::Gaussian { sigma, aux } => {
                    self.gaussian.param.push(index);
                    self.gaussian.aux.push(aux);
                    self.gaussian.inverse_sigma.push(1.0 / sigma);
                    self.gaussian.constant += (sigma * (2.0 * std::f64::consts::PI).sqrt()).ln();
                }
                Constraint::Poisson { tau, aux } => {
                    self.poisson.param.push(index);
                    self.poisson.aux.push(aux);
                    self.poisson.tau.push(tau);
                }
            }
        }
    }
}

/// The EDM of a certificate where free factors multiply each other: the slope by one goes with the other, which may be a
/// thousandth of what it was where the metric was taken. The EDM is then a millionth of what it should be.
const EDM_OF_PRODUCTS: f64 = 1e-6 * EDM_TOLERANCE;

/// Whether some sample has two factors that nothing constrains.
fn multiplies_free_factors(model: &Model) -> bool {
    let is_free = |index: usize| {
        model.parameters.get(index).is_some_and(|p| !p.fixed && matches!(p.constraint, Constraint::None))
    };
    let multiplies = |sample: &Sample| {
        let factors = sample.modifiers.iter().filter(|modifier| {
            matches!(modifier.effect, Effect::NormFactor | Effect::ShapeFactor) && is_free(modifier.first)
        });
        factors.count() > 1
    };
    model.channels.iter().flat_map(|channel| &channel.samples).any(multiplies)
}

fn push_padded(array: &mut Vec<f64>, values: &[f64], padded: usize) {
    let start = array.len();
    array.extend_from_slice(values);
    array.resize(start + padded, 0.0);
}

/// Refuses models whose indices do not hold together: kernels rely on them.
fn check(model: &Model, execution: &Execution) -> Result<(), SessionError> {
    let n = model.parameters.len();
    let parameter = |index: usize| {
        if index < n { Ok(()) } else { Err(SessionError::NoSuchParameter { index, n_parameters: n }) }
    };
    let length = |what, actual, expected| {
        if actual == expected { Ok(()) } else { Err(SessionError::WrongLength { what, actual, expected }) }
    };
    let mut bin = 0;
    let mut numbers: u64 = 0;
    for channel in &model.channels {
        length("first bin of a channel", channel.first_bin, bin)?;
        bin += channel.n_bins;
        for sample in &channel.samples {
            length("nominal yields", sample.nominal.len(), channel.n_bins)?;
            for modifier in &sample.modifiers {
                parameter(modifier.first)?;
                match &modifier.effect {
                    Effect::HistoSys { lo, hi } => {
                        length("histosys lo_data", lo.len(), channel.n_bins)?;
                        length("histosys hi_data", hi.len(), channel.n_bins)?;
                        numbers += 2 * (channel.n_bins as u64 + 4);
                    }
                    Effect::NormSys { .. } => numbers += 12,
                    effect if effect.per_bin() => parameter(modifier.first + channel.n_bins.max(1) - 1)?,
                    _ => {}
                }
            }
        }
    }
    length("observed main data", model.observed.main.len(), bin)?;
    for p in &model.parameters {
        if let Some(aux) = p.constraint.aux()
            && aux >= model.observed.aux.len()
        {
            return Err(SessionError::WrongLength {
                what: "auxiliary data",
                actual: model.observed.aux.len(),
                expected: aux + 1,
            });
        }
    }
    if let Some(limit) = execution.memory_limit {
        let needed = numbers * 8;
        if needed > limit {
            let (what, remedy) = ("the compiled model", "take a smaller model");
            return Err(SessionError::MemoryLimit { device: Device::Cpu, what, needed, limit, remedy });
        }
    }
    Ok(())
}
