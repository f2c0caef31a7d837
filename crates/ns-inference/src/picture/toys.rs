//! Plots of toys: distributions of test statistics and of goodness of fit, and pulls.

use ns_viz::{ToyDistribution, ToyHistogram, ToyPullRow, ToyPulls};

use super::remarks;
use crate::goodness::chi2_tail;
use crate::present::{count, significant, with_error};
use crate::toys::BinnedStatistic;
use crate::{EventGoodness, EventStatistic, FitToysResult, GoodnessResult, GoodnessToys, HypotestToysResult};

/// Number of points of the curve of an asymptotic distribution.
const CURVE_POINTS: usize = 240;
/// The curve of an asymptotic distribution covers at least this many standard deviations on each side of its mean.
const CURVE_REACH: f64 = 3.5;

/// Builds the plot of the test statistic in the toys of both hypotheses, with the observed value and the p-values. For a
/// result of an earlier version, which has no distributions, the plot is empty, and cannot be drawn.
#[must_use]
pub fn toy_test(result: &HypotestToysResult) -> ToyDistribution {
    let (b, sb) = (&result.distributions.b, &result.distributions.sb);
    if b.bin_edges.is_empty() {
        return ToyDistribution::default();
    }
    let discovery = result.test_stat == "q0";
    let statistic = match result.test_stat.as_str() {
        "qtilde" => "q\u{303}",
        "q0" => "q₀",
        other => other,
    };
    let name = |value: f64| format!("{} = {}", result.param, significant(value));
    // The alternative hypothesis has no signal, or the predicted one in a test for discovery.
    let names = [name(f64::from(u8::from(discovery))), name(result.mu_test)];
    let tails = [
        ("CLb", result.clb, result.clb_error),
        (if discovery { "p₀" } else { "CLs+b" }, result.clsb, result.clsb_error),
    ];
    let left_out = [result.n_nonconverged.b + result.n_error.b, result.n_nonconverged.sb + result.n_error.sb];
    let mut histograms = histograms(&[b, sb]);
    for (((one, name), (label, p, error)), left_out) in
        histograms.iter_mut().zip(names).zip(tails).zip(left_out)
    {
        (one.name, one.left_out) = (name, left_out);
        one.tail = p_value(label, p, error);
    }
    let observed = format!("observed {statistic} = {}", rough(result.q_obs));
    ToyDistribution {
        statistic: format!("test statistic {statistic}"),
        bin_edges: b.bin_edges.clone(),
        histograms,
        observed: Some(result.q_obs),
        observed_text: if discovery { observed } else { format!("{observed}: {}", cls(result)) },
        log_y: true,
        subtitle: remarks([
            (!result.converged).then_some("not all fits converged"),
            result.interrupted.then_some("interrupted"),
        ]),
        ..ToyDistribution::default()
    }
}

/// Builds the plot of chi2 in toys, with the observed chi2 and its asymptotic distribution. Without toys the plot is
/// empty, and cannot be drawn.
#[must_use]
pub fn goodness(result: &GoodnessResult) -> ToyDistribution {
    let Some(toys) = &result.toys else { return ToyDistribution::default() };
    let plot = of_goodness(toys, result.p_value_toys, result.p_value_toys_error, result.converged);
    let plot = observed(plot, "χ²", result.chi2);
    with_curve(plot, result.ndof, result.p_value)
}

/// Builds the plot of the statistic of events in toys, with the observed value. For chi2 it shows the asymptotic
/// distribution, too. Without toys the plot is empty, and cannot be drawn.
#[must_use]
pub fn event_goodness(result: &EventGoodness) -> ToyDistribution {
    let Some(toys) = &result.toys else { return ToyDistribution::default() };
    let plot = of_goodness(toys, result.p_value_toys, result.p_value_toys_error, result.converged);
    match result.statistic {
        EventStatistic::Chi2 => with_curve(observed(plot, "χ²", result.value), result.ndof, result.p_value),
        EventStatistic::Ks => observed(plot, "largest √n D", result.value),
    }
}

/// Builds the plot of the means and widths of the pulls in toys. The parameters have the order of `result`.
#[must_use]
pub fn toy_pulls(result: &FitToysResult) -> ToyPulls {
    let rows = result.parameters.iter().map(|one| ToyPullRow {
        parameter: one.name.clone(),
        mean: one.pull_mean,
        mean_error: one.pull_mean_error,
        width: one.pull_width,
        width_error: one.pull_width_error,
    });
    let toys = format!("{} toys", result.n_toys);
    let failed = format!("{} of them failed or did not converge", result.n_failed);
    ToyPulls {
        rows: rows.collect(),
        subtitle: remarks([
            Some(toys.as_str()),
            (result.n_failed > 0).then_some(failed.as_str()),
            result.interrupted.then_some("interrupted"),
        ]),
        ..ToyPulls::default()
    }
}

fn histograms(of: &[&BinnedStatistic]) -> Vec<ToyHistogram> {
    let one = |one: &&BinnedStatistic| ToyHistogram {
        counts: one.counts.clone(),
        at_zero: one.at_zero,
        beyond: one.beyond,
        ..ToyHistogram::default()
    };
    of.iter().map(one).collect()
}

fn of_goodness(toys: &GoodnessToys, p: Option<f64>, error: Option<f64>, converged: bool) -> ToyDistribution {
    if toys.distribution.bin_edges.is_empty() {
        return ToyDistribution::default();
    }
    let mut histograms = histograms(&[&toys.distribution]);
    for one in &mut histograms {
        one.left_out = toys.n_nonconverged + toys.n_error;
        one.tail = p_value("p-value", p, error);
    }
    ToyDistribution {
        bin_edges: toys.distribution.bin_edges.clone(),
        histograms,
        subtitle: remarks([
            (!converged).then_some("the fit did not converge"),
            toys.interrupted.then_some("interrupted"),
        ]),
        ..ToyDistribution::default()
    }
}

fn observed(plot: ToyDistribution, statistic: &str, value: Option<f64>) -> ToyDistribution {
    ToyDistribution {
        statistic: statistic.to_owned(),
        observed: value,
        observed_text: value
            .map_or_else(String::new, |value| format!("observed {statistic} = {}", rough(value))),
        ..plot
    }
}

/// Adds the curve of a chi2 distribution. Each value of it is the probability of a bin of the histogram around this
/// position.
fn with_curve(mut plot: ToyDistribution, ndof: Option<i64>, p_value: Option<f64>) -> ToyDistribution {
    let [start, next, ..] = plot.bin_edges[..] else { return plot };
    let (Some(ndof), Some(p)) = (ndof.filter(|ndof| *ndof > 0), p_value) else { return plot };
    let n = ndof as f64;
    let half = 0.5 * (next - start);
    let reach = CURVE_REACH * (2.0 * n).sqrt();
    // The axis ends where the curve does. No bin has its middle closer to 0 than half of its width.
    let end = plot.bin_edges.last().copied().unwrap_or(next).max(n + reach);
    let start = start.min(n - reach).max(half);
    let step = (end - start) / CURVE_POINTS as f64;
    plot.curve_positions = (0..=CURVE_POINTS).map(|k| start + step * k as f64).collect();
    let probability = |x: &f64| chi2_tail(x - half, n) - chi2_tail(x + half, n);
    plot.curve = plot.curve_positions.iter().map(probability).collect();
    let degrees = if ndof == 1 { "1 degree".to_owned() } else { format!("{ndof} degrees") };
    plot.curve_name = format!("χ² distribution, {degrees} of freedom: p-value {}", rough(p));
    plot
}

/// Formats a p-value with its error. An error of a p-value of 0 is a limit.
fn p_value(name: &str, p: Option<f64>, error: Option<f64>) -> String {
    match (p, error) {
        (Some(0.0), Some(error)) => format!("{name} = 0 (below {} at one standard deviation)", rough(error)),
        (p, error) => format!("{name} = {}", with_error(p, error)),
    }
}

/// Describes CLs with its error, and what the toys without a statistic could change.
fn cls(result: &HypotestToysResult) -> String {
    let mut text = match (result.cls, result.cls_upper) {
        (None, _) => "no CLₛ".to_owned(),
        (Some(_), Some(upper)) => format!("CLₛ = 0, below {} at 95 %", rough(upper)),
        (Some(cls), None) => format!("CLₛ = {}", with_error(Some(cls), result.cls_error)),
    };
    let failed = result.n_nonconverged.b + result.n_nonconverged.sb + result.n_error.b + result.n_error.sb;
    if let (true, Some(low), Some(high)) = (failed > 0, result.cls_failed_low, result.cls_failed_high) {
        let toys = count(usize::try_from(failed).unwrap_or(usize::MAX), "toy");
        text += &format!(" ({} to {} with the {toys} left out)", rough(low), rough(high));
    }
    text
}

/// Formats a number with four significant digits.
fn rough(value: f64) -> String {
    let rounded = format!("{value:.3e}").parse().unwrap_or(value);
    significant(rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_has_the_probabilities_of_the_bins() {
        let plot =
            ToyDistribution { bin_edges: (0..=20).map(f64::from).collect(), ..ToyDistribution::default() };
        let plot = with_curve(plot, Some(4), Some(0.2));
        let at = |x: f64| {
            let k = plot.curve_positions.iter().position(|at| (at - x).abs() < 0.05).unwrap();
            (plot.curve_positions[k], plot.curve[k])
        };
        // The density of four degrees of freedom is x exp(-x/2) / 4. Its mean over a bin differs from the value in the
        // middle by a 24th of the second derivative.
        let (x, found) = at(6.5);
        let expected = 0.25 * (-0.5 * x).exp() * (x + (0.25 * x - 1.0) / 24.0);
        assert!((found - expected).abs() < 2e-5, "{found} {expected}");
        assert!(plot.curve_name.contains("4 degrees of freedom: p-value 0.2"));
        assert!(with_curve(ToyDistribution::default(), Some(4), Some(0.2)).curve.is_empty());
    }

    #[test]
    fn a_p_value_of_zero_is_a_limit() {
        assert_eq!(p_value("CLb", Some(0.25), Some(0.0123)), "CLb = 0.250 ± 0.012");
        assert_eq!(
            p_value("CLb", Some(0.0), Some(0.001_839_1)),
            "CLb = 0 (below 0.001839 at one standard deviation)"
        );
        assert_eq!(p_value("CLb", None, None), "CLb = none");
    }
}
