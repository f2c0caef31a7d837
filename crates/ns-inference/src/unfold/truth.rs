//! The factors of the truth bins, and the predicted truth distribution.

use std::cmp::Ordering;

use ns_core::{Constraint, Model};
use wildmatch::WildMatch;

use super::options::{Prediction, Regularisation, UnfoldOptions};
use crate::analysis::Analysis;
use crate::present::exact;
use crate::{InferenceError, diagnosis, parameter_index};

/// Largest number of truth bins.
const MOST_BINS: usize = 500;

/// Returns the indices of the factors of the truth bins, in the order of the bins.
///
/// # Errors
/// [`InferenceError::CannotUnfold`] if there are too few or too many, or if one of them cannot be unfolded or does not match
/// the prediction; [`InferenceError::UnknownParameter`] for a name that does not exist.
pub(super) fn factors(
    analysis: &Analysis<'_>,
    options: &UnfoldOptions,
) -> Result<Vec<usize>, InferenceError> {
    let model = analysis.model;
    let found = named(model, &options.truth)?;
    let least = if options.regularisation == Regularisation::Curvature { 3 } else { 2 };
    if !(least..=MOST_BINS).contains(&found.len()) {
        return bad(format!(
            "there are {} truth bins ({}); name {least} to {MOST_BINS} factors (truth)",
            found.len(),
            diagnosis::list(found.iter().map(|i| diagnosis::name(model, *i)))
        ));
    }
    let terms = model.penalties_of_parameters();
    for &index in &found {
        let Some(parameter) = model.parameters.get(index) else { continue };
        let (name, (lower, upper)) = (&parameter.name, parameter.bounds);
        if analysis.is_fixed(index) {
            return bad(format!("the factor {name} is fixed; release it or leave it out"));
        }
        let has_term = terms.get(index).is_some_and(|terms| !terms.is_empty());
        if parameter.constraint != Constraint::None || has_term {
            return bad(format!("{name} has a constraint; the factors of truth bins are free"));
        }
        if !(lower < 1.0 && 1.0 < upper) {
            return bad(format!(
                "the bounds of {name} are {} and {}; they must contain 1, which is the prediction",
                exact(lower),
                exact(upper)
            ));
        }
    }
    check(&options.prediction, found.len())?;
    Ok(found)
}

fn bad<T>(problem: String) -> Result<T, InferenceError> {
    Err(InferenceError::CannotUnfold { problem })
}

/// Finds parameters by their names or by patterns.
fn named(model: &Model, names: &[String]) -> Result<Vec<usize>, InferenceError> {
    if names.is_empty() {
        return bad(
            "no factors are named; name those of the truth bins (truth), such as 'truth_*'".to_owned()
        );
    }
    let mut found = Vec::new();
    for name in names {
        if let Some(index) = model.parameter_index(name) {
            found.push(index);
        } else if let Some(set) = model.parameter_sets.iter().find(|set| set.name == *name) {
            found.extend(set.range.clone());
        } else if name.contains(['*', '?']) {
            let pattern = WildMatch::new(name);
            let mut matching: Vec<usize> =
                (0..model.parameters.len()).filter(|i| pattern.matches(diagnosis::name(model, *i))).collect();
            if matching.is_empty() {
                return bad(format!(
                    "no parameter matches '{name}'; `nextstat inspect` lists all parameters (truth)"
                ));
            }
            matching.sort_by(|a, b| natural(diagnosis::name(model, *a), diagnosis::name(model, *b)));
            found.extend(matching);
        } else {
            found.push(parameter_index(model, name)?);
        }
    }
    for (k, index) in found.iter().enumerate() {
        if found.iter().take(k).any(|other| other == index) {
            return bad(format!("{} is named twice (truth)", diagnosis::name(model, *index)));
        }
    }
    Ok(found)
}

/// Compares two names. Numbers inside them are compared by their values, so that `bin_10` comes after `bin_9`.
fn natural(first: &str, second: &str) -> Ordering {
    let (mut a, mut b) = (first, second);
    loop {
        let (Some(x), Some(y)) = (a.chars().next(), b.chars().next()) else {
            return a.len().cmp(&b.len()).then_with(|| first.cmp(second));
        };
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let (left, right) = (digits(a), digits(b));
            let value = |text: &str| text.trim_start_matches('0').to_owned();
            let (m, n) = (value(left), value(right));
            let order = m.len().cmp(&n.len()).then_with(|| m.cmp(&n));
            if order != Ordering::Equal {
                return order;
            }
            (a, b) = (a.strip_prefix(left).unwrap_or(""), b.strip_prefix(right).unwrap_or(""));
        } else if x == y {
            (a, b) = (a.strip_prefix(x).unwrap_or(""), b.strip_prefix(y).unwrap_or(""));
        } else {
            return x.cmp(&y);
        }
    }
}

/// Returns the digits at the beginning of a text.
fn digits(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end).unwrap_or("")
}

/// Checks a predicted truth distribution of `n` bins.
fn check(prediction: &Prediction, n: usize) -> Result<(), InferenceError> {
    let Prediction { edges, yields, .. } = prediction;
    if !yields.is_empty() && yields.len() != n {
        return bad(format!(
            "the prediction has {} yields for {n} truth bins; give one for each factor",
            yields.len()
        ));
    }
    if let Some(value) = yields.iter().find(|value| !(**value > 0.0 && value.is_finite())) {
        return bad(format!("a yield of the prediction is {}; give positive numbers", exact(*value)));
    }
    let rising = edges.windows(2).all(|pair| pair.first() < pair.last());
    if !edges.is_empty() && (edges.len() != n + 1 || !rising || edges.iter().any(|edge| !edge.is_finite())) {
        return bad(format!(
            "the prediction has {} edges; {n} truth bins have {} edges in rising order",
            edges.len(),
            n + 1
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names_have_their_order() {
        let mut names = ["t_10", "t_9", "t_1_2", "t_1_10", "t_01", "s_99", "t", "t_1"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["s_99", "t", "t_01", "t_1", "t_1_2", "t_1_10", "t_9", "t_10"]);
    }

    #[test]
    fn predictions_match_the_bins() {
        let good = Prediction::default().yields(vec![1.0, 2.0]).edges(vec![0.0, 1.0, 3.0]);
        assert_eq!(check(&good, 2), Ok(()));
        assert!(check(&good, 3).is_err());
        assert!(check(&good.clone().edges(vec![0.0, 1.0, 1.0]), 2).is_err());
        assert!(check(&good.yields(vec![1.0, 0.0]), 2).is_err());
    }
}
