//! Checks the data of plots. The plots are built from the results of analyses.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use ns_core::{Control, Execution, Model, Session};
use ns_inference::picture::{self, BlindError, BlindRange, Scanned};
use ns_inference::yields::Stage;
use ns_inference::{
    FitOptions, LimitOptions, RankingOptions, ScanAxis, ScanOptions, fit, open_session, prefit_yields,
    ranking, scan, upper_limit,
};
use ns_translate::pyhf::{ModelOptions, Workspace};

fn open() -> (Model, Box<dyn Session>) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/simple_workspace.json");
    let model = Workspace::from_path(path).unwrap().model(&ModelOptions::default()).unwrap();
    let session = open_session(&model, &Execution::default()).unwrap();
    (model, session)
}

#[test]
fn pulls_and_correlations_are_those_of_the_fit() {
    let (model, session) = open();
    let result = fit(&model, session.as_ref(), &FitOptions::default(), Control::default()).unwrap();
    let pulls = picture::pulls(&result);
    assert!(pulls.rows.len() > 3);
    let (free, constrained): (Vec<_>, Vec<_>) = pulls.rows.iter().partition(|row| row.pull.is_none());
    let free: Vec<_> = free.iter().map(|row| (row.parameter.as_str(), row.note.contains('±'))).collect();
    assert_eq!(free, [("background_norm", true), ("mu", true)]);
    for row in constrained {
        let i = model.parameter_index(&row.parameter).unwrap();
        let width = model.parameters[i].constraint.prefit_sigma().unwrap();
        assert_eq!(row.pull, result.pulls[i]);
        let constraint = row.constraint.unwrap();
        assert!((constraint * width - result.uncertainties[i].unwrap()).abs() < 1e-12);
        assert!(constraint > 0.0 && constraint < 1.05, "{row:?}");
    }
    let matrix = picture::correlation(&result, None).unwrap();
    assert_eq!(
        (matrix.matrix.len(), matrix.parameters.len()),
        (model.parameters.len(), model.parameters.len())
    );
    for (i, row) in matrix.matrix.iter().enumerate() {
        assert_eq!(row.len(), matrix.parameters.len());
        assert_eq!(row[i], Some(1.0));
        for (j, rho) in row.iter().enumerate() {
            let (a, b) = (&matrix.parameters[i], &matrix.parameters[j]);
            let at = |name: &str| model.parameter_index(name).unwrap();
            let covariance = result.covariance.as_ref().unwrap().get(at(a), at(b));
            let scale = result.uncertainty(a).unwrap() * result.uncertainty(b).unwrap();
            assert!((rho.unwrap() - covariance / scale).abs() < 1e-9);
        }
    }
    let none = fit(&model, session.as_ref(), &FitOptions::default().covariance(false), Control::default());
    assert_eq!(picture::correlation(&none.unwrap(), None), None);
}

#[test]
fn scans_are_sorted_and_keep_their_crossings() {
    let (model, session) = open();
    let options = ScanOptions::new(ScanAxis::default().values(vec![2.0, 0.0, 1.0, 2.0]));
    let result = scan(&model, session.as_ref(), &options, Control::default()).unwrap();
    let Scanned::Line(line) = picture::scan(&result) else { panic!("one parameter") };
    assert_eq!(line.x, [0.0, 1.0, 2.0]);
    let wanted: Vec<_> = [1, 2, 0].iter().map(|i| result.twice_delta_nll[*i]).collect();
    assert_eq!(line.twice_delta_nll, wanted);
    assert_eq!(line.levels, [1.0, 4.0]);
    let sides = [result.intervals[0].lower, result.intervals[0].upper];
    assert_eq!(line.crossings[0], sides.into_iter().flatten().collect::<Vec<_>>());

    let plane = ScanOptions::new(ScanAxis::default().values(vec![1.5, 0.5, 1.0]))
        .second(ScanAxis::param("jet_scale").values(vec![1.0, -1.0]));
    let result = scan(&model, session.as_ref(), &plane, Control::default()).unwrap();
    let Scanned::Plane(plane) = picture::scan(&result) else { panic!("two parameters") };
    assert_eq!((plane.x.as_slice(), plane.y.as_slice()), (&[0.5, 1.0, 1.5][..], &[-1.0, 1.0][..]));
    assert_eq!(plane.twice_delta_nll[0][2], result.twice_delta_nll[3], "first row: jet_scale = -1, mu = 1.5");
    assert_eq!(plane.twice_delta_nll[1][0], result.twice_delta_nll[1]);
}

#[test]
fn limits_and_rankings() {
    let (model, session) = open();
    let options = LimitOptions::default().scan(vec![3.0, 1.0, 2.0]);
    let result = upper_limit(&model, session.as_ref(), &options, Control::default()).unwrap();
    let limit = picture::limit(&result).unwrap();
    let tested = result.scan.as_ref().unwrap();
    assert_eq!(limit.mu, [1.0, 2.0, 3.0]);
    assert_eq!(limit.observed[0], tested.observed[1]);
    assert_eq!(limit.expected[2], std::array::from_fn(|list| tested.expected[list][0]));
    assert_eq!((limit.observed_limit, limit.expected_limits[4]), (result.observed, result.expected[4]));
    // The outcome at -2 sigma has the least signal. Its limit is therefore the lowest.
    assert!(
        limit.expected_limits[0] < limit.expected_limits[4] && limit.expected[0][0] < limit.expected[0][4]
    );
    let without =
        upper_limit(&model, session.as_ref(), &LimitOptions::default(), Control::default()).unwrap();
    assert_eq!(picture::limit(&without), None);

    let options = RankingOptions::default().prefit(true);
    let result = ranking(&model, session.as_ref(), &options, Control::default()).unwrap();
    let rows = picture::ranking(&result).rows;
    for row in &rows {
        let entry = result.get(&row.parameter).unwrap();
        assert_eq!((row.pull, row.constraint), (entry.pull, entry.constraint));
        let delta = |side| entry.impacts.delta(side);
        use ns_inference::ranking::Side::{Down, PrefitDown, PrefitUp, Up};
        assert_eq!([row.postfit_up, row.postfit_down], [delta(Up), delta(Down)]);
        assert_eq!([row.prefit_up, row.prefit_down], [delta(PrefitUp), delta(PrefitDown)]);
        assert_eq!(row.note.is_empty(), entry.prefit_uncertainty.is_some());
    }
    assert_eq!(rows.len(), result.ranking.len());
}

/// Opens the event model of a test fixture. `change` can change the fixture's JSON before the model is read.
fn open_events(change: impl Fn(&mut serde_json::Value)) -> (Model, Box<dyn Session>) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/hs3/mixed.hs3.json");
    let mut document = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    change(&mut document);
    let source = ns_translate::ModelSource::from_slice(document.to_string().as_bytes()).unwrap();
    let model = source.model(&ModelOptions::default()).unwrap();
    let session = open_session(&model, &Execution::default()).unwrap();
    (model, session)
}

#[test]
fn curves_of_events_add_up_to_the_bins() {
    let (model, session) = open_events(|_| {});
    let yields = prefit_yields(&model, session.as_ref(), &FitOptions::default()).unwrap();
    let picture = picture::yields(&yields);
    let channel = picture.channels.iter().find(|channel| !channel.curve_positions.is_empty()).unwrap();
    let steps = channel.curve_positions.len() / (channel.bin_edges.len() - 1);
    for sample in &channel.samples {
        for (bin, count) in sample.counts.iter().enumerate() {
            // The integral of the curve over a bin by Simpson's rule, in events per bin.
            let curve = &sample.curve[bin * steps..(bin + 1) * steps];
            let weight = |i: usize| match i {
                0 => 1.0,
                i if i == steps - 1 => 1.0,
                i => 2.0 + 2.0 * (i % 2) as f64,
            };
            let sum: f64 = curve.iter().enumerate().map(|(i, y)| weight(i) * y).sum();
            let mean = sum / (3.0 * (steps - 1) as f64);
            assert!(
                (mean - count).abs() < 2e-3 * (1.0 + count),
                "{}, bin {bin}: {mean} {count}",
                sample.name
            );
        }
    }
}

#[test]
fn data_of_blinded_ranges_are_not_drawn() {
    let range = |text: &str| text.parse::<BlindRange>();
    let (model, session) = open_events(|_| {});
    let axis = model.event_channels[0].observables[0].clone();
    let (low, high) = (axis.min + 0.4 * (axis.max - axis.min), axis.min + 0.6 * (axis.max - axis.min));
    let fitted = fit(&model, session.as_ref(), &FitOptions::default(), Control::default()).unwrap();
    let of = |model: &Model, session: &dyn Session| {
        picture::yields(&prefit_yields(model, session, &FitOptions::default()).unwrap())
    };
    let mut by_hand = of(&model, session.as_ref());
    let blinded = range(&format!("{}={low}:{high}", axis.name)).unwrap();
    blinded.check(&model).unwrap();
    picture::blind(&mut by_hand, &blinded).unwrap();

    let (same, session) = open_events(|document| {
        let ranges = serde_json::json!({axis.name.as_str(): [[low, high]]});
        for likelihood in document["likelihoods"].as_array_mut().unwrap() {
            likelihood["nextstat.blind"] = ranges.clone();
        }
    });
    assert_eq!(same.digest(), model.digest(), "the range is no part of the likelihood");
    let again = fit(&same, session.as_ref(), &FitOptions::default(), Control::default()).unwrap();
    assert_eq!(again.bestfit, fitted.bestfit);
    let by_model = of(&same, session.as_ref());
    assert_eq!(by_model, by_hand);
    assert!(by_model.channels.iter().any(|channel| channel.blind == [(low, high)]));
    let svg = by_model.draw().unwrap().to_svg();
    assert!(svg.contains("blinded"), "the legend has the range");

    assert!(range("m").unwrap_err().contains("expected NAME=FROM:TO"));
    let wrong = |text: &str| range(text).unwrap().check(&model).unwrap_err();
    assert!(matches!(wrong("nothing=1:2"), BlindError::NoSuchObservable { .. }));
    assert!(matches!(wrong(&format!("{}=2:1", axis.name)), BlindError::Empty { .. }));
    assert!(matches!(wrong(&format!("{}=-9e9:-8e9", axis.name)), BlindError::Outside { .. }));
}

#[test]
fn projections_of_blinded_events_show_no_data() {
    let channel = |name: &str, observable: &str| ns_viz::ChannelYields {
        name: name.to_owned(),
        x_title: observable.to_owned(),
        data: vec![Some(1.0); 4],
        bin_edges: vec![0.0, 1.0, 2.0, 3.0, 4.0],
        pulls: true,
        ..ns_viz::ChannelYields::default()
    };
    let channels = vec![channel("SR, x", "x"), channel("SR, y", "y"), channel("CR", "y")];
    let mut yields = ns_viz::Yields { channels, ..ns_viz::Yields::default() };
    picture::blind(&mut yields, &"x=1.5:2".parse().unwrap()).unwrap();
    assert_eq!(yields.channels[0].blind, [(1.5, 2.0)]);
    assert!(yields.channels[1].data.is_empty(), "the other observable of the same events");
    assert_eq!(yields.channels[1].note, "no data: x is blinded");
    assert_eq!(yields.channels[2].data.len(), 4, "other events");
}

#[test]
fn a_summary_after_the_fit_has_nothing_of_a_region_with_a_blinded_range() {
    let (model, session) = open();
    let before = prefit_yields(&model, session.as_ref(), &FitOptions::default()).unwrap();
    let picture = |stage: Stage, factor: f64| {
        let (mut result, mut before) = (before.clone(), before.clone());
        result.stage = stage;
        let hidden = &mut result.channels[0];
        hidden.blind = vec![(0.0, 1.0)];
        hidden.data_sum *= factor;
        hidden.sum *= factor;
        hidden.sum_uncertainty = hidden.sum_uncertainty.map(|sigma| sigma * factor);
        hidden.samples.iter_mut().for_each(|sample| sample.sum *= factor);
        before.channels[0].sum *= factor;
        picture::summary(&result, Some(&before))
    };
    let after = picture(Stage::Postfit, 1.0);
    assert_eq!(after, picture(Stage::Postfit, 3.0));
    let svg = after.draw().unwrap().to_svg();
    assert!(svg.contains(">blinded<"), "the legend has the region");
    let channel = &after.channels[0];
    assert_eq!((channel.data[0], channel.uncertainty[0], channel.before[0]), (None, None, None));
    assert!(channel.samples.iter().all(|sample| sample.counts[0] == 0.0));
    // What nobody fitted to the data of the region is drawn.
    let expected = &picture(Stage::Prefit, 1.0).channels[0];
    assert_eq!((expected.data[0], expected.blind.as_slice()), (None, &[(0.0, 1.0)][..]));
    assert!(expected.samples.iter().any(|sample| sample.counts[0] > 0.0));
}
