//! What the program shows without a command.
use crate::failure::Outcome;
use crate::screen::Screen;
pub fn run(_screen: &mut Screen) -> Outcome {
    Ok(())
}
