//! Writes a measurement: luminosity, parameter of interest, constant parameters and values.

use super::tags::Xml;
use super::{Context, Role, not_written};
use crate::pyhf::document::{Measurement, Setting};
use crate::xml_error::HistFactoryError;

/// Uncertainty of a luminosity that no sample uses; ROOT needs one.
const UNUSED: f64 = 0.1;

pub(super) fn write(
    measurement: &Measurement,
    context: &Context<'_>,
    xml: &mut Xml,
    notes: &mut Vec<String>,
) -> Result<(), HistFactoryError> {
    let config = &measurement.config;
    let lumi = config.parameters.iter().find(|setting| setting.name == "lumi");
    let first = |values: &Option<Vec<f64>>| values.as_ref().and_then(|values| values.first().copied());
    let nominal = lumi.and_then(|s| first(&s.auxdata)).unwrap_or(1.0);
    let sigma = lumi.and_then(|s| first(&s.sigmas)).unwrap_or(UNUSED * nominal);
    if !(nominal > 0.0) {
        return Err(not_written(
            format!("The measurement '{}'", measurement.name),
            "its luminosity is not positive.",
            "Correct 'auxdata' of the parameter 'lumi'.",
        ));
    }
    xml.begin(
        "Measurement",
        &[
            ("Name", measurement.name.clone()),
            ("Lumi", nominal.to_string()),
            ("LumiRelErr", (sigma / nominal).to_string()),
            ("ExportOnly", "True".to_owned()),
        ],
    )?;
    if config.poi.is_empty() {
        notes.push(format!(
            "The measurement '{}' has no parameter of interest, which hist2workspace needs.",
            measurement.name
        ));
    } else {
        let names = config.poi.names().iter();
        let names = names.map(|name| named(name, context).next().unwrap_or_else(|| name.clone()));
        xml.with("POI", &[], &names.collect::<Vec<_>>().join(" "))?;
    }
    if lumi.is_none() && context.role("lumi").is_none() {
        xml.with("ParamSetting", &[("Const", "True".to_owned())], "Lumi")?;
    }
    for setting in &config.parameters {
        self::setting(setting, measurement, context, nominal, sigma, xml, notes)?;
    }
    xml.end();
    Ok(())
}

/// The names of a parameter in RooFit: one, or one per bin.
fn named<'a>(name: &'a str, context: &'a Context<'_>) -> Box<dyn Iterator<Item = String> + 'a> {
    let bins = |base: String, n: usize| Box::new((0..n).map(move |bin| format!("{base}_bin_{bin}")));
    match context.role(name) {
        Some((Role::Alpha, _)) => Box::new(std::iter::once(format!("alpha_{name}"))),
        Some((Role::Shape(_) | Role::Free, n)) => bins(format!("gamma_{name}"), n),
        Some((Role::Stat(c), n)) => {
            let channel = context.document.channels.get(c).map_or("", |channel| channel.name.as_str());
            bins(format!("gamma_stat_{channel}"), n)
        }
        _ if name == "lumi" => Box::new(std::iter::once("Lumi".to_owned())),
        _ => Box::new(std::iter::once(name.to_owned())),
    }
}

fn setting(
    setting: &Setting,
    measurement: &Measurement,
    context: &Context<'_>,
    nominal: f64,
    sigma: f64,
    xml: &mut Xml,
    notes: &mut Vec<String>,
) -> Result<(), HistFactoryError> {
    let name = &setting.name;
    let note = |what: &str| {
        format!("Measurement '{}': {what} of the parameter '{name}' cannot be written.", measurement.name)
    };
    let role = match context.role(name) {
        Some((role, _)) => role,
        None if name == "lumi" => Role::Lumi,
        None => {
            notes.push(format!(
                "Measurement '{}': the settings of '{name}' are left out, because no modifier has this name.",
                measurement.name
            ));
            return Ok(());
        }
    };
    // Bounds that reading gives by itself.
    let usual = match role {
        Role::Lumi => (nominal - 5.0 * sigma, nominal + 5.0 * sigma),
        Role::Norm => {
            let first = context.setting(name).and_then(|first| first.bounds.as_ref()?.first().copied());
            first.unwrap_or((0.0, 10.0))
        }
        Role::Alpha => (-5.0, 5.0),
        _ => (1e-10, 10.0),
    };
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-12 * a.abs().max(b.abs());
    if let Some(bounds) = &setting.bounds
        && bounds.iter().any(|bound| !(near(bound.0, usual.0) && near(bound.1, usual.1)))
    {
        notes.push(note("the bounds"));
    }
    let usual = |values: &Option<Vec<f64>>, usual: f64| values.iter().flatten().all(|value| *value == usual);
    let changed = match role {
        Role::Alpha => !usual(&setting.auxdata, 0.0) || !usual(&setting.sigmas, 1.0),
        Role::Lumi => false,
        _ => setting.auxdata.is_some() || setting.sigmas.is_some() || setting.factors.is_some(),
    };
    if changed {
        return Err(not_written(
            format!("The parameter '{name}' of the measurement '{}'", measurement.name),
            "its auxiliary datum or the width of its constraint is set.",
            "Remove 'auxdata', 'sigmas' and 'factors' of its settings.",
        ));
    }
    let start = match role {
        Role::Lumi => nominal,
        Role::Norm => context.setting(name).and_then(|s| s.inits.as_ref()?.first().copied()).unwrap_or(1.0),
        Role::Alpha => 0.0,
        _ => 1.0,
    };
    let values = setting.inits.as_deref().unwrap_or_default();
    let constant = setting.fixed == Some(true);
    for (i, parameter) in named(name, context).enumerate() {
        let mut attributes = Vec::new();
        if let Some(value) = values.get(i).filter(|value| **value != start) {
            attributes.push(("Val", value.to_string()));
        }
        if constant {
            attributes.push(("Const", "True".to_owned()));
        }
        if !attributes.is_empty() {
            xml.with("ParamSetting", &attributes, &parameter)?;
        }
    }
    Ok(())
}
