//! Gauss rules on [-1, 1], and the errors of rules with fewer nodes, estimated from the nodes of one rule.

use std::f64::consts::PI;

/// A Gauss rule: exact for polynomials of a degree below twice its number of nodes. All weights are positive.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    pub(super) nodes: Vec<f64>,
    pub(super) weights: Vec<f64>,
}

/// A Gauss rule, and all rules with fewer nodes whose errors can be estimated from its nodes.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    pub(super) full: Rule,
    /// Rules with 1, 2, 3, ... nodes.
    pub(super) lower: Vec<Rule>,
    /// For each of the rules in `lower`, one number per node of `full`. The sum of these numbers times the values of a
    /// function at the nodes of `full` estimates the error of the rule for this function.
    pub(super) errors: Vec<Vec<f64>>,
}

impl Rule {
    /// Returns the rule with `n` nodes. The nodes are the zeros of the Legendre polynomial of degree `n`, found by
    /// Newton's method.
    pub(super) fn new(n: usize) -> Self {
        let mut rule = Self { nodes: Vec::with_capacity(n), weights: Vec::with_capacity(n) };
        for i in 0..n {
            let mut x = -(PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
            for _ in 0..50 {
                let [p, slope] = legendre(n, x);
                let step = p / slope;
                x -= step;
                if step.abs() < 1e-16 {
                    break;
                }
            }
            if n % 2 == 1 && i == n / 2 {
                x = 0.0;
            }
            let [_, slope] = legendre(n, x);
            rule.nodes.push(x);
            rule.weights.push(2.0 / ((1.0 - x * x) * slope * slope));
        }
        rule
    }
}

impl Rules {
    /// Returns the rule with `n` nodes, an odd number, and the rules with at most `(n - 3) / 2` nodes.
    ///
    /// A rule with `m` nodes integrates Legendre polynomials up to degree `2 m - 1` exactly. The rule with `n` nodes
    /// determines the polynomial of degree `n - 1` through the values of a function. The error of the smaller rule for
    /// this polynomial is the sum of the errors for its Legendre polynomials of degree `2 m` and above.
    pub(super) fn new(n: usize) -> Self {
        let full = Rule::new(n);
        let lower: Vec<Rule> = (1..=(n.saturating_sub(3) / 2).max(1)).map(Rule::new).collect();
        let errors = lower
            .iter()
            .map(|rule| {
                let m = rule.nodes.len();
                let sum = |degree: usize| -> f64 {
                    rule.nodes.iter().zip(&rule.weights).map(|(x, w)| w * legendre(degree, *x)[0]).sum()
                };
                // The sums for odd degrees are zero by symmetry.
                let sums: Vec<(usize, f64)> =
                    (2 * m..n).filter(|d| d % 2 == 0).map(|degree| (degree, sum(degree))).collect();
                let at = |(x, w): (&f64, &f64)| -> f64 {
                    let part = |&(degree, sum): &(usize, f64)| {
                        0.5 * (2 * degree + 1) as f64 * w * legendre(degree, *x)[0] * sum
                    };
                    sums.iter().map(part).sum()
                };
                full.nodes.iter().zip(&full.weights).map(at).collect()
            })
            .collect();
        Self { full, lower, errors }
    }
}

/// Returns the Legendre polynomial of degree `n` at `x`, and its derivative.
fn legendre(n: usize, x: f64) -> [f64; 2] {
    let (mut before, mut here) = (1.0, x);
    if n == 0 {
        return [1.0, 0.0];
    }
    for k in 2..=n {
        let k = k as f64;
        (before, here) = (here, ((2.0 * k - 1.0) * x * here - (k - 1.0) * before) / k);
    }
    [here, n as f64 * (before - x * here) / (1.0 - x * x)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_exact_for_polynomials() {
        for n in 1..24 {
            let rule = Rule::new(n);
            for power in 0..2 * n as i32 {
                let exact = if power % 2 == 0 { 2.0 / f64::from(power + 1) } else { 0.0 };
                let sum: f64 = rule.nodes.iter().zip(&rule.weights).map(|(x, w)| w * x.powi(power)).sum();
                assert!((sum - exact).abs() < 1e-14, "{n} {power}: {sum}");
            }
        }
    }

    #[test]
    fn errors_of_smaller_rules_are_estimated() {
        for n in [5, 7, 9, 15, 21] {
            let rules = Rules::new(n);
            for (rule, errors) in rules.lower.iter().zip(&rules.errors) {
                let f = |x: f64| (1.3 * x - 0.2).exp() * (2.0 + x).ln();
                let by = |rule: &Rule| -> f64 {
                    rule.nodes.iter().zip(&rule.weights).map(|(x, w)| w * f(*x)).sum()
                };
                let error = by(rule) - by(&rules.full);
                let estimate: f64 = rules.full.nodes.iter().zip(errors).map(|(x, e)| e * f(*x)).sum();
                assert!((error - estimate).abs() < 0.1 * error.abs() + 1e-14, "{n}: {error} {estimate}");
            }
        }
    }
}
