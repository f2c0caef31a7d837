//! The kernels are valid where no optional feature of a GPU is there.

use wgpu::naga::front::wgsl;
use wgpu::naga::valid::{Capabilities, ValidationFlags, Validator};

use super::captured::programs;
use super::*;
use ns_core::Interpolation;

#[test]
fn kernels_need_no_optional_feature() {
    for seed in 0..6 {
        let model = Model { interpolation: Interpolation::SMOOTH, ..random_model(seed) };
        // With much workgroup memory, with little, and with none.
        for bytes in [32 << 10, 4 << 10, 0] {
            for program in programs(&model, bytes).unwrap_or_default() {
                let module =
                    wgsl::parse_str(&program.text).map_err(|error| error.emit_to_string(&program.text));
                let checked = module.and_then(|module| {
                    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::empty());
                    validator.validate(&module).map_err(|error| error.emit_to_string(&program.text))
                });
                assert_eq!(checked.err(), None, "seed {seed}");
            }
        }
    }
}
