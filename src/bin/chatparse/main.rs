//! The command line: glue over the library.

mod replay;

use std::process::ExitCode;

fn main() -> ExitCode {
    match replay::run(std::io::stdin().lock(), std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(1),
    }
}
