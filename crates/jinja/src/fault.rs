//! Why a render fails.

/// What an operation makes.
pub type Made<T> = Result<T, Fault>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The template raised it.
    Raised,
    /// Operands do not allow the operation.
    Invalid,
    /// An amount is used up.
    Limit,
    /// The render nests deeper than the stack allows.
    Depth,
}

#[derive(Debug)]
pub struct Fault(Box<(Kind, String)>);

impl Fault {
    #[cold]
    pub fn new(kind: Kind, what: impl Into<String>) -> Fault {
        Fault(Box::new((kind, what.into())))
    }

    pub fn kind(&self) -> Kind {
        self.0.0
    }

    pub fn what(&self) -> &str {
        &self.0.1
    }
}

impl From<String> for Fault {
    fn from(what: String) -> Fault {
        Fault::new(Kind::Invalid, what)
    }
}

impl From<&str> for Fault {
    fn from(what: &str) -> Fault {
        Fault::new(Kind::Invalid, what)
    }
}

/// Fails with a formatted reason.
macro_rules! fail {
    ($($what:tt)*) => {
        return Err($crate::fault::Fault::from(format!($($what)*)))
    };
}
pub(crate) use fail;
