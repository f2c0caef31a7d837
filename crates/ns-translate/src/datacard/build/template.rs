//! Templates as yields, as Combine scales and clips them.

/// Smallest content of a bin: the yield, or the part of the whole where templates are normalised.
const SMALLEST: f64 = 1e-9;

/// How templates become yields.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Scaling {
    /// Their sum is the rate.
    Rate(f64),
    /// They are yields themselves, as in channels with `autoMCStats`. With `keep_integrals`, varied ones keep their
    /// integrals, otherwise they get that of the nominal one.
    Own { keep_integrals: bool },
}

impl Scaling {
    /// Returns the nominal yields.
    pub(super) fn nominal(self, template: &[f64]) -> Vec<f64> {
        let sum: f64 = template.iter().sum();
        match self {
            Self::Own { .. } => clipped(template.to_vec()),
            Self::Rate(rate) => to_sum(template.iter().map(|x| x / sum).collect(), rate),
        }
    }

    /// Returns the yields at one sigma. `scale` multiplies the parameter.
    ///
    /// They are not clipped: Combine clips the sum of all effects, so that a clipped template would change the yields
    /// where the sum is positive.
    pub(super) fn varied(self, template: &[f64], varied: &[f64], scale: f64) -> Vec<f64> {
        let (sum, varied_sum): (f64, f64) = (template.iter().sum(), varied.iter().sum());
        let (per_nominal, per_varied) = match self {
            Self::Own { keep_integrals: true } => (1.0, 1.0),
            Self::Own { keep_integrals: false } => (1.0, sum / varied_sum),
            Self::Rate(rate) => (rate / sum, rate / varied_sum),
        };
        let differences = template.iter().zip(varied).map(|(n, v)| {
            // Both are clipped to the same number.
            if *n <= 0.0 && *v <= 0.0 { 0.0 } else { scale * (v * per_varied - n * per_nominal) }
        });
        self.nominal(template)
            .into_iter()
            .zip(differences)
            .map(|(nominal, difference)| nominal + difference)
            .collect()
    }
}

fn clipped(mut yields: Vec<f64>) -> Vec<f64> {
    for x in &mut yields {
        *x = x.max(SMALLEST);
    }
    yields
}

/// Clips the parts of the whole, and scales them to a sum.
fn to_sum(parts: Vec<f64>, rate: f64) -> Vec<f64> {
    let mut parts = clipped(parts);
    let sum: f64 = parts.iter().sum();
    for x in &mut parts {
        *x *= rate / sum;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-8)
    }

    #[test]
    fn templates_have_the_sum_of_the_rate_or_their_own() {
        let rate = Scaling::Rate(10.0);
        assert!(close(&rate.nominal(&[1.0, 4.0]), &[2.0, 8.0]));
        assert!(close(&rate.varied(&[1.0, 4.0], &[4.0, 4.0], 1.0), &[5.0, 5.0]));
        assert!(close(&rate.varied(&[1.0, 4.0], &[4.0, 4.0], 0.5), &[3.5, 6.5]));
        let own = Scaling::Own { keep_integrals: false };
        assert!(close(&own.nominal(&[1.0, 4.0]), &[1.0, 4.0]));
        assert!(close(&own.varied(&[1.0, 4.0], &[4.0, 4.0], 1.0), &[2.5, 2.5]));
        let kept = Scaling::Own { keep_integrals: true };
        assert!(close(&kept.varied(&[1.0, 4.0], &[4.0, 4.0], 1.0), &[4.0, 4.0]));
    }

    #[test]
    fn bins_are_not_empty() {
        let yields = Scaling::Rate(100.0).nominal(&[0.0, 1.0]);
        assert!(yields[0] > 0.0 && yields[0] < 1e-6 && (yields[0] + yields[1] - 100.0).abs() < 1e-9);
        assert!(Scaling::Own { keep_integrals: true }.nominal(&[-1.0, 0.0]).iter().all(|x| *x == SMALLEST));
    }
}
