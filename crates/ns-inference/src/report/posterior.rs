//! Reports of samples of a posterior.

use super::{Part, Table};
use crate::PosteriorResult;
use crate::present::{count, measurement, or_none, percent, significant, with_error};

impl PosteriorResult {
    /// Returns the report of a posterior, with one row per free parameter.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let cl = percent(self.cl);
        let (interval, limit) = (format!("{cl} % interval"), format!("{cl} % limit"));
        let titles = ["parameter", "mean ± sd", "median", &interval, &limit, "R-hat", "ESS bulk", "ESS tail"];
        let mut table = Table::new(&titles, &[1, 2, 3, 4, 5, 6, 7]);
        let whole = |x: Option<f64>| x.map_or_else(|| "none".to_owned(), |x| format!("{x:.0}"));
        for p in &self.parameters {
            table.row([
                p.name.clone(),
                measurement(p.mean, p.sd),
                significant(p.median),
                format!("{} to {}", significant(p.lower), significant(p.upper)),
                with_error(Some(p.upper_limit), p.upper_limit_error),
                p.r_hat.map_or_else(|| or_none(None), |r| format!("{r:.4}")),
                whole(p.ess_bulk),
                whole(p.ess_tail),
            ]);
        }
        let closing = format!(
            "{} of {} draws each, after {} for adaptation, {} gradients, seed {}\n{} from paths that diverged",
            count(self.n_chains, "chain"),
            self.n_draws,
            self.n_tune,
            self.n_gradients,
            self.seed,
            count(usize::try_from(self.n_divergent).unwrap_or(usize::MAX), "draw"),
        );
        vec![
            Part::Text(
                "posterior: constraint terms as priors, flat within the bounds for free parameters"
                    .to_owned(),
            ),
            Part::Table(table),
            Part::Text(closing),
        ]
    }
}
