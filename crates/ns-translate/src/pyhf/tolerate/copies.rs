//! Removes items that occur more than once with the same content. The first is kept, with a warning.
//!
//! pyhf stores items by name and type. It therefore applies two equal modifiers once, counts two equal samples,
//! channels and observations once, and reads the first of two measurements. pyhf refuses two shapesys modifiers or
//! two settings of one name even if they are equal. Here they are removed like other copies. If two items of one name
//! differ, both are kept, and the later check of the contents reports an error.

use std::collections::HashMap;

use super::gathered::Gathered;
use crate::pyhf::document::{
    Channel, Document, Measurement, Modifier, ModifierType, Observation, Sample, Setting,
};
use crate::pyhf::names::quoted;
use crate::pyhf::problem::Report;

/// Keeps the first of several equal items with the same name. The field `at` of each item stays its index in
/// the file.
pub(crate) fn remove_copies(document: &mut Document, report: &mut Report) {
    let mut gathered = Gathered::default();
    for channel in &mut document.channels {
        let (of, c) = (&channel.name, channel.at);
        for sample in &mut channel.samples {
            let (on, s) = (&sample.name, sample.at);
            keep_first(&mut sample.modifiers, modifier_key, same_modifier, |modifier, first| {
                let kind = modifier.effect.kind();
                let (group, as_in) = compared(kind == ModifierType::ShapeSys, ["modifier", "shapesys"]);
                let place = format!("/channels/{c}/samples/{s}/modifiers");
                gathered.note(group, format!("{place}/{}", modifier.at), || {
                    let (on, of, name) = (quoted(on), quoted(of), quoted(&modifier.name));
                    let first = first.at;
                    (
                        format!(
                            "Sample {on} of channel {of} already has the {kind} {name}, with the same data, at \
                             {place}/{first}. It is applied once{as_in}."
                        ),
                        "Remove one of the two, or rename one if both are meant.".to_owned(),
                    )
                });
            });
        }
        keep_first(
            &mut channel.samples,
            |s| (&s.name, 0),
            same_sample,
            |sample, first| {
                let (group, as_in) = compared(has_shapesys(sample), ["sample", "sample with a shapesys"]);
                gathered.note(group, format!("/channels/{c}/samples/{}", sample.at), || {
                let (of, name, first) = (quoted(of), quoted(&sample.name), first.at);
                (
                    format!(
                        "Channel {of} already has the sample {name}, with the same data and modifiers, at \
                         /channels/{c}/samples/{first}. It is counted once{as_in}."
                    ),
                    "Remove one of the two, or rename one if both are meant to be added up.".to_owned(),
                )
            });
            },
        );
    }
    keep_first(
        &mut document.channels,
        |c| (&c.name, 0),
        same_channel,
        |channel, first| {
            let own = channel.samples.iter().any(has_shapesys);
            let (group, as_in) = compared(own, ["channel", "channel with a shapesys"]);
            gathered.note(group, channel.path(), || {
                (
                    format!(
                        "Channel {} is the same as the one at {}. It is counted once{as_in}.",
                        quoted(&channel.name),
                        first.path()
                    ),
                    "Remove one of the two, or rename one if both are meant.".to_owned(),
                )
            });
        },
    );
    keep_first(
        &mut document.observations,
        |o| (&o.name, 0),
        same_observation,
        |observation, first| {
            gathered.note("observation", format!("/observations/{}", observation.at), || {
            (
                format!(
                    "The observation of channel {} is the same as the one at /observations/{}. One is used.",
                    quoted(&observation.name),
                    first.at
                ),
                "Remove one of the two.".to_owned(),
            )
        });
        },
    );
    for measurement in &mut document.measurements {
        let (of, m) = (&measurement.name, measurement.at);
        let settings = &mut measurement.config.parameters;
        keep_first(
            settings,
            |s| (&s.name, 0),
            same_setting,
            |setting, first| {
                let place = format!("/measurements/{m}/config/parameters");
                gathered.note("setting", format!("{place}/{}", setting.at), || {
                let (of, name, first) = (quoted(of), quoted(&setting.name), first.at);
                (
                    format!(
                        "Measurement {of} already configures the parameter {name}, with the same values, at \
                         {place}/{first}. One setting is used; pyhf refuses two."
                    ),
                    "Remove one of the two.".to_owned(),
                )
            });
            },
        );
    }
    keep_first(
        &mut document.measurements,
        |m| (&m.name, 0),
        same_measurement,
        |measurement, first| {
            gathered.note("measurement", format!("/measurements/{}", measurement.at), || {
                (
                    format!(
                        "Measurement {} is the same as the one at /measurements/{}. One is used.",
                        quoted(&measurement.name),
                        first.at
                    ),
                    "Remove one of the two, or rename one.".to_owned(),
                )
            });
        },
    );
    gathered.tell(report);
}

/// Returns the kind of the warning about a copy of an item, and the end of its message. pyhf refuses copies that
/// contain a shapesys; `shapesys` says whether the copy contains one. `without` and `with` are the kinds for copies
/// without and with a shapesys.
fn compared(shapesys: bool, [without, with]: [&'static str; 2]) -> (&'static str, &'static str) {
    if shapesys { (with, "; pyhf refuses it") } else { (without, ", as in pyhf") }
}

fn has_shapesys(sample: &Sample) -> bool {
    sample.modifiers.iter().any(|m| m.effect.kind() == ModifierType::ShapeSys)
}

/// Removes each item of a list that equals the first item with the same name. `key` returns what counts as the name,
/// and `same` compares two items. `tell` is called with each removed item and the first item.
fn keep_first<T>(
    list: &mut Vec<T>,
    key: fn(&T) -> (&String, u8),
    same: fn(&T, &T) -> bool,
    mut tell: impl FnMut(&T, &T),
) {
    if list.len() < 2 {
        return;
    }
    let mut first: HashMap<(&String, u8), &T> = HashMap::with_capacity(list.len());
    let mut copies = Vec::new();
    for (i, item) in list.iter().enumerate() {
        match first.get(&key(item)) {
            None => _ = first.insert(key(item), item),
            Some(kept) if same(kept, item) => {
                tell(item, kept);
                copies.push(i);
            }
            Some(_) => {}
        }
    }
    if copies.is_empty() {
        return;
    }
    let mut copies = copies.into_iter().peekable();
    let mut i = 0;
    list.retain(|_| {
        let copy = copies.next_if_eq(&i).is_some();
        i += 1;
        !copy
    });
}

/// Returns the name and the type of a modifier, which identify it within a sample.
fn modifier_key(modifier: &Modifier) -> (&String, u8) {
    (&modifier.name, modifier.effect.kind() as u8)
}

// These functions compare items, but not their positions.

fn same_modifier(a: &Modifier, b: &Modifier) -> bool {
    a.name == b.name && a.effect == b.effect
}

fn same_sample(a: &Sample, b: &Sample) -> bool {
    a.name == b.name && a.data == b.data && all_same(&a.modifiers, &b.modifiers, same_modifier)
}

fn same_channel(a: &Channel, b: &Channel) -> bool {
    a.name == b.name && all_same(&a.samples, &b.samples, same_sample)
}

fn same_observation(a: &Observation, b: &Observation) -> bool {
    a.name == b.name && a.data == b.data
}

fn same_setting(a: &Setting, b: &Setting) -> bool {
    *a == Setting { at: a.at, ..b.clone() }
}

fn same_measurement(a: &Measurement, b: &Measurement) -> bool {
    let (x, y) = (&a.config, &b.config);
    let parameters = all_same(&x.parameters, &y.parameters, same_setting);
    a.name == b.name && x.poi == y.poi && x.poi_broken == y.poi_broken && parameters
}

fn all_same<T>(a: &[T], b: &[T], same: fn(&T, &T) -> bool) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}
