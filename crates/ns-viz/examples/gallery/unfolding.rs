//! An unfolded spectrum and the strengths of its regularisation, with the numbers of docs/unfolding.md.

use ns_viz::{LCurve, Unfolded};

/// Unfolded yields of ten truth bins.
pub(crate) fn unfolded() -> Unfolded {
    let list = |values: [f64; 10]| values.map(Some).to_vec();
    Unfolded {
        subtitle: "curvature, tau = 12.4155".into(),
        x_title: "Mass [GeV]".into(),
        y_title: "Events / bin".into(),
        edges: (0..=10).map(|i| 10.0 * f64::from(i)).collect(),
        prediction: vec![2982.3, 2241.1, 1684.1, 1265.6, 951.1, 714.7, 537.1, 403.6, 303.3, 227.9],
        unfolded: list([3230.1, 2047.9, 1428.5, 1271.4, 1222.9, 1018.7, 649.5, 338.6, 208.8, 174.7]),
        error: list([153.9, 106.3, 75.8, 65.3, 55.9, 45.5, 35.2, 29.0, 18.8, 26.1]),
        second_error: list([160.6, 124.6, 96.9, 83.8, 73.1, 59.6, 47.7, 37.4, 29.0, 32.9]),
        second_text: "uncertainty of the penalised likelihood".into(),
        ratio: true,
        ..Unfolded::default()
    }
}

/// Scanned strengths, with the corner of the L-curve.
pub(crate) fn strengths() -> LCurve {
    let chi2 = [
        13.3302, 13.3303, 13.3305, 13.331, 13.3321, 13.3347, 13.3404, 13.3521, 13.374, 13.4105, 13.4638,
        13.5309, 13.6056, 13.6819, 13.7593, 13.8437, 13.9472, 14.088, 14.2901, 14.5829, 15.0037, 15.6032,
        16.4487, 17.6236, 19.2209, 21.3467, 24.1582, 27.9306, 33.1147, 40.3131, 50.0517, 62.3324, 76.3203,
        90.6209, 103.9763, 115.6975, 125.5022, 133.3169, 139.2312, 143.4925, 146.4398,
    ];
    let roughness = [
        9.061, 8.967, 8.821, 8.598, 8.263, 7.776, 7.101, 6.224, 5.184, 4.085, 3.071, 2.261, 1.692, 1.324,
        1.09, 0.9291, 0.8057, 0.7002, 0.605, 0.518, 0.4393, 0.3686, 0.3057, 0.2506, 0.2034, 0.1638, 0.1308,
        0.103, 0.07886, 0.05777, 0.03976, 0.0254, 0.01506, 0.008369, 0.004421, 0.002234, 0.001079, 0.0004983,
        0.0002208, 9.457e-5, 3.951e-5,
    ];
    LCurve {
        x_title: "χ²".into(),
        y_title: "|L (μ − 1)|²".into(),
        x: chi2.map(Some).to_vec(),
        y: roughness.map(Some).to_vec(),
        chosen: Some([15.8555, 0.34661]),
        chosen_text: "tau = 12.4155".into(),
        log_y: true,
        ..LCurve::default()
    }
}
