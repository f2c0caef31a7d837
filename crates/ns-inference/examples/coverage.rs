//! How often intervals contain the true value, by the method.
//!
//! `coverage MODEL.json MU,MU,... [DATA_SETS [TOYS [SEED [CL]]]]` draws data sets at each true value of the parameter of interest,
//! with the other parameters at their initial values. A two-sided interval contains the true value if its p-value there is above
//! `1 - CL`, an upper limit if CLs there is. Defaults: 2000 data sets, 500 toys each, seed 1, 0.9. Every core takes a data set of
//! its own.

#![allow(clippy::print_stdout, clippy::indexing_slicing)]

use std::error::Error;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use ns_core::{Control, Data, Execution, Model, Session, ToySource};
use ns_inference::{
    FitData, FitOptions, HypotestOptions, HypotestToysOptions, PointOptions, PosteriorOptions, ToyNuisance,
    fit, hypotest, hypotest_point, hypotest_toys, open_session, sample,
};
use ns_translate::ModelSource;
use ns_translate::pyhf::ModelOptions;

/// Series of the data sets in the key of the random numbers, which no analysis uses.
const SERIES: u8 = 200;

const METHODS: [&str; 9] = [
    "estimate ± error",
    "chi2 law",
    "Feldman-Cousins",
    "FC, plug-in",
    "FC, posterior",
    "credible interval",
    "limit, CLs",
    "limit, CLs by toys",
    "limit, posterior",
];

/// What is the same for all data sets.
struct Study<'a> {
    model: &'a Model,
    poi: usize,
    value: f64,
    toys: u64,
    seed: u64,
    alpha: f64,
}

type Answer = Result<[Option<bool>; METHODS.len()], Box<dyn Error>>;

impl Study<'_> {
    /// Returns which intervals contain the true value; `None` where there is no certain answer.
    fn of_data(&self, session: &dyn Session, source: &ToySource, i: u64) -> Answer {
        let Self { model, value, alpha, toys, .. } = *self;
        let name = &model.parameters[self.poi].name;
        let options = FitOptions::default().data(FitData::Given(source.draw_whole(i)?.into()));
        let seed = self.seed.wrapping_add(i);
        let quiet = Control::default();

        let fitted = fit(model, session, &options, quiet)?;
        let z = (0.5 * alpha, fitted.uncertainties[self.poi].filter(|_| fitted.converged));
        let within = |sigma: f64| (fitted.bestfit[self.poi] - value).abs() <= sigma * normal_quantile(z.0);
        let mut inside = [None; METHODS.len()];
        inside[0] = z.1.map(within);
        for (k, nuisance) in ToyNuisance::ALL.into_iter().enumerate() {
            let options =
                PointOptions::default().fit(options.clone()).n_toys(Some(toys)).seed(seed).nuisance(nuisance);
            let test = hypotest_point(model, session, &[(name.clone(), value)], &options, quiet)?;
            let certain = |p: Option<f64>| p.filter(|_| test.converged).map(|p| p > alpha);
            inside[1] = certain(test.p_value);
            inside[2 + k] = certain(test.p_value_toys);
        }
        let options_of =
            PosteriorOptions::default().fit(options.clone()).seed(seed).cl(1.0 - alpha).threads(1);
        let posterior = sample(model, session, &options_of, quiet)?;
        let marginal = posterior.parameters.iter().find(|p| p.name == *name).filter(|_| posterior.converged);
        inside[5] = marginal.map(|p| p.lower <= value && value <= p.upper);
        inside[8] = marginal.map(|p| value <= p.upper_limit);
        let law = hypotest(model, session, value, &HypotestOptions::default().fit(options.clone()), quiet)?;
        inside[6] = law.cls.filter(|_| law.converged).map(|cls| cls > alpha);
        let by_toys = HypotestToysOptions::default().fit(options).n_toys(toys).seed(seed);
        let by_toys = hypotest_toys(model, session, value, &by_toys, quiet)?;
        inside[7] = by_toys.cls.filter(|_| by_toys.converged).map(|cls| cls > alpha);
        Ok(inside)
    }
}

/// Returns the number of standard deviations beyond which a normal distribution has the probability `tail` on one side.
fn normal_quantile(tail: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..100 {
        let z = 0.5 * (low + high);
        if 0.5 * libm::erfc(z / std::f64::consts::SQRT_2) > tail { low = z } else { high = z }
    }
    low
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = |i: usize| arguments.get(i).map(String::as_str);
    let (Some(path), Some(values)) = (text(0), text(1)) else {
        return Err("usage: coverage MODEL.json MU,MU,... [DATA_SETS [TOYS [SEED [CL]]]]".into());
    };
    let whole = |i: usize, usual: u64| text(i).map_or(Ok(usual), str::parse);
    let (n, toys, seed) = (whole(2, 2000)?, whole(3, 500)?, whole(4, 1)?);
    let alpha = 1.0 - text(5).map_or(Ok(0.9), str::parse::<f64>)?;
    let model = ModelSource::from_slice(&std::fs::read(path)?)?.model(&ModelOptions::default())?;
    let poi = model.poi().ok_or("the model has no parameter of interest")?;
    let execution = Execution { threads: 1, ..Execution::default() };
    let threads = std::thread::available_parallelism()?.get();
    println!(
        "| true {} | {} |\n|{}",
        model.parameters[poi].name,
        METHODS.join(" | "),
        "--:|".repeat(METHODS.len() + 1)
    );
    for value in values.split(',') {
        let value: f64 = value.parse()?;
        let study = Study { model: &model, poi, value, toys, seed, alpha };
        let mut point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
        point[poi] = value;
        let next = AtomicU64::new(0);
        let counts = Mutex::new([(0_u64, 0_u64); METHODS.len()]);
        let work = || -> Result<(), String> {
            let session = open_session(&model, &execution).map_err(|e| e.to_string())?;
            let source =
                session.toy_source(&point, &Data::observed(), seed, SERIES).map_err(|e| e.to_string())?;
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= n {
                    return Ok(());
                }
                let inside = study.of_data(session.as_ref(), &source, i).map_err(|e| e.to_string())?;
                let mut counts = counts.lock().map_err(|e| e.to_string())?;
                for (count, inside) in counts.iter_mut().zip(inside) {
                    count.0 += u64::from(inside.is_some());
                    count.1 += u64::from(inside == Some(true));
                }
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            workers
                .into_iter()
                .try_for_each(|worker| worker.join().map_err(|_| "a thread panicked".to_owned())?)
        })?;
        let counts = counts.into_inner()?;
        let shown = |(good, inside): (u64, u64)| {
            let p = inside as f64 / good as f64;
            format!("{:.1} ± {:.1} %", 100.0 * p, 100.0 * (p * (1.0 - p) / good as f64).sqrt())
        };
        println!("| {value} | {} |", counts.map(shown).join(" | "));
        let left_out = METHODS.iter().zip(counts).filter(|(_, (good, _))| *good < n);
        for (method, (good, _)) in left_out {
            println!("{method}: {} of {n} data sets left out, because a result did not converge", n - good);
        }
    }
    Ok(())
}
