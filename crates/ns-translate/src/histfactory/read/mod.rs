//! Reads a combination file, its channels and their histograms.

mod channel;
mod files;
mod function;

use std::path::Path;

use super::describe::{Combination, Measurement, Setting, Term, TermKind};
use super::xml::{Element, parse};
use crate::files::Files;
use crate::pyhf::{Problem, Severity};
use crate::xml_error::HistFactoryError;
use files::Inputs;

/// Reads the combination file with this text.
pub(super) fn combination(text: &str, files: &Files, path: &Path) -> Result<Combination, HistFactoryError> {
    let document = parse(text, path)?;
    let root = Element::root(&document, path);
    match root.tag() {
        "Combination" => {}
        "Channel" => {
            return Err(root.error(
                "This file describes one channel, without the measurement.",
                "Give the file that begins with <Combination> and names this one in <Input>.",
            ));
        }
        _ => {
            return Err(root
                .error("This is not XML of HistFactory.", "Give the file that begins with <Combination>."));
        }
    }
    root.only(&["OutputFilePrefix", "Mode"])?;
    let mut files = Inputs::of(files, path);
    let mut out = Combination {
        measurements: Vec::new(),
        channels: Vec::new(),
        functions: Vec::new(),
        notes: Vec::new(),
    };
    let mut functions = Vec::new();
    for child in root.children(&["Function", "Input", "Measurement"])? {
        match child.tag() {
            "Function" => functions.push((child, function::read(child)?)),
            "Measurement" => {
                let measurement = measurement(child, &mut out.notes)?;
                if out.measurements.iter().any(|known| known.name == measurement.name) {
                    return Err(child.error("Another measurement has this name.", "Rename one of the two."));
                }
                out.measurements.push(measurement);
            }
            _ => {
                child.only(&[])?;
                let name = child.line()?;
                let path = files.find(name, child)?;
                let channel = channel::read(&path, &mut files)?;
                if let Some(known) = out.channels.iter().find(|known| known.name == channel.name) {
                    return Err(child.error(
                        format!("The channel '{}' is already described at {}.", channel.name, known.place),
                        "Remove one <Input>, or rename one of the channels.",
                    ));
                }
                out.channels.push(channel);
            }
        }
    }
    if out.channels.is_empty() {
        return Err(root.error("It has no channels.", "Add <Input>channel.xml</Input>."));
    }
    if out.measurements.is_empty() {
        return Err(root.error(
            "It has no measurement.",
            "Add <Measurement Name=\"...\" Lumi=\"1\" LumiRelErr=\"0.1\"><POI>mu</POI></Measurement>.",
        ));
    }
    out.notes.append(&mut files.notes);
    out.functions = function::settle(functions, &mut out.channels, &mut out.notes)?;
    Ok(out)
}

fn measurement(element: Element<'_>, notes: &mut Vec<Problem>) -> Result<Measurement, HistFactoryError> {
    element.only(&["Name", "Lumi", "LumiRelErr", "BinLow", "BinHigh", "Mode", "ExportOnly"])?;
    element.truth("ExportOnly")?;
    if element.get("BinLow").is_some() || element.get("BinHigh").is_some() {
        element.optional_number("BinLow")?;
        element.optional_number("BinHigh")?;
        notes.push(Problem {
            severity: Severity::Warning,
            path: element.place().to_string(),
            message: format!(
                "{}: all bins are used. HistFactory itself ignores BinLow and BinHigh.",
                element.shown()
            ),
            remedy: "Remove the two attributes; give histograms with fewer bins if bins should be left out."
                .to_owned(),
        });
    }
    let lumi = element.number("Lumi")?;
    let uncertainty = element.number("LumiRelErr")?;
    if !(lumi > 0.0) || uncertainty < 0.0 {
        return Err(element.error(
            "Lumi must be positive, and LumiRelErr must not be negative.",
            "Correct the two attributes.",
        ));
    }
    let mut out = Measurement {
        place: element.place(),
        name: element.text_of("Name")?.to_owned(),
        lumi,
        uncertainty,
        interest: Vec::new(),
        settings: Vec::new(),
        terms: Vec::new(),
    };
    for child in element.children(&["POI", "ParamSetting", "ConstraintTerm"])? {
        match child.tag() {
            "POI" => {
                child.only(&[])?;
                for name in child.words()? {
                    if out.interest.iter().any(|known| known == name) {
                        return Err(child.error(
                            format!("The parameter of interest '{name}' is listed twice."),
                            "Give every name once.",
                        ));
                    }
                    out.interest.push(name.to_owned());
                }
            }
            "ParamSetting" => out.settings.append(&mut settings(child)?),
            _ => out.terms.append(&mut terms(child)?),
        }
    }
    Ok(out)
}

fn settings(element: Element<'_>) -> Result<Vec<Setting>, HistFactoryError> {
    element.only(&["Val", "Const"])?;
    let (value, constant) = (element.optional_number("Val")?, element.truth("Const")?);
    if value.is_none() && constant.is_none() {
        return Err(element.error("It sets nothing.", "Add Val=\"...\" or Const=\"True\", or remove it."));
    }
    let setting = |name: &str| Setting { place: element.place(), name: name.to_owned(), value, constant };
    Ok(element.named("parameter")?.into_iter().map(setting).collect())
}

fn terms(element: Element<'_>) -> Result<Vec<Term>, HistFactoryError> {
    element.only(&["Type", "RelativeUncertainty"])?;
    let kind = match element.text_of("Type")? {
        "Gamma" => TermKind::Gamma,
        "LogNormal" => TermKind::LogNormal,
        "Uniform" => TermKind::Uniform,
        "NoConstraint" => TermKind::Unconstrained,
        other => {
            let message = format!("There is no type '{other}'.");
            return Err(
                element.error(message, "Write \"Gamma\", \"LogNormal\", \"Uniform\" or \"NoConstraint\".")
            );
        }
    };
    let relative = element.optional_number("RelativeUncertainty")?.unwrap_or(0.0);
    if matches!(kind, TermKind::Gamma | TermKind::LogNormal) && !(relative > 0.0) {
        return Err(element.error(
            "The relative uncertainty must be positive.",
            "Add RelativeUncertainty=\"0.1\", with the width that is meant.",
        ));
    }
    let term = |name: &str| Term { place: element.place(), name: name.to_owned(), kind, relative };
    Ok(element.named("systematic")?.into_iter().map(term).collect())
}
