//! Steps of JSON pointers.

/// A name as a step.
pub fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The name that a step is of.
pub fn name(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}
