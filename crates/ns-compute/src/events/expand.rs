//! Converts a tree of products and mixtures of densities into a sum of products of leaves (basic densities).
//!
//! The density of a channel becomes `sum_t a_t prod_j p_tj(x)`. The leaves `p_tj` are basic densities without
//! normalisation. The amplitudes `a_t` contain rates, coefficients and the integrals that normalise the leaves.

use std::sync::Arc;

use ns_core::{Density, EventChannel, LogProbError, Value};

use super::conditional::{Conditional, ContextNumber};
use super::convolution::Source;
use super::densities::Space;
use super::integral::{ConditionalIntegral, Integral, NormalIntegral, Purpose, Rule};
use super::leaf::{Leaf, Variables};
use super::program::{Builder, Slot, Step};
use super::table::Locals;
use super::{densities, integral};

/// A number that is computed from the integrals of a channel, and from the parameters and functions of parameters
/// that the channel uses.
#[derive(Debug, Clone)]
pub(super) enum Amount {
    Value(Value),
    Integral(usize),
    Sum(Vec<Self>),
    Product(Vec<Self>),
    Ratio(Box<Self>, Box<Self>),
    /// 1 minus the sum of the given values.
    Rest(Vec<Value>),
}

impl Amount {
    /// Appends to the program `b` the steps that compute this number. Returns the slot (the index) of the result. The
    /// variables of the program are the values that the channel uses.
    pub(super) fn build(&self, b: &mut Builder, locals: &mut Locals) -> Slot {
        match self {
            Self::Value(value) => match locals.index(*value) {
                Some(local) => b.push(Step::Variable(local)),
                None => b.number(if let Value::Number(x) = value { *x } else { f64::NAN }),
            },
            Self::Integral(index) => b.push(Step::Input(*index)),
            Self::Sum(parts) => {
                let zero = b.number(0.0);
                parts.iter().fold(zero, |sum, part| {
                    let part = part.build(b, locals);
                    b.add(sum, part)
                })
            }
            Self::Product(parts) => {
                let one = b.number(1.0);
                parts.iter().fold(one, |product, part| {
                    let part = part.build(b, locals);
                    b.mul(product, part)
                })
            }
            Self::Ratio(above, below) => {
                let (above, below) = (above.build(b, locals), below.build(b, locals));
                b.div(above, below)
            }
            Self::Rest(values) => {
                let one = b.number(1.0);
                values.iter().fold(one, |rest, value| {
                    let value = Self::Value(*value).build(b, locals);
                    b.sub(rest, value)
                })
            }
        }
    }
}

/// A product of leaves (basic densities), and the amplitude that multiplies the product.
#[derive(Debug, Clone)]
pub(super) struct Term {
    pub(super) amount: Amount,
    /// Indices of the leaves (basic densities). No index occurs twice.
    pub(super) leaves: Vec<usize>,
}

/// Key that identifies an integral: the indices of the leaves (basic densities) in its integrand, and the sides of its
/// box as pairs (lower, upper).
type Key = (Vec<usize>, Vec<(f64, f64)>);

/// Collects the leaves (basic densities) and integrals of a channel while the density of the channel is expanded into a
/// sum of terms.
pub(super) struct Expansion<'a> {
    pub(super) channel: &'a EventChannel,
    pub(super) boxes: Vec<Vec<(f64, f64)>>,
    pub(super) locals: Locals,
    pub(super) leaves: Vec<Leaf>,
    pub(super) integrals: Vec<Integral>,
    /// The integrals over all fit ranges that normalise products of leaves. Each is a sum over the ranges of products of
    /// integrals, as indices in `integrals`.
    pub(super) normalisations: Vec<Vec<Vec<usize>>>,
    /// Key of each integral in `integrals`.
    known: Vec<Key>,
    /// All densities with context of the channel (such as a flow whose shape depends on parameters).
    pub(super) conditionals: Vec<Conditional>,
    /// Index of the process whose density is expanded.
    pub(super) process: usize,
    /// Evaluates a [`Value`] (constant, parameter or function of parameters) at the initial parameters.
    start: &'a dyn Fn(Value) -> f64,
    /// The reason why a density with context (a density that depends on further numbers) cannot be normalised at the
    /// initial parameters; `None` if there is no such problem.
    pub(super) failure: Option<LogProbError>,
}

impl<'a> Expansion<'a> {
    /// Creates an expansion without leaves and integrals. `columns` is the number of columns of the channel's events.
    /// `start` returns a value at the initial parameters. `tables` are the densities that are tables.
    pub(super) fn new(
        channel: &'a EventChannel,
        columns: usize,
        start: &'a dyn Fn(Value) -> f64,
        tables: &[Arc<Source>],
    ) -> Self {
        let (mut locals, leaves, integrals, normalisations, known) = Default::default();
        let conditionals = Conditional::all(&channel.conditional_densities(), columns, &mut locals, tables);
        let failure = None;
        Self {
            channel,
            boxes: channel.boxes(),
            locals,
            leaves,
            integrals,
            normalisations,
            known,
            conditionals,
            process: 0,
            start,
            failure,
        }
    }

    /// Returns the terms of a density. The sum of the terms is normalised over the fit ranges. Returns `None` if a
    /// part of the density cannot be evaluated or normalised.
    pub(super) fn terms(&mut self, density: &Density) -> Option<Vec<Term>> {
        match density {
            Density::Mixture { summands, coefficients } => {
                let mut terms = Vec::new();
                for (i, summand) in summands.iter().enumerate() {
                    let share = share(coefficients, i, summands.len());
                    for term in self.terms(summand)? {
                        let amount = Amount::Product(vec![share.clone(), term.amount]);
                        terms.push(Term { amount, leaves: term.leaves });
                    }
                }
                Some(terms)
            }
            Density::Product(parts) => self.product(parts),
            leaf => {
                let leaf = self.leaf(leaf, &[])?;
                let integral = self.integral(&[leaf])?;
                let one = Amount::Value(Value::Number(1.0));
                let amount = Amount::Ratio(Box::new(one), Box::new(integral));
                Some(vec![Term { amount, leaves: vec![leaf] }])
            }
        }
    }

    /// Returns the terms of a product of densities. There is one term for every combination of terms of the factors.
    fn product(&mut self, parts: &[Density]) -> Option<Vec<Term>> {
        let one = Amount::Value(Value::Number(1.0));
        let mut terms = vec![Term { amount: one, leaves: Vec::new() }];
        for part in parts {
            let mut next = Vec::new();
            for term in &terms {
                for factor in self.terms(part)? {
                    let mut leaves = term.leaves.clone();
                    for leaf in factor.leaves {
                        // In a power of a density, each factor needs a copy of the leaf of its own.
                        let again = leaves.contains(&leaf);
                        let density = self.leaves[leaf].density.clone();
                        leaves.push(if again { self.leaf(&density, &leaves)? } else { leaf });
                    }
                    let amount = Amount::Product(vec![term.amount.clone(), factor.amount]);
                    next.push(Term { amount, leaves });
                }
            }
            terms = next;
        }
        let mut seen: Vec<usize> = Vec::new();
        let disjoint = parts.iter().all(|part| {
            let observables = part.observables();
            let fresh = observables.iter().all(|x| !seen.contains(x));
            seen.extend(observables);
            fresh
        });
        if disjoint && self.boxes.len() == 1 {
            return Some(terms);
        }
        let total = self.expected(&terms)?;
        divide(&mut terms, &total);
        Some(terms)
    }

    /// Returns the integral of a sum of terms over the boxes. Returns `None` if a density has no integral, or is a density
    /// at given observables that is normalised over other boxes.
    pub(super) fn expected(&mut self, terms: &[Term]) -> Option<Amount> {
        let moved = self.boxes != self.channel.references();
        let mut total = Vec::new();
        for term in terms {
            let is_given = |leaf: &usize| matches!(self.leaves[*leaf].density, Density::Given(_));
            if moved && term.leaves.iter().any(is_given) {
                return None;
            }
            let integral = self.integral(&term.leaves)?;
            total.push(Amount::Product(vec![term.amount.clone(), integral]));
        }
        Some(Amount::Sum(total))
    }

    /// Returns the index of a leaf (basic density) with this density. Leaves whose indices are in `taken` are not used.
    /// If no other leaf has this density, adds a leaf. Returns `None` if the density has no formula.
    fn leaf(&mut self, density: &Density, taken: &[usize]) -> Option<usize> {
        let known = self
            .leaves
            .iter()
            .enumerate()
            .position(|(i, leaf)| leaf.density == *density && !taken.contains(&i));
        if known.is_some() {
            return known;
        }
        let space = Space { axes: &self.channel.observables, boxes: &self.boxes };
        let leaf = Leaf::new(density, space, &self.conditionals, &mut self.locals)?;
        self.leaves.push(leaf);
        Some(self.leaves.len() - 1)
    }

    /// Returns the integral of a product of leaves (basic densities) over the union of the fit ranges.
    fn integral(&mut self, leaves: &[usize]) -> Option<Amount> {
        let (leaves, volume) = self.without_given(leaves)?;
        let volume = Amount::Value(Value::Number(volume));
        if leaves.is_empty() {
            return Some(volume);
        }
        let observables = self.observables_of(&leaves);
        // The integral depends only on the sides along the observables of the product.
        let mut boxes: Vec<Vec<(f64, f64)>> = Vec::new();
        for region in &self.boxes {
            let sides: Vec<(f64, f64)> = observables.iter().map(|&x| region[x]).collect();
            if !boxes.contains(&sides) {
                boxes.push(sides);
            }
        }
        let groups = self.groups(&leaves);
        let mut sum = Vec::new();
        for region in &boxes {
            let mut product = Vec::new();
            for group in &groups {
                let own = self.observables_of(group);
                let sides: Vec<(f64, f64)> = own
                    .iter()
                    .filter_map(|x| observables.iter().position(|o| o == x).map(|i| region[i]))
                    .collect();
                product.push(self.group_integral(group, &own, &sides)?);
            }
            sum.push(product);
        }
        let amount =
            |product: &Vec<usize>| Amount::Product(product.iter().map(|&i| Amount::Integral(i)).collect());
        let amounts = sum.iter().map(amount).collect();
        if !self.normalisations.contains(&sum) {
            self.normalisations.push(sum);
        }
        Some(Amount::Product(vec![volume, Amount::Sum(amounts)]))
    }

    /// Returns the leaves without densities at given observables whose integral over their own observable is 1: no other leaf
    /// depends on this observable. The second result is the volume of the fit ranges of the observables on which no other
    /// leaf depends.
    fn without_given(&self, leaves: &[usize]) -> Option<(Vec<usize>, f64)> {
        let (mut kept, mut own) = (leaves.to_vec(), Vec::new());
        loop {
            let alone = |&leaf: &usize| {
                let Density::Given(given) = &self.leaves[leaf].density else { return None };
                let x = given.own()?;
                let mut others = kept.iter().filter(|other| **other != leaf);
                others.all(|&other| !self.leaves[other].density.observables().contains(&x)).then_some(x)
            };
            let Some((place, x)) = kept.iter().enumerate().find_map(|(i, leaf)| Some((i, alone(leaf)?)))
            else {
                break;
            };
            kept.remove(place);
            own.push(x);
        }
        let covered = self.observables_of(&kept);
        let mut free = self.observables_of(leaves);
        free.retain(|x| !own.contains(x) && !covered.contains(x));
        if free.is_empty() {
            return Some((kept, 1.0));
        }
        let space = Space { axes: &self.channel.observables, boxes: &self.boxes };
        let volume = |sides: &Vec<(f64, f64)>| sides.iter().map(|(lo, hi)| hi - lo).product::<f64>();
        let volume = space.sides(&free)?.iter().map(volume).sum();
        Some((kept, volume))
    }

    pub(super) fn observables_of(&self, group: &[usize]) -> Vec<usize> {
        let mut own: Vec<usize> =
            group.iter().flat_map(|&leaf| self.leaves[leaf].density.observables()).collect();
        own.sort_unstable();
        own.dedup();
        own
    }

    /// Splits leaves (basic densities) into groups. Two leaves that have an observable in common are in the same group.
    pub(super) fn groups(&self, leaves: &[usize]) -> Vec<Vec<usize>> {
        connected(leaves, &|leaf| self.leaves[leaf].density.observables())
    }

    /// Returns the index of the integral of a group of leaves (basic densities) over one box. Adds the integral if it
    /// is new. `own` contains the observables of the group, and `sides` the ends of the box along them.
    fn group_integral(&mut self, group: &[usize], own: &[usize], sides: &[(f64, f64)]) -> Option<usize> {
        let key = (group.to_vec(), sides.to_vec());
        if let Some(known) = self.known.iter().position(|known| *known == key) {
            return Some(known);
        }
        let integral = self.box_integral(group, own, sides, Purpose::Normalisation)?;
        self.integrals.push(integral);
        self.known.push(key);
        Some(self.known.len() - 1)
    }

    /// Returns the index of the process whose density needs the integral of a group of leaves (basic densities). If
    /// the group has been integrated before, this is the process for which it was.
    fn process_of(&self, group: &[usize]) -> usize {
        let known = self.known.iter().position(|(leaves, _)| leaves == group);
        known.and_then(|i| self.integrals.get(i)).map_or(self.process, |integral| integral.process)
    }

    /// Creates the integral of a group of leaves (basic densities) over one box. `own` contains the observables of the
    /// group. `sides` contains the ends of the box along these observables, in the same order. `purpose` says
    /// whether the box is a bin.
    pub(super) fn box_integral(
        &mut self,
        group: &[usize],
        own: &[usize],
        sides: &[(f64, f64)],
        purpose: Purpose,
    ) -> Option<Integral> {
        let axes = &self.channel.observables;
        let space = Space { axes, boxes: &self.boxes };
        let densities: Vec<_> = group.iter().map(|&leaf| self.leaves[leaf].density.clone()).collect();
        if let [Density::Conditional(_)] = densities.as_slice() {
            let process = self.process_of(group);
            return self.conditional_integral(&densities[0], own, sides, process);
        }
        if let [density @ Density::MultivariateNormal { observables, .. }] = densities.as_slice()
            && observables.len() == own.len()
        {
            return self.normal_integral(
                density,
                observables,
                (own, sides),
                (purpose, self.process_of(group)),
            );
        }
        let (mut b, mut variables) = (Builder::default(), Variables::default());
        let locals = &mut self.locals;
        let mut values = |b: &mut Builder, value: Value| variables.slot(b, value, locals);
        let one_axis = match sides {
            [ends] => Some(*ends),
            _ => None,
        };
        let single = match densities.as_slice() {
            [density] => one_axis.map(|ends| (density, ends)),
            _ => None,
        };
        let side = |x: usize| own.iter().position(|o| *o == x).and_then(|i| sides.get(i)).copied();
        let mut known_error = 0.0;
        let other = match densities.as_slice() {
            [Density::Log(log)] => {
                let ordered: Vec<(f64, f64)> = log.observables.iter().filter_map(|&x| side(x)).collect();
                let found = log.source.0.integral(&ordered, &[]).ok()?;
                known_error = found.error / found.value;
                Some(b.number(found.value))
            }
            // The log-densities of such a density are known only at the events, so a product with it cannot be
            // integrated.
            several
                if several
                    .iter()
                    .any(|density| matches!(density, Density::Log(_) | Density::Conditional(_))) =>
            {
                return None;
            }
            [density] => densities::histogram_integral(&mut b, density, &mut values, &side),
            _ => None,
        };
        let closed = other.or_else(|| {
            let (density, ends) = single?;
            densities::integral(&mut b, density, axes, &mut values, ends)
        });
        let rule = if let Some(result) = closed {
            Rule::Closed(b.finish(result, variables.locals.len(), &[]))
        } else {
            let changed = single.and_then(|(density, ends)| {
                densities::integrand(&mut b, density, &mut values, *own.first()?, ends)
            });
            let (result, left, sides) = match changed {
                Some(result) => (result, own.to_vec(), vec![(0.0, 1.0)]),
                None => {
                    let (result, places) =
                        densities::integrated(&mut b, &densities, space, &mut values, (own, sides))?;
                    let of = |list: &[usize]| places.iter().filter_map(|&k| list.get(k).copied()).collect();
                    (result, of(own), places.iter().filter_map(|&k| sides.get(k).copied()).collect())
                }
            };
            b.renumber(&left);
            let program = b.finish(result, variables.locals.len(), &[]);
            if left.is_empty() {
                Rule::Closed(program)
            } else {
                let edges = integral::edges(&program, &sides, purpose);
                Rule::Numeric(program, edges)
            }
        };
        let (process, observables) = (self.process_of(group), own.to_vec());
        Some(Integral { rule, variables: variables.locals, purpose, process, observables, known_error })
    }

    /// Creates the integral of a multivariate normal density over a box. `observables` are those of the density.
    fn normal_integral(
        &mut self,
        density: &Density,
        observables: &[usize],
        (own, sides): (&[usize], &[(f64, f64)]),
        (purpose, process): (Purpose, usize),
    ) -> Option<Integral> {
        let n = observables.len();
        let side = |x: &usize| own.iter().position(|o| o == x).and_then(|i| sides.get(i)).copied();
        let ordered: Vec<(f64, f64)> = observables.iter().map(side).collect::<Option<_>>()?;
        let mut variables = Variables::default();
        let values = density.own_values();
        // All programs have the same variables.
        let mut b = Builder::default();
        let slots: Vec<Slot> = values.iter().map(|&v| variables.slot(&mut b, v, &mut self.locals)).collect();
        let number = |i: usize| match slots.get(i).map(|&slot| (b.variable(slot), b.constant(slot))) {
            Some((Some(variable), _)) => ContextNumber::Variable(variable),
            Some((None, Some(x))) => ContextNumber::Constant(x),
            _ => ContextNumber::Constant(f64::NAN),
        };
        let numbers = ((0..n).map(number).collect(), (0..n).map(|i| number(n + i * n + i)).collect());
        let mut program = |order: &[usize], cut: usize| {
            let mut b = b.clone();
            let result = densities::multivariate::integrand(&mut b, &slots, (order, cut), &ordered);
            b.finish(result, variables.locals.len(), &[])
        };
        let rule = Rule::Normal(NormalIntegral::new(ordered.clone(), numbers, purpose, &mut program));
        let observables = own.to_vec();
        Some(Integral { rule, variables: variables.locals, purpose, process, observables, known_error: 0.0 })
    }

    /// Creates the integral of a density with context (a density that depends on further numbers) over a box. The
    /// number of panels of the numerical integration is chosen at the initial parameters.
    fn conditional_integral(
        &mut self,
        density: &Density,
        own: &[usize],
        sides: &[(f64, f64)],
        process: usize,
    ) -> Option<Integral> {
        let Density::Conditional(density) = density else { return None };
        let side = |x: &usize| own.iter().position(|o| o == x).and_then(|i| sides.get(i)).copied();
        let sides: Vec<(f64, f64)> = density.observables.iter().filter_map(side).collect();
        let start: Vec<f64> = density.context.iter().map(|&value| (self.start)(value)).collect();
        let source = density.source.clone();
        let panels = match source.0.integral(&sides, &start) {
            Ok(integral) => integral.panels,
            Err(failure) => {
                self.failure = Some(failure);
                return None;
            }
        };
        let mut variables: Vec<usize> = Vec::new();
        let number = |value: &Value| match (self.locals.index(*value), value) {
            (Some(local), _) => {
                let known = variables.iter().position(|&known| known == local);
                ContextNumber::Variable(known.unwrap_or_else(|| {
                    variables.push(local);
                    variables.len() - 1
                }))
            }
            (None, Value::Number(x)) => ContextNumber::Constant(*x),
            (None, _) => ContextNumber::Constant(f64::NAN),
        };
        let context = density.context.iter().map(number).collect();
        let rule = Rule::Conditional(ConditionalIntegral { source, sides, panels, context });
        let observables = own.to_vec();
        Some(Integral {
            rule,
            variables,
            purpose: Purpose::Normalisation,
            process,
            observables,
            known_error: 0.0,
        })
    }
}

/// Divides all terms by a number.
pub(super) fn divide(terms: &mut [Term], total: &Amount) {
    for term in terms {
        term.amount = Amount::Ratio(Box::new(term.amount.clone()), Box::new(total.clone()));
    }
}

/// Splits leaves (basic densities) into groups. Two leaves that have an observable in common are in the same group.
/// `observables` returns the observables of a leaf.
pub(super) fn connected(leaves: &[usize], observables: &dyn Fn(usize) -> Vec<usize>) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for &leaf in leaves {
        let own = observables(leaf);
        let touches =
            |group: &Vec<usize>| group.iter().any(|&l| observables(l).iter().any(|x| own.contains(x)));
        let (touching, mut apart): (Vec<_>, Vec<_>) = groups.into_iter().partition(touches);
        let mut joined: Vec<usize> = touching.into_iter().flatten().collect();
        joined.push(leaf);
        apart.push(joined);
        groups = apart;
    }
    groups
}

/// Returns the coefficient of the component with index `i` of a mixture with `count` components.
fn share(coefficients: &[Value], i: usize, count: usize) -> Amount {
    match coefficients.get(i) {
        None => Amount::Rest(coefficients.to_vec()),
        Some(own) if coefficients.len() < count => Amount::Value(*own),
        Some(own) => {
            let total = coefficients.iter().map(|c| Amount::Value(*c)).collect();
            Amount::Ratio(Box::new(Amount::Value(*own)), Box::new(Amount::Sum(total)))
        }
    }
}
