//! The functions that expressions can use.

use super::node::{Binary, Unary};

/// A function that expressions can use. Names with the same meaning, such as `abs` and `fabs`, give the same
/// `Function`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// A function of one argument.
    Unary(Unary),
    /// A function of two arguments.
    Binary(Binary),
    /// `ifelse(condition, a, b)`: `a` if the condition is true, otherwise `b`.
    Select,
    /// The logarithm to base 10.
    Log10,
    /// A function without arguments that stands for a number, such as `TMath::Pi()` of ROOT. The text is the name of
    /// the constant.
    Constant(&'static str),
}

/// Name of each function, and the function itself. Names with the prefix `TMath::` are those of ROOT.
const FUNCTIONS: &[(&str, Function)] = &[
    ("exp", Function::Unary(Unary::Exp)),
    ("log", Function::Unary(Unary::Ln)),
    ("sqrt", Function::Unary(Unary::Sqrt)),
    ("abs", Function::Unary(Unary::Abs)),
    ("pow", Function::Binary(Binary::Pow)),
    ("min", Function::Binary(Binary::Min)),
    ("max", Function::Binary(Binary::Max)),
    ("sin", Function::Unary(Unary::Sin)),
    ("cos", Function::Unary(Unary::Cos)),
    ("tan", Function::Unary(Unary::Tan)),
    ("asin", Function::Unary(Unary::Asin)),
    ("acos", Function::Unary(Unary::Acos)),
    ("atan", Function::Unary(Unary::Atan)),
    ("ifelse", Function::Select),
    ("log10", Function::Log10),
    ("fabs", Function::Unary(Unary::Abs)),
    ("TMath::Exp", Function::Unary(Unary::Exp)),
    ("TMath::Log", Function::Unary(Unary::Ln)),
    ("TMath::Log10", Function::Log10),
    ("TMath::Sqrt", Function::Unary(Unary::Sqrt)),
    ("TMath::Abs", Function::Unary(Unary::Abs)),
    ("TMath::Power", Function::Binary(Binary::Pow)),
    ("TMath::Min", Function::Binary(Binary::Min)),
    ("TMath::Max", Function::Binary(Binary::Max)),
    ("TMath::Sin", Function::Unary(Unary::Sin)),
    ("TMath::Cos", Function::Unary(Unary::Cos)),
    ("TMath::Tan", Function::Unary(Unary::Tan)),
    ("TMath::ASin", Function::Unary(Unary::Asin)),
    ("TMath::ACos", Function::Unary(Unary::Acos)),
    ("TMath::ATan", Function::Unary(Unary::Atan)),
    ("TMath::Pi", Function::Constant("PI")),
    ("TMath::E", Function::Constant("EULER")),
];

impl Function {
    /// Returns the function with the name `name`; `None` if it does not exist.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }

    /// Returns the names of the functions in the HS3 standard, separated by commas, for messages.
    #[must_use]
    pub fn names() -> String {
        let names: Vec<&str> =
            FUNCTIONS.iter().map(|(name, _)| *name).filter(|name| !name.contains(':')).collect();
        names.join(", ")
    }

    /// Returns the number of arguments of the function.
    #[must_use]
    pub const fn arguments(self) -> usize {
        match self {
            Self::Constant(_) => 0,
            Self::Unary(_) | Self::Log10 => 1,
            Self::Binary(_) => 2,
            Self::Select => 3,
        }
    }
}

/// Returns the value of a named constant: `PI`, `EULER`, `TRUE` or `FALSE`. Returns `None` for other names.
pub(super) fn constant(name: &str) -> Option<f64> {
    match name {
        "PI" => Some(std::f64::consts::PI),
        "EULER" => Some(std::f64::consts::E),
        "TRUE" => Some(1.0),
        "FALSE" => Some(0.0),
        _ => None,
    }
}
