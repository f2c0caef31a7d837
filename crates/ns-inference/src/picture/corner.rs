//! Plot of the draws of a posterior: the distribution of each parameter, and the credible region of each pair.

mod names;

use ns_viz::{Corner, CornerParameter, CornerPlane};

use self::names::MOST;
pub use self::names::{CornerError, corner_names};
use super::drawn;
use crate::posterior::{Draws, quantile_of_sorted};
use crate::present::measurement;

/// Number of parameters that are drawn if none are named.
pub const USUAL_CORNER: usize = 5;

/// Number of bins of a distribution, and of cells of a pair along each parameter.
const BINS: usize = 40;

/// Probabilities of the regions of pairs.
const MASSES: [f64; 2] = [0.6827, 0.95];

/// Share of the draws that the range of an axis leaves out on each side.
const LEFT_OUT: f64 = 1e-3;

/// Builds the corner plot of the parameters `names`, which may be patterns as for [`corner_names`]. If it is empty, the plot has
/// the parameters of interest `pois` and those that are most correlated with the first of them, five in all. `cl` is the
/// probability of the shaded intervals.
///
/// # Errors
/// [`CornerError`]
pub fn corner(draws: &Draws, pois: &[String], cl: f64, names: &[String]) -> Result<Corner, CornerError> {
    let place = |name: &String| draws.names.iter().position(|known| known == name);
    let chosen: Vec<usize> = if names.is_empty() {
        usual(draws, pois.iter().filter_map(place).collect())
    } else {
        let sampled: Vec<&str> = draws.names.iter().map(String::as_str).collect();
        corner_names(names, &sampled)?.iter().filter_map(place).collect()
    };
    let columns: Vec<Column> = chosen.iter().map(|index| Column::new(draws, *index)).collect();
    let mut planes = Vec::new();
    for (row, up) in columns.iter().enumerate() {
        planes.extend(columns.iter().take(row).map(|along| plane(along, up)));
    }
    Ok(Corner {
        parameters: columns.iter().map(|column| column.parameter(cl)).collect(),
        planes,
        masses: MASSES.to_vec(),
        interval_mass: cl,
        mark: "mean".to_owned(),
        ..Corner::default()
    })
}

/// Returns the parameters that are drawn if none are named.
fn usual(draws: &Draws, mut chosen: Vec<usize>) -> Vec<usize> {
    chosen.truncate(MOST);
    let first = chosen.first().copied().unwrap_or(0);
    let of = |index: usize| draws.of(index).concat();
    let own = of(first);
    let mut others: Vec<(usize, f64)> = (0..draws.names.len())
        .filter(|index| !chosen.contains(index))
        .map(|index| (index, correlation(&own, &of(index)).abs()))
        .collect();
    others.sort_by(|a, b| b.1.total_cmp(&a.1));
    let free = USUAL_CORNER.saturating_sub(chosen.len());
    chosen.extend(others.into_iter().take(free).map(|(index, _)| index));
    chosen
}

fn mean_and_sd(values: &[f64]) -> (f64, f64) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt())
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let ((a_mean, a_sd), (b_mean, b_sd)) = (mean_and_sd(a), mean_and_sd(b));
    let sum: f64 = a.iter().zip(b).map(|(x, y)| (x - a_mean) * (y - b_mean)).sum();
    let found = sum / (a.len().max(1) as f64 * a_sd * b_sd);
    if found.is_finite() { found } else { 0.0 }
}

/// The draws of one parameter, and the bins of its axis.
struct Column {
    name: String,
    values: Vec<f64>,
    sorted: Vec<f64>,
    mean: f64,
    sd: f64,
    low: f64,
    width: f64,
}

impl Column {
    fn new(draws: &Draws, index: usize) -> Self {
        let values = draws.of(index).concat();
        let mut sorted = values.clone();
        sorted.sort_by(f64::total_cmp);
        let (mean, sd) = mean_and_sd(&values);
        let mut column = Self {
            name: draws.names.get(index).cloned().unwrap_or_default(),
            values,
            sorted,
            mean,
            sd,
            low: 0.0,
            width: 1.0,
        };
        let (low, high) = (column.quantile(LEFT_OUT), column.quantile(1.0 - LEFT_OUT));
        let width = (high - low) / BINS as f64;
        // Draws that are all alike have a range, too.
        let width = if width > 0.0 { width } else { low.abs().max(1.0) / BINS as f64 };
        (column.low, column.width) = (low, width);
        column
    }

    fn quantile(&self, p: f64) -> f64 {
        quantile_of_sorted(&self.sorted, p).unwrap_or(f64::NAN)
    }

    /// Returns the bin of a value; `None` outside the axis.
    fn bin(&self, value: f64) -> Option<usize> {
        let place = (value - self.low) / self.width;
        // The last bin contains its upper edge.
        let inside = (0.0..=BINS as f64 * (1.0 + 1e-12)).contains(&place);
        inside.then(|| (place as usize).min(BINS - 1))
    }

    fn edge(&self, index: usize) -> f64 {
        self.low + self.width * index as f64
    }

    fn centres(&self) -> Vec<f64> {
        (0..BINS).map(|i| self.low + self.width * (i as f64 + 0.5)).collect()
    }

    fn parameter(&self, cl: f64) -> CornerParameter {
        let mut density = vec![0.0; BINS];
        for bin in self.values.iter().filter_map(|value| self.bin(*value)) {
            if let Some(count) = density.get_mut(bin) {
                *count += 1.0;
            }
        }
        CornerParameter {
            parameter: self.name.clone(),
            summary: format!("{} = {}", self.name, drawn(&measurement(self.mean, self.sd))),
            edges: (0..=BINS).map(|i| self.edge(i)).collect(),
            density,
            interval: Some([self.quantile(0.5 * (1.0 - cl)), self.quantile(0.5 * (1.0 + cl))]),
            mark: Some(self.mean),
        }
    }

    /// Returns the weights of a normal kernel for distances in bins, by the rule of D. W. Scott (1992) for two dimensions.
    fn kernel(&self) -> Vec<f64> {
        let width = self.sd * (self.values.len().max(1) as f64).powf(-1.0 / 6.0) / self.width;
        let width = width.max(0.3);
        let reach = (3.0 * width).ceil() as usize;
        (0..=reach.min(BINS - 1)).map(|i| (-0.5 * (i as f64 / width).powi(2)).exp()).collect()
    }
}

/// Builds the joint density of two parameters, with the densities at the borders of its regions.
fn plane(along: &Column, up: &Column) -> CornerPlane {
    let mut counts = vec![vec![0.0; BINS]; BINS];
    for (x, y) in along.values.iter().zip(&up.values) {
        let (Some(i), Some(j)) = (along.bin(*x), up.bin(*y)) else { continue };
        if let Some(count) = counts.get_mut(j).and_then(|row| row.get_mut(i)) {
            *count += 1.0;
        }
    }
    let rows: Vec<Vec<f64>> = counts.iter().map(|row| smoothed(row, &along.kernel())).collect();
    let kernel = up.kernel();
    let mut density = vec![vec![0.0; BINS]; BINS];
    for i in 0..BINS {
        let column: Vec<f64> = rows.iter().map(|row| row.get(i).copied().unwrap_or(0.0)).collect();
        for (row, value) in density.iter_mut().zip(smoothed(&column, &kernel)) {
            if let Some(to) = row.get_mut(i) {
                *to = value;
            }
        }
    }
    let all = along.values.len();
    let levels = MASSES.iter().map(|mass| level(&density, &counts, *mass, all)).collect();
    CornerPlane { x: along.centres(), y: up.centres(), density, levels }
}

/// Smooths counts. What a kernel has beyond the ends comes back, so that a density that ends at a bound stays high there.
fn smoothed(counts: &[f64], kernel: &[f64]) -> Vec<f64> {
    let n = counts.len() as isize;
    let reflected = |place: isize| {
        let place = if place < 0 { -1 - place } else { place };
        let place = if place >= n { 2 * n - 1 - place } else { place };
        usize::try_from(place).ok().and_then(|place| counts.get(place)).copied().unwrap_or(0.0)
    };
    let total = kernel.iter().skip(1).sum::<f64>() * 2.0 + kernel.first().copied().unwrap_or(1.0);
    let at = |place: isize| {
        let pair = |(k, weight): (usize, &f64)| {
            let k = k as isize;
            let both = if k == 0 { reflected(place) } else { reflected(place - k) + reflected(place + k) };
            weight * both
        };
        kernel.iter().enumerate().map(pair).sum::<f64>() / total
    };
    (0..n).map(at).collect()
}

/// Returns the density above which the cells contain a share `mass` of `all` draws. The draws are counted before smoothing,
/// which would make regions wider.
fn level(density: &[Vec<f64>], counts: &[Vec<f64>], mass: f64, all: usize) -> f64 {
    let cells = density.iter().flatten().copied().zip(counts.iter().flatten().copied());
    let mut cells: Vec<(f64, f64)> = cells.collect();
    cells.sort_by(|a, b| b.0.total_cmp(&a.0));
    let wanted = mass * all as f64;
    let mut sum = 0.0;
    for (height, count) in &cells {
        sum += count;
        if sum >= wanted {
            return *height;
        }
    }
    0.0
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::normal::quantile;

    /// Draws of two correlated normal parameters and of an independent one, on a regular set of probabilities.
    fn draws() -> Draws {
        let n = 90;
        let normal = |i: usize| quantile(1.0 - (i as f64 + 0.5) / n as f64);
        let mut values = Vec::new();
        for k in 0..n * n {
            let (x, y) = (normal(k % n), normal(k / n));
            values.extend([x, 10.0 + 0.8 * x + 0.6 * y, normal((7 * k + k / n) % n)]);
        }
        let names = ["mu", "nu", "other"].map(str::to_owned).to_vec();
        Draws { names, values: vec![values], ln_likelihood: Vec::new() }
    }

    #[test]
    fn regions_contain_their_probabilities() {
        let draws = draws();
        let picture = corner(&draws, &["mu".to_owned()], 0.9, &[]).unwrap();
        let names: Vec<&str> = picture.parameters.iter().map(|one| one.parameter.as_str()).collect();
        assert_eq!(names, ["mu", "nu", "other"]);
        let interval = picture.parameters[0].interval.unwrap();
        assert!((interval[1] - 1.645).abs() < 0.02 && (interval[0] + 1.645).abs() < 0.02, "{interval:?}");
        // The share of the draws in the region of the first pair.
        let plane = &picture.planes[0];
        let near = |values: &[f64], x: f64| {
            let order = |a: &usize, b: &usize| (values[*a] - x).abs().total_cmp(&(values[*b] - x).abs());
            (0..values.len()).min_by(order).unwrap()
        };
        let (xs, ys) = (draws.of(0).concat(), draws.of(1).concat());
        for (mass, level) in MASSES.iter().zip(&plane.levels) {
            let inside = xs
                .iter()
                .zip(&ys)
                .filter(|(x, y)| plane.density[near(&plane.y, **y)][near(&plane.x, **x)] >= *level);
            let share = inside.count() as f64 / xs.len() as f64;
            assert!((share - mass).abs() < 0.03, "{share}, not {mass}");
        }
        assert!(picture.draw().is_ok());
    }

    /// The shaded interval has the ends that the summary of the draws has, which lie between draws.
    #[test]
    fn intervals_are_interpolated() {
        let values = vec![vec![0.0, 3.0, 1.0, 2.0]];
        let draws = Draws { names: vec!["mu".to_owned()], values, ln_likelihood: Vec::new() };
        let picture = corner(&draws, &[], 0.5, &[]).unwrap();
        assert_eq!(picture.parameters[0].interval, Some([0.75, 2.25]));
    }

    #[test]
    fn names_are_checked() {
        let draws = draws();
        let named = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            corner(&draws, &[], 0.95, &names)
        };
        assert_eq!(named(&["other", "mu"]).unwrap().planes.len(), 1);
        assert!(named(&["mu", "mu"]).unwrap_err().to_string().contains("twice"));
        assert!(named(&["x"]).unwrap_err().to_string().contains("there are mu"));
        assert_eq!(named(&["*u", "mu", "all"]).unwrap().parameters.len(), 3);
        assert!(named(&["x*"]).unwrap_err().to_string().contains("no sampled parameter matches 'x*'"));
        let many: Vec<String> = (0..=MOST).map(|i| format!("x{i}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let error = corner_names(&["*".to_owned()], &many).unwrap_err().to_string();
        assert!(error.contains("21 parameters do not fit"), "{error}");
    }
}
