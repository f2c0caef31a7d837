//! Computes the numbers of a model that change with the nominal yields. These are histosys templates, widths of
//! staterror constraints, rates of shapesys constraints, and auxiliary data.

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

/// A rule that gives a number of the model as a function of the nominal yields.
enum Rule {
    /// Rule for a histosys template. Its yield in a bin is the number in `ratios` for this bin times the nominal yield.
    /// If this number is `None`, the template keeps its yield in the model, which is given in `own`. `to` and `from`
    /// are the positions of the template and of the nominal yields in the array of all inputs.
    Template { to: usize, from: usize, ratios: Vec<Option<f64>>, own: Vec<f64> },
    /// Rule for the width of a constraint. The width, at position `to` of the array of all inputs, is `product`
    /// divided by the sum of the nominal yields of the samples on which the modifier acts. `from` has the positions
    /// of those yields that are inputs; the sum of the others is the constant `held`.
    Width { to: usize, product: f64, held: f64, from: Vec<usize> },
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
    rules: Vec<Rule>,
    data: Vec<Datum>,
    n_all: usize,
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
        let mut rules = Vec::new();
        for (to, from) in templates {
            let (Some(to), Some(from)) = (all.range(to), all.range(from)) else { continue };
            let own = all.values.get(to.clone()).unwrap_or_default().to_vec();
            let nominal = all.values.get(from.clone()).unwrap_or_default();
            let ratios = own.iter().zip(nominal).map(|(x, n)| (*n != 0.0).then(|| x / n)).collect();
            rules.push(Rule::Template { to: to.start, from: from.start, ratios, own });
        }
        for (to, channel, first) in widths {
            let Some(to) = all.range(to) else { continue };
            for (b, place) in to.enumerate() {
                let own = all.values.get(place).copied().unwrap_or(0.0);
                rules.extend(width_rule(model, &all, (channel, first, b), place, own));
            }
        }
        let data = followed_data(&opened, &all);
        let n_all = all.len();
        Ok((opened, Self { table, rules, data, n_all }))
    }

    /// Returns whether auxiliary data change with the inputs.
    pub(super) fn has_data(&self) -> bool {
        !self.data.is_empty()
    }

    /// Returns whether templates or widths change with the inputs.
    #[cfg(any(feature = "cuda", feature = "cuda-on-host"))]
    pub(super) fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// Returns whether any number that changes with the caller's inputs is a nonlinear function of these inputs.
    pub(super) fn is_curved(&self) -> bool {
        self.has_data() || self.rules.iter().any(|rule| matches!(rule, Rule::Width { .. }))
    }

    /// Returns the values of all inputs: those of the caller's inputs, which are `yields`, and those of the additional
    /// inputs, which are computed from them.
    pub(super) fn expand(&self, yields: &[f64]) -> Vec<f64> {
        let mut all = yields.to_vec();
        all.resize(self.n_all.max(yields.len()), 0.0);
        for rule in &self.rules {
            match rule {
                Rule::Template { to, from, ratios, own } => {
                    for (b, (ratio, own)) in ratios.iter().zip(own).enumerate() {
                        let nominal = yields.get(from + b).copied().unwrap_or(0.0);
                        set(&mut all, to + b, ratio.map_or(*own, |ratio| ratio * nominal));
                    }
                }
                Rule::Width { to, product, held, from } => {
                    set(&mut all, *to, product / self.sum(yields, *held, from));
                }
            }
        }
        all
    }

    fn sum(&self, yields: &[f64], held: f64, from: &[usize]) -> f64 {
        from.iter().map(|&place| yields.get(place).copied().unwrap_or(0.0)).fold(held, |sum, x| sum + x)
    }

    /// Returns the direction in the space of all inputs that corresponds to the direction `along` in the space of the
    /// caller's inputs. Only templates are included, because only templates are linear in the nominal yields.
    pub(super) fn expand_direction(&self, along: &[f64]) -> Vec<f64> {
        let mut all = along.to_vec();
        all.resize(self.n_all.max(along.len()), 0.0);
        for rule in &self.rules {
            if let Rule::Template { to, from, ratios, .. } = rule {
                for (b, ratio) in ratios.iter().enumerate() {
                    let change = along.get(from + b).copied().unwrap_or(0.0);
                    set(&mut all, to + b, ratio.map_or(0.0, |ratio| ratio * change));
                }
            }
        }
        all
    }

    /// Returns the derivatives with respect to the caller's inputs, computed by the chain rule. `yields` are the
    /// values of the caller's inputs, and `all` are the derivatives with respect to all inputs.
    pub(super) fn contract(&self, yields: &[f64], mut all: Vec<f64>) -> Vec<f64> {
        let slopes = all.split_off(yields.len().min(all.len()));
        let slope = |place: usize| {
            place.checked_sub(yields.len()).and_then(|i| slopes.get(i)).copied().unwrap_or(0.0)
        };
        for rule in &self.rules {
            match rule {
                Rule::Template { to, from, ratios, .. } => {
                    for (b, ratio) in ratios.iter().enumerate() {
                        if let (Some(to_add), Some(ratio)) = (all.get_mut(from + b), ratio) {
                            *to_add += ratio * slope(to + b);
                        }
                    }
                }
                Rule::Width { to, product, held, from } => {
                    let sum = self.sum(yields, *held, from);
                    for &place in from {
                        if let Some(to_add) = all.get_mut(place) {
                            *to_add -= slope(*to) * product / (sum * sum);
                        }
                    }
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

/// Returns the rule for the width of one bin of a staterror or shapesys. `first` is the index of the parameter of the
/// channel's first bin, `b` is the index of the bin in the channel, and `place` is the position of the width in the
/// array of all inputs. `own` is the width in the model. Returns `None` if the width is constant.
fn width_rule(
    model: &Model,
    all: &InputTable,
    (channel, first, b): (usize, usize, usize),
    place: usize,
    own: f64,
) -> Option<Rule> {
    let constraint = model.parameters.get(first + b)?.constraint;
    if !(own > 0.0) || matches!(constraint, Constraint::None) {
        return None;
    }
    let (mut held, mut total, mut from) = (0.0, 0.0, Vec::new());
    for (sample, s) in model.channels.get(channel)?.samples.iter().enumerate() {
        let acts = s.modifiers.iter().any(|m| m.first == first && m.effect.per_bin());
        let nominal = s.nominal.get(b).copied().unwrap_or(0.0);
        if !acts {
            continue;
        }
        total += nominal;
        match all.range(Input::Nominal { channel, sample }) {
            Some(range) => from.push(range.start + b),
            None => held += nominal,
        }
    }
    (total > 0.0).then_some(Rule::Width { to: place, product: own * total, held, from })
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
