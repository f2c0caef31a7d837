//! Maps the numbers of inputs to their positions in the arrays of the compiled model. Inputs are numbers of the model
//! that data may replace.

use std::collections::HashMap;

use ns_core::{Input, InputTable, Model, SessionError};

use super::{LANES, Numbers, Structure};
use crate::terms::histosys::template;

/// Origin of an array of numbers: an input (numbers that data may replace), or the model itself.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// The numbers come from an input (numbers that data may replace). The field is the position of the input's first
    /// number in the array of all inputs.
    Input(usize),
    /// The numbers come from the model. The field contains these numbers.
    Model(Vec<f64>),
}

impl Source {
    /// Returns the change of number `i` of this array. `inputs` contains the changes of the numbers of all inputs
    /// (numbers that data may replace). Numbers that come from the model do not change.
    #[inline(always)]
    fn change(&self, inputs: &[f64], i: usize) -> f64 {
        match self {
            Self::Input(at) => inputs[at + i],
            Self::Model(_) => 0.0,
        }
    }

    /// Returns number `i` of this array. `inputs` contains the numbers of all inputs (numbers that data may replace).
    #[inline(always)]
    fn get(&self, inputs: &[f64], i: usize) -> f64 {
        match self {
            Self::Input(at) => inputs[at + i],
            Self::Model(own) => own[i],
        }
    }

    /// Returns the position of the first number of this input in the array of all inputs (numbers that data may
    /// replace). Returns `None` if the source is the model.
    pub(crate) fn place(&self) -> Option<usize> {
        match self {
            Self::Input(at) => Some(*at),
            Self::Model(_) => None,
        }
    }
}

/// A block (one sample in one channel) whose nominal yields or histosys templates are inputs (numbers that data may
/// replace).
#[derive(Debug, Clone)]
pub(crate) struct OpenBlock {
    pub(crate) block: usize,
    pub(crate) nominal: Source,
    pub(crate) templates: Vec<OpenTemplate>,
}

/// A histosys effect of an [`OpenBlock`] (a sample some of whose yields data may replace). If the nominal yields are an
/// input, all histosys effects of the sample are listed, because their asymmetric parts depend on the nominal yields.
#[derive(Debug, Clone)]
pub(crate) struct OpenTemplate {
    /// Index of the histosys template among the templates of the block (one sample in one channel).
    pub(crate) index: usize,
    pub(crate) lo: Source,
    pub(crate) hi: Source,
}

/// A normsys effect whose factors at the parameter values -1 and 1 are inputs (numbers that data may replace).
#[derive(Debug, Clone)]
pub(crate) struct OpenNorm {
    pub(crate) block: usize,
    /// Index of the normsys term in the padded arrays of normsys terms.
    pub(crate) term: usize,
    pub(crate) lo: Source,
    pub(crate) hi: Source,
}

/// The width of a constraint, if this width is an input (a number that data may replace).
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenWidth {
    /// Index of the constraint among the Gaussian constraints or among the Poisson constraints, depending on its type.
    pub(crate) term: usize,
    pub(crate) place: usize,
    /// Rate `tau` that a Poisson constraint has in the compiled model. It is used if the input has the value with which
    /// the model was compiled, because the rate that is computed from the relative uncertainty would differ by
    /// rounding.
    own_rate: f64,
}

/// All numbers of the compiled model that data may replace, sorted by the type of the effect.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenTerms {
    pub(crate) table: InputTable,
    pub(crate) blocks: Vec<OpenBlock>,
    pub(crate) norms: Vec<OpenNorm>,
    pub(crate) gaussian: Vec<OpenWidth>,
    pub(crate) poisson: Vec<OpenWidth>,
}

/// The position of each input (numbers that data may replace) in the array of all inputs. It is used while a model is
/// compiled.
pub(super) struct Places(HashMap<Input, usize>);

impl Places {
    pub(super) fn new(table: &InputTable) -> Self {
        Self(table.inputs.iter().copied().zip(table.ranges.iter().map(|range| range.start)).collect())
    }

    /// Returns the source of an array of numbers. This is the input if data may replace its numbers, and otherwise the
    /// model with the numbers `own`.
    pub(super) fn source(&self, input: Input, own: &[f64]) -> Source {
        self.0.get(&input).map_or_else(|| Source::Model(own.to_vec()), |&at| Source::Input(at))
    }

    /// Returns whether data may replace the numbers of at least one input in `inputs`.
    pub(super) fn any(&self, inputs: &[Input]) -> bool {
        !self.0.is_empty() && inputs.iter().any(|input| self.0.contains_key(input))
    }
}

impl OpenTerms {
    /// Lists the widths of constraints that are inputs of `model` (numbers that data may replace).
    pub(super) fn add_widths(&mut self, model: &Model, structure: &Structure, numbers: &Numbers) {
        for (input, range) in self.table.inputs.iter().zip(&self.table.ranges) {
            let (constraints, list, set) = match *input {
                Input::StatError { set } => (&structure.gaussian, &mut self.gaussian, set),
                Input::ShapeSys { set } => (&structure.poisson, &mut self.poisson, set),
                _ => continue,
            };
            let first = model.parameter_sets.get(set).map_or(0, |set| set.range.start);
            for place in range.clone() {
                let parameter = first + place - range.start;
                let term = constraints.param.iter().position(|&p| p == parameter);
                let own = |term: usize| numbers.tau.get(term).copied().unwrap_or(0.0);
                list.extend(term.map(|term| OpenWidth { term, place, own_rate: own(term) }));
            }
        }
    }

    /// Checks the values of all inputs (numbers that data may replace). Returns an error if there are too few or too
    /// many values, a value is not finite, or a width or a factor is not positive.
    pub(crate) fn check(&self, values: &[f64]) -> Result<(), SessionError> {
        let expected = self.table.len();
        if values.len() != expected {
            return Err(SessionError::WrongLength { what: "yields", actual: values.len(), expected });
        }
        let bad = |index: usize, remedy| {
            let value = values[index];
            Err(SessionError::BadNumber { what: "yields", index, value, remedy })
        };
        if let Some(index) = values.iter().position(|x| !x.is_finite()) {
            return bad(index, "give a finite number");
        }
        let widths = self.gaussian.iter().chain(&self.poisson).map(|width| width.place);
        let factors = self.norms.iter().flat_map(|norm| [norm.lo.place(), norm.hi.place()]).flatten();
        match widths.chain(factors).find(|&place| !(values[place] > 0.0)) {
            Some(index) => bad(index, "widths of constraints and factors of normsys are positive"),
            None => Ok(()),
        }
    }

    /// Writes the values of all inputs (numbers that data may replace) to the compiled arrays `numbers`.
    pub(crate) fn write(&self, structure: &Structure, values: &[f64], numbers: &mut Numbers) {
        self.write_linear(structure, |source, i| source.get(values, i), numbers);
        for open in &self.norms {
            let (lo, hi) = (open.lo.get(values, 0), open.hi.get(values, 0));
            numbers.set_normsys(open.term, structure.normsys, lo, hi);
        }
        if !self.gaussian.is_empty() {
            for width in &self.gaussian {
                numbers.sigma[width.term] = values[width.place];
            }
            numbers.finish_gaussian();
        }
        for width in &self.poisson {
            let relative = values[width.place];
            let is_own = relative == self.table.values[width.place];
            numbers.tau[width.term] = if is_own { width.own_rate } else { 1.0 / (relative * relative) };
        }
    }

    /// Returns the changes of the numbers of the compiled model when the inputs (numbers that data may replace) change
    /// by `along`. The field `sigma` of the result contains the changes of Gaussian widths. The field `tau` contains
    /// the changes of the relative uncertainties `1/sqrt(tau)`. The fields for polynomial coefficients, rates and
    /// constants of the terms are empty.
    pub(crate) fn direction(&self, structure: &Structure, along: &[f64], numbers: &Numbers) -> Numbers {
        let zeros = |of: &[f64]| vec![0.0; of.len()];
        let mut direction = Numbers {
            nominal: zeros(&numbers.nominal),
            hist_slope: zeros(&numbers.hist_slope),
            hist_curve: zeros(&numbers.hist_curve),
            norm_hi: zeros(&numbers.norm_hi),
            norm_lo: zeros(&numbers.norm_lo),
            sigma: zeros(&numbers.sigma),
            tau: zeros(&numbers.tau),
            ..Numbers::default()
        };
        self.write_linear(structure, |source, i| source.change(along, i), &mut direction);
        for open in &self.norms {
            direction.norm_lo[open.term] = open.lo.change(along, 0);
            direction.norm_hi[open.term] = open.hi.change(along, 0);
        }
        for width in &self.gaussian {
            direction.sigma[width.term] = along[width.place];
        }
        for width in &self.poisson {
            direction.tau[width.term] = along[width.place];
        }
        direction
    }

    /// Writes the nominal yields and the coefficients of histosys templates to `numbers`. They are linear functions of
    /// the numbers that `get` returns.
    fn write_linear(
        &self,
        structure: &Structure,
        get: impl Fn(&Source, usize) -> f64,
        numbers: &mut Numbers,
    ) {
        for open in &self.blocks {
            let block = &structure.blocks[open.block];
            for (b, cell) in (block.cell..block.cell + block.n_bins).enumerate() {
                numbers.nominal[cell] = get(&open.nominal, b);
            }
            let stride = block.n_lanes * LANES;
            for t in &open.templates {
                let (slope, curve) = (block.slope + t.index * stride, block.curve + t.index * stride);
                for b in 0..block.n_bins {
                    let nominal = numbers.nominal[block.cell + b];
                    let (s, a) = template::parts(get(&t.lo, b), nominal, get(&t.hi, b));
                    (numbers.hist_slope[slope + b], numbers.hist_curve[curve + b]) = (s, a);
                }
            }
        }
    }
}
