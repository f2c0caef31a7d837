//! The allocator of the server. It counts the memory of each thread, and gives freed memory back to the system.

use std::ffi::c_char;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Options that the allocator reads when the program starts, as a pointer to a C string.
#[repr(transparent)]
struct Options(*const c_char);

// SAFETY: the pointer points to a constant, which nobody changes.
unsafe impl Sync for Options {}

/// Freed memory goes back to the system within a third of a second, by a thread of the allocator. A few arenas are enough,
/// and each arena holds freed memory of its own. So does each thread, and there may be hundreds of threads, so a thread
/// holds only little.
// SAFETY: the allocator declares a variable of this name and type for this purpose.
#[unsafe(export_name = "_rjem_malloc_conf")]
#[used]
static OPTIONS: Options =
    Options(c"background_thread:true,dirty_decay_ms:300,muzzy_decay_ms:0,narenas:4,lg_tcache_max:12,tcache_nslots_small_max:40".as_ptr());
