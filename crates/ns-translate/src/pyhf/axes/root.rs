//! Axes of histograms of ROOT files.

use super::Axis;

impl Axis {
    /// Returns the axis of a histogram of ROOT; `None` if it says nothing: no title, and edges that number the bins.
    pub(crate) fn of_root(axis: &ns_root::Axis) -> Option<Self> {
        let title = Some(axis.title.trim()).filter(|title| !title.is_empty()).map(str::to_owned);
        let rising = axis.edges.windows(2).all(|pair| matches!(pair, [low, high] if low < high));
        let finite = axis.edges.iter().all(|edge| edge.is_finite());
        // Programs that number bins begin at 0, 0.5 or 1.
        let first = axis.edges.first().copied().unwrap_or_default();
        let counted = (0.0..=1.0).contains(&first)
            && axis.edges.iter().enumerate().all(|(bin, edge)| (edge - first - bin as f64).abs() < 1e-9);
        let edges = (rising && finite && !counted && !axis.edges.is_empty()).then(|| axis.edges.clone());
        (title.is_some() || edges.is_some()).then_some(Self { title, edges })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_that_number_bins_say_nothing() {
        let axis = |title: &str, edges: &[f64]| ns_root::Axis {
            title: title.to_owned(),
            ..ns_root::Axis::new(edges.to_vec())
        };
        for counted in [[0.0, 1.0, 2.0], [0.5, 1.5, 2.5], [1.0, 2.0, 3.0]] {
            assert_eq!(Axis::of_root(&axis("", &counted)), None);
        }
        let mass = Axis::of_root(&axis("m [GeV]", &[100.0, 120.0, 150.0]));
        assert_eq!(
            mass,
            Some(Axis { title: Some("m [GeV]".into()), edges: Some(vec![100.0, 120.0, 150.0]) })
        );
        let titled = Axis::of_root(&axis("N", &[0.0, 1.0, 2.0]));
        assert_eq!(titled, Some(Axis { title: Some("N".into()), edges: None }));
    }
}
