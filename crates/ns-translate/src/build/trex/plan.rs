//! Finds out where the templates of a configuration come from.

use super::config::{Config, Locations, Region, Sample, Systematic, Variation};
use crate::build::fields::Reader;
use crate::build::sources::{ColumnSource, Request, Room, Source};
use crate::pyhf::names::quoted;

/// Direction of a systematic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Side {
    Up,
    Down,
}

/// Which template: indices of region and sample, and of the systematic with its direction. Requests of one key are
/// added up.
pub(super) type Key = (usize, usize, Option<(usize, Side)>);

/// Returns all templates that the workspace needs, each with where it comes from.
pub(super) fn plan(config: &Config, mut room: Room<'_>, reader: &mut Reader) -> (Vec<Key>, Vec<Request>) {
    let (mut keys, mut requests) = (Vec::new(), Vec::new());
    for (r, region) in config.regions.iter().enumerate() {
        for (s, sample) in config.samples.iter().enumerate() {
            if !sample.scope.has(&region.name, &sample.name)
                || (sample.data && region.asimov)
                || (sample.ghost && !config.refers_to(&sample.name))
            {
                continue;
            }
            let mut add = |key: Key, varied: Option<(&Systematic, &'static str, &Variation)>| {
                if !room.take(region.edges.len()) {
                    return;
                }
                for request in requests_of(config, region, sample, varied, reader) {
                    keys.push(key);
                    requests.push(request);
                }
            };
            add((r, s, None), None);
            let is_varied = !sample.data && !sample.ghost && sample.systematics;
            for (i, systematic) in config.systematics.iter().enumerate() {
                if systematic.overall.is_some() || systematic.statistics {
                    continue;
                }
                let subtracted =
                    systematic.subtracted.as_ref().filter(|_| systematic.scope.has_region(&region.name));
                let subtracted = subtracted.filter(|subtracted| subtracted.sample == sample.name);
                let acts = is_varied && systematic.scope.has(&region.name, &sample.name);
                let [up, down] = match subtracted {
                    // The data are changed in a way of their own.
                    Some(subtracted) if sample.data => subtracted.of_data.each_ref(),
                    None if !acts => continue,
                    _ => [&systematic.up, &systematic.down],
                };
                let sides = [(Side::Up, "up", up), (Side::Down, "down", down)];
                for ((side, word, variation), other) in sides.into_iter().zip(&systematic.samples) {
                    if let (Some(variation), None) = (variation, other) {
                        add((r, s, Some((i, side))), Some((systematic, word, variation)));
                    }
                }
            }
        }
    }
    room.close(reader);
    (keys, requests)
}

fn requests_of(
    config: &Config,
    region: &Region,
    sample: &Sample,
    varied: Option<(&Systematic, &'static str, &Variation)>,
    reader: &mut Reader,
) -> Vec<Request> {
    let none = Variation::default();
    let variation = varied.map_or(&none, |(_, _, variation)| variation);
    let (line, of) = match varied {
        None => (sample.line, String::new()),
        Some((systematic, side, _)) => (systematic.line, format!(", {} {side}", quoted(&systematic.name))),
    };
    let what = format!("sample {} in region {}{of}", quoted(&sample.name), quoted(&region.name));
    let places = [&variation.place, &sample.place, &region.place, &config.job.place];
    let pick = |list: fn(&Locations) -> &Vec<String>| {
        places.iter().map(|place| list(place)).find(|list| !list.is_empty()).cloned().unwrap_or_default()
    };
    // Endings come in the order region, sample, systematic.
    let ending = |text: fn(&Locations) -> &String| {
        [&region.place, &sample.place, &variation.place].map(|place| text(place).as_str()).concat()
    };
    let mut paths = pick(|place| &place.paths);
    if paths.is_empty() {
        paths.push(String::new());
    }
    let (files, names) = (pick(|place| &place.files), pick(|place| &place.names));
    let kind = if config.job.ntuples { "Ntuple" } else { "Histo" };
    for (list, missing) in [(&files, "File"), (&names, "Name")] {
        if list.is_empty() {
            let message = format!("{what}: nothing says its '{kind}{missing}'.");
            reader.error(
                line,
                message,
                format!("Add '{kind}{missing}' to the sample, the region or the job."),
            );
        }
    }
    let (path_end, file_end, name_end) = (
        ending(|place| &place.path_suffix),
        ending(|place| &place.file_suffix),
        ending(|place| &place.name_suffix),
    );
    let mut out = Vec::new();
    for name in &names {
        let mut all = Vec::new();
        for path in &paths {
            for file in &files {
                let folder = format!("{path}{path_end}");
                let slash = if folder.is_empty() || folder.ends_with('/') { "" } else { "/" };
                let dot = if file.ends_with(".root") || file.ends_with(".parquet") { "" } else { ".root" };
                all.push(format!("{folder}{slash}{file}{file_end}{dot}"));
            }
        }
        let name = format!("{name}{name_end}");
        if config.job.ntuples {
            let source = Source::Columns(columns(config, region, sample, variation, all, name));
            out.push(Request { line, what: what.clone(), source });
        } else {
            out.extend(all.into_iter().map(|file| {
                let source = Source::Histogram { file, path: name.clone(), outside: config.job.outside };
                Request { line, what: what.clone(), source }
            }));
        }
    }
    out
}

fn columns(
    config: &Config,
    region: &Region,
    sample: &Sample,
    variation: &Variation,
    files: Vec<String>,
    tree: String,
) -> ColumnSource {
    let own = variation.weight.as_ref().or(sample.weight.as_ref());
    let weights = [config.job.weight.as_ref(), region.weight.as_ref(), own, variation.weight_factor.as_ref()];
    let usual = [config.job.selection.as_ref(), region.selection.as_ref()];
    let selections =
        usual.into_iter().filter(|_| !sample.ignore_selection).chain([sample.selection.as_ref()]);
    let joined = |texts: Vec<&String>, sign: &str| {
        let texts: Vec<String> = texts.iter().map(|text| format!("({text})")).collect();
        (!texts.is_empty()).then(|| texts.join(sign))
    };
    ColumnSource {
        files,
        tree: Some(tree),
        variable: region.variable.clone().unwrap_or_default(),
        weight: joined(weights.into_iter().flatten().collect(), "*").filter(|_| !sample.data),
        filter: joined(selections.flatten().collect(), "&&"),
        edges: region.edges.clone(),
        root_division: true,
        outside: config.job.outside,
    }
}
