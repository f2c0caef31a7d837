//! Reads any bytes as an archive of a model: unpacks it within limits, and reads what it has. Nothing may panic.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use ns_translate::pyhf::{DigestCheck, ModelOptions};
use ns_translate::{Archive, ArchiveLimits, ModelSource};

/// Small, so that a single input takes a short time.
const LIMITS: ArchiveLimits = ArchiveLimits { members: 100, unpacked: 4 << 20, read: 1 << 20 };

fuzz_target!(|data: &[u8]| {
    let unpacked = Archive::unpack(data, LIMITS).inspect_err(|error| drop(error.to_string()));
    let Ok(archive) = unpacked.map(Arc::new) else { return };
    let read = ModelSource::from_archive(&archive, None, &[], DigestCheck::Verify, None);
    let Ok(source) = read.inspect_err(|error| drop(error.to_string())) else { return };
    let _ = source.model(&ModelOptions::default()).inspect_err(|error| drop(error.to_string()));
});
