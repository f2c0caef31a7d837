//! `POST /v1/gof`: saturated goodness of fit.

use ns_inference::goodness::DEFAULT_BINS;
use ns_inference::{
    EventStatistic, FitOptions, Work, event_goodness_of_fit, goodness_of_fit, goodness_of_fit_toys,
};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::run::no_picture;
use super::{Analysis, Answer, Run, body};
use crate::problem::ServerError;

body! {
    /// Body of the request for a goodness-of-fit test.
    GofBody {
        /// Options of the fit.
        #[serde(default)]
        #[schema(value_type = Object)]
        options: FitOptions,
        /// `chi2` or `ks` compares events with their density. If the key is absent, the data are compared
        /// with the saturated model.
        #[serde(default, deserialize_with = "statistic")]
        #[schema(value_type = Option<String>)]
        statistic: Option<EventStatistic>,
        /// Number of bins of each observable for `chi2`; 20 by default.
        #[serde(default)]
        bins: Option<usize>,
        /// Number of toys for the p-value. If the key is absent, only the asymptotic p-value is computed.
        #[serde(default)]
        n_toys: Option<u64>,
        /// Seed of the toys.
        #[serde(default)]
        seed: u64,
    }
}

/// Parses the statistic. `None` means the comparison with the saturated model.
fn statistic<'de, D: Deserializer<'de>>(from: D) -> Result<Option<EventStatistic>, D::Error> {
    let word = Option::<String>::deserialize(from)?.filter(|word| word != "saturated");
    word.map(|word| word.parse().map_err(D::Error::custom)).transpose()
}

impl Analysis for GofBody {
    const NAME: &'static str = "gof";

    fn wait_s(&self) -> Option<f64> {
        self.wait_s
    }

    fn run(&self, run: Run<'_>) -> Result<Answer, ServerError> {
        let work = self.n_toys.map_or(Work::Test, |toys| Work::Toys { toys, fits: 1 });
        let opened = run.open(&self.model, self.device, work)?;
        let (model, session, control) = (opened.model(), &opened.session, run.control());
        if let Some(statistic) = self.statistic {
            let of = (statistic, self.bins.unwrap_or(DEFAULT_BINS));
            let toys = self.n_toys.map(|n_toys| (n_toys, self.seed));
            let result = event_goodness_of_fit(model, session, &self.options, of, toys, control)?;
            return run.answer(opened, &result, no_picture);
        }
        let result = match self.n_toys {
            None => goodness_of_fit(model, session, &self.options, control),
            Some(n_toys) => goodness_of_fit_toys(model, session, &self.options, n_toys, self.seed, control),
        }?;
        run.answer(opened, &result, no_picture)
    }
}
