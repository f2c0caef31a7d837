//! Constraints of the modifiers of HistFactory channels, and checks of their values.

use ns_core::{Effect, Value};

use crate::hs3::document::{self, HistFactory, Kind, Placed, ShapeValues, WrittenConstraint};
use crate::pyhf::names::quoted;

use super::Builder;
use super::parameters::Written;

impl Builder<'_, '_> {
    /// Adds the constraint of a modifier with a single parameter. `nominal` is the observed value of the auxiliary
    /// datum.
    pub(super) fn constrain_scalar(&mut self, parameter: usize, modifier: &document::Modifier, nominal: f64) {
        match &modifier.constraint {
            WrittenConstraint::None => {
                let sys = matches!(
                    modifier.effect,
                    document::Effect::NormSys { .. } | document::Effect::HistoSys { .. }
                );
                if sys && !self.index.document.from_nextstat {
                    self.unconstrained.push((parameter, modifier.path.clone()));
                }
            }
            WrittenConstraint::Distribution(name) => {
                if let Some(i) = self.index.distribution(&name.value) {
                    self.constrain(i, None);
                }
            }
            WrittenConstraint::Distributions(names) => {
                for name in names.iter().flatten() {
                    if let Some(i) = self.index.distribution(&name.value) {
                        self.constrain(i, None);
                    }
                }
            }
            WrittenConstraint::Kind(Placed { value: Kind::Const, .. }) => self.parameters.hold(parameter),
            WrittenConstraint::Kind(Placed { value: Kind::Gauss, .. }) => {
                let datum = self.parameters.nominal(parameter).unwrap_or(nominal);
                self.constrain_once(parameter, Written::Gaussian { sigma: 1.0, datum }, modifier);
            }
            // The interpolation makes the factor log-normal.
            WrittenConstraint::Kind(kind) if kind.value == Kind::LogNormal && nominal == 0.0 => {
                self.warn_lognormal(modifier, &kind.path);
                let datum = self.parameters.nominal(parameter).unwrap_or(nominal);
                self.constrain_once(parameter, Written::Gaussian { sigma: 1.0, datum }, modifier);
            }
            WrittenConstraint::Kind(kind) => {
                let what =
                    format!("A {} constraint of the modifier {}", kind.value.word(), quoted(&modifier.name));
                let remedy = "Use \"Gauss\", or name a distribution, such as a lognormal_dist with a width.";
                self.unsupported(&kind.path, &what, remedy);
            }
        }
    }

    /// Warns of the parameters of normsys and histosys modifiers for which neither a modifier nor a constraint term of the
    /// likelihood gives a constraint.
    pub(super) fn check_unconstrained(&mut self) {
        let mut seen = Vec::new();
        for (p, path) in std::mem::take(&mut self.unconstrained) {
            if seen.contains(&p) || !self.is_unconstrained(p) {
                continue;
            }
            seen.push(p);
            let name = self.parameters.entries.get(p).map_or("", |entry| entry.name.as_str());
            self.report.warn(
                path,
                format!("The parameter {} of a systematic uncertainty has no constraint: it is free.", quoted(name)),
                "Add \"constraint\": \"Gauss\" to the modifier, or a constraint term to 'aux_distributions', if it is a nuisance \
                 parameter.",
            );
        }
    }

    /// Returns whether a parameter is free and no constraint term depends on it.
    pub(super) fn is_unconstrained(&self, p: usize) -> bool {
        let Some(entry) = self.parameters.entries.get(p) else { return false };
        let mut values: Vec<Value> =
            self.penalties.iter().flat_map(|penalty| penalty.form.values()).collect();
        let mut seen = vec![false; self.functions.len()];
        let mut in_penalty = false;
        while let Some(value) = values.pop() {
            in_penalty |= value == Value::Parameter(p);
            if let Value::Function(f) = value
                && let (Some(function), Some(seen)) = (self.functions.get(f), seen.get_mut(f))
                && !std::mem::replace(seen, true)
            {
                values.extend(function.form.values());
            }
        }
        !entry.fixed && entry.constraint.is_none() && !in_penalty
    }

    /// Warns that a log-normal constraint of a modifier is read as a Gaussian one.
    fn warn_lognormal(&mut self, modifier: &document::Modifier, path: &str) {
        self.report.warn(
            path.to_owned(),
            format!(
                "The log-normal constraint of the modifier {} is read as a Gaussian constraint of its parameter, as in ROOT.",
                quoted(&modifier.name)
            ),
            "Name a distribution as the constraint, if another one is meant.",
        );
    }

    /// Adds the constraint of a modifier to its parameter. Modifiers that share a parameter must have the
    /// same constraint.
    fn constrain_once(&mut self, parameter: usize, written: Written, modifier: &document::Modifier) {
        if self.parameters.constrain(parameter, written, &modifier.path) {
            return;
        }
        let Some(known) = self.parameters.constraint(parameter) else { return };
        if known.written != written {
            let message = format!(
                "The constraint of the modifier {} differs from that at {}.",
                quoted(&modifier.name),
                known.origin
            );
            self.report.error(
                modifier.path.clone(),
                message,
                "Let modifiers of one parameter have the same constraint.",
            );
        }
    }

    /// Adds the constraints of a modifier with one parameter per bin, and returns the modifier's first parameter and
    /// effect. `relative` is the relative uncertainty of each bin. In a bin without an uncertainty the parameter is
    /// fixed.
    pub(super) fn constrain_bins(
        &mut self,
        first: usize,
        channel: &HistFactory,
        modifier: &document::Modifier,
        relative: Option<&[f64]>,
        default: Option<Kind>,
    ) -> (usize, Effect) {
        let n_bins = channel.bins();
        let poisson = match &modifier.constraint {
            WrittenConstraint::None => default == Some(Kind::Poisson),
            WrittenConstraint::Kind(kind) => {
                match kind.value {
                    Kind::Const => {
                        (first..first + n_bins).for_each(|parameter| self.parameters.hold(parameter));
                        return (first, Effect::ShapeFactor);
                    }
                    Kind::LogNormal => self.warn_lognormal(modifier, &kind.path),
                    Kind::Gauss | Kind::Poisson => {}
                }
                kind.value == Kind::Poisson
            }
            WrittenConstraint::Distribution(_) | WrittenConstraint::Distributions(_) => {
                self.constrain_scalar(first, modifier, 1.0);
                return (first, Effect::ShapeFactor);
            }
        };
        let Some(relative) = relative else { return (first, Effect::ShapeFactor) };
        let stat = matches!(modifier.effect, document::Effect::StatError);
        let threshold = if stat { channel.stat.threshold } else { 0.0 };
        for (bin, relative) in relative.iter().enumerate().take(n_bins) {
            let parameter = first + bin;
            if !(*relative > 0.0) || *relative < threshold {
                self.parameters.fix(parameter, 1.0);
                continue;
            }
            let datum = self.parameters.nominal(parameter);
            let written = if poisson {
                let tau = 1.0 / (relative * relative);
                Written::Poisson { tau, datum: datum.unwrap_or(tau) }
            } else {
                Written::Gaussian { sigma: *relative, datum: datum.unwrap_or(1.0) }
            };
            self.constrain_once(parameter, written, modifier);
        }
        (first, if poisson { Effect::ShapeSys } else { Effect::StatError })
    }

    /// Checks the values of a shapesys of which the file does not say what they are. They are taken as relative
    /// uncertainties with a warning; uncertainties above 100 % are an error.
    pub(super) fn check_values(&mut self, modifier: &document::Modifier, contents: &[f64], values: &[f64]) {
        let range = |meaning: ShapeValues| {
            let percent = |(value, content): (&f64, &f64)| 100.0 * meaning.relative(*value, *content);
            let all = values.iter().zip(contents).map(percent).filter(|percent| *percent > 0.0);
            let (low, high) = all.fold((f64::INFINITY, 0.0_f64), |(a, b), x| (a.min(x), b.max(x)));
            format!("{low:.3} % to {high:.3} %")
        };
        let path = format!("{}/data/vals", modifier.path);
        let name = quoted(&modifier.name);
        let (relative, absolute) = (range(ShapeValues::Relative), range(ShapeValues::Absolute));
        let counts = range(ShapeValues::Counts);
        if values.iter().any(|value| *value > 1.0) {
            self.report.error(
                path,
                format!(
                    "The file does not say what the values of the shapesys {name} are: as relative uncertainties they mean \
                     {relative}, as absolute ones {absolute}, as auxiliary counts {counts}."
                ),
                "Add \"nextstat.vals\": \"relative\", \"absolute\" or \"counts\" to the modifier.",
            );
        } else {
            self.report.warn(
                path,
                format!(
                    "The values of the shapesys {name} are taken as relative uncertainties, as in ROOT: {relative}. As absolute \
                     ones they would mean {absolute}."
                ),
                "Add \"nextstat.vals\": \"relative\" or \"absolute\" to the modifier.",
            );
        }
    }

    /// Reports a warning or an error if the templates of a histosys may be differences from the nominal yields,
    /// instead of yields.
    pub(super) fn check_templates(
        &mut self,
        modifier: &document::Modifier,
        sample: &document::Sample,
        hi: &[f64],
        lo: &[f64],
    ) {
        if self.index.document.templates_are_yields {
            return;
        }
        let name = quoted(&modifier.name);
        let path = format!("{}/data", modifier.path);
        let negative = |values: &[f64]| {
            values.iter().zip(&sample.contents).any(|(varied, nominal)| *varied < 0.0 && *nominal >= 0.0)
        };
        if negative(hi) || negative(lo) {
            self.report.error(
                path,
                format!("Templates of the histosys {name} are negative where the sample is not: they seem to be differences."),
                "Write the yields at +1 and -1, not their differences from the contents.",
            );
        } else {
            self.report.warn(
                path,
                format!("The templates of the histosys {name} are taken as yields, as in ROOT."),
                "Check that they are not differences, which the HS3 text allows.",
            );
        }
    }
}
