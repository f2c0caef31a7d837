//! The parameters as one measurement sets them.

use super::describe::{Combination, Measurement, Setting, Term};
use super::settle::{Constraint, Groups, Kind};
use crate::pyhf::{Problem, Severity};
use crate::xml_error::HistFactoryError;

/// Start values, fixed parameters and constraints of one measurement, by the index of the group.
#[derive(Debug, Clone)]
pub(super) struct View<'a> {
    pub(super) measurement: &'a Measurement,
    pub(super) start: Vec<Vec<f64>>,
    pub(super) fixed: Vec<Vec<bool>>,
    /// Whether the measurement itself sets a start value or fixes something.
    pub(super) changed: Vec<bool>,
    pub(super) constraint: Vec<Vec<Constraint>>,
    /// Another constraint, by the index of the group.
    pub(super) terms: Vec<(usize, &'a Term)>,
}

impl<'a> View<'a> {
    /// Applies the settings of a measurement. What they name but the model lacks is noted.
    ///
    /// # Errors
    /// [`HistFactoryError::Element`] for a constraint that RooFit would give to a part of a parameter only.
    pub(super) fn of(
        measurement: &'a Measurement,
        groups: &Groups,
        notes: &mut Vec<Problem>,
    ) -> Result<Self, HistFactoryError> {
        let mut out = Self {
            measurement,
            start: groups.all.iter().map(|group| group.start.clone()).collect(),
            fixed: groups.all.iter().map(|group| group.fixed.clone()).collect(),
            changed: vec![false; groups.all.len()],
            constraint: groups.all.iter().map(|group| group.constraint.clone()).collect(),
            terms: Vec::new(),
        };
        let sigma = measurement.lumi * measurement.uncertainty;
        if let (Some(start), Some(fixed), Some(constraint)) =
            (out.start.first_mut(), out.fixed.first_mut(), out.constraint.first_mut())
        {
            *start = vec![measurement.lumi];
            *fixed = vec![!(sigma > 0.0)];
            // A luminosity without uncertainty is fixed, so that its width has no meaning; it may not be 0.
            *constraint = vec![Constraint::Gaussian(if sigma > 0.0 { sigma } else { measurement.lumi })];
        }
        for setting in &measurement.settings {
            out.apply(setting, groups, notes);
        }
        for term in &measurement.terms {
            out.constrain(term, groups, notes)?;
        }
        Ok(out)
    }

    fn apply(&mut self, setting: &Setting, groups: &Groups, notes: &mut Vec<Problem>) {
        let Some((i, bin)) = target(&setting.name, groups) else {
            notes.push(Problem {
                severity: Severity::Warning,
                path: setting.place.to_string(),
                message: format!("<ParamSetting>: the model has no parameter '{}'.", setting.name),
                remedy: "Remove the name, or correct it: Lumi, alpha_SYSTEMATIC, gamma_SHAPE_bin_0, gamma_stat_CHANNEL_bin_0, or the \
                         name of a factor."
                    .to_owned(),
            });
            return;
        };
        if let Some(changed) = self.changed.get_mut(i) {
            *changed = true;
        }
        if let (Some(value), Some(start)) =
            (setting.value, self.start.get_mut(i).and_then(|s| s.get_mut(bin)))
        {
            *start = value;
        }
        if let (Some(constant), Some(fixed)) =
            (setting.constant, self.fixed.get_mut(i).and_then(|f| f.get_mut(bin)))
        {
            *fixed = constant;
        }
    }

    fn constrain(
        &mut self,
        term: &'a Term,
        groups: &Groups,
        notes: &mut Vec<Problem>,
    ) -> Result<(), HistFactoryError> {
        let mut note = |message: String, remedy: &str| {
            notes.push(Problem {
                severity: Severity::Warning,
                path: term.place.to_string(),
                message: format!("<ConstraintTerm>: {message}"),
                remedy: remedy.to_owned(),
            });
        };
        let name = &term.name;
        let Some(i) = groups.find(Kind::Alpha, name) else {
            note(
                format!("there is no systematic '{name}'."),
                "Remove the name, or write that of an <OverallSys>, without 'alpha_'.",
            );
            return Ok(());
        };
        match groups.all.get(i).map(|group| group.acts) {
            Some((true, false)) => {}
            Some((true, true)) => {
                return Err(HistFactoryError::Element {
                    place: term.place.clone(),
                    element: "<ConstraintTerm>".to_owned(),
                    message: format!(
                        "'{name}' is an <OverallSys> and a <HistoSys>. HistFactory would make two independent parameters of them, \
                         because a constraint term acts on an <OverallSys> only."
                    ),
                    remedy: "Give the two different names, or remove the constraint term.".to_owned(),
                });
            }
            _ => {
                note(
                    format!(
                        "'{name}' keeps its Gaussian constraint, as in HistFactory, because it is a <HistoSys>."
                    ),
                    "Remove the name, or use an <OverallSys>.",
                );
                return Ok(());
            }
        }
        // The constraint of RooFit for a uniform term is so wide that it has no effect.
        if let Some(constraint) = self.constraint.get_mut(i) {
            *constraint = vec![Constraint::None];
        }
        self.terms.retain(|(known, _)| *known != i);
        self.terms.push((i, term));
        Ok(())
    }
}

/// Whether a name in RooFit is that of a parameter.
pub(super) fn has(name: &str, groups: &Groups) -> bool {
    target(name, groups).is_some()
}

/// The parameter of a name in RooFit: the index of its group and of the bin.
fn target(name: &str, groups: &Groups) -> Option<(usize, usize)> {
    if let Some(i) = groups.find(Kind::Norm, name) {
        return Some((i, 0));
    }
    if name == "Lumi" {
        return Some((0, 0));
    }
    if let Some(i) = name.strip_prefix("alpha_").and_then(|name| groups.find(Kind::Alpha, name)) {
        return Some((i, 0));
    }
    let (name, bin) = name.strip_prefix("gamma_")?.rsplit_once("_bin_")?;
    let bin = bin.parse().ok()?;
    let stat = name.strip_prefix("stat_").and_then(|channel| groups.find(Kind::Stat, channel));
    let i = stat.or_else(|| groups.find(Kind::Shape, name)).or_else(|| groups.find(Kind::Free, name))?;
    let there = groups.all.get(i).is_some_and(|group| bin < group.start.len());
    there.then_some((i, bin))
}

/// Whether the luminosity of some measurement may differ from 1.
pub(super) fn lumi_matters(combination: &Combination) -> bool {
    combination.measurements.iter().any(|measurement| {
        let settings = measurement.settings.iter().filter(|setting| setting.name == "Lumi");
        let (mut value, mut constant) = (measurement.lumi, measurement.uncertainty == 0.0);
        for setting in settings {
            value = setting.value.unwrap_or(value);
            constant = setting.constant.unwrap_or(constant);
        }
        value != 1.0 || !constant
    })
}
