// The Gauss-Newton metric, inverted and applied, as in lanes/metric.rs and lanes/solver.rs. The matrices over the bins
// and over the primal parameters are inverted explicitly. `$lower` and `$inner` then contain minus their inverses.

// Index of an element of a lower triangle that is stored row by row; `j` is at most `i`.
fn triangle(i: u32, j: u32) -> u32 {
    return i * (i + 1u) / 2u + j;
}

// The derivative of the expected yield of bin `b` by dual parameter `i`: at the point of the descent, or the one that all
// fits share.
fn dual_row(i: u32, b: u32) -> real {
    if OWN {
        return $rows[i * BINS + b];
    }
    return numbers[N_DUAL + i * BINS + b];
}

// The same by primal parameter `u`.
fn primal_row(u: u32, b: u32) -> real {
    if OWN {
        return $rows[(DUALS + u) * BINS + b];
    }
    return numbers[N_PRIMAL + u * BINS + b];
}

// Returns an element of the product `J D^-1 J'` over the bins. A parameter that is held is not in it.
fn kernel(e: u32, i: u32, j: u32, any_held: bool) -> real {
    var element = select(numbers[N_KERNEL + e], real(0.0), OWN);
    if OWN {
        for (var d = 0u; d < DUALS; d++) {
            element = fma($dual[d] * dual_row(d, i), dual_row(d, j), element);
        }
    } else if any_held {
        for (var d = 0u; d < DUALS; d++) {
            let taken = numbers[N_DUAL_INVERSE + d] - $dual[d];
            element = fma(-taken * dual_row(d, i), dual_row(d, j), element);
        }
    }
    return element;
}

// Returns the product of row `b` of the inverse of the matrix over the bins with `$bins`.
fn over_bins(b: u32) -> real {
    if DUALS == 0u {
        return $lower[b] * $bins[b];
    }
    var total = real(0.0);
    for (var j = 0u; j < BINS; j++) {
        total = fma($lower[triangle(max(b, j), min(b, j))], $bins[j], total);
    }
    return -total;
}

// 1 divided by the curvature of the constraint of local parameter `i`, or 0 if it is held.
fn local_inverse(i: u32, p: u32) -> real {
    if $held[p] != 0.0 {
        return 0.0;
    }
    let stiffness = numbers[N_LOCAL + 2u * i + 1u];
    let count = indices[I_LOCAL_COUNT + i];
    if count == NONE {
        return 1.0 / stiffness;
    }
    let theta = $theta[p];
    return theta * theta / max(jobs[job + BINS + count], FEWEST);
}

fn factor() -> bool {
    for (var i = thread; i < LOCALS; i += THREADS) {
        let p = indices[I_LOCAL_PARAM + i];
        $local[i] = local_inverse(i, p);
        $local_reaction[i] = select(numbers[N_LOCAL + 2u * i], $reaction[p], indices[I_LOCAL_FACTOR + i] != 0u);
    }
    var held = real(0.0);
    for (var i = thread; i < DUALS; i += THREADS) {
        let p = indices[I_DUAL + i];
        let holds = $held[p] != 0.0;
        var inverse = numbers[N_DUAL_INVERSE + i];
        if OWN {
            let stiffness = 1.0 / inverse;
            inverse = 1.0 / max(stiffness + $bend[p], LEAST_STIFFNESS * stiffness);
        }
        $dual[i] = select(inverse, real(0.0), holds);
        held += select(real(0.0), real(1.0), holds);
    }
    barrier();
    for (var b = thread; b < BINS; b += THREADS) {
        var total = real(0.0);
        for (var i = indices[I_BIN_LOCAL + b]; i < indices[I_BIN_LOCAL + b + 1u]; i++) {
            let local = indices[I_BIN_LOCAL_INDEX + i];
            total = fma($local_reaction[local] * $local_reaction[local], $local[local], total);
        }
        let weight = $root[b] * $root[b];
        $bins[b] = fma(weight, total, 1.0);
        if DUALS == 0u {
            $lower[b] = 1.0 / $bins[b];
        }
    }
    let any_held = sum_one(held) != 0.0;
    barrier();
    var positive = true;
    if DUALS != 0u {
        for (var e = thread; e < BINS * (BINS + 1u) / 2u; e += THREADS) {
            let place = indices[I_TRIANGLE + e];
            let i = place >> 16u;
            let j = place & 0xffffu;
            $lower[e] = fma(kernel(e, i, j, any_held) * $root[i], $root[j], select(real(0.0), $bins[i], i == j));
        }
        barrier();
        positive = invert_lower();
    }
    for (var u = 0u; u < PRIMALS; u++) {
        let moves = $held[indices[I_PRIMAL + u]] == 0.0;
        for (var b = thread; b < BINS; b += THREADS) {
            $bins[b] = select(real(0.0), $root[b] * primal_row(u, b), moves);
        }
        barrier();
        for (var b = thread; b < BINS; b += THREADS) {
            $columns[u * BINS + b] = over_bins(b);
        }
        barrier();
    }
    for (var e = thread; e < PRIMALS * (PRIMALS + 1u) / 2u; e += THREADS) {
        let place = indices[I_TRIANGLE + e];
        let u = place >> 16u;
        let v = place & 0xffffu;
        var element = real(0.0);
        for (var b = 0u; b < BINS; b++) {
            element = fma($root[b] * primal_row(u, b), $columns[v * BINS + b], element);
        }
        let holds_u = $held[indices[I_PRIMAL + u]] != 0.0;
        let holds_v = $held[indices[I_PRIMAL + v]] != 0.0;
        if u == v {
            element = select(element + numbers[N_PRIMAL_STIFFNESS + u], real(1.0), holds_u);
        } else if holds_u || holds_v {
            element = 0.0;
        }
        $inner[e] = element;
    }
    barrier();
    return invert_inner() && positive;
}

// Sets `$to` to the inverse of the metric times `$from`. It is 0 for fixed and held parameters.
fn solve() {
    for (var i = thread; i < DUALS; i += THREADS) {
        let p = indices[I_DUAL + i];
        $to[p] = $from[p] * $dual[i];
    }
    for (var i = thread; i < LOCALS; i += THREADS) {
        let p = indices[I_LOCAL_PARAM + i];
        $to[p] = $from[p] * $local[i];
    }
    barrier();
    for (var b = thread; b < BINS; b += THREADS) {
        var total = real(0.0);
        for (var i = indices[I_BIN_LOCAL + b]; i < indices[I_BIN_LOCAL + b + 1u]; i++) {
            let local = indices[I_BIN_LOCAL_INDEX + i];
            total = fma($local_reaction[local], $to[indices[I_LOCAL_PARAM + local]], total);
        }
        for (var i = 0u; i < DUALS; i++) {
            total = fma(dual_row(i, b), $to[indices[I_DUAL + i]], total);
        }
        $bins[b] = total * $root[b];
    }
    barrier();
    for (var u = thread; u < PRIMALS; u += THREADS) {
        let p = indices[I_PRIMAL + u];
        var total = $from[p];
        for (var b = 0u; b < BINS; b++) {
            total = fma(-$columns[u * BINS + b], $bins[b], total);
        }
        $right[u] = select(total, real(0.0), $held[p] != 0.0);
    }
    barrier();
    for (var u = thread; u < PRIMALS; u += THREADS) {
        var total = real(0.0);
        for (var v = 0u; v < PRIMALS; v++) {
            total = fma($inner[triangle(max(u, v), min(u, v))], $right[v], total);
        }
        $to[indices[I_PRIMAL + u]] = -total;
    }
    barrier();
    for (var b = thread; b < BINS; b += THREADS) {
        var total = over_bins(b);
        for (var u = 0u; u < PRIMALS; u++) {
            total = fma($columns[u * BINS + b], $to[indices[I_PRIMAL + u]], total);
        }
        $back[b] = total * $root[b];
    }
    barrier();
    for (var i = thread; i < LOCALS; i += THREADS) {
        let p = indices[I_LOCAL_PARAM + i];
        $to[p] = fma(-$local[i] * $local_reaction[i], $back[indices[I_LOCAL_BIN + i]], $to[p]);
    }
    for (var i = thread; i < DUALS; i += THREADS) {
        let p = indices[I_DUAL + i];
        var total = real(0.0);
        for (var b = 0u; b < BINS; b++) {
            total = fma(dual_row(i, b), $back[b], total);
        }
        $to[p] = fma(-$dual[i], total, $to[p]);
    }
    barrier();
}
