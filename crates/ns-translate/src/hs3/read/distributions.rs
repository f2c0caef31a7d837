//! Reads distributions.

use serde_json::Value;

use super::fields::Fields;
use super::{data, decay, histfactory, template};
use crate::hs3::document::{Argument, Distribution, Placed, Tails};
use crate::hs3::sources::EventSources;
use crate::pyhf::expect;
use crate::pyhf::names::{nearest, quoted};
use crate::pyhf::problem::Report;

/// Types of distributions that are supported, by their names in the file.
const KNOWN: &[&str] = &[
    "gaussian_dist",
    "normal_dist",
    "bifurkated_gaussian_dist",
    "bifurcated_gaussian_dist",
    "exponential_dist",
    "argus_dist",
    "ARGUS_dist",
    "crystalball_dist",
    "crystalball_doublesided_dist",
    "chebychev_dist",
    "polynomial_dist",
    "bernstein_poly_dist",
    "power_sum_dist",
    "uniform_dist",
    "lognormal_dist",
    "poisson_dist",
    "gamma_dist",
    "decay_dist",
    "truth_model_function",
    "gauss_model_function",
    "mixture_model",
    "generalized_normal_dist",
    "landau_dist",
    "multivariate_normal_dist",
    "nextstat.breit_wigner_dist",
    "nextstat.crystalball_dist",
    "nextstat.voigt_dist",
    "nextstat.b_decay_dist",
    "nextstat.johnson_su_dist",
    "nextstat.spline_dist",
    "nextstat.template_dist",
    "nextstat.flow_dist",
    "histogram_dist",
    "generic_dist",
    "density_function_dist",
    "log_density_function_dist",
    "efficiency_product_pdf_dist",
    "histfactory_dist",
    "mixture_dist",
    "weighted_sum_dist",
    "fft_conv_pdf",
    "projected_dist",
    "product_dist",
    "rate_extended_dist",
    "extend_pdf",
];

/// Reads the keys of a distribution. A type that is not supported is stored without an error. An error is reported
/// only if the model uses the distribution.
pub(super) fn read(
    fields: &Fields<'_>,
    from_root: bool,
    sources: &EventSources,
    report: &mut Report,
) -> Option<Distribution> {
    let kind = fields.text("type", report)?;
    let read = content(fields, kind, (from_root, sources), report)?;
    let observables = fields.optional_names("nextstat.given", report);
    Some(if observables.is_empty() {
        read
    } else {
        Distribution::Given { inner: Box::new(read), observables }
    })
}

fn content(
    fields: &Fields<'_>,
    kind: &str,
    (from_root, sources): (bool, &EventSources),
    report: &mut Report,
) -> Option<Distribution> {
    Some(match kind {
        "gaussian_dist" | "normal_dist" => {
            let (x, mean) = (fields.argument("x", report), fields.argument("mean", report));
            Distribution::Gaussian { x, mean, sigma: fields.argument("sigma", report) }
        }
        "landau_dist" => Distribution::Landau {
            x: fields.argument("x", report),
            mean: fields.argument("mean", report),
            sigma: fields.argument("sigma", report),
        },
        "bifurkated_gaussian_dist" | "bifurcated_gaussian_dist" => Distribution::BifurcatedGaussian {
            x: fields.argument("x", report),
            mean: fields.argument("mean", report),
            left: fields.argument("sigmaL", report),
            right: fields.argument("sigmaR", report),
        },
        "exponential_dist" => {
            Distribution::Exponential { x: fields.argument("x", report), c: fields.argument("c", report) }
        }
        "argus_dist" | "ARGUS_dist" => argus(fields, report),
        "crystalball_dist" | "crystalball_doublesided_dist" => crystal_ball(fields, kind, from_root, report),
        "nextstat.crystalball_dist" => one_or_two_tails(fields, report),
        "chebychev_dist" => {
            let x = fields.argument("x", report);
            Distribution::Chebychev { x, coefficients: fields.arguments("coefficients", report) }
        }
        "polynomial_dist" => {
            let x = fields.argument("x", report);
            Distribution::Polynomial { x, coefficients: fields.arguments("coefficients", report) }
        }
        "bernstein_poly_dist" => {
            let x = fields.argument("x", report);
            Distribution::Bernstein { x, coefficients: fields.arguments("coefficients", report) }
        }
        "power_sum_dist" => power_sum(fields, report),
        "uniform_dist" => Distribution::Uniform { x: fields.arguments("x", report) },
        "lognormal_dist" => {
            let (x, mu) = (fields.argument("x", report), fields.argument("mu", report));
            Distribution::Lognormal { x, mu, sigma: fields.argument("sigma", report) }
        }
        "poisson_dist" => {
            // The key says whether `x` is rounded. Rounding does not change whole numbers.
            fields.ignore(&["integer"]);
            Distribution::Poisson { x: fields.argument("x", report), mean: fields.argument("mean", report) }
        }
        "gamma_dist" => Distribution::Gamma {
            x: fields.argument("x", report),
            gamma: fields.argument("gamma", report),
            beta: fields.argument("beta", report),
            mu: fields.argument("mu", report),
        },
        "generalized_normal_dist" => Distribution::GeneralizedNormal {
            x: fields.argument("x", report),
            mean: fields.argument("mean", report),
            alpha: fields.argument("alpha", report),
            beta: fields.argument("beta", report),
        },
        "multivariate_normal_dist" => Distribution::MultivariateNormal {
            x: fields.arguments("x", report),
            mean: fields.arguments("mean", report),
            covariances: rows(fields, report),
        },
        "nextstat.breit_wigner_dist" => Distribution::BreitWigner {
            x: fields.argument("x", report),
            mean: fields.argument("mean", report),
            width: fields.argument("width", report),
        },
        "nextstat.voigt_dist" => Distribution::Voigt {
            x: fields.argument("x", report),
            mean: fields.argument("mean", report),
            width: fields.argument("width", report),
            sigma: fields.argument("sigma", report),
        },
        "nextstat.johnson_su_dist" => Distribution::JohnsonSu {
            x: fields.argument("x", report),
            mu: fields.argument("mu", report),
            lambda: fields.argument("lambda", report),
            gamma: fields.argument("gamma", report),
            delta: fields.argument("delta", report),
        },
        "decay_dist" | "nextstat.b_decay_dist" => decay::decay(fields, kind, report)?,
        "truth_model_function" => Distribution::Truth { x: fields.argument("x", report) },
        "gauss_model_function" => Distribution::GaussModel {
            x: fields.argument("x", report),
            mean: fields.argument("mean", report),
            sigma: fields.argument("sigma", report),
        },
        "mixture_model" => {
            fields.ignore(&["extended"]);
            Distribution::MixtureModel {
                summands: fields.arguments("summands", report),
                coefficients: fields.arguments("coefficients", report),
            }
        }
        "nextstat.spline_dist" => Distribution::Spline {
            x: fields.argument("x", report),
            knots: fields.numbers("knots", report),
            values: fields.numbers("values", report),
            kind: fields.name("kind", report)?,
        },
        "nextstat.template_dist" => Distribution::Template(template::read(fields, sources, report)?),
        "nextstat.flow_dist" => Distribution::Flow {
            x: fields.arguments("x", report),
            context: fields.optional_arguments("context", report),
            manifest: fields.name("manifest", report)?,
            sha256: fields.optional_name("sha256", report),
            folder: sources.folder.clone(),
        },
        "histogram_dist" => histogram(fields, report)?,
        "generic_dist" => {
            let variables = fields.optional_names("arguments", report);
            Distribution::Generic {
                expression: fields.name("expression", report)?,
                variables: variables.into_iter().map(|name| name.value).collect(),
            }
        }
        "density_function_dist" | "log_density_function_dist" => Distribution::DensityFunction {
            function: fields.argument("function", report),
            logarithmic: kind.starts_with("log"),
        },
        "efficiency_product_pdf_dist" => Distribution::EfficiencyProduct {
            pdf: fields.argument("pdf", report),
            efficiency: fields.argument("eff", report),
        },
        "histfactory_dist" => Distribution::HistFactory(histfactory::read(fields, report)),
        "mixture_dist" => Distribution::Mixture {
            summands: fields.arguments("summands", report),
            coefficients: fields.arguments("coefficients", report),
            extended: fields.optional_flag("extended", report),
        },
        "projected_dist" => Distribution::Projected {
            density: fields.argument("input_pdf", report),
            hidden: fields.optional_names("observables", report),
        },
        "fft_conv_pdf" => {
            // The order of an interpolation, which formulas do not need.
            fields.ignore(&["ipOrder"]);
            Distribution::Convolution {
                x: fields.argument("conv_var", report),
                first: fields.argument("pdf1", report),
                second: fields.argument("pdf2", report),
            }
        }
        "weighted_sum_dist" => {
            if fields.optional_flag("extended", report) == Some(true) {
                report.error(
                    fields.path("extended"),
                    "An extended weighted_sum_dist is not supported.",
                    "Write an extended mixture_dist of normalised densities, with a rate each.",
                );
            }
            Distribution::WeightedSum {
                samples: fields.arguments("samples", report),
                coefficients: fields.arguments("coefficients", report),
            }
        }
        "product_dist" => Distribution::Product { factors: fields.arguments("factors", report) },
        "rate_extended_dist" => Distribution::RateExtended {
            rate: fields.argument("rate", report),
            distribution: fields.argument("dist", report),
            range: fields.optional_name("nextstat.range", report),
        },
        "extend_pdf" => extend_pdf(fields, report),
        other => return unsupported(fields, other, report),
    })
}

/// Stores a distribution of a type that is not supported. Reports a type that is probably misspelt.
fn unsupported(fields: &Fields<'_>, kind: &str, report: &mut Report) -> Option<Distribution> {
    if let Some(near) = nearest(kind, KNOWN.iter().copied()) {
        report.error(
            fields.path("type"),
            format!("There is no distribution type {}.", quoted(kind)),
            format!("Did you mean {}?", quoted(near)),
        );
        return None;
    }
    fields.ignore_all();
    Some(Distribution::Unsupported { kind: kind.to_owned() })
}

/// Reads the Argus density. The HS3 standard and ROOT use the same keys.
fn argus(fields: &Fields<'_>, report: &mut Report) -> Distribution {
    let mass = fields.argument("mass", report);
    let resonance = fields.argument("resonance", report);
    let slope = fields.argument("slope", report);
    let power = if fields.has("power") {
        fields.argument("power", report)
    } else {
        fields.ignore(&["power"]);
        Placed { value: Argument::Number(0.5), path: fields.here() }
    };
    Distribution::Argus { mass, resonance, slope, power }
}

/// Reads a Crystal Ball density. A single pair of `alpha` and `n` means two equal tails in the HS3 standard, and
/// one tail, on the left, in files of ROOT and pyhs3.
fn crystal_ball(fields: &Fields<'_>, kind: &str, from_root: bool, report: &mut Report) -> Distribution {
    let x = fields.argument("m", report);
    let mean = fields.argument("m0", report);
    let pair = |one: &'static str, left: &'static str, right: &'static str, report: &mut Report| {
        if fields.has(one) || !(fields.has(left) || fields.has(right)) {
            let both = fields.argument(one, report);
            return (both.clone(), both);
        }
        (fields.argument(left, report), fields.argument(right, report))
    };
    let one_tail = fields.has("alpha") && kind == "crystalball_dist";
    let (left, right) = pair("sigma", "sigma_L", "sigma_R", report);
    let (alpha_left, alpha_right) = pair("alpha", "alpha_L", "alpha_R", report);
    let (n_left, n_right) = pair("n", "n_L", "n_R", report);
    let mut tails = Tails { left: Some((alpha_left, n_left)), right: Some((alpha_right, n_right)) };
    if one_tail {
        let (meaning, other) = if from_root {
            tails.right = None;
            ("one tail, on the left, as in ROOT and pyhs3, which wrote the file", "two tails in the HS3 text")
        } else {
            ("two equal tails, as the HS3 text says", "one tail, on the left, in ROOT and pyhs3")
        };
        report.warn(
            fields.here(),
            format!("A crystalball_dist with one 'alpha' and one 'n' is taken with {meaning}; it would have {other}."),
            "Write crystalball_doublesided_dist with alpha_L, alpha_R, n_L and n_R for two tails.",
        );
    }
    Distribution::CrystalBall { x, mean, left, right, tails }
}

/// Reads a Crystal Ball density with separate tails. The left tail exists if the keys `alpha_L` and `n_L` are given,
/// and the right tail if `alpha_R` and `n_R` are given.
fn one_or_two_tails(fields: &Fields<'_>, report: &mut Report) -> Distribution {
    let x = fields.argument("m", report);
    let mean = fields.argument("m0", report);
    let (left, right) = (fields.argument("sigma_L", report), fields.argument("sigma_R", report));
    let tail = |alpha: &'static str, n: &'static str, report: &mut Report| {
        if fields.has(alpha) || fields.has(n) {
            return Some((fields.argument(alpha, report), fields.argument(n, report)));
        }
        fields.ignore(&[alpha, n]);
        None
    };
    let tails = Tails { left: tail("alpha_L", "n_L", report), right: tail("alpha_R", "n_R", report) };
    if tails.left.is_none() && tails.right.is_none() {
        let remedy = "Give 'alpha_L' and 'n_L', or 'alpha_R' and 'n_R'; or write a gaussian_dist.";
        report.error(fields.here(), "The Crystal Ball has no tail.", remedy);
    }
    Distribution::CrystalBall { x, mean, left, right, tails }
}

/// Reads a sum of powers, which has one coefficient per exponent.
fn power_sum(fields: &Fields<'_>, report: &mut Report) -> Distribution {
    let coefficients = fields.arguments("coefficients", report);
    let exponents = fields.arguments("exponents", report);
    if coefficients.len() != exponents.len() {
        report.error(
            fields.path("exponents"),
            format!("There are {} coefficients and {} exponents.", coefficients.len(), exponents.len()),
            "Write one exponent per coefficient.",
        );
    }
    Distribution::PowerSum { x: fields.argument("x", report), coefficients, exponents }
}

fn histogram(fields: &Fields<'_>, report: &mut Report) -> Option<Distribution> {
    let value = fields.required("data", report)?;
    let inner = Fields::of(value, fields.location("data"), report)?;
    let axes = data::axes(&inner, report);
    let contents = inner.numbers("contents", report);
    inner.ignore(&["errors"]);
    inner.finish(report);
    Some(Distribution::Histogram { axes, contents })
}

/// Reads an extended density in the form that ROOT writes: a density and an expected number of events, in a range with a
/// name if there is one.
fn extend_pdf(fields: &Fields<'_>, report: &mut Report) -> Distribution {
    let key = if fields.has("range_name") { "range_name" } else { "range" };
    fields.ignore(&["range_name", "range"]);
    let range = fields.optional_name(key, report).filter(|name| !name.value.is_empty());
    let rate = ["n", "norm"].into_iter().find(|key| fields.has(key)).unwrap_or("rate");
    let distribution = if fields.has("pdf") { "pdf" } else { "dist" };
    Distribution::RateExtended {
        rate: fields.argument(rate, report),
        distribution: fields.argument(distribution, report),
        range,
    }
}

/// Reads the rows of a matrix.
fn rows(fields: &Fields<'_>, report: &mut Report) -> Vec<Vec<f64>> {
    let rows: Vec<(&Value, _)> = fields.items("covariances", "rows of numbers", report);
    rows.into_iter().map(|(row, place)| expect::numbers(row, &place, report)).collect()
}
