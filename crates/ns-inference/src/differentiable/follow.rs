//! Computes the numbers of a model that change with the nominal yields. These are histosys templates, widths of
//! staterror constraints, rates of shapesys constraints, and auxiliary data.

use ns_compute::differentiable::Follower;
use ns_core::{Constraint, Effect, Input, InputTable, Model};

use crate::InferenceError;

/// Selects the numbers of the model that change with the nominal yields of an input. By default no other number
/// changes, as if a user edited only the nominal yields in a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Follow {
    /// Whether the histosys templates of a sample are scaled, bin by bin, by the same factor as the nominal yields of
    /// the sample. The relative variations are then constant. In a bin whose nominal yield is zero, the template does
    /// not change.
    pub templates: bool,
    /// Whether the absolute uncertainty of a staterror stays constant if nominal yields change. By default the relative
    /// uncertainty stays constant. If the absolute uncertainty is constant, the width of the constraint is inversely
    /// proportional to the sum of the yields of the samples on which the staterror acts.
    pub staterror: bool,
    /// Whether the absolute uncertainty of a shapesys stays constant if nominal yields change. By default the rate
    /// `tau` of its Poisson constraint stays constant. If the absolute uncertainty is constant, `tau` changes, and the
    /// auxiliary datum changes with it.
    pub shapesys: bool,
}

/// An auxiliary datum that is equal to the rate `tau` of its Poisson constraint. It changes with the rate.
struct Datum {
    /// Position of the constraint's relative uncertainty in the array of all inputs.
    place: usize,
    /// Index of the auxiliary datum.
    aux: usize,
}

/// The inputs that the caller has chosen, and the other numbers of the model that change with these inputs.
pub(super) struct Followers {
    /// The inputs that the caller has chosen.
    pub(super) table: InputTable,
    /// The additional inputs, which are numbers that change with the caller's inputs. In the array of all inputs they
    /// come after the caller's inputs.
    pub(super) numbers: Vec<Follower>,
    data: Vec<Datum>,
}

impl Followers {
    /// Returns a copy of `model` with additional inputs, and the rules by which these inputs are computed. The
    /// additional inputs are the numbers that change with the caller's inputs. They come after the caller's inputs.
    ///
    /// # Errors
    /// If an input does not exist in the model.
    pub(super) fn new(model: &Model, follow: Follow) -> Result<(Model, Self), InferenceError> {
        let table = model.input_table().map_err(ns_core::SessionError::from)?;
        let mut inputs = model.open.clone();
        let mut further = |input: Input| {
            let is_new = !inputs.contains(&input);
            if is_new {
                inputs.push(input);
            }
            is_new
        };
        let mut templates = Vec::new();
        let mut widths = Vec::new();
        for &input in &table.inputs {
            let Input::Nominal { channel, sample } = input else { continue };
            let Some(s) = model.channels.get(channel).and_then(|c| c.samples.get(sample)) else { continue };
            for (modifier, m) in s.modifiers.iter().enumerate() {
                match &m.effect {
                    Effect::HistoSys { .. } if follow.templates => {
                        let hi = Input::HistoHi { channel, sample, modifier };
                        let lo = Input::HistoLo { channel, sample, modifier };
                        templates.extend([hi, lo].into_iter().filter(|&i| further(i)).map(|to| (to, input)));
                    }
                    Effect::StatError | Effect::ShapeSys => {
                        let set = model.parameter_sets.iter().position(|set| set.range.contains(&m.first));
                        let (wanted, to) = match (set, &m.effect) {
                            (Some(set), Effect::StatError) => (follow.staterror, Input::StatError { set }),
                            (Some(set), _) => (follow.shapesys, Input::ShapeSys { set }),
                            (None, _) => continue,
                        };
                        let has = model.open(&[to]).is_ok();
                        if wanted && has && further(to) {
                            widths.push((to, channel, m.first));
                        }
                    }
                    _ => {}
                }
            }
        }
        let opened = model.open(&inputs).map_err(ns_core::SessionError::from)?;
        let all = opened.input_table().map_err(ns_core::SessionError::from)?;
        let own = all.values.get(table.len()..).unwrap_or_default();
        let mut numbers: Vec<Follower> = own.iter().map(|&own| Follower::constant(own)).collect();
        let mut put = |place: usize, number: Option<Follower>| {
            let to = place.checked_sub(table.len()).and_then(|index| numbers.get_mut(index));
            if let (Some(to), Some(number)) = (to, number) {
                *to = number;
            }
        };
        for (to, from) in templates {
            let (Some(to), Some(from)) = (all.range(to), all.range(from)) else { continue };
            for (to, from) in to.zip(from) {
                put(to, template_follower(&all, to, from));
            }
        }
        for (to, channel, first) in widths {
            let Some(to) = all.range(to) else { continue };
            for (b, place) in to.enumerate() {
                let own = all.values.get(place).copied().unwrap_or(0.0);
                put(place, width_follower(model, &all, (channel, first, b), own));
            }
        }
        let data = followed_data(&opened, &all);
        Ok((opened, Self { table, numbers, data }))
    }

    /// Returns whether auxiliary data change with the inputs.
    pub(super) fn has_data(&self) -> bool {
        !self.data.is_empty()
    }

    /// Returns the positions, in the array of all inputs, of the relative uncertainties `1/sqrt(tau)` of Poisson
    /// constraints whose auxiliary data change with the rate `tau`.
    #[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
    pub(super) fn places_of_data(&self) -> Vec<usize> {
        self.data.iter().map(|datum| datum.place).collect()
    }

    /// Returns whether any number that changes with the caller's inputs is a nonlinear function of these inputs.
    pub(super) fn is_curved(&self) -> bool {
        self.has_data() || self.numbers.iter().any(|number| number.inverse)
    }

    /// Returns the values of all inputs: those of the caller's inputs, which are `yields`, and those of the additional
    /// inputs, which are computed from them.
    pub(super) fn expand(&self, yields: &[f64]) -> Vec<f64> {
        let mut all = yields.to_vec();
        all.extend(self.numbers.iter().map(|number| number.value(yields)));
        all
    }

    /// Returns the direction in the space of all inputs that corresponds to the direction `along` in the space of the
    /// caller's inputs. Only templates are included, because only templates are linear in the nominal yields.
    pub(super) fn expand_direction(&self, along: &[f64]) -> Vec<f64> {
        let change = |number: &Follower| {
            let changes = number.sources.iter().map(|&place| along.get(place).copied().unwrap_or(0.0));
            if number.inverse { 0.0 } else { number.factor * changes.sum::<f64>() }
        };
        let mut all = along.to_vec();
        all.extend(self.numbers.iter().map(change));
        all
    }

    /// Returns the derivatives with respect to the caller's inputs, computed by the chain rule. `yields` are the
    /// values of the caller's inputs, and `all` are the derivatives with respect to all inputs.
    pub(super) fn contract(&self, yields: &[f64], mut all: Vec<f64>) -> Vec<f64> {
        let by_numbers = all.split_off(yields.len().min(all.len()));
        for (number, by_number) in self.numbers.iter().zip(by_numbers) {
            let by_source = by_number * number.slope(yields);
            for &place in &number.sources {
                if let Some(to_add) = all.get_mut(place) {
                    *to_add += by_source;
                }
            }
        }
        all
    }

    /// Sets those elements of the auxiliary data `aux` that change with the inputs. `all` are the values of all inputs.
    pub(super) fn set_data(&self, all: &[f64], aux: &mut [f64]) {
        for datum in &self.data {
            let width = all.get(datum.place).copied().unwrap_or(f64::NAN);
            let is_own = self.own(datum.place) == Some(width);
            if !is_own {
                set(aux, datum.aux, 1.0 / (width * width));
            }
        }
    }

    /// Returns the value that the caller's input at position `place` has in the model; `None` if there is no such
    /// input.
    fn own(&self, place: usize) -> Option<f64> {
        self.table.values.get(place).copied()
    }

    /// Adds the contributions of auxiliary data to `to`, the derivatives with respect to all inputs. `all` are the
    /// values of all inputs, and `by_aux` are the derivatives with respect to auxiliary data.
    pub(super) fn through_data(&self, all: &[f64], by_aux: &[f64], to: &mut [f64]) {
        for datum in &self.data {
            let (width, slope) = (all.get(datum.place).copied(), by_aux.get(datum.aux).copied());
            if let (Some(width), Some(slope), Some(to)) = (width, slope, to.get_mut(datum.place)) {
                *to -= 2.0 * slope / (width * width * width);
            }
        }
    }
}

/// Sets an element of an array; does nothing if the position is outside the array.
fn set(array: &mut [f64], place: usize, value: f64) {
    if let Some(to) = array.get_mut(place) {
        *to = value;
    }
}

/// Returns how a histosys template follows the nominal yield in one bin. `to` and `from` are the positions of the
/// template's yield and of the nominal yield in the array of all inputs. Returns `None` if the nominal yield of the
/// model is zero: then the yield of the template is constant.
fn template_follower(all: &InputTable, to: usize, from: usize) -> Option<Follower> {
    let (own, nominal) = (all.values.get(to)?, all.values.get(from)?);
    let factor = (*nominal != 0.0).then(|| own / nominal)?;
    Some(Follower { sources: vec![from], held: 0.0, factor, inverse: false })
}

/// Returns how the width of one bin of a staterror or shapesys follows the nominal yields. The width times the sum of
/// the yields on which the modifier acts is constant. `first` is the index of the parameter of the channel's first bin,
/// and `b` is the index of the bin in the channel. `own` is the width in the model. Returns `None` if the width is
/// constant.
fn width_follower(
    model: &Model,
    all: &InputTable,
    (channel, first, b): (usize, usize, usize),
    own: f64,
) -> Option<Follower> {
    let constraint = model.parameters.get(first + b)?.constraint;
    if !(own > 0.0) || matches!(constraint, Constraint::None) {
        return None;
    }
    let (mut held, mut total, mut sources) = (0.0, 0.0, Vec::new());
    for (sample, s) in model.channels.get(channel)?.samples.iter().enumerate() {
        let acts = s.modifiers.iter().any(|m| m.first == first && m.effect.per_bin());
        let nominal = s.nominal.get(b).copied().unwrap_or(0.0);
        if !acts {
            continue;
        }
        total += nominal;
        match all.range(Input::Nominal { channel, sample }) {
            Some(range) => sources.push(range.start + b),
            None => held += nominal,
        }
    }
    (total > 0.0).then_some(Follower { sources, held, factor: own * total, inverse: true })
}

/// Returns the auxiliary data that change with the widths of shapesys constraints. An auxiliary datum is in the list
/// if it equals the rate of its constraint and the width of this constraint is an input.
fn followed_data(model: &Model, all: &InputTable) -> Vec<Datum> {
    let mut data = Vec::new();
    for (input, range) in all.inputs.iter().zip(&all.ranges) {
        let Input::ShapeSys { set } = input else { continue };
        let first = model.parameter_sets.get(*set).map_or(0, |set| set.range.start);
        for place in range.clone() {
            let parameter = model.parameters.get(first + place - range.start);
            if let Some(Constraint::Poisson { tau, aux }) = parameter.map(|p| p.constraint)
                && model.observed.aux.get(aux) == Some(&tau)
            {
                data.push(Datum { place, aux });
            }
        }
    }
    data
}
