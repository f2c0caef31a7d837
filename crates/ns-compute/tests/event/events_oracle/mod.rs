//! The likelihood of events, computed for one event after the other, without code of the engine. Densities are plain
//! functions that are normalised by a fine Gauss-Legendre rule.

// Not every test uses every function.
#![allow(dead_code, clippy::panic)]

mod decay;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use ns_core::{
    Constraint, Density, EventChannel, EventTable, Given, HistosysCode, Interpolation, Model, Observable,
    Observations, Parameter, ParameterSet, Process, Value,
};

/// Returns the value of a density before normalisation. The function `q` returns the number that a [`Value`] stands
/// for.
pub(crate) fn density(
    density: &Density,
    axes: &[Observable],
    event: &[f64],
    q: &dyn Fn(Value) -> f64,
) -> f64 {
    match density {
        Density::Gaussian { x, mean, sigma } => (-0.5 * ((event[*x] - q(*mean)) / q(*sigma)).powi(2)).exp(),
        Density::BifurcatedGaussian { x, mean, sigma_left, sigma_right } => {
            let distance = event[*x] - q(*mean);
            let sigma = if distance < 0.0 { q(*sigma_left) } else { q(*sigma_right) };
            (-0.5 * (distance / sigma).powi(2)).exp()
        }
        Density::Exponential { x, slope } => (-q(*slope) * event[*x]).exp(),
        Density::CrystalBall { x, mean, sigma_left, sigma_right, left, right } => {
            let distance = event[*x] - q(*mean);
            let t = if distance < 0.0 { distance / q(*sigma_left) } else { distance / q(*sigma_right) };
            let tail = if t < 0.0 { left } else { right };
            match tail {
                Some(tail) if t.abs() > q(tail.alpha) => {
                    let (alpha, n) = (q(tail.alpha), q(tail.n));
                    (n / alpha).powf(n)
                        * (-0.5 * alpha * alpha).exp()
                        * (n / alpha - alpha + t.abs()).powf(-n)
                }
                _ => (-0.5 * t * t).exp(),
            }
        }
        Density::Argus { x, resonance, slope, power } => {
            let u = 1.0 - (event[*x] / q(*resonance)).powi(2);
            if u > 0.0 { event[*x] * u.powf(q(*power)) * (q(*slope) * u).exp() } else { 0.0 }
        }
        Density::BreitWigner { x, mean, width } => {
            1.0 / ((event[*x] - q(*mean)).powi(2) + 0.25 * q(*width).powi(2))
        }
        Density::Voigt { x, mean, width, sigma } => {
            // The convolution, by a trapezoidal rule over 8 standard deviations.
            let (distance, half, sigma) = (event[*x] - q(*mean), 0.5 * q(*width), q(*sigma));
            let term = |i: i32| {
                let t = 0.01 * f64::from(i) * sigma;
                (-0.5 * (t / sigma).powi(2)).exp() * half / ((distance - t).powi(2) + half * half)
            };
            (-800..=800).map(term).sum()
        }
        Density::JohnsonSu { x, mean, width, gamma, delta } => {
            let z = (event[*x] - q(*mean)) / q(*width);
            (-0.5 * (q(*gamma) + q(*delta) * z.asinh()).powi(2)).exp() / (1.0 + z * z).sqrt()
        }
        Density::Polynomial { x, coefficients } => {
            coefficients.iter().enumerate().map(|(i, c)| q(*c) * event[*x].powi(i as i32)).sum()
        }
        Density::Chebyshev { x, coefficients } => {
            let axis = &axes[*x];
            let z = 2.0 * (event[*x] - axis.min) / (axis.max - axis.min) - 1.0;
            let angle = z.clamp(-1.0, 1.0).acos();
            1.0 + coefficients
                .iter()
                .enumerate()
                .map(|(i, c)| q(*c) * ((i as f64 + 1.0) * angle).cos())
                .sum::<f64>()
        }
        Density::Bernstein { x, coefficients } => {
            let axis = &axes[*x];
            let u = (event[*x] - axis.min) / (axis.max - axis.min);
            let n = coefficients.len() as i32 - 1;
            let choose = |k: i32| (0..k).fold(1.0, |c, i| c * f64::from(n - i) / f64::from(i + 1));
            (0..=n)
                .zip(coefficients)
                .map(|(k, c)| q(*c) * choose(k) * u.powi(k) * (1.0 - u).powi(n - k))
                .sum()
        }
        Density::Lognormal { x, mu, sigma } => {
            (-0.5 * ((event[*x].ln() - q(*mu)) / q(*sigma)).powi(2)).exp() / event[*x]
        }
        Density::GeneralizedNormal { x, mean, alpha, beta } => {
            (-((event[*x] - q(*mean)).abs() / q(*alpha)).powf(q(*beta))).exp()
        }
        Density::MultivariateNormal { observables, mean, covariance } => {
            let [x, y] = observables[..] else { panic!("the oracle knows two dimensions") };
            let (dx, dy) = (event[x] - q(mean[0]), event[y] - q(mean[1]));
            let (a, b, c) = (q(covariance[0][0]), q(covariance[0][1]), q(covariance[1][1]));
            (-0.5 * (c * dx * dx - 2.0 * b * dx * dy + a * dy * dy) / (a * c - b * b)).exp()
        }
        Density::Spline { x, knots, values } => {
            let values: Vec<f64> = values.iter().map(|value| q(*value)).collect();
            spline(knots, &values, event[*x])
        }
        Density::Uniform { .. } => 1.0,
        Density::Histogram { observables, edges, heights } => {
            let mut index = 0;
            for (x, edges) in observables.iter().zip(edges) {
                let bin = edges.windows(2).position(|pair| (pair[0]..pair[1]).contains(&event[*x]));
                let Some(bin) = bin else { return 0.0 };
                index = index * (edges.len() - 1) + bin;
            }
            heights[index]
        }
        Density::Template { observables, edges, heights, variations } => {
            let own = |heights: &[f64]| {
                let (observables, edges) = (observables.clone(), edges.clone());
                let histogram = Density::Histogram { observables, edges, heights: heights.to_vec() };
                self::density(&histogram, axes, event, q)
            };
            let nominal = own(heights);
            let varied = variations.iter().filter(|v| v.shape).map(|v| {
                let (a, up, down) = (q(v.alpha), own(&v.hi) - nominal, nominal - own(&v.lo));
                // HistFactory (pyhf.interpolators): one side each, or the polynomial of code4p.
                match v.code {
                    HistosysCode::Code4p if a.abs() < 1.0 => {
                        let even = 15.0 * a.powi(2) - 10.0 * a.powi(4) + 3.0 * a.powi(6);
                        0.5 * (up + down) * a + 0.0625 * (up - down) * even
                    }
                    HistosysCode::Code2 if a.abs() < 1.0 => 0.5 * (up - down) * a * a + 0.5 * (up + down) * a,
                    HistosysCode::Code2 => {
                        let (s, b) = (0.5 * (up - down), 0.5 * (up + down));
                        if a > 0.0 {
                            (b + 2.0 * s) * (a - 1.0) + up
                        } else {
                            (b - 2.0 * s) * (a + 1.0) - down
                        }
                    }
                    _ if a > 0.0 => a * up,
                    _ => a * down,
                }
            });
            nominal + varied.sum::<f64>()
        }
        Density::Decay(of) => decay::decay(of, event[of.t], q),
        other => panic!("the oracle does not know the density {}", other.type_name()),
    }
}

/// Returns the value at `x` of the natural cubic spline through the points `(knots[i], values[i])`. The second
/// derivatives of the spline solve a linear system, which is solved by Gaussian elimination.
fn spline(knots: &[f64], values: &[f64], x: f64) -> f64 {
    let n = knots.len();
    let mut rows = vec![vec![0.0; n + 1]; n];
    (rows[0][0], rows[n - 1][n - 1]) = (1.0, 1.0);
    for i in 1..n - 1 {
        let (before, after) = (knots[i] - knots[i - 1], knots[i + 1] - knots[i]);
        (rows[i][i - 1], rows[i][i], rows[i][i + 1]) = (before / 6.0, (before + after) / 3.0, after / 6.0);
        rows[i][n] = (values[i + 1] - values[i]) / after - (values[i] - values[i - 1]) / before;
    }
    for k in 0..n {
        for i in k + 1..n {
            let factor = rows[i][k] / rows[k][k];
            for j in k..=n {
                rows[i][j] -= factor * rows[k][j];
            }
        }
    }
    let mut bends = vec![0.0; n];
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|j| rows[i][j] * bends[j]).sum();
        bends[i] = (rows[i][n] - known) / rows[i][i];
    }
    let i = (0..n - 2).find(|&i| x < knots[i + 1]).unwrap_or(n - 2);
    let h = knots[i + 1] - knots[i];
    let (a, b) = ((knots[i + 1] - x) / h, (x - knots[i]) / h);
    a * values[i]
        + b * values[i + 1]
        + ((a * a * a - a) * bends[i] + (b * b * b - b) * bends[i + 1]) * h * h / 6.0
}

/// Returns nodes and weights of the Gauss-Legendre rule with 24 nodes on [-1, 1], computed by Newton's
/// method.
fn legendre() -> Vec<(f64, f64)> {
    let n = 24;
    (0..n)
        .map(|k| {
            let mut x = (std::f64::consts::PI * (k as f64 + 0.75) / (n as f64 + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..50 {
                let (mut before, mut here) = (1.0, x);
                for j in 2..=n {
                    let j = j as f64;
                    (before, here) = (here, ((2.0 * j - 1.0) * x * here - (j - 1.0) * before) / j);
                }
                slope = n as f64 * (x * here - before) / (x * x - 1.0);
                x -= here / slope;
            }
            (x, 2.0 / ((1.0 - x * x) * slope * slope))
        })
        .collect()
}

/// Integrates a function over a box that is divided into many panels. Panels end at `breaks`, where the function may
/// have a kink. With one observable, the panels become geometrically smaller towards the upper end, where the slope
/// of the function may be infinite.
fn integrate((ends, fine): (&[(f64, f64)], bool), breaks: &[f64], f: &mut dyn FnMut(&[f64]) -> f64) -> f64 {
    let rule = legendre();
    let axis = |&(lo, hi): &(f64, f64)| -> Vec<(f64, f64)> {
        let panels = match (ends.len(), fine) {
            (1, true) => 60,
            (1, false) => 24,
            _ => 6,
        };
        let mut edges: Vec<f64> =
            (0..=panels).map(|i| lo + (hi - lo) * f64::from(i) / f64::from(panels)).collect();
        if ends.len() == 1 && fine {
            let last = (hi - lo) / f64::from(panels);
            edges.extend((1..60).map(|k| hi - last * 0.5_f64.powi(k)));
        }
        edges.extend(breaks.iter().filter(|x| (lo..hi).contains(*x)));
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        let nodes = edges.windows(2).flat_map(|pair| {
            let (centre, half) = (0.5 * (pair[0] + pair[1]), 0.5 * (pair[1] - pair[0]));
            rule.iter().map(move |(x, w)| (centre + half * x, half * w)).collect::<Vec<_>>()
        });
        nodes.collect()
    };
    let axes: Vec<Vec<(f64, f64)>> = ends.iter().map(axis).collect();
    let mut total = 0.0;
    let mut index = vec![0; ends.len()];
    loop {
        let event: Vec<f64> = axes.iter().zip(&index).map(|(axis, &i)| axis[i].0).collect();
        let weight: f64 = axes.iter().zip(&index).map(|(axis, &i)| axis[i].1).product();
        total += weight * f(&event);
        let mut axis = 0;
        loop {
            if axis == index.len() {
                return total;
            }
            index[axis] += 1;
            if index[axis] < axes[axis].len() {
                break;
            }
            index[axis] = 0;
            axis += 1;
        }
    }
}

/// Returns the points at which a density of one observable may have a kink.
fn breaks(of: &Density, q: &dyn Fn(Value) -> f64) -> Vec<f64> {
    match of {
        Density::BifurcatedGaussian { mean, .. } | Density::GeneralizedNormal { mean, .. } => vec![q(*mean)],
        Density::CrystalBall { mean, sigma_left, sigma_right, left, right, .. } => {
            let mut points = vec![q(*mean)];
            points.extend(left.map(|tail| q(*mean) - q(tail.alpha) * q(*sigma_left)));
            points.extend(right.map(|tail| q(*mean) + q(tail.alpha) * q(*sigma_right)));
            points
        }
        Density::Histogram { edges, .. } | Density::Template { edges, .. } => edges.concat(),
        Density::Spline { knots, .. } => knots.clone(),
        Density::Decay(_) => vec![0.0],
        Density::Product(parts) => parts.iter().flat_map(|part| breaks(part, q)).collect(),
        _ => Vec::new(),
    }
}

/// A channel at one point in parameter space, with the integrals of its densities.
struct Point<'a> {
    channel: &'a EventChannel,
    q: &'a dyn Fn(Value) -> f64,
    /// Integral of each density over the fit ranges. The key of the map is the memory address of the density.
    integrals: RefCell<HashMap<*const Density, f64>>,
    /// Whether integrals over one observable have many panels.
    fine: bool,
}

impl Point<'_> {
    /// Returns the value of a density at an event, normalised over the fit ranges of the channel.
    fn normalised(&self, of: &Density, event: &[f64]) -> f64 {
        match of {
            Density::Mixture { summands, coefficients } => {
                let given: Vec<f64> = coefficients.iter().map(|c| (self.q)(*c)).collect();
                let total: f64 = given.iter().sum();
                let share = |i: usize| match given.get(i) {
                    Some(c) if given.len() == summands.len() => c / total,
                    Some(c) => *c,
                    None => 1.0 - total,
                };
                summands.iter().enumerate().map(|(i, part)| share(i) * self.normalised(part, event)).sum()
            }
            Density::Given(given) => {
                let free = of.observables().into_iter().filter(|x| Some(*x) != given.own());
                let boxes = self.channel.boxes();
                let volume: f64 = free.map(|x| boxes[0][x].1 - boxes[0][x].0).product();
                self.given(given, event) / volume
            }
            Density::Product(parts) if parts.iter().any(|part| matches!(part, Density::Given(_))) => {
                let factor = |part: &Density| match part {
                    Density::Given(given) => self.given(given, event),
                    other => self.normalised(other, event),
                };
                parts.iter().map(factor).product()
            }
            other => self.unnormalised(other, event) / self.integral(other),
        }
    }

    /// Returns a density of one observable at given values of the others.
    fn given(&self, given: &Given, event: &[f64]) -> f64 {
        // The density is a new one at each event, so its integral must not be kept.
        let once = Point { channel: self.channel, q: self.q, integrals: RefCell::default(), fine: false };
        once.normalised(&decay::at_event(given, event, self.q), event)
    }

    fn integral(&self, of: &Density) -> f64 {
        let key: *const Density = of;
        let known = self.integrals.borrow().get(&key).copied();
        if let Some(known) = known {
            return known;
        }
        let own = of.observables();
        let mut regions: Vec<Vec<(f64, f64)>> = Vec::new();
        for region in self.channel.boxes() {
            let sides: Vec<(f64, f64)> = own.iter().map(|&x| region[x]).collect();
            if !regions.contains(&sides) {
                regions.push(sides);
            }
        }
        let points = breaks(of, self.q);
        let mut full = vec![0.0; self.channel.observables.len()];
        let mut total = 0.0;
        for sides in regions {
            total += integrate((&sides, self.fine), &points, &mut |node| {
                for (&x, &coordinate) in own.iter().zip(node) {
                    full[x] = coordinate;
                }
                self.unnormalised(of, &full)
            });
        }
        self.integrals.borrow_mut().insert(key, total);
        total
    }

    fn unnormalised(&self, of: &Density, event: &[f64]) -> f64 {
        match of {
            Density::Product(parts) => parts.iter().map(|part| self.unnormalised(part, event)).product(),
            Density::Mixture { .. } => self.normalised(of, event),
            leaf => density(leaf, &self.channel.observables, event, self.q),
        }
    }
}

/// Returns `-ln L` of one channel.
pub(crate) fn channel_nll(channel: &EventChannel, table: &EventTable, q: &dyn Fn(Value) -> f64) -> f64 {
    let point = Point { channel, q, integrals: RefCell::default(), fine: true };
    let rates: Vec<f64> = channel.processes.iter().map(|process| q(process.rate)).collect();
    let mut nll = if channel.extended { rates.iter().sum() } else { 0.0 };
    for i in 0..table.len() {
        let event: Vec<f64> = table.columns.iter().map(|column| column[i]).collect();
        let processes = channel.processes.iter().zip(&rates);
        let sum: f64 =
            processes.map(|(process, rate)| rate * point.normalised(&process.density, &event)).sum();
        nll -= table.weights.as_ref().map_or(1.0, |weights| weights[i]) * sum.ln();
    }
    nll
}

/// Builds a model of event channels without bins. Each parameter is given by its name, its starting value and its
/// bounds, and each channel comes with its events.
pub(crate) fn model(
    parameters: &[(&str, f64, (f64, f64))],
    channels: Vec<(EventChannel, EventTable)>,
) -> Model {
    let parameters: Vec<Parameter> = parameters
        .iter()
        .map(|&(name, init, bounds)| Parameter {
            name: name.to_owned(),
            init,
            bounds,
            fixed: false,
            constraint: Constraint::None,
        })
        .collect();
    let parameter_sets = parameters
        .iter()
        .enumerate()
        .map(|(i, p)| ParameterSet { name: p.name.clone(), range: i..i + 1, scalar: true })
        .collect();
    let (event_channels, tables): (Vec<_>, Vec<_>) = channels.into_iter().unzip();
    Model {
        format: ns_core::ModelFormat::Pyhf,
        unobserved: Vec::new(),
        measurement: "test".to_owned(),
        channels: Vec::new(),
        parameters,
        parameter_sets,
        pois: Vec::new(),
        interpolation: Interpolation::SMOOTH,
        functions: Vec::new(),
        event_channels,
        penalties: Vec::new(),
        open: Vec::new(),
        observed: Observations {
            main: Vec::new(),
            aux: Vec::new(),
            events: tables.into_iter().map(Arc::new).collect(),
        },
        warnings: Vec::new(),
    }
}

/// Builds a channel with one observable per element of `axes`. An element is the lower and the upper end of the
/// observable's axis.
pub(crate) fn channel(axes: &[(f64, f64)], extended: bool, processes: Vec<(Value, Density)>) -> EventChannel {
    let observable = |(i, &(min, max)): (usize, &(f64, f64))| Observable {
        name: format!("x{i}"),
        min,
        max,
        blind: Vec::new(),
    };
    EventChannel {
        name: "events".to_owned(),
        observables: axes.iter().enumerate().map(observable).collect(),
        ranges: Vec::new(),
        reference: Vec::new(),
        extended,
        processes: processes
            .into_iter()
            .enumerate()
            .map(|(i, (rate, density))| Process { name: format!("process{i}"), rate, density })
            .collect(),
        binning: None,
    }
}

/// Builds a table of events from columns.
pub(crate) fn table(columns: Vec<Vec<f64>>) -> EventTable {
    EventTable { columns: columns.into_iter().map(Into::into).collect(), weights: None }
}

/// Returns `count` numbers in (0, 1) that fill the interval evenly. They are the fractional parts of 1/2 plus the
/// multiples of an irrational number, which depends on `column`. For column 0 it is the golden ratio.
pub(crate) fn even(count: usize, column: usize) -> Vec<f64> {
    let step = [0.618_033_988_749_895, 0.754_877_666_246_693, 0.819_172_513_396_165][column % 3];
    (0..count).map(|i| (0.5 + step * (i as f64 + 1.0)).fract()).collect()
}

/// Returns the density of a channel (the sum of rates times normalised densities) at each event.
pub(crate) fn densities(channel: &EventChannel, events: &[Vec<f64>], q: &dyn Fn(Value) -> f64) -> Vec<f64> {
    let point = Point { channel, q, integrals: RefCell::default(), fine: true };
    let at = |event: &Vec<f64>| {
        let processes = channel.processes.iter();
        processes.map(|process| q(process.rate) * point.normalised(&process.density, event)).sum()
    };
    events.iter().map(at).collect()
}
