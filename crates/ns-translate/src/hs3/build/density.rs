//! Densities of observables.

use ns_core::{Density, Tail, Value};

use crate::hs3::check;
use crate::hs3::document::{Arg, Argument, Distribution, Named};
use crate::pyhf::names::quoted;
use crate::pyhf::problem::Report;

use super::channel::Space;
use super::{Builder, Trouble};

impl Builder<'_, '_> {
    /// Returns the position of the distribution that an argument names. Reports a number in its place; other names have been
    /// reported with the references.
    pub(super) fn density_of(&mut self, argument: &Arg) -> Result<usize, Trouble> {
        if let Argument::Number(number) = argument.value {
            let message = format!("{number} is no density.");
            self.report.error(argument.path.clone(), message, "Write the name of a distribution.");
        }
        self.index.named_distribution(argument).ok_or(Trouble::Reported)
    }

    /// Returns the density of a distribution over the observables of a channel.
    pub(super) fn density(&mut self, i: usize, space: &Space) -> Result<Density, Trouble> {
        let Some(distribution) = self.index.document.distributions.get(i) else {
            return Err(Trouble::Reported);
        };
        self.count_density(&distribution.path)?;
        match self.direct(distribution, space) {
            // A density that `direct` cannot express becomes an expression, which is normalised numerically.
            Err(Trouble::Observables) => self.generic(&[i], &distribution.path, space),
            other => other,
        }
    }

    /// Returns the product of distributions. Factors with common observables are normalised together.
    pub(super) fn product(
        &mut self,
        factors: &[usize],
        path: &str,
        space: &Space,
    ) -> Result<Density, Trouble> {
        if let [only] = factors {
            return self.density(*only, space);
        }
        let mut taken = vec![false; space.observables.len()];
        let mut disjoint = true;
        for factor in factors {
            let leaves = self.leaves(crate::hs3::index::Object::Distribution(*factor));
            for leaf in leaves.iter() {
                if let Some(x) = space.observable(leaf) {
                    disjoint &= !std::mem::replace(&mut taken[x], true);
                }
            }
        }
        let given = factors.iter().any(|factor| self.may_be_given(*factor));
        if !disjoint && !given {
            return self.generic(factors, path, space);
        }
        let densities: Result<Vec<Density>, Trouble> =
            factors.iter().map(|factor| self.density(*factor, space)).collect();
        let densities = densities?;
        let mut own: Vec<usize> = densities.iter().flat_map(Density::own_observables).collect();
        let count = own.len();
        own.sort_unstable();
        own.dedup();
        if own.len() < count {
            self.report.error(
                path.to_owned(),
                "Two factors are densities of the same observable, and one of them depends on given observables.",
                "Write one density of this observable.",
            );
            return Err(Trouble::Reported);
        }
        Ok(Density::Product(densities))
    }

    /// Returns whether a distribution may be a density at given values of observables, or contain one.
    fn may_be_given(&self, i: usize) -> bool {
        let mut open = vec![i];
        let mut seen = std::collections::BTreeSet::new();
        while let Some(i) = open.pop() {
            if !seen.insert(i) {
                continue;
            }
            let content = self.index.document.distributions.get(i).map(|distribution| &distribution.content);
            let parts = match content {
                Some(Distribution::Decay { .. } | Distribution::Given { .. }) => return true,
                Some(
                    Distribution::Product { factors: parts } | Distribution::Mixture { summands: parts, .. },
                ) => parts,
                _ => continue,
            };
            open.extend(parts.iter().filter_map(|part| self.index.named_distribution(part)));
        }
        false
    }

    /// Returns the index of a distribution of the file.
    fn position(&self, distribution: &Named<Distribution>) -> Result<usize, Trouble> {
        let all = &self.index.document.distributions;
        all.iter().position(|other| other.path == distribution.path).ok_or(Trouble::Reported)
    }

    /// Returns the position, among the observables of the channel, of the observable that an argument names.
    pub(super) fn observable(&self, argument: &Arg, space: &Space) -> Result<usize, Trouble> {
        match &argument.value {
            Argument::Name(name) => space.observable(name).ok_or(Trouble::Observables),
            _ => Err(Trouble::Observables),
        }
    }

    /// Returns a distribution as a density for which the engine has a formula. This is possible if its observables
    /// are plain names and its parameters do not depend on observables.
    pub(super) fn direct(
        &mut self,
        distribution: &Named<Distribution>,
        space: &Space,
    ) -> Result<Density, Trouble> {
        use Distribution as D;
        let index = self.index;
        let path = &distribution.path;
        Ok(match &distribution.content {
            D::Gaussian { x, mean, sigma } => {
                // The formula is symmetric in x and mean.
                let (x, mean) = if self.observable(x, space).is_ok() { (x, mean) } else { (mean, x) };
                let x = self.observable(x, space)?;
                Density::Gaussian { x, mean: self.value(mean, space)?, sigma: self.value(sigma, space)? }
            }
            D::BifurcatedGaussian { x, mean, left, right } => Density::BifurcatedGaussian {
                x: self.observable(x, space)?,
                mean: self.value(mean, space)?,
                sigma_left: self.value(left, space)?,
                sigma_right: self.value(right, space)?,
            },
            D::Exponential { x, c } => {
                Density::Exponential { x: self.observable(x, space)?, slope: self.value(c, space)? }
            }
            D::Argus { mass, resonance, slope, power } => Density::Argus {
                x: self.observable(mass, space)?,
                resonance: self.value(resonance, space)?,
                slope: self.value(slope, space)?,
                power: self.value(power, space)?,
            },
            D::CrystalBall { x, mean, left, right, tails } => {
                let x = self.observable(x, space)?;
                let mean = self.value(mean, space)?;
                let (sigma_left, sigma_right) = (self.value(left, space)?, self.value(right, space)?);
                let mut tail = |tail: &Option<(Arg, Arg)>| match tail {
                    None => Ok(None),
                    Some((alpha, n)) => {
                        Ok(Some(Tail { alpha: self.value(alpha, space)?, n: self.value(n, space)? }))
                    }
                };
                let (left, right) = (tail(&tails.left)?, tail(&tails.right)?);
                Density::CrystalBall { x, mean, sigma_left, sigma_right, left, right }
            }
            D::Chebychev { x, coefficients } => Density::Chebyshev {
                x: self.observable(x, space)?,
                coefficients: self.values(coefficients, space)?,
            },
            D::Polynomial { x, coefficients } => Density::Polynomial {
                x: self.observable(x, space)?,
                coefficients: self.some(coefficients, path, space)?,
            },
            D::Bernstein { x, coefficients } => Density::Bernstein {
                x: self.observable(x, space)?,
                coefficients: self.some(coefficients, path, space)?,
            },
            D::Uniform { x } => {
                let mut flat = Vec::new();
                for x in x {
                    flat.push(Density::Uniform { x: self.observable(x, space)? });
                }
                match flat.pop() {
                    Some(only) if flat.is_empty() => only,
                    last => Density::Product(flat.into_iter().chain(last).collect()),
                }
            }
            D::Lognormal { x, mu, sigma } => Density::Lognormal {
                x: self.observable(x, space)?,
                mu: self.value(mu, space)?,
                sigma: self.value(sigma, space)?,
            },
            D::GeneralizedNormal { x, mean, alpha, beta } => Density::GeneralizedNormal {
                x: self.observable(x, space)?,
                mean: self.value(mean, space)?,
                alpha: self.value(alpha, space)?,
                beta: self.value(beta, space)?,
            },
            D::BreitWigner { x, mean, width } => Density::BreitWigner {
                x: self.observable(x, space)?,
                mean: self.value(mean, space)?,
                width: self.value(width, space)?,
            },
            D::Voigt { x, mean, width, sigma } => Density::Voigt {
                x: self.observable(x, space)?,
                mean: self.value(mean, space)?,
                width: self.value(width, space)?,
                sigma: self.value(sigma, space)?,
            },
            D::JohnsonSu { x, mu, lambda, gamma, delta } => Density::JohnsonSu {
                x: self.observable(x, space)?,
                mean: self.value(mu, space)?,
                width: self.value(lambda, space)?,
                gamma: self.value(gamma, space)?,
                delta: self.value(delta, space)?,
            },
            D::MultivariateNormal { x, mean, covariances } => {
                let observables: Result<Vec<usize>, Trouble> =
                    x.iter().map(|x| self.observable(x, space)).collect();
                self.check_matrix(x.len(), mean.len(), covariances, path)?;
                let row = |row: &Vec<f64>| row.iter().map(|c| Value::Number(*c)).collect();
                Density::MultivariateNormal {
                    observables: observables?,
                    mean: self.values(mean, space)?,
                    covariance: covariances.iter().map(row).collect(),
                }
            }
            D::Spline { x, knots, values, kind } => {
                if kind.value != "natural_cubic" {
                    self.unsupported(
                        &kind.path,
                        &format!("Splines of kind {}", quoted(&kind.value)),
                        "Use \"natural_cubic\".",
                    );
                    return Err(Trouble::Reported);
                }
                Density::Spline {
                    x: self.observable(x, space)?,
                    knots: knots.clone(),
                    values: values.iter().map(|value| Value::Number(*value)).collect(),
                }
            }
            D::Flow { .. } => self.flow(self.position(distribution)?, space)?,
            D::Histogram { axes, contents } => {
                let observables: Option<Vec<usize>> =
                    axes.iter().map(|axis| space.observable(&axis.name)).collect();
                let edges: Option<Vec<Vec<f64>>> =
                    axes.iter().map(|axis| check::edges(axis, &mut Report::default())).collect();
                let (Some(observables), Some(edges)) = (observables, edges) else {
                    self.report.error(
                        format!("{path}/data/axes"),
                        format!(
                            "The histogram {} has an axis that its data do not have.",
                            quoted(&distribution.name)
                        ),
                        "Name the axes as those of the data.",
                    );
                    return Err(Trouble::Reported);
                };
                let heights = heights(&edges, contents);
                Density::Histogram { observables, edges, heights }
            }
            D::Template(template) => {
                self.template(template, (distribution.name.as_str(), path.as_str()), space)?
            }
            D::Mixture { .. } => self.mixture(self.position(distribution)?, space)?,
            D::Product { factors } => {
                let factors: Vec<usize> =
                    factors.iter().filter_map(|factor| index.named_distribution(factor)).collect();
                self.product(&factors, path, space)?
            }
            D::RateExtended { distribution, .. } => {
                // Inside another density, the expected number of events is not used.
                match index.named_distribution(distribution) {
                    Some(inner) => self.density(inner, space)?,
                    None => return Err(Trouble::Reported),
                }
            }
            D::Convolution { .. } => self.convolution(distribution, space)?,
            D::Projected { density, hidden } => self.projected(distribution, (density, hidden), space)?,
            D::Decay { .. } => self.decay(distribution, space)?,
            D::Given { inner, observables } => self.conditional((distribution, inner), observables, space)?,
            D::Truth { .. } | D::GaussModel { .. } | D::MixtureModel { .. } => {
                let what = "A resolution as a density of its own";
                self.unsupported(
                    path,
                    what,
                    "Name it as the resolutionModel of a decay_dist, or write a gaussian_dist.",
                );
                return Err(Trouble::Reported);
            }
            D::WeightedSum { .. }
            | D::PowerSum { .. }
            | D::Landau { .. }
            | D::Generic { .. }
            | D::DensityFunction { .. }
            | D::EfficiencyProduct { .. }
            | D::Gamma { .. } => {
                return Err(Trouble::Observables);
            }
            D::Poisson { .. } => {
                let what = "A Poisson distribution of an observable beside other densities";
                self.unsupported(path, what, "Give it its own data, or use its count as a constraint.");
                return Err(Trouble::Reported);
            }
            D::HistFactory(_) => {
                let what = "A histfactory_dist within a product or a mixture of densities";
                self.unsupported(path, what, "Make it a channel of its own in the likelihood.");
                return Err(Trouble::Reported);
            }
            D::Unsupported { kind } => {
                let what = format!("Distributions of type {}", quoted(kind));
                self.unsupported(
                    &format!("{path}/type"),
                    &what,
                    "Write it as a generic_dist, if it has a formula.",
                );
                return Err(Trouble::Reported);
            }
        })
    }

    /// Returns the values of the coefficients `arguments`. Reports an error if the list is empty.
    fn some(&mut self, arguments: &[Arg], path: &str, space: &Space) -> Result<Vec<Value>, Trouble> {
        if arguments.is_empty() {
            let remedy = "Write at least one coefficient.";
            self.report.error(format!("{path}/coefficients"), "There is no coefficient.", remedy);
            return Err(Trouble::Reported);
        }
        self.values(arguments, space)
    }

    /// Reports a part of the model that is not supported.
    pub(super) fn unsupported(&mut self, path: &str, what: &str, remedy: &str) {
        let (verb, what) = if what.starts_with("A ") { ("is", what) } else { ("are", what) };
        self.report.error(path.to_owned(), format!("{what} {verb} not supported."), remedy);
    }

    /// Checks the lengths of the arrays of a multivariate normal distribution, and that its covariance matrix is
    /// symmetric.
    pub(super) fn check_matrix(
        &mut self,
        n: usize,
        means: usize,
        rows: &[Vec<f64>],
        path: &str,
    ) -> Result<(), Trouble> {
        let square = rows.len() == n && rows.iter().all(|row| row.len() == n);
        let symmetric = square
            && (0..n).all(|i| {
                (0..i)
                    .all(|j| (rows[i][j] - rows[j][i]).abs() <= 1e-9 * (rows[i][i] * rows[j][j]).abs().sqrt())
            });
        if n == 0 || means != n || !symmetric {
            self.report.error(
                format!("{path}/covariances"),
                format!("There are {n} variables and {means} means, and the covariances are no symmetric matrix of that size."),
                "Write a symmetric matrix with a row per variable.",
            );
            return Err(Trouble::Reported);
        }
        Ok(())
    }
}

/// Returns the content of each bin divided by the volume of the bin.
pub(super) fn heights(edges: &[Vec<f64>], contents: &[f64]) -> Vec<f64> {
    let mut heights = contents.to_vec();
    let mut repeat = 1;
    for edges in edges.iter().rev() {
        let widths: Vec<f64> = edges.windows(2).map(|pair| pair[1] - pair[0]).collect();
        for (bin, height) in heights.iter_mut().enumerate() {
            *height /= widths[bin / repeat % widths.len()];
        }
        repeat *= widths.len();
    }
    heights
}
