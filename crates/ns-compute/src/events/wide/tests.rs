use ns_core::Special;

use super::*;
use crate::events::program::{Binary, Builder, Memory, Sources, Step, Unary, components};
use crate::simd::Level;

#[test]
fn numbers_far_beyond_doubles_are_added_multiplied_and_compared() {
    let far = Wide::exp(-5000.0);
    assert_eq!(far.to_f64(), 0.0);
    assert!((far.ln() + 5000.0).abs() < 1e-11);
    let product = far.mul(Wide::exp(5001.0));
    assert!((product.to_f64() - std::f64::consts::E).abs() < 1e-11);
    assert_eq!(far.add(far).div(far).to_f64(), 2.0);
    assert!(far.sub(far).is_zero());
    assert_eq!(Wide::from(1.0).add(far).to_f64(), 1.0);
    assert_eq!(far.mul(far).sqrt().div(far).to_f64(), 1.0);
    assert_eq!(far.compare(Wide::ZERO), Some(std::cmp::Ordering::Greater));
    assert_eq!(far.neg().compare(far), Some(std::cmp::Ordering::Less));
    for x in [5e-324, 1.5, -3e-310, f64::MAX, 0.0, -2.0] {
        assert_eq!(Wide::from(x).to_f64(), x);
    }
    assert!(Wide::from(f64::NAN).to_f64().is_nan());
    assert_eq!(Wide::from(f64::INFINITY).add(far).to_f64(), f64::INFINITY);
}

#[test]
fn programs_give_the_same_components_with_both_kinds_of_numbers() {
    let mut b = Builder::default();
    let (x, p, q) = (b.push(Step::Observable(0)), b.push(Step::Variable(0)), b.push(Step::Variable(1)));
    let t = b.sub(x, p);
    let t = b.div(t, q);
    let size = b.unary(Unary::Abs, t);
    let mut sum = b.pow(size, p);
    for function in [Unary::Exp, Unary::Sin, Unary::Atan, Unary::Asinh, Unary::Decay, Unary::Neg] {
        let value = b.unary(function, t);
        let value = b.mul(value, q);
        sum = b.add(sum, value);
    }
    for function in
        [Unary::Ln, Unary::Sqrt, Unary::Reciprocal, Unary::Power(-1.5), Unary::Special(Special::LnGamma)]
    {
        let value = b.unary(function, size);
        sum = b.sub(sum, value);
    }
    let integral = b.push(Step::Binary(Binary::NormalIntegral, p, t));
    let voigt = b.push(Step::Binary(Binary::Voigt, t, q));
    let less = b.push(Step::Less(t, p));
    let choice = b.push(Step::Select(less, integral, voigt));
    let result = b.mul(sum, choice);
    let program = b.finish(result, 2, &[]);

    let variables = [0.4, 1.3];
    let events = [0.3, 1.1, -2.0, 5.0, -60.0];
    let mut memory = Memory::new(&program, events.len());
    let level = Level::Baseline;
    program.prepare(level, Sources::of(&variables), &mut memory);
    program.run(level, &[&events], 0, events.len(), &mut memory);
    let mut wide = WideMemory::new(&program);
    wide.prepare(&program, WideSources { variables: &variables, inputs: &[], data: &[] });
    for i in 0..events.len() {
        wide.run(&program, &[&events], i);
        let largest = wide.value().iter().fold(0.0, |most: f64, x| most.max(x.to_f64().abs()));
        for c in 0..components(2) {
            let (got, want) = (wide.value()[c].to_f64(), memory.value(&program)[c * events.len() + i]);
            assert!((got - want).abs() < 1e-12 * largest, "event {i}, component {c}: {got} {want}");
        }
    }
}

#[test]
fn the_normal_integral_continues_beyond_doubles() {
    // mpmath: log of the integral of exp(-t^2/2) from 67 to 87, and from 30 to 31.
    for (a, b, want) in [(67.0, 87.0, -2_248.704_915_262_227_7), (30.0, 31.0, -453.402_305_423_138_6)] {
        let [value, by_a, ..] =
            super::functions::binary(Binary::NormalIntegral, Wide::from(a), Wide::from(b));
        assert!((value.ln() - want).abs() < 1e-9, "{a} {b}: {}", value.ln());
        // The slope at the lower limit is about -a times the integral.
        assert!((by_a.div(value).to_f64() / -a - 1.0).abs() < 2.0 / (a * a));
    }
}
