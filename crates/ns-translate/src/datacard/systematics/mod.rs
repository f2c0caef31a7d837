//! The part of a card after the line `rate`: one systematic uncertainty or one instruction per line.

mod group;
mod sized;

use std::collections::HashMap;

use super::document::{Document, Kind};
use super::edit;
use super::lines::{Line, too_long};
use super::rate_param;
use crate::pyhf::names::{nearest, quoted};
use crate::pyhf::problem::Report;
pub(super) use sized::size;

/// The types of lines that can be used.
const TYPES: [&str; 13] = [
    "lnN",
    "lnU",
    "gmN",
    "shape",
    "shape?",
    "shapeU",
    "shapeN",
    "param",
    "flatParam",
    "rateParam",
    "group",
    "autoMCStats",
    "edit",
];

/// Types of Combine that cannot be used, with what is wrong and what to do.
const UNSUPPORTED: [(&str, &str, &str); 10] = [
    ("gmM", "Gamma-distributed factors are not supported", "Use lnN, or gmN with the number of events."),
    ("trG", "truncated Gaussian factors are not supported", "Use lnN."),
    ("unif", "uniform linear factors are not supported", "Use lnU, or a rateParam with a range."),
    ("dFD", "double Fermi-Dirac constraints are not supported", "Use lnU, or a rateParam with a range."),
    ("dFD2", "double Fermi-Dirac constraints are not supported", "Use lnU, or a rateParam with a range."),
    ("constr", "constraints on functions of parameters are not supported", "Write the model as HS3."),
    ("discrete", "discrete profiling is not supported", "Choose one function and write the model as HS3."),
    (
        "extArg",
        "parameters of a RooWorkspace are not supported",
        "Write the parameter as a rateParam with a value.",
    ),
    ("shape2", "this way to store histograms was removed from Combine", "Use 'shape'."),
    ("shapeL", "this interpolation was removed from Combine", "Use 'shape'."),
];

/// Largest number of steps that wildcards and edits may take, so that a short text cannot take hours.
const MOST_STEPS: usize = 100_000_000;

/// A reader of the lines after `rate`.
pub(super) struct Reader<'d> {
    pub(super) document: &'d mut Document,
    pub(super) report: &'d mut Report,
    /// Number of lines that count for `kmax`.
    counted: usize,
    /// Whether a line edits others; then `kmax` is not compared.
    edited: bool,
    steps: usize,
    /// Index of the group of each name.
    groups: HashMap<String, usize>,
    /// Index of the first `rateParam` line of each name.
    pub(super) rates: HashMap<String, usize>,
}

/// Reads all lines after the header into the document.
pub(super) fn read<'a>(
    lines: impl Iterator<Item = Line<'a>>,
    kmax: Option<(usize, super::lines::Place)>,
    document: &mut Document,
    report: &mut Report,
) {
    let mut reader = Reader {
        document,
        report,
        counted: 0,
        edited: false,
        steps: 0,
        groups: HashMap::new(),
        rates: HashMap::new(),
    };
    for line in lines {
        reader.line(&line);
    }
    if let Some((n, place)) = kmax.filter(|(n, _)| !reader.edited && *n != reader.counted) {
        reader.report.error(
            place.to_string(),
            format!("'kmax' is {n}, but the number of systematic uncertainties is {}.", reader.counted),
            "Correct the number or the card, or write *.",
        );
    }
    reader.check_groups();
}

impl Reader<'_> {
    fn line(&mut self, line: &Line<'_>) {
        let written = line.key();
        if written.starts_with("--") {
            return;
        }
        let Some(&kind) = line.words.get(1) else {
            self.report.warn(
                line.place.to_string(),
                format!("The line has the one word {}, and is ignored.", quoted(written)),
                "Make it a comment with #, or complete it.",
            );
            return;
        };
        let (name, no_float) = match written.strip_suffix("[nofloat]") {
            Some(name) => (name, true),
            None => (written, false),
        };
        // Combine makes names of parameters that begin with a digit valid in this way.
        let digit = name.starts_with(|c: char| c.is_ascii_digit());
        let name = if digit { format!("theta{name}") } else { name.to_owned() };
        if name.is_empty() || too_long(&name, "parameter", &line.place, self.report) {
            return;
        }
        match kind {
            "lnN" | "lnU" => {
                self.sized(line, 2, name, no_float, Kind::LogNormal { uniform: kind == "lnU" });
            }
            "gmN" => self.gamma(line, name, no_float),
            "param" => self.param(line, name, no_float),
            "flatParam" => self.document.flat.push((name, line.place.clone())),
            "rateParam" => rate_param::read(self, line, name),
            "group" => self.group(line),
            "autoMCStats" => self.mc_stats(line),
            "edit" => {
                self.edited = true;
                if self.spend(line, self.document.columns.len() + self.document.systematics.len()) {
                    edit::apply(line, self.document, self.report);
                }
            }
            _ => match Kind::shape(kind) {
                Some(kind) => self.sized(line, 2, name, no_float, kind),
                None => self.unknown(line, kind),
            },
        }
    }

    /// Counts steps of work. Returns false, with an error, once there are too many.
    pub(super) fn spend(&mut self, line: &Line<'_>, steps: usize) -> bool {
        let before = self.steps;
        self.steps = self.steps.saturating_add(steps);
        if self.steps > MOST_STEPS && before <= MOST_STEPS {
            self.error(
                line,
                "The card has too many lines with patterns for its number of columns.",
                "Make it smaller.",
            );
        }
        self.steps <= MOST_STEPS
    }

    pub(super) fn error(&mut self, line: &Line<'_>, message: impl Into<String>, remedy: &str) {
        self.report.error(line.place.to_string(), message, remedy);
    }

    fn unknown(&mut self, line: &Line<'_>, kind: &str) {
        let known = UNSUPPORTED
            .iter()
            .find(|(word, ..)| *word == kind || (word.starts_with("shape") && kind.starts_with(word)));
        if let Some((word, message, remedy)) = known {
            self.counted += usize::from(!["extArg", "discrete"].contains(word));
            self.error(line, format!("{} has the type {kind}: {message}.", quoted(line.key())), remedy);
            return;
        }
        self.counted += 1;
        let near = nearest(kind, TYPES.iter().copied());
        let near = near.map_or_else(String::new, |near| format!(" Did you mean {near}?"));
        self.error(
            line,
            format!("{} has the type {}, which is not known.{near}", quoted(line.key()), quoted(kind)),
            "The types are lnN, lnU, gmN, shape, shape?, shapeU, shapeN, param, flatParam, rateParam, group, autoMCStats.",
        );
    }
}
