//! The functions that expressions can use.

use ns_core::Special;

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
    /// The logarithm to a fixed base.
    Logarithm(Base),
    /// The square.
    Square,
    /// 1 for numbers that are not negative, otherwise 0.
    Step,
    /// Inverse hyperbolic cosine.
    Acosh,
    /// Inverse hyperbolic tangent.
    Atanh,
    /// `exp(-(x - mean)^2 / (2 sigma^2))` of `x`, `mean` and `sigma`.
    Gaus,
    /// A function without arguments that stands for a number, such as `TMath::Pi()` of ROOT. The text is the name of
    /// the constant.
    Constant(&'static str),
}

/// Base of a logarithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// Base 2.
    Two,
    /// Base 10.
    Ten,
}

const fn special(function: Special) -> Function {
    Function::Unary(Unary::Special(function))
}

/// Name of each function, its other names, and the function itself. ROOT's names of mathematical functions have the
/// prefix `TMath::` or `ROOT::Math::`; here they are without it.
const FUNCTIONS: &[(&str, &[&str], Function)] = &[
    ("exp", &["TMath::Exp"], Function::Unary(Unary::Exp)),
    ("log", &["TMath::Log", "ln"], Function::Unary(Unary::Ln)),
    ("log10", &["TMath::Log10"], Function::Logarithm(Base::Ten)),
    ("log2", &["TMath::Log2"], Function::Logarithm(Base::Two)),
    ("sqrt", &["TMath::Sqrt"], Function::Unary(Unary::Sqrt)),
    ("sq", &["TMath::Sq"], Function::Square),
    ("abs", &["fabs", "TMath::Abs"], Function::Unary(Unary::Abs)),
    ("pow", &["TMath::Power"], Function::Binary(Binary::Pow)),
    ("min", &["TMath::Min", "std::min"], Function::Binary(Binary::Min)),
    ("max", &["TMath::Max", "std::max"], Function::Binary(Binary::Max)),
    ("sin", &["TMath::Sin"], Function::Unary(Unary::Sin)),
    ("cos", &["TMath::Cos"], Function::Unary(Unary::Cos)),
    ("tan", &["TMath::Tan"], Function::Unary(Unary::Tan)),
    ("asin", &["TMath::ASin"], Function::Unary(Unary::Asin)),
    ("acos", &["TMath::ACos"], Function::Unary(Unary::Acos)),
    ("atan", &["TMath::ATan"], Function::Unary(Unary::Atan)),
    ("atan2", &["TMath::ATan2"], Function::Binary(Binary::Atan2)),
    ("sinh", &["TMath::SinH"], special(Special::Sinh)),
    ("cosh", &["TMath::CosH"], special(Special::Cosh)),
    ("tanh", &["TMath::TanH"], special(Special::Tanh)),
    ("asinh", &["TMath::ASinH"], special(Special::Asinh)),
    ("acosh", &["TMath::ACosH"], Function::Acosh),
    ("atanh", &["TMath::ATanH"], Function::Atanh),
    ("erf", &["TMath::Erf", "ROOT::Math::erf"], special(Special::Erf)),
    ("erfc", &["TMath::Erfc", "ROOT::Math::erfc"], special(Special::Erfc)),
    ("gamma", &["tgamma", "TMath::Gamma", "ROOT::Math::tgamma"], special(Special::Gamma)),
    ("lgamma", &["TMath::LnGamma", "ROOT::Math::lgamma"], special(Special::LnGamma)),
    ("j0", &["TMath::BesselJ0"], special(Special::BesselJ(0))),
    ("j1", &["TMath::BesselJ1"], special(Special::BesselJ(1))),
    ("landau", &["TMath::Landau", "ROOT::Math::landau_pdf"], special(Special::Landau)),
    ("step", &[], Function::Step),
    ("gaus", &["TMath::Gaus"], Function::Gaus),
    ("ifelse", &[], Function::Select),
    ("TMath::Pi", &[], Function::Constant("PI")),
    ("TMath::E", &[], Function::Constant("EULER")),
];

/// Names that are functions even without arguments.
const RESERVED: [&str; 16] = [
    "exp", "log", "log10", "sqrt", "abs", "fabs", "pow", "min", "max", "sin", "cos", "tan", "asin", "acos",
    "atan", "ifelse",
];

impl Function {
    /// Returns the function with the name `name`; `None` if it does not exist. Names may have the prefix `std::`. ROOT
    /// writes a name such as `TMath::SinH` as `sinH` in HS3 files; such names are known too.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let find = |name: &str| {
            let is = |known: &&(&str, &[&str], Self)| known.0 == name || known.1.contains(&name);
            FUNCTIONS.iter().find(is).map(|(_, _, function)| *function)
        };
        let of_root = || {
            let mut letters = name.chars();
            let first = letters.next().filter(char::is_ascii_lowercase)?;
            find(&format!("TMath::{}{}", first.to_ascii_uppercase(), letters.as_str()))
        };
        let plain = || name.strip_prefix("std::").and_then(find);
        find(name).or_else(plain).or_else(of_root)
    }

    /// Returns whether a name without arguments cannot be that of a parameter: the functions of HS3, and ROOT's full names.
    /// Parameters are often called `gamma`, `e` or `step`.
    pub(super) fn is_reserved(name: &str) -> bool {
        RESERVED.contains(&name) || (name.contains("::") && Self::of(name).is_some())
    }

    /// Returns the name of a special function in expressions; `None` if it has no name.
    pub(super) fn name_of(special: Special) -> Option<&'static str> {
        let is = |own: &Self| matches!(own, Self::Unary(Unary::Special(known)) if *known == special);
        FUNCTIONS.iter().find(|(_, _, own)| is(own)).map(|(name, ..)| *name)
    }

    /// Returns the names of the functions, without ROOT's, separated by commas, for messages.
    #[must_use]
    pub fn names() -> String {
        let names: Vec<&str> =
            FUNCTIONS.iter().map(|(name, ..)| *name).filter(|name| !name.contains(':')).collect();
        names.join(", ")
    }

    /// Returns the number of arguments of the function.
    #[must_use]
    pub const fn arguments(self) -> usize {
        match self {
            Self::Constant(_) => 0,
            Self::Unary(_) | Self::Logarithm(_) | Self::Square | Self::Step | Self::Acosh | Self::Atanh => 1,
            Self::Binary(_) => 2,
            Self::Select | Self::Gaus => 3,
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
