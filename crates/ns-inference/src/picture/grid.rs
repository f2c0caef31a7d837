//! Pictures of grids: limits against one label, or exclusion in the plane of two labels.

use ns_viz::{Drawing, Exclusion, LimitCurve, PictureError};
use thiserror::Error;

use super::{increasing, remarks};
use crate::grid::{GridResult, GridRow, GridStatus};
use crate::present::{count, significant};

/// Signals with a limit below this value are excluded: the strength of a signal as it is predicted.
const PREDICTED: f64 = 1.0;

/// If the largest limit is this many times the smallest one, limits are drawn on a logarithmic axis.
const WIDE: f64 = 8.0;

/// The picture of a grid.
#[derive(Debug, Clone, PartialEq)]
pub enum GridPicture {
    /// Limits against one label.
    Curve(LimitCurve),
    /// Excluded signals in the plane of two labels.
    Plane(Exclusion),
}

impl GridPicture {
    /// Draws the picture.
    ///
    /// # Errors
    /// If there is no limit to draw.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        match self {
            Self::Curve(curve) => curve.draw(),
            Self::Plane(plane) => plane.draw(),
        }
    }

    /// Sets title and subtitle. `None` leaves the text as it is.
    pub fn set_titles(&mut self, title: Option<String>, subtitle: Option<String>) {
        let (ours, below) = match self {
            Self::Curve(curve) => (&mut curve.title, &mut curve.subtitle),
            Self::Plane(plane) => (&mut plane.title, &mut plane.subtitle),
        };
        *ours = title.unwrap_or_else(|| std::mem::take(ours));
        *below = subtitle.unwrap_or_else(|| std::mem::take(below));
    }
}

/// Why a grid has no picture with these labels.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum GridPictureError {
    /// The grid has no such label.
    #[error("the points have no label '{label}'; {}", labels(known))]
    NoSuchLabel {
        /// The given label.
        label: String,
        /// All labels of the grid.
        known: Vec<String>,
    },
    /// The points have no label with numbers.
    #[error(
        "the points have no label with numbers, so there is no axis to draw limits against; use a patchset with labels such as masses"
    )]
    NoNumbers,
    /// A value of a label is no number.
    #[error("point '{point}' has the {label} '{value}', which is no number; draw against another label")]
    NotANumber {
        /// Name of the point.
        point: String,
        /// The label.
        label: String,
        /// The value.
        value: String,
    },
    /// Several points have the same value of the only label drawn.
    #[error(
        "points '{first}' and '{second}' both have {label} {}; draw against two labels, or choose points with one value each",
        significant(*value)
    )]
    SameValue {
        /// The label.
        label: String,
        /// The value.
        value: f64,
        /// Name of one point.
        first: String,
        /// Name of another point.
        second: String,
    },
    /// More than two labels were given.
    #[error(
        "{given} labels were given; name one, against which limits are drawn, or two, for the plane of an exclusion"
    )]
    TooMany {
        /// Number of labels given.
        given: usize,
    },
}

/// Builds the picture of a grid. With one label, it shows the limits against this label. With two labels, it shows the
/// excluded points in their plane. Without labels, the first two labels are drawn whose values are different numbers; if
/// only one is, or no two points have the same value of the first, it is the limits against the first.
///
/// # Errors
/// If the grid has no such label, a value is no number, or points have the same value of the only label.
pub fn grid<S: AsRef<str>>(result: &GridResult, labels: &[S]) -> Result<GridPicture, GridPictureError> {
    let chosen: Vec<&str> = match labels {
        [] => automatic(result)?,
        given => given.iter().map(AsRef::as_ref).collect(),
    };
    match chosen[..] {
        [x] => curve(result, x).map(GridPicture::Curve),
        [x, y] => plane(result, x, y).map(GridPicture::Plane),
        _ => Err(GridPictureError::TooMany { given: chosen.len() }),
    }
}

fn automatic(result: &GridResult) -> Result<Vec<&str>, GridPictureError> {
    let numbers = |label: &str| -> Option<Vec<f64>> {
        result.rows.iter().map(|row| row.values.number(label)).collect::<Option<Vec<f64>>>()
    };
    let numeric: Vec<(&str, Vec<f64>)> =
        result.labels.iter().filter_map(|label| Some((label.as_str(), numbers(label)?))).collect();
    let varies = |values: &[f64]| increasing(values).len() > 1;
    let mut varying = numeric.iter().filter(|(_, values)| varies(values));
    let (Some(first), second) = (varying.next().or(numeric.first()), varying.next()) else {
        return Err(GridPictureError::NoNumbers);
    };
    let different = increasing(&first.1).len() == first.1.len();
    Ok(match second {
        Some(second) if !different => vec![first.0, second.0],
        _ => vec![first.0],
    })
}

/// Returns the value of a label for every point.
fn values(result: &GridResult, label: &str) -> Result<Vec<f64>, GridPictureError> {
    if !result.labels.iter().any(|known| known == label) {
        let known = result.labels.clone();
        return Err(GridPictureError::NoSuchLabel { label: label.to_owned(), known });
    }
    let number = |row: &GridRow| {
        row.values.number(label).ok_or_else(|| GridPictureError::NotANumber {
            point: row.name.clone(),
            label: label.to_owned(),
            value: row.values.text(label),
        })
    };
    result.rows.iter().map(number).collect()
}

fn curve(result: &GridResult, label: &str) -> Result<LimitCurve, GridPictureError> {
    let all = values(result, label)?;
    let mut order: Vec<usize> = (0..all.len()).collect();
    let at = |i: usize| all.get(i).copied().unwrap_or(f64::NAN);
    order.sort_by(|a, b| at(*a).total_cmp(&at(*b)));
    if let Some(pair) = order.windows(2).find(|pair| at(pair[0]) == at(pair[1])) {
        let name = |i: usize| result.rows.get(i).map_or_else(String::new, |row| row.name.clone());
        let (first, second) = (name(pair[0]), name(pair[1]));
        return Err(GridPictureError::SameValue {
            label: label.to_owned(),
            value: at(pair[0]),
            first,
            second,
        });
    }
    let (observed, expected) = limits(result, &order);
    let found = || observed.iter().copied().chain(expected.iter().flatten().copied()).flatten();
    let (low, high) =
        found().fold((f64::INFINITY, 0.0), |(low, high), x| (f64::min(low, x), f64::max(high, x)));
    Ok(LimitCurve {
        label: label.to_owned(),
        poi: result.param.clone().unwrap_or_default(),
        x: order.iter().map(|i| at(*i)).collect(),
        log_y: low > 0.0 && high > WIDE * low,
        observed,
        expected,
        cl: result.cl,
        excluded_below: Some(PREDICTED),
        subtitle: subtitle(result),
        ..LimitCurve::default()
    })
}

fn plane(result: &GridResult, x: &str, y: &str) -> Result<Exclusion, GridPictureError> {
    let order: Vec<usize> = (0..result.rows.len()).collect();
    let (observed, expected) = limits(result, &order);
    Ok(Exclusion {
        x_label: x.to_owned(),
        y_label: y.to_owned(),
        poi: result.param.clone().unwrap_or_default(),
        x: values(result, x)?,
        y: values(result, y)?,
        observed,
        expected,
        cl: result.cl,
        excluded_below: PREDICTED,
        subtitle: subtitle(result),
        ..Exclusion::default()
    })
}

/// The observed limits of points, and the expected ones. A list is empty if no point has such a limit.
type Limits = (Vec<Option<f64>>, Vec<[Option<f64>; 5]>);

fn limits(result: &GridResult, order: &[usize]) -> Limits {
    let row = |i: usize| result.rows.get(i).and_then(|row| row.result.as_ref());
    let observed: Vec<Option<f64>> = order.iter().map(|i| row(*i).and_then(|limit| limit.observed)).collect();
    let expected: Vec<[Option<f64>; 5]> = order
        .iter()
        .map(|i| std::array::from_fn(|k| row(*i).and_then(|limit| limit.expected.get(k).copied().flatten())))
        .collect();
    let has_observed = observed.iter().any(Option::is_some);
    let has_expected = expected.iter().flatten().any(Option::is_some);
    (if has_observed { observed } else { Vec::new() }, if has_expected { expected } else { Vec::new() })
}

fn subtitle(result: &GridResult) -> String {
    let failed = match result.n(GridStatus::Failed) {
        0 => None,
        n => Some(format!("{} failed", count(n, "point"))),
    };
    let converged = result.rows.iter().filter_map(|row| row.result.as_ref()).all(|limit| limit.converged);
    remarks([
        failed.as_deref(),
        (!converged).then_some("not all fits converged"),
        result.interrupted.then_some("interrupted"),
    ])
}

fn labels(known: &[String]) -> String {
    match known {
        [] => "they have none".to_owned(),
        known => format!("their labels are {}", known.join(", ")),
    }
}
