//! Nodes and weights of rules for numerical integration on [-1, 1].

/// Number of nodes of the Kronrod rule.
pub(in crate::events) const KRONROD: usize = 21;

/// Non-negative nodes of the Kronrod rule with 21 nodes, the largest first (Piessens et al., "QUADPACK", 1983). Nodes
/// with odd index are also the nodes of the Gauss rule with 10 nodes.
const NODES: [f64; 11] = [
    0.99565716302580808961,
    0.97390652851717174343,
    0.93015749135570824357,
    0.86506336668898453635,
    0.78081772658641690477,
    0.67940956829902443559,
    0.56275713466860466383,
    0.43339539412924721340,
    0.29439286270146020064,
    0.14887433898163121571,
    0.00000000000000000000,
];

/// Weights of the Kronrod rule, in the order of [`NODES`].
const KRONROD_WEIGHTS: [f64; 11] = [
    0.01169463886737187423,
    0.03255816230796472477,
    0.05475589657435199487,
    0.07503967481091995684,
    0.09312545458369760054,
    0.10938715880229764321,
    0.12349197626206584455,
    0.13470921731147333933,
    0.14277593857706008529,
    0.14773910490133848605,
    0.14944555400291689717,
];

/// Weights of the Gauss rule with 10 nodes. They belong to its positive nodes, the largest first.
const GAUSS_WEIGHTS: [f64; 5] = [
    0.06667134430868813799,
    0.14945134915058058689,
    0.21908636251598204159,
    0.26926671930999634963,
    0.29552422471475287002,
];

/// Returns three numbers: the node with this index, its weight in the Kronrod rule, and its weight in the Gauss rule.
/// The last is 0 for a node that does not belong to the Gauss rule.
pub(in crate::events) fn kronrod(index: usize) -> (f64, f64, f64) {
    let (half, sign) = if index < NODES.len() { (index, -1.0) } else { (KRONROD - 1 - index, 1.0) };
    let gauss = if half % 2 == 1 { GAUSS_WEIGHTS[half / 2] } else { 0.0 };
    (sign * NODES[half], KRONROD_WEIGHTS[half], gauss)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_exact_for_polynomials() {
        for power in 0..32 {
            let exact = if power % 2 == 0 { 2.0 / f64::from(power + 1) } else { 0.0 };
            let (mut by_kronrod, mut by_gauss) = (0.0, 0.0);
            for index in 0..KRONROD {
                let (x, kronrod, gauss) = kronrod(index);
                by_kronrod += kronrod * x.powi(power);
                by_gauss += gauss * x.powi(power);
            }
            assert!((by_kronrod - exact).abs() < 1e-15 * 4.0, "{power}");
            assert!(power > 19 || (by_gauss - exact).abs() < 1e-15 * 4.0, "{power}");
        }
    }
}
