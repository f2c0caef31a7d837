//! Functions of parameters as factors of samples: random ones, and their textbook values with hyper-dual numbers.

use ns_core::{
    Constraint, Effect, Function, FunctionForm, InterpolationForm, Model, Modifier, Op, Parameter,
    ParameterSet, Tape, Value,
};

use super::models::Random;
use super::number::Hyper;

/// Returns a value of the model at `theta`.
pub(super) fn value(model: &Model, value: Value, theta: &[Hyper]) -> Hyper {
    match value {
        Value::Number(x) => Hyper::constant(x),
        Value::Parameter(p) => theta[p],
        Value::Function(f) => function(model, f, theta),
    }
}

fn function(model: &Model, index: usize, theta: &[Hyper]) -> Hyper {
    let value = |v: Value| value(model, v, theta);
    match &model.functions[index].form {
        FunctionForm::Sum(values) => values.iter().fold(Hyper::constant(0.0), |sum, &v| sum + value(v)),
        FunctionForm::Product(values) => values.iter().fold(Hyper::constant(1.0), |all, &v| all * value(v)),
        FunctionForm::Polynomial { x, coefficients } => {
            coefficients.iter().rev().fold(Hyper::constant(0.0), |sum, &c| sum * value(*x) + value(c))
        }
        FunctionForm::Interpolation { nominal, variations, .. } => {
            variations.iter().fold(Hyper::constant(*nominal), |sum, v| {
                // Code 2 beyond 1, and between -1 and 1.
                let alpha = value(v.alpha);
                let (s, q) = (0.5 * (v.hi - v.lo), 0.5 * (v.hi + v.lo) - nominal);
                sum + if alpha.value > 1.0 {
                    (alpha + -1.0) * (s + 2.0 * q) + (v.hi - nominal)
                } else if alpha.value < -1.0 {
                    (alpha + 1.0) * (s - 2.0 * q) + (v.lo - nominal)
                } else {
                    alpha * alpha * q + alpha * s
                }
            })
        }
        FunctionForm::Expression(tape) => {
            let mut results: Vec<Hyper> = Vec::new();
            for op in tape.ops() {
                results.push(match *op {
                    Op::Number(x) => Hyper::constant(x),
                    Op::Value(v) => value(v),
                    Op::Add(a, b) => results[a] + results[b],
                    Op::Sub(a, b) => results[a] - results[b],
                    Op::Mul(a, b) => results[a] * results[b],
                    Op::Div(a, b) => results[a] / results[b],
                    Op::Exp(a) => results[a].exp(),
                    Op::Ln(a) => results[a].ln(),
                    ref other => panic!("{other:?} is not drawn"),
                });
            }
            *results.last().unwrap()
        }
    }
}

/// Returns the model with three more parameters (two of them free, one constrained) and some functions, which are factors
/// of about half of its samples.
pub(super) fn with_functions(mut model: Model, r: &mut Random) -> Model {
    let mut add = |name: &str, bounds, constraint| {
        let index = model.parameters.len();
        let init = if constraint == Constraint::None { 1.0 } else { 0.0 };
        model.parameters.push(Parameter { name: name.into(), init, bounds, fixed: false, constraint });
        model.parameter_sets.push(ParameterSet { name: name.into(), range: index..index + 1, scalar: true });
        Value::Parameter(index)
    };
    let (c, d) = (add("c", (-5.0, 5.0), Constraint::None), add("d", (0.1, 5.0), Constraint::None));
    model.observed.aux.push(0.0);
    let aux = model.observed.aux.len() - 1;
    let e = add("e", (-5.0, 5.0), Constraint::Gaussian { sigma: 1.0, aux });
    // A parameter that also acts in another way.
    let other = Value::Parameter(r.below(model.parameters.len() - 3));
    let tape = |ops: Vec<Op>| FunctionForm::Expression(Tape::new(ops).unwrap());
    let quadratic = |a: f64, b: f64, x: Value, y: Value| {
        // 1 + a x + b x y
        let mut ops = vec![Op::Number(1.0), Op::Number(a), Op::Value(x), Op::Mul(1, 2), Op::Number(b)];
        ops.extend([Op::Value(y), Op::Mul(2, 5), Op::Mul(4, 6), Op::Add(0, 3), Op::Add(7, 8)]);
        tape(ops)
    };
    let ratio = tape(vec![
        Op::Value(c),
        Op::Value(d),
        Op::Value(e),
        Op::Number(0.1),
        Op::Mul(2, 3),
        Op::Exp(4),
        Op::Number(2.0),
        Op::Add(1, 6),
        Op::Div(5, 7),
        Op::Mul(0, 8),
    ]);
    let variation = InterpolationForm { alpha: e, lo: 0.93, hi: 1.1, code: 2 };
    let forms = [
        FunctionForm::Sum(vec![c]),
        quadratic(r.between(-0.5, 0.5), r.between(0.1, 0.4), c, c),
        quadratic(r.between(-0.5, 0.5), r.between(-0.2, 0.2), d, other),
        ratio,
        FunctionForm::Polynomial { x: d, coefficients: vec![Value::Number(0.5), c, e] },
        FunctionForm::Interpolation { nominal: 1.0, variations: vec![variation], positive: false },
        FunctionForm::Product(vec![Value::Function(1), other, Value::Function(5)]),
        FunctionForm::Sum(vec![Value::Function(6), Value::Number(0.3)]),
    ];
    for (i, form) in forms.into_iter().enumerate() {
        model.functions.push(Function { name: format!("f{i}"), form });
    }
    let n = model.functions.len();
    let any = |r: &mut Random| if r.chance(0.2) { d } else { Value::Function(r.below(n)) };
    for channel in &mut model.channels {
        for sample in &mut channel.samples {
            for (chance, count) in [(0.4, 1), (0.3, 1), (0.25, channel.n_bins), (0.1, channel.n_bins)] {
                if r.chance(chance) {
                    let values = (0..count).map(|_| any(r)).collect();
                    let effect = Effect::Function { values };
                    sample.modifiers.push(Modifier { name: String::new(), first: 0, effect });
                }
            }
        }
    }
    model
}
