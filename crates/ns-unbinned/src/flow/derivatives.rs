//! Log-densities of flows, and their first and second derivatives with respect to the context. The context is the
//! list of numbers on which the density is conditioned.

use ns_core::LogProbError;

use super::pdf::FlowPdf;

/// Default steps of the finite differences that give second derivatives, for graphs with 64-bit and with 32-bit
/// numbers. They are used if a graph gives the first derivatives and the manifest has no steps. For a function whose
/// values and derivatives are about 1, these steps balance the error due to the third derivative against rounding
/// errors.
const DEFAULT_STEPS: [f64; 2] = [1e-4, 1e-2];

/// Returns the number of columns that the results of [`FlowPdf::derivatives`] have for `c` context variables. There
/// is one column for the log-density and one for each first and second derivative.
pub(super) fn width(c: usize) -> usize {
    1 + c + c * (c + 1) / 2
}

/// Returns the index of the column with the second derivative with respect to the context variables `i` and `j`. `c`
/// is the number of context variables.
pub(super) fn second(c: usize, i: usize, j: usize) -> usize {
    let (i, j) = if i < j { (j, i) } else { (i, j) };
    1 + c + i * (i + 1) / 2 + j
}

/// The results of one call, column after column. Each column has one number for each of the `n` events.
struct Columns<'a> {
    n: usize,
    out: &'a mut [f64],
}

impl Columns<'_> {
    fn at(&mut self, column: usize) -> &mut [f64] {
        self.out.get_mut(column * self.n..(column + 1) * self.n).unwrap_or_default()
    }
}

impl FlowPdf {
    /// Returns the step of finite differences for each context variable, in the order of the manifest.
    pub(super) fn second_steps(&self) -> Vec<f64> {
        let default = DEFAULT_STEPS[usize::from(self.is_single())];
        (0..self.order().len()).map(|k| self.steps().get(k).copied().unwrap_or(default)).collect()
    }

    /// Writes the log-densities of `events`, and their first and second derivatives with respect to the context, to
    /// `out`, column after column. `events` has one row of features per event. The numbers in `context` are in the
    /// order of the manifest. The columns of derivatives are in the order in which the caller lists the context.
    pub(super) fn derivatives(
        &self,
        events: &[f64],
        context: &[f64],
        out: &mut [f64],
    ) -> Result<(), LogProbError> {
        let c = context.len();
        let n = events.len() / self.features().len();
        self.length("the derivatives", out.len(), n * width(c))?;
        let mut columns = Columns { n, out };
        self.evaluate(events, context, columns.at(0), false)?;
        if self.has_gradient() {
            self.differentiate_gradients(events, context, &mut columns)?;
        } else {
            self.differentiate_logs(events, context, &mut columns)?;
        }
        self.check_derivatives(events, c, &mut columns)
    }

    /// Returns a copy of the context with some variables increased. `moves` has pairs of the index of a variable and
    /// the amount.
    fn moved(context: &[f64], moves: &[(usize, f64)]) -> Vec<f64> {
        let mut moved = context.to_vec();
        for &(k, by) in moves {
            moved.iter_mut().skip(k).take(1).for_each(|x| *x += by);
        }
        moved
    }

    /// Computes derivatives with a graph that gives first derivatives. Second derivatives are central differences of
    /// the first derivatives. A mixed second derivative is the mean of the two possible differences.
    fn differentiate_gradients(
        &self,
        events: &[f64],
        context: &[f64],
        columns: &mut Columns<'_>,
    ) -> Result<(), LogProbError> {
        let (n, c) = (columns.n, context.len());
        let (mut here, mut up, mut down) = (vec![0.0; n * c], vec![0.0; n * c], vec![0.0; n * c]);
        self.gradients(events, context, &mut here)?;
        for (k, &place) in self.order().iter().enumerate() {
            let own = here.iter().skip(k).step_by(c);
            columns.at(1 + place).iter_mut().zip(own).for_each(|(to, from)| *to = *from);
            (0..=k).for_each(|l| columns.at(second(c, k, l)).fill(0.0));
        }
        for ((k, step), &place) in self.second_steps().iter().enumerate().zip(self.order()) {
            self.gradients(events, &Self::moved(context, &[(k, *step)]), &mut up)?;
            self.gradients(events, &Self::moved(context, &[(k, -step)]), &mut down)?;
            for (l, &other) in self.order().iter().enumerate() {
                let share = if k == l { 1.0 } else { 0.5 } / (2.0 * step);
                let pairs = up.iter().zip(&down).skip(l).step_by(c);
                let to = columns.at(second(c, place, other)).iter_mut();
                to.zip(pairs).for_each(|(to, (up, down))| *to += share * (up - down));
            }
        }
        Ok(())
    }

    /// Computes first and second derivatives as finite differences of log-densities. The log-densities are computed
    /// with one context variable moved up and down by its step. For mixed derivatives, two context variables are
    /// moved at the same time, in all four combinations of up and down.
    fn differentiate_logs(
        &self,
        events: &[f64],
        context: &[f64],
        columns: &mut Columns<'_>,
    ) -> Result<(), LogProbError> {
        let (n, c) = (columns.n, context.len());
        let here = columns.at(0).to_vec();
        let mut grid = [vec![0.0; n], vec![0.0; n], vec![0.0; n], vec![0.0; n]];
        for ((k, step), &place) in self.steps().iter().enumerate().zip(self.order()) {
            let [up, down, ..] = &mut grid;
            self.evaluate(events, &Self::moved(context, &[(k, *step)]), up, false)?;
            self.evaluate(events, &Self::moved(context, &[(k, -step)]), down, false)?;
            let both = up.iter().zip(down.iter());
            let to = columns.at(1 + place).iter_mut();
            to.zip(both.clone()).for_each(|(to, (up, down))| *to = (up - down) / (2.0 * step));
            let to = columns.at(second(c, place, place)).iter_mut();
            let three = both.zip(&here);
            to.zip(three).for_each(|(to, ((up, down), here))| {
                *to = ((up - here) - (here - down)) / (step * step);
            });
            for ((l, other_step), &other) in self.steps().iter().enumerate().zip(self.order()).take(k) {
                for (logs, (one, two)) in
                    grid.iter_mut().zip([(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)])
                {
                    let moves = [(k, one * step), (l, two * other_step)];
                    self.evaluate(events, &Self::moved(context, &moves), logs, false)?;
                }
                let [pp, pm, mp, mm] = &grid;
                let corners = pp.iter().zip(pm).zip(mp.iter().zip(mm));
                let to = columns.at(second(c, place, other)).iter_mut();
                to.zip(corners).for_each(|(to, ((pp, pm), (mp, mm)))| {
                    *to = ((pp - pm) - (mp - mm)) / (4.0 * step * other_step);
                });
            }
        }
        Ok(())
    }

    /// Sets all derivatives to 0 for events whose density is 0. Returns an error if a derivative is not finite.
    fn check_derivatives(
        &self,
        events: &[f64],
        c: usize,
        columns: &mut Columns<'_>,
    ) -> Result<(), LogProbError> {
        let zero: Vec<bool> = columns.at(0).iter().map(|log| *log == f64::NEG_INFINITY).collect();
        for column in 1..width(c) {
            let numbers = columns.at(column).iter_mut().zip(&zero);
            numbers.filter(|(_, zero)| **zero).for_each(|(x, _)| *x = 0.0);
            if let Some(event) = columns.at(column).iter().position(|x| !x.is_finite()) {
                let d = self.features().len();
                let at = events.get(event * d..(event + 1) * d).unwrap_or_default().to_vec();
                let value = columns.at(column).get(event).copied().unwrap_or(f64::NAN);
                let density = format!("derivative of {}", self.label());
                return Err(LogProbError::NotANumber { density, event, at, value });
            }
        }
        Ok(())
    }
}
