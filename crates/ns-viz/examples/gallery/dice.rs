//! Pseudo-random numbers, and names of parameters.

/// Pseudo-random numbers that are the same on every machine (a linear congruential generator).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns a number uniform between 0 and 1.
    pub(crate) fn flat(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a number from approximately the standard normal distribution.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.flat()).sum::<f64>() - 6.0
    }
}

pub(crate) fn names(count: usize) -> Vec<String> {
    let stems = [
        "JES_EffectiveNP_Modelling",
        "JER_DataVsMC_MC16",
        "FT_EFF_Eigen_B",
        "EL_EFF_ID_TOTAL_1NPCOR",
        "MUON_ID",
        "ttbar_PhaseSpace_hdamp",
        "Wjets_scale_muR_muF",
        "lumi",
        "PRW_DATASF",
        "MET_SoftTrk_ResoPara",
        "ttH_parton_shower_Herwig7",
        "singletop_DRvsDS",
        "gamma_stat_SR_highmass_bin",
    ];
    (0..count)
        .map(|i| {
            let stem = stems[i % stems.len()];
            if i < stems.len() { stem.to_owned() } else { format!("{stem}_{}", i / stems.len()) }
        })
        .collect()
}

pub(crate) fn long_name(index: usize) -> String {
    let name = format!(
        "alpha_ATLAS_JES_EffectiveNP_Modelling{index}_AFII_ttbar_PowhegPythia8_vs_Sherpa_SR_highmass_x"
    );
    name.chars().take(80).collect()
}
