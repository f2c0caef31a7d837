//! Checks every picture: labels are readable, files are complete, and the bytes are the same each time.

#[path = "../examples/gallery/inputs.rs"]
mod inputs;

use ns_viz::{
    ChannelYields, Contour, Correlation, Drawing, Exclusion, Format, Limit, LimitCurve, PictureError, Pulls,
    Ranking, SampleYields, Scan, ToyDistribution, ToyPulls, Yields,
};

fn all() -> Vec<(String, Drawing)> {
    let results = inputs::typical().into_iter().chain(inputs::hard());
    let drawn: Vec<_> = results.filter_map(|(name, drawing)| Some((name, drawing.ok()?))).collect();
    assert_eq!(drawn.len(), inputs::typical().len() + inputs::hard().len(), "all inputs can be drawn");
    drawn
}

#[test]
fn labels_stay_on_the_page() {
    for (name, drawing) in all() {
        assert!(drawing.labels().len() > 5, "{name} has labels");
        for label in drawing.labels() {
            let inside = label.left >= 0.0
                && label.top >= 0.0
                && label.right <= drawing.width()
                && label.bottom <= drawing.height();
            assert!(inside, "{name} ({} x {}): {label:?}", drawing.width(), drawing.height());
        }
    }
}

#[test]
fn labels_do_not_overlap() {
    for (name, drawing) in all() {
        let labels = drawing.labels();
        for (index, one) in labels.iter().enumerate() {
            for other in labels.iter().skip(index + 1) {
                // The rectangles include space for ascenders and descenders. The letters do not overlap if
                // the rectangles overlap by at most half a pixel.
                let apart = one.right <= other.left + 0.5
                    || other.right <= one.left + 0.5
                    || one.bottom <= other.top + 0.5
                    || other.bottom <= one.top + 0.5;
                assert!(apart, "{name}: {one:?} and {other:?}");
            }
        }
    }
}

#[test]
fn names_of_eighty_characters_are_whole() {
    let long = inputs::long_name(0);
    assert_eq!(long.chars().count(), 80);
    for (name, drawing) in inputs::hard() {
        if ["ranking-60-long", "pulls-long", "correlation-long"].contains(&name.as_str()) {
            let labels = drawing.unwrap().labels();
            assert!(labels.iter().any(|label| label.text.starts_with(&long)), "{name}");
            assert!(labels.iter().all(|label| !label.text.contains('…')), "{name}");
        }
    }
}

#[test]
fn every_parameter_of_a_large_matrix_is_named_twice() {
    let input = inputs::correlation(250);
    let drawing = input.draw().unwrap();
    let labels = drawing.labels();
    for parameter in &input.parameters {
        assert_eq!(labels.iter().filter(|label| label.text == *parameter).count(), 2, "{parameter}");
    }
}

#[test]
fn png_has_the_size_of_the_page_and_is_not_blank() {
    for (name, drawing) in inputs::typical() {
        let drawing = drawing.unwrap();
        let png = drawing.to_png(0.5).unwrap();
        let pixels = tiny_skia::Pixmap::decode_png(&png).unwrap();
        assert_eq!(f64::from(pixels.width()), (0.5 * drawing.width()).round(), "{name}");
        assert_eq!(f64::from(pixels.height()), (0.5 * drawing.height()).round(), "{name}");
        let inked = pixels.pixels().iter().filter(|p| p.red() < 250 || p.blue() < 250).count();
        assert!(inked * 50 > pixels.pixels().len(), "{name}: {inked} pixels with ink");
    }
}

#[test]
fn pdf_is_one_page_with_its_font_inside() {
    for (name, drawing) in inputs::typical() {
        let pdf = drawing.unwrap().to_pdf().unwrap();
        let text = String::from_utf8_lossy(&pdf);
        assert!(text.starts_with("%PDF-1."), "{name}");
        assert!(text.trim_end().ends_with("%%EOF"), "{name}");
        for part in ["/FontFile2", "/ToUnicode", "/Count 1", "DejaVuSans"] {
            assert!(text.contains(part), "{name} lacks {part}");
        }
    }
}

#[test]
fn svg_is_balanced_and_escaped() {
    let mut scan = inputs::scan();
    scan.parameter = "a<b & c".into();
    let svg = scan.draw().unwrap().to_svg();
    assert!(svg.contains("a&lt;b &amp; c") && !svg.contains("a<b"));
    for element in ["text", "title", "svg"] {
        let opened =
            svg.matches(&format!("<{element} ")).count() + svg.matches(&format!("<{element}>")).count();
        assert_eq!(opened, svg.matches(&format!("</{element}>")).count(), "{element}");
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}

#[test]
fn bytes_are_the_same_each_time() {
    for format in [Format::Svg, Format::Pdf] {
        let once = inputs::ranking(20, true).draw().unwrap().encode(format).unwrap();
        assert_eq!(once, inputs::ranking(20, true).draw().unwrap().encode(format).unwrap());
    }
}

#[test]
fn the_documentation_shows_these_pictures() {
    for (name, drawing) in inputs::typical() {
        let path = format!("{}/../../docs/plots/{name}.svg", env!("CARGO_MANIFEST_DIR"));
        let shown = std::fs::read_to_string(&path).unwrap_or_default();
        let again = "draw them with `cargo run -p ns-viz --example gallery -- FOLDER`, look at them, and copy SVG and PNG";
        assert!(shown == drawing.unwrap().to_svg(), "{name} differs from {path}: {again}");
    }
}

#[test]
fn ranking_is_ordered_by_impact() {
    let mut input = inputs::ranking(12, false);
    input.rows.reverse();
    input.max_rows = Some(5);
    let labels = input.draw().unwrap().labels();
    let order: Vec<f64> = labels
        .iter()
        .filter(|label| {
            input
                .rows
                .iter()
                .any(|row| row.parameter == label.text || label.text == format!("{} †", row.parameter))
        })
        .map(|label| label.top)
        .collect();
    assert_eq!(order.len(), 5);
    assert!(order.windows(2).all(|pair| pair[0] < pair[1]));
    let impact = |name: &str| {
        let row = input.rows.iter().find(|row| row.parameter == name).unwrap();
        row.postfit_up.unwrap().abs().max(row.postfit_down.unwrap().abs())
    };
    let first = labels.iter().find(|label| input.rows.iter().any(|row| row.parameter == label.text)).unwrap();
    assert!(input.rows.iter().all(|row| impact(&row.parameter) <= impact(&first.text)));
    assert!(labels.iter().any(|label| label.text.contains("the leading 5 of 12 parameters")));
}

#[test]
fn saving_goes_by_the_extension() {
    let drawing = inputs::scan().draw().unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (name, start) in [("a.svg", "<svg".as_bytes()), ("b.PNG", b"\x89PNG"), ("c.pdf", b"%PDF")] {
        drawing.save(folder.path().join(name)).unwrap();
        assert!(std::fs::read(folder.path().join(name)).unwrap().starts_with(start), "{name}");
    }
    let error = drawing.save(folder.path().join("d.jpeg")).unwrap_err();
    assert!(matches!(&error, PictureError::UnknownExtension { extension: Some(e), .. } if e == "jpeg"));
    assert!(error.to_string().contains(".svg, .png or .pdf"), "{error}");
    assert!(matches!(drawing.save("picture"), Err(PictureError::UnknownExtension { extension: None, .. })));
    let error = drawing.save(folder.path().join("no/such/folder/a.svg")).unwrap_err();
    assert!(matches!(error, PictureError::Write { .. }));
    assert!(error.to_string().contains("no/such/folder does not exist"), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3, "nothing half-written is left");
}

#[test]
fn empty_inputs_say_what_is_missing() {
    let field = |result: Result<Drawing, PictureError>| match result {
        Err(PictureError::Empty { field, .. }) => field,
        other => panic!("{other:?}"),
    };
    assert_eq!(field(Scan::default().draw()), "twice_delta_nll");
    assert_eq!(field(Contour::default().draw()), "x");
    assert_eq!(field(Ranking::default().draw()), "rows");
    assert_eq!(field(Pulls::default().draw()), "rows");
    assert_eq!(field(Correlation::default().draw()), "parameters");
    assert_eq!(field(Limit::default().draw()), "observed");
    assert_eq!(field(LimitCurve::default().draw()), "observed");
    assert_eq!(field(Exclusion::default().draw()), "observed");
    assert_eq!(field(ToyDistribution::default().draw()), "histograms");
    assert_eq!(field(ToyPulls::default().draw()), "rows");
    assert_eq!(field(Yields::default().draw()), "channels");
    let bare = Yields {
        channels: vec![ChannelYields { name: "SR".into(), ..Default::default() }],
        ..Default::default()
    };
    assert_eq!(field(bare.draw()), "channels 'SR', samples");
    let thinned = Correlation { threshold: Some(0.99), ..inputs::correlation(5) };
    let error = thinned.draw().unwrap_err().to_string();
    assert!(error.contains("`threshold` is 0.99, but it has to be smaller"), "{error}");
}

#[test]
fn wrong_shapes_are_named() {
    let mut scan = inputs::scan();
    scan.x.pop();
    assert!(matches!(scan.draw(), Err(PictureError::Length { found: 21, expected: 20, .. })));
    let mut scan = inputs::scan();
    scan.x[4] = scan.x[3];
    assert!(matches!(scan.draw(), Err(PictureError::NotIncreasing { index: 4, .. })));
    let mut yields = inputs::yields(false);
    let sample = SampleYields { name: "short".into(), counts: vec![1.0], ..SampleYields::default() };
    yields.channels[0].samples.push(sample);
    let error = yields.draw().unwrap_err().to_string();
    assert!(error.contains("SR_2l_highmass") && error.contains("'short'") && error.contains("20"), "{error}");
    let limit = Limit { alpha: 1.5, ..inputs::limit(false) };
    assert!(matches!(limit.draw(), Err(PictureError::OutOfRange { .. })));
    let huge = inputs::scan().draw().unwrap().to_png(1e4);
    assert!(matches!(huge, Err(PictureError::TooLarge { .. })));
}

#[test]
fn pictures_travel_through_json() {
    let ranking = inputs::ranking(6, true);
    let text = serde_json::to_string(&ranking).unwrap();
    assert_eq!(serde_json::from_str::<Ranking>(&text).unwrap(), ranking);
    let scan: Scan = serde_json::from_str(
        r#"{"parameter": "mu", "x": [0, 1, 2], "twice_delta_nll": [1.5, null, 2.5], "best_fit": 0.9}"#,
    )
    .unwrap();
    assert_eq!(scan.levels, [1.0, 4.0]);
    let (curve, plane) = (inputs::limit_curve(3), inputs::exclusion(400.0));
    assert_eq!(serde_json::from_str::<LimitCurve>(&serde_json::to_string(&curve).unwrap()).unwrap(), curve);
    assert_eq!(serde_json::from_str::<Exclusion>(&serde_json::to_string(&plane).unwrap()).unwrap(), plane);
    let (toys, pulls) = (inputs::goodness_toys(50), inputs::toy_pulls(12));
    assert_eq!(
        serde_json::from_str::<ToyDistribution>(&serde_json::to_string(&toys).unwrap()).unwrap(),
        toys
    );
    assert_eq!(serde_json::from_str::<ToyPulls>(&serde_json::to_string(&pulls).unwrap()).unwrap(), pulls);
    assert!(scan.draw().unwrap().labels().iter().any(|label| label.text == "fit failed"));
    assert!(serde_json::from_str::<Scan>(r#"{"parametre": "mu"}"#).is_err(), "misspelt fields are errors");
}

#[test]
fn each_channel_has_a_page_of_its_own() {
    let yields = inputs::yields_page();
    let pages = yields.draw_each().unwrap();
    assert_eq!(pages.len(), yields.channels.len());
    for ((name, page), channel) in pages.iter().zip(&yields.channels) {
        assert_eq!(*name, channel.name);
        assert!(page.labels().iter().any(|label| label.text == channel.name));
        assert!(page.width() < yields.draw().unwrap().width());
    }
}
