//! The allocator of the server: mimalloc, with the bytes counted that each thread and all threads hold.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: Counted = Counted;

/// Bytes that a thread may hold or have freed before it adds them to those of all threads.
const LEAST: i64 = 64 << 10;

/// Bytes that all threads have allocated and not freed, but for up to [`LEAST`] of each thread.
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

// SAFETY: every call goes to mimalloc with the arguments as they came. Counting neither allocates nor panics.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those that mimalloc needs.
        let place = unsafe { MiMalloc.alloc(layout) };
        if !place.is_null() {
            count(size(layout));
        }
        place
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let place = unsafe { MiMalloc.alloc_zeroed(layout) };
        if !place.is_null() {
            count(size(layout));
        }
        place
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { MiMalloc.dealloc(place, layout) };
        count(-size(layout));
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as above.
        let moved = unsafe { MiMalloc.realloc(place, layout, bytes) };
        if !moved.is_null() {
            count(bytes.cast_signed() as i64 - size(layout));
        }
        moved
    }
}

/// Returns the bytes that all threads hold, to within 64 KiB per thread. Memory of C libraries is not counted.
pub(crate) fn allocated() -> u64 {
    ALL.load(Ordering::Relaxed).max(0).cast_unsigned()
}

/// Returns the bytes that the calling thread has allocated so far, less those that it has freed.
pub(crate) fn of_thread() -> i64 {
    OWN.with(Cell::get).0
}
