//! CLs, significances and upper limits as differentiable functions of the inputs. The values equal the results of
//! [`crate::hypotest()`], [`crate::significance()`] and [`crate::upper_limit()`].

use ns_core::{Data, FitOutcome, Pulled};

use super::minimum::Minimum;
use super::profiled::ON_EDGE;
use super::{Differentiated, ProfiledDifferentiableSession, add, add_pulled};
use crate::InferenceError;
use crate::hypotest::tester::{Tested, Tester};
use crate::hypotest::{TestStatistic, asymptotic, begin};
use crate::limit::{LimitOptions, upper_limit_at};

/// An observed result and the expected results. For CLs and limits there are five expected results: at -2, -1, 0, 1
/// and 2 standard deviations under the background-only hypothesis. For a significance there is one expected result,
/// for a signal of strength 1.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Band {
    /// Observed result.
    pub observed: Differentiated,
    /// Expected results: five for CLs and limits, one for a significance (see [`Band`]).
    pub expected: Vec<Differentiated>,
    /// Whether every fit converged.
    pub converged: bool,
    /// Warnings about the results.
    pub warnings: Vec<String>,
}

/// Derivatives of a test statistic with respect to the inputs (`yields`) and to the tested value (`by_mu`).
struct Slopes {
    yields: Vec<f64>,
    by_mu: f64,
    one_sided: bool,
}

/// Quantities that are the same for all tested values.
struct Tests<'a> {
    session: &'a ProfiledDifferentiableSession,
    poi: usize,
    yields: &'a [f64],
    data: Data,
    tester: Tester<'a>,
    /// The minimum of the conditional fit whose best-fit values are used to generate the Asimov data; `None` if there
    /// is no such fit.
    asimov: Option<Minimum>,
}

impl<'a> Tests<'a> {
    fn new(
        session: &'a ProfiledDifferentiableSession,
        yields: &'a [f64],
        data: Data,
        tester: Tester<'a>,
    ) -> Result<Self, InferenceError> {
        let poi = session.poi()?;
        let known = tester.observed.at(tester.statistic.asimov_value());
        let asimov = known.map(|known| session.inner.minimum(&data, &known.fit, &[poi])).transpose()?;
        Ok(Self { session, poi, yields, data, tester, asimov })
    }

    /// Returns the derivatives of the statistic `2 (nll of the conditional fit - nll of the free fit)`. The first
    /// element of the result has the derivatives with respect to inputs and data. The second element is the derivative
    /// with respect to the tested value.
    fn rise(
        &self,
        data: &Data,
        free: &FitOutcome,
        conditional: &FitOutcome,
    ) -> Result<(Pulled, f64), InferenceError> {
        let inner = &self.session.inner;
        let free = inner.minimum(data, free, &[])?;
        let conditional = inner.minimum(data, conditional, &[self.poi])?;
        let (by_mu, above) = inner.direct(&conditional, self.poi)?;
        let (_, below) = inner.direct(&free, self.poi)?;
        let mut pulled = Pulled::default();
        add_pulled(&mut pulled, 2.0, &above);
        add_pulled(&mut pulled, -2.0, &below);
        Ok((pulled, 2.0 * by_mu))
    }

    /// Returns the derivatives of the test statistic for the observed data.
    fn observed(&self, tested: &Tested) -> Result<Slopes, InferenceError> {
        let value = tested.value;
        let one_sided = (self.tester.best_value() - value).abs() <= ON_EDGE * (1.0 + value.abs());
        let flat = Slopes { yields: vec![0.0; self.yields.len()], by_mu: 0.0, one_sided };
        let Some(conditional) = self.tester.observed.at(tested.value) else { return Ok(flat) };
        if !(tested.q > 0.0) {
            return Ok(flat);
        }
        let (pulled, by_mu) = self.rise(&self.data, &self.tester.observed.best, &conditional.fit)?;
        Ok(Slopes {
            yields: self.session.inner.by_inputs(self.yields, &self.data, pulled)?,
            by_mu,
            one_sided,
        })
    }

    /// Returns the derivatives of the test statistic for the Asimov data. The Asimov data depend on the inputs in two
    /// ways: directly, and through the conditional fit from which they are generated.
    fn of_asimov(&self, tested: &Tested) -> Result<Option<Slopes>, InferenceError> {
        let inner = &self.session.inner;
        let (Some(at), Some(conditional)) = (&self.asimov, self.tester.asimov.at(tested.value)) else {
            return Ok(None);
        };
        if !(tested.q_asimov > 0.0) {
            return Ok(None);
        }
        let set = &self.tester.asimov;
        let (pulled, by_mu) = self.rise(&set.data, &set.best, &conditional.fit)?;
        let through = inner.accelerator.expected(&self.data, &at.parameters, &pulled.main, &pulled.aux)?;
        let mut total = Pulled { yields: pulled.yields, ..Pulled::default() };
        add(&mut total.yields, 1.0, &through.pulled.yields);
        let Some(implicit) = inner.implicit(at, &through.parameters)? else { return Ok(None) };
        add_pulled(&mut total, 1.0, &implicit);
        let yields = inner.by_inputs(self.yields, &self.data, total)?;
        Ok(Some(Slopes { yields, by_mu, one_sided: at.one_sided }))
    }
}

/// Returns a number with the value `value` and its gradient with respect to the inputs. Each element of `parts` has
/// a factor and the derivatives of a test statistic. The gradient is the sum of the factors times the derivatives.
fn combined(value: f64, parts: &[(f64, &Slopes)]) -> Differentiated {
    let n = parts.iter().map(|(_, slopes)| slopes.yields.len()).max().unwrap_or(0);
    let mut gradient = vec![0.0; n];
    for (factor, slopes) in parts {
        add(&mut gradient, *factor, &slopes.yields);
    }
    Differentiated { value, gradient, one_sided: parts.iter().any(|(_, slopes)| slopes.one_sided) }
}

impl ProfiledDifferentiableSession {
    /// Returns the observed and expected CLs for the tested value `mu`, with derivatives with respect to the inputs.
    ///
    /// # Errors
    /// The errors of [`crate::hypotest()`]; [`InferenceError::WrongStatistic`] for q0, which has no CLs.
    pub fn cls(&self, statistic: TestStatistic, mu: f64, yields: &[f64]) -> Result<Band, InferenceError> {
        if statistic == TestStatistic::Q0 {
            return Err(InferenceError::WrongStatistic { analysis: "CLs", statistic: "q0" });
        }
        let data = self.inner.data(yields)?;
        let (tester, tested) = begin(self.analysis(&data)?, statistic, mu, "CLs")?;
        let mut tests = Tests::new(self, yields, data, tester)?;
        let (observed, asimov) = (tests.observed(&tested)?, tests.of_asimov(&tested)?);
        let n = yields.len();
        let mut band = Band { expected: vec![Differentiated::missing(n); 5], ..Band::default() };
        band.observed = Differentiated::missing(n);
        let sigmas = asymptotic::expected_sigmas(tests.tester.format());
        let powerless = tests.tester.powerless(&tested).filter(|_| tested.q_asimov == 0.0);
        if let Some(powerless) = powerless {
            // The Asimov statistic is 0, and stays 0 when the inputs change. CLs is 1 wherever it is defined.
            let flat = Slopes { yields: vec![0.0; n], by_mu: 0.0, one_sided: false };
            if !powerless.undefined {
                let value = asymptotic::observed(statistic, tested.q, tested.q_asimov).cls;
                band.observed = combined(value.unwrap_or(f64::NAN), &[(0.0, &flat)]);
            }
            for (to, n_sigma) in band.expected.iter_mut().zip(sigmas) {
                let value = asymptotic::expected(n_sigma, tested.q_asimov).cls;
                *to = combined(value.unwrap_or(f64::NAN), &[(0.0, &flat)]);
            }
            tests.tester.notes.extend(powerless.note());
        } else if let Some(asimov) = &asimov {
            let (by_q, by_asimov) = asymptotic::observed_slopes(statistic, tested.q, tested.q_asimov);
            let value = asymptotic::observed(statistic, tested.q, tested.q_asimov).cls;
            band.observed = combined(value.unwrap_or(f64::NAN), &[(by_q, &observed), (by_asimov, asimov)]);
            for (to, n_sigma) in band.expected.iter_mut().zip(sigmas) {
                let value = asymptotic::expected(n_sigma, tested.q_asimov).cls.unwrap_or(f64::NAN);
                *to = combined(value, &[(asymptotic::expected_slope(n_sigma, tested.q_asimov), asimov)]);
            }
        }
        (band.converged, band.warnings) = (tests.tester.converged, tests.tester.notes);
        Ok(band)
    }

    /// Returns the observed and expected significance of a discovery, in standard deviations, with derivatives
    /// with respect to the inputs.
    ///
    /// # Errors
    /// The errors of [`crate::significance()`].
    pub fn significance(&self, yields: &[f64]) -> Result<Band, InferenceError> {
        let data = self.inner.data(yields)?;
        let (tester, tested) = begin(self.analysis(&data)?, TestStatistic::Q0, 0.0, "a significance")?;
        let tests = Tests::new(self, yields, data, tester)?;
        let root = |q: f64, slopes: &Slopes| match q > 0.0 {
            true => combined(q.sqrt(), &[(0.5 / q.sqrt(), slopes)]),
            false => combined(q, &[(0.0, slopes)]),
        };
        let observed = root(tested.q, &tests.observed(&tested)?);
        let expected = match tests.of_asimov(&tested)? {
            Some(slopes) => root(tested.q_asimov, &slopes),
            None if tested.q_asimov == 0.0 => {
                let flat = Slopes { yields: vec![0.0; yields.len()], by_mu: 0.0, one_sided: true };
                root(0.0, &flat)
            }
            None => Differentiated::missing(yields.len()),
        };
        let Tester { converged, notes, .. } = tests.tester;
        Ok(Band { observed, expected: vec![expected], converged, warnings: notes })
    }

    /// Returns the observed and expected CLs upper limits at the confidence level `cl`, with derivatives with respect
    /// to the inputs. A limit that does not exist is NaN, and a warning gives the reason.
    ///
    /// The limit `mu` satisfies `CLs(mu, x) = 1 - cl`. The derivative of the limit with respect to an input `x` is
    /// `-(dCLs/dx) / (dCLs/dmu)`.
    ///
    /// # Errors
    /// The errors of [`crate::upper_limit()`].
    pub fn upper_limit(
        &self,
        statistic: TestStatistic,
        cl: f64,
        yields: &[f64],
    ) -> Result<Band, InferenceError> {
        let data = self.inner.data(yields)?;
        let options = LimitOptions::default().fit(self.fit_options()).statistic(statistic).cl(cl);
        let (result, tester) = upper_limit_at(self.analysis(&data)?, &options)?;
        let tests = Tests::new(self, yields, data, tester)?;
        let n = yields.len();
        let mut band = Band { converged: result.converged, warnings: result.warnings, ..Band::default() };
        band.observed = Differentiated::missing(n);
        if let Some(mu) = result.observed
            && let Some(tested) = tests.tester.known(mu, true)
            && let Some(asimov) = tests.of_asimov(&tested)?
        {
            let observed = tests.observed(&tested)?;
            let (by_q, by_asimov) = asymptotic::observed_slopes(statistic, tested.q, tested.q_asimov);
            let by_mu = by_q * observed.by_mu + by_asimov * asimov.by_mu;
            band.observed = combined(mu, &[(-by_q / by_mu, &observed), (-by_asimov / by_mu, &asimov)]);
        }
        for mu in result.expected {
            let mut limit = Differentiated::missing(n);
            if let Some(mu) = mu
                && let Some(tested) = tests.tester.known(mu, false)
                && let Some(asimov) = tests.of_asimov(&tested)?
            {
                limit = combined(mu, &[(-1.0 / asimov.by_mu, &asimov)]);
            }
            band.expected.push(limit);
        }
        Ok(band)
    }
}
