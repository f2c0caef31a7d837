//! Interpolation codes. The effect of a parameter on the yields is given for the parameter values -1, 0 and 1. The code
//! determines the effect at all other values.

use std::fmt;
use std::str::FromStr;

/// The error if no interpolation code has the given name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown interpolation code '{value}' of {modifier}; use {}", listed(.known))]
pub struct UnknownCode {
    /// Type of the modifier: `normsys` or `histosys`.
    pub modifier: &'static str,
    /// The name given.
    pub value: String,
    /// The names of all codes for this type of modifier.
    pub known: Vec<&'static str>,
}

/// Joins names to a text such as `"code1", "code2" or "code4"`.
fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    match quoted.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => quoted.concat(),
    }
}

/// Declares the enum of the interpolation codes of one type of modifier, with the names and the properties of the
/// codes.
macro_rules! codes {
    (
        $(#[$meta:meta])* $code:ident of $modifier:literal {
            $($(#[$doc:meta])* $variant:ident: $name:literal, kink: $kink:literal, smooth: $smooth:ident;)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $code {
            $($(#[$doc])* $variant,)*
        }

        impl $code {
            /// All codes, in the order of their numbers in the GPU kernels.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns the name of the code, for example `code4`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            /// Returns whether the slope of an asymmetric effect jumps at the parameter value 0.
            #[must_use]
            pub const fn has_kink(self) -> bool {
                match self {
                    $(Self::$variant => $kink,)*
                }
            }

            /// Returns the smooth code that is closest to this code.
            #[must_use]
            pub const fn smooth(self) -> Self {
                match self {
                    $(Self::$variant => Self::$smooth,)*
                }
            }
        }

        impl fmt::Display for $code {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        /// Parses the name of a code. The prefix `code` may be left out, as in `4` for `code4`.
        impl FromStr for $code {
            type Err = UnknownCode;

            fn from_str(value: &str) -> Result<Self, UnknownCode> {
                let named = |code: &&Self| code.name() == value || code.name().strip_prefix("code") == Some(value);
                Self::ALL.iter().find(named).copied().ok_or_else(|| UnknownCode {
                    modifier: $modifier,
                    value: value.to_owned(),
                    known: Self::ALL.iter().map(|code| code.name()).collect(),
                })
            }
        }
    };
}

codes! {
    /// Interpolation codes of `normsys` factors, as in `pyhf.interpolators`.
    NormsysCode of "normsys" {
        /// The effect is a piecewise linear function of the parameter, with a kink at 0.
        Code0: "code0", kink: true, smooth: Code6;
        /// The effect is a piecewise exponential function of the parameter, with a kink at 0.
        Code1: "code1", kink: true, smooth: Code4;
        /// The effect is a smooth function of the parameter `alpha`: a polynomial for `|alpha| < 1` and exponential
        /// beyond.
        Code4: "code4", kink: false, smooth: Code4;
        /// The effect is a smooth function of the parameter `alpha`: a polynomial for `|alpha| < 1` and linear beyond.
        /// This is code 6 of ROOT's `FlexibleInterpVar`.
        Code6: "code6", kink: false, smooth: Code6;
        /// The asymmetric `lnN` of CMS Combine (`AsymPow`). The logarithm of the factor is a polynomial of the parameter
        /// `alpha` for `|alpha| < 1/2`; the effect is exponential beyond.
        AsymmetricLogNormal: "lnN", kink: false, smooth: AsymmetricLogNormal;
    }
}

impl NormsysCode {
    /// Returns whether the factors are interpolated in their logarithm, so that they must be positive.
    #[must_use]
    pub const fn has_logarithm(self) -> bool {
        matches!(self, Self::Code1 | Self::Code4 | Self::AsymmetricLogNormal)
    }
}

codes! {
    /// Interpolation codes of `histosys` templates, as in `pyhf.interpolators`.
    HistosysCode of "histosys" {
        /// The effect is a piecewise linear function of the parameter, with a kink at 0.
        Code0: "code0", kink: true, smooth: Code4p;
        /// The effect is a quadratic function of the parameter `alpha` for `|alpha| < 1` and linear beyond.
        Code2: "code2", kink: false, smooth: Code4p;
        /// The effect is a smooth function of the parameter `alpha`: a polynomial of degree 6 for `|alpha| < 1` and
        /// linear beyond.
        Code4p: "code4p", kink: false, smooth: Code4p;
    }
}

/// The two interpolation codes of a model, one for normsys and one for histosys modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interpolation {
    /// Code of normsys factors.
    pub normsys: NormsysCode,
    /// Code of histosys templates.
    pub histosys: HistosysCode,
}

impl Interpolation {
    /// The codes code4 for normsys and code4p for histosys, which are the default here and in pyhf 0.7.
    pub const SMOOTH: Self = Self { normsys: NormsysCode::Code4, histosys: HistosysCode::Code4p };
    /// The codes of the original HistFactory: code1 for normsys and code0 for histosys.
    pub const PIECEWISE: Self = Self { normsys: NormsysCode::Code1, histosys: HistosysCode::Code0 };

    /// Returns whether an asymmetric effect of a normsys or histosys modifier has a kink at the parameter value 0.
    #[must_use]
    pub const fn has_kinks(self) -> bool {
        self.normsys.has_kink() || self.histosys.has_kink()
    }

    /// Returns the smooth codes that are closest to these codes. With them, the effect of every parameter is the same
    /// as before at the parameter values -1, 0 and 1.
    #[must_use]
    pub const fn smooth(self) -> Self {
        Self { normsys: self.normsys.smooth(), histosys: self.histosys.smooth() }
    }
}

impl Default for Interpolation {
    fn default() -> Self {
        Self::SMOOTH
    }
}

impl fmt::Display for Interpolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spelling = match *self {
            Self::SMOOTH => "smooth",
            Self::PIECEWISE => "piecewise",
            _ => "mixed",
        };
        write!(f, "{spelling} (normsys {}, histosys {})", self.normsys, self.histosys)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_known_by_their_names() {
        for code in NormsysCode::ALL {
            assert_eq!(code.name().parse(), Ok(*code));
            if let Some(number) = code.name().strip_prefix("code") {
                assert_eq!(number.parse(), Ok(*code));
            }
            assert!(!code.smooth().has_kink());
        }
        for code in HistosysCode::ALL {
            assert_eq!(code.to_string().parse(), Ok(*code));
            assert!(!code.smooth().has_kink());
        }
        let error = "code3".parse::<HistosysCode>().unwrap_err();
        let said = "unknown interpolation code 'code3' of histosys; use \"code0\", \"code2\" or \"code4p\"";
        assert_eq!(error.to_string(), said);
    }
}
