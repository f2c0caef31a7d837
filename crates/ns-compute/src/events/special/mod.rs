//! Special functions that densities and their integrals need, with first and second derivatives.

mod decay;
mod interpolation;
mod normal;
mod voigt;

pub(super) use decay::decay;
pub(super) use interpolation::Interpolation;
pub(super) use normal::normal_integral;
pub(super) use voigt::voigt;
