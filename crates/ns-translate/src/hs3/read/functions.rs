//! Reads the functions of an HS3 file, such as sums and products of parameters.

use serde_json::Value;

use super::fields::Fields;
use crate::hs3::document::{Argument, Function, Placed};
use crate::pyhf::expect;
use crate::pyhf::names::{nearest, quoted};
use crate::pyhf::problem::Report;

/// Supported values of the key `type` of a function.
const KNOWN: &[&str] = &[
    "sum",
    "product",
    "polynomial",
    "generic_function",
    "generic",
    "interpolation0d",
    "CMS::process_normalization",
];

/// Reads a function from the keys of its JSON object.
pub(super) fn read(fields: &Fields<'_>, report: &mut Report) -> Option<Function> {
    let kind = fields.text("type", report)?;
    Some(match kind {
        "sum" => Function::Sum { summands: fields.arguments("summands", report) },
        "product" => Function::Product { factors: fields.arguments("factors", report) },
        "polynomial" => {
            let x = fields.argument("x", report);
            Function::Polynomial { x, coefficients: fields.arguments("coefficients", report) }
        }
        "generic_function" | "generic" => {
            let variables = fields.optional_names("arguments", report);
            Function::Generic {
                expression: fields.name("expression", report)?,
                variables: variables.into_iter().map(|name| name.value).collect(),
            }
        }
        "interpolation0d" => {
            let parameters = fields.arguments("vars", report);
            let nominal = fields.number("nom", report);
            let (low, high) = (fields.numbers("low", report), fields.numbers("high", report));
            let codes = fields.items("interpolationCodes", "whole numbers", report);
            let codes = codes.into_iter().map(|(value, place)| code(value, &place.path, report)).collect();
            Function::Interpolation { parameters, nominal, low, high, codes }
        }
        "CMS::process_normalization" => process_normalization(fields, report)?,
        other => {
            if let Some(near) = nearest(other, KNOWN.iter().copied()) {
                report.error(
                    fields.path("type"),
                    format!("There is no function type {}.", quoted(other)),
                    format!("Did you mean {}?", quoted(near)),
                );
                return None;
            }
            fields.ignore_all();
            Function::Unsupported { kind: other.to_owned() }
        }
    })
}

/// Reads the normalisation of a process in Combine. Every list may be left out.
fn process_normalization(fields: &Fields<'_>, report: &mut Report) -> Option<Function> {
    // ROOT writes the name of the object here too.
    fields.ignore(&["expression"]);
    let nominal = match fields.has("nominalValue") {
        true => fields.argument("nominalValue", report),
        false => Placed { value: Argument::Number(1.0), path: fields.here() },
    };
    fields.ignore(&["nominalValue"]);
    let thetas = fields.optional_arguments("thetaList", report);
    let kappas: Vec<f64> = match fields.has("logKappa") {
        true => fields.numbers("logKappa", report),
        false => Vec::new(),
    };
    fields.ignore(&["logKappa"]);
    let sided = fields.optional_arguments("asymmThetaList", report);
    let mut pairs = Vec::new();
    if fields.optional("logAsymmKappa").is_some() {
        for (value, place) in fields.items("logAsymmKappa", "pairs [low, high]", report) {
            match *expect::numbers(value, &place, report) {
                [low, high] => pairs.push((low, high)),
                _ => {
                    let message = format!("{} is no pair of numbers.", place.what);
                    report.error(place.path, message, "Write [ln kappa_low, ln kappa_high].");
                }
            }
        }
    }
    for (key, names, numbers) in
        [("logKappa", thetas.len(), kappas.len()), ("logAsymmKappa", sided.len(), pairs.len())]
    {
        if names != numbers {
            report.error(
                fields.path(key),
                format!("There are {names} nuisance parameters, but {numbers} values of {key}."),
                "Write one value per nuisance parameter.",
            );
            return None;
        }
    }
    let factors = fields.optional_arguments("otherFactorList", report);
    let symmetric = thetas.into_iter().zip(kappas).collect();
    let asymmetric = sided.into_iter().zip(pairs).collect();
    Some(Function::ProcessNormalization { nominal, symmetric, asymmetric, factors })
}

/// Reads an interpolation code, which ROOT writes as a whole number. Reports any other value and returns -1.
fn code(value: &Value, path: &str, report: &mut Report) -> i64 {
    value.as_i64().unwrap_or_else(|| {
        report.error(
            path.to_owned(),
            "An interpolation code must be a whole number.",
            "Write one of ROOT's codes, such as 4.",
        );
        -1
    })
}
