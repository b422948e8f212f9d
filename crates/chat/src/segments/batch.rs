//! Work on many requests at once, on threads.

use std::iter;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The results of `work` for each number below `count`, in order, by at most this many threads; 0:
/// as many as the machine runs at once. The calling thread is one of them, and does all where a
/// system gives no others.
#[doc(hidden)]
pub fn in_threads<T: Send>(
    count: usize,
    threads: usize,
    work: &(dyn Fn(usize) -> T + Sync),
) -> Vec<T> {
    let threads = if threads == 0 {
        thread::available_parallelism().map_or(1, NonZero::get)
    } else {
        threads
    };
    let next = AtomicUsize::new(0);
    // The work that one thread takes, with its numbers.
    let take = || {
        let numbers = iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        let numbers = numbers.take_while(|number| *number < count);
        numbers.map(|number| (number, work(number))).collect()
    };
    let mut results = thread::scope(|scope| {
        let mut started = Vec::new();
        while started.len() + 1 < threads.min(count)
            && let Ok(thread) = thread::Builder::new().spawn_scoped(scope, take)
        {
            started.push(thread);
        }
        let mut results: Vec<(usize, T)> = take();
        // Joined by hand: the end of a scope does not wait until the system has taken its threads
        // back.
        for thread in started {
            results.extend(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        results
    });
    chatparse_base::sort::by_key(&mut results, |(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}
