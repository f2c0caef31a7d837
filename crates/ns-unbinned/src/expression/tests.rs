//! Tests of the parser. Values of expressions are compared with values that Rust computes, and messages are checked.

use proptest::prelude::*;

use super::{Expression, LONGEST, Mistake, NESTING};

/// Returns the value of an expression at `x = 3`, `y = -2` and `flag = 0`.
fn value(text: &str) -> f64 {
    let parsed = Expression::parse(text).unwrap();
    let numbers: Vec<f64> = parsed
        .names()
        .iter()
        .map(|name| match name.as_str() {
            "x" => 3.0,
            "y" => -2.0,
            "flag" => 0.0,
            other => panic!("unknown name {other}"),
        })
        .collect();
    parsed.value(|i| numbers[i])
}

#[test]
fn operators_bind_as_is_common() {
    let cases = [
        ("1+2*3", 7.0),
        ("(1+2)*3", 9.0),
        ("7-2-1", 4.0),
        ("8/2/2", 2.0),
        ("2/3", 2.0 / 3.0),
        ("2^3^2", 512.0),
        ("-2^2", -4.0),
        ("2^-2", 0.25),
        ("2**3", 8.0),
        ("-x*y", 6.0),
        ("x - -y", 1.0),
        ("+x", 3.0),
        ("!flag", 1.0),
        ("!x", 0.0),
        ("x > y && y < 0 || flag", 1.0),
        ("x == 3 != flag", 1.0),
        ("0.1 + 0.2 == 0.3", 1.0),
        ("0.1 + 0.2 === 0.3", 0.0),
        ("0.1 + 0.2 !== 0.3", 1.0),
        ("x >= 3", 1.0),
        ("x <= 2", 0.0),
        ("flag ? 1 : x ? 2 : 3", 2.0),
        ("1 + flag ? 5 : 6", 5.0),
        ("ifelse(x < 0, 1, ifelse(TRUE, 7, 8))", 7.0),
        ("1e3 + .5 + 2. + 1.5E-1", 1002.65),
    ];
    for (text, expected) in cases {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn functions_are_those_of_the_standard_library() {
    let cases = [
        ("exp(y)", (-2.0_f64).exp()),
        ("log(x)", 3.0_f64.ln()),
        ("sqrt(x)", 3.0_f64.sqrt()),
        ("abs(y)", 2.0),
        ("pow(x, y)", 3.0_f64.powf(-2.0)),
        ("min(x,y) + max( x , y )", 1.0),
        ("sin(x)*cos(x)/tan(x)", 3.0_f64.sin() * 3.0_f64.cos() / 3.0_f64.tan()),
        ("asin(x/4)", 0.75_f64.asin()),
        ("acos(x/4)", 0.75_f64.acos()),
        ("atan(x)", 3.0_f64.atan()),
        ("TMath::Power(x, 2)", 9.0),
        ("cos(PI) + log(EULER)", 0.0),
        ("TMath::Pi()", std::f64::consts::PI),
    ];
    for (text, expected) in cases {
        assert!((value(text) - expected).abs() <= 4e-16 * (1.0 + expected.abs()), "{text}");
    }
}

#[test]
fn special_functions_have_the_names_of_the_standard_library_and_of_root() {
    let cases = [
        ("erf(x) + erfc(x)", 1.0),
        ("TMath::Erf(x) - erf(x) + ROOT::Math::erfc(x) - TMath::Erfc(x)", 0.0),
        ("sinH(y) - TMath::SinH(y) + std::cosh(x) - cosH(x)", 0.0),
        ("TMath::ATan2(x, y) - aTan2(x, y)", 0.0),
        ("cosh(y/4)^2 - sinh(y/4)^2", 1.0),
        ("TMath::Gamma(x + 1)", 6.0),
        ("exp(TMath::LnGamma(x + 2))", 24.0),
        ("TMath::BesselJ0(x)", -0.260_051_954_901_933_45),
        ("TMath::BesselJ1(x)", 0.339_058_958_525_936_46),
        ("step(x) + step(y) + step(0)", 2.0),
        ("TMath::Sq(x) + sq(4)", 25.0),
        ("TMath::Gaus(x, 1, 2) * exp(0.5)", 1.0),
        ("cosh(acosh(x)) + tanh(atanh(y/4)) + atanh(0.5)", 2.5 + 0.5_f64.atanh()),
        ("atan2(1, -1) * 4 / PI", 3.0),
        ("log2(8)", 3.0),
    ];
    for (text, expected) in cases {
        assert!((value(text) - expected).abs() <= 1e-14 * (1.0 + expected.abs()), "{text}: {}", value(text));
    }
}

#[test]
fn variables_may_be_named_by_their_position() {
    let names = ["mass".to_owned(), "slope".to_owned()];
    let parsed = Expression::with_variables("@0*x[1] + x [ 0 ] + mass", &names).unwrap();
    assert_eq!(parsed.names(), names);
    assert_eq!(parsed.value(|i| [3.0, 5.0][i]), 21.0);
    let error = Expression::with_variables("1 + @2", &names).unwrap_err();
    assert_eq!(
        error.to_string(),
        "at character 5: there is no variable 2, because the list of variables has 2"
    );
}

#[test]
fn names_are_listed_once_and_numbers_are_folded() {
    let parsed = Expression::parse("b + a*b + log(1.08)").unwrap();
    assert_eq!(parsed.names(), ["b", "a"]);
    assert_eq!(Expression::parse("-log(1.08)*2").unwrap().constant(), Some(-2.0 * 1.08_f64.ln()));
    assert_eq!(parsed.constant(), None);
}

/// Parameters with the names of new functions were refused.
#[test]
fn parameters_may_have_the_names_of_functions_that_not_every_program_has() {
    let parsed = Expression::parse("e + gamma*step + erf(pi) - gamma(sq)").unwrap();
    assert_eq!(parsed.names(), ["e", "gamma", "step", "pi", "sq"]);
}

#[test]
fn mistakes_have_a_place_and_a_remedy() {
    let cases = [
        ("", "at character 1: the expression ends where a number, a name or '(' is expected"),
        ("x +", "at character 4: the expression ends where a number, a name or '(' is expected"),
        ("x y", "at character 3: an operator is expected, not 'y'"),
        ("(x", "at character 3: the expression ends where an operator or ')' is expected"),
        ("x)", "at character 2: an operator is expected, not ')'"),
        ("µ + 1", "at character 1: 'µ' has no meaning in an expression"),
        ("x = 1", "at character 3: '=' has no meaning in an expression"),
        ("@0*2", "at character 1: there is no variable 0, because the list of variables has 0"),
        ("@*2", "at character 1: '@' has no meaning in an expression"),
        ("zeta(x)", "at character 1: there is no function 'zeta'"),
        ("1 + exp", "at character 5: the function 'exp' has no arguments"),
        ("pow(x)", "at character 1: the function 'pow' takes 2 arguments, not 1"),
        ("exp(1,2,3,4)", "at character 1: the function 'exp' takes 1 argument, not 4"),
        ("1e999", "at character 1: the number is too large"),
        ("x ? 1", "at character 6: the expression ends where ':' is expected"),
        ("exp(x", "at character 6: the expression ends where an operator, ',' or ')' is expected"),
        ("2 3", "at character 3: an operator is expected, not '3'"),
    ];
    for (text, message) in cases {
        let error = Expression::parse(text).unwrap_err();
        assert_eq!(error.to_string(), message, "{text}");
        assert!(error.remedy().ends_with('.'), "{text}");
    }
    // An observable may have been given the name of a function.
    assert!(Expression::parse("1 + 0.3*cos").unwrap_err().remedy().contains("needs another name"));
}

#[test]
fn depth_and_length_are_limited() {
    for (open, close) in [("(", ")"), ("-", ""), ("exp(", ")"), ("2^", ""), ("1?1:", "")] {
        let nested = |n: usize| format!("{}x{}", open.repeat(n), close.repeat(n));
        assert!(Expression::parse(&nested(NESTING - 1)).is_ok(), "{open}");
        let error = Expression::parse(&nested(NESTING + 1)).unwrap_err();
        assert_eq!(error.mistake, Mistake::TooDeep { limit: NESTING }, "{open}");
    }
    let sum = vec!["x"; LONGEST / 2].join("+");
    assert_eq!(value(&sum), 3.0 * (LONGEST / 2) as f64);
    let error = Expression::parse(&" ".repeat(LONGEST + 1)).unwrap_err();
    assert_eq!(error.mistake, Mistake::TooLong { length: LONGEST + 1, limit: LONGEST });
}

/// Returns the result of the operations `ops` for the values `x` and `y`. The tests compare the result with the value
/// of the expression from which the operations were made.
fn computed(ops: &[ns_core::Op], x: f64, y: f64) -> f64 {
    use ns_core::{Op, Value};
    let truth = |condition: bool| f64::from(u8::from(condition));
    let mut results: Vec<f64> = Vec::new();
    for op in ops {
        let r = |i: usize| results[i];
        let result = match *op {
            Op::Number(value) => value,
            Op::Value(Value::Parameter(0)) => x,
            Op::Value(_) | Op::Observable(_) => y,
            Op::Add(a, b) => r(a) + r(b),
            Op::Sub(a, b) => r(a) - r(b),
            Op::Mul(a, b) => r(a) * r(b),
            Op::Div(a, b) => r(a) / r(b),
            Op::Pow(a, b) => r(a).powf(r(b)),
            Op::Min(a, b) => r(a).min(r(b)),
            Op::Max(a, b) => r(a).max(r(b)),
            Op::Neg(a) => -r(a),
            Op::Exp(a) => r(a).exp(),
            Op::Ln(a) => r(a).ln(),
            Op::Sqrt(a) => r(a).sqrt(),
            Op::Abs(a) => r(a).abs(),
            Op::Sin(a) => r(a).sin(),
            Op::Cos(a) => r(a).cos(),
            Op::Tan(a) => r(a).tan(),
            Op::Asin(a) => r(a).asin(),
            Op::Acos(a) => r(a).acos(),
            Op::Atan(a) => r(a).atan(),
            Op::Atan2(a, b) => r(a).atan2(r(b)),
            Op::Special(function, a) => function.value(r(a)),
            Op::Less(a, b) => truth(r(a) < r(b)),
            Op::LessEqual(a, b) => truth(r(a) <= r(b)),
            Op::Equal(a, b) => truth(r(a) == r(b)),
            Op::NotEqual(a, b) => truth(r(a) != r(b)),
            Op::And(a, b) => truth(r(a) != 0.0 && r(b) != 0.0),
            Op::Or(a, b) => truth(r(a) != 0.0 || r(b) != 0.0),
            Op::Not(a) => truth(r(a) == 0.0),
            Op::Select(a, b, c) => {
                if r(a) != 0.0 {
                    r(b)
                } else {
                    r(c)
                }
            }
        };
        results.push(result);
    }
    results[ops.len() - 1]
}

#[test]
fn operations_compute_the_expression() {
    use ns_core::{Op, Tape, Value};
    for text in [
        "x*exp(-y/2) + pow(x, y) - log(abs(y)) * sqrt(x)",
        "ifelse(x > y && !(x == 3), min(x, y), max(x, y))",
        "x == 0.1*30 ? sin(x) : cos(y)",
        "x !== y || x <= y",
        "tan(x) + asin(x/9) + acos(y/9) + atan(x)",
        "erf(y) + erfc(x) * sinh(y) + cosh(y) + tanh(x) - gamma(x)/lgamma(x) + j0(x)*j1(y) + atan2(x, y)",
        "sq(x) + step(y) + step(x) + acosh(x) + atanh(y/9) + asinh(y) + gaus(x, y, 2) + log2(x)",
        "x",
    ] {
        let parsed = Expression::parse(text).unwrap();
        let value = |name: &String| if name == "x" { 3.0 } else { -2.0 };
        let mut ops = vec![Op::Value(Value::Parameter(0)), Op::Value(Value::Parameter(1))];
        let operands: Vec<usize> = parsed.names().iter().map(|name| usize::from(name == "y")).collect();
        let last = parsed.append_to(&mut ops, &operands);
        ops.truncate(last + 1);
        let tape = Tape::new(ops).unwrap();
        let expected = parsed.value(|i| value(&parsed.names()[i]));
        let found = computed(tape.ops(), 3.0, -2.0);
        assert!(found == expected || (found.is_nan() && expected.is_nan()), "{text}: {found} {expected}");
    }
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in "[-+*/^()<>=!&|?:,. a-e0-9x]{0,40}") {
        if let Ok(parsed) = Expression::parse(&text) {
            let _ = parsed.value(|_| 0.5);
        }
    }

    #[test]
    fn sums_and_products_agree_with_rust(a in -9.0..9.0_f64, b in -9.0..9.0_f64, c in -9.0..9.0_f64) {
        let text = format!("{a} * {b} + {c} / ({a} - {b}) - pow({c}, 2)");
        let parsed = Expression::parse(&text).unwrap();
        let (got, terms) = (parsed.value(|_| f64::NAN), [a * b, c / (a - b), -c.powf(2.0)]);
        let want: f64 = terms.iter().sum();
        // A compiler may replace a power by a square. The results can then differ in the last bit.
        let scale: f64 = terms.iter().map(|x| x.abs()).sum();
        prop_assert!(got == want || (got - want).abs() <= 4.0 * f64::EPSILON * scale, "{} {}", got, want);
    }
}
