//! Values and gradients of the kernels agree with those of the CPU.

use std::sync::Arc;

use ns_core::{EvaluationRequest, Interpolation};

use super::captured::programs;
use super::*;
use crate::any_gpu::adapter::Gpu;
use crate::any_gpu::launch::Launcher;
use crate::any_gpu::program::END_ARRAYS;

/// Number of points for each model.
const POINTS: usize = 8;

#[test]
fn values_and_gradients_are_those_of_the_cpu() {
    let Ok(gpu) = Gpu::of(Device::Vulkan(Some(0))) else {
        eprintln!("SKIPPED: no Vulkan driver; install mesa-vulkan-drivers and libvulkan1");
        return;
    };
    let gpu = Arc::new(gpu);
    let (mut worst_value, mut worst_slope, mut compared) = (0.0_f64, 0.0_f64, 0);
    for seed in 0..3 {
        let model = Model { interpolation: Interpolation::SMOOTH, ..random_model(seed) };
        let n = model.parameters.len();
        let session = CpuSession::open(&model, &Execution::default()).unwrap();
        // Much workgroup memory, and little: then most arrays are in the slab.
        for bytes in if seed == 0 { vec![gpu.workgroup_memory, 3 << 10] } else { vec![gpu.workgroup_memory] }
        {
            let Some(program) = programs(&model, bytes).and_then(|all| all.into_iter().next()) else {
                continue;
            };
            let launcher = Launcher::new(&gpu, &program, "values").unwrap();
            let mut random = Random(seed ^ 0x51);
            let points: Vec<Vec<f64>> = (0..POINTS)
                .map(|_| {
                    let vary = |p: &ns_core::Parameter| {
                        let x = p.init + random.between(-0.3, 0.3);
                        // What the device sees is rounded.
                        f64::from(x.clamp(p.bounds.0, p.bounds.1) as f32)
                    };
                    model.parameters.iter().map(vary).collect()
                })
                .collect();
            let data = model.observed.main.iter().chain(&model.observed.aux);
            let jobs: Vec<f32> =
                points.iter().flat_map(|point| data.clone().chain(point)).map(|x| *x as f32).collect();
            let got = launcher.run(&jobs, POINTS).unwrap();
            let request = EvaluationRequest { nll: true, gradient: true, ..EvaluationRequest::default() };
            let flat: Vec<f64> = points.concat();
            let wanted = session.evaluate(&Data::observed(), &flat, request).unwrap();
            let saturated = session.saturated_nll(&Data::observed()).unwrap().unwrap();
            for (i, got) in got.chunks_exact(program.end).enumerate() {
                let scalar = |k: usize| f64::from(got[END_ARRAYS * n + k]);
                if !wanted.nll[i].is_finite() {
                    assert_eq!(scalar(2), 1.0, "seed {seed}, point {i}");
                    continue;
                }
                let scale = scalar(1) + 1.0;
                worst_value = worst_value.max((scalar(0) - (wanted.nll[i] - saturated)).abs() / scale);
                for p in (0..n).filter(|&p| !model.parameters[p].fixed) {
                    let wanted = wanted.gradient[i * n + p];
                    worst_slope =
                        worst_slope.max((f64::from(got[p]) - wanted).abs() / (scale + wanted.abs()));
                    compared += 1;
                }
            }
        }
    }
    eprintln!("value {worst_value:e}, gradient {worst_slope:e}, {compared} derivatives");
    assert!(compared > 200);
    assert!(worst_value < 3e-6 && worst_slope < 3e-6, "value {worst_value:e}, gradient {worst_slope:e}");
}
