//! Templates that are interpolated between values of a parameter (`Morphing`): the weight of each template is a function of
//! the parameter, which is 1 at the template's value and 0 at those of its neighbours.

use super::config::{Config, Interpolation, Sample};
use crate::build::describe::{Formula, Parameter};
use crate::build::fields::Reader;
use crate::pyhf::names::quoted;

/// Steepness of the smooth interpolation, relative to the distance of two templates.
const STEEPNESS: f64 = 80.0;
/// Square of the distance below which the square root is not an absolute value.
const EPSILON: f64 = 1e-7;

/// Returns the factors of a sample that is morphed.
pub(super) fn factors(config: &Config, sample: &Sample) -> Vec<Formula> {
    sample
        .morphing
        .iter()
        .map(|(parameter, value)| Formula {
            name: format!("morph_{parameter}_{}", value.to_string().replace('-', "m")),
            expression: weight(parameter, *value, &values(config, parameter), config.job.interpolation),
        })
        .collect()
}

/// Returns the settings of the parameters of morphing. Where no 'NormFactor' has the name, the range is that of the templates,
/// and the start value is the lowest.
pub(super) fn parameters(config: &Config) -> Vec<Parameter> {
    let mut names: Vec<&String> = Vec::new();
    for (name, _) in config.samples.iter().flat_map(|sample| &sample.morphing) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let setting = |name: &String| {
        let values = values(config, name);
        let (Some(&low), Some(&high)) = (values.first(), values.last()) else { return None };
        let factor = config.factors.iter().find(|factor| factor.name == *name && !factor.per_bin);
        Some(Parameter {
            name: name.clone(),
            init: Some(factor.map_or(low, |factor| factor.nominal)),
            bounds: Some(factor.map_or([low, high], |factor| factor.bounds)),
            fixed: factor.is_some_and(|factor| factor.constant),
        })
    };
    names.into_iter().filter_map(setting).collect()
}

/// Reports parameters with one template alone.
pub(super) fn check(config: &Config, reader: &mut Reader) {
    for sample in &config.samples {
        for (name, _) in &sample.morphing {
            if values(config, name).len() < 2 {
                let message = format!("The parameter {} of 'Morphing' has one template.", quoted(name));
                reader.error(sample.line, message, "Give samples for two values of it at least.");
            }
        }
    }
}

/// Returns the values of a parameter that have templates, in ascending order.
fn values(config: &Config, parameter: &str) -> Vec<f64> {
    let of_samples = config.samples.iter().flat_map(|sample| &sample.morphing);
    let mut values: Vec<f64> =
        of_samples.filter(|(name, _)| name == parameter).map(|(_, value)| *value).collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

/// Returns the weight of the template at `value` as an expression.
fn weight(x: &str, value: f64, values: &[f64], how: Interpolation) -> String {
    let below = values.iter().rev().find(|other| **other < value);
    let above = values.iter().find(|other| **other > value);
    let distance = format!("({x} - ({value}))");
    if how == Interpolation::Linear {
        let rise = below.map(|other| format!("({x} - ({other}))/{}", value - other));
        let fall = above.map(|other| format!("(({other}) - {x})/{}", other - value));
        let sides: Vec<String> = std::iter::once("1".to_owned()).chain(rise).chain(fall).collect();
        let least = sides.into_iter().reduce(|a, b| format!("min({a}, {b})")).unwrap_or_default();
        return format!("max(0, {least})");
    }
    let side = |other: Option<&f64>| {
        let Some(width) = other.map(|other| (other - value).abs()) else { return "1".to_owned() };
        match how {
            Interpolation::SmoothLinear => {
                let k = STEEPNESS / (2.0 * width);
                // Without the correction, the weight at the neighbour would not be 0.
                let at_end = ln_twice_cosh(k * width) - std::f64::consts::LN_2;
                let scale = 1.0 / at_end;
                format!("1 - {scale}*(log(exp({k}*{distance}) + exp(-{k}*{distance})) - log(2))")
            }
            _ => {
                let root = (width * width / EPSILON + 1.0).sqrt();
                let offset = root / (root - 1.0);
                let slope = offset / (width * width + EPSILON).sqrt();
                format!("{offset} - {slope}*sqrt({distance}*{distance} + {EPSILON:.7})")
            }
        }
    };
    let within = |other: Option<&f64>, sign: &str, inside: String| match other {
        Some(other) => format!("({x} {sign} {other} ? {inside} : 0)"),
        None => inside,
    };
    let (left, right) = (within(below, ">", side(below)), within(above, "<", side(above)));
    format!("{x} < {value} ? {left} : {right}")
}

/// Returns the logarithm of `exp(x) + exp(-x)`.
fn ln_twice_cosh(x: f64) -> f64 {
    x.abs() + (-2.0 * x.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ns_unbinned::expression::Expression;

    #[test]
    fn weights_are_one_at_their_template_and_zero_at_the_others() {
        let values = [-0.5, 1.0, 1.5];
        for how in [Interpolation::Linear, Interpolation::SmoothLinear, Interpolation::SquareRoot] {
            for own in values {
                let text = weight("x", own, &values, how);
                let parsed = Expression::parse(&text).map_err(|error| format!("{text}: {error}"));
                assert!(parsed.is_ok(), "{parsed:?}");
                let at = |x: f64| parsed.as_ref().map_or(f64::NAN, |parsed| parsed.value(|_| x));
                for other in values {
                    let wanted = f64::from(u8::from(other == own));
                    assert!((at(other) - wanted).abs() < 1e-3, "{text} at {other}: {}", at(other));
                }
            }
            let sum: f64 = values
                .iter()
                .map(|own| {
                    let text = weight("x", *own, &values, how);
                    Expression::parse(&text).map_or(f64::NAN, |parsed| parsed.value(|_| 1.2))
                })
                .sum();
            assert!((sum - 1.0).abs() < 0.05, "{how:?}: {sum}");
        }
    }
}
