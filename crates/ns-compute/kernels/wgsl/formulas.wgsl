// Formulas of terms and interpolation codes. Generated from src/terms (any_gpu/formulas.rs); do not edit.

// A histosys interpolation function with its derivatives.
struct Curved {
    f: real,
    first: real,
    second: real,
}

// A normsys factor without its exponential, the exponent of its exponential, and its derivatives divided by it.
struct Factor {
    value: real,
    exponent: real,
    ratio: real,
    bend: real,
}

fn histosys_code0(alpha: real) -> Curved {
    let v0 = abs(alpha);
    let v1 = sign(alpha);
    return Curved(v0, v1, real(0.0));
}

fn histosys_code2(alpha: real) -> Curved {
    let v0 = abs(alpha);
    let v1 = alpha * alpha;
    let v2 = fma(v0, real(2.0), real(-1.0));
    let v3 = select(v2, v1, v0 < real(1.0000000000000002));
    let v4 = sign(alpha);
    let v5 = select(v4, alpha, v0 < real(1.0000000000000002));
    let v6 = v5 * real(2.0);
    let v7 = select(real(0.0), real(2.0), v0 < real(1.0000000000000002));
    return Curved(v3, v6, v7);
}

fn histosys_code4p(alpha: real) -> Curved {
    let v0 = abs(alpha);
    let v1 = alpha * alpha;
    let v2 = fma(v1, real(0.375), real(-1.25));
    let v3 = fma(v2, v1, real(1.875));
    let v4 = v3 * v1;
    let v5 = select(v0, v4, v0 < real(1.0000000000000002));
    let v6 = fma(v1, real(2.25), real(-5.0));
    let v7 = fma(v6, v1, real(3.75));
    let v8 = v7 * alpha;
    let v9 = sign(alpha);
    let v10 = select(v9, v8, v0 < real(1.0000000000000002));
    let v11 = fma(v1, real(11.25), real(-15.0));
    let v12 = fma(v11, v1, real(3.75));
    let v13 = select(real(0.0), v12, v0 < real(1.0000000000000002));
    return Curved(v5, v10, v13);
}

fn normsys_code4(alpha: real, c1: real, c2: real, c3: real, c4: real, c5: real, c6: real, hi: real, lo: real) -> Factor {
    let v0 = abs(alpha);
    let v1 = select(hi, lo, alpha < real(0.0));
    let v2 = sign(alpha);
    let v3 = real(1.0) + v2;
    let v4 = real(0.5) * v3;
    let v5 = hi * v4;
    let v6 = v2 - real(1.0);
    let v7 = real(0.5) * v6;
    let v8 = lo * v7;
    let v9 = v5 + v8;
    let v10 = fma(c6, alpha, c5);
    let v11 = fma(c6, alpha, v10);
    let v12 = fma(v10, alpha, c4);
    let v13 = fma(v11, alpha, v12);
    let v14 = fma(v12, alpha, c3);
    let v15 = fma(v13, alpha, v14);
    let v16 = fma(v14, alpha, c2);
    let v17 = fma(v15, alpha, v16);
    let v18 = fma(v16, alpha, c1);
    let v19 = fma(v17, alpha, v18);
    let v20 = fma(v18, alpha, real(1.0));
    let v21 = v0 * v1;
    let v22 = select(v21, real(0.0), v0 < real(1.0));
    let v23 = v9 * v9;
    let v24 = 1.0 / v20;
    let v25 = select(real(1.0), v20, v0 < real(1.0));
    let v26 = v19 * v24;
    let v27 = select(v9, v26, v0 < real(1.0));
    let v28 = c6 * real(30.0);
    let v29 = c5 * real(20.0);
    let v30 = fma(v28, alpha, v29);
    let v31 = c4 * real(12.0);
    let v32 = fma(v30, alpha, v31);
    let v33 = c3 * real(6.0);
    let v34 = fma(v32, alpha, v33);
    let v35 = c2 * real(2.0);
    let v36 = fma(v34, alpha, v35);
    let v37 = v36 * v24;
    let v38 = select(v23, v37, v0 < real(1.0));
    return Factor(v25, v22, v27, v38);
}

fn normsys_code6(alpha: real, c1: real, c2: real, c3: real, c4: real, c5: real, c6: real, hi: real, lo: real) -> Factor {
    let v0 = abs(alpha);
    let v1 = select(hi, lo, alpha < real(0.0));
    let v2 = sign(alpha);
    let v3 = real(1.0) + v2;
    let v4 = real(0.5) * v3;
    let v5 = hi * v4;
    let v6 = v2 - real(1.0);
    let v7 = real(0.5) * v6;
    let v8 = lo * v7;
    let v9 = v5 + v8;
    let v10 = fma(c6, alpha, c5);
    let v11 = fma(c6, alpha, v10);
    let v12 = fma(v10, alpha, c4);
    let v13 = fma(v11, alpha, v12);
    let v14 = fma(v12, alpha, c3);
    let v15 = fma(v13, alpha, v14);
    let v16 = fma(v14, alpha, c2);
    let v17 = fma(v15, alpha, v16);
    let v18 = fma(v16, alpha, c1);
    let v19 = fma(v17, alpha, v18);
    let v20 = fma(v18, alpha, real(1.0));
    let v21 = fma(v0, v1, real(1.0));
    let v22 = 1.0 / v21;
    let v23 = v9 * v22;
    let v24 = 1.0 / v20;
    let v25 = select(v21, v20, v0 < real(1.0));
    let v26 = v19 * v24;
    let v27 = select(v23, v26, v0 < real(1.0));
    let v28 = c6 * real(30.0);
    let v29 = c5 * real(20.0);
    let v30 = fma(v28, alpha, v29);
    let v31 = c4 * real(12.0);
    let v32 = fma(v30, alpha, v31);
    let v33 = c3 * real(6.0);
    let v34 = fma(v32, alpha, v33);
    let v35 = c2 * real(2.0);
    let v36 = fma(v34, alpha, v35);
    let v37 = v36 * v24;
    let v38 = select(real(0.0), v37, v0 < real(1.0));
    return Factor(v25, real(0.0), v27, v38);
}

fn normsys_lnN(alpha: real, c1: real, c2: real, c3: real, c4: real, c5: real, c6: real, hi: real, lo: real) -> Factor {
    let v0 = abs(alpha);
    let v1 = select(hi, lo, alpha < real(0.0));
    let v2 = sign(alpha);
    let v3 = real(1.0) + v2;
    let v4 = real(0.5) * v3;
    let v5 = hi * v4;
    let v6 = v2 - real(1.0);
    let v7 = real(0.5) * v6;
    let v8 = lo * v7;
    let v9 = v5 + v8;
    let v10 = fma(c6, alpha, c5);
    let v11 = fma(c6, alpha, v10);
    let v12 = fma(v10, alpha, c4);
    let v13 = fma(v11, alpha, v12);
    let v14 = fma(v12, alpha, c3);
    let v15 = fma(v13, alpha, v14);
    let v16 = fma(v14, alpha, c2);
    let v17 = fma(v15, alpha, v16);
    let v18 = fma(v16, alpha, c1);
    let v19 = fma(v17, alpha, v18);
    let v20 = v18 * alpha;
    let v21 = v0 * v1;
    let v22 = select(v21, v20, v0 < real(0.5));
    let v23 = select(v9, v19, v0 < real(0.5));
    let v24 = c6 * real(30.0);
    let v25 = c5 * real(20.0);
    let v26 = fma(v24, alpha, v25);
    let v27 = c4 * real(12.0);
    let v28 = fma(v26, alpha, v27);
    let v29 = c3 * real(6.0);
    let v30 = fma(v28, alpha, v29);
    let v31 = c2 * real(2.0);
    let v32 = fma(v30, alpha, v31);
    let v33 = select(real(0.0), v32, v0 < real(0.5));
    let v34 = fma(v23, v23, v33);
    return Factor(real(1.0), v22, v23, v34);
}

fn gaussian_pull(theta: real, datum: real, weight: real) -> real {
    let v0 = theta - datum;
    let v1 = v0 * weight;
    return v1;
}

fn gaussian_value(pull: real) -> real {
    let v0 = pull * pull;
    let v1 = v0 * real(0.5);
    return v1;
}

fn gaussian_add_slope(pull: real, weight: real, total: real) -> real {
    let v0 = fma(pull, weight, total);
    return v0;
}

fn deviance_near(z: real) -> real {
    let v0 = z + real(2.0);
    let v1 = z / v0;
    let v2 = v1 * v1;
    let v3 = fma(real(0.14798198605116586), v2, real(0.15313837699209373));
    let v4 = fma(v3, v2, real(0.1818357216161805));
    let v5 = fma(v4, v2, real(0.22222198432149784));
    let v6 = fma(v5, v2, real(0.2857142874366239));
    let v7 = fma(v6, v2, real(0.3999999999940942));
    let v8 = fma(v7, v2, real(0.6666666666666735));
    let v9 = v8 * v2;
    let v10 = z - v9;
    let v11 = v1 * v10;
    return v11;
}

fn poisson_slope(lambda: real, n: real) -> real {
    let v0 = real(1.0) / lambda;
    let v1 = lambda - n;
    let v2 = v1 * v0;
    return v2;
}
