//! Embeds the compiled kernels, and chooses the images that suit a GPU.
//!
//! An image contains all kernels, either as machine code for GPUs of one compute capability or as PTX.
//! `scripts/kernels` compiles the images. `.ci/run` fails if the images were not compiled from the present sources.

use ns_core::SessionError;

use super::super::backend::Kernel;

/// Version of the oldest supported driver: CUDA 12.0, of December 2022. Older drivers reject the PTX and the machine
/// code.
pub(super) const LEAST_DRIVER: u32 = 12_000;
/// Smallest supported compute capability, as (major, minor). This is Volta, for which the PTX is compiled.
pub(super) const LEAST_CAPABILITY: (u32, u32) = (7, 0);

/// An image: code of all kernels in a form that the driver can load.
#[derive(Debug, Clone, Copy)]
pub(super) struct Image {
    /// Name of the image in messages, for example `sm_90` or `PTX`.
    pub(super) name: &'static str,
    /// The machine code, or the PTX as text that ends with a zero byte.
    pub(super) code: &'static [u8],
}

impl Kernel {
    /// All kernels.
    pub(super) const ALL: [Self; 19] = [
        Self::Fit,
        Self::FitGlobal,
        Self::FitOwn,
        Self::Evaluate,
        Self::EvaluateGlobal,
        Self::Covariance,
        Self::Draw,
        Self::Differentiate,
        Self::DifferentiateGlobal,
        Self::DifferentiateChanging,
        Self::DifferentiateChangingGlobal,
        Self::EventSums,
        Self::EventTotals,
        Self::EventToys,
        Self::EventToysGlobal,
        Self::EventDraw,
        Self::EventPlace,
        Self::FlowNllReduce,
        Self::FlowBatchNllReduce,
    ];

    /// Returns the name that the kernel's function has in the images.
    pub(super) const fn symbol(self) -> &'static str {
        match self {
            Self::Fit => "ns_fit",
            Self::FitGlobal => "ns_fit_global",
            Self::FitOwn => "ns_fit_own",
            Self::Evaluate => "ns_evaluate",
            Self::EvaluateGlobal => "ns_evaluate_global",
            Self::Covariance => "ns_covariance",
            Self::Draw => "ns_draw",
            Self::Differentiate => "ns_differentiate",
            Self::DifferentiateGlobal => "ns_differentiate_global",
            Self::DifferentiateChanging => "ns_differentiate_changing",
            Self::DifferentiateChangingGlobal => "ns_differentiate_changing_global",
            Self::EventSums => "ns_event_sums",
            Self::EventTotals => "ns_event_totals",
            Self::EventToys => "ns_event_toys",
            Self::EventToysGlobal => "ns_event_toys_global",
            Self::EventDraw => "ns_event_draw",
            Self::EventPlace => "ns_event_place",
            Self::FlowNllReduce => "ns_flow_nll_reduce",
            Self::FlowBatchNllReduce => "ns_flow_batch_nll_reduce",
        }
    }
}

/// Bytes with the alignment that the driver needs for machine code.
#[repr(C, align(64))]
struct Aligned<T: ?Sized>(T);

static SM_90: &Aligned<[u8]> = &Aligned(*include_bytes!("../../../kernels/built/ns_sm90.cubin"));
static SM_80: &Aligned<[u8]> = &Aligned(*include_bytes!("../../../kernels/built/ns_sm80.cubin"));
static PTX: &str = concat!(include_str!("../../../kernels/built/ns_sm70.ptx"), "\0");

/// Returns the images that a GPU can run, the best first. `capability` is the compute capability of the GPU. `driver`
/// is the CUDA version of the driver (12000 for CUDA 12.0). `index` and `name` are the index and the name of the GPU in
/// error messages.
///
/// Machine code runs on GPUs of the same major compute capability and the same or a higher minor one. PTX runs on all
/// supported GPUs; the driver compiles it to machine code and caches the result.
///
/// # Errors
/// [`SessionError::CudaDriverTooOld`] if the driver is older than [`LEAST_DRIVER`],
/// [`SessionError::UnsupportedGpu`] if the compute capability is below [`LEAST_CAPABILITY`].
pub(super) fn choose(
    index: usize,
    name: &str,
    capability: (u32, u32),
    driver: u32,
) -> Result<Vec<Image>, SessionError> {
    if driver < LEAST_DRIVER {
        return Err(SessionError::CudaDriverTooOld { found: driver, needed: LEAST_DRIVER });
    }
    if capability < LEAST_CAPABILITY {
        return Err(SessionError::UnsupportedGpu {
            index,
            name: name.to_owned(),
            found: capability,
            needed: LEAST_CAPABILITY,
        });
    }
    let machine_code = match capability {
        (9, _) => Some(Image { name: "sm_90", code: &SM_90.0 }),
        (8, _) => Some(Image { name: "sm_80", code: &SM_80.0 }),
        _ => None,
    };
    let ptx = Image { name: "PTX", code: PTX.as_bytes() };
    Ok(machine_code.into_iter().chain([ptx]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(capability: (u32, u32), driver: u32) -> Result<Vec<&'static str>, SessionError> {
        Ok(choose(0, "GPU", capability, driver)?.iter().map(|image| image.name).collect())
    }

    #[test]
    fn each_gpu_gets_its_code_and_the_text_as_a_second_choice() {
        assert_eq!(names((9, 0), 13_000), Ok(vec!["sm_90", "PTX"]));
        assert_eq!(names((8, 0), 12_020), Ok(vec!["sm_80", "PTX"]));
        assert_eq!(names((8, 9), 12_020), Ok(vec!["sm_80", "PTX"]));
        for other in [(7, 0), (7, 5), (10, 0), (12, 0)] {
            assert_eq!(names(other, 12_000), Ok(vec!["PTX"]));
        }
    }

    #[test]
    fn old_gpus_and_drivers_are_refused_with_what_would_do() {
        let old_gpu = SessionError::UnsupportedGpu {
            index: 0,
            name: "GPU".to_owned(),
            found: (6, 1),
            needed: LEAST_CAPABILITY,
        };
        assert!(old_gpu.to_string().contains("compute capability 6.1; 7.0 is the least"), "{old_gpu}");
        assert_eq!(names((6, 1), 13_000), Err(old_gpu));
        let old_driver = SessionError::CudaDriverTooOld { found: 11_080, needed: LEAST_DRIVER };
        assert!(old_driver.to_string().contains("CUDA 11.8, and 12.0 is the least"), "{old_driver}");
        assert_eq!(names((9, 0), 11_080), Err(old_driver));
    }

    /// Checks that every image contains every kernel under its name, and that the oldest supported driver can read
    /// the PTX.
    #[test]
    fn images_hold_every_kernel() {
        for capability in [(9, 0), (8, 0)] {
            for image in choose(0, "GPU", capability, 13_000).unwrap_or_default() {
                for kernel in Kernel::ALL {
                    let symbol = kernel.symbol().as_bytes();
                    let found = image.code.windows(symbol.len()).any(|window| window == symbol);
                    assert!(found, "{} is not in {}", kernel.symbol(), image.name);
                }
            }
        }
        assert!(PTX.contains(".version 8.0\n") && PTX.contains(".target sm_70\n"));
        assert!(SM_90.0.starts_with(b"\x7fELF") && SM_80.0.starts_with(b"\x7fELF"));
    }
}
