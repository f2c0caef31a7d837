//! Adds event channels, functions, penalties and events to the digests of models and data.

use super::Digest;
use crate::{Density, EventChannel, EventTable, FunctionForm, Model, Op, PenaltyForm, Tape, Value};

impl Digest {
    /// Adds functions, event channels and penalties to the digest. Nothing is added for a model without these parts, so
    /// that binned models have the same digest as in versions without event-level models.
    pub(super) fn event_model(&mut self, model: &Model) {
        if model.functions.is_empty() && model.event_channels.is_empty() && model.penalties.is_empty() {
            return;
        }
        self.integer(model.functions.len());
        for function in &model.functions {
            self.text(&function.name);
            self.function(&function.form);
        }
        self.integer(model.event_channels.len());
        for channel in &model.event_channels {
            self.event_channel(channel);
        }
        self.integer(model.penalties.len());
        for penalty in &model.penalties {
            self.text(&penalty.name);
            self.penalty(&penalty.form);
        }
    }

    /// Adds the events of one channel.
    pub(super) fn events(&mut self, table: &EventTable) {
        self.integer(table.columns.len());
        for column in table.columns.iter().chain(&table.weights) {
            self.numbers(column);
        }
    }

    fn value(&mut self, value: Value) {
        match value {
            Value::Number(number) => self.numbers(&[number]),
            Value::Parameter(index) => {
                self.text("parameter");
                self.integer(index);
            }
            Value::Function(index) => {
                self.text("function");
                self.integer(index);
            }
        }
    }

    pub(super) fn values(&mut self, values: &[Value]) {
        self.integer(values.len());
        values.iter().for_each(|&value| self.value(value));
    }

    fn tape(&mut self, tape: &Tape) {
        self.integer(tape.ops().len());
        for op in tape.ops() {
            // The name of an operation and its constants; operands are written below.
            match op {
                Op::Number(number) => self.numbers(&[*number]),
                Op::Value(value) => self.value(*value),
                Op::Observable(index) => {
                    self.text("observable");
                    self.integer(*index);
                }
                other => self.text(&format!("{other:?}")),
            }
        }
    }

    fn function(&mut self, form: &FunctionForm) {
        match form {
            FunctionForm::Sum(values) => {
                self.text("sum");
                self.values(values);
            }
            FunctionForm::Product(values) => {
                self.text("product");
                self.values(values);
            }
            FunctionForm::Polynomial { x, coefficients } => {
                self.text("polynomial");
                self.value(*x);
                self.values(coefficients);
            }
            FunctionForm::Interpolation { nominal, variations, positive } => {
                self.text("interpolation");
                self.numbers(&[*nominal, f64::from(u8::from(*positive))]);
                self.integer(variations.len());
                for v in variations {
                    self.value(v.alpha);
                    self.numbers(&[v.lo, v.hi, f64::from(v.code)]);
                }
            }
            FunctionForm::Expression(tape) => {
                self.text("expression");
                self.tape(tape);
            }
        }
    }

    fn event_channel(&mut self, channel: &EventChannel) {
        self.text(&channel.name);
        self.integer(channel.observables.len());
        for axis in &channel.observables {
            self.text(&axis.name);
            self.numbers(&[axis.min, axis.max]);
        }
        self.integer(channel.ranges.len());
        for region in &channel.ranges {
            for &(lower, upper) in region {
                self.numbers(&[lower, upper]);
            }
        }
        if !channel.reference.is_empty() {
            self.text("reference");
            for &(lower, upper) in channel.reference.iter().flatten() {
                self.numbers(&[lower, upper]);
            }
        }
        self.integer(usize::from(channel.extended));
        match &channel.binning {
            None => self.text("events"),
            Some(binning) => {
                self.text(&format!("{:?}", binning.rule));
                binning.edges.iter().for_each(|edges| self.numbers(edges));
            }
        }
        self.integer(channel.processes.len());
        for process in &channel.processes {
            self.text(&process.name);
            self.value(process.rate);
            self.density(&process.density);
        }
    }

    fn density(&mut self, density: &Density) {
        self.text(density.type_name());
        for observable in density.observables() {
            self.integer(observable);
        }
        self.values(&density.own_values());
        match density {
            Density::Histogram { observables, edges, heights } => {
                observables.iter().for_each(|&observable| self.integer(observable));
                edges.iter().for_each(|axis| self.numbers(axis));
                self.numbers(heights);
            }
            Density::Template { observables, edges, heights, variations } => {
                observables.iter().for_each(|&observable| self.integer(observable));
                edges.iter().for_each(|axis| self.numbers(axis));
                self.numbers(heights);
                self.integer(variations.len());
                for variation in variations {
                    self.value(variation.alpha);
                    self.text(variation.code.name());
                    self.integer(usize::from(variation.shape) + 2 * usize::from(variation.rate));
                    self.numbers(&variation.lo);
                    self.numbers(&variation.hi);
                }
            }
            Density::Spline { knots, .. } => self.numbers(knots),
            Density::MultivariateNormal { observables, .. } => {
                observables.iter().for_each(|&observable| self.integer(observable));
            }
            Density::CrystalBall { left, right, .. } => {
                self.integer(usize::from(left.is_some()) + 2 * usize::from(right.is_some()));
            }
            Density::Decay(own) => {
                self.text(&format!("{:?}", own.sides));
                self.integer(usize::from(own.oscillation.is_some()));
                self.integer(own.resolution.len());
                self.integer(own.fractions.len());
            }
            Density::Given(own) => {
                for argument in &own.arguments {
                    self.integer(usize::from(argument.is_some()));
                    argument.iter().for_each(|tape| self.tape(tape));
                }
                self.density(&own.density);
            }
            Density::Convolution(own) => {
                self.density(&own.first);
                self.density(&own.second);
            }
            Density::Projection(own) => {
                own.hidden.iter().for_each(|&(lower, upper)| self.numbers(&[lower, upper]));
                self.density(&own.density);
            }
            Density::Generic(tape) => self.tape(tape),
            Density::Log(own) => {
                own.observables.iter().for_each(|&observable| self.integer(observable));
                self.text(own.source.0.digest());
            }
            Density::Conditional(own) => {
                own.observables.iter().for_each(|&observable| self.integer(observable));
                self.text(own.source.0.digest());
            }
            _ => {}
        }
        self.integer(density.parts().len());
        density.parts().iter().for_each(|part| self.density(part));
    }

    fn penalty(&mut self, form: &PenaltyForm) {
        self.text(match form {
            PenaltyForm::Gaussian { .. } => "gaussian",
            PenaltyForm::Poisson { .. } => "poisson",
            PenaltyForm::Lognormal { .. } => "lognormal",
            PenaltyForm::Gamma { .. } => "gamma",
            PenaltyForm::Correlated(_) => "correlated",
        });
        self.values(&form.values());
        if let Some(datum) = form.datum() {
            self.integer(datum);
        }
        if let Some(own) = form.correlations() {
            self.numbers(own.matrix());
        }
    }
}
