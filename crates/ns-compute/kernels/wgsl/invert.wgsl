// Replaces the symmetric matrix `$matrix` of $size rows, a lower triangle stored row by row, by minus its inverse: each row
// is swept (Goodnight, Am. Stat. 33 (1979) 149). Returns false if the matrix is not positive definite.
fn invert_$matrix() -> bool {
    var positive = true;
    for (var k = 0u; k < $size; k++) {
        for (var i = thread; i < $size; i += THREADS) {
            $pivot_column[i] = $matrix[triangle(max(i, k), min(i, k))];
        }
        barrier();
        let pivot = $pivot_column[k];
        positive = positive && pivot > 0.0;
        let inverse = 1.0 / select(real(1.0), pivot, pivot > 0.0);
        for (var e = thread; e < $size * ($size + 1u) / 2u; e += THREADS) {
            let place = indices[I_TRIANGLE + e];
            let i = place >> 16u;
            let j = place & 0xffffu;
            if i == k && j == k {
                $matrix[e] = -inverse;
            } else if i == k {
                $matrix[e] = $pivot_column[j] * inverse;
            } else if j == k {
                $matrix[e] = $pivot_column[i] * inverse;
            } else {
                $matrix[e] = fma(-$pivot_column[i] * inverse, $pivot_column[j], $matrix[e]);
            }
        }
        barrier();
    }
    return positive;
}
