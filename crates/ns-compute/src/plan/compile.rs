//! Compiles a `Model` to a `Plan`.

use std::collections::HashMap;

use ns_core::{Channel, Constraint, Device, Effect, Execution, Model, ParameterTable, Sample, SessionError};

use super::incidence::Incidence;
use super::structure::Constraints;
use super::{Block, LANES, Layout, NormRun, Numbers, Plan, SearchPolicy, Structure, TERM_LANES};
use crate::events::EventPlan;
use crate::terms::normsys::normsys;

/// One normsys modifier of one block, before the terms are sorted by parameter.
struct NormTerm {
    param: usize,
    block: usize,
    slot: u32,
    lo: f64,
    hi: f64,
}

impl Plan {
    /// Compiles a validated model. Lengths and indices are checked again.
    ///
    /// # Errors
    /// [`SessionError::MemoryLimit`] if the arrays would exceed the memory limit, and
    /// [`SessionError::NoSuchParameter`], [`SessionError::WrongLength`] or [`SessionError::EventModel`] if the
    /// model is inconsistent.
    pub fn compile(model: &Model, execution: &Execution) -> Result<Self, SessionError> {
        check(model, execution)?;
        let n = model.parameters.len();
        let events = EventPlan::new(model)?;
        let mut plan = Self {
            structure: Structure {
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
                hist_param: Vec::new(),
                hist_slot: Vec::new(),
                hist_params: Vec::new(),
                norm_runs: Vec::new(),
                norm_block: Vec::new(),
                norm_of_block: Vec::new(),
                norm_slot: Vec::new(),
                factor_param: Vec::new(),
                factor_slot: Vec::new(),
                binwise_first: Vec::new(),
                block_params: Vec::new(),
                gaussian: Constraints::default(),
                poisson: Constraints::default(),
                event_terms: events.parameters().map(<[usize]>::to_vec).collect(),
                constrained: model.parameters.iter().map(|p| p.constraint.aux().is_some()).collect(),
                kinked: vec![false; n],
                has_kinks: false,
                layout: Layout::default(),
                wide: Layout::default(),
                flat: Layout::default(),
            },
            numbers: Numbers::default(),
            policy: SearchPolicy::new(model),
            events,
        };
        let mut norms = Vec::new();
        for channel in &model.channels {
            for sample in &channel.samples {
                plan.add_block(channel, sample, &mut norms);
            }
        }
        plan.add_normsys(norms);
        plan.add_constraints(model);
        let structure = &mut plan.structure;
        structure.hist_params = structure.hist_param.iter().map(|&p| p as usize).collect();
        structure.hist_params.sort_unstable();
        structure.hist_params.dedup();
        structure.has_kinks = structure.kinked.iter().any(|&k| k);
        let incidence = Incidence::new(structure);
        structure.layout = Layout::nested(structure, &incidence);
        structure.wide = Layout::wide(structure, &incidence);
        structure.flat = Layout::flat(structure, &incidence);
        Ok(plan)
    }

    fn add_block(&mut self, channel: &Channel, sample: &Sample, norms: &mut Vec<NormTerm>) {
        let Self { structure, numbers, policy, .. } = self;
        let (nb, index) = (channel.n_bins, structure.blocks.len());
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
        let cell = numbers.nominal.len();
        numbers.nominal.extend_from_slice(&sample.nominal);
        numbers.nominal.resize(cell + padded, 0.0);
        let (hist, slope, curve) =
            (structure.hist_param.len(), numbers.hist_slope.len(), numbers.hist_curve.len());
        let (factor, binwise) = (structure.factor_param.len(), structure.binwise_first.len());

        // Templates with an asymmetric part A come first, then those with S alone. Templates equal to the
        // nominal histogram are left out.
        let mut symmetric = Vec::new();
        for modifier in &sample.modifiers {
            match &modifier.effect {
                Effect::HistoSys { lo, hi } => {
                    let s: Vec<f64> = lo.iter().zip(hi).map(|(l, h)| 0.5 * (h - l)).collect();
                    let a: Vec<f64> = (0..nb)
                        .map(|b| 0.5 * ((hi[b] - sample.nominal[b]) + (lo[b] - sample.nominal[b])))
                        .collect();
                    if a.iter().any(|&x| x != 0.0) {
                        structure.kinked[modifier.first] |= structure.histosys.has_kink();
                        policy.asymmetric[modifier.first] = true;
                        structure.hist_param.push(modifier.first as u32);
                        structure.hist_slot.push(slot(modifier.first));
                        push_padded(&mut numbers.hist_slope, &s, padded);
                        push_padded(&mut numbers.hist_curve, &a, padded);
                    } else if s.iter().any(|&x| x != 0.0) {
                        symmetric.push((modifier.first, s));
                    }
                }
                Effect::NormSys { lo, hi } => {
                    if *lo != 1.0 || *hi != 1.0 {
                        let asymmetric = structure.normsys.is_asymmetric(*lo, *hi);
                        structure.kinked[modifier.first] |= asymmetric && structure.normsys.has_kink();
                        policy.asymmetric[modifier.first] |= asymmetric;
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
                    structure.factor_param.push(modifier.first as u32);
                    structure.factor_slot.push(slot(modifier.first));
                }
                Effect::ShapeSys | Effect::StatError | Effect::ShapeFactor => {
                    structure.binwise_first.push(modifier.first as u32);
                }
            }
        }
        let hist_curved = structure.hist_param.len();
        for (param, s) in symmetric {
            structure.hist_param.push(param as u32);
            structure.hist_slot.push(slot(param));
            push_padded(&mut numbers.hist_slope, &s, padded);
        }
        let start = structure.block_params.len();
        structure.block_params.extend_from_slice(&params);
        structure.n_cells = numbers.nominal.len();
        structure.blocks.push(Block {
            cell,
            bin: channel.first_bin,
            n_bins: nb,
            n_lanes,
            hist: (hist, structure.hist_param.len()),
            hist_curved,
            slope,
            curve,
            norm: (0, 0),
            factor: (factor, structure.factor_param.len()),
            binwise: (binwise, structure.binwise_first.len()),
            params: (start, structure.block_params.len()),
        });
    }

    /// Adds the normsys terms sorted by parameter, so that all terms of a run share one alpha and one branch
    /// of the interpolation. Also lists the terms of each block.
    fn add_normsys(&mut self, mut terms: Vec<NormTerm>) {
        let Self { structure, numbers, .. } = self;
        terms.sort_by_key(|t| (t.param, t.block));
        let dummy = structure.blocks.len() as u32;
        let mut by_block: Vec<Vec<(u32, u32)>> = vec![Vec::new(); structure.blocks.len()];
        for run in terms.chunk_by(|a, b| a.param == b.param) {
            let start = structure.norm_block.len();
            for term in run {
                by_block[term.block].push((structure.norm_block.len() as u32, term.slot));
                structure.norm_block.push(term.block as u32);
                let coefficients = (structure.normsys.coefficients)(term.lo, term.hi);
                for (array, c) in numbers.norm_coefficients.iter_mut().zip(coefficients) {
                    array.push(c);
                }
                numbers.norm_rate_hi.push(structure.normsys.beyond.rate(term.hi));
                numbers.norm_rate_lo.push(structure.normsys.beyond.rate(term.lo));
            }
            let end = structure.norm_block.len();
            let padded = start + (end - start).div_ceil(TERM_LANES) * TERM_LANES;
            structure.norm_block.resize(padded, dummy);
            for array in &mut numbers.norm_coefficients {
                array.resize(padded, 0.0);
            }
            numbers.norm_rate_hi.resize(padded, 0.0);
            numbers.norm_rate_lo.resize(padded, 0.0);
            structure.norm_runs.push(NormRun { param: run[0].param, start, end: padded });
        }
        for (block, list) in structure.blocks.iter_mut().zip(&by_block) {
            let start = structure.norm_of_block.len();
            for &(term, slot) in list {
                structure.norm_of_block.push(term);
                structure.norm_slot.push(slot);
            }
            block.norm = (start, structure.norm_of_block.len());
        }
    }

    fn add_constraints(&mut self, model: &Model) {
        let Self { structure, numbers, .. } = self;
        for (index, parameter) in model.parameters.iter().enumerate() {
            match parameter.constraint {
                Constraint::None => {}
                Constraint::Gaussian { sigma, aux } => {
                    structure.gaussian.param.push(index);
                    structure.gaussian.aux.push(aux);
                    numbers.inverse_sigma.push(1.0 / sigma);
                    numbers.gaussian_constant += (sigma * (2.0 * std::f64::consts::PI).sqrt()).ln();
                }
                Constraint::Poisson { tau, aux } => {
                    structure.poisson.param.push(index);
                    structure.poisson.aux.push(aux);
                    numbers.tau.push(tau);
                }
            }
        }
    }
}

fn push_padded(array: &mut Vec<f64>, values: &[f64], padded: usize) {
    let start = array.len();
    array.extend_from_slice(values);
    array.resize(start + padded, 0.0);
}

/// Returns an error if indices or lengths of the model are inconsistent, or if the memory limit is exceeded.
/// The code that evaluates the model does not check indices.
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
