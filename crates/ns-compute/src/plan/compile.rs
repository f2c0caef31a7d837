//! Compiles a `Model` to a `Plan`, which consists of flat arrays.

use std::collections::HashMap;
use std::sync::Arc;

use ns_core::{Channel, Constraint, Effect, Execution, Input, Model, ParameterTable, SessionError};

use super::check::check;
use super::incidence::Incidence;
use super::open::{OpenBlock, OpenNorm, OpenTemplate, OpenTerms, Places, Source};
use super::policy::edm_tolerance;
use super::product::Products;
use super::structure::Constraints;
use super::{Block, LANES, Layout, NormRun, Numbers, Plan, SearchPolicy, Structure, TERM_LANES};
use crate::events::EventPlan;
use crate::factors::{BlockFunction, FactorFunctions};
use crate::terms::histosys::template;
use crate::terms::normsys::normsys;

/// One normsys modifier of one block (one sample in one channel), before the normsys terms are sorted by parameter.
struct NormTerm {
    param: usize,
    block: usize,
    slot: u32,
    lo: f64,
    hi: f64,
    /// Sources of the factors at the parameter values -1 and 1, if at least one of these factors is an input (a number
    /// that data may replace); otherwise `None`.
    open: Option<(Source, Source)>,
}

/// A compiled model that is still being built.
struct Draft {
    structure: Structure,
    numbers: Numbers,
    open: OpenTerms,
    factors: FactorFunctions,
}

impl Plan {
    /// Compiles a model that has been validated. Lengths and indices are checked again.
    ///
    /// # Errors
    /// [`SessionError::MemoryLimit`] if the arrays would exceed the memory limit, and
    /// [`SessionError::NoSuchParameter`], [`SessionError::WrongLength`], [`SessionError::Input`] or
    /// [`SessionError::EventModel`] if the model is inconsistent.
    pub fn compile(model: &Model, execution: &Execution) -> Result<Self, SessionError> {
        check(model, execution)?;
        let n = model.parameters.len();
        let events = EventPlan::new(model)?;
        let table = model.input_table()?;
        let places = Places::new(&table);
        let products = Products::new(&model.functions);
        let mut draft = Draft {
            structure: Structure {
                table: ParameterTable {
                    init: model.parameters.iter().map(|p| p.init).collect(),
                    bounds: model.parameters.iter().map(|p| p.bounds).collect(),
                    fixed: model.parameters.iter().map(|p| p.fixed).collect(),
                    poi: model.poi(),
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
                function_slot: Vec::new(),
                bin_function: Vec::new(),
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
            open: OpenTerms { table, ..OpenTerms::default() },
            factors: if needs_functions(model, &products) {
                FactorFunctions::new(&model.functions)
            } else {
                FactorFunctions::default()
            },
        };
        let mut norms = Vec::new();
        for (c, channel) in model.channels.iter().enumerate() {
            for s in 0..channel.samples.len() {
                draft.add_block(&products, (c, channel), s, &places, &mut norms);
            }
        }
        draft.add_normsys(norms);
        draft.add_constraints(model);
        let Draft { mut structure, numbers, mut open, mut factors } = draft;
        open.add_widths(model, &structure, &numbers);
        structure.hist_params = structure.hist_param.iter().map(|&p| p as usize).collect();
        structure.hist_params.sort_unstable();
        structure.hist_params.dedup();
        for &p in events.kinks() {
            structure.kinked[p] = true;
        }
        factors.finish(events.kinks());
        structure.has_kinks = structure.kinked.iter().any(|&k| k);
        let incidence = Incidence::new(&structure);
        structure.layout = Layout::nested(&structure, &incidence);
        structure.wide = Layout::wide(&structure, &incidence);
        structure.flat = Layout::flat(&structure, &incidence);
        let policy = SearchPolicy::new(&structure, &numbers, &factors, edm_tolerance(model));
        let (structure, events, open) = (Arc::new(structure), Arc::new(events), Arc::new(open));
        Ok(Self { structure, numbers, policy, events, open, factors: Arc::new(factors) })
    }
}

impl Draft {
    /// Adds a block (one sample in one channel). `products` are those of the functions of the model. `s` is the index of the
    /// sample in the channel. The argument
    /// `(c, channel)` contains the index of the channel and the channel.
    fn add_block(
        &mut self,
        products: &Products,
        (c, channel): (usize, &Channel),
        s: usize,
        places: &Places,
        norms: &mut Vec<NormTerm>,
    ) {
        let Some(sample) = channel.samples.get(s) else { return };
        let Self { structure, numbers, open, factors } = self;
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

        // Templates with an asymmetric part A come first, then templates with S alone. Templates that equal the
        // nominal histogram are left out.
        let mut symmetric = Vec::new();
        let nominal_input = Input::Nominal { channel: c, sample: s };
        let mut opened = OpenBlock {
            block: index,
            nominal: places.source(nominal_input, &sample.nominal),
            templates: Vec::new(),
        };
        for (m, modifier) in sample.modifiers.iter().enumerate() {
            match &modifier.effect {
                Effect::HistoSys { lo, hi } => {
                    let parts = lo.iter().zip(&sample.nominal).zip(hi);
                    let (slopes, curves): (Vec<f64>, Vec<f64>) =
                        parts.map(|((lo, nominal), hi)| template::parts(*lo, *nominal, *hi)).unzip();
                    let hi_input = Input::HistoHi { channel: c, sample: s, modifier: m };
                    let lo_input = Input::HistoLo { channel: c, sample: s, modifier: m };
                    // If a template may be replaced, its asymmetric part may become nonzero even if it is zero now.
                    let is_open = places.any(&[nominal_input, hi_input, lo_input]);
                    if is_open {
                        opened.templates.push(OpenTemplate {
                            index: structure.hist_param.len() - hist,
                            lo: places.source(lo_input, lo),
                            hi: places.source(hi_input, hi),
                        });
                    }
                    if is_open || curves.iter().any(|&x| x != 0.0) {
                        structure.kinked[modifier.first] |= structure.histosys.has_kink();
                        structure.hist_param.push(modifier.first as u32);
                        structure.hist_slot.push(slot(modifier.first));
                        push_padded(&mut numbers.hist_slope, &slopes, padded);
                        push_padded(&mut numbers.hist_curve, &curves, padded);
                    } else if slopes.iter().any(|&x| x != 0.0) {
                        symmetric.push((modifier.first, slopes));
                    }
                }
                Effect::NormSys { lo, hi } => {
                    let hi_input = Input::NormHi { channel: c, sample: s, modifier: m };
                    let lo_input = Input::NormLo { channel: c, sample: s, modifier: m };
                    let is_open = places.any(&[hi_input, lo_input]);
                    if is_open || *lo != 1.0 || *hi != 1.0 {
                        let asymmetric = is_open || structure.normsys.is_asymmetric(*lo, *hi);
                        structure.kinked[modifier.first] |= asymmetric && structure.normsys.has_kink();
                        let sources = || (places.source(lo_input, &[*lo]), places.source(hi_input, &[*hi]));
                        norms.push(NormTerm {
                            param: modifier.first,
                            block: index,
                            slot: slot(modifier.first),
                            lo: *lo,
                            hi: *hi,
                            open: is_open.then(sources),
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
                Effect::Function { .. } => {}
            }
        }
        let hist_curved = structure.hist_param.len();
        for (param, s) in symmetric {
            structure.hist_param.push(param as u32);
            structure.hist_slot.push(slot(param));
            push_padded(&mut numbers.hist_slope, &s, padded);
        }
        let product = products.of_sample(&sample.modifiers);
        let (whole, by_bin) = match &product {
            Some(_) => (None, Vec::new()),
            None => factors.of_sample(&sample.modifiers, nb),
        };
        for p in product.into_iter().flatten() {
            structure.factor_param.push(p as u32);
            structure.factor_slot.push(slot(p));
        }
        let function = whole.map(|index| {
            let slots = structure.function_slot.len();
            structure.function_slot.extend(factors.parameters(index).iter().map(|&p| slot(p)));
            BlockFunction { index, slots }
        });
        let bin_functions = structure.bin_function.len();
        for index in by_bin {
            // The layout has a column for each parameter that has a slot.
            for &p in factors.parameters(index) {
                slot(p);
            }
            structure.bin_function.push(index as u32);
        }
        let bin_functions = (bin_functions, structure.bin_function.len());
        if opened.nominal.place().is_some() || !opened.templates.is_empty() {
            open.blocks.push(opened);
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
            function,
            bin_functions,
            binwise: (binwise, structure.binwise_first.len()),
            params: (start, structure.block_params.len()),
        });
    }

    /// Adds the normsys terms, sorted by parameter. All terms of one parameter thus follow each other, have the same
    /// parameter value, and use the same branch of the interpolation. Also lists the terms of each block (one sample in
    /// one channel).
    fn add_normsys(&mut self, mut terms: Vec<NormTerm>) {
        let Self { structure, numbers, open, .. } = self;
        terms.sort_by_key(|t| (t.param, t.block));
        let dummy = structure.blocks.len() as u32;
        let mut by_block: Vec<Vec<(u32, u32)>> = vec![Vec::new(); structure.blocks.len()];
        for run in terms.chunk_by(|a, b| a.param == b.param) {
            let start = structure.norm_block.len();
            for term in run {
                let i = structure.norm_block.len();
                by_block[term.block].push((i as u32, term.slot));
                structure.norm_block.push(term.block as u32);
                numbers.resize_normsys(i + 1);
                numbers.set_normsys(i, structure.normsys, term.lo, term.hi);
                if let Some((lo, hi)) = term.open.clone() {
                    open.norms.push(OpenNorm { block: term.block, term: i, lo, hi });
                }
            }
            let end = structure.norm_block.len();
            let padded = start + (end - start).div_ceil(TERM_LANES) * TERM_LANES;
            structure.norm_block.resize(padded, dummy);
            numbers.resize_normsys(padded);
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
                    numbers.sigma.push(sigma);
                }
                Constraint::Poisson { tau, aux } => {
                    structure.poisson.param.push(index);
                    structure.poisson.aux.push(aux);
                    numbers.tau.push(tau);
                }
            }
        }
        numbers.finish_gaussian();
    }
}

/// Returns whether a factor of a sample is a function that is no product of parameters.
fn needs_functions(model: &Model, products: &Products) -> bool {
    let samples = model.channels.iter().flat_map(|channel| &channel.samples);
    samples
        .filter(|sample| sample.modifiers.iter().any(|modifier| modifier.function().is_some()))
        .any(|sample| products.of_sample(&sample.modifiers).is_none())
}

fn push_padded(array: &mut Vec<f64>, values: &[f64], padded: usize) {
    let start = array.len();
    array.extend_from_slice(values);
    array.resize(start + padded, 0.0);
}
