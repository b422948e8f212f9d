//! The words for the variants of an enum.

#[doc(hidden)]
pub use serde::{Serialize, Serializer};

/// Gives an enum the function `name`, a word for each variant, which is also its JSON. The enum may be declared with its
/// words, and with numbers.
#[macro_export]
macro_rules! names {
    ($(#[$meta:meta])* pub enum $kind:ident { $($(#[$doc:meta])* $variant:ident $(($number:literal))? = $name:literal,)* }) => {
        $(#[$meta])*
        pub enum $kind {
            $($(#[$doc])* $variant $(= $number)?,)*
        }
        $crate::names! {
            /// A stable lower-case name, which is also its JSON.
            $kind { $($variant: $name,)* }
        }
    };
    ($(#[$doc:meta])* $kind:ident { $($variant:ident: $name:literal,)* }) => {
        impl $kind {
            $(#[$doc])*
            pub const fn name(self) -> &'static str {
                match self {
                    $($kind::$variant => $name,)*
                }
            }
        }

        impl $crate::names::Serialize for $kind {
            fn serialize<S: $crate::names::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.name())
            }
        }
    };
}
