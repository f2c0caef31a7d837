//! Tests the code that calls NVIDIA's driver. A substitute library (`fake_driver.c`) takes the place of the driver's
//! library.
//!
//! A process can load the driver's library only once. Therefore each test starts this program again for that test
//! alone. In the new process, the loader's path begins with the folder of the substitute. An environment variable sets
//! the behaviour of the substitute.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, OnceLock};

use ns_core::{Device, SessionError};

use super::super::backend::{Backend, Buffer, Kernel, Shape};
use super::{driver, loading};

/// Environment variable of the process that runs the body of a test. It sets the behaviour of the substitute for the
/// driver.
const BEHAVIOUR: &str = "FAKE_CUDA";

/// Returns the folder of the substitute for the driver, which is beside this program. The first call compiles the
/// substitute.
fn library() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/device/cuda/tests/fake_driver.c");
        let folder = std::env::current_exe().unwrap().with_extension("fake-driver");
        std::fs::create_dir_all(&folder).unwrap();
        // The library gets its name only when it is complete, so a parallel run never finds an incomplete library.
        let made = folder.join(format!("made-by-{}", std::process::id()));
        let compiled = Command::new("cc")
            .args(["-std=c11", "-O1", "-shared", "-fPIC", "-D_DEFAULT_SOURCE", "-o"])
            .arg(&made)
            .arg(source)
            .status()
            .unwrap();
        assert!(compiled.success());
        std::fs::rename(made, folder.join("libcuda.so")).unwrap();
        folder
    })
}

/// Runs `body` in a separate process, in which the substitute for the driver has the given behaviour.
fn with_driver(test: &str, behaviour: &str, body: impl FnOnce()) {
    if std::env::var_os(BEHAVIOUR).is_some() {
        return body();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("device::cuda::tests::{test}"), "--nocapture", "--test-threads=1"])
        .env(BEHAVIOUR, behaviour)
        .env("LD_LIBRARY_PATH", library())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn bytes(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i.wrapping_mul(2_654_435_761) >> 20) as u8).collect()
}

#[test]
fn copies_of_every_size_arrive() {
    with_driver("copies_of_every_size_arrive", "", || {
        let backend = super::backend(0).unwrap();
        for n in [0, 1, 7, 65_536, 65_537, 2 << 20, (2 << 20) + 1, 9_999_999] {
            let content = bytes(n);
            let buffer = Buffer::holding(&backend, &content).unwrap();
            let mut back = vec![0; n];
            backend.read(buffer.start(), &mut back).unwrap();
            assert_eq!(back, content, "{n} bytes");
        }
    });
}

#[test]
fn kernels_run_in_order_with_copies() {
    with_driver("kernels_run_in_order_with_copies", "", || {
        let backend = super::backend(0).unwrap();
        let buffer = Buffer::holding(&backend, &bytes(3_000_000)).unwrap();
        let parameter = filling(&buffer, 3_000_000, 0xAB);
        for shared in [0, 40_000, 100_000, 60_000] {
            let shape = Shape { blocks: 7, threads: 128, shared };
            assert!(backend.occupancy(Kernel::Fit, 128, shared).unwrap() > 0);
            backend.launch(Kernel::Fit, shape, &parameter).unwrap();
        }
        let mut back = vec![0; 3_000_000];
        backend.read(buffer.start(), &mut back).unwrap();
        assert!(back.iter().all(|&byte| byte == 0xAB));
        let too_much = Shape { blocks: 1, threads: 128, shared: 300_000 };
        let error = backend.launch(Kernel::Fit, too_much, &parameter).unwrap_err();
        assert!(matches!(error, SessionError::TooLarge { limit: 232_448, .. }), "{error}");
        let nothing = Shape { blocks: 0, threads: 128, shared: 0 };
        backend.launch(Kernel::Draw, nothing, &parameter).unwrap();
    });
}

/// Returns the parameter of a kernel launch. With this parameter, the kernels of the substitute for the driver write
/// `byte` to the first `bytes` bytes of `buffer`.
fn filling(buffer: &Buffer, bytes: u64, byte: u64) -> Vec<u8> {
    [buffer.start().bytes(), bytes, byte].iter().flat_map(|word| word.to_ne_bytes()).collect()
}

#[test]
fn lanes_bring_back_what_their_kernels_wrote() {
    with_driver("lanes_bring_back_what_their_kernels_wrote", "", || {
        let backend = super::backend(0).unwrap();
        let shape = Shape { blocks: 7, threads: 128, shared: 0 };
        let mut lanes: Vec<_> = (0..3).map(|_| Arc::clone(&backend).lane().unwrap()).collect();
        // The sizes increase at first, so memory also grows while no work is in progress.
        for n in [0, 24, 1000, 3_000_000, 100] {
            let buffers: Vec<Buffer> = lanes.iter().map(|_| Buffer::new(&backend, n).unwrap()).collect();
            for (i, (lane, buffer)) in lanes.iter_mut().zip(&buffers).enumerate() {
                lane.write(buffer.start(), &bytes(n)).unwrap();
                lane.launch(Kernel::Fit, shape, &filling(buffer, n as u64 / 2, i as u64)).unwrap();
                lane.fetch(buffer.start(), n).unwrap();
                assert_eq!(lane.fetched(), b"", "before the wait");
            }
            for (i, lane) in lanes.iter_mut().enumerate().rev() {
                lane.wait().unwrap();
                let (written, copied) = lane.fetched().split_at(n / 2);
                assert!(
                    written.iter().all(|&byte| byte == i as u8) && copied == &bytes(n)[n / 2..],
                    "{n} bytes"
                );
                assert!(n == 0 || (lane.fetched().as_ptr() as usize).is_multiple_of(8));
            }
        }
        // The stand-in cannot have so many lanes at the same time. Each lane is dropped while its work is in
        // progress.
        for _ in 0..100 {
            let buffer = Buffer::new(&backend, 1000).unwrap();
            let mut lane = Arc::clone(&backend).lane().unwrap();
            lane.write(buffer.start(), &bytes(1000)).unwrap();
            lane.fetch(buffer.start(), 1000).unwrap();
        }
    });
}

#[test]
fn answers_of_kernels_arrive_in_memory_of_the_host() {
    with_driver("answers_of_kernels_arrive_in_memory_of_the_host", "", || {
        let backend = super::backend(0).unwrap();
        let mut guest = Arc::clone(&backend).guest().unwrap();
        let (stream, shape) = (guest.own_stream(), Shape { blocks: 1, threads: 128, shared: 0 });
        for numbers in [1, 3, 20_000] {
            let at = guest.answers(2 * numbers).unwrap();
            for byte in [1_u64, 2, 77] {
                // The stand-in's kernel writes this byte everywhere, also as the number of the call.
                let word = byte * 0x0101_0101;
                let parameter: Vec<u8> =
                    [at.bytes(), 16 * numbers as u64, byte].into_iter().flat_map(u64::to_ne_bytes).collect();
                let mut to = vec![0.0; numbers];
                let kernel = (Kernel::FlowNllReduce, shape, parameter.as_slice());
                // SAFETY: the stream is that of the device.
                unsafe { guest.ask(stream, kernel, word as u32, &mut to) }.unwrap();
                assert!(to.iter().all(|x| x.to_bits() == word << 32 | word));
                // SAFETY: as above.
                let other = unsafe { guest.ask(stream, kernel, 5, &mut to) };
                assert!(matches!(other, Err(SessionError::DeviceRefused { .. })), "{other:?}");
            }
        }
    });
}

#[test]
fn a_kernel_that_fails_before_its_answer_is_an_error() {
    with_driver("a_kernel_that_fails_before_its_answer_is_an_error", "broken", || {
        let backend = super::backend(0).unwrap();
        let mut guest = Arc::clone(&backend).guest().unwrap();
        guest.answers(2).unwrap();
        let shape = Shape { blocks: 1, threads: 128, shared: 0 };
        let stream = guest.own_stream();
        // SAFETY: the stream is that of the device.
        let failed = unsafe { guest.ask(stream, (Kernel::FlowNllReduce, shape, &[0; 24]), 1, &mut [0.0]) };
        assert!(matches!(failed, Err(SessionError::DeviceLost { .. })), "{failed:?}");
    });
}

#[test]
fn a_device_is_opened_once_and_memory_is_used_again() {
    with_driver("a_device_is_opened_once_and_memory_is_used_again", "", || {
        assert!(!driver::is_warm());
        let device = driver::open(0).unwrap();
        assert!(driver::is_warm());
        assert!(Arc::ptr_eq(&device, &driver::open(0).unwrap()));
        let backend: Arc<dyn Backend> = device.clone();
        let before = device.free_memory().unwrap();
        let first = Buffer::new(&backend, 100_000).unwrap();
        let address = first.start().bytes();
        assert_eq!(address % 256, 0);
        assert!(device.free_memory().unwrap() < before);
        drop(first);
        assert_eq!(device.free_memory().unwrap(), before);
        assert_eq!(Buffer::new(&backend, 99_999).unwrap().start().bytes(), address);
        let threads: Vec<_> = (0..4)
            .map(|i| {
                let backend = Arc::clone(&backend);
                std::thread::spawn(move || {
                    let content = vec![i as u8; 3_000_000];
                    for _ in 0..5 {
                        let buffer = Buffer::holding(&backend, &content).unwrap();
                        let mut back = vec![0; content.len()];
                        backend.read(buffer.start(), &mut back).unwrap();
                        assert_eq!(back, content);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn gpus_are_listed_and_old_ones_refused() {
    with_driver("gpus_are_listed_and_old_ones_refused", "", || {
        let gpus = loading::found().unwrap();
        assert_eq!(gpus.len(), 2);
        assert_eq!((gpus[0].name.as_str(), gpus[0].capability, gpus[0].driver), ("Fake GPU", (9, 0), 13_000));
        assert_eq!(gpus[0].multiprocessors, 132);
        let error = driver::open(1).err().unwrap();
        assert!(matches!(error, SessionError::UnsupportedGpu { index: 1, found: (6, 1), .. }), "{error}");
        let error = driver::open(2).err().unwrap();
        assert_eq!(error, SessionError::NoSuchCudaDevice { index: 2, count: 2 });
    });
}

#[test]
fn an_old_driver_is_named() {
    with_driver("an_old_driver_is_named", "old", || {
        let expected = SessionError::CudaDriverTooOld { found: 11_040, needed: 12_000 };
        assert_eq!(loading::found(), Err(expected.clone()));
        assert_eq!(driver::open(0).err(), Some(expected));
    });
}

#[test]
fn a_driver_without_gpus_lists_none() {
    with_driver("a_driver_without_gpus_lists_none", "empty", || {
        assert_eq!(loading::found(), Ok(Vec::new()));
        assert_eq!(driver::open(0).err(), Some(SessionError::NoSuchCudaDevice { index: 0, count: 0 }));
    });
}

#[test]
fn a_gpu_that_another_process_holds_is_unavailable() {
    with_driver("a_gpu_that_another_process_holds_is_unavailable", "busy", || {
        let error = driver::open(0).err().unwrap();
        assert!(matches!(error, SessionError::DeviceUnavailable { device: Device::Cuda(0), .. }), "{error}");
    });
}

#[test]
fn used_up_memory_says_how_much_was_free() {
    with_driver("used_up_memory_says_how_much_was_free", "small", || {
        let backend = super::backend(0).unwrap();
        // Freed memory that is kept must not prevent an allocation of a different size.
        drop(Buffer::new(&backend, 100_000).unwrap());
        let most = Buffer::new(&backend, 1 << 20).unwrap();
        let error = Buffer::new(&backend, 4096).err().unwrap();
        let expected = SessionError::OutOfDeviceMemory { device: Device::Cuda(0), needed: 4096, free: 0 };
        assert_eq!(error, expected);
        drop(most);
        assert!(Buffer::new(&backend, 4096).is_ok());
    });
}

#[test]
fn text_is_loaded_where_machine_code_is_not() {
    with_driver("text_is_loaded_where_machine_code_is_not", "text", || {
        let backend = super::backend(0).unwrap();
        assert_eq!(backend.occupancy(Kernel::Draw, 256, 0), Ok(8));
    });
}

#[test]
fn code_that_cannot_be_loaded_is_listed() {
    with_driver("code_that_cannot_be_loaded_is_listed", "deaf", || {
        let backend = super::backend(0).unwrap();
        let error = backend.occupancy(Kernel::Draw, 256, 0).unwrap_err();
        assert!(matches!(error, SessionError::KernelImage { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains("sm_90: CUDA_ERROR_INVALID_IMAGE (200)"), "{text}");
        assert!(text.contains("PTX: CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)"), "{text}");
    });
}

/// Regression test: after a temporary failure to load the kernels, all later attempts failed too. The process could
/// then no longer use the device.
#[test]
fn code_that_found_no_memory_is_loaded_once_there_is_some() {
    with_driver("code_that_found_no_memory_is_loaded_once_there_is_some", "crowded", || {
        let backend = super::backend(0).unwrap();
        let error = backend.occupancy(Kernel::Draw, 256, 0).unwrap_err();
        assert!(matches!(error, SessionError::DeviceRefused { .. }), "{error:?}");
        assert_eq!(backend.occupancy(Kernel::Draw, 256, 0), Ok(8));
    });
}

/// Regression test: two sessions ran in parallel. The session with the smaller model could reduce the limit of dynamic
/// shared memory that the other session's kernels needed.
#[test]
fn shared_memory_that_was_allowed_stays_allowed() {
    with_driver("shared_memory_that_was_allowed_stays_allowed", "slow", || {
        let backend = super::backend(0).unwrap();
        let other = Arc::clone(&backend);
        let little = std::thread::spawn(move || other.occupancy(Kernel::Fit, 128, 60_000));
        std::thread::sleep(std::time::Duration::from_millis(100));
        assert_eq!(backend.occupancy(Kernel::Fit, 128, 200_000), Ok(1));
        assert_eq!(little.join().unwrap(), Ok(3));
        assert_eq!(backend.occupancy(Kernel::Fit, 128, 200_000), Ok(1));
    });
}

#[test]
fn a_lost_device_is_lost_until_it_is_opened_anew() {
    with_driver("a_lost_device_is_lost_until_it_is_opened_anew", "broken", || {
        let backend = super::backend(0).unwrap();
        let buffer = Buffer::new(&backend, 4096).unwrap();
        let shape = Shape { blocks: 1, threads: 32, shared: 0 };
        backend.launch(Kernel::Fit, shape, &[0; 24]).unwrap();
        let mut back = [0; 8];
        for _ in 0..2 {
            let error = backend.read(buffer.start(), &mut back).unwrap_err();
            assert!(matches!(error, SessionError::DeviceLost { device: Device::Cuda(0), .. }), "{error:?}");
        }
        drop(buffer);
        drop(backend);
        let backend = super::backend(0).unwrap();
        let buffer = Buffer::holding(&backend, &[1_u8, 2, 3]).unwrap();
        backend.read(buffer.start(), &mut back[..3]).unwrap();
        assert_eq!(back[..3], [1, 2, 3]);
    });
}
