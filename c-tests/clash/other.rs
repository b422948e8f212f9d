//! A second static library of Rust in a program: it allocates, panics and catches that.
use std::collections::HashMap;

#[unsafe(no_mangle)]
pub extern "C" fn other_answer(n: u32) -> u32 {
    std::panic::set_hook(Box::new(|_| ()));
    let squares: HashMap<u32, u32> = (0..n).map(|i| (i, i * i)).collect();
    let caught = std::panic::catch_unwind(|| if squares.len() as u32 == n { panic!("{n}") });
    squares[&(n - 1)] + u32::from(caught.is_err())
}
