//! Reports of confidence regions.

use super::toys::rate;
use super::{Part, Table};
use crate::RegionResult;
use crate::present::{count, or_none, percent, significant, with_error};

impl RegionResult {
    /// Returns the report of a region, with one row per direction.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let has_toys = self.method == "feldman-cousins";
        let [first, second] = &self.params;
        let law = [format!("{first} by chi2"), format!("{second} by chi2")];
        let mut table = Table::new(&["direction", first, second, &law[0], &law[1]], &[0, 1, 2, 3, 4]);
        for point in &self.border {
            let cell = |k: usize| {
                let at = |pair: Option<[f64; 2]>| pair.and_then(|pair| pair.get(k).copied());
                with_error(at(point.at), at(point.error).filter(|error| *error > 0.0))
            };
            let law = |k: usize| or_none(point.asymptotic.and_then(|pair| pair.get(k).copied()));
            let angle = format!("{:.0}°", point.angle.to_degrees());
            table.row([angle, cell(0), cell(1), law(0), law(1)]);
        }
        let how = if has_toys { "Feldman-Cousins" } else { "likelihood ratio" };
        let heading = format!("region of {first} and {second} at {} % confidence, {how}", percent(self.cl));
        let [x, y] = self.best_fit.map(significant);
        let mut lines = vec![format!("best fit {first} = {x}, {second} = {y}")];
        if has_toys {
            lines.push(format!(
                "{} toys at {}, seed {}{}",
                self.n_toys,
                count(self.points.len(), "point"),
                self.seed,
                rate(self.toys_per_s),
            ));
        }
        let largest = self.border.iter().filter_map(|point| point.relative_error).fold(0.0, f64::max);
        let spacing = self.spacing_error.map_or_else(|| or_none(None), significant);
        if has_toys {
            lines.push(format!(
                "largest error of the border {} by toys and {spacing} between the directions, accepted {}",
                significant(largest),
                significant(self.accepted_error)
            ));
        } else {
            lines.push(format!("largest error of the border between the directions {spacing}"));
        }
        let bounds = self.border.iter().filter(|point| point.at_bound).count();
        if bounds > 0 {
            lines.push(format!("the region goes to a bound in {bounds} of {} directions", self.border.len()));
        }
        vec![Part::Text(heading), Part::Table(table), Part::Text(lines.join("\n"))]
    }
}
