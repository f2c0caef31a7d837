//! Formulae of functions of parameters, and of penalty terms, as steps of a program.

use ns_core::{FunctionForm, Measured, PenaltyForm, Special};

use super::program::{Builder, Slot, Step, Unary, Values};
use super::special::Interpolation;

/// The constant `ln sqrt(2 pi)`.
const LN_ROOT_TWO_PI: f64 = 0.918_938_533_204_672_741_78;

/// Appends to the program `b` the steps that compute a function of parameters. Returns the slot (the index) of the
/// result.
pub(super) fn function(b: &mut Builder, form: &FunctionForm, values: Values<'_>) -> Slot {
    match form {
        FunctionForm::Sum(all) => {
            let zero = b.number(0.0);
            all.iter().fold(zero, |sum, &value| {
                let value = values(b, value);
                b.add(sum, value)
            })
        }
        FunctionForm::Product(all) => {
            let one = b.number(1.0);
            all.iter().fold(one, |product, &value| {
                let value = values(b, value);
                b.mul(product, value)
            })
        }
        FunctionForm::Polynomial { x, coefficients } => {
            let (x, zero) = (values(b, *x), b.number(0.0));
            coefficients.iter().rev().fold(zero, |sum, &c| {
                let (product, c) = (b.mul(sum, x), values(b, c));
                b.add(product, c)
            })
        }
        FunctionForm::Interpolation { nominal, variations, positive } => {
            let mut number = b.number(*nominal);
            for variation in variations {
                let interpolation = Interpolation::new(variation, *nominal);
                let alpha = values(b, variation.alpha);
                let change = b.unary(Unary::Interpolation(interpolation), alpha);
                number = if interpolation.multiplies { b.mul(number, change) } else { b.add(number, change) };
            }
            if *positive {
                let (zero, least) = (b.number(0.0), b.number(f64::MIN_POSITIVE));
                let allowed = b.push(Step::Less(zero, number));
                number = b.push(Step::Select(allowed, number, least));
            }
            number
        }
        FunctionForm::Expression(tape) => b.tape(tape, values),
    }
}

/// Appends to the program `b` the steps that compute the expected datum of a penalty term. With this datum the term is
/// smallest where it is. Returns the slot (the index) of the result, or `None` if the term has no datum.
pub(super) fn expected(b: &mut Builder, form: &PenaltyForm, values: Values<'_>) -> Option<Slot> {
    Some(match *form {
        PenaltyForm::Gaussian { x, mean: Measured::Datum(_), .. } => values(b, x),
        PenaltyForm::Poisson { mean, count: Measured::Datum(_) } => values(b, mean),
        PenaltyForm::Lognormal { x: Measured::Datum(_), mu: Measured::Value(mu), .. } => values(b, mu),
        // The density of `x` has the factor `1 / x`, which moves its maximum to `exp(mu - sigma^2)`.
        PenaltyForm::Lognormal { x: Measured::Value(x), mu: Measured::Datum(_), sigma } => {
            let (x, sigma) = (values(b, x), values(b, sigma));
            let (log, variance) = (b.unary(Unary::Ln, x), b.mul(sigma, sigma));
            b.add(log, variance)
        }
        PenaltyForm::Gamma { x, shape: Measured::Datum(_), rate } => {
            let (x, rate) = (values(b, x), values(b, rate));
            b.mul(rate, x)
        }
        _ => return None,
    })
}

/// Appends to the program `b` the steps that compute the negative logarithm of the density of a penalty term. Returns
/// the slot (the index) of the result.
pub(super) fn penalty(b: &mut Builder, form: &PenaltyForm, values: Values<'_>) -> Slot {
    let measured = |b: &mut Builder, of: &Measured, values: Values<'_>| match of {
        Measured::Value(value) => values(b, *value),
        Measured::Datum(datum) => b.push(Step::Datum(*datum)),
    };
    match form {
        PenaltyForm::Gaussian { x, mean, sigma } => {
            let (x, mean, sigma) = (values(b, *x), measured(b, mean, values), values(b, *sigma));
            normal(b, x, mean, sigma)
        }
        PenaltyForm::Poisson { count, mean } => {
            let (count, mean) = (measured(b, count, values), values(b, *mean));
            let log = b.unary(Unary::Ln, mean);
            let product = b.mul(count, log);
            let one = b.number(1.0);
            let next = b.add(count, one);
            let factorial = b.unary(Unary::Special(Special::LnGamma), next);
            let value = b.sub(mean, product);
            b.add(value, factorial)
        }
        PenaltyForm::Lognormal { x, mu, sigma } => {
            let log = match x {
                Measured::Value(x) => {
                    let x = values(b, *x);
                    b.unary(Unary::Ln, x)
                }
                Measured::Datum(datum) => b.push(Step::Datum(*datum)),
            };
            let (mu, sigma) = (measured(b, mu, values), values(b, *sigma));
            let value = normal(b, log, mu, sigma);
            b.add(value, log)
        }
        PenaltyForm::Gamma { x, shape, rate } => {
            let (x, shape, rate) = (values(b, *x), measured(b, shape, values), values(b, *rate));
            let one = b.number(1.0);
            let shape = if form.datum().is_some() { b.add(shape, one) } else { shape };
            let (log_x, log_rate) = (b.unary(Unary::Ln, x), b.unary(Unary::Ln, rate));
            let less = b.sub(shape, one);
            let power = b.mul(less, log_x);
            let scale = b.mul(shape, log_rate);
            let product = b.mul(rate, x);
            let gamma = b.unary(Unary::Special(Special::LnGamma), shape);
            let value = b.add(product, gamma);
            let value = b.sub(value, power);
            b.sub(value, scale)
        }
        // Correlations are compiled separately (`correlation`).
        PenaltyForm::Correlated(_) => b.number(0.0),
    }
}

/// Appends to the program `b` the steps that compute the negative logarithm of the normal density. Returns the slot
/// (the index) of the result.
fn normal(b: &mut Builder, x: Slot, mean: Slot, sigma: Slot) -> Slot {
    let distance = b.sub(x, mean);
    let pull = b.div(distance, sigma);
    let square = b.mul(pull, pull);
    let half = b.scale(0.5, square);
    let log = b.unary(Unary::Ln, sigma);
    let constant = b.number(LN_ROOT_TWO_PI);
    let norm = b.add(log, constant);
    b.add(half, norm)
}
