//! Systematics that become several: one for each region or sample, or one each for normalisation and shape.

use super::config::{Config, Scope, Systematic};

/// Between what a systematic is not correlated (`Decorrelate`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decorrelate {
    Regions,
    Samples,
    /// Normalisation and shape.
    Parts,
}

impl Decorrelate {
    /// Returns the systematics with parameters of their own, whose names have an ending.
    pub(super) fn parts(self, systematic: Systematic, config: &Config) -> Vec<Systematic> {
        let named = |ending: &str| Systematic {
            name: format!("{}_{ending}", systematic.name),
            parameter: systematic.parameter.as_ref().map(|parameter| format!("{parameter}_{ending}")),
            ..systematic.clone()
        };
        let all = || vec!["all".to_owned()];
        match self {
            Self::Regions => {
                let names = config.regions.iter().map(|region| &region.name);
                names
                    .filter(|name| systematic.scope.has_region(name))
                    .map(|name| {
                        let scope = Scope { regions: vec![name.clone()], ..systematic.scope.clone() };
                        Systematic { scope, ..named(name) }
                    })
                    .collect()
            }
            Self::Samples => {
                let samples = config.samples.iter().filter(|sample| !sample.data && !sample.ghost);
                samples
                    .map(|sample| &sample.name)
                    .filter(|name| systematic.scope.has_sample(name))
                    .map(|name| {
                        let scope = Scope { samples: vec![name.clone()], ..systematic.scope.clone() };
                        Systematic { scope, ..named(name) }
                    })
                    .collect()
            }
            Self::Parts => {
                let mut parts = vec![Systematic { drop_shape: all(), ..named("Acc") }];
                if systematic.overall.is_none() {
                    parts.push(Systematic { drop_norm: all(), ..named("Shape") });
                }
                parts
            }
        }
    }
}
