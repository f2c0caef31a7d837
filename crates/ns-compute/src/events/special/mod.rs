//! Special functions that densities and their integrals need, with first and second derivatives. Those that
//! expressions may use too are [`ns_core::Special`].

mod decay;
mod erfcx;
mod erfcx_terms;
mod faddeeva;
mod interpolation;
mod normal;
mod smeared;

pub(super) use decay::decay;
pub(super) use erfcx::erfcx;
pub(super) use faddeeva::{faddeeva_imaginary, voigt};
pub(super) use interpolation::Interpolation;
pub(super) use normal::normal_integral;
pub(super) use smeared::smeared_decay;
