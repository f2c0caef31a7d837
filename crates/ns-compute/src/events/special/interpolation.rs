//! Interpolates a number as a function of a nuisance parameter. The values of the number at the parameter values -1, 0
//! and 1 are given.

use ns_core::{HistosysCode, InterpolationForm};

use crate::number::{Jet, Number};
use crate::terms::histosys::{Curved, curved};

/// A factor that is a polynomial of the nuisance parameter near 0, and an exponential function on either side farther
/// from 0.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Factor {
    /// The polynomial is used up to this absolute value of the nuisance parameter.
    inside: f64,
    /// Coefficients of the polynomial in ascending order of powers of `alpha`.
    polynomial: [f64; 7],
    /// Rates `r` of the exponential functions `exp(r alpha)` of the nuisance parameter `alpha`. The first is used for
    /// negative `alpha`, and is minus the logarithm of the factor at -1. The second is used for positive `alpha`, and
    /// is the logarithm of the factor at 1.
    rates: (f64, f64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    /// The sum `base + alpha slope + f(alpha) bend`, where `alpha` is the nuisance parameter and `f` is the
    /// interpolation function of the histosys interpolation code `code`.
    Sum { code: HistosysCode, base: f64, slope: f64, bend: f64 },
    /// A factor that is a polynomial near 0 and an exponential function farther from 0.
    Factor(Factor),
}

/// A function of a nuisance parameter that is added to a number, or by which a number is multiplied. At a kink, its
/// derivatives are the means of the derivatives on both sides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::events) struct Interpolation {
    form: Form,
    /// Whether the interpolated number is multiplied by the function. If false, the function is added to the number.
    pub(in crate::events) multiplies: bool,
}

impl Interpolation {
    /// Returns the function for a number that is `nominal` at the parameter value 0. The formulae are those of RooFit's
    /// `flexibleInterpSingle`. Its codes 0, 2, 4 and 6 use the interpolation functions of histosys.
    pub(in crate::events) fn new(form: &InterpolationForm, nominal: f64) -> Self {
        let (hi, lo) = (form.hi / nominal, form.lo / nominal);
        let sum = |code, base, lo: f64, hi: f64, nominal: f64| Form::Sum {
            code,
            base,
            slope: 0.5 * (hi - lo),
            bend: 0.5 * (hi + lo) - nominal,
        };
        let adds = |code| Self { form: sum(code, 0.0, form.lo, form.hi, nominal), multiplies: false };
        let factor = |inside, polynomial| {
            let rates = (-lo.ln(), hi.ln());
            Self { form: Form::Factor(Factor { inside, polynomial, rates }), multiplies: true }
        };
        match form.code {
            1 => factor(0.0, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
            2 => adds(HistosysCode::Code2),
            4 => adds(HistosysCode::Code4p),
            5 => factor(1.0, exponential_polynomial(lo, hi)),
            6 => Self { form: sum(HistosysCode::Code4p, 1.0, lo, hi, 1.0), multiplies: true },
            // The last case is code 0. Models with unknown codes are rejected earlier.
            _ => adds(HistosysCode::Code0),
        }
    }

    /// Returns the function that is equal to the interpolation function `f` of a histosys interpolation code.
    pub(in crate::events) fn curved(code: HistosysCode) -> Self {
        Self { form: Form::Sum { code, base: 0.0, slope: 0.0, bend: 1.0 }, multiplies: false }
    }

    /// Returns the value of the function at the value `alpha` of the nuisance parameter, with its first and second
    /// derivatives.
    pub(in crate::events) fn at(&self, alpha: f64) -> [f64; 3] {
        match self.form {
            Form::Sum { code, base, slope, bend } => {
                let Curved { f, first, second } = curved::<f64>(code, alpha);
                [base + alpha * slope + f * bend, slope + first * bend, second * bend]
            }
            Form::Factor(factor) => factor.at(alpha),
        }
    }

    /// Returns the third derivative of the function at the value `alpha` of the nuisance parameter.
    pub(in crate::events) fn third(&self, alpha: f64) -> f64 {
        match self.form {
            Form::Sum { code, bend, .. } => curved(code, Jet::moving(alpha, 1.0)).second.first * bend,
            Form::Factor(factor) => factor.third(alpha),
        }
    }
}

impl Factor {
    fn at(&self, alpha: f64) -> [f64; 3] {
        let beyond = |rate: f64| {
            let e = (rate * alpha).exp();
            [e, rate * e, rate * rate * e]
        };
        if self.inside == 0.0 && alpha == 0.0 {
            let (below, above) = (beyond(self.rates.0), beyond(self.rates.1));
            return std::array::from_fn(|i| 0.5 * (below[i] + above[i]));
        }
        if alpha >= self.inside {
            return beyond(self.rates.1);
        }
        if alpha <= -self.inside {
            return beyond(self.rates.0);
        }
        let [mut value, mut first, mut second] = [0.0; 3];
        for c in self.polynomial.iter().rev() {
            second = second * alpha + 2.0 * first;
            first = first * alpha + value;
            value = value * alpha + c;
        }
        [value, first, second]
    }
}

impl Factor {
    fn third(&self, alpha: f64) -> f64 {
        let beyond = |rate: f64| rate.powi(3) * (rate * alpha).exp();
        if self.inside == 0.0 && alpha == 0.0 {
            return 0.5 * (beyond(self.rates.0) + beyond(self.rates.1));
        }
        if alpha >= self.inside {
            return beyond(self.rates.1);
        }
        if alpha <= -self.inside {
            return beyond(self.rates.0);
        }
        let terms = self.polynomial.iter().enumerate().skip(3);
        let term = |(k, c): (usize, &f64)| {
            let k = k as f64;
            k * (k - 1.0) * (k - 2.0) * c * alpha.powf(k - 3.0)
        };
        terms.map(term).sum()
    }
}

/// Returns the coefficients of a polynomial of degree 6 in `alpha`, in ascending order. The polynomial is 1 at 0. Its
/// value and first two derivatives agree with those of `hi^alpha` at 1, and with those of `lo^-alpha` at -1.
fn exponential_polynomial(lo: f64, hi: f64) -> [f64; 7] {
    let (log_hi, log_lo) = (hi.ln(), lo.ln());
    let (v_up, d_up, s_up) = (hi - 1.0, hi * log_hi, hi * log_hi * log_hi);
    let (v_dn, d_dn, s_dn) = (lo - 1.0, -lo * log_lo, lo * log_lo * log_lo);
    let (v, d, s) = (0.5 * (v_up + v_dn), 0.5 * (d_up - d_dn), 0.5 * (s_up + s_dn));
    let even = [3.0 * v - 1.125 * d + 0.125 * s, -3.0 * v + 1.75 * d - 0.25 * s, v - 0.625 * d + 0.125 * s];
    let (v, d, s) = (0.5 * (v_up - v_dn), 0.5 * (d_up + d_dn), 0.5 * (s_up - s_dn));
    let odd = [
        1.875 * v - 0.875 * d + 0.125 * s,
        -1.25 * v + 1.25 * d - 0.25 * s,
        0.375 * v - 0.375 * d + 0.125 * s,
    ];
    [1.0, odd[0], even[0], odd[1], even[1], odd[2], even[2]]
}

#[cfg(test)]
mod tests {
    use ns_core::Value;

    use super::*;

    #[test]
    fn every_code_passes_through_its_numbers_and_has_right_derivatives() {
        for code in [0, 1, 2, 4, 5, 6] {
            let form = InterpolationForm { alpha: Value::Parameter(0), lo: 8.5, hi: 12.0, code };
            let f = Interpolation::new(&form, 10.0);
            let number = |alpha: f64| {
                let [value, ..] = f.at(alpha);
                if f.multiplies { 10.0 * value } else { 10.0 + value }
            };
            for (alpha, want) in [(-1.0, 8.5), (0.0, 10.0), (1.0, 12.0)] {
                assert!((number(alpha) - want).abs() < 1e-12, "code {code}, {alpha}: {}", number(alpha));
            }
            for alpha in [-1.7, -0.6, -0.1, 0.3, 0.8, 2.2] {
                let (h, [_, first, second]) = (1e-4, f.at(alpha));
                let ([up, ..], [here, ..], [down, ..]) = (f.at(alpha + h), f.at(alpha), f.at(alpha - h));
                assert!(((up - down) / (2.0 * h) - first).abs() < 1e-6, "code {code} at {alpha}");
                assert!(((up - 2.0 * here + down) / (h * h) - second).abs() < 1e-5, "code {code} at {alpha}");
                let ([.., above], [.., below]) = (f.at(alpha + h), f.at(alpha - h));
                let third = f.third(alpha);
                assert!(
                    ((above - below) / (2.0 * h) - third).abs() < 1e-5,
                    "code {code} at {alpha}: {third}"
                );
            }
        }
    }
}
