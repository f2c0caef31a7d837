//! Finds densities that jump at a place that depends on parameters. The derivative of such a likelihood with respect to
//! these parameters lacks the part that comes from the jump, so that neither fits nor gradients are right.

use std::collections::BTreeSet;

use crate::events::function_values;
use crate::{Density, FunctionForm, Model, Op, Tape, Value};

/// A density that jumps where a comparison in its formula changes its result, at a place that depends on parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DensityJump {
    /// Index of the event channel.
    pub channel: usize,
    /// Index of the process, in the event channel, whose density jumps.
    pub process: usize,
    /// Indices of the parameters that move the jump, in ascending order.
    pub parameters: Vec<usize>,
}

/// Number of equal steps along an observable. Comparisons are evaluated at both ends of each step.
const STEPS: usize = 256;
/// Number of times that a step is halved to locate the point at which a comparison changes.
const HALVINGS: usize = 60;
/// Distance from such a point at which both sides are compared, as a fraction of the side of the box.
const NEAR: f64 = 1e-10;
/// Ratio of the two distances at which both sides are compared.
const FARTHER: f64 = 1e4;
/// Smallest difference of the two sides, relative to the larger one, that is a jump. Rounded constants of continuous
/// functions stay below it.
const LEAST: f64 = 1e-6;
/// Values of a parameter, as fractions of the distance between its bounds, at which jumps are looked for.
const FRACTIONS: [f64; 5] = [0.1, 0.3, 0.5, 0.7, 0.9];
/// Points of a box, as fractions of its sides, through which lines are drawn. An observable takes the fractions in turn.
const THROUGH: [f64; 5] = [0.5, 0.17, 0.83, 0.35, 0.66];
/// Largest number of operations that are carried out for one density.
const MOST_OPERATIONS: usize = 50_000_000;

impl Model {
    /// Returns the densities that jump at places that depend on parameters, fixed or not.
    ///
    /// Only expressions ([`Density::Generic`]) can jump at such places: where a comparison, or the sign of a denominator,
    /// changes along an observable. Both sides of the place are compared, at the start values and at five values of each of
    /// the parameters concerned. If the difference of both sides does not vanish towards the place, the density jumps.
    #[must_use]
    pub fn density_jumps(&self) -> Vec<DensityJump> {
        let mut jumps = Vec::new();
        for (c, channel) in self.event_channels.iter().enumerate() {
            for (p, process) in channel.processes.iter().enumerate() {
                let mut found = BTreeSet::new();
                self.add_jumps(&process.density, &channel.boxes(), &mut found);
                if !found.is_empty() {
                    let parameters = found.into_iter().collect();
                    jumps.push(DensityJump { channel: c, process: p, parameters });
                }
            }
        }
        jumps
    }

    /// Returns the parameters that stand in a comparison in a density or a function, whether or not anything jumps there.
    #[must_use]
    pub fn compared_parameters(&self) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        for function in &self.functions {
            if let FunctionForm::Expression(tape) = &function.form {
                found.extend(self.switches(tape).into_iter().flat_map(|switch| switch.parameters));
            }
        }
        let mut densities: Vec<&Density> =
            self.event_channels.iter().flat_map(|c| &c.processes).map(|p| &p.density).collect();
        while let Some(density) = densities.pop() {
            densities.extend(density.parts());
            if let Density::Generic(tape) = density {
                found.extend(self.switches(tape).into_iter().flat_map(|switch| switch.parameters));
            }
        }
        found
    }

    fn add_jumps(&self, density: &Density, boxes: &[Vec<(f64, f64)>], found: &mut BTreeSet<usize>) {
        for part in density.parts() {
            self.add_jumps(part, boxes, found);
        }
        let Density::Generic(tape) = density else { return };
        let mut switches = self.switches(tape);
        switches.retain(|switch| switch.along_observables && !switch.parameters.is_empty());
        let mut left = MOST_OPERATIONS;
        for theta in self.points_of(&switches) {
            let functions = function_values(&self.functions, &theta);
            let value = |value: Value| value.at(&theta, &functions);
            for region in boxes {
                if switches.is_empty() || left == 0 {
                    return;
                }
                let line = Lines { tape, value: &value, region };
                switches.retain(|switch| {
                    let jumps = line.jumps(switch, &mut left);
                    if jumps {
                        found.extend(&switch.parameters);
                    }
                    !jumps
                });
            }
        }
    }

    /// Returns the start values, and the points at which one parameter of a comparison has another value within its bounds.
    fn points_of(&self, switches: &[Switch]) -> Vec<Vec<f64>> {
        let start: Vec<f64> = self.parameters.iter().map(|p| p.init).collect();
        let mut points = vec![start.clone()];
        if switches.is_empty() {
            return points;
        }
        let moved: BTreeSet<usize> = switches.iter().flat_map(|switch| switch.parameters.clone()).collect();
        for p in moved {
            let Some((lo, hi)) = self.parameters.get(p).map(|parameter| parameter.bounds) else { continue };
            for fraction in FRACTIONS {
                let mut point = start.clone();
                point[p] = lo + fraction * (hi - lo);
                if point[p].is_finite() {
                    points.push(point);
                }
            }
        }
        points
    }

    /// Returns the comparisons of an expression, and the denominators that depend on observables.
    fn switches(&self, tape: &Tape) -> Vec<Switch> {
        let ops = tape.ops();
        let mut along: Vec<bool> = Vec::with_capacity(ops.len());
        for op in ops {
            let inherited = op.operands().into_iter().flatten().any(|operand| along[operand]);
            along.push(inherited || matches!(op, Op::Observable(_)));
        }
        let mut left = MOST_OPERATIONS;
        let mut switches = Vec::new();
        for (i, op) in ops.iter().enumerate() {
            let (slot, is_sign) = match *op {
                Op::Less(..) | Op::LessEqual(..) => (i, false),
                Op::Div(_, denominator) if along[denominator] => (denominator, true),
                _ => continue,
            };
            if left < ops.len() {
                break;
            }
            left -= ops.len();
            let parameters = self.parameters_below(ops, slot);
            switches.push(Switch { slot, is_sign, along_observables: along[slot], parameters });
        }
        switches
    }

    /// Returns the parameters on which the result of an operation depends.
    fn parameters_below(&self, ops: &[Op], slot: usize) -> BTreeSet<usize> {
        let (mut found, mut values) = (BTreeSet::new(), Vec::new());
        let (mut seen, mut slots) = (vec![false; ops.len()], vec![slot]);
        while let Some(slot) = slots.pop() {
            if std::mem::replace(&mut seen[slot], true) {
                continue;
            }
            slots.extend(ops[slot].operands().into_iter().flatten());
            if let Op::Value(value) = ops[slot] {
                values.push(value);
            }
        }
        let mut seen = vec![false; self.functions.len()];
        while let Some(value) = values.pop() {
            match value {
                Value::Number(_) => {}
                Value::Parameter(p) => {
                    found.insert(p);
                }
                Value::Function(f) => {
                    if let (Some(function), Some(seen)) = (self.functions.get(f), seen.get_mut(f))
                        && !std::mem::replace(seen, true)
                    {
                        values.extend(function.form.values());
                    }
                }
            }
        }
        found
    }
}

/// An operation of an expression at which the value of the expression may jump.
struct Switch {
    /// The operation whose result is looked at.
    slot: usize,
    /// Whether the sign of the result counts, instead of the result.
    is_sign: bool,
    along_observables: bool,
    parameters: BTreeSet<usize>,
}

/// An expression at one parameter point, along lines through a box.
struct Lines<'a, F: Fn(Value) -> f64> {
    tape: &'a Tape,
    value: &'a F,
    region: &'a [(f64, f64)],
}

impl<F: Fn(Value) -> f64> Lines<'_, F> {
    /// Returns whether the expression jumps where the switch changes, on any of the lines. `left` is the number of
    /// operations that may still be carried out.
    fn jumps(&self, switch: &Switch, left: &mut usize) -> bool {
        let axes: BTreeSet<usize> = self.tape.observables().collect();
        let through = if axes.len() > 1 { THROUGH.len() } else { 1 };
        let mut results = Vec::new();
        for axis in axes {
            for first in 0..through {
                let cost = STEPS * self.tape.ops().len();
                if *left < cost {
                    *left = 0;
                    return false;
                }
                *left -= cost;
                let fraction = |k: usize| THROUGH[(first * (k + 1)) % THROUGH.len()];
                let mut event: Vec<f64> = self
                    .region
                    .iter()
                    .enumerate()
                    .map(|(k, (lo, hi))| lo + fraction(k) * (hi - lo))
                    .collect();
                if self.jumps_along(switch, axis, &mut event, &mut results) {
                    return true;
                }
            }
        }
        false
    }

    fn jumps_along(&self, switch: &Switch, axis: usize, event: &mut [f64], results: &mut Vec<f64>) -> bool {
        let Some(&(lo, hi)) = self.region.get(axis) else { return false };
        let mut at = |x: f64| {
            if let Some(own) = event.get_mut(axis) {
                *own = x;
            }
            let value = self.tape.evaluate(self.value, event, results);
            let result = results.get(switch.slot).copied().unwrap_or(f64::NAN);
            (value, if switch.is_sign { result < 0.0 } else { result != 0.0 })
        };
        let mut before = (lo, at(lo).1);
        for step in 1..=STEPS {
            let x = lo + (hi - lo) * step as f64 / STEPS as f64;
            let here = at(x).1;
            if here != before.1 {
                let (mut below, mut above) = (before.0, x);
                for _ in 0..HALVINGS {
                    let middle = 0.5 * (below + above);
                    if at(middle).1 == before.1 { below = middle } else { above = middle }
                }
                let near = (NEAR * (hi - lo)).max(8.0 * f64::EPSILON * above.abs());
                let mut difference = |distance: f64| {
                    let (left, right) = (at(below - distance).0, at(above + distance).0);
                    ((left - right).abs(), left.abs().max(right.abs()))
                };
                let (far, _) = difference(FARTHER * near);
                let (close, size) = difference(near);
                // Towards a place where both sides meet, the difference vanishes. If a side is not a number, it says
                // nothing.
                if close > LEAST * size && close > 0.5 * far {
                    return true;
                }
            }
            before = (x, here);
        }
        false
    }
}
