// One descent per workgroup, with the steps of lanes/descend.rs and lanes/group.rs.

// First loop of L-BFGS (Nocedal and Wright, algorithm 7.4). Each thread keeps the same elements of all vectors over the
// parameters.
fn before(corrects: bool, next: u32) {
    for (var p = thread; p < PARAMS; p += THREADS) {
        $from[p] = -$slope[p];
        $to[p] = 0.0;
    }
    if corrects {
        for (var age = 1u; age <= PAIRS; age++) {
            let slot = (next + PAIRS - age) % PAIRS;
            let inverse = $inverse_of_pair[slot];
            // The same for all threads. The memory of a pair that is not used may hold anything.
            if !agreed(inverse != 0.0) {
                continue;
            }
            var product = real(0.0);
            for (var p = thread; p < PARAMS; p += THREADS) {
                product = fma($steps[slot * PARAMS + p], $from[p], product);
            }
            let weight = sum_one(product) * inverse;
            if thread == 0u {
                $weight_of_pair[slot] = weight;
            }
            for (var p = thread; p < PARAMS; p += THREADS) {
                $from[p] = fma(-weight, $changes[slot * PARAMS + p], $from[p]);
            }
        }
    }
    barrier();
}

// Second loop of L-BFGS. Returns the scalar product of the direction and the slope.
fn after(corrects: bool, next: u32) -> real {
    if corrects {
        for (var age = PAIRS; age >= 1u; age--) {
            let slot = (next + PAIRS - age) % PAIRS;
            let inverse = $inverse_of_pair[slot];
            if !agreed(inverse != 0.0) {
                continue;
            }
            var product = real(0.0);
            for (var p = thread; p < PARAMS; p += THREADS) {
                product = fma($changes[slot * PARAMS + p], $to[p], product);
            }
            let weight = $weight_of_pair[slot] - sum_one(product) * inverse;
            for (var p = thread; p < PARAMS; p += THREADS) {
                $to[p] = fma(weight, $steps[slot * PARAMS + p], $to[p]);
            }
        }
    }
    var descent = real(0.0);
    for (var p = thread; p < PARAMS; p += THREADS) {
        let moves = select($to[p], real(0.0), $held[p] != 0.0);
        $direction[p] = moves;
        descent = fma($slope[p], moves, descent);
    }
    return sum_one(descent);
}

// Removes all pairs.
fn forget() {
    for (var i = thread; i < PAIRS; i += THREADS) {
        $inverse_of_pair[i] = 0.0;
    }
}

// Moves to the trial point: finds the parameters that are held at bounds, and stores the step and the change of the slope.
// Returns whether the held parameters have changed.
fn absorb(fresh: bool, slot: u32) -> bool {
    var parts = vec4<real>(0.0);
    for (var p = thread; p < PARAMS; p += THREADS) {
        let to = $trial[p];
        let gradient = $gradient[p];
        let was = $held[p] != 0.0;
        if !fresh {
            let step = to - $theta[p];
            let change = select(gradient - $slope[p], real(0.0), was);
            $steps[slot * PARAMS + p] = step;
            $changes[slot * PARAMS + p] = change;
            parts.x = fma(step, change, parts.x);
            parts.y = fma(change, change, parts.y);
        }
        $theta[p] = to;
        let lower = numbers[N_LOWER + p];
        let upper = numbers[N_UPPER + p];
        let fixed = indices[I_FREE + p] == 0u;
        let holds = fixed || (to <= lower && gradient > 0.0) || (to >= upper && gradient < 0.0);
        if holds != was {
            parts.z += 1.0;
        }
        $held[p] = select(real(0.0), real(1.0), holds);
        $slope[p] = select(gradient, real(0.0), holds);
    }
    let all = sum(parts);
    if !fresh && thread == 0u {
        $inverse_of_pair[slot] = select(real(0.0), 1.0 / all.x, all.x > LEAST_PAIR_CURVATURE * all.y);
    }
    barrier();
    return all.z != 0.0;
}

// The lower limit of a step from `theta`. The constraint term of a parameter with a Poisson constraint is infinite at 0.
fn bottom(p: u32, theta: real) -> real {
    let lower = numbers[N_LOWER + p];
    return select(lower, max(lower, LEFT_BY_A_STEP * theta), indices[I_CONSTRAINT + p] == 2u);
}

// Returns the largest fraction of the direction, at most 1, that stays within the bounds.
fn reach() -> real {
    var least = real(1.0);
    for (var p = thread; p < PARAMS; p += THREADS) {
        let step = $direction[p];
        let theta = $theta[p];
        let to = theta + step;
        let lower = bottom(p, theta);
        let upper = numbers[N_UPPER + p];
        if to < lower && step < 0.0 {
            least = min(least, (lower - theta) / step);
        } else if to > upper && step > 0.0 {
            least = min(least, (upper - theta) / step);
        }
    }
    partial[thread] = vec4<real>(least, 0.0, 0.0, 0.0);
    workgroupBarrier();
    for (var i = 0u; i < THREADS; i++) {
        least = min(least, partial[i].x);
    }
    workgroupBarrier();
    return max(least, 0.0);
}

// Holds the parameters at bounds that the direction would move out of the bounds. Returns whether there were any.
fn pin_outward() -> bool {
    var any = real(0.0);
    for (var p = thread; p < PARAMS; p += THREADS) {
        let theta = $theta[p];
        let step = $direction[p];
        let outward = (theta <= numbers[N_LOWER + p] && step < 0.0) || (theta >= numbers[N_UPPER + p] && step > 0.0);
        if outward && $held[p] == 0.0 {
            $held[p] = 1.0;
            $slope[p] = 0.0;
            any += 1.0;
        }
    }
    return sum_one(any) != 0.0;
}

fn advance(length: real) {
    for (var p = thread; p < PARAMS; p += THREADS) {
        let theta = $theta[p];
        let to = clamp(fma(length, $direction[p], theta), numbers[N_LOWER + p], numbers[N_UPPER + p]);
        $trial[p] = select(to, theta, $held[p] != 0.0);
    }
    barrier();
}

// Finds the inputs, the slab and the results of descent `place`, and goes to its starting point.
fn begin(index: u32, place: u32) {
    thread = index;
    job = place * JOB_SIZE;
    slab = place * SLAB_SIZE;
    end = place * END_SIZE;
    for (var p = thread; p < PARAMS; p += THREADS) {
        let start = jobs[job + BINS + AUX + p];
        $trial[p] = start;
        $theta[p] = start;
        $slope[p] = 0.0;
        $held[p] = select(real(0.0), real(1.0), indices[I_FREE + p] == 0u);
        $curved[p] = 0.0;
        $curved_first[p] = 0.0;
    }
    forget();
    barrier();
}

// The value and the gradient at the starting points of all descents, for tests.
@compute @workgroup_size(THREADS)
fn values(@builtin(local_invocation_index) index: u32, @builtin(workgroup_id) place: vec3<u32>) {
    begin(index, place.x);
    let here = evaluate();
    for (var p = thread; p < PARAMS; p += THREADS) {
        ends[end + p] = $gradient[p];
    }
    if thread == 0u {
        ends[end + 3u * PARAMS] = here.value;
        ends[end + 3u * PARAMS + 1u] = here.noise;
        ends[end + 3u * PARAMS + 2u] = select(real(0.0), real(1.0), here.bad);
    }
}

@compute @workgroup_size(THREADS)
fn descents(@builtin(local_invocation_index) index: u32, @builtin(workgroup_id) place: vec3<u32>) {
    begin(index, place.x);
    var value = real(0.0);
    var noise = real(0.0);
    var edm = real(-1.0);
    var last_edm = real(0.0);
    var length = real(1.0);
    var descent = real(0.0);
    var trials = 0u;
    var iterations = 0u;
    var evaluations = 0u;
    var next = 0u;
    var fresh = true;
    var corrects = false;
    var status = UNFINISHED;
    while agreed(status == UNFINISHED && evaluations < MOST_EVALUATIONS) {
        let here = evaluate();
        evaluations++;
        let limit = value + LEAST_DECREASE * length * descent + VALUE_ROUNDINGS * EPSILON * noise;
        if agreed(!here.bad && (fresh || here.value <= limit)) {
            let was_fresh = fresh;
            value = here.value;
            noise = here.noise;
            trials = 0u;
            iterations++;
            if agreed(absorb(was_fresh, next)) {
                forget();
                barrier();
            }
            if !was_fresh {
                next = (next + 1u) % PAIRS;
            }
            fresh = false;
            var lost = false;
            for (var pin = 0u; pin <= MOST_PINS; pin++) {
                lost = !factor();
                before(corrects, next);
                solve();
                descent = after(corrects, next);
                length = reach();
                if agreed(lost || !(length < SHORTEST_REACH)) {
                    break;
                }
                lost = pin == MOST_PINS;
                let pinned = pin_outward();
                if !agreed(!lost && pinned) {
                    break;
                }
                forget();
                barrier();
            }
            last_edm = edm;
            edm = -0.5 * descent;
            if was_fresh {
                corrects = false;
            } else if edm > GOOD_CONTRACTION * last_edm {
                corrects = true;
            }
            // A number that is not finite fails both comparisons.
            if lost || !(edm >= 0.0 && edm < HUGE) {
                status = LOST;
            } else if edm <= SURELY * EDM_TOLERANCE || (!was_fresh && max(edm, last_edm) <= EDM_TOLERANCE) {
                status = CONVERGED;
            } else if value < BELOW_SATURATED {
                status = FALLEN;
            }
        } else {
            trials++;
            length *= SHORTENED;
            if fresh || trials > MOST_TRIALS {
                status = LOST;
            }
        }
        advance(length);
    }
    for (var p = thread; p < PARAMS; p += THREADS) {
        ends[end + p] = $theta[p];
        ends[end + PARAMS + p] = $held[p];
        ends[end + 2u * PARAMS + p] = $slope[p];
    }
    if thread == 0u {
        let at = end + 3u * PARAMS;
        ends[at] = value;
        ends[at + 1u] = edm;
        ends[at + 2u] = real(status);
        ends[at + 3u] = real(iterations);
        ends[at + 4u] = real(evaluations);
    }
}
