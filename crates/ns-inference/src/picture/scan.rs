//! Plots of profile likelihood scans.

use ns_viz::{Contour, Drawing, PictureError, Scan};

use super::{increasing, pick, remarks};
use crate::ScanResult;
use crate::scan::SecondAxis;

/// The plot of a scan: a curve for one parameter, or contours for two parameters.
#[derive(Debug, Clone, PartialEq)]
pub enum Scanned {
    /// Curve of a scan in one parameter.
    Line(Scan),
    /// Contours of a scan in two parameters.
    Plane(Contour),
}

impl Scanned {
    /// Draws the curve or the contours.
    ///
    /// # Errors
    /// If no point has a value, or if a scan in two parameters has fewer than two values of one parameter.
    pub fn draw(&self) -> Result<Drawing, PictureError> {
        match self {
            Self::Line(scan) => scan.draw(),
            Self::Plane(contour) => contour.draw(),
        }
    }

    /// Returns the title and the subtitle of the plot. The caller may change them.
    pub fn titles(&mut self) -> (&mut String, &mut String) {
        match self {
            Self::Line(scan) => (&mut scan.title, &mut scan.subtitle),
            Self::Plane(contour) => (&mut contour.title, &mut contour.subtitle),
        }
    }
}

/// Builds the plot of a scan with its best fit and the levels of `twice_delta_nll`. For one parameter, the plot also
/// shows the values at which the scan crosses the levels.
#[must_use]
pub fn scan(result: &ScanResult) -> Scanned {
    match &result.second {
        None => Scanned::Line(line(result)),
        Some(second) => Scanned::Plane(plane(result, second)),
    }
}

fn line(result: &ScanResult) -> Scan {
    let order = increasing(&result.mu_values);
    let mut scan = Scan {
        parameter: result.param.clone(),
        x: pick(&result.mu_values, &order),
        twice_delta_nll: pick(&result.twice_delta_nll, &order),
        best_fit: Some(result.mu_hat),
        subtitle: subtitle(result),
        ..Scan::default()
    };
    if !result.intervals.is_empty() {
        scan.levels = result.intervals.iter().map(|interval| interval.level).collect();
        let crossings = result.intervals.iter();
        scan.crossings = crossings.map(|i| [i.lower, i.upper].into_iter().flatten().collect()).collect();
    }
    scan
}

fn plane(result: &ScanResult, second: &SecondAxis) -> Contour {
    let (across, up) = (increasing(&result.mu_values), increasing(&second.mu_values));
    let rows: Vec<Vec<Option<f64>>> =
        result.twice_delta_nll.chunks(result.row_length()).map(|row| pick(row, &across)).collect();
    let mut twice_delta_nll = pick(&rows, &up);
    for row in &mut twice_delta_nll {
        row.resize(across.len(), None);
    }
    Contour {
        x_parameter: result.param.clone(),
        y_parameter: second.param.clone(),
        x: pick(&result.mu_values, &across),
        y: pick(&second.mu_values, &up),
        twice_delta_nll,
        best_fit: Some([result.mu_hat, second.mu_hat]),
        levels: result.levels.iter().map(|level| level.twice_delta_nll).collect(),
        subtitle: subtitle(result),
        ..Contour::default()
    }
}

fn subtitle(result: &ScanResult) -> String {
    remarks([
        (!result.bestfit_converged).then_some("the best fit did not converge"),
        result.interrupted.then_some("interrupted"),
    ])
}
