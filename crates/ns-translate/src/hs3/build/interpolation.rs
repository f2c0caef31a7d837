//! Interpolation codes of HistFactory modifiers, in the notations of the HS3 standard, of ROOT and of pyhs3.

use ns_core::{HistosysCode, NormsysCode};

use crate::hs3::document::{Interpolation, Placed};
use crate::pyhf::names::quoted;
use crate::pyhf::problem::Report;

/// The interpolation codes found so far: the code of the first normsys and of the first histosys modifier, each with
/// the place of this modifier in the file.
#[derive(Debug, Default)]
pub(super) struct Codes {
    normsys: Option<(NormsysCode, String)>,
    histosys: Option<(HistosysCode, String)>,
    /// Places of modifiers whose interpolation code differs from the first code, each with the place of the modifier
    /// that has the first code.
    mixed: Vec<(String, String)>,
}

impl Codes {
    /// Records the interpolation code of a normsys modifier.
    pub(super) fn normsys(&mut self, code: NormsysCode, path: &str) {
        match &self.normsys {
            None => self.normsys = Some((code, path.to_owned())),
            Some((first, place)) if *first != code => self.mixed.push((path.to_owned(), place.clone())),
            Some(_) => {}
        }
    }

    /// Records the interpolation code of a histosys modifier.
    pub(super) fn histosys(&mut self, code: HistosysCode, path: &str) {
        match &self.histosys {
            None => self.histosys = Some((code, path.to_owned())),
            Some((first, place)) if *first != code => self.mixed.push((path.to_owned(), place.clone())),
            Some(_) => {}
        }
    }

    /// Returns the interpolation codes of the model: one for all normsys and one for all histosys modifiers. Reports
    /// an error for modifiers with a different code.
    pub(super) fn common(&self, report: &mut Report) -> ns_core::Interpolation {
        for (path, first) in &self.mixed {
            report.error(
                path.clone(),
                format!("The modifier is interpolated in another way than that at {first}; this is not supported in one model."),
                "Use one interpolation for all modifiers of a type.",
            );
        }
        let default = ns_core::Interpolation::default();
        ns_core::Interpolation {
            normsys: self.normsys.as_ref().map_or(default.normsys, |(code, _)| *code),
            histosys: self.histosys.as_ref().map_or(default.histosys, |(code, _)| *code),
        }
    }
}

/// Returns the interpolation code of a normsys modifier. Some codes add the effects of the normsys modifiers of a
/// sample, instead of multiplying the yields by each of them. Such a code is accepted only if `alone` is true, i.e.
/// if the sample has no other normsys. Adding and multiplying are then the same.
pub(super) fn normsys(
    written: Option<&Placed<Interpolation>>,
    alone: bool,
    report: &mut Report,
) -> Option<NormsysCode> {
    let Some(Placed { value, path }) = written else { return Some(NormsysCode::Code4) };
    let (code, adds) = match value {
        Interpolation::Number(0) => (NormsysCode::Code0, true),
        Interpolation::Number(1) => (NormsysCode::Code1, false),
        Interpolation::Number(4) => (NormsysCode::Code6, true),
        Interpolation::Number(5) => (NormsysCode::Code4, false),
        Interpolation::Number(6) => (NormsysCode::Code6, false),
        // In the HS3 standard, `lin` and `log` describe factors that multiply the yields.
        Interpolation::Word(word) if word == "lin" => (NormsysCode::Code0, false),
        Interpolation::Word(word) if word == "log" => (NormsysCode::Code1, false),
        Interpolation::Word(word) if word == "poly6" => (NormsysCode::Code6, false),
        Interpolation::Structure { multiplies, inside, outside } => {
            let outside = outside.as_deref().unwrap_or(inside);
            let code = match (inside.as_str(), outside) {
                ("poly1", "poly1") => NormsysCode::Code0,
                ("exp", "exp") => NormsysCode::Code1,
                ("poly6", "exp") => NormsysCode::Code4,
                ("poly6", "poly1") => NormsysCode::Code6,
                _ => return unsupported(value, "normsys", path, report),
            };
            (code, !multiplies)
        }
        other => return unsupported(other, "normsys", path, report),
    };
    if adds && !alone {
        report.error(
            path.clone(),
            "The effects of several normsys modifiers of one sample would be added; this is not supported.",
            "Use an interpolation that multiplies, such as ROOT's code 5.",
        );
        return None;
    }
    Some(code)
}

/// Returns the interpolation code of a histosys modifier, or of the weights of a template. `kind` says in messages
/// which of them it is.
pub(super) fn additive(
    written: Option<&Placed<Interpolation>>,
    kind: &str,
    report: &mut Report,
) -> Option<HistosysCode> {
    let Some(Placed { value, path }) = written else { return Some(HistosysCode::Code4p) };
    Some(match value {
        Interpolation::Number(0) => HistosysCode::Code0,
        Interpolation::Number(2) => HistosysCode::Code2,
        Interpolation::Number(4) => HistosysCode::Code4p,
        Interpolation::Word(word) if word == "lin" => HistosysCode::Code0,
        Interpolation::Word(word) if word == "parabolic" => HistosysCode::Code2,
        Interpolation::Word(word) if word == "poly6" => HistosysCode::Code4p,
        Interpolation::Structure { multiplies: false, inside, outside } => {
            match (inside.as_str(), outside.as_deref().unwrap_or(inside)) {
                ("poly1", "poly1") => HistosysCode::Code0,
                ("poly2", "poly1") => HistosysCode::Code2,
                ("poly6", "poly1") => HistosysCode::Code4p,
                _ => return unsupported(value, kind, path, report),
            }
        }
        other => return unsupported(other, kind, path, report),
    })
}

/// Reports an interpolation that does not exist for a type of modifier.
fn unsupported<T>(written: &Interpolation, kind: &str, path: &str, report: &mut Report) -> Option<T> {
    let shown = match written {
        Interpolation::Number(number) => number.to_string(),
        Interpolation::Word(word) => quoted(word),
        Interpolation::Structure { multiplies, inside, outside } => format!(
            "{} {} within, {} beyond one standard deviation",
            if *multiplies { "multiplying," } else { "adding," },
            quoted(inside),
            outside.as_deref().map_or_else(|| "the same".to_owned(), quoted)
        ),
    };
    let remedy = match kind {
        "normsys" => "Use 1, 5 or 6, \"lin\", \"log\" or \"poly6\", or their structures.",
        _ => "Use 0, 2 or 4, \"lin\", \"parabolic\" or \"poly6\", or their structures.",
    };
    report.error(path.to_owned(), format!("The interpolation {shown} is not supported for {kind}."), remedy);
    None
}
