//! Finds the names in distributions and functions that refer to other objects of an HS3 file.

use ns_unbinned::expression::Expression;

use super::document::{Arg, Argument, Distribution, Function, HistFactory, WrittenConstraint};

/// The kind of object that a name must refer to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// An observable, a parameter or a function.
    Value,
    /// A distribution.
    Distribution,
    /// An observable, a parameter, a function or a distribution.
    Either,
}

/// A name that an object refers to, with its location in the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reference<'a> {
    pub(super) name: &'a str,
    pub(super) path: &'a str,
    pub(super) role: Role,
}

/// Returns a reference for each argument that is a name.
fn named<'a>(arguments: impl IntoIterator<Item = &'a Arg>, role: Role) -> Vec<Reference<'a>> {
    let reference = |argument: &'a Arg| match &argument.value {
        Argument::Name(name) => Some(Reference { name, path: &argument.path, role }),
        _ => None,
    };
    arguments.into_iter().filter_map(reference).collect()
}

/// Returns a reference for each name in an expression. `path` is the location of the expression in the file.
fn expressed<'a>(path: &'a str, expression: Option<&'a Expression>) -> Vec<Reference<'a>> {
    let names = expression.map(Expression::names).unwrap_or_default();
    names.iter().map(|name| Reference { name, path, role: Role::Value }).collect()
}

/// Returns the references of a distribution to other objects. The names of parameters that modifiers declare are not
/// references.
pub(super) fn of_distribution<'a>(
    distribution: &'a Distribution,
    expression: Option<&'a Expression>,
) -> Vec<Reference<'a>> {
    use Distribution as D;
    let values = |arguments: &[&'a Arg]| named(arguments.iter().copied(), Role::Value);
    let with = |x: &'a Arg, more: &'a [Arg]| named(std::iter::once(x).chain(more), Role::Value);
    match distribution {
        D::Landau { x, mean, sigma } => values(&[x, mean, sigma]),
        D::Gaussian { x, mean, sigma } => values(&[x, mean, sigma]),
        D::BifurcatedGaussian { x, mean, left, right } => values(&[x, mean, left, right]),
        D::Exponential { x, c } => values(&[x, c]),
        D::Argus { mass, resonance, slope, power } => values(&[mass, resonance, slope, power]),
        D::CrystalBall { x, mean, left, right, tails } => {
            let mut all = vec![x, mean, left, right];
            all.extend([&tails.left, &tails.right].into_iter().flatten().flat_map(|(alpha, n)| [alpha, n]));
            values(&all)
        }
        D::Chebychev { x, coefficients }
        | D::Polynomial { x, coefficients }
        | D::Bernstein { x, coefficients } => with(x, coefficients),
        D::PowerSum { x, coefficients, exponents } => {
            named(std::iter::once(x).chain(coefficients).chain(exponents), Role::Value)
        }
        D::Uniform { x } => named(x, Role::Value),
        D::Lognormal { x, mu, sigma } => values(&[x, mu, sigma]),
        D::Poisson { x, mean } => values(&[x, mean]),
        D::Gamma { x, gamma, beta, mu } => values(&[x, gamma, beta, mu]),
        D::GeneralizedNormal { x, mean, alpha, beta } => values(&[x, mean, alpha, beta]),
        D::MultivariateNormal { x, mean, .. } => named(x.iter().chain(mean), Role::Value),
        D::BreitWigner { x, mean, width } => values(&[x, mean, width]),
        D::Voigt { x, mean, width, sigma } => values(&[x, mean, width, sigma]),
        D::JohnsonSu { x, mu, lambda, gamma, delta } => values(&[x, mu, lambda, gamma, delta]),
        D::Convolution { x, first, second } => {
            let mut all = values(&[x]);
            all.extend(named([first, second], Role::Distribution));
            all
        }
        D::Projected { density, hidden } => {
            let mut all = named([density], Role::Distribution);
            all.extend(hidden.iter().map(|x| Reference { name: &x.value, path: &x.path, role: Role::Value }));
            all
        }
        D::WeightedSum { samples, coefficients } => {
            let mut all = named(samples, Role::Either);
            all.extend(named(coefficients, Role::Value));
            all
        }
        D::Decay { t, tau, oscillation, resolution, .. } => {
            let mut all = values(&[t, tau]);
            if let Some(w) = oscillation {
                all.extend(values(&[&w.delta_gamma, &w.delta_m, &w.cosh, &w.sinh, &w.cos, &w.sin]));
            }
            all.extend(named([resolution], Role::Distribution));
            all
        }
        D::Truth { x } => values(&[x]),
        D::GaussModel { x, mean, sigma } => values(&[x, mean, sigma]),
        D::MixtureModel { summands, coefficients } => {
            let mut all = named(summands, Role::Distribution);
            all.extend(named(coefficients, Role::Value));
            all
        }
        D::Given { inner, observables } => {
            let mut all = of_distribution(inner, None);
            let given = observables.iter();
            all.extend(given.map(|x| Reference { name: &x.value, path: &x.path, role: Role::Value }));
            all
        }
        D::Spline { x, .. } => values(&[x]),
        D::Flow { x, context, .. } => named(x.iter().chain(context), Role::Value),
        D::Histogram { axes, .. } => axes
            .iter()
            .map(|axis| Reference { name: &axis.name, path: &axis.path, role: Role::Value })
            .collect(),
        D::Template(template) => {
            let parameters = template.responses.iter().map(|response| &response.parameter);
            named(template.x.iter().chain(parameters), Role::Value)
        }
        D::Generic { expression: text, .. } => expressed(&text.path, expression),
        D::DensityFunction { function, .. } => values(&[function]),
        D::EfficiencyProduct { pdf, efficiency } => {
            let mut all = named([pdf], Role::Distribution);
            all.extend(named([efficiency], Role::Value));
            all
        }
        D::HistFactory(channel) => of_channel(channel),
        D::Mixture { summands, coefficients, .. } => {
            let mut all = named(summands, Role::Distribution);
            all.extend(named(coefficients, Role::Value));
            all
        }
        D::Product { factors } => named(factors, Role::Distribution),
        D::RateExtended { rate, distribution, .. } => {
            let mut all = named([rate], Role::Value);
            all.extend(named([distribution], Role::Distribution));
            all
        }
        D::Unsupported { .. } => Vec::new(),
    }
}

/// Returns the references of a HistFactory channel: its axes, and the distributions that constrain its modifiers.
fn of_channel(channel: &HistFactory) -> Vec<Reference<'_>> {
    let axes = channel.axes.iter();
    let mut all: Vec<Reference<'_>> =
        axes.map(|axis| Reference { name: &axis.name, path: &axis.path, role: Role::Value }).collect();
    for modifier in channel.samples.iter().flat_map(|sample| &sample.modifiers) {
        let constraints = match &modifier.constraint {
            WrittenConstraint::Distribution(name) => vec![name],
            WrittenConstraint::Distributions(names) => names.iter().flatten().collect(),
            WrittenConstraint::None | WrittenConstraint::Kind(_) => Vec::new(),
        };
        all.extend(constraints.into_iter().map(|name| Reference {
            name: &name.value,
            path: &name.path,
            role: Role::Distribution,
        }));
    }
    all
}

/// Returns the references of a function to other objects.
pub(super) fn of_function<'a>(
    function: &'a Function,
    expression: Option<&'a Expression>,
) -> Vec<Reference<'a>> {
    match function {
        Function::Sum { summands: arguments }
        | Function::Product { factors: arguments }
        | Function::Interpolation { parameters: arguments, .. } => named(arguments, Role::Value),
        Function::Polynomial { x, coefficients } => {
            named(std::iter::once(x).chain(coefficients), Role::Value)
        }
        Function::Generic { expression: text, .. } => expressed(&text.path, expression),
        Function::ProcessNormalization { nominal, symmetric, asymmetric, factors } => {
            let thetas = symmetric.iter().map(|pair| &pair.0).chain(asymmetric.iter().map(|pair| &pair.0));
            named(std::iter::once(nominal).chain(thetas).chain(factors), Role::Value)
        }
        Function::Unsupported { .. } => Vec::new(),
    }
}
