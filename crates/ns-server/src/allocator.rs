//! The allocator of the server: that of the system, with the bytes counted that each thread and all threads hold.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// Bytes that a thread may hold or have freed before it adds them to those of all threads.
const LEAST: i64 = 4 << 10;

/// Bytes that all threads have allocated and not freed. A thread adds its own in portions, so up to [`LEAST`]
/// of each are missing, also of those that have ended.
static ALL: AtomicI64 = AtomicI64::new(0);

thread_local! {
    /// Bytes that this thread has allocated less those that it has freed, and the part that is not in [`ALL`] yet. They need no
    /// destructor, so the allocator may use them while a thread starts or ends.
    static OWN: Cell<(i64, i64)> = const { Cell::new((0, 0)) };
}

struct Counted;

fn count(bytes: i64) {
    OWN.with(|own| {
        let (total, mut waiting) = own.get();
        waiting += bytes;
        if waiting.abs() >= LEAST {
            ALL.fetch_add(waiting, Ordering::Relaxed);
            waiting = 0;
        }
        own.set((total + bytes, waiting));
    });
}

/// Layouts are at most `isize::MAX` bytes.
fn size(layout: Layout) -> i64 {
    layout.size().cast_signed() as i64
}

// SAFETY: every call goes to the system with the arguments as they came. Counting neither allocates nor panics.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that the system needs.
        let place = unsafe { System.alloc(layout) };
        if !place.is_null() {
            count(size(layout));
        }
        place
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let place = unsafe { System.alloc_zeroed(layout) };
        if !place.is_null() {
            count(size(layout));
        }
        place
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) };
        count(-size(layout));
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as above.
        let moved = unsafe { System.realloc(place, layout, bytes) };
        if !moved.is_null() {
            count(bytes.cast_signed() as i64 - size(layout));
        }
        moved
    }
}

/// Returns the bytes that all threads hold, to within 4 KiB for each thread that ever ran. Memory of C libraries is not counted.
pub(crate) fn allocated() -> u64 {
    ALL.load(Ordering::Relaxed).max(0).cast_unsigned()
}

/// Returns the bytes that the calling thread has allocated so far, less those that it has freed.
pub(crate) fn of_thread() -> i64 {
    OWN.with(Cell::get).0
}

/// Gives freed memory back to the system from now on, by a thread that looks several times a second. The C library of GNU
/// would keep it. With other C libraries nothing is done. To be called before other threads start.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub(crate) fn give_back() -> std::io::Result<()> {
    /// A look that finds less freed than this does nothing, because giving back stops other threads for a moment.
    const LEAST_FREED: u64 = 4 << 20;
    /// Blocks of this size, in bytes, have pages of their own, which are given back at once.
    const LARGE: libc::c_int = 128 << 10;
    /// With an arena for each thread, pages stay in use for a small block here and there: 1.2 GB with
    /// `--memory 256M`.
    const ARENAS: libc::c_int = 2;
    let look = || {
        let mut most = allocated();
        loop {
            std::thread::sleep(std::time::Duration::from_millis(300));
            let now = allocated();
            most = most.max(now);
            if most - now >= LEAST_FREED {
                // SAFETY: the function may be called at any time and from any thread.
                unsafe { libc::malloc_trim(0) };
                most = now;
            }
        }
    };
    // SAFETY: no other thread exists.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, ARENAS);
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
    std::thread::Builder::new().name("give-back".to_owned()).spawn(look).map(drop)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(crate) fn give_back() -> std::io::Result<()> {
    Ok(())
}
