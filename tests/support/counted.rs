//! An allocator that counts.
#![allow(
    unsafe_code,
    dead_code,
    reason = "an allocator, of which each test looks at some counts"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

struct Counting;

thread_local! {
    /// This thread's new allocations, those that grew, and the bytes that are allocated now.
    pub static NEW: Cell<usize> = const { Cell::new(0) };
    pub static GROWN: Cell<usize> = const { Cell::new(0) };
    pub static LIVE: Cell<isize> = const { Cell::new(0) };
    /// The bytes of all allocations so far.
    pub static BYTES: Cell<usize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

// SAFETY: all it does besides counting is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        NEW.set(NEW.get() + 1);
        LIVE.set(LIVE.get() + layout.size() as isize);
        BYTES.set(BYTES.get() + layout.size());
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - layout.size() as isize);
        // SAFETY: as the caller says.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        GROWN.set(GROWN.get() + 1);
        LIVE.set(LIVE.get() + size as isize - layout.size() as isize);
        BYTES.set(BYTES.get() + size);
        // SAFETY: as the caller says.
        unsafe { System.realloc(at, layout, size) }
    }
}
