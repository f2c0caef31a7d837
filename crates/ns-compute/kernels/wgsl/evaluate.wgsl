// Value and gradient of `-ln L` at the trial point, relative to the saturated model, as in lanes/evaluate.rs.

struct Value {
    value: real,
    // Sum of the magnitudes of the terms, which gives the rounding error of the value.
    noise: real,
    // Whether a bin with counts has no positive yield, or a product of normsys factors is too close to 0.
    bad: bool,
}

// The Poisson term of the expected yield `lambda` and the count `n > 0`, relative to its value for `lambda = n`.
fn deviance(lambda: real, n: real) -> real {
    let z = (lambda - n) / n;
    if z > -0.5 && z < 1.0 {
        return n * deviance_near(z);
    }
    return n * (z - log(lambda / n));
}

fn normsys_term(i: u32) -> Factor {
    let at = N_NORMSYS + 8u * i;
    let alpha = $trial[indices[I_NORM_PARAM + i]];
    return $normsys(
        alpha, numbers[at], numbers[at + 1u], numbers[at + 2u], numbers[at + 3u], numbers[at + 4u], numbers[at + 5u],
        numbers[at + 6u], numbers[at + 7u]
    );
}

// Computes the product of the factors of each block (one sample in one channel) that act on all its bins. Returns the
// number of products that are too close to 0.
fn blocks() -> real {
    var zero = real(0.0);
    for (var k = thread; k < BLOCKS; k += THREADS) {
        var product = real(1.0);
        var exponent = real(0.0);
        for (var i = indices[I_NORM + k]; i < indices[I_NORM + k + 1u]; i++) {
            let term = normsys_term(i);
            product *= term.value;
            exponent += term.exponent;
            $ratio[i] = term.ratio;
        }
        if exponent != 0.0 {
            product *= exp(exponent);
        }
        if !(abs(product) > LEAST_PRODUCT) {
            zero += 1.0;
        }
        $norm[k] = product;
        for (var i = indices[I_FACTOR + k]; i < indices[I_FACTOR + k + 1u]; i++) {
            product *= $trial[indices[I_FACTOR_PARAM + i]];
        }
        $scale[k] = product;
    }
    return zero;
}

// Computes the nominal yield plus the histosys variations, and the product of the per-bin factors, of each cell (one
// bin of one sample).
fn cells() {
    for (var c = thread; c < CELLS; c += THREADS) {
        let k = indices[I_CELL_BLOCK + c];
        let b = c - indices[I_BLOCK_CELL + k];
        var total = numbers[N_NOMINAL + c];
        for (var i = indices[I_HIST + k]; i < indices[I_HIST + k + 1u]; i++) {
            let p = indices[I_HIST_PARAM + i];
            let at = N_HISTOSYS + indices[I_HIST_NUMBERS + i] + 2u * b;
            total = fma($trial[p], numbers[at], total);
            total = fma($curved[p], numbers[at + 1u], total);
        }
        $additive[c] = total;
        var product = real(1.0);
        for (var i = indices[I_PER_BIN + k]; i < indices[I_PER_BIN + k + 1u]; i++) {
            product *= $trial[indices[I_PER_BIN_FIRST + i] + b];
        }
        $binwise[c] = product;
    }
}

// Computes the expected yields, their Poisson terms with slopes, and the roots of the weights of the bins.
fn bins() -> Value {
    var here = Value(0.0, 0.0, false);
    for (var b = thread; b < BINS; b += THREADS) {
        var lambda = real(0.0);
        for (var i = indices[I_BIN + b]; i < indices[I_BIN + b + 1u]; i++) {
            let c = indices[I_BIN_CELL + i];
            lambda = fma($additive[c] * $scale[indices[I_CELL_BLOCK + c]], $binwise[c], lambda);
        }
        let n = jobs[job + b];
        let counted = n > 0.0;
        let impossible = counted && !(lambda > 0.0);
        var term = lambda;
        var slope = real(1.0);
        if impossible {
            here.bad = true;
        } else if counted {
            term = deviance(lambda, n);
            slope = poisson_slope(lambda, n);
        }
        here.value += term;
        here.noise += abs(term) + abs(lambda - n);
        $slope_of_bin[b] = slope;
        // A bin without counts gets no large weight in the metric, even if its expected yield is very small.
        let near = select(max(lambda, FEWEST), lambda, counted && lambda > 0.0);
        $root[b] = sqrt(max(n, FEWEST)) / near;
    }
    return here;
}

// Computes the weight of each cell, which is the derivative of `-ln L` by its additive yield. It replaces the product
// of per-bin factors. Computes for each block the derivative by the factors that act on all its bins.
fn weights() {
    for (var k = thread; k < BLOCKS; k += THREADS) {
        let first = indices[I_BLOCK_CELL + k];
        let bin = indices[I_BLOCK_BIN + k];
        var total = real(0.0);
        for (var c = first; c < indices[I_BLOCK_CELL + k + 1u]; c++) {
            let weight = $slope_of_bin[bin + c - first] * $binwise[c];
            total = fma(weight, $additive[c], total);
            $binwise[c] = weight * $scale[k];
        }
        $total[k] = total;
    }
}

// The product of the factors that act on all bins of block `k`, without the scale factor `place`.
fn factors_without(k: u32, place: u32) -> real {
    var others = $norm[k];
    for (var j = indices[I_FACTOR + k]; j < indices[I_FACTOR + k + 1u]; j++) {
        if j != place {
            others *= $trial[indices[I_FACTOR_PARAM + j]];
        }
    }
    return others;
}

// The yield of cell `c` without its per-bin factor `place`.
fn cell_without(c: u32, place: u32) -> real {
    let k = indices[I_CELL_BLOCK + c];
    let b = c - indices[I_BLOCK_CELL + k];
    var others = $additive[c] * $scale[k];
    for (var j = indices[I_PER_BIN + k]; j < indices[I_PER_BIN + k + 1u]; j++) {
        if j != place {
            others *= $trial[indices[I_PER_BIN_FIRST + j] + b];
        }
    }
    return others;
}

// Computes the derivatives of the expected yields by the dual and the primal parameters, for a metric with the derivatives
// at the point of the descent.
fn derivatives() {
    for (var r = thread; r < DUALS + PRIMALS; r += THREADS) {
        // The primal parameters follow the dual ones.
        let p = indices[I_DUAL + r];
        for (var b = 0u; b < BINS; b++) {
            $rows[r * BINS + b] = 0.0;
        }
        for (var i = indices[I_OF_HIST + p]; i < indices[I_OF_HIST + p + 1u]; i++) {
            let k = indices[I_OF_HIST_BLOCK + i];
            let at = N_HISTOSYS + indices[I_OF_HIST_NUMBERS + i];
            let first = indices[I_BLOCK_CELL + k];
            for (var c = first; c < indices[I_BLOCK_CELL + k + 1u]; c++) {
                let slope = fma($curved_first[p], numbers[at + 2u * (c - first) + 1u], numbers[at + 2u * (c - first)]);
                let place = r * BINS + indices[I_BLOCK_BIN + k] + c - first;
                $rows[place] = fma(slope * $binwise[c], $scale[k], $rows[place]);
            }
        }
        for (var i = indices[I_OF_NORM + p]; i < indices[I_OF_NORM + p + 1u]; i++) {
            let term = indices[I_OF_NORM_TERM + i];
            let k = indices[I_NORM_BLOCK + term];
            scaled_block(r, k, $ratio[term] * $scale[k]);
        }
        for (var i = indices[I_OF_FACTOR + p]; i < indices[I_OF_FACTOR + p + 1u]; i++) {
            let place = indices[I_OF_FACTOR_PLACE + i];
            let k = indices[I_FACTOR_BLOCK + place];
            scaled_block(r, k, factors_without(k, place));
        }
        for (var i = indices[I_OF_PER_BIN + p]; i < indices[I_OF_PER_BIN + p + 1u]; i++) {
            let c = indices[I_OF_PER_BIN_CELL + i];
            let k = indices[I_CELL_BLOCK + c];
            let place = r * BINS + indices[I_BLOCK_BIN + k] + c - indices[I_BLOCK_CELL + k];
            $rows[place] += cell_without(c, indices[I_OF_PER_BIN_PLACE + i]);
        }
    }
}

// Adds the yields of block `k` without its common factors, times `factor`, to row `r` of the derivatives.
fn scaled_block(r: u32, k: u32, factor: real) {
    let first = indices[I_BLOCK_CELL + k];
    for (var c = first; c < indices[I_BLOCK_CELL + k + 1u]; c++) {
        let place = r * BINS + indices[I_BLOCK_BIN + k] + c - first;
        $rows[place] = fma(factor * $additive[c], $binwise[c], $rows[place]);
    }
}

// Returns the derivatives through the effects of parameter `p`. For a metric with the derivatives at the point of the
// descent, also computes the part of the second derivative that comes from those of the expected yields.
fn effects(p: u32) -> real {
    var gradient = real(0.0);
    var bend = real(0.0);
    var curve = real(0.0);
    for (var i = indices[I_OF_HIST + p]; i < indices[I_OF_HIST + p + 1u]; i++) {
        let k = indices[I_OF_HIST_BLOCK + i];
        let at = N_HISTOSYS + indices[I_OF_HIST_NUMBERS + i];
        let first = indices[I_BLOCK_CELL + k];
        for (var c = first; c < indices[I_BLOCK_CELL + k + 1u]; c++) {
            let numbers_of = at + 2u * (c - first);
            gradient = fma($binwise[c], numbers[numbers_of], gradient);
            curve = fma($binwise[c], numbers[numbers_of + 1u], curve);
        }
    }
    gradient = fma(curve, $curved_first[p], gradient);
    if OWN {
        bend = curve * $histosys($trial[p]).second;
    }
    for (var i = indices[I_OF_NORM + p]; i < indices[I_OF_NORM + p + 1u]; i++) {
        let term = indices[I_OF_NORM_TERM + i];
        let k = indices[I_NORM_BLOCK + term];
        gradient = fma($total[k] * $scale[k], $ratio[term], gradient);
        if OWN {
            bend = fma($total[k] * $scale[k], normsys_term(term).bend, bend);
        }
    }
    for (var i = indices[I_OF_FACTOR + p]; i < indices[I_OF_FACTOR + p + 1u]; i++) {
        let place = indices[I_OF_FACTOR_PLACE + i];
        let k = indices[I_FACTOR_BLOCK + place];
        gradient = fma(factors_without(k, place), $total[k], gradient);
    }
    if OWN {
        $bend[p] = bend;
    }
    return gradient;
}

// Adds the derivatives through the per-bin factors of parameter `p`. Also computes the derivative of the yield.
fn per_bin_effects(p: u32) -> real {
    var gradient = real(0.0);
    var reaction = real(0.0);
    for (var i = indices[I_OF_PER_BIN + p]; i < indices[I_OF_PER_BIN + p + 1u]; i++) {
        let c = indices[I_OF_PER_BIN_CELL + i];
        let k = indices[I_CELL_BLOCK + c];
        let b = c - indices[I_BLOCK_CELL + k];
        let others = cell_without(c, indices[I_OF_PER_BIN_PLACE + i]);
        gradient = fma($slope_of_bin[indices[I_BLOCK_BIN + k] + b], others, gradient);
        reaction += others;
    }
    $reaction[p] = reaction;
    return gradient;
}

fn evaluate() -> Value {
    for (var i = thread; i < HIST_PARAMS; i += THREADS) {
        let p = indices[I_HIST_PARAMS + i];
        let curved = $histosys($trial[p]);
        $curved[p] = curved.f;
        $curved_first[p] = curved.first;
    }
    let zero = blocks();
    barrier();
    cells();
    barrier();
    var here = bins();
    if OWN {
        derivatives();
    }
    barrier();
    weights();
    barrier();
    for (var p = thread; p < PARAMS; p += THREADS) {
        var gradient = effects(p) + per_bin_effects(p);
        let kind = indices[I_CONSTRAINT + p];
        let theta = $trial[p];
        if kind != 0u {
            let weight = numbers[N_CONSTRAINT + p];
            let aux = jobs[job + BINS + indices[I_AUX + p]];
            if kind == 1u {
                let pull = gaussian_pull(theta, aux, weight);
                here.value += gaussian_value(pull);
                here.noise += gaussian_value(pull);
                gradient = gaussian_add_slope(pull, weight, gradient);
            } else {
                let rate = theta * weight;
                if !(aux > 0.0) {
                    here.value += rate;
                    gradient += weight;
                } else if rate > 0.0 {
                    let term = deviance(rate, aux);
                    here.value += term;
                    here.noise += abs(term);
                    gradient = fma(poisson_slope(rate, aux), weight, gradient);
                } else {
                    here.bad = true;
                }
                here.noise += abs(rate - aux);
            }
        }
        $gradient[p] = gradient;
    }
    let all = sum(vec4<real>(here.value, here.noise, zero + select(real(0.0), real(1.0), here.bad), 0.0));
    return Value(all.x, all.y, !(all.z == 0.0));
}
