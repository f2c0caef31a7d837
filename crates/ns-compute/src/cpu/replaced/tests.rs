//! Tests that a session with replaced numbers gives the same results as a session of a model that was compiled with
//! these numbers.

use ns_core::{Execution, Input, Interpolation, Model, Session};

use super::*;

#[allow(dead_code, clippy::duplicate_mod)]
#[path = "../../../tests/oracle/models.rs"]
mod models;

#[test]
fn a_replaced_plan_is_the_plan_compiled_with_these_numbers() {
    for seed in 0..20 {
        for interpolation in [Interpolation::SMOOTH, Interpolation::PIECEWISE] {
            let mut model = Model { interpolation, ..models::random_model(seed) };
            let nominal = |m: &Model| {
                let channels = m.channels.iter().enumerate();
                let inputs = channels.flat_map(|(channel, c)| {
                    (0..c.samples.len()).map(move |sample| Input::Nominal { channel, sample })
                });
                inputs.collect::<Vec<_>>()
            };
            model = model.open(&nominal(&model)).unwrap();
            let session = CpuSession::open(&model, &Execution::default()).unwrap();
            let values: Vec<f64> = session.inputs().values.iter().map(|x| 1.25 * x).collect();
            for channel in &mut model.channels {
                for sample in &mut channel.samples {
                    sample.nominal.iter_mut().for_each(|x| *x *= 1.25);
                }
            }
            let fresh = CpuSession::open(&model, &Execution::default()).unwrap();
            let replaced = session.replaced(&values.into(), Purpose::Fits).unwrap();
            let show = |plan: &Plan| format!("{:?} {:?}", plan.numbers, plan.policy);
            assert_eq!(show(&replaced.plan), show(&fresh.plan), "seed {seed}");
            let smooth = |session: &CpuSession| session.smooth.as_ref().map(|plan| show(plan));
            assert_eq!(smooth(&replaced), smooth(&fresh), "seed {seed}");
            assert_eq!(format!("{:?}", replaced.observed), format!("{:?}", fresh.observed));
        }
    }
}
