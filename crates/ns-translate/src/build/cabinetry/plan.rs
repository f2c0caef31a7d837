//! Finds out where the templates of a configuration come from.

use super::super::fields::Reader;
use super::super::sources::{ColumnSource, Request, Room, Source};
use super::config::{Config, Region, Sample, Systematic, Variation, includes};
use crate::pyhf::names::quoted;

/// Direction of a systematic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Side {
    Up,
    Down,
}

/// Which template of a configuration: indices of region and sample, and of the systematic with its direction.
pub(super) type Key = (usize, usize, Option<(usize, Side)>);

/// Returns all templates that the workspace needs, each with where it comes from.
pub(super) fn plan(config: &Config, mut room: Room<'_>, reader: &mut Reader) -> (Vec<Key>, Vec<Request>) {
    let (mut keys, mut requests) = (Vec::new(), Vec::new());
    for (r, region) in config.regions.iter().enumerate() {
        for (s, sample) in config.samples.iter().enumerate() {
            if !includes(&sample.regions, &region.name) {
                continue;
            }
            let bins = region.binning.as_ref().map_or(0, Vec::len);
            let mut add = |key: Key, varied: Option<(&Systematic, &'static str, &Variation)>| {
                if !room.take(bins) {
                    return;
                }
                if let Some(request) = request(config, region, sample, varied, reader) {
                    keys.push(key);
                    requests.push(request);
                }
            };
            add((r, s, None), None);
            if sample.data {
                continue;
            }
            for (i, systematic) in config.systematics.iter().enumerate() {
                if !systematic.has_templates || !systematic.acts_on(region, sample) {
                    continue;
                }
                add((r, s, Some((i, Side::Up))), Some((systematic, "Up", &systematic.up)));
                if !systematic.down.symmetrize {
                    add((r, s, Some((i, Side::Down))), Some((systematic, "Down", &systematic.down)));
                }
            }
        }
    }
    room.close(reader);
    (keys, requests)
}

fn request(
    config: &Config,
    region: &Region,
    sample: &Sample,
    varied: Option<(&Systematic, &'static str, &Variation)>,
    reader: &mut Reader,
) -> Option<Request> {
    let none = Variation::default();
    let variation = varied.map_or(&none, |(_, _, variation)| variation);
    let (line, of) = match varied {
        None => (sample.line, String::new()),
        Some((systematic, side, variation)) => {
            (variation.line, format!(", {side} of {}", quoted(&systematic.name)))
        }
    };
    let what = format!("sample {} in region {}{of}", quoted(&sample.name), quoted(&region.name));
    let pick = |own: &Option<String>, usual: &Option<String>| own.clone().or_else(|| usual.clone());
    let paths = if variation.sample_paths.is_empty() { &sample.paths } else { &variation.sample_paths };
    let tree = pick(&variation.tree, &sample.tree);
    let replaced = Replaced {
        region: pick(&variation.region_path, &region.region_path),
        variation: pick(&variation.variation_path, &Some(config.general.variation_path.clone())),
        tree: tree.clone(),
    };
    let mut fill = |path: Option<&String>| {
        replaced.fill(&config.general.input_path, path.map(String::as_str)).map_err(
            |(placeholder, setting)| {
                let message =
                    format!("{what}: 'InputPath' has '{{{placeholder}}}', and nothing replaces it.");
                reader.error(line, message, format!("Add '{setting}' to the {}.", holder(setting)));
            },
        )
    };
    let files: Vec<String> = match paths.as_slice() {
        [] => vec![fill(None).ok()?],
        paths => paths.iter().map(|path| fill(Some(path)).ok()).collect::<Option<_>>()?,
    };
    let source = match pick(&variation.variable, &region.variable) {
        Some(variable) => {
            let filter = variation.filter.clone().or_else(|| pick(&sample.filter, &region.filter));
            Source::Columns(ColumnSource {
                files,
                tree,
                variable,
                weight: pick(&variation.weight, &sample.weight),
                filter,
                edges: region.binning.clone()?,
                root_division: false,
                outside: false,
            })
        }
        None => {
            let [file] = files.as_slice() else {
                let message =
                    format!("{what}: a histogram is read from one file, and 'SamplePath' names several.");
                reader.error(
                    line,
                    message,
                    "Name one file, or give the region a 'Variable' to fill from columns.",
                );
                return None;
            };
            let Some((file, path)) = split(file) else {
                let message = format!("{what}: {} does not say which histogram of the file.", quoted(file));
                let remedy = "Write 'InputPath' as 'file.root:path/of/histogram', or give the region a 'Variable' to fill from columns.";
                reader.error(line, message, remedy);
                return None;
            };
            Source::Histogram { file: file.to_owned(), path: path.to_owned(), outside: false }
        }
    };
    Some(Request { line, what, source })
}

/// What replaces the placeholders of a path.
struct Replaced {
    region: Option<String>,
    variation: Option<String>,
    tree: Option<String>,
}

impl Replaced {
    /// Replaces the placeholders. The error is the one that nothing replaces, and the setting for it.
    fn fill(&self, path: &str, sample: Option<&str>) -> Result<String, (&'static str, &'static str)> {
        let all = [
            ("RegionPath", self.region.as_deref()),
            ("SamplePath", sample),
            ("VariationPath", self.variation.as_deref()),
            ("Tree", self.tree.as_deref()),
        ];
        let mut path = path.to_owned();
        for (name, value) in all {
            let placeholder = format!("{{{name}}}");
            if !path.contains(&placeholder) {
                continue;
            }
            path = path.replace(&placeholder, value.ok_or((name, name))?);
        }
        Ok(path)
    }
}

/// The group that a setting belongs to.
fn holder(setting: &str) -> &'static str {
    match setting {
        "RegionPath" => "region",
        "VariationPath" => "general settings",
        _ => "sample",
    }
}

/// Splits the path of a histogram into file and object.
fn split(path: &str) -> Option<(&str, &str)> {
    let (file, object) = match path.find(".root:") {
        Some(at) => (path.get(..at + 5)?, path.get(at + 6..)?),
        None => path.rsplit_once(':')?,
    };
    (!file.is_empty() && !object.trim_matches('/').is_empty()).then_some((file, object))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn paths_of_histograms_are_split_behind_the_file() {
        assert_eq!(split("a/b.root:SR/x"), Some(("a/b.root", "SR/x")));
        assert_eq!(split("C:/b.root:x:y"), Some(("C:/b.root", "x:y")));
        assert_eq!(split("b:x"), Some(("b", "x")));
        assert_eq!(split("b.root"), None);
        assert_eq!(split("b.root:/"), None);
    }
}
