//! Combinations with known answers.

use super::*;

fn given(name: &str, quantity: &str, value: f64, parts: &[(&str, f64)]) -> GivenResult {
    GivenResult {
        name: name.to_owned(),
        quantity: quantity.to_owned(),
        value,
        uncertainties: parts.iter().map(|(source, sigma)| ((*source).to_owned(), *sigma)).collect(),
    }
}

/// Lifetimes of charmed particles, section 5 of Lyons, Gibaut, Clifford (1988), in units of 1e-13 s.
#[test]
fn the_published_lifetimes_are_combined() {
    let covariance = [
        [2.74, 1.15, 0.86, 1.31],
        [1.15, 1.67, 0.82, 1.32],
        [0.86, 0.82, 2.12, 1.05],
        [1.31, 1.32, 1.05, 2.93_f64],
    ];
    let sigma = |i: usize| covariance[i][i].sqrt();
    let results = [9.5, 11.9, 11.1, 8.9].iter().enumerate();
    let results =
        results.map(|(i, value)| given(&format!("{i}"), "", *value, &[("all", sigma(i))])).collect();
    let row = |i: usize| (0..4).map(|j| covariance[i][j] / (sigma(i) * sigma(j))).collect();
    let matrix = Correlation::Matrix((0..4).map(row).collect());
    let input = BlueInput { results, correlations: BTreeMap::from([("all".to_owned(), matrix)]) };
    let result = blue(&input).unwrap();
    let own = &result.combined[0];
    assert!((own.value - 11.16).abs() < 0.005 && (own.uncertainty - 1.13).abs() < 0.005, "{own:?}");
    for (weight, wanted) in own.weights.iter().zip([0.145, 0.470, 0.347, 0.038]) {
        assert!((weight - wanted).abs() < 5e-4, "{own:?}");
    }
    assert_eq!(result.n_dof, 3);
}

#[test]
fn two_results_have_the_weights_of_the_formula() {
    let (a, b, rho) = (2.0, 3.0, 0.4);
    let results = vec![given("A", "", 10.0, &[("s", a)]), given("B", "", 13.0, &[("s", b)])];
    let correlations = BTreeMap::from([("s".to_owned(), Correlation::Common(rho))]);
    let result = blue(&BlueInput { results, correlations }).unwrap();
    let weight = (b * b - rho * a * b) / (a * a + b * b - 2.0 * rho * a * b);
    let own = &result.combined[0];
    assert!((own.weights[0] - weight).abs() < 1e-12 && (own.weights[1] - 1.0 + weight).abs() < 1e-12);
    assert!((own.value - (weight * 10.0 + (1.0 - weight) * 13.0)).abs() < 1e-12);
    let variance = a * a * b * b * (1.0 - rho * rho) / (a * a + b * b - 2.0 * rho * a * b);
    assert!((own.uncertainty - variance.sqrt()).abs() < 1e-12);
    // The pulls of two results have the same size, and their square is chi2.
    let pulls: Vec<f64> = result.pulls.iter().map(|pull| pull.unwrap()).collect();
    assert!(
        (pulls[0] + pulls[1]).abs() < 1e-12 && (pulls[0].powi(2) - result.chi2).abs() < 1e-12,
        "{pulls:?}"
    );
}

#[test]
fn sources_add_in_quadrature_and_quantities_are_correlated() {
    let results = vec![
        given("A", "x", 1.0, &[("stat", 0.3), ("lumi", 0.2)]),
        given("B", "x", 1.4, &[("stat", 0.4), ("lumi", 0.1)]),
        given("C", "y", 5.0, &[("stat", 0.5), ("lumi", 0.6)]),
    ];
    let correlations = BTreeMap::from([
        ("stat".to_owned(), Correlation::Common(0.0)),
        ("lumi".to_owned(), Correlation::Common(1.0)),
    ]);
    let result = blue(&BlueInput { results, correlations }).unwrap();
    assert_eq!((result.combined.len(), result.n_dof), (2, 1));
    for own in &result.combined {
        let sum: f64 = own.uncertainties.values().map(|part| part * part).sum();
        assert!((sum.sqrt() - own.uncertainty).abs() < 1e-12, "{own:?}");
    }
    // Weights of the other quantity sum up to 0.
    let x = &result.combined[0];
    assert!((x.weights[0] + x.weights[1] - 1.0).abs() < 1e-12 && x.weights[2].abs() < 1e-12, "{x:?}");
    assert!(
        result.covariance[0][1] > 0.0 && (result.covariance[0][1] - result.covariance[1][0]).abs() < 1e-12
    );
}

#[test]
fn negative_weights_are_told_and_wrong_input_is_refused() {
    let two = |rho: f64| BlueInput {
        results: vec![given("A", "", 10.0, &[("s", 1.0)]), given("B", "", 13.0, &[("s", 3.0)])],
        correlations: BTreeMap::from([("s".to_owned(), Correlation::Common(rho))]),
    };
    assert!(blue(&two(0.9)).unwrap().warnings[0].contains("the weight of B is negative"));
    assert_eq!(blue(&two(1.0)), Err(BlueError::Singular));
    let refused = |input: BlueInput| blue(&input).unwrap_err().to_string();
    assert!(refused(two(1.5)).contains("1.5 is no correlation"));
    assert!(refused(BlueInput { correlations: BTreeMap::new(), ..two(0.5) }).contains("'s' is missing"));
    assert!(refused(BlueInput::default()).contains("at least one"));
    let matrix = |rows: Vec<Vec<f64>>| BTreeMap::from([("s".to_owned(), Correlation::Matrix(rows))]);
    assert!(refused(BlueInput { correlations: matrix(vec![vec![1.0]]), ..two(0.5) }).contains("2 rows of 2"));
    let skew = vec![vec![1.0, 0.2], vec![0.3, 1.0]];
    assert!(refused(BlueInput { correlations: matrix(skew), ..two(0.5) }).contains("symmetric"));
    let mut twice = two(0.5);
    twice.results[1].name = "A".to_owned();
    assert!(refused(twice).contains("'A' is there twice"));
    let mut other = two(0.5);
    other.correlations.insert("jes".to_owned(), Correlation::Common(0.0));
    assert!(refused(other).contains("no result has the source 'jes'"));
}

#[test]
fn correlations_that_no_quantities_have_are_refused() {
    let parts = [("stat", 1.0), ("s", 1.0)];
    let three = |own: Correlation| {
        let results = ["A", "B", "C"].map(|name| given(name, "", 1.0, &parts)).to_vec();
        let stat = ("stat".to_owned(), Correlation::Common(0.0));
        BlueInput { results, correlations: BTreeMap::from([stat, ("s".to_owned(), own)]) }
    };
    let refused = |own: Correlation| blue(&three(own)).unwrap_err().to_string();
    // Each entry is a correlation, but the eigenvalues of the matrix are 1.9, 1.9 and -0.8.
    let frustrated = vec![vec![1.0, 0.9, -0.9], vec![0.9, 1.0, 0.9], vec![-0.9, 0.9, 1.0]];
    assert!(refused(Correlation::Matrix(frustrated.clone())).contains("the eigenvalue -0.8"));
    assert!(refused(Correlation::Common(-0.9)).contains("-0.9 between each two of 3 results"));
    assert!(blue(&three(Correlation::Common(-0.5))).is_ok());
    assert!(blue(&three(Correlation::Common(1.0))).is_ok());
    // A result without the source takes no part in it.
    let mut two = three(Correlation::Common(-0.9));
    two.results[2].uncertainties.remove("s");
    assert!(blue(&two).is_ok());
    two.correlations.insert("s".to_owned(), Correlation::Matrix(frustrated));
    assert!(blue(&two).is_ok());
}

#[test]
fn texts_in_toml_and_json_are_read() {
    let toml =
        "\u{feff}[correlations]\ns = -0.5\n[[results]]\nname = \"A\"\nvalue = 1\nuncertainties = { s = 2 }\n";
    let json =
        r#"{"results": [{"name": "A", "value": 1, "uncertainties": {"s": 2}}], "correlations": {"s": -0.5}}"#;
    let input = BlueInput::from_slice(toml.as_bytes()).unwrap();
    assert_eq!(input.correlations.get("s"), Some(&Correlation::Common(-0.5)));
    assert_eq!(BlueInput::from_slice(json.as_bytes()), Ok(input));
    let refused = |text: &[u8]| BlueInput::from_slice(text).unwrap_err().to_string();
    for text in [
        "results = []\n[correlations]\njes = \"full\"\n",
        r#"{"results": [], "correlations": {"jes": "full"}}"#,
    ] {
        let message = refused(text.as_bytes());
        assert!(message.contains("give a number from -1 to 1, or a matrix"), "{message}");
    }
    assert!(refused(&[0xff, 0xfe]).contains("UTF-8"));
}
