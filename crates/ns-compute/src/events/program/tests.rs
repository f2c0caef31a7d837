use super::*;
use crate::simd::Level;

/// Runs a program of two variables for the events `x`. Returns the value of the program and its derivatives (its
/// components): one vector per event, with one element per component.
fn components_of(program: &Program, variables: [f64; 2], x: &[f64]) -> Vec<Vec<f64>> {
    let lanes = x.len();
    let mut memory = Memory::new(program, lanes);
    program.prepare(Level::detect(), Sources::of(&variables), &mut memory);
    program.run(Level::detect(), &[x], 0, lanes, &mut memory);
    let value = memory.value(program);
    (0..lanes).map(|i| (0..components(2)).map(|c| value[c * lanes + i]).collect()).collect()
}

#[test]
fn derivatives_agree_with_differences() {
    let mut b = Builder::default();
    let (x, p, q) = (b.push(Step::Observable(0)), b.push(Step::Variable(0)), b.push(Step::Variable(1)));
    let t = b.sub(x, p);
    let t = b.div(t, q);
    let square = b.mul(t, t);
    let e = b.scale(-0.5, square);
    let e = b.unary(Unary::Exp, e);
    let power = b.pow(q, p);
    let one = b.number(1.0);
    let limit = b.push(Step::Less(t, one));
    let log = b.unary(Unary::Ln, q);
    let choice = b.push(Step::Select(limit, e, log));
    let integral = b.push(Step::Binary(Binary::NormalIntegral, p, t));
    let sum = b.add(choice, power);
    let result = b.mul(sum, integral);
    let program = b.finish(result, 2, &[]);

    let events = [0.3, 1.1, -2.0, 5.0];
    let at = |p: f64, q: f64| components_of(&program, [p, q], &events);
    let (p, q, h) = (0.4, 1.3, 1e-4);
    let here = at(p, q);
    for i in 0..events.len() {
        let value = |dp: f64, dq: f64| at(p + dp * h, q + dq * h)[i][0];
        let first = [
            (value(1.0, 0.0) - value(-1.0, 0.0)) / (2.0 * h),
            (value(0.0, 1.0) - value(0.0, -1.0)) / (2.0 * h),
        ];
        let second = |f: f64, l: f64| (f - 2.0 * here[i][0] + l) / (h * h);
        let mixed =
            (value(1.0, 1.0) - value(1.0, -1.0) - value(-1.0, 1.0) + value(-1.0, -1.0)) / (4.0 * h * h);
        let want = [
            here[i][0],
            first[0],
            first[1],
            second(value(1.0, 0.0), value(-1.0, 0.0)),
            mixed,
            second(value(0.0, 1.0), value(0.0, -1.0)),
        ];
        for (c, (got, want)) in here[i].iter().zip(want).enumerate() {
            assert!((got - want).abs() < 1e-6 * (1.0 + want.abs()), "event {i}, component {c}: {got} {want}");
        }
    }
}

#[test]
fn inputs_bring_their_derivatives_even_if_two_of_their_variables_become_one() {
    // u(a, b) = a^2 b at a = b = p: u = p^3.
    let p = 1.7;
    let result = [p * p * p, 2.0 * p * p, p * p, 2.0 * p, 2.0 * p, 0.0];
    let mut b = Builder::default();
    let slot = b.push(Step::Input(0));
    let program = b.finish(slot, 1, &[Components::of_variables(&[0])]);
    let mut memory = Memory::new(&program, 1);
    let inputs = [Input { result: &result, variables: &[0, 0] }];
    program.prepare(Level::detect(), Sources { variables: &[p], inputs: &inputs, data: &[] }, &mut memory);
    let want = [p * p * p, 3.0 * p * p, 6.0 * p];
    for (got, want) in memory.value(&program).iter().zip(want) {
        assert!((got - want).abs() < 1e-12, "{got} {want}");
    }
}
