//! Work that nests deeply runs on a stack of its own, so that a thread of a host needs no more than
//! 128 KiB.

use crate::error::{Error, Result};

/// Unoptimised code has frames many times the size.
const DEEP: usize = if cfg!(debug_assertions) {
    16 << 20
} else {
    1 << 20
};

/// Runs `work` on a thread with a stack of 1 MiB, which takes some 20 microseconds. Where a system
/// has no threads, the work runs on the host's stack.
///
/// # Errors
/// Those of `work`; [`crate::ErrorKind::Limit`] if the system gives no thread.
pub fn deep<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    if cfg!(target_family = "wasm") {
        return work();
    }
    std::thread::scope(|scope| {
        match std::thread::Builder::new()
            .stack_size(DEEP)
            .spawn_scoped(scope, work)
        {
            Ok(thread) => thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(error) => Err(Error::limit(format!(
                "no thread for what nests deeply: {error}"
            ))),
        }
    })
}
