//! Templates of our own, by name: one for each way to write calls and reasoning. They are what a caller without a template
//! uses, and what the demo and the tests run on.

/// A built-in template.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// What it shows, in a few words.
    pub about: &'static str,
    /// Its text.
    pub source: &'static str,
    /// The text of the token that begins a prompt.
    pub bos: &'static str,
    /// The text of the token that ends a turn.
    pub eos: &'static str,
}

macro_rules! builtins {
    ($($name:literal, $bos:literal, $eos:literal, $about:literal;)*) => {
        &[$(Builtin {
            name: $name,
            about: $about,
            source: include_str!(concat!("../templates/", $name, ".jinja")),
            bos: $bos,
            eos: $eos,
        }),*]
    };
}

/// All built-in templates.
pub const BUILTINS: &[Builtin] = builtins! {
    "chatml", "", "<|im_end|>", "content only";
};

/// The built-in template of that name.
pub fn find(name: &str) -> Option<&'static Builtin> {
    BUILTINS.iter().find(|builtin| builtin.name == name)
}

/// The names of the built-in templates.
pub fn names() -> impl Iterator<Item = &'static str> {
    BUILTINS.iter().map(|builtin| builtin.name)
}
