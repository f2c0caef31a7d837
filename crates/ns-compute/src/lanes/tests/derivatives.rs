//! Compares the derivatives of expected yields that are computed at the point of each SIMD lane with those of the
//! shared Jacobian. Also compares the change of `-ln L` when a single parameter moves with the difference of two
//! evaluations.

#![allow(clippy::unwrap_used)]

use ns_core::{Execution, Model};

use super::super::WIDTH;
use super::super::derivatives::Derivatives;
use super::super::evaluate::{evaluate, expect};
use super::super::group::Group;
use super::super::jacobian::jacobian;
use super::super::own_norms;
use super::super::scratch::Scratch;
use super::super::single_moves::{SingleMoves, rises};
use super::models::{Random, random_point};
use super::{interleave, model, other_data};
use crate::CpuSession;
use crate::plan::Plan;
use crate::simd::Level;
use crate::terms::normsys::{second, value_and_slope};

/// Eight points of a model, with data for each point.
struct Lanes {
    points: Vec<Vec<f64>>,
    theta: Vec<f64>,
    main: Vec<f64>,
    aux: Vec<f64>,
}

impl Lanes {
    fn new(model: &Model, seed: u64) -> Self {
        let mut r = Random(seed ^ 0x123);
        let points: Vec<Vec<f64>> = (0..WIDTH).map(|_| random_point(model, &mut r)).collect();
        let (mains, auxes): (Vec<Vec<f64>>, Vec<Vec<f64>>) =
            (0..WIDTH).map(|_| other_data(model, &mut r)).unzip();
        Self { theta: interleave(&points), main: interleave(&mains), aux: interleave(&auxes), points }
    }

    fn evaluated(&self, level: Level, plan: &Plan, derivatives: Option<Derivatives>) -> Scratch {
        let mut scratch = Scratch::new(plan, derivatives);
        evaluate(level, plan, &self.theta, &self.main, &self.aux, &mut scratch);
        scratch
    }
}

/// Returns the derivatives of all expected yields at a point with respect to each parameter. The index order is
/// parameter, bin.
fn all_rows(level: Level, plan: &Plan, point: &[f64], scratch: &mut crate::eval::Scratch) -> Vec<f64> {
    let jacobian = jacobian(level, plan, point, scratch);
    let mut rows = Vec::new();
    (0..plan.n_parameters()).for_each(|p| jacobian.write_row(p, plan.n_bins(), &mut rows));
    rows
}

/// Calls `look` with each of several random models, for every instruction set.
fn of_models(look: impl Fn(&str, &Model, Level, &Plan, &Lanes)) {
    for seed in 0..40 {
        let model = model(seed);
        let lanes = Lanes::new(&model, seed);
        for level in Level::available() {
            let session = CpuSession::open_at(&model, &Execution::default(), level).unwrap();
            look(&format!("seed {seed}, {}", level.name()), &model, level, session.plan(), &lanes);
        }
    }
}

#[test]
fn derivatives_at_each_lane_are_those_of_the_jacobian_at_its_point() {
    of_models(|name, _, level, plan, lanes| {
        let with = lanes.evaluated(level, plan, Some(Derivatives::zero(plan)));
        let without = lanes.evaluated(level, plan, None);
        // The additions are made in a different order.
        for l in 0..WIDTH {
            let (got, want, noise) = (with.value[l], without.value[l], without.noise[l]);
            let same = got.to_bits() == want.to_bits() || (got - want).abs() <= 1e-12 * noise.max(1.0);
            assert!(same, "{name}, lane {l}: {got}, not {want}");
        }
        let steepest =
            without.gradient.iter().filter(|g| g.is_finite()).fold(1.0, |a: f64, b| a.max(b.abs()));
        for (p, (got, want)) in with.gradient.iter().zip(&without.gradient).enumerate() {
            let same = (got - want).abs() <= 1e-10 * steepest || !want.is_finite();
            assert!(same, "{name}, element {p} of the gradient: {got}, not {want}");
        }
        let derivatives = with.derivatives.as_ref().unwrap();
        let mut single = crate::eval::Scratch::new(plan);
        for (l, point) in lanes.points.iter().enumerate().filter(|(l, _)| with.value[*l].is_finite()) {
            let rows = all_rows(level, plan, point, &mut single);
            let largest = rows.iter().fold(1.0, |a: f64, b| a.max(b.abs()));
            for (p, row) in rows.chunks(plan.n_bins()).enumerate() {
                for (b, want) in row.iter().enumerate() {
                    let got = derivatives.row(b)[p * WIDTH + l];
                    let what = format!("{name}, lane {l}, bin {b}, parameter {p}");
                    assert!((got - want).abs() <= 1e-11 * largest, "{what}: {got}, not {want}");
                }
            }
        }
    });
}

#[test]
fn second_derivatives_by_one_parameter_are_those_of_difference_quotients() {
    const STEP: f64 = 1e-3;
    const INTERPOLATION: f64 = 0.1;
    of_models(|name, model, level, plan, lanes| {
        let with = lanes.evaluated(level, plan, Some(Derivatives::zero(plan)));
        let second = &with.derivatives.as_ref().unwrap().second;
        let templates = |p: usize| plan.structure.hist_param.contains(&(p as u32));
        let normsys = |p: usize| plan.structure.norm_runs.iter().any(|run| run.param == p);
        let mut alone = crate::eval::Scratch::new(plan);
        for (l, point) in lanes.points.iter().enumerate().filter(|(l, _)| with.value[*l].is_finite()) {
            let functions = |p: usize| plan.factors.all_parameters().any(|q| q == p);
            let single = |&p: &usize| match functions(p) {
                true => acts_through_one_function(plan, p),
                false => templates(p) != normsys(p),
            };
            for p in (0..model.parameters.len()).filter(single) {
                // The polynomials of both effects end at 1 and -1, where the second derivative may jump.
                if (point[p].abs() - 1.0).abs() < 2.0 * STEP || point[p].abs() < 2.0 * STEP {
                    continue;
                }
                let mut slope = |to: f64| -> f64 {
                    let mut moved = point.clone();
                    moved[p] += to;
                    let rows = all_rows(level, plan, &moved, &mut alone);
                    let row = &rows[p * plan.n_bins()..(p + 1) * plan.n_bins()];
                    row.iter().enumerate().map(|(b, x)| x * with.slope[b * WIDTH + l]).sum()
                };
                let (above, below) = (slope(STEP), slope(-STEP));
                let want = (above - below) / (2.0 * STEP);
                let got = second[p * WIDTH + l];
                let scale = 1.0 + want.abs() + above.abs() + below.abs();
                // Inside `[-1, 1]`, second derivatives of code 4 are interpolated.
                let interpolated = normsys(p) && own_norms::applies(plan) && point[p].abs() < 1.0;
                let tolerance = if interpolated { INTERPOLATION } else { 1e-4 };
                assert!(
                    (got - want).abs() <= tolerance * scale,
                    "{name}, lane {l}, parameter {p}: {got}, not {want}"
                );
            }
        }
    });
}

/// Returns whether a parameter acts on each block through a single function, and not in another way.
fn acts_through_one_function(plan: &Plan, p: usize) -> bool {
    let uses = |&function: &usize| plan.factors.parameters(function).contains(&p);
    plan.structure.blocks.iter().all(|block| {
        let functions = |b| plan.functions_of_bin(block, b).filter(uses).count();
        let factors = plan.scale_factors(block).iter().chain(plan.templates(block));
        let mut others = factors.map(|&q| q as usize);
        let mut norms = (block.norm.0..block.norm.1).map(|i| plan.norm_param(block, i));
        let per_bin = |&first: &u32| (first as usize..first as usize + block.n_bins).contains(&p);
        !others.any(|q| q == p)
            && !norms.any(|q| q == p)
            && !plan.per_bin_factors(block).iter().any(per_bin)
            && (0..block.n_bins).all(|b| functions(b) <= 1)
    })
}

#[test]
fn the_parabola_of_a_normsys_factor_has_its_second_derivative_at_minus_one_zero_and_one() {
    of_models(|name, _, _, plan, _| {
        if !own_norms::applies(plan) {
            return;
        }
        for run in &plan.structure.norm_runs {
            let terms = (run.start..run.end).filter(|&i| {
                (plan.structure.norm_block[i] as usize) < plan.structure.blocks.len() // the others are padding
            });
            for i in terms {
                let c = plan.numbers.norm_coefficients.each_ref().map(|c| c[i]);
                let [constant, linear, square] = own_norms::bend(plan, i);
                for alpha in [-1.0, 0.0, 1.0] {
                    let (value, _) = value_and_slope(alpha, c);
                    let want = second(alpha, c) / value;
                    let got = constant + alpha * (linear + alpha * square);
                    assert!(
                        (got - want).abs() <= 1e-9 * (1.0 + want.abs()),
                        "{name}, term {i}: {got}, not {want}"
                    );
                }
            }
        }
    });
}

#[test]
fn the_rise_of_a_single_move_is_the_difference_of_two_evaluations() {
    let mut compared = 0;
    for seed in 0..60 {
        let model = model(seed);
        let lanes = Lanes::new(&model, seed);
        for level in Level::available() {
            let session = CpuSession::open_at(&model, &Execution::default(), level).unwrap();
            let plan = session.plan();
            let before = lanes.evaluated(level, plan, None);
            let mut group = Group::new(plan, None);
            group.trial.copy_from_slice(&lanes.theta);
            group.main.copy_from_slice(&lanes.main);
            group.aux.copy_from_slice(&lanes.aux);
            let mut scratch = Scratch::new(plan, None);
            expect(level, plan, &group.trial, &group.main, &mut scratch);
            let mut shifts = vec![f64::NAN; plan.n_bins() * WIDTH];
            for p in 0..model.parameters.len() {
                let Some(moves) = SingleMoves::of_all(plan, &[p]) else { continue };
                for factor in [-1.0, 0.0] {
                    let mut moved = lanes.theta.clone();
                    moved[p * WIDTH..(p + 1) * WIDTH].iter_mut().for_each(|x| *x *= factor);
                    let to: [f64; WIDTH] = moved[p * WIDTH..(p + 1) * WIDTH].try_into().unwrap();
                    let mut got = [0.0; WIDTH];
                    rises(level, plan, &moves[0], &to, &group, &scratch, &mut shifts, &mut got);
                    let mut after = Scratch::new(plan, None);
                    evaluate(level, plan, &moved, &lanes.main, &lanes.aux, &mut after);
                    for (l, got) in got.into_iter().enumerate().filter(|(l, _)| before.value[*l].is_finite())
                    {
                        let want = after.value[l] - before.value[l];
                        let scale = 1.0 + before.value[l].abs() + before.noise[l] + after.noise[l];
                        let same =
                            (got - want).abs() <= 1e-11 * scale || !want.is_finite() && !got.is_finite();
                        assert!(same, "seed {seed}, parameter {p}, lane {l}: {got}, not {want}");
                        compared += usize::from(got.is_finite());
                    }
                }
            }
        }
    }
    assert!(compared > 2000, "only {compared} finite rises");
}
