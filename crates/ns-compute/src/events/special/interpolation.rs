//! Interpolation between a number's values at -1, 0 and 1 of a nuisance parameter.

use ns_core::InterpolationForm;

/// The function beyond the inner range on one side.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Beyond {
    /// `offset + slope alpha`.
    Line { offset: f64, slope: f64 },
    /// `exp(rate alpha)`.
    Exponential { rate: f64 },
}

impl Beyond {
    fn at(self, alpha: f64) -> [f64; 3] {
        match self {
            Self::Line { offset, slope } => [offset + slope * alpha, slope, 0.0],
            Self::Exponential { rate } => {
                let e = (rate * alpha).exp();
                [e, rate * e, rate * rate * e]
            }
        }
    }
}

/// What a nuisance parameter adds to a number, or multiplies it by: a polynomial near 0, and lines or
/// exponential functions beyond it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::events) struct Interpolation {
    /// Size of the nuisance parameter up to which the polynomial holds.
    inside: f64,
    /// Coefficients of the polynomial, from that of `alpha^0` on.
    polynomial: [f64; 7],
    below: Beyond,
    above: Beyond,
    /// Whether the number is multiplied.
    pub(in crate::events) multiplies: bool,
}

impl Interpolation {
    /// Returns the function for a number with the value `nominal` at 0. The formulae are those of RooFit's
    /// `flexibleInterpSingle`.
    pub(in crate::events) fn new(form: &InterpolationForm, nominal: f64) -> Self {
        let (up, down) = (form.hi - nominal, nominal - form.lo);
        let (hi, lo) = (form.hi / nominal, form.lo / nominal);
        let line = |offset, slope| Beyond::Line { offset, slope };
        let smooth = |base: f64, up: f64, down: f64| {
            let (s, a) = (0.5 * (up + down), 0.0625 * (up - down));
            [base, s, 15.0 * a, 0.0, -10.0 * a, 0.0, 3.0 * a]
        };
        let adds =
            |inside, polynomial, below, above| Self { inside, polynomial, below, above, multiplies: false };
        match form.code {
            1 => Self {
                inside: 0.0,
                polynomial: [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
                below: Beyond::Exponential { rate: -lo.ln() },
                above: Beyond::Exponential { rate: hi.ln() },
                multiplies: true,
            },
            2 => {
                let (a, b) = (0.5 * (up - down), 0.5 * (up + down));
                let polynomial = [0.0, b, a, 0.0, 0.0, 0.0, 0.0];
                adds(1.0, polynomial, line(-a, b - 2.0 * a), line(-a, b + 2.0 * a))
            }
            4 => adds(1.0, smooth(0.0, up, down), line(0.0, down), line(0.0, up)),
            5 => Self {
                inside: 1.0,
                polynomial: exponential_polynomial(lo, hi),
                below: Beyond::Exponential { rate: -lo.ln() },
                above: Beyond::Exponential { rate: hi.ln() },
                multiplies: true,
            },
            6 => Self {
                multiplies: true,
                ..adds(1.0, smooth(1.0, hi - 1.0, 1.0 - lo), line(1.0, 1.0 - lo), line(1.0, hi - 1.0))
            },
            // Code 0; a model with another code is refused before.
            _ => adds(0.0, [0.0; 7], line(0.0, down), line(0.0, up)),
        }
    }

    /// Returns the function at `alpha` with its first and second derivative.
    pub(in crate::events) fn at(&self, alpha: f64) -> [f64; 3] {
        if alpha >= self.inside {
            return self.above.at(alpha);
        }
        if alpha <= -self.inside {
            return self.below.at(alpha);
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

/// Returns the coefficients of the polynomial of degree 6 that agrees at 1 with `hi^alpha` and at -1 with
/// `lo^-alpha` in value and two derivatives, and is 1 at 0.
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
            }
        }
    }
}
