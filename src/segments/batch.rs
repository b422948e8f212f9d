//! Work on many requests at once, on threads.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// The results of `work` for each number below `count`, in order, by at most this many threads; 0: as many as the machine runs
/// at once. The calling thread is one of them, and does all where a system gives no others.
pub(crate) fn in_threads<T: Send>(count: usize, threads: usize, work: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    let threads = if threads == 0 { thread::available_parallelism().map_or(1, NonZero::get) } else { threads };
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let take = |sender: mpsc::Sender<(usize, T)>| {
        let numbers = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|number| *number < count);
        // The receiver is there until all threads have ended.
        std::iter::from_fn(numbers).for_each(|number| drop(sender.send((number, work(number)))));
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(count) {
            let sender = sender.clone();
            if thread::Builder::new().spawn_scoped(scope, || take(sender)).is_err() {
                break;
            }
        }
        take(sender);
    });
    let mut results: Vec<(usize, T)> = receiver.into_iter().collect();
    chatparse_base::sort::by_key(&mut results, |(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}
