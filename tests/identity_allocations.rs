//! A warm deriver allocates nothing for a record that is not rejected.
//!
//! Each thread counts its own allocations: the test harness has threads too.

use oncegate::identity::{Deriver, Recipe};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

fn allocations() -> usize {
    ALLOCATIONS.with(Cell::get)
}

fn count() {
    // A thread that ends has no counter any more; nothing is counted then.
    let _ = ALLOCATIONS.try_with(|counter| counter.set(counter.get() + 1));
}

// SAFETY: every call is handed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const CASES: [(&str, &str, &[u8]); 5] = [
    (
        "lab-result",
        include_str!("../config/recipes/lab-result.toml"),
        include_bytes!("documents/lab-result-500.json"),
    ),
    (
        "inventory-batch",
        include_str!("../config/recipes/inventory-batch.toml"),
        include_bytes!("documents/inventory-batch-6k.json"),
    ),
    (
        "inventory-item",
        include_str!("../config/recipes/inventory-item.toml"),
        include_bytes!("documents/inventory-batch-6k.json"),
    ),
    (
        "epcis-document",
        include_str!("../config/recipes/epcis-document.toml"),
        include_bytes!("documents/epcis-document.json"),
    ),
    (
        "fhir-observation",
        include_str!("../config/recipes/fhir-observation.toml"),
        include_bytes!("documents/fhir-observation.json"),
    ),
];

#[test]
fn a_warm_deriver_allocates_nothing() {
    for (name, recipe, document) in CASES {
        let recipe = Recipe::parse(name, recipe).unwrap_or_else(|e| panic!("{e}"));
        let mut deriver = Deriver::new(Arc::new(recipe));
        let mut derive = || {
            let events = deriver.derive(document).unwrap_or_else(|r| panic!("{name}: {r}"));
            events.iter().for_each(|event| assert!(event.is_ok(), "{name}: {event:?}"));
        };
        (0..3).for_each(|_| derive());
        let before = allocations();
        (0..100).for_each(|_| derive());
        assert_eq!(allocations() - before, 0, "{name}");
    }
}
