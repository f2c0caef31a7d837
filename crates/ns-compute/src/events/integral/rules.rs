//! Nodes and weights of rules for numerical integration on [-1, 1].

/// Number of nodes of the Kronrod rule in one observable.
pub(in crate::events) const KRONROD: usize = 21;

/// A Kronrod rule, and the Gauss rule whose nodes it contains (Piessens et al., "QUADPACK", 1983).
#[derive(Debug, Clone, Copy)]
pub(super) struct Rule {
    /// Non-negative nodes of the Kronrod rule, the largest first. Nodes with odd index are also nodes of the Gauss
    /// rule.
    nodes: &'static [f64],
    /// Weights of the Kronrod rule, in the order of `nodes`.
    weights: &'static [f64],
    /// Weights of the Gauss rule. They belong to its non-negative nodes, the largest first.
    gauss: &'static [f64],
    /// Degree of the first of the early terms from which the rate of convergence is estimated. `None` for rules of low
    /// degree.
    degree: Option<usize>,
}

impl Rule {
    /// Returns the rule whose products are used for integrals over `dimensions` observables.
    pub(super) fn of(dimensions: usize) -> &'static Self {
        match dimensions {
            0..=2 => &RULES[0],
            3 => &RULES[1],
            4 => &RULES[2],
            5 => &RULES[3],
            6 | 7 => &RULES[4],
            _ => &RULES[5],
        }
    }

    /// Returns a rule of low degree for small regions, if the rule of [`Self::of`] has many nodes.
    pub(super) fn low(dimensions: usize) -> Option<&'static Self> {
        matches!(dimensions, 2 | 3).then_some(&RULES[3])
    }

    /// Returns the number of nodes of the Kronrod rule.
    pub(super) fn len(&self) -> usize {
        2 * self.nodes.len() - 1
    }

    /// Returns the degree of the first of the early terms from which the rate of convergence is estimated; `None` if it is
    /// not estimated.
    pub(super) fn degree(&self) -> Option<usize> {
        self.degree
    }

    /// Returns three numbers: the node with this index, its weight in the Kronrod rule, and its weight in the Gauss
    /// rule. The last is 0 for a node that does not belong to the Gauss rule.
    pub(super) fn node(&self, index: usize) -> (f64, f64, f64) {
        let (half, sign) =
            if index < self.nodes.len() { (index, -1.0) } else { (self.len() - 1 - index, 1.0) };
        let gauss = if half % 2 == 1 { self.gauss[half / 2] } else { 0.0 };
        (sign * self.nodes[half], self.weights[half], gauss)
    }
}

/// Returns node `index` of the Kronrod rule in one observable, as [`Rule::node`].
pub(in crate::events) fn kronrod(index: usize) -> (f64, f64, f64) {
    RULES[0].node(index)
}

/// Kronrod rules with 21, 15, 11, 7, 5 and 3 nodes.
static RULES: [Rule; 6] = [
    Rule {
        nodes: &[
            0.995_657_163_025_808_080_74,
            0.973_906_528_517_171_720_08,
            0.930_157_491_355_708_226,
            0.865_063_366_688_984_510_73,
            0.780_817_726_586_416_897_06,
            0.679_409_568_299_024_406_23,
            0.562_757_134_668_604_683_34,
            0.433_395_394_129_247_190_8,
            0.294_392_862_701_460_198_13,
            0.148_874_338_981_631_210_89,
            0.0,
        ],
        weights: &[
            0.011_694_638_867_371_874_278,
            0.032_558_162_307_964_727_479,
            0.054_755_896_574_351_996_031,
            0.075_039_674_810_919_952_767,
            0.093_125_454_583_697_605_535,
            0.109_387_158_802_297_641_9,
            0.123_491_976_262_065_851_08,
            0.134_709_217_311_473_325_93,
            0.142_775_938_577_060_080_8,
            0.147_739_104_901_338_491_37,
            0.149_445_554_002_916_905_66,
        ],
        gauss: &[
            0.066_671_344_308_688_137_594,
            0.149_451_349_150_580_593_15,
            0.219_086_362_515_982_044,
            0.269_266_719_309_996_355_09,
            0.295_524_224_714_752_870_17,
        ],
        degree: Some(14),
    },
    Rule {
        nodes: &[
            0.991_455_371_120_812_639_21,
            0.949_107_912_342_758_524_53,
            0.864_864_423_359_769_072_79,
            0.741_531_185_599_394_439_86,
            0.586_087_235_467_691_130_29,
            0.405_845_151_377_397_166_91,
            0.207_784_955_007_898_467_6,
            0.0,
        ],
        weights: &[
            0.022_935_322_010_529_224_964,
            0.063_092_092_629_978_553_291,
            0.104_790_010_322_250_183_84,
            0.140_653_259_715_525_918_75,
            0.169_004_726_639_267_902_83,
            0.190_350_578_064_785_409_91,
            0.204_432_940_075_298_892_41,
            0.209_482_141_084_727_828_01,
        ],
        gauss: &[
            0.129_484_966_168_869_693_27,
            0.279_705_391_489_276_667_9,
            0.381_830_050_505_118_944_95,
            0.417_959_183_673_469_387_76,
        ],
        degree: Some(10),
    },
    Rule {
        nodes: &[
            0.984_085_360_094_842_464_5,
            0.906_179_845_938_663_992_8,
            0.754_166_726_570_849_220_44,
            0.538_469_310_105_683_091_04,
            0.279_630_413_161_783_193_41,
            0.0,
        ],
        weights: &[
            0.042_582_036_751_081_832_865,
            0.115_233_316_622_473_394_03,
            0.186_800_796_556_492_657_47,
            0.241_040_339_228_647_586_7,
            0.272_849_801_912_558_922_34,
            0.282_987_417_857_491_213_2,
        ],
        gauss: &[0.236_926_885_056_189_087_51, 0.478_628_670_499_366_468_04, 0.568_888_888_888_888_888_89],
        degree: Some(6),
    },
    Rule {
        nodes: &[0.960_491_268_708_020_283_42, 0.774_596_669_241_483_377_04, 0.434_243_749_346_802_558, 0.0],
        weights: &[
            0.104_656_226_026_467_265_19,
            0.268_488_089_868_333_440_73,
            0.401_397_414_775_962_222_91,
            0.450_916_538_658_474_142_35,
        ],
        gauss: &[0.555_555_555_555_555_555_56, 0.888_888_888_888_888_888_89],
        degree: None,
    },
    Rule {
        nodes: &[0.925_820_099_772_551_461_57, 0.577_350_269_189_625_764_51, 0.0],
        weights: &[0.197_979_797_979_797_979_8, 0.490_909_090_909_090_909_09, 0.622_222_222_222_222_222_22],
        gauss: &[1.0],
        degree: None,
    },
    Rule {
        nodes: &[0.774_596_669_241_483_377_04, 0.0],
        weights: &[0.555_555_555_555_555_555_56, 0.888_888_888_888_888_888_89],
        gauss: &[2.0],
        degree: None,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_exact_for_polynomials() {
        for rule in &RULES {
            let gauss_nodes = (rule.len() - 1) / 2;
            for power in 0..=(3 * gauss_nodes + 1) {
                let power = i32::try_from(power).unwrap_or(0);
                let exact = if power % 2 == 0 { 2.0 / f64::from(power + 1) } else { 0.0 };
                let (mut by_kronrod, mut by_gauss) = (0.0, 0.0);
                for index in 0..rule.len() {
                    let (x, kronrod, gauss) = rule.node(index);
                    by_kronrod += kronrod * x.powi(power);
                    by_gauss += gauss * x.powi(power);
                }
                assert!((by_kronrod - exact).abs() < 1e-14, "{} {power}", rule.len());
                let last = 2 * gauss_nodes as i32 - 1;
                assert!(power > last || (by_gauss - exact).abs() < 1e-14, "{} {power}", rule.len());
            }
        }
    }
}
