//! Amplitudes and integrals of a channel whose integrals are out of the range of doubles.

use super::{Wide, WideInput, WideMemory, WideSources, in_range};
use crate::events::channel::ChannelPlan;
use crate::events::integral::IntegralMemory;
use crate::simd::Level;

/// The amplitudes of all terms of a channel at one point, as `values[t] 2^exponents[t]`.
///
/// The derivatives of the sums over events are with respect to `values`.
#[derive(Debug, Clone, Default)]
pub(in crate::events) struct WideAmplitudes {
    pub(in crate::events) values: Vec<f64>,
    pub(in crate::events) exponents: Vec<i64>,
    /// Value and derivatives of `values`, with respect to all values that the channel uses.
    pub(in crate::events) results: Vec<Vec<f64>>,
    /// Values of all integrals of the channel.
    pub(in crate::events) integrals: Vec<Wide>,
    /// Index of the first infinite integral; `None` if there is none.
    pub(in crate::events) infinite: Option<usize>,
}

impl WideAmplitudes {
    /// Computes the integrals and amplitudes of a channel. `locals` contains the values that the channel uses.
    /// `memories` are those of the last integrations with doubles. The errors of the integrals are written to them.
    pub(in crate::events) fn new(
        level: Level,
        plan: &ChannelPlan,
        locals: &[f64],
        memories: &mut [IntegralMemory],
    ) -> Self {
        let integrals: Vec<Vec<Wide>> = plan
            .integrals
            .iter()
            .zip(memories)
            .map(|(integral, memory)| {
                let variables: Vec<f64> = integral.variables.iter().map(|&local| locals[local]).collect();
                integral.evaluate_wide(level, &variables, memory)
            })
            .collect();
        let inputs: Vec<WideInput<'_>> = integrals
            .iter()
            .zip(&plan.integrals)
            .map(|(result, integral)| WideInput { result, variables: &integral.variables })
            .collect();
        let sources = WideSources { variables: locals, inputs: &inputs, data: &[] };
        let is_infinite = |result: &Vec<Wide>| result.first().is_some_and(|value| value.is_infinite());
        let infinite = integrals.iter().position(is_infinite);
        let values = integrals.iter().filter_map(|result| result.first().copied()).collect();
        let mut made = Self { infinite, integrals: values, ..Self::default() };
        for term in &plan.terms {
            let mut memory = WideMemory::new(&term.program);
            memory.prepare(&term.program, sources);
            let value = memory.value();
            // The amplitude may be 0 although its derivatives are not.
            let exponents = value.iter().take(1 + locals.len()).filter_map(|x| x.exponent());
            let exponent = exponents.max().unwrap_or(0);
            let result: Vec<f64> = value.iter().map(|x| x.scaled(-exponent)).collect();
            made.values.push(result[0]);
            made.exponents.push(exponent);
            made.results.push(result);
        }
        made
    }

    /// Returns whether the amplitudes must be computed with numbers of a wide range, because an integral or an amplitude
    /// is not well within the range of doubles. `first` returns the value of each integral.
    pub(in crate::events) fn are_needed(integrals: impl Iterator<Item = f64>, amplitudes: &[f64]) -> bool {
        let is_bad = |x: f64| !in_range(x);
        integrals.into_iter().any(is_bad) || amplitudes.iter().any(|&a| a != 0.0 && is_bad(a))
    }
}
