//! Integrates flows over boxes by Gauss-Legendre quadrature. The panels are halved until the integral no longer
//! changes.

use ns_core::{BoxIntegral, LogProb, LogProbError};

use super::derivatives::{second, width};

/// Number of panels per feature at the beginning.
const FIRST: usize = 16;
/// Largest number of panels per feature, for flows with one and with two features.
const LAST: [usize; 2] = [8192, 256];

/// The refinement stops when halving the panels changes the integral by at most this amount.
const FINE: f64 = 1e-7;

/// Largest accepted change of the integral in the last refinement.
pub(super) const COARSE: f64 = 1e-4;

/// Largest accepted difference between 1 and the integral over the support.
pub(super) const NORMALISED: f64 = 1e-3;

/// Smallest accepted integral over a fit range.
const LEAST: f64 = 1e-9;

/// Returns the nodes and weights of the Gauss-Legendre rule with five nodes on the interval from -1 to 1.
fn rule() -> [(f64, f64); 5] {
    let root = |sign: f64| (5.0 + sign * 2.0 * (10.0_f64 / 7.0).sqrt()).sqrt() / 3.0;
    let weight = |sign: f64| (322.0 - sign * 13.0 * 70.0_f64.sqrt()) / 900.0;
    let (far, near) = ((root(1.0), weight(1.0)), (root(-1.0), weight(-1.0)));
    [(-far.0, far.1), (-near.0, near.1), (0.0, 128.0 / 225.0), near, far]
}

/// Function that writes the log-densities of events to its last argument. The first two arguments are the events and
/// the context.
pub(super) type Evaluate<'a> = &'a dyn Fn(&[f64], &[f64], &mut [f64]) -> Result<(), LogProbError>;

/// The part of a box within the support of a density.
struct Clipped {
    sides: Vec<(f64, f64)>,
    /// Whether this part is the whole support.
    whole: bool,
}

impl Clipped {
    fn new(density: &dyn LogProb, sides: &[(f64, f64)]) -> Result<Self, LogProbError> {
        let support = density.support();
        let d = density.dimension();
        if sides.len() != d {
            let (name, what) = (density.name().to_owned(), "a box");
            return Err(LogProbError::WrongLength { density: name, what, actual: sides.len(), expected: d });
        }
        let clipped: Vec<(f64, f64)> =
            sides.iter().zip(support).map(|(a, b)| (a.0.max(b.0), a.1.min(b.1))).collect();
        if clipped.iter().any(|(lo, hi)| !(lo < hi)) {
            return Err(refused(
                density,
                "its support lies outside; correct the support, or the range".to_owned(),
            ));
        }
        let whole = clipped.iter().zip(support).all(|(a, b)| a == b);
        Ok(Self { sides: clipped, whole })
    }

    /// Returns an error if an integral is not accurate or has an impossible value. `error` is the change of the
    /// integral in the last refinement.
    fn check(&self, density: &dyn LogProb, value: f64, error: f64) -> Result<(), LogProbError> {
        if !(error <= COARSE) {
            return Err(refused(
                density,
                format!(
                    "the integral is {value:.6}, and still changes by {error:.1e} with the finest quadrature; the density is \
                     too narrow or jumps"
                ),
            ));
        }
        let wrong = if self.whole { (value - 1.0).abs() > NORMALISED } else { value > 1.0 + NORMALISED };
        if wrong {
            return Err(refused(
                density,
                format!(
                    "its integral over {} is {value:.6}, although it is normalised over its support to 1; check the graph, \
                     and the support in the manifest",
                    if self.whole { "its support" } else { "the range" },
                ),
            ));
        }
        if !(value > LEAST) {
            return Err(refused(
                density,
                format!("its integral is {value:.1e}; the range holds nothing of it"),
            ));
        }
        Ok(())
    }
}

pub(super) fn refused(density: &dyn LogProb, cause: String) -> LogProbError {
    LogProbError::NotNormalised { density: density.name().to_owned(), cause }
}

/// Integrates a density over a box. `log_prob` evaluates the log-density, and `sides` has the lower and upper end
/// of each feature.
///
/// The integral is computed over the part of the box within the support. It is computed for one and two features
/// only. For more features, the result is 1 if the box contains the support, and an error otherwise.
pub(super) fn integrate(
    density: &dyn LogProb,
    log_prob: Evaluate<'_>,
    sides: &[(f64, f64)],
    context: &[f64],
) -> Result<BoxIntegral, LogProbError> {
    let clipped = Clipped::new(density, sides)?;
    let d = density.dimension();
    let Some(&last) = LAST.get(d.wrapping_sub(1)) else {
        return match clipped.whole {
            true => Ok(BoxIntegral { value: 1.0, error: 0.0, panels: 0 }),
            false => Err(refused(
                density,
                format!(
                    "the range cuts the support of {d} features, and integrals are computed for one and two; widen the axes \
                     beyond the support, or train a flow whose support is the range"
                ),
            )),
        };
    };
    let mut before = sum(log_prob, &clipped.sides, FIRST, context)?;
    let mut panels = 2 * FIRST;
    let found = loop {
        let value = sum(log_prob, &clipped.sides, panels, context)?;
        let error = (value - before).abs();
        if error <= FINE || 2 * panels > last {
            break BoxIntegral { value, error, panels };
        }
        before = value;
        panels *= 2;
    };
    clipped.check(density, found.value, found.error)?;
    Ok(found)
}

/// Writes the integral over a box and its derivatives with respect to the context to `out`. The quadrature has
/// `panels` panels per feature. A second integral with half as many panels shows whether there are enough panels.
/// `panels` is 0 if [`integrate`] used no quadrature; the integral is then 1 and its derivatives are 0. Returns the
/// difference between the two integrals.
pub(super) fn differentiate(
    density: &dyn LogProb,
    (sides, panels): (&[(f64, f64)], usize),
    context: &[f64],
    out: &mut [f64],
) -> Result<f64, LogProbError> {
    let c = context.len();
    if out.len() != width(c) {
        let (density, what) = (density.name().to_owned(), "the integral with derivatives");
        return Err(LogProbError::WrongLength { density, what, actual: out.len(), expected: width(c) });
    }
    out.fill(0.0);
    if panels == 0 {
        out.iter_mut().take(1).for_each(|value| *value = 1.0);
        return Ok(0.0);
    }
    let clipped = Clipped::new(density, sides)?;
    let mut found = Vec::new();
    let axes: Vec<Vec<(f64, f64)>> = clipped.sides.iter().map(|side| axis(*side, panels)).collect();
    each_batch(&axes, &mut |rows, weights| {
        let n = weights.len();
        found.resize(n * width(c), 0.0);
        density.context_derivatives(rows, context, &mut found)?;
        let columns: Vec<&[f64]> = found.chunks_exact(n).collect();
        for (i, weight) in weights.iter().enumerate() {
            let p = weight * columns[0][i].exp();
            out[0] += p;
            for k in 0..c {
                let own = columns[1 + k][i];
                out[1 + k] += p * own;
                for l in 0..=k {
                    let at = second(c, k, l);
                    out[at] += p * (own * columns[1 + l][i] + columns[at][i]);
                }
            }
        }
        Ok(())
    })?;
    let log_prob = |events: &[f64], context: &[f64], out: &mut [f64]| density.log_prob(events, context, out);
    let coarse = sum(&log_prob, &clipped.sides, panels / 2, context)?;
    let change = (out[0] - coarse).abs();
    clipped.check(density, out[0], change)?;
    Ok(change)
}

/// Returns the integral computed with `panels` equal panels per feature.
fn sum(
    log_prob: Evaluate<'_>,
    sides: &[(f64, f64)],
    panels: usize,
    context: &[f64],
) -> Result<f64, LogProbError> {
    let axes: Vec<Vec<(f64, f64)>> = sides.iter().map(|side| axis(*side, panels)).collect();
    sum_over(log_prob, &axes, context)
}

/// Returns the sum of the density over all nodes, times their weights. `axes` has the nodes and weights of each feature.
pub(super) fn sum_over(
    log_prob: Evaluate<'_>,
    axes: &[Vec<(f64, f64)>],
    context: &[f64],
) -> Result<f64, LogProbError> {
    let (mut total, mut logs) = (0.0, Vec::new());
    each_batch(axes, &mut |rows, weights| {
        logs.resize(weights.len(), 0.0);
        log_prob(rows, context, &mut logs)?;
        total += logs.iter().zip(weights).map(|(log, weight)| weight * log.exp()).sum::<f64>();
        Ok(())
    })?;
    Ok(total)
}

/// Returns the nodes and weights of the quadrature with `panels` equal panels between two ends.
pub(super) fn axis((lo, hi): (f64, f64), panels: usize) -> Vec<(f64, f64)> {
    let half = 0.5 * (hi - lo) / panels as f64;
    let panel = move |panel: usize| {
        let centre = lo + half * (2 * panel + 1) as f64;
        rule().map(|(node, weight)| (centre + half * node, half * weight))
    };
    (0..panels).flat_map(panel).collect()
}

/// Function that receives a batch of quadrature nodes (one row of features per node), and the weights of these nodes.
type Batch<'a> = &'a mut dyn FnMut(&[f64], &[f64]) -> Result<(), LogProbError>;

/// Calls `add` with the nodes and weights of one or two features. Each call gets some of the nodes. All calls together
/// cover all nodes.
fn each_batch(axes: &[Vec<(f64, f64)>], add: Batch<'_>) -> Result<(), LogProbError> {
    let (first, rest) = (axes.first().map(Vec::as_slice).unwrap_or_default(), axes.get(1));
    let (mut rows, mut weights) = (Vec::new(), Vec::new());
    match rest {
        None => {
            rows.extend(first.iter().map(|(x, _)| *x));
            weights.extend(first.iter().map(|(_, w)| *w));
        }
        // Each call gets the nodes of one or more values of the first feature.
        Some(second) => {
            for (x, weight) in first {
                for (y, other) in second {
                    rows.extend([*x, *y]);
                    weights.push(weight * other);
                }
                if weights.len() >= 4096 {
                    add(&rows, &weights)?;
                    rows.clear();
                    weights.clear();
                }
            }
        }
    }
    if !weights.is_empty() {
        add(&rows, &weights)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ns_core::{Base, BoxIntegral, GradientMethod, LogProb, LogProbError};

    use super::{differentiate, integrate, rule};

    #[test]
    fn the_rule_is_exact_for_polynomials() {
        for power in 0..10 {
            let exact = if power % 2 == 0 { 2.0 / f64::from(power + 1) } else { 0.0 };
            let sum: f64 = rule().iter().map(|(x, w)| w * x.powi(power)).sum();
            assert!((sum - exact).abs() < 4e-16, "{power}: {sum}");
        }
    }

    /// The density `factor * prod 2 x_i` on the unit cube, where `x_i` are the features of an event.
    #[derive(Debug)]
    struct Rising {
        support: Vec<(f64, f64)>,
        factor: f64,
    }

    impl Rising {
        fn new(features: usize, factor: f64) -> Self {
            Self { support: vec![(0.0, 1.0); features], factor }
        }
    }

    impl LogProb for Rising {
        fn name(&self) -> &str {
            "rising"
        }

        fn dimension(&self) -> usize {
            self.support.len()
        }

        fn context(&self) -> &[String] {
            &[]
        }

        fn gradient_method(&self) -> Option<GradientMethod> {
            None
        }

        fn rounding(&self) -> f64 {
            1.0
        }

        fn context_derivatives(
            &self,
            events: &[f64],
            context: &[f64],
            out: &mut [f64],
        ) -> Result<(), LogProbError> {
            self.log_prob(events, context, out)
        }

        fn integral_derivatives(
            &self,
            sides: &[(f64, f64)],
            panels: usize,
            context: &[f64],
            out: &mut [f64],
        ) -> Result<f64, LogProbError> {
            differentiate(self, (sides, panels), context, out)
        }

        fn support(&self) -> &[(f64, f64)] {
            &self.support
        }

        fn digest(&self) -> &str {
            ""
        }

        fn log_prob(&self, events: &[f64], _: &[f64], out: &mut [f64]) -> Result<(), LogProbError> {
            for (row, log) in events.chunks_exact(self.support.len()).zip(out) {
                *log = (self.factor * row.iter().map(|x| 2.0 * x).product::<f64>()).ln();
            }
            Ok(())
        }

        fn context_gradient(
            &self,
            _: &[f64],
            _: &[f64],
            _: &mut [f64],
        ) -> Result<GradientMethod, LogProbError> {
            Ok(GradientMethod::Graph)
        }

        fn integral(&self, sides: &[(f64, f64)], context: &[f64]) -> Result<BoxIntegral, LogProbError> {
            integrate(self, &|events, context, out| self.log_prob(events, context, out), sides, context)
        }

        fn base(&self) -> Option<(Base, usize)> {
            None
        }

        fn sample(&self, _: &[f64], _: &[f64], _: &mut [f64]) -> Result<(), LogProbError> {
            Ok(())
        }
    }

    fn value(features: usize, sides: &[(f64, f64)]) -> f64 {
        Rising::new(features, 1.0).integral(sides, &[]).map_or(f64::NAN, |integral| integral.value)
    }

    fn refusal(features: usize, factor: f64, sides: &[(f64, f64)]) -> String {
        Rising::new(features, factor)
            .integral(sides, &[])
            .map_or_else(|error| error.to_string(), |i| format!("{i:?}"))
    }

    #[test]
    fn boxes_are_cut_at_the_support() {
        assert!((value(1, &[(-3.0, 0.5)]) - 0.25).abs() < 1e-12);
        assert!((value(2, &[(0.5, 2.0), (0.2, 0.7)]) - 0.75 * 0.45).abs() < 1e-12);
        assert_eq!(value(3, &[(0.0, 1.0), (-1.0, 1.0), (0.0, 2.0)]), 1.0);
    }

    #[test]
    fn what_cannot_be_normalised_is_refused() {
        let cut = refusal(3, 1.0, &[(0.0, 1.0), (0.5, 1.0), (0.0, 1.0)]);
        assert!(cut.contains("cuts the support of 3 features"), "{cut}");
        let wrong = refusal(1, 1.01, &[(0.0, 1.0)]);
        assert!(wrong.contains("over its support is 1.010000"), "{wrong}");
        let wrong = refusal(2, 5.0, &[(0.0, 0.9), (0.0, 0.9)]);
        assert!(wrong.contains("over the range is 3.280500"), "{wrong}");
        let boxes = refusal(2, 1.0, &[(0.0, 1.0)]);
        assert!(boxes.contains("has 1 numbers where 2 are needed"), "{boxes}");
    }
}
