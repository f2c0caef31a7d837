//! Converts errors of NVIDIA's driver to errors of a session, with remedies.

use cudarc::driver::sys::CUresult;
use ns_core::{Device, SessionError};

/// The operation during which the driver reported an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DriverCall {
    /// Starting the driver and searching for devices.
    Starting,
    /// Opening the device.
    Opening,
    /// Reading a property of the device, or the size of its free memory.
    Asking,
    Allocating,
    Copying,
    Launching,
    Waiting,
}

impl DriverCall {
    const fn text(self) -> &'static str {
        match self {
            Self::Starting => "starting CUDA",
            Self::Opening => "opening the device",
            Self::Asking => "asking for properties of the device",
            Self::Allocating => "taking device memory",
            Self::Copying => "copying to the device",
            Self::Launching => "starting a kernel",
            Self::Waiting => "waiting for results",
        }
    }
}

/// The state of a device after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FailureKind {
    /// The device cannot be used, and no work was started.
    Unavailable,
    /// The device refused the operation and still works.
    Refused,
    /// The device is lost. All later operations fail until the device is opened again.
    Lost,
}

/// Converts an error of the driver to an error of a session on `device`.
pub(super) fn explain(device: Device, doing: DriverCall, code: CUresult) -> SessionError {
    let (kind, remedy) = meaning(code);
    let error = name(code);
    match kind {
        _ if doing == DriverCall::Starting => unavailable(device, error, remedy),
        FailureKind::Unavailable => unavailable(device, error, remedy),
        FailureKind::Refused => SessionError::DeviceRefused { device, doing: doing.text(), error, remedy },
        FailureKind::Lost => SessionError::DeviceLost { device, doing: doing.text(), error, remedy },
    }
}

fn unavailable(device: Device, reason: String, remedy: &'static str) -> SessionError {
    SessionError::DeviceUnavailable { device, reason, remedy: remedy.to_owned() }
}

/// Returns the name and number of an error, for example `CUDA_ERROR_ILLEGAL_ADDRESS (700)`.
pub(super) fn name(code: CUresult) -> String {
    format!("{code:?} ({})", code as u32)
}

fn meaning(code: CUresult) -> (FailureKind, &'static str) {
    use CUresult as C;
    const REPORT: &str =
        "This is a defect of the program: please report it with this message and the name of the GPU";
    const KERNEL: &str = "A kernel failed: please report it with the command and the name of the GPU. \
         Starting again may continue; the device cpu does the same work";
    const HARDWARE: &str = "The GPU reports a hardware error: see `nvidia-smi -q`, have it reset or replaced, and \
         use another GPU or the device cpu";
    const GONE: &str = "The device was reset, taken away or fell off the bus: see the system's log and nvidia-smi, \
         and start again";
    const SETUP: &str = "NVIDIA's driver is not in order: see nvidia-smi; after an update of the driver the machine must be \
         restarted. The device cpu needs no driver";
    match code {
        C::CUDA_ERROR_ILLEGAL_ADDRESS
        | C::CUDA_ERROR_MISALIGNED_ADDRESS
        | C::CUDA_ERROR_INVALID_ADDRESS_SPACE
        | C::CUDA_ERROR_ILLEGAL_INSTRUCTION
        | C::CUDA_ERROR_INVALID_PC
        | C::CUDA_ERROR_HARDWARE_STACK_ERROR
        | C::CUDA_ERROR_ASSERT
        | C::CUDA_ERROR_LAUNCH_FAILED => (FailureKind::Lost, KERNEL),
        C::CUDA_ERROR_ECC_UNCORRECTABLE | C::CUDA_ERROR_NVLINK_UNCORRECTABLE | C::CUDA_ERROR_CONTAINED => {
            (FailureKind::Lost, HARDWARE)
        }
        C::CUDA_ERROR_LAUNCH_TIMEOUT => (
            FailureKind::Lost,
            "The watchdog of a display ended the kernel: use a GPU that drives no display, or the device cpu",
        ),
        C::CUDA_ERROR_CONTEXT_IS_DESTROYED
        | C::CUDA_ERROR_INVALID_CONTEXT
        | C::CUDA_ERROR_EXTERNAL_DEVICE
        | C::CUDA_ERROR_DEINITIALIZED
        | C::CUDA_ERROR_MPS_CLIENT_TERMINATED
        | C::CUDA_ERROR_MPS_RPC_FAILURE
        | C::CUDA_ERROR_UNKNOWN => (FailureKind::Lost, GONE),
        C::CUDA_ERROR_NOT_INITIALIZED => (
            FailureKind::Unavailable,
            "CUDA cannot be used in a process forked from one that has used it: start worker processes with \
             the method 'spawn', or before the first use of a CUDA device",
        ),
        C::CUDA_ERROR_DEVICE_UNAVAILABLE => (
            FailureKind::Unavailable,
            "Another process holds the GPU alone (`nvidia-smi -q -d COMPUTE` shows its mode): wait for it, or use \
             another GPU or the device cpu",
        ),
        C::CUDA_ERROR_NO_DEVICE | C::CUDA_ERROR_INVALID_DEVICE => (
            FailureKind::Unavailable,
            "See what nvidia-smi lists and whether CUDA_VISIBLE_DEVICES hides it, or choose the device cpu",
        ),
        C::CUDA_ERROR_DEVICE_NOT_LICENSED | C::CUDA_ERROR_NOT_PERMITTED => (
            FailureKind::Unavailable,
            "This user may not use the GPU: ask who runs the machine, or choose the device cpu",
        ),
        C::CUDA_ERROR_STUB_LIBRARY => (
            FailureKind::Unavailable,
            "The libcuda that was found is the stub of a CUDA toolkit: take its folder out of LD_LIBRARY_PATH and \
             install NVIDIA's driver",
        ),
        C::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
        | C::CUDA_ERROR_SYSTEM_NOT_READY
        | C::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE
        | C::CUDA_ERROR_OPERATING_SYSTEM
        | C::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER => (FailureKind::Unavailable, SETUP),
        C::CUDA_ERROR_MPS_CONNECTION_FAILED
        | C::CUDA_ERROR_MPS_SERVER_NOT_READY
        | C::CUDA_ERROR_MPS_MAX_CLIENTS_REACHED
        | C::CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED => (
            FailureKind::Unavailable,
            "The Multi-Process Service of the machine does not take this process: see its log, wait for others to \
             end, or choose the device cpu",
        ),
        C::CUDA_ERROR_OUT_OF_MEMORY => (
            FailureKind::Refused,
            "Memory of the device (or locked memory of the host) is used up: free what other programs hold, or choose \
             the device cpu",
        ),
        _ => (FailureKind::Refused, REPORT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: Device = Device::Cuda(1);

    #[test]
    fn errors_that_stay_mean_a_lost_device_and_say_what_is_kept() {
        for code in [
            CUresult::CUDA_ERROR_ILLEGAL_ADDRESS,
            CUresult::CUDA_ERROR_LAUNCH_FAILED,
            CUresult::CUDA_ERROR_ECC_UNCORRECTABLE,
            CUresult::CUDA_ERROR_LAUNCH_TIMEOUT,
            CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED,
            CUresult::CUDA_ERROR_UNKNOWN,
        ] {
            let error = explain(DEVICE, DriverCall::Waiting, code);
            assert!(matches!(error, SessionError::DeviceLost { device: DEVICE, .. }), "{error:?}");
            assert!(error.is_of_device());
            let text = error.to_string();
            assert!(text.contains("cuda:1") && text.contains("waiting for results"), "{text}");
            assert!(text.contains("handed over before this are complete and kept"), "{text}");
            assert!(text.contains(&format!("{code:?} ({})", code as u32)), "{text}");
        }
    }

    #[test]
    fn the_remedy_fits_the_error() {
        let remedy = |code| explain(DEVICE, DriverCall::Launching, code).to_string();
        assert!(remedy(CUresult::CUDA_ERROR_ECC_UNCORRECTABLE).contains("hardware error"));
        assert!(remedy(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS).contains("report"));
        assert!(remedy(CUresult::CUDA_ERROR_LAUNCH_TIMEOUT).contains("display"));
        assert!(remedy(CUresult::CUDA_ERROR_NOT_INITIALIZED).contains("spawn"));
        assert!(remedy(CUresult::CUDA_ERROR_DEVICE_UNAVAILABLE).contains("Another process"));
        assert!(remedy(CUresult::CUDA_ERROR_STUB_LIBRARY).contains("LD_LIBRARY_PATH"));
        assert!(remedy(CUresult::CUDA_ERROR_OUT_OF_MEMORY).contains("used up"));
    }

    #[test]
    fn nothing_is_lost_before_anything_is_started() {
        for code in [CUresult::CUDA_ERROR_UNKNOWN, CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH] {
            let error = explain(DEVICE, DriverCall::Starting, code);
            assert!(matches!(error, SessionError::DeviceUnavailable { .. }), "{error:?}");
        }
    }

    #[test]
    fn a_refusal_leaves_the_device() {
        let error = explain(DEVICE, DriverCall::Launching, CUresult::CUDA_ERROR_INVALID_VALUE);
        assert!(matches!(error, SessionError::DeviceRefused { .. }), "{error:?}");
    }
}
