//! Writes XML that was read, with what workspaces lack: constraint terms, and a Poisson constraint that samples share.

use std::collections::BTreeSet;

use ns_root::HistogramFile;
use ns_unbinned::expression::Expression;

use super::channel::{add, relative};
use super::tags::Xml;
use super::{COMBINATION, Exported, HISTOGRAMS, finished, not_written, plain, unique};
use crate::histfactory::describe::{
    Channel, Combination, Effect, Function, Measurement, Modifier, Sample, TermKind,
};
use crate::histfactory::settle::{Constraint, Groups, Kind};
use crate::histfactory::view;
use crate::xml_error::HistFactoryError;

/// Writes a description. Samples scale with the luminosity where they say it, and where `lumi` says it for those that do not.
pub(in crate::histfactory) fn copy(
    combination: &Combination,
    lumi: bool,
    groups: &Groups,
) -> Result<Exported, HistFactoryError> {
    let mut histograms = HistogramFile::new();
    let mut taken = BTreeSet::from(["combination".to_owned()]);
    let mut files = Vec::new();
    let mut xml = Xml::of("Combination");
    xml.begin("Combination", &[("OutputFilePrefix", "./results".to_owned())])?;
    for function in &combination.functions {
        self::function(function, combination, groups, &mut xml)?;
    }
    for channel in &combination.channels {
        let stem = unique(&plain(&channel.name), &mut taken);
        let text = self::channel(channel, &stem, lumi, groups, &mut histograms)?;
        xml.with("Input", &[], &format!("{stem}.xml"))?;
        files.push((format!("{stem}.xml"), text.into_bytes()));
    }
    for measurement in &combination.measurements {
        self::measurement(measurement, groups, &mut xml)?;
    }
    xml.end();
    files.insert(0, (COMBINATION.to_owned(), xml.text.into_bytes()));
    Ok(Exported { files: finished(files, &histograms)?, notes: Vec::new() })
}

/// A function with its dependents: those with a range, factors of samples, and other functions.
fn function(
    function: &Function,
    combination: &Combination,
    groups: &Groups,
    xml: &mut Xml,
) -> Result<(), HistFactoryError> {
    let mut dependents = Vec::new();
    for dependent in &function.dependents {
        let name = &dependent.name;
        dependents.push(match dependent.range {
            Some((start, low, high)) if low == high => format!("{name}[{start}]"),
            Some((start, low, high)) => format!("{name}[{start},{low},{high}]"),
            None if groups.find(Kind::Norm, name).is_some() => name.clone(),
            None => return Err(missing(function, name)),
        });
    }
    let parsed = Expression::parse(&function.expression).ok();
    for name in parsed.iter().flat_map(Expression::names) {
        if function.dependents.iter().any(|known| known.name == *name) {
            continue;
        }
        if !combination.functions.iter().any(|other| other.name == *name) {
            return Err(missing(function, name));
        }
        dependents.push((*name).to_owned());
    }
    xml.empty(
        "Function",
        &[
            ("Name", function.name.clone()),
            ("Expression", function.expression.clone()),
            ("Dependents", dependents.join(",")),
        ],
    )
}

fn missing(function: &Function, name: &str) -> HistFactoryError {
    not_written(
        format!("The function '{}'", function.name),
        &format!("'{name}', which it uses, is a factor of channels that are left out."),
        "Keep such a channel.",
    )
}

fn channel(
    channel: &Channel,
    stem: &str,
    lumi: bool,
    groups: &Groups,
    histograms: &mut HistogramFile,
) -> Result<String, HistFactoryError> {
    let mut xml = Xml::of("Channel");
    xml.begin("Channel", &[("Name", channel.name.clone()), ("InputFile", HISTOGRAMS.to_owned())])?;
    if let Some(data) = &channel.data {
        add(histograms, &format!("{stem}/data"), data, None)?;
        xml.empty("Data", &[("HistoPath", stem.to_owned()), ("HistoName", "data".to_owned())])?;
    }
    // Bins below the threshold are written without uncertainty, so that rounding cannot move one across it.
    let kind = ("ConstraintType", constraint_type(channel.poisson));
    xml.empty("StatErrorConfig", &[("RelErrorThreshold", "0".to_owned()), kind])?;
    let constrained = groups.get(Kind::Stat, &channel.name).map(|group| group.constraint.as_slice());
    let mut taken = BTreeSet::from(["data".to_owned()]);
    for sample in &channel.samples {
        let folder = format!("{stem}/{}", unique(&plain(&sample.name), &mut taken));
        let scales = sample.lumi.unwrap_or(lumi);
        let errors = sample.errors.as_ref().map(|errors| {
            let bins = errors.iter().zip(constrained.unwrap_or_default());
            bins.map(|(e, c)| if *c == Constraint::None { 0.0 } else { *e }).collect::<Vec<f64>>()
        });
        self::sample(sample, scales, errors.as_deref(), &folder, histograms, &mut xml)?;
    }
    xml.end();
    Ok(xml.text)
}

fn constraint_type(poisson: bool) -> String {
    if poisson { "Poisson" } else { "Gaussian" }.to_owned()
}

fn sample(
    sample: &Sample,
    scales: bool,
    errors: Option<&[f64]>,
    folder: &str,
    histograms: &mut HistogramFile,
    xml: &mut Xml,
) -> Result<(), HistFactoryError> {
    xml.begin(
        "Sample",
        &[
            ("Name", sample.name.clone()),
            ("HistoPath", folder.to_owned()),
            ("HistoName", "nominal".to_owned()),
            ("NormalizeByTheory", if scales { "True" } else { "False" }.to_owned()),
        ],
    )?;
    let mut taken = BTreeSet::from(["nominal".to_owned()]);
    if let Some(errors) = errors {
        let shares: Vec<f64> = errors.iter().zip(&sample.contents).map(|(e, n)| relative(*e, *n)).collect();
        // Relative uncertainties cannot give one to an empty bin; the histogram itself can.
        let empty = errors.iter().zip(&sample.contents).any(|(e, n)| *e != 0.0 && *n == 0.0);
        if empty {
            xml.empty("StatError", &[("Activate", "True".to_owned())])?;
        } else {
            let name = unique("stat_relative", &mut taken);
            add(histograms, &format!("{folder}/{name}"), &shares, None)?;
            let place = ("HistoPath", folder.to_owned());
            xml.empty("StatError", &[("Activate", "True".to_owned()), place, ("HistoName", name)])?;
        }
    }
    for modifier in &sample.modifiers {
        self::modifier(modifier, folder, &mut taken, histograms, xml)?;
    }
    xml.end();
    add(histograms, &format!("{folder}/nominal"), &sample.contents, errors)
}

fn modifier(
    modifier: &Modifier,
    folder: &str,
    taken: &mut BTreeSet<String>,
    histograms: &mut HistogramFile,
    xml: &mut Xml,
) -> Result<(), HistFactoryError> {
    let mut histogram = |suffix: &str, values: &[f64]| {
        let name = unique(&format!("{}{suffix}", plain(&modifier.name)), taken);
        add(histograms, &format!("{folder}/{name}"), values, None).map(|()| name)
    };
    let name = ("Name", modifier.name.clone());
    let path = || ("HistoPath", folder.to_owned());
    let truth = |value: bool| ("Const", if value { "True" } else { "False" }.to_owned());
    match &modifier.effect {
        Effect::NormFactor { value, low, high, constant } => {
            let (low, high) = (("Low", low.to_string()), ("High", high.to_string()));
            xml.empty("NormFactor", &[name, ("Val", value.to_string()), low, high, truth(*constant)])
        }
        // The function of this name replaces the factor, whose numbers have no effect.
        Effect::Function { .. } => xml.empty(
            "NormFactor",
            &[name, ("Val", "1".to_owned()), ("Low", "0".to_owned()), ("High", "10".to_owned())],
        ),
        Effect::OverallSys { low, high } => {
            xml.empty("OverallSys", &[name, ("High", high.to_string()), ("Low", low.to_string())])
        }
        Effect::HistoSys { low, high } => {
            let (high, low) = (histogram("_high", high)?, histogram("_low", low)?);
            let (above, below) = (("HistoPathHigh", folder.to_owned()), ("HistoPathLow", folder.to_owned()));
            xml.empty("HistoSys", &[name, above, ("HistoNameHigh", high), below, ("HistoNameLow", low)])
        }
        Effect::ShapeSys { relative, poisson } => {
            let shape = histogram("_relative", relative)?;
            let kind = ("ConstraintType", constraint_type(*poisson));
            xml.empty("ShapeSys", &[name, path(), ("HistoName", shape), kind])
        }
        Effect::ShapeFactor { start: None, constant } => xml.empty("ShapeFactor", &[name, truth(*constant)]),
        Effect::ShapeFactor { start: Some(start), constant } => {
            let start = histogram("_start", start)?;
            xml.empty("ShapeFactor", &[name, truth(*constant), path(), ("HistoName", start)])
        }
    }
}

/// A measurement. Settings and terms of what no channel has were told as warnings, and are left out.
fn measurement(measurement: &Measurement, groups: &Groups, xml: &mut Xml) -> Result<(), HistFactoryError> {
    xml.begin(
        "Measurement",
        &[
            ("Name", measurement.name.clone()),
            ("Lumi", measurement.lumi.to_string()),
            ("LumiRelErr", measurement.uncertainty.to_string()),
            ("ExportOnly", "True".to_owned()),
        ],
    )?;
    if !measurement.interest.is_empty() {
        xml.with("POI", &[], &measurement.interest.join(" "))?;
    }
    for setting in measurement.settings.iter().filter(|setting| view::has(&setting.name, groups)) {
        let value = setting.value.map(|value| ("Val", value.to_string()));
        let constant =
            setting.constant.map(|constant| ("Const", if constant { "True" } else { "False" }.to_owned()));
        let attributes: Vec<(&str, String)> = value.into_iter().chain(constant).collect();
        xml.with("ParamSetting", &attributes, &setting.name)?;
    }
    for term in measurement.terms.iter().filter(|term| groups.find(Kind::Alpha, &term.name).is_some()) {
        let kind = match term.kind {
            TermKind::Gamma => "Gamma",
            TermKind::LogNormal => "LogNormal",
            TermKind::Uniform => "Uniform",
            TermKind::Unconstrained => "NoConstraint",
        };
        let width = ("RelativeUncertainty", term.relative.to_string());
        xml.with("ConstraintTerm", &[("Type", kind.to_owned()), width], &term.name)?;
    }
    xml.end();
    Ok(())
}
