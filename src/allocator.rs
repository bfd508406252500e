//! The allocator of the program, in the place of the C library's also for the C and C++ of the client
//! and the store. Of the program and of benches that measure its memory: whoever embeds the library
//! chooses their own. Must not be in here: anything else.

use std::ffi::{CStr, c_char};

/// Most memory is taken by one thread of a client and given back by another, which costs the C
/// library's allocator an eighth of all time.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const SETTINGS: &CStr = c"background_thread:true,narenas:4,dirty_decay_ms:1000,muzzy_decay_ms:0";

/// What the allocator is told as it begins: memory that was given back goes to the system after a
/// second, by threads of its own, and not after ten. `MALLOC_CONF` overrides it.
// SAFETY: under this name the allocator reads a pointer to a text that ends with a zero, or null,
// which is what an optional reference is. Nothing else has the name, and the text is never gone.
#[unsafe(export_name = "malloc_conf")]
pub static ALLOCATOR_SETTINGS: Option<&'static c_char> = Some(unsafe { &*SETTINGS.as_ptr() });
