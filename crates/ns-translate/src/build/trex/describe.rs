//! Turns a configuration and its templates into a description.

use std::collections::HashMap;

use super::config::{self, Config, drops};
use super::morph;
use super::plan::{Key, Side};
use super::variation::{For, Variations};
use crate::build::describe::{
    Channel, Description, Effect, Formula, McConstraint, Measurement, Parameter, Parts, Pruning, Sample,
    Smoothing, Symmetrise, Systematic, Template,
};
use crate::build::fields::Reader;
use crate::build::sources::Filled;
use crate::pyhf::names::quoted;

/// Content that an empty bin of a sample gets, as in TRExFitter, and its uncertainty.
const EMPTY: (f64, f64) = (1e-6, 1e-7);

/// Adds up the templates of each key.
pub(super) fn added(keys: Vec<Key>, filled: Vec<Option<Filled>>) -> HashMap<Key, Filled> {
    let mut templates: HashMap<Key, Filled> = HashMap::new();
    for (key, next) in keys.into_iter().zip(filled) {
        let Some(next) = next else { continue };
        match templates.get_mut(&key) {
            None => {
                templates.insert(key, next);
            }
            Some(sum) => {
                let add = |a: &mut Vec<f64>, b: &[f64]| a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
                add(&mut sum.template.values, &next.template.values);
                if let (Some(a), Some(b)) = (&mut sum.template.variances, &next.template.variances) {
                    add(a, b);
                }
            }
        }
    }
    templates
}

/// The description. Problems go to the report; it is complete if there are none.
pub(super) fn describe(
    config: &Config,
    templates: &HashMap<Key, Filled>,
    reader: &mut Reader,
) -> Description {
    morph::check(config, reader);
    let variations = Variations { config, templates };
    let mut channels = Vec::new();
    for (r, region) in config.regions.iter().enumerate() {
        let title = region.title.clone();
        let mut channel = Channel { name: region.name.clone(), title, ..Channel::default() };
        for (s, sample) in config.samples.iter().enumerate() {
            let Some(filled) = templates.get(&(r, s, None)).filter(|_| !sample.ghost) else { continue };
            channel.edges.get_or_insert_with(|| filled.edges.clone());
            if sample.data {
                let data = channel.data.get_or_insert_with(|| vec![0.0; filled.template.values.len()]);
                data.iter_mut().zip(&filled.template.values).for_each(|(a, b)| *a += b);
                continue;
            }
            let scale = variations.scale(sample);
            let template = nominal(&filled.template, scale, (region, sample), reader);
            let of_sample = |factor: &&config::Factor| factor.scope.has(&region.name, &sample.name);
            let names = |per_bin: bool| {
                let mut names: Vec<String> = Vec::new();
                for factor in config
                    .factors
                    .iter()
                    .filter(of_sample)
                    .filter(|f| f.formula.is_none() && f.per_bin == per_bin)
                {
                    if !names.contains(&factor.name) {
                        names.push(factor.name.clone());
                    }
                }
                names
            };
            let mut systematics = Vec::new();
            let acting = config.systematics.iter().enumerate().filter(|_| sample.systematics);
            for (i, systematic) in acting {
                if systematic.scope.has(&region.name, &sample.name) {
                    let of = For { region: r, sample: s, systematic: i };
                    if systematic.statistics {
                        if let Some(parts) = parts(systematic, &region.name, &sample.name) {
                            systematics.extend(of_bins(systematic, &template, parts, reader));
                        }
                        continue;
                    }
                    if let Some(name) = systematic.smoothed_as.as_ref().filter(|name| **name != sample.name) {
                        let change = variations.smoothed_change(name, of, reader);
                        if systematic.uncorrelated {
                            let up = change.map(|(up, _)| times(&up, &template));
                            systematics
                                .extend(up.map(|up| independent(systematic, &region.name, &template, &up)));
                            continue;
                        }
                        let parts = parts(systematic, &region.name, &sample.name);
                        systematics.extend(
                            change
                                .zip(parts)
                                .map(|(change, parts)| smoothed_as(systematic, &template, change, parts)),
                        );
                        continue;
                    }
                    let mut side = |side| variations.template(of, side, reader).map(not_negative);
                    let (up, down) = (side(Side::Up), side(Side::Down));
                    if systematic.uncorrelated {
                        systematics
                            .extend(up.map(|up| independent(systematic, &region.name, &template, &up)));
                        continue;
                    }
                    let parts = parts(systematic, &region.name, &sample.name);
                    systematics.extend(effect(systematic, up, down, parts));
                }
            }
            let separate = sample.separate_gammas && config.job.mc_threshold.is_some();
            if let Some(variances) = template.variances.as_ref().filter(|_| separate) {
                systematics.push(Systematic {
                    name: format!("stat_{}", sample.name),
                    parameter: Some(format!("stat_{}_{}", sample.name, region.name)),
                    effect: Effect::Uncorrelated { sigmas: variances.iter().map(|v| v.sqrt()).collect() },
                    pruned_as: None,
                });
            }
            let mut functions: Vec<Formula> = morph::factors(config, sample);
            for factor in config.factors.iter().filter(of_sample) {
                let Some(formula) = &factor.formula else { continue };
                if functions.iter().all(|known| known.name != factor.name) {
                    let expression = formula.expression.clone();
                    functions.push(Formula { name: factor.name.clone(), expression });
                }
            }
            channel.samples.push(Sample {
                name: sample.name.clone(),
                template,
                mc_statistics: sample.mc_statistics
                    && !sample.separate_gammas
                    && config.job.mc_threshold.is_some(),
                functions,
                norm_factors: names(false),
                shape_factors: names(true),
                systematics,
            });
        }
        channels.push(channel);
    }
    let job = &config.job;
    Description {
        measurement: Measurement {
            name: job.name.clone(),
            poi: job.poi.clone(),
            parameters: parameters(config),
        },
        channels,
        pruning: Pruning { normalisation: job.prune_norm, shape: job.prune_shape, large: job.prune_large },
        mc_threshold: job.mc_threshold.unwrap_or(0.0),
        mc_constraint: if job.gaussian { McConstraint::Gaussian } else { McConstraint::Poisson },
    }
}

/// The nominal template of a sample, in which no bin is empty or negative.
fn nominal(
    template: &Template,
    scale: f64,
    (region, sample): (&config::Region, &config::Sample),
    reader: &mut Reader,
) -> Template {
    let mut values: Vec<f64> = template.values.iter().map(|v| v * scale).collect();
    let mut variances: Option<Vec<f64>> =
        template.variances.as_ref().map(|v| v.iter().map(|v| v * scale * scale).collect());
    let mut changed = 0;
    for (bin, value) in values.iter_mut().enumerate() {
        if *value <= 0.0 {
            *value = EMPTY.0;
            if let Some(variance) = variances.as_mut().and_then(|v| v.get_mut(bin)) {
                *variance = EMPTY.1 * EMPTY.1;
            }
            changed += 1;
        }
    }
    if changed > 0 {
        let message = format!(
            "The sample {} has {changed} bins in region {} that are empty or negative. They get {:e} events, as in TRExFitter.",
            quoted(&sample.name),
            quoted(&region.name),
            EMPTY.0
        );
        reader.warn(sample.line, message, "Use fewer bins, if that matters.");
    }
    Template { values, variances }
}

/// A template of a systematic, in which no bin is negative.
fn not_negative(values: Vec<f64>) -> Vec<f64> {
    values.into_iter().map(|v| if v < 0.0 { EMPTY.0 } else { v }).collect()
}

/// A systematic whose bins are independent. Each bin of a region has a parameter, which all samples of the systematic share.
fn independent(systematic: &config::Systematic, region: &str, nominal: &Template, up: &[f64]) -> Systematic {
    let parameter = systematic.parameter.as_ref().unwrap_or(&systematic.name);
    let sigmas = up.iter().zip(&nominal.values).map(|(u, n)| (u - n).abs()).collect();
    Systematic {
        name: systematic.name.clone(),
        parameter: Some(format!("{parameter}_{region}")),
        effect: Effect::Uncorrelated { sigmas },
        pruned_as: None,
    }
}

/// Largest number of bins of a region with `Type: STAT`.
const MOST_STATISTICS: usize = 500;

/// The statistics of the simulation as systematics: one for each bin, which moves this bin by its uncertainty.
fn of_bins(
    systematic: &config::Systematic,
    nominal: &Template,
    parts: Parts,
    reader: &mut Reader,
) -> Vec<Systematic> {
    let Some(variances) = &nominal.variances else { return Vec::new() };
    if variances.len() > MOST_STATISTICS {
        let message = format!(
            "Systematic {}: 'Type: STAT' in a region of {} bins has as many parameters, and each has a template of all bins.",
            quoted(&systematic.name),
            variances.len()
        );
        let remedy =
            format!("Use at most {MOST_STATISTICS} bins, or 'MCstatThreshold', which has no templates.");
        reader.error(systematic.line, message, remedy);
        return Vec::new();
    }
    let [scale_up, scale_down] = systematic.scale;
    let moved = |bin: usize, by: f64| {
        let values = nominal.values.iter().enumerate();
        let moved = values.map(|(at, value)| if at == bin { value + by } else { *value }).collect();
        not_negative(moved)
    };
    let of_bin = |(bin, variance): (usize, &f64)| Systematic {
        name: format!("{}_bin{bin}", systematic.name),
        parameter: systematic.parameter.as_ref().map(|parameter| format!("{parameter}_bin{bin}")),
        effect: Effect::Templates {
            up: moved(bin, scale_up * variance.sqrt()),
            down: Some(moved(bin, -scale_down * variance.sqrt())),
            symmetrise: Symmetrise::None,
            smooth: None,
            parts,
        },
        pruned_as: systematic.pruned_as.clone(),
    };
    variances.iter().enumerate().map(of_bin).collect()
}

/// The nominal template times a ratio of each bin.
fn times(ratio: &[f64], nominal: &Template) -> Vec<f64> {
    not_negative(ratio.iter().zip(&nominal.values).map(|(r, n)| r * n).collect())
}

/// A systematic whose relative changes are those of another sample after smoothing.
fn smoothed_as(
    systematic: &config::Systematic,
    nominal: &Template,
    (up, down): (Vec<f64>, Vec<f64>),
    parts: Parts,
) -> Systematic {
    Systematic {
        name: systematic.name.clone(),
        parameter: systematic.parameter.clone(),
        effect: Effect::Templates {
            up: times(&up, nominal),
            down: Some(times(&down, nominal)),
            symmetrise: Symmetrise::None,
            smooth: None,
            parts,
        },
        pruned_as: systematic.pruned_as.clone(),
    }
}

/// Which parts of a systematic are used; `None` if neither is.
fn parts(systematic: &config::Systematic, region: &str, sample: &str) -> Option<Parts> {
    match (drops(&systematic.drop_norm, region, sample), drops(&systematic.drop_shape, region, sample)) {
        (false, false) => Some(Parts::Both),
        (true, false) => Some(Parts::Shape),
        (false, true) => Some(Parts::Normalisation),
        (true, true) => None,
    }
}

fn effect(
    systematic: &config::Systematic,
    up: Option<Vec<f64>>,
    down: Option<Vec<f64>>,
    parts: Option<Parts>,
) -> Option<Systematic> {
    let parts = parts?;
    let effect = match systematic.overall {
        Some(_) if parts == Parts::Shape => return None,
        Some((up, down)) => Effect::Normalisation { up, down },
        None => {
            // The template upwards is then made of the one downwards, and there are two.
            let has_both = systematic.only_down();
            let one_sided = systematic.symmetrise == Symmetrise::Mirror && !has_both;
            Effect::Templates {
                up: up?,
                down: down.filter(|_| !one_sided),
                symmetrise: if has_both { Symmetrise::None } else { systematic.symmetrise },
                smooth: (systematic.smoothing > 0).then_some(Smoothing::Merge(systematic.smoothing)),
                parts,
            }
        }
    };
    Some(Systematic {
        name: systematic.name.clone(),
        parameter: systematic.parameter.clone(),
        effect,
        pruned_as: systematic.pruned_as.clone(),
    })
}

/// The settings of free factors that act on a sample.
fn parameters(config: &Config) -> Vec<Parameter> {
    let acts = |factor: &&config::Factor| {
        config.regions.iter().any(|region| {
            config.samples.iter().any(|sample| {
                !sample.data
                    && sample.scope.has(&region.name, &sample.name)
                    && factor.scope.has(&region.name, &sample.name)
            })
        })
    };
    let mut parameters: Vec<Parameter> = morph::parameters(config);
    for factor in config.factors.iter().filter(|factor| !factor.per_bin).filter(acts) {
        if let Some(formula) = &factor.formula {
            for (name, init, bounds) in &formula.parameters {
                if parameters.iter().all(|known| known.name != *name) {
                    let (name, init, bounds) = (name.clone(), Some(*init), Some(*bounds));
                    parameters.push(Parameter { name, init, bounds, fixed: false });
                }
            }
            continue;
        }
        if parameters.iter().all(|known| known.name != factor.name) {
            parameters.push(Parameter {
                name: factor.name.clone(),
                init: Some(factor.nominal),
                bounds: Some(factor.bounds),
                fixed: factor.constant,
            });
        }
    }
    parameters
}
