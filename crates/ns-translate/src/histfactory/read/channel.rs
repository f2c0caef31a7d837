//! Reads the file of a channel.

use std::path::Path;

use ns_root::Histogram;

use crate::Axis;

use super::files::{Address, Inputs};
use crate::histfactory::describe::{Channel, Effect, Modifier, Sample};
use crate::histfactory::xml::{Element, parse};
use crate::pyhf::{Problem, Severity};
use crate::xml_error::HistFactoryError;

/// HistFactory's own threshold for uncertainties of the simulation, where a channel has none.
const THRESHOLD: f64 = 0.05;
const SYSTEMATICS: [&str; 6] =
    ["StatError", "HistoSys", "OverallSys", "ShapeSys", "NormFactor", "ShapeFactor"];

/// Reads the channel of a file, with all its histograms.
pub(super) fn read(path: &Path, files: &mut Inputs) -> Result<Channel, HistFactoryError> {
    let text = super::super::text(&files.source, path)?;
    let document = parse(&text, path)?;
    let root = Element::root(&document, path);
    if root.tag() != "Channel" {
        return Err(root.error(
            "It is named as a channel but is none.",
            "Let <Input> name a file that begins with <Channel>.",
        ));
    }
    root.only(&["Name", "InputFile", "HistoPath", "HistoName"])?;
    let around = Address {
        file: root.get("InputFile"),
        folder: root.get("HistoPath").unwrap_or_default(),
        name: root.get("HistoName"),
    };
    let mut out = Channel {
        place: root.place(),
        name: root.text_of("Name")?.to_owned(),
        bins: 0,
        axis: None,
        data: None,
        samples: Vec::new(),
        threshold: THRESHOLD,
        poisson: true,
    };
    for child in root.children(&["Data", "StatErrorConfig", "Sample"])? {
        match child.tag() {
            "Data" => data(child, around, &mut out, files)?,
            "StatErrorConfig" => {
                child.only(&["RelErrorThreshold", "ConstraintType"])?;
                out.threshold = child.optional_number("RelErrorThreshold")?.unwrap_or(THRESHOLD);
                out.poisson = child.poisson()?.unwrap_or(true);
            }
            _ => {
                let sample = sample(child, around, (&mut out.bins, &mut out.axis), files)?;
                if out.samples.iter().any(|known| known.name == sample.name) {
                    return Err(child
                        .error("Another sample of this channel has this name.", "Rename one of the two."));
                }
                out.samples.push(sample);
            }
        }
    }
    if out.samples.is_empty() {
        return Err(root.error("The channel has no samples.", "Add a <Sample>."));
    }
    Ok(out)
}

fn data(
    element: Element<'_>,
    around: Address<'_>,
    channel: &mut Channel,
    files: &mut Inputs,
) -> Result<(), HistFactoryError> {
    element.only(&["Name", "InputFile", "HistoPath", "HistoName"])?;
    if channel.data.is_some() {
        files.notes.push(Problem {
            severity: Severity::Warning,
            path: element.place().to_string(),
            message: format!(
                "{}: it is another data set of the channel '{}' and is not used.",
                element.shown(),
                channel.name
            ),
            remedy: "Put the data set that is meant first.".to_owned(),
        });
        return Ok(());
    }
    // An empty name asks for Asimov data, as in files that other programs write.
    if element.get("HistoName").is_some_and(str::is_empty)
        || element.get("InputFile").is_some_and(str::is_empty)
    {
        return Ok(());
    }
    let address = within(around, element, "InputFile", "HistoPath", "HistoName");
    let histogram = files.histogram(address, element)?;
    channel.data = Some(contents(&histogram, &mut channel.bins, element)?);
    known_axis(&histogram, &mut channel.axis);
    Ok(())
}

/// Sets the axis of a channel to that of a histogram, unless it has one.
fn known_axis(histogram: &Histogram, axis: &mut Option<Axis>) {
    if axis.is_none() {
        *axis = histogram.axes.first().and_then(Axis::of_root);
    }
}

/// What an element says of its histogram; what it does not say is that of the element around.
fn within<'a>(
    around: Address<'a>,
    element: Element<'a>,
    file: &str,
    folder: &str,
    name: &str,
) -> Address<'a> {
    Address {
        file: element.get(file).or(around.file),
        folder: element.get(folder).unwrap_or(around.folder),
        name: element.get(name).or(around.name),
    }
}

/// Contents of a histogram that has as many bins as the channel.
fn contents(
    histogram: &Histogram,
    bins: &mut usize,
    element: Element<'_>,
) -> Result<Vec<f64>, HistFactoryError> {
    let contents = histogram.contents();
    if *bins == 0 {
        *bins = contents.len();
    }
    if contents.len() != *bins {
        return Err(element.error(
            format!(
                "The histogram '{}' has {} bins, but the channel has {bins}.",
                histogram.name,
                contents.len()
            ),
            "Let all histograms of a channel have the same bins.",
        ));
    }
    if let Some(bin) = contents.iter().position(|value| !value.is_finite()) {
        return Err(element.error(
            format!("Bin {} of the histogram '{}' is not finite.", bin + 1, histogram.name),
            "Write the histogram again.",
        ));
    }
    Ok(contents)
}

fn sample(
    element: Element<'_>,
    around: Address<'_>,
    (bins, axis): (&mut usize, &mut Option<Axis>),
    files: &mut Inputs,
) -> Result<Sample, HistFactoryError> {
    element.only(&["Name", "InputFile", "HistoName", "HistoPath", "NormalizeByTheory"])?;
    let address = within(around, element, "InputFile", "HistoPath", "HistoName");
    let nominal = files.histogram(address, element)?;
    known_axis(&nominal, axis);
    let mut out = Sample {
        place: element.place(),
        name: element.text_of("Name")?.to_owned(),
        contents: contents(&nominal, bins, element)?,
        lumi: element.truth("NormalizeByTheory")?,
        errors: None,
        modifiers: Vec::new(),
    };
    // The name of a histogram is not passed on to systematics.
    let around = Address { name: None, ..address };
    for child in element.children(&SYSTEMATICS)? {
        if child.tag() == "StatError" {
            if out.errors.is_some() {
                return Err(child.error("The sample has two of these.", "Remove one."));
            }
            out.errors = errors(child, around, &nominal, bins, files)?;
            continue;
        }
        let effect = effect(child, around, bins, files)?;
        let name = child.text_of("Name")?.to_owned();
        let place = child.place();
        let same = |known: &&Modifier| {
            known.name == name && std::mem::discriminant(&known.effect) == std::mem::discriminant(&effect)
        };
        if let Some(known) = out.modifiers.iter().find(same) {
            let message = format!("The sample already has one of this name, at {}.", known.place);
            return Err(child.error(message, "Remove or rename one of the two."));
        }
        out.modifiers.push(Modifier { place, name, effect });
    }
    Ok(out)
}

/// Uncertainties of the simulation in events: those of the nominal histogram, or relative ones of another histogram.
fn errors(
    element: Element<'_>,
    around: Address<'_>,
    nominal: &Histogram,
    bins: &mut usize,
    files: &mut Inputs,
) -> Result<Option<Vec<f64>>, HistFactoryError> {
    element.only(&["Activate", "HistoName", "InputFile", "HistoPath"])?;
    element.text_of("Activate")?;
    if element.truth("Activate")? != Some(true) {
        return Ok(None);
    }
    if element.get("HistoName").is_none_or(str::is_empty) {
        return Ok(Some(nominal.errors()));
    }
    // As HistFactory, take an empty file or folder for one that is not given.
    let given = |name: &str| element.get(name).filter(|text| !text.is_empty());
    let address = Address {
        file: given("InputFile").or(around.file),
        folder: given("HistoPath").unwrap_or(around.folder),
        name: element.get("HistoName"),
    };
    let histogram = files.histogram(address, element)?;
    let relative = contents(&histogram, bins, element)?;
    Ok(Some(relative.iter().zip(nominal.contents()).map(|(r, n)| (r * n).abs()).collect()))
}

fn effect(
    element: Element<'_>,
    around: Address<'_>,
    bins: &mut usize,
    files: &mut Inputs,
) -> Result<Effect, HistFactoryError> {
    Ok(match element.tag() {
        "NormFactor" => {
            element.only(&["Name", "Val", "High", "Low", "Const"])?;
            let (value, low, high) =
                (element.number("Val")?, element.number("Low")?, element.number("High")?);
            if !(low < high && low <= value && value <= high) {
                let message = format!("Val={value} is not between Low={low} and High={high}.");
                return Err(element.error(message, "Let Low be smaller than High, and Val lie between them."));
            }
            Effect::NormFactor { value, low, high, constant: element.truth("Const")?.unwrap_or(false) }
        }
        "OverallSys" => {
            element.only(&["Name", "High", "Low"])?;
            Effect::OverallSys { low: element.number("Low")?, high: element.number("High")? }
        }
        "HistoSys" => {
            element.only(&[
                "Name",
                "InputFile",
                "HistoPath",
                "HistoFileHigh",
                "HistoPathHigh",
                "HistoNameHigh",
                "HistoFileLow",
                "HistoPathLow",
                "HistoNameLow",
            ])?;
            let around = within(around, element, "InputFile", "HistoPath", "");
            let mut side = |file: &str, folder: &str, name: &str| {
                element.text_of(name)?;
                let histogram = files.histogram(within(around, element, file, folder, name), element)?;
                contents(&histogram, bins, element)
            };
            Effect::HistoSys {
                low: side("HistoFileLow", "HistoPathLow", "HistoNameLow")?,
                high: side("HistoFileHigh", "HistoPathHigh", "HistoNameHigh")?,
            }
        }
        "ShapeSys" => {
            element.only(&["Name", "HistoName", "HistoPath", "InputFile", "ConstraintType"])?;
            element.text_of("HistoName")?;
            let histogram =
                files.histogram(within(around, element, "InputFile", "HistoPath", "HistoName"), element)?;
            let relative = contents(&histogram, bins, element)?;
            if relative.iter().any(|value| *value < 0.0) {
                return Err(
                    element.error("A relative uncertainty is negative.", "Write the histogram again.")
                );
            }
            Effect::ShapeSys { relative, poisson: element.poisson()?.unwrap_or(false) }
        }
        _ => {
            element.only(&["Name", "Const", "HistoName", "HistoPath", "InputFile"])?;
            let start = match element.get("HistoName") {
                None | Some("") => None,
                Some(_) => {
                    let address = within(around, element, "InputFile", "HistoPath", "HistoName");
                    Some(contents(&files.histogram(address, element)?, bins, element)?)
                }
            };
            Effect::ShapeFactor { start, constant: element.truth("Const")?.unwrap_or(false) }
        }
    })
}
