//! Invented confidence regions, samples of parameters, and searches at many places.

use ns_viz::{Corner, CornerParameter, CornerPlane, Places, Region, Spurious, SpuriousCurve};

use super::dice::Dice;

/// A region that ends at a bound of the horizontal parameter.
pub(crate) fn region() -> Region {
    let mut dice = Dice::new(21);
    let best = [0.9, 1.4];
    let angles: Vec<f64> = (0..20).map(|i| std::f64::consts::TAU * f64::from(i) / 20.0).collect();
    let at = |angle: f64, r: f64| {
        let (x, y) = (r * angle.cos(), r * angle.sin());
        [(best[0] + 0.9 * x).max(0.0), best[1] + 0.8 * y - 0.35 * x]
    };
    let mut tested =
        |r: f64| angles.iter().map(|a| at(*a, r * (1.0 + 0.04 * dice.normal()))).collect::<Vec<_>>();
    let (inside, outside) = ([tested(0.5), tested(0.9)].concat(), [tested(1.25), tested(1.5)].concat());
    let border: Vec<[f64; 2]> = angles.iter().map(|a| at(*a, 1.08 + 0.02 * dice.normal())).collect();
    let error = |(angle, point): (&f64, &[f64; 2])| {
        (point[0] > 0.0).then(|| {
            [0.9 * 0.035 * angle.cos().abs(), 0.035 * (0.8 * angle.sin() - 0.35 * angle.cos()).abs()]
        })
    };
    Region {
        x_parameter: "mu_ggH".into(),
        y_parameter: "mu_qqH".into(),
        alpha: 0.1,
        error: angles.iter().zip(&border).map(error).collect(),
        border,
        asymptotic: angles.iter().map(|a| at(*a, 1.0)).collect(),
        best_fit: Some(best),
        inside,
        outside,
        ..Region::default()
    }
}

/// Normal distributions with correlations, `n` parameters.
pub(crate) fn corner(n: usize) -> Corner {
    let grid = |centre: f64, sigma: f64| (0..=36).map(move |i| centre + sigma * (f64::from(i) / 6.0 - 3.0));
    let shape = |k: usize| (1.0 + 0.4 * k as f64, 0.3 + 0.45 * (k % 3) as f64);
    let names = ["mu", "JES", "ttbar_norm", "lumi", "gamma_stat_SR_highmass_bin_0"];
    let centres = |k: usize| {
        let (centre, sigma) = shape(k);
        let edges: Vec<f64> = grid(centre, sigma).collect();
        edges.windows(2).map(|pair| 0.5 * (pair[0] + pair[1])).collect::<Vec<_>>()
    };
    let pull = |k: usize, x: f64| (x - shape(k).0) / shape(k).1;
    let parameter = |k: usize| {
        let (centre, sigma) = shape(k);
        CornerParameter {
            parameter: names[k % names.len()].into(),
            summary: format!("{} = {centre:.2} ± {sigma:.2}", names[k % names.len()]),
            edges: grid(centre, sigma).collect(),
            density: centres(k).iter().map(|x| (-0.5 * pull(k, *x).powi(2)).exp()).collect(),
            interval: Some([centre - 1.96 * sigma, centre + 1.96 * sigma]),
            mark: Some(centre),
        }
    };
    let plane = |column: usize, row: usize| {
        let rho = [0.6, -0.4, 0.0, 0.3][(column + 2 * row) % 4];
        let density = |x: f64, y: f64| {
            let (a, b) = (pull(column, x), pull(row, y));
            (-0.5 * (a * a - 2.0 * rho * a * b + b * b) / (1.0 - rho * rho)).exp()
        };
        let (x, y) = (centres(column), centres(row));
        let rows = y.iter().map(|y| x.iter().map(|x| density(*x, *y)).collect()).collect();
        CornerPlane { density: rows, x, y, levels: vec![0.3173, 0.05] }
    };
    Corner {
        parameters: (0..n).map(parameter).collect(),
        planes: (0..n).flat_map(|row| (0..row).map(move |column| plane(column, row))).collect(),
        masses: vec![0.6827, 0.95],
        interval_mass: 0.95,
        mark: "mean".into(),
        ..Corner::default()
    }
}

/// A statistic that wanders, with a peak.
pub(crate) fn places() -> Places {
    let mut dice = Dice::new(4);
    let (mut z, mut values) = (0.0, Vec::new());
    let x: Vec<f64> = (0..121).map(|i| 110.0 + 0.35 * f64::from(i)).collect();
    for mass in &x {
        z = 0.88 * z + 0.475 * dice.normal();
        let all = f64::max(z + 3.1 * (-0.5 * ((mass - 127.0) / 1.4_f64).powi(2)).exp(), 0.0);
        values.push(Some(all * all));
    }
    let largest =
        (0..x.len()).max_by(|a, b| values[*a].partial_cmp(&values[*b]).unwrap_or(std::cmp::Ordering::Equal));
    let peak = largest.map(|k| [x[k], values[k].unwrap_or(0.0)]);
    Places {
        parameter: "mass".into(),
        x,
        q0: values,
        level: 0.5,
        significance: peak.map(|[_, q]| [q.sqrt(), q.sqrt() - 0.9]),
        peak,
        ..Places::default()
    }
}

/// Spurious signals of docs/spurious-signal.md.
pub(crate) fn spurious() -> Spurious {
    let ratio = [
        0.2163, 0.0645, -0.0475, -0.13, -0.1894, -0.2301, -0.2552, -0.2669, -0.267, -0.2567, -0.2373,
        -0.2096, -0.1746, -0.1327, -0.0847, -0.0312, 0.0275, 0.0908, 0.1584, 0.2298, 0.3044,
    ];
    Spurious {
        parameter: "mass".into(),
        x: (0..ratio.len()).map(|i| 105.0 + 2.0 * i as f64).collect(),
        curves: vec![SpuriousCurve { name: "power".into(), ratio: ratio.map(Some).to_vec() }],
        limit: 0.2,
        ..Spurious::default()
    }
}
