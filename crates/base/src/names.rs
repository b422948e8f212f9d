//! The words for the variants of an enum.

/// Gives an enum the function `name`: a word for each variant.
#[macro_export]
macro_rules! names {
    ($(#[$doc:meta])* $kind:ident { $($variant:ident: $name:literal,)* }) => {
        impl $kind {
            $(#[$doc])*
            pub const fn name(self) -> &'static str {
                match self {
                    $($kind::$variant => $name,)*
                }
            }
        }
    };
}
