//! The textbook likelihood, computed one bin and one modifier at a time with hyper-dual numbers (numbers that carry
//! first and second derivatives).
//!
//! The code follows the formulae of HistFactory and pyhf, deliberately in another form than that of the engine:
//! templates are interpolated between their three histograms, code4 solves its six conditions with an explicit matrix,
//! and no intermediate number is shared or computed in advance.

use ns_core::{Constraint, Effect, HistosysCode, Model, NormsysCode, Observations};

use super::functions::value;
use super::number::Hyper;

fn histosys(code: HistosysCode, lo: f64, nominal: f64, hi: f64, alpha: Hyper) -> Hyper {
    let (up, down) = (hi - nominal, nominal - lo);
    let a = alpha.value;
    match code {
        HistosysCode::Code0 => alpha * if a >= 0.0 { up } else { down },
        HistosysCode::Code2 => {
            let (s, q) = (0.5 * (hi - lo), 0.5 * (hi + lo) - nominal);
            if a > 1.0 {
                (alpha + -1.0) * (s + 2.0 * q) + up
            } else if a < -1.0 {
                (alpha + 1.0) * (s - 2.0 * q) + (lo - nominal)
            } else {
                alpha * alpha * q + alpha * s
            }
        }
        HistosysCode::Code4p => {
            if a > 1.0 {
                alpha * up
            } else if a < -1.0 {
                alpha * down
            } else {
                let (s, q) = (0.5 * (up + down), 0.0625 * (up - down));
                let square = alpha * alpha;
                alpha * (alpha * q * ((square * (square * 3.0 + -10.0)) + 15.0) + s)
            }
        }
    }
}

fn normsys(code: NormsysCode, lo: f64, hi: f64, alpha: Hyper) -> Hyper {
    let a = alpha.value;
    let outside = |alpha: Hyper| {
        if a >= 0.0 { (alpha * hi.ln()).exp() } else { (alpha * -lo.ln()).exp() }
    };
    match code {
        NormsysCode::Code0 => return histosys(HistosysCode::Code0, lo, 1.0, hi, alpha) + 1.0,
        NormsysCode::Code1 => return outside(alpha),
        NormsysCode::Code4 if a.abs() >= 1.0 => return outside(alpha),
        NormsysCode::Code4 => {}
        NormsysCode::AsymmetricLogNormal if a.abs() >= 0.5 => return outside(alpha),
        NormsysCode::AsymmetricLogNormal => {
            // Combine's `logKappaForX`: the exponent is the parameter times a mean of the two slopes.
            let (up, down) = (hi.ln(), -lo.ln());
            let x = alpha * 2.0;
            let h = x * (x * x * (x * x * 3.0 + -10.0) + 15.0) * 0.125;
            return (alpha * (h * (0.5 * (up - down)) + 0.5 * (up + down))).exp();
        }
        // Code 6 of normsys is code 4p of histosys with a nominal value of 1.
        NormsysCode::Code6 => return histosys(HistosysCode::Code4p, lo, 1.0, hi, alpha) + 1.0,
    }
    // The polynomial of code 4 has the values, slopes and curvatures `b` of the exponentials at +1 and -1.
    // The inverse of this 6 x 6 system gives its coefficients.
    let b = [hi - 1.0, lo - 1.0, hi.ln() * hi, -lo.ln() * lo, hi.ln().powi(2) * hi, lo.ln().powi(2) * lo];
    let inverse = [
        [15.0 / 16.0, -15.0 / 16.0, -7.0 / 16.0, -7.0 / 16.0, 1.0 / 16.0, -1.0 / 16.0],
        [1.5, 1.5, -9.0 / 16.0, 9.0 / 16.0, 1.0 / 16.0, 1.0 / 16.0],
        [-5.0 / 8.0, 5.0 / 8.0, 5.0 / 8.0, 5.0 / 8.0, -1.0 / 8.0, 1.0 / 8.0],
        [-1.5, -1.5, 7.0 / 8.0, -7.0 / 8.0, -1.0 / 8.0, -1.0 / 8.0],
        [3.0 / 16.0, -3.0 / 16.0, -3.0 / 16.0, -3.0 / 16.0, 1.0 / 16.0, -1.0 / 16.0],
        [0.5, 0.5, -5.0 / 16.0, 5.0 / 16.0, 1.0 / 16.0, 1.0 / 16.0],
    ];
    let mut sum = Hyper::constant(1.0);
    let mut power = Hyper::constant(1.0);
    for row in inverse {
        power = power * alpha;
        sum = sum + power * row.iter().zip(b).map(|(m, b)| m * b).sum::<f64>();
    }
    sum
}

/// Returns the expected yield of every bin, channel after channel.
pub(super) fn expected(model: &Model, theta: &[Hyper]) -> Vec<Hyper> {
    let mut all = Vec::new();
    for channel in &model.channels {
        for b in 0..channel.n_bins {
            let mut total = Hyper::constant(0.0);
            for sample in &channel.samples {
                let mut sum = Hyper::constant(sample.nominal[b]);
                let mut product = Hyper::constant(1.0);
                for m in &sample.modifiers {
                    match &m.effect {
                        Effect::HistoSys { lo, hi } => {
                            let code = model.interpolation.histosys;
                            sum = sum + histosys(code, lo[b], sample.nominal[b], hi[b], theta[m.first]);
                        }
                        Effect::NormSys { lo, hi } => {
                            product =
                                product * normsys(model.interpolation.normsys, *lo, *hi, theta[m.first]);
                        }
                        Effect::Function { values } => {
                            let own = values.get(b).unwrap_or(&values[0]);
                            product = product * value(model, *own, theta);
                        }
                        Effect::NormFactor | Effect::Lumi => product = product * theta[m.first],
                        _ => product = product * theta[m.first + b],
                    }
                }
                total = total + sum * product;
            }
            all.push(total);
        }
    }
    all
}

/// Returns `-ln L` and the sum of the absolute values of its terms.
pub(super) fn nll(model: &Model, data: &Observations, theta: &[Hyper]) -> (Hyper, f64) {
    let mut total = Hyper::constant(0.0);
    let mut absolute = 0.0;
    let mut poisson = |n: f64, lambda: Hyper| {
        let constant = libm::lgamma(n + 1.0);
        let log = if n == 0.0 { Hyper::constant(0.0) } else { lambda.ln() * n };
        absolute += lambda.value.abs() + log.value.abs() + constant.abs();
        total = total + lambda - log + constant;
    };
    for (lambda, &n) in expected(model, theta).into_iter().zip(&data.main) {
        poisson(n, lambda);
    }
    for (p, &x) in model.parameters.iter().zip(theta) {
        if let Constraint::Poisson { tau, aux } = p.constraint {
            poisson(data.aux[aux], x * tau);
        }
    }
    for (p, &x) in model.parameters.iter().zip(theta) {
        if let Constraint::Gaussian { sigma, aux } = p.constraint {
            let pull = (x + -data.aux[aux]) * (1.0 / sigma);
            let constant = (sigma * (2.0 * std::f64::consts::PI).sqrt()).ln();
            absolute += 0.5 * pull.value * pull.value + constant.abs();
            total = total + pull * pull * 0.5 + constant;
        }
    }
    (total, absolute)
}
