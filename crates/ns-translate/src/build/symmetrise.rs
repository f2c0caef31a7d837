//! Makes the two templates of a systematic symmetric, and splits them into normalisation and shape.

use super::describe::Symmetrise;

/// Two templates, each as a factor on the sum and a template with the nominal sum.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// Ratio of the sum of the template upwards to the nominal sum.
    pub up: f64,
    /// Ratio of the sum of the template downwards to the nominal sum.
    pub down: f64,
    /// The template upwards, scaled to the nominal sum.
    pub up_shape: Vec<f64>,
    /// The template downwards, scaled to the nominal sum.
    pub down_shape: Vec<f64>,
}

impl Split {
    /// The templates upwards and downwards, with their own sums.
    #[must_use]
    pub fn together(&self) -> (Vec<f64>, Vec<f64>) {
        let scaled = |shape: &[f64], factor: f64| shape.iter().map(|x| x * factor).collect();
        (scaled(&self.up_shape, self.up), scaled(&self.down_shape, self.down))
    }
}

/// Makes templates symmetric and splits them. All arrays have the same length.
///
/// Returns `None` if the sum of the nominal template, of `up` or of `down` is not above 0: it then has no shape.
#[must_use]
pub fn split(nominal: &[f64], up: &[f64], down: Option<&[f64]>, how: Symmetrise) -> Option<Split> {
    let (up, down) = match (how, down) {
        (Symmetrise::Mirror, _) => (up.to_vec(), mirrored(nominal, up)),
        (Symmetrise::None, Some(down)) => (up.to_vec(), down.to_vec()),
        (Symmetrise::OneSided, _) | (_, None) => return one_sided(nominal, up),
        (_, Some(down)) => two_sided(nominal, up, down, how)?,
    };
    let sum = total(nominal)?;
    let (up_factor, down_factor) = (total(&up)? / sum, total(&down)? / sum);
    Some(Split {
        up: up_factor,
        down: down_factor,
        up_shape: up.iter().map(|u| u / up_factor).collect(),
        down_shape: down.iter().map(|d| d / down_factor).collect(),
    })
}

/// The two templates if both of them change; `None` for the other ways.
pub(super) fn two_sided(
    nominal: &[f64],
    up: &[f64],
    down: &[f64],
    how: Symmetrise,
) -> Option<(Vec<f64>, Vec<f64>)> {
    let change = |u: f64, d: f64| match how {
        Symmetrise::TwoSided => Some(0.5 * (u - d)),
        Symmetrise::AbsMean => Some(0.5 * (u.abs() + d.abs())),
        Symmetrise::Maximum => Some(if u.abs() >= d.abs() { u } else { -d }),
        Symmetrise::None | Symmetrise::OneSided | Symmetrise::Mirror => None,
    };
    let bins = nominal.iter().zip(up).zip(down);
    let up: Vec<f64> =
        bins.map(|((n, u), d)| Some(not_below(n + change(u - n, d - n)?, *n))).collect::<Option<_>>()?;
    let down = mirrored(nominal, &up);
    Some((up, down))
}

/// Reflects a template at the nominal one.
fn mirrored(nominal: &[f64], up: &[f64]) -> Vec<f64> {
    nominal.iter().zip(up).map(|(n, u)| not_below(2.0 * n - u, *n)).collect()
}

/// Keeps a bin from becoming negative, unless the nominal template is.
fn not_below(value: f64, nominal: f64) -> f64 {
    if nominal >= 0.0 { value.max(0.0) } else { value }
}

/// The sum of a template if it is above 0.
fn total(values: &[f64]) -> Option<f64> {
    Some(values.iter().sum()).filter(|sum: &f64| *sum > 0.0 && sum.is_finite())
}

fn one_sided(nominal: &[f64], up: &[f64]) -> Option<Split> {
    let factor = total(up)? / total(nominal)?;
    let up_shape: Vec<f64> = up.iter().map(|u| u / factor).collect();
    let down_shape = nominal.iter().zip(&up_shape).map(|(n, u)| 2.0 * n - u).collect();
    Some(Split { up: factor, down: 2.0 - factor, up_shape, down_shape })
}

#[cfg(test)]
mod tests {
    use super::{Split, Symmetrise, split};

    const NOMINAL: [f64; 2] = [10.0, 30.0];
    const UP: [f64; 2] = [16.0, 32.0];
    const DOWN: [f64; 2] = [6.0, 26.0];

    fn templates(how: Symmetrise, down: Option<&[f64]>) -> (Vec<f64>, Vec<f64>) {
        split(&NOMINAL, &UP, down, how).map(|s| s.together()).unwrap_or_default()
    }

    fn close(found: &(Vec<f64>, Vec<f64>), up: [f64; 2], down: [f64; 2]) -> bool {
        let pairs = found.0.iter().zip(up).chain(found.1.iter().zip(down));
        found.0.len() == 2 && pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-12)
    }

    #[test]
    fn one_side_is_reflected_after_its_normalisation() {
        let expected = Split {
            up: 1.2,
            down: 0.8,
            up_shape: vec![16.0 / 1.2, 32.0 / 1.2],
            down_shape: vec![20.0 - 16.0 / 1.2, 60.0 - 32.0 / 1.2],
        };
        assert_eq!(split(&NOMINAL, &UP, None, Symmetrise::None), Some(expected.clone()));
        assert_eq!(split(&NOMINAL, &UP, Some(&DOWN), Symmetrise::OneSided), Some(expected));
    }

    #[test]
    fn each_way_gives_its_templates() {
        assert!(close(&templates(Symmetrise::None, Some(&DOWN)), UP, DOWN));
        assert!(close(&templates(Symmetrise::Mirror, None), UP, [4.0, 28.0]));
        assert!(close(&templates(Symmetrise::TwoSided, Some(&DOWN)), [15.0, 33.0], [5.0, 27.0]));
        assert!(close(&templates(Symmetrise::AbsMean, Some(&DOWN)), [15.0, 33.0], [5.0, 27.0]));
        assert!(close(&templates(Symmetrise::Maximum, Some(&DOWN)), [16.0, 34.0], [4.0, 26.0]));
        let found = split(&NOMINAL, &[25.0, 32.0], None, Symmetrise::Mirror)
            .map(|s| s.together())
            .unwrap_or_default();
        assert!(close(&found, [25.0, 32.0], [0.0, 28.0]), "{found:?}");
    }

    #[test]
    fn templates_without_events_have_no_shape() {
        assert_eq!(split(&[0.0, 0.0], &UP, None, Symmetrise::None), None);
        assert_eq!(split(&NOMINAL, &[-1.0, 1.0], None, Symmetrise::None), None);
        assert_eq!(split(&NOMINAL, &UP, Some(&[0.0, 0.0]), Symmetrise::None), None);
    }
}
