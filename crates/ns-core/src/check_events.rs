//! Checks indices, lengths and constants of the event channels, functions and penalties of a model.

use crate::{
    Constraint, Correlations, Density, EventChannel, EventTable, FunctionForm, LogProbError, Model,
    Observations, Value,
};

/// Inconsistencies in the event channels, functions and penalties of a model, or in its data.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EventModelError {
    /// A parameter index is out of range.
    #[error("{place} uses parameter {index}, and the model has {count} parameters")]
    NoSuchParameter {
        /// Description of the function, channel or penalty that uses the index.
        place: String,
        /// The index that is out of range.
        index: usize,
        /// Number of parameters.
        count: usize,
    },
    /// A function is used that does not exist, or that is defined later.
    #[error("{place} uses function {index}, and only the first {count} functions can be used there")]
    NoSuchFunction {
        /// Description of the function, channel or penalty that uses the index.
        place: String,
        /// The index of the missing function.
        index: usize,
        /// Number of functions that the function, channel or penalty may use.
        count: usize,
    },
    /// An auxiliary datum does not exist.
    #[error("{place} uses auxiliary datum {index}, and the model has {count} auxiliary data")]
    NoSuchDatum {
        /// Description of the penalty that uses the index.
        place: String,
        /// The index of the missing datum.
        index: usize,
        /// Number of auxiliary data.
        count: usize,
    },
    /// A correlated parameter has no Gaussian constraint.
    #[error("{place} correlates parameter {index}, which has no Gaussian constraint")]
    NotGaussian {
        /// Description of the term.
        place: String,
        /// Index of the parameter.
        index: usize,
    },
    /// A parameter has correlations in two terms, or twice in one.
    #[error("{place} correlates parameter {index}, which has other correlations already")]
    CorrelatedTwice {
        /// Description of the term.
        place: String,
        /// Index of the parameter.
        index: usize,
    },
    /// A log-density (the logarithm of a density that is not a formula) is not assigned to the next free column of the
    /// events. The columns of log-densities must follow the columns of the observables without gaps.
    #[error(
        "{place} has a log-density in column {actual} of its events, where column {expected} is the next one"
    )]
    LogDensityColumn {
        /// Description of the channel.
        place: String,
        /// Index of the column to which the log-density is assigned.
        actual: usize,
        /// Index of the next free column.
        expected: usize,
    },
    /// An observable does not exist, or a function of parameters uses an observable.
    #[error("{place} uses observable {index}, and {count} observables can be used there")]
    NoSuchObservable {
        /// Description of the function or channel that uses the index.
        place: String,
        /// The index of the observable.
        index: usize,
        /// Number of observables that the function or channel may use.
        count: usize,
    },
    /// A list has the wrong length.
    #[error("{what} of {place} has {actual} elements; {expected} are needed")]
    WrongLength {
        /// Description of the channel or function that contains the list.
        place: String,
        /// Description of the list whose length is wrong.
        what: &'static str,
        /// Length of the list.
        actual: usize,
        /// Length that is required.
        expected: usize,
    },
    /// An axis, a fit range, bin edges or knots do not ascend, or are not finite.
    #[error("{what} of {place} does not ascend, or is not finite")]
    NotAscending {
        /// Description of the channel that contains the axis, fit range, bin edges or knots.
        place: String,
        /// Description of the list that does not ascend, such as "list of bin edges".
        what: &'static str,
    },
    /// A density has no integral that can be computed, for example a histogram that multiplies a density of
    /// the same observable.
    #[error(
        "the density of process '{process}' in event channel '{place}' cannot be normalised; write the product as one expression"
    )]
    CannotNormalise {
        /// Name of the channel.
        place: String,
        /// Name of the process.
        process: String,
    },
    /// A density that depends on a context of parameters, such as a normalising flow, cannot be normalised at
    /// the start values.
    #[error("process '{process}' of event channel '{place}', at the start values of the parameters: {cause}")]
    Conditional {
        /// Name of the channel.
        place: String,
        /// Name of the process.
        process: String,
        /// The reason why the density cannot be normalised.
        cause: LogProbError,
    },
    /// A channel has too many bins whose contents are compared with the mean of the density over the bin
    /// ([`BinRule::Integral`](crate::BinRule)).
    #[error(
        "event channel '{place}' compares {count} bins with integrals of its density, and at most {most} are possible; use fewer bins, or bin centres"
    )]
    TooManyBins {
        /// Name of the channel.
        place: String,
        /// Number of bins of the channel.
        count: usize,
        /// Largest number of bins that such a channel may have.
        most: usize,
    },
    /// The second derivatives of a function are too many.
    #[error(
        "function '{function}' has {operations} operations on {parameters} parameters, too many for its second derivatives; \
         write it as a product of several functions, which are modifiers of their own, or with fewer parameters"
    )]
    FunctionTooLarge {
        /// Name of the function.
        function: String,
        /// Number of parameters on which it depends.
        parameters: usize,
        /// Number of operations of its expression.
        operations: usize,
    },
    /// A function is infinite or not a number at the start values of the parameters.
    #[error(
        "function '{function}', a factor of sample '{sample}' in channel '{channel}', is {value} at the start values of its \
         parameters ({parameters}); change the start values, or the formula (division by zero, the logarithm of zero)"
    )]
    FunctionNotFinite {
        /// Name of the function.
        function: String,
        /// Name of the first channel in which the function is a factor.
        channel: String,
        /// Name of the sample.
        sample: String,
        /// Value of the function.
        value: f64,
        /// Parameters of the function with their start values, as text (`c = 0, d = 1`).
        parameters: String,
    },
    /// The expected yield of a bin is negative at the start values of the parameters, and functions are factors there.
    #[error(
        "the expected yield of bin {bin} in channel '{channel}' is {value} at the start values of the parameters; samples of \
         the channel have the factors {functions}; change the start values of their parameters, or the formulae, so that \
         the sum of all samples is positive"
    )]
    NegativeYield {
        /// Name of the channel.
        channel: String,
        /// Index of the bin in the channel.
        bin: usize,
        /// Expected yield of the bin, in events.
        value: f64,
        /// Names of the functions with their values, as text (`'f' = -1`).
        functions: String,
    },
    /// The number of an interpolation code does not exist.
    #[error("function '{place}' has the unknown interpolation code {code}; use 0, 1, 2, 4, 5 or 6")]
    UnknownCode {
        /// Name of the function.
        place: String,
        /// The number that was given.
        code: u8,
    },
}

impl Model {
    /// Checks the functions, event channels and penalties of the model, and the observed events.
    ///
    /// # Errors
    /// If an index is out of range, a list has the wrong length, or numbers that must ascend do not.
    pub fn check_events(&self) -> Result<(), EventModelError> {
        for (index, function) in self.functions.iter().enumerate() {
            let place = || format!("function '{}'", function.name);
            for value in function.form.values() {
                self.check_value(value, index, &place)?;
            }
            if let FunctionForm::Expression(tape) = &function.form
                && let Some(observable) = tape.observables().next()
            {
                return Err(EventModelError::NoSuchObservable {
                    place: place(),
                    index: observable,
                    count: 0,
                });
            }
            if let FunctionForm::Interpolation { variations, .. } = &function.form
                && let Some(bad) = variations.iter().find(|v| !matches!(v.code, 0 | 1 | 2 | 4 | 5 | 6))
            {
                return Err(EventModelError::UnknownCode { place: function.name.clone(), code: bad.code });
            }
        }
        for channel in &self.channels {
            for sample in &channel.samples {
                let place = || format!("sample '{}' of channel '{}'", sample.name, channel.name);
                for values in sample.modifiers.iter().filter_map(crate::Modifier::function) {
                    if values.len() != 1 {
                        length(place, "list of functions", values.len(), channel.n_bins)?;
                    }
                    for &value in values {
                        self.check_value(value, self.functions.len(), &place)?;
                    }
                }
            }
        }
        for channel in &self.event_channels {
            self.check_channel(channel)?;
        }
        let mut correlated = vec![false; self.parameters.len()];
        for penalty in &self.penalties {
            let place = || format!("constraint term '{}'", penalty.name);
            for value in penalty.form.values() {
                self.check_value(value, self.functions.len(), &place)?;
            }
            let count = self.observed.aux.len();
            if let Some(index) = penalty.form.datum().filter(|&index| index >= count) {
                return Err(EventModelError::NoSuchDatum { place: place(), index, count });
            }
            for &index in penalty.form.correlations().into_iter().flat_map(Correlations::parameters) {
                let constraint = self.parameters.get(index).map(|p| p.constraint);
                if !matches!(constraint, Some(Constraint::Gaussian { .. })) {
                    return Err(EventModelError::NotGaussian { place: place(), index });
                }
                if correlated.get_mut(index).is_none_or(|known| std::mem::replace(known, true)) {
                    return Err(EventModelError::CorrelatedTwice { place: place(), index });
                }
            }
        }
        self.check_table_count(&self.observed)?;
        self.check_tables(&self.observed)
    }

    /// Checks the tables of events in `data`: there must be no table, or one table per event channel with the
    /// columns of this channel.
    ///
    /// # Errors
    /// If the number of tables, columns or rows is wrong.
    pub fn check_tables(&self, data: &Observations) -> Result<(), EventModelError> {
        if !data.events.is_empty() {
            self.check_table_count(data)?;
        }
        for (channel, table) in self.event_channels.iter().zip(&data.events) {
            let place = || format!("event channel '{}'", channel.name);
            let columns = channel.observables.len() + channel.log_densities().len();
            length(
                place,
                "list of columns, those of the observables and of log-densities,",
                table.columns.len(),
                columns,
            )?;
            rows(table, place)?;
        }
        Ok(())
    }

    fn check_table_count(&self, data: &Observations) -> Result<(), EventModelError> {
        let (actual, expected) = (data.events.len(), self.event_channels.len());
        length(|| "the data".to_owned(), "list of event tables", actual, expected)
    }

    fn check_value(
        &self,
        value: Value,
        functions: usize,
        place: &dyn Fn() -> String,
    ) -> Result<(), EventModelError> {
        let count = self.parameters.len();
        match value {
            Value::Parameter(index) if index >= count => {
                Err(EventModelError::NoSuchParameter { place: place(), index, count })
            }
            Value::Function(index) if index >= functions => {
                Err(EventModelError::NoSuchFunction { place: place(), index, count: functions })
            }
            _ => Ok(()),
        }
    }

    fn check_channel(&self, channel: &EventChannel) -> Result<(), EventModelError> {
        let place = || format!("event channel '{}'", channel.name);
        let axes = channel.observables.len();
        for axis in &channel.observables {
            ascending(&[axis.min, axis.max], place, "axis of an observable")?;
        }
        for region in channel.ranges.iter().chain(&channel.reference) {
            length(place, "fit range", region.len(), axes)?;
            for &(lower, upper) in region {
                ascending(&[lower, upper], place, "fit range")?;
            }
        }
        if let Some(binning) = &channel.binning {
            length(place, "list of bin edges", binning.edges.len(), axes)?;
            for edges in &binning.edges {
                ascending(edges, place, "list of bin edges")?;
            }
        }
        for process in &channel.processes {
            self.check_value(process.rate, self.functions.len(), &place)?;
            self.check_density(&process.density, axes, &place)?;
        }
        for (expected, own) in (axes..).zip(channel.log_densities()) {
            if own.column != expected {
                let (place, actual) = (place(), own.column);
                return Err(EventModelError::LogDensityColumn { place, actual, expected });
            }
        }
        Ok(())
    }

    fn check_density(
        &self,
        density: &Density,
        axes: usize,
        place: &dyn Fn() -> String,
    ) -> Result<(), EventModelError> {
        for value in density.own_values() {
            self.check_value(value, self.functions.len(), place)?;
        }
        if let Some(index) = density.observables().into_iter().find(|&index| index >= axes) {
            return Err(EventModelError::NoSuchObservable { place: place(), index, count: axes });
        }
        match density {
            Density::Histogram { observables, edges, heights } => {
                length(place, "list of axes of a histogram", edges.len(), observables.len())?;
                for axis in edges {
                    ascending(axis, place, "list of bin edges of a histogram")?;
                }
                let bins = edges.iter().map(|axis| axis.len() - 1).product();
                length(place, "list of contents of a histogram", heights.len(), bins)?;
            }
            Density::Template { observables, edges, heights, variations } => {
                length(place, "list of axes of a template", edges.len(), observables.len())?;
                for axis in edges {
                    ascending(axis, place, "list of bin edges of a template")?;
                }
                let bins = edges.iter().map(|axis| axis.len() - 1).product();
                length(place, "list of contents of a template", heights.len(), bins)?;
                for variation in variations {
                    self.check_value(variation.alpha, self.functions.len(), place)?;
                    length(place, "list of varied contents of a template", variation.lo.len(), bins)?;
                    length(place, "list of varied contents of a template", variation.hi.len(), bins)?;
                }
            }
            Density::Spline { knots, values, .. } => {
                ascending(knots, place, "list of knots of a spline")?;
                length(place, "list of values of a spline", values.len(), knots.len())?;
            }
            Density::MultivariateNormal { observables, mean, covariance } => {
                let n = observables.len();
                length(place, "mean of a multivariate normal density", mean.len(), n)?;
                length(place, "covariance of a multivariate normal density", covariance.len(), n)?;
                for row in covariance {
                    length(place, "covariance of a multivariate normal density", row.len(), n)?;
                }
            }
            Density::Decay(own) => {
                let (n, given) = (own.resolution.len(), own.fractions.len());
                if given != n && given + 1 != n.max(1) {
                    length(place, "list of fractions of a resolution", given, n)?;
                }
            }
            Density::Given(own) => {
                let values = own.density.own_values().len();
                length(
                    place,
                    "list of arguments of a density at given observables",
                    own.arguments.len(),
                    values,
                )?;
                let closed = usize::from(own.own().is_some() && own.density.has_closed_integral());
                length(place, "list of closed integrals of a density at given observables", closed, 1)?;
                self.check_density(&own.density, axes, place)?;
            }
            Density::Convolution(own) => {
                for density in [&own.first, &own.second] {
                    let foreign = usize::from(density.observables() != [own.x] || !density.has_formula());
                    length(place, "list of observables of a convolved density", 1 - foreign, 1)?;
                    self.check_density(density, axes, place)?;
                }
            }
            Density::Projection(own) => {
                for &(lower, upper) in &own.hidden {
                    ascending(&[lower, upper], place, "range of a hidden variable")?;
                }
                let wanted: Vec<usize> = [own.x].into_iter().chain(axes..axes + own.hidden.len()).collect();
                let foreign = usize::from(own.density.observables() != wanted || !own.density.has_formula());
                length(place, "list of observables of a projected density", 1 - foreign, 1)?;
                self.check_density(&own.density, axes + own.hidden.len(), place)?;
            }
            Density::Log(own) => {
                length(
                    place,
                    "list of features of a log-density",
                    own.observables.len(),
                    own.source.0.dimension(),
                )?;
                length(place, "context of a log-density", 0, own.source.0.context().len())?;
            }
            Density::Conditional(own) => {
                let source = &own.source.0;
                length(
                    place,
                    "list of features of a log-density",
                    own.observables.len(),
                    source.dimension(),
                )?;
                length(place, "context of a log-density", own.context.len(), source.context().len())?;
            }
            Density::Mixture { summands, coefficients } => {
                let given = coefficients.len();
                if given != summands.len() && given + 1 != summands.len() {
                    length(place, "list of coefficients of a mixture", given, summands.len())?;
                }
            }
            _ => {}
        }
        density.parts().iter().try_for_each(|part| self.check_density(part, axes, place))
    }
}

fn length(
    place: impl Fn() -> String,
    what: &'static str,
    actual: usize,
    expected: usize,
) -> Result<(), EventModelError> {
    if actual == expected {
        return Ok(());
    }
    Err(EventModelError::WrongLength { place: place(), what, actual, expected })
}

/// Checks that there are at least two numbers, that all of them are finite, and that each is larger than the number
/// before. `place` describes the channel that contains the numbers, and `what` describes the numbers.
fn ascending(numbers: &[f64], place: impl Fn() -> String, what: &'static str) -> Result<(), EventModelError> {
    let holds = numbers.len() > 1
        && numbers.iter().all(|x| x.is_finite())
        && numbers.windows(2).all(|pair| pair[0] < pair[1]);
    if holds { Ok(()) } else { Err(EventModelError::NotAscending { place: place(), what }) }
}

/// Checks that all columns of a table have the same length.
fn rows(table: &EventTable, place: impl Fn() -> String) -> Result<(), EventModelError> {
    for column in table.columns.iter().chain(&table.weights) {
        length(&place, "column of events", column.len(), table.len())?;
    }
    Ok(())
}
