//! `shapeN` lines: templates that are interpolated by the logarithms of their ratios to the nominal one.

use ns_core::{Effect, Function, FunctionForm, Modifier, Op, Tape, Value};

use super::Builder;
use super::effects::Column;
use super::template::Scaling;
use crate::log_normal::{push, smooth_slope};

/// The effect of one parameter on the shape of a process.
pub(super) struct LogShape {
    parameter: usize,
    /// Multiplies the parameter.
    scale: f64,
    /// Logarithms of the ratios at -1 and +1, by bin; 0 where one of the two templates is empty.
    ratios: Vec<(f64, f64)>,
}

impl LogShape {
    /// `templates` are the nominal one and those at -1 and +1.
    pub(super) fn new(
        parameter: usize,
        scale: f64,
        scaling: Scaling,
        (nominal, down, up): (&[f64], &[f64], &[f64]),
    ) -> Self {
        let keep = scaling == (Scaling::Own { keep_integrals: true });
        let sum = |template: &[f64]| if keep { 1.0 } else { template.iter().sum::<f64>() };
        let (own, lo, hi) = (sum(nominal), sum(down), sum(up));
        let ratio = |n: f64, v: f64, total: f64| {
            if n > 0.0 && v > 0.0 { (v / total / (n / own)).ln() } else { 0.0 }
        };
        let ratios = nominal
            .iter()
            .zip(down)
            .zip(up)
            .map(|((&n, &d), &u)| (ratio(n, d, lo), ratio(n, u, hi)))
            .collect();
        Self { parameter, scale, ratios }
    }
}

impl Builder<'_> {
    /// Adds the factors of `shapeN` lines: the exponential of the sum of all interpolated logarithms. As in Combine, the
    /// interpolation is smooth within the smallest scale of the process, and without `autoMCStats` the sum of all bins
    /// stays what it is.
    pub(super) fn add_log_shapes(&mut self, columns: &[Column]) {
        for (at, column) in columns.iter().enumerate().filter(|(_, column)| !column.log_shapes.is_empty()) {
            let Some(Some(cell)) = self.cells.get(at) else { continue };
            let nominal = cell.nominal.clone();
            let region = column.log_shapes.iter().map(|shape| shape.scale).fold(1.0, f64::min);
            let Some(written) = self.document.columns.get(at) else { continue };
            let word = format!("{}_{}", written.process, self.document.channel_of(written));
            let mut values = Vec::with_capacity(nominal.len());
            for bin in 0..nominal.len() {
                values.push(self.factor_of_bin(
                    &column.log_shapes,
                    bin,
                    region,
                    format!("shape_{word}_bin{bin}"),
                ));
            }
            if matches!(self.scaling(at), Scaling::Rate(_)) {
                values = self.normalised(&values, &nominal, &word);
            }
            if let Some(Some(cell)) = self.cells.get_mut(at) {
                let effect = Effect::Function { values };
                cell.modifiers.push(Modifier { name: format!("shape_{word}"), first: 0, effect });
            }
        }
    }

    /// Returns the factor of one bin.
    fn factor_of_bin(&mut self, shapes: &[LogShape], bin: usize, region: f64, name: String) -> Value {
        let mut ops = vec![Op::Number(0.0)];
        let mut sum = 0;
        for shape in shapes {
            let (low, high) = shape.ratios.get(bin).copied().unwrap_or_default();
            if low == 0.0 && high == 0.0 {
                continue;
            }
            let mut x = push(&mut ops, Op::Value(Value::Parameter(shape.parameter)));
            if shape.scale != 1.0 {
                let scale = push(&mut ops, Op::Number(shape.scale));
                x = push(&mut ops, Op::Mul(scale, x));
            }
            let term = smooth_slope(&mut ops, x, low, high, region);
            sum = push(&mut ops, Op::Add(sum, term));
        }
        if sum == 0 {
            return Value::Number(1.0);
        }
        push(&mut ops, Op::Exp(sum));
        self.add_function(name, ops).unwrap_or(Value::Number(1.0))
    }

    /// Divides the factors by what they make of the sum of the yields.
    fn normalised(&mut self, values: &[Value], nominal: &[f64], word: &str) -> Vec<Value> {
        let total: f64 = nominal.iter().sum();
        let mut ops = vec![Op::Number(0.0)];
        let mut sum = 0;
        for (value, yields) in values.iter().zip(nominal) {
            let part = push(&mut ops, Op::Number(yields / total));
            let value = push(&mut ops, Op::Value(*value));
            let term = push(&mut ops, Op::Mul(part, value));
            sum = push(&mut ops, Op::Add(sum, term));
        }
        let Some(sum) = self.add_function(format!("shape_{word}_sum"), ops) else { return values.to_vec() };
        let divided = |(bin, value): (usize, &Value)| {
            let ops = vec![Op::Value(*value), Op::Value(sum), Op::Div(0, 1)];
            self.add_function(format!("shape_{word}_bin{bin}_of_sum"), ops).unwrap_or(*value)
        };
        values.iter().enumerate().map(divided).collect()
    }

    /// Adds a function with these operations.
    pub(super) fn add_function(&mut self, name: String, ops: Vec<Op>) -> Option<Value> {
        let form = FunctionForm::Expression(Tape::new(ops).ok()?);
        self.functions.push(Function { name, form });
        Some(Value::Function(self.functions.len() - 1))
    }
}
