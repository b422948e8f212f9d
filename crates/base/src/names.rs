//! The words for the variants of an enum.

#[doc(hidden)]
pub use serde::{Serialize, Serializer};

/// Declares an enum with a word for each variant, which is also its JSON, and perhaps a number:
/// `Word(1) = "word"`.
#[macro_export]
macro_rules! names {
    ($(#[$meta:meta])* $vis:vis enum $kind:ident { $($(#[$doc:meta])* $variant:ident $(($number:literal))? = $name:literal,)* }) => {
        $(#[$meta])*
        $vis enum $kind {
            $($(#[$doc])* $variant $(= $number)?,)*
        }

        impl $kind {
            /// All of them, in their order.
            #[allow(dead_code)]
            pub const ALL: [$kind; [$($name),*].len()] = [$($kind::$variant),*];

            /// A stable name, which is also its JSON.
            pub const fn name(self) -> &'static str {
                match self {
                    $($kind::$variant => $name,)*
                }
            }
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $kind {
            /// Which words there are.
            type Err = String;

            fn from_str(word: &str) -> Result<Self, String> {
                let mut all = $kind::ALL.into_iter();
                all.find(|one| one.name() == word)
                    .ok_or_else(|| format!("{word:?} is none of {:?}", [$($name),*]))
            }
        }

        impl $crate::names::Serialize for $kind {
            fn serialize<S: $crate::names::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.name())
            }
        }
    };
}
