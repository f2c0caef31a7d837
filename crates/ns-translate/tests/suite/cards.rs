//! Tests what models of datacards contain: names, order, effects and conventions of Combine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::Write as _;
use std::path::Path;

use ns_core::{Constraint, Effect, Model, Parameter, Sample, Value, function_values};
use ns_translate::datacard::{Card, CardOptions, McStats};
use proptest::prelude::*;

/// A card with two channels, whose lines after the rates are given.
fn card(lines: &str) -> String {
    format!(
        "imax *\njmax *\nkmax *\n\
         bin b2 b1\nobservation 7 12\n\
         bin      b1  b1  b2  b2\n\
         process  0   1   0   1\n\
         process  sig bkg sig bkg\n\
         rate     3   8   1   6\n{lines}"
    )
}

fn read(lines: &str) -> Model {
    read_with(lines, &CardOptions::default())
}

fn read_with(lines: &str, options: &CardOptions) -> Model {
    let text = card(lines);
    Card::from_text(text.as_bytes(), "card.txt", options)
        .and_then(|card| card.model())
        .unwrap_or_else(|e| panic!("{e}"))
}

fn parameter<'m>(model: &'m Model, name: &str) -> &'m Parameter {
    &model.parameters[model.parameter_index(name).unwrap_or_else(|| panic!("no {name}"))]
}

fn sample<'m>(model: &'m Model, channel: &str, process: &str) -> &'m Sample {
    let channel = model.channels.iter().find(|c| c.name == channel).unwrap();
    channel.samples.iter().find(|s| s.name == process).unwrap()
}

/// Returns the factors of a parameter on a process.
fn factors(model: &Model, channel: &str, process: &str, name: &str) -> Option<(f64, f64)> {
    let first = model.parameter_index(name)?;
    sample(model, channel, process).modifiers.iter().find_map(|m| match m.effect {
        Effect::NormSys { lo, hi } if m.first == first => Some((lo, hi)),
        _ => None,
    })
}

fn names(model: &Model) -> Vec<&str> {
    model.parameters.iter().map(|p| p.name.as_str()).collect()
}

#[test]
fn parameters_are_in_the_order_of_the_card() {
    let model = read("xs lnN 1.1 - 1.2 -\nn rateParam b* bkg 1 [0,5]\nlumi lnN 1.02 1.02 1.02 1.02\n");
    assert_eq!(names(&model), ["r", "xs", "lumi", "n"]);
    assert_eq!(model.channels.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(), ["b1", "b2"]);
    assert_eq!(model.observed.main, [12.0, 7.0]);
    assert_eq!(model.observed.aux, [0.0, 0.0]);
    let r = parameter(&model, "r");
    assert_eq!((r.init, r.bounds, r.fixed, r.constraint), (1.0, (0.0, 20.0), false, Constraint::None));
    assert_eq!(model.poi(), Some(0));
    assert_eq!(parameter(&model, "xs").bounds, (-7.0, 7.0));
    assert_eq!(parameter(&model, "n").bounds, (0.0, 5.0));
    assert_eq!(factors(&model, "b2", "sig", "xs"), Some((1.0 / 1.2, 1.2)));
    assert_eq!(factors(&model, "b1", "bkg", "xs"), None);
}

#[test]
fn lines_of_one_name_multiply() {
    let model = read("a lnN 1.1 - - -\na lnN 0.9/1.2 - - 1.3\n");
    assert_eq!(factors(&model, "b1", "sig", "a"), Some((1.0 / 1.1 * 0.9, 1.1 * 1.2)));
    assert_eq!(factors(&model, "b2", "bkg", "a"), Some((1.0 / 1.3, 1.3)));
}

#[test]
fn values_without_effect_make_no_parameter() {
    assert_eq!(names(&read("a lnN 1.0 - 0 --\nb lnN 1/1 - - -\n")), ["r"]);
}

#[test]
fn sidebands_have_a_poisson_constraint() {
    let model = read("side gmN 16 - 0.5 - -\nempty gmN 0 - - 1.2 -\n");
    let side = parameter(&model, "side");
    assert!(matches!(side.constraint, Constraint::Poisson { tau: 16.0, aux: 0 }), "{side:?}");
    assert_eq!(side.init, 1.0);
    assert_eq!(model.observed.aux[0], 16.0);
    assert_eq!(sample(&model, "b1", "bkg").nominal, [8.0]);
    let empty = parameter(&model, "empty");
    assert!(matches!(empty.constraint, Constraint::Poisson { tau: 1.0, aux: 1 }) && empty.bounds.0 == 0.0);
    assert_eq!((sample(&model, "b2", "sig").nominal[0], model.observed.aux[1]), (1.2, 0.0));
}

#[test]
fn uniform_parameters_are_free_between_their_bounds() {
    let model = read("u lnU 1.5 - - -\n");
    let u = parameter(&model, "u");
    assert_eq!((u.bounds, u.constraint), ((-1.0, 1.0), Constraint::None));
}

#[test]
fn a_param_constrains_a_factor() {
    let model = read("n rateParam b1 bkg 1\nn param 1.2 0.1 [0.5,2]\nl param 0 2\nl lnN 1.1 - - -\n");
    let n = parameter(&model, "n");
    assert_eq!((n.init, n.bounds), (1.2, (0.5, 2.0)));
    assert!(matches!(n.constraint, Constraint::Gaussian { sigma: 0.1, .. }));
    assert!(matches!(parameter(&model, "l").constraint, Constraint::Gaussian { sigma: 2.0, .. }));
}

#[test]
fn frozen_parameters_are_fixed() {
    let model =
        read("a[nofloat] lnN 1.1 - - -\nb lnN 1.1 - - -\nn rateParam b1 bkg 1\nnuisance edit freeze [bn]\n");
    // The pattern finds the rateParam, so that it is not looked for among the others.
    assert!(parameter(&model, "a").fixed && parameter(&model, "n").fixed && !parameter(&model, "b").fixed);
}

#[test]
fn edits_change_the_lines_above() {
    let model = read(
        "a lnN 1.1 1.1 1.1 1.1\nb lnN 1.2 - - -\nc lnN 0.9/1.2 - - -\n\
         nuisance edit drop sig b1 a\n\
         nuisance edit add bkg .* b lnN 1.3\n\
         nuisance edit rename bkg b2 a a2\n\
         nuisance edit changepdf c lnU\n\
         nuisance edit add sig b1 b lnN 1.1 addq\n",
    );
    assert_eq!(factors(&model, "b1", "sig", "a"), None);
    assert_eq!(factors(&model, "b2", "bkg", "b"), Some((1.0 / 1.3, 1.3)));
    assert_eq!(factors(&model, "b2", "bkg", "a"), None);
    assert_eq!(factors(&model, "b2", "bkg", "a2"), Some((1.0 / 1.1, 1.1)));
    assert_eq!(parameter(&model, "c").constraint, Constraint::None);
    let (_, sum) = factors(&model, "b1", "sig", "b").unwrap();
    assert!((sum.ln() - 1.2_f64.ln().hypot(1.1_f64.ln())).abs() < 1e-12);

    let model = read(
        "a lnN 1.1 - - -\nb lnN 1.2 - - -\nnuisance edit merge sig b1 a b\nnuisance edit flip * * a p2n\n",
    );
    assert_eq!(names(&model), ["r", "a"]);
    let (_, hi) = factors(&model, "b1", "sig", "a").unwrap();
    assert!((hi.ln() + 1.2_f64.ln().hypot(1.1_f64.ln())).abs() < 1e-12);

    let model = read("a lnN 1.1 - - -\nnuisance edit split * * a x y 1.05 1.06\n");
    assert_eq!(names(&model), ["r", "x", "y"]);
}

#[test]
fn renaming_what_is_not_there_is_a_warning_if_the_card_says_so() {
    let of = |edit: &str| {
        let text = card(&format!("a lnN 1.1 - - -\nnuisance edit rename {edit}\n"));
        Card::from_text(text.as_bytes(), "card.txt", &CardOptions::default())
    };
    let read = of("sig b9 a x ifexists").unwrap();
    assert_eq!(names(&read.model().unwrap()), ["r", "a"]);
    assert!(read.reading_warnings().iter().any(|w| w.message.contains("finds no column")));
    assert!(of("sig b9 a x").unwrap_err().to_string().contains("add the option ifexists"));
    // Combine needs the parameter in any case.
    assert!(of("sig b1 b x ifexists").unwrap_err().to_string().contains("finds no systematic uncertainty"));
}

#[test]
fn a_missing_observation_is_told_with_its_line() {
    let text = card("").replace("observation 7 12", "observation 7 -1");
    let error = Card::from_text(text.as_bytes(), "card.txt", &CardOptions::default())
        .and_then(|card| card.model())
        .unwrap_err()
        .to_string();
    assert!(error.contains("card.txt:5: The observation of channel 'b1' is -1"), "{error}");
}

#[test]
fn maps_choose_the_parameters_of_interest() {
    let maps = ["b1/sig:r1[2,-1,3]", "b2/.*:r2", "b2/bkg:1"];
    let options = CardOptions {
        maps: maps.iter().map(|map| map.parse().unwrap()).collect(),
        pois: vec!["r2".to_owned()],
        ..CardOptions::default()
    };
    let model = read_with("", &options);
    assert_eq!(names(&model), ["r1", "r2"]);
    assert_eq!(parameter(&model, "r1").bounds, (-1.0, 3.0));
    assert_eq!(parameter(&model, "r2").bounds, (0.0, 20.0));
    assert_eq!(model.poi(), Some(1));
    assert!(sample(&model, "b2", "bkg").modifiers.is_empty());
    assert_eq!(sample(&model, "b2", "sig").modifiers.len(), 1);
}

#[test]
fn masked_channels_take_their_parameters_with_them() {
    let options = CardOptions { masks: vec!["b1".to_owned()], ..CardOptions::default() };
    let model = read_with("a lnN 1.1 - - -\nb lnN - - 1.1 -\n", &options);
    assert_eq!(names(&model), ["r", "b"]);
    assert_eq!(model.channels.len(), 1);
}

#[test]
fn comments_and_further_text_are_left_out() {
    let model = read("# nothing\n-----\na lnN 1.1 - - - of the signal # a comment\n1b lnN 1.1 - - -\n");
    assert_eq!(names(&model), ["r", "a", "theta1b"]);
    assert!(model.warnings.is_empty());
}

#[test]
fn compressed_cards_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("card.txt.gz");
    let mut file =
        flate2::write::GzEncoder::new(std::fs::File::create(&path).unwrap(), flate2::Compression::fast());
    file.write_all(card("").as_bytes()).unwrap();
    file.finish().unwrap();
    let model = Card::read(&path, &CardOptions::default()).unwrap().model().unwrap();
    assert_eq!(model.observed.main, [12.0, 7.0]);
}

#[test]
fn cards_are_put_together() {
    let options = CardOptions::default();
    let read = |text: &str| Card::from_text(text.as_bytes(), "card.txt", &options).unwrap();
    let two = read(&card("lumi lnN 1.02 1.02 1.02 1.02\nown lnN - 1.1 - -\ng group = lumi\n"));
    let one = read(
        "bin x\nobservation 3\nbin x x\nprocess sig other\nprocess 0 1\nrate 1 2\nlumi lnN 1.03 -\ng group = lumi\n",
    );
    let whole = Card::combine(vec![("left".to_owned(), two.clone()), (String::new(), one)]).unwrap();
    assert_eq!(whole.channel_names(), ["left_b2", "left_b1", "ch2"]);
    assert_eq!(whole.groups(), [("g", vec!["lumi"])]);
    let model = whole.model().unwrap();
    assert_eq!(names(&model), ["r", "lumi", "own"]);
    assert_eq!(factors(&model, "ch2", "sig", "lumi"), Some((1.0 / 1.03, 1.03)));
    assert_eq!(factors(&model, "left_b1", "bkg", "lumi"), Some((1.0 / 1.02, 1.02)));

    let other = read("bin x\nobservation 3\nbin x x\nprocess sig bkg\nprocess 1 0\nrate 1 2\n");
    let error =
        Card::combine(vec![("a".to_owned(), two), ("a_b1".to_owned(), other)]).unwrap_err().to_string();
    assert!(error.contains("Two channels would have the name 'a_b1'"), "{error}");
    assert!(error.contains("Process 'sig' is a signal in one card"), "{error}");
}

/// Writes a table of templates. Returns the card of one channel that uses it.
fn with_table(folder: &std::path::Path, lines: &str) -> std::path::PathBuf {
    let mut table = "channel,process,systematic,bin,sum_w,sum_ww\n".to_owned();
    for (name, values) in [
        ("data_obs,nominal", [5.0, 9.0]),
        ("sig,nominal", [1.0, 3.0]),
        ("bkg,nominal", [4.0, 6.0]),
        ("bkg,sUp", [5.0, 6.0]),
        ("bkg,sDown", [3.5, 6.0]),
        ("sig,tinyUp", [1.002, 3.001]),
        ("sig,tinyDown", [0.999, 2.999]),
    ] {
        for (bin, value) in values.iter().enumerate() {
            table.push_str(&format!("b1,{name},{bin},{value},{}\n", 0.01 * value));
        }
    }
    std::fs::write(folder.join("t.csv"), table).unwrap();
    let path = folder.join("card.txt");
    let text = format!(
        "shapes * * t.csv $CHANNEL:$PROCESS $CHANNEL:$PROCESS:$SYSTEMATIC\n\
         bin b1\nobservation -1\nbin b1 b1\nprocess sig bkg\nprocess 0 1\nrate 8 -1\n{lines}"
    );
    std::fs::write(&path, text.replace("rate 8", "rate 4.03")).unwrap();
    path
}

#[test]
fn shapes_are_templates_of_the_nominal_integral_and_a_normalisation() {
    let folder = tempfile::tempdir().unwrap();
    let path = with_table(folder.path(), "s shape - 0.5\ntiny shape 1 -\nm shape? 1.2 1.3\n");
    let model = Card::read(path, &CardOptions::default()).unwrap().model().unwrap();
    assert_eq!(names(&model), ["r", "s", "tiny", "m"]);
    assert_eq!(parameter(&model, "s").bounds, (-4.0, 4.0));
    assert_eq!(parameter(&model, "m").bounds, (-7.0, 7.0));
    let close = |a: f64, b: f64| (a - b).abs() < 1e-7;
    let background = sample(&model, "b1", "bkg");
    let templates = background.modifiers.iter().find_map(|m| match &m.effect {
        Effect::HistoSys { lo, hi } => Some((lo, hi)),
        _ => None,
    });
    let (lo, hi) = templates.unwrap();
    assert!(close(hi[0], 4.0 + 0.5 * (50.0 / 11.0 - 4.0)), "{hi:?}");
    assert!(close(lo[0], 4.0 + 0.5 * (35.0 / 9.5 - 4.0)), "{lo:?}");
    // Kappas are rounded to six decimals.
    assert_eq!(factors(&model, "b1", "bkg", "s"), Some((0.974_679, 1.048_809)));
    assert_eq!(factors(&model, "b1", "sig", "tiny"), None);
    assert_eq!(factors(&model, "b1", "sig", "m"), Some((1.0 / 1.2, 1.2)));
    let signal = &sample(&model, "b1", "sig").nominal;
    assert!(close(signal[0], 4.03 / 4.0) && close(signal[1], 3.0 * 4.03 / 4.0), "{signal:?}");
}

#[test]
fn mc_statistics_are_factors_of_the_backgrounds() {
    let folder = tempfile::tempdir().unwrap();
    let path = with_table(folder.path(), "s shape - 1\n* autoMCStats 10\n");
    let options = CardOptions { mc_stats: McStats::StatError, ..CardOptions::default() };
    let model = Card::read(&path, &options).unwrap().model().unwrap();
    assert_eq!(names(&model), ["r", "s", "prop_binb1[0]", "prop_binb1[1]"]);
    let Constraint::Gaussian { sigma, .. } = parameter(&model, "prop_binb1[0]").constraint else {
        panic!("free")
    };
    assert!((sigma - (0.01_f64 * 4.0).sqrt() / 4.0).abs() < 1e-12);
    // Templates of channels with such a line are not scaled to the rate.
    assert_eq!(sample(&model, "b1", "sig").nominal, [1.0, 3.0]);

    let text = std::fs::read_to_string(&path).unwrap();
    let ignored = CardOptions { mc_stats: McStats::Ignore, ..CardOptions::default() };
    assert_eq!(names(&Card::read(&path, &ignored).unwrap().model().unwrap()), ["r", "s"]);
    assert!(text.contains("autoMCStats"));

    // A negative threshold means no such parameters.
    let path = with_table(folder.path(), "* autoMCStats -1\n");
    let model = Card::read(path, &CardOptions::default()).unwrap().model().unwrap();
    assert_eq!(names(&model), ["r"]);
}

/// Returns the names of the parameters that an `autoMCStats` line adds.
fn added(line: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = with_table(folder.path(), line);
    let model = Card::read(&path, &CardOptions::default()).unwrap().model().unwrap();
    names(&model).iter().filter(|name| name.starts_with("prop_")).map(|name| (*name).to_owned()).collect()
}

#[test]
fn mc_statistics_are_those_of_combine() {
    // The backgrounds have 4 and 6 events with variances of a hundredth of that: 400 and 600 effective events.
    assert_eq!(
        added("* autoMCStats 400"),
        ["prop_binb1_bin0", "prop_binb1_bin1", "prop_binb1_bin0_sig", "prop_binb1_bin0_bkg"]
    );
    assert_eq!(added("* autoMCStats 10"), ["prop_binb1_bin0", "prop_binb1_bin1"]);
    // With signals there are 500 and 900.
    assert_eq!(added("* autoMCStats 450 1"), ["prop_binb1_bin0", "prop_binb1_bin1"]);

    let folder = tempfile::tempdir().unwrap();
    let path = with_table(folder.path(), "lumi lnN 1.1 1.1\nx lnN - 1.2\n* autoMCStats 500\n");
    let model = Card::read(&path, &CardOptions::default()).unwrap().model().unwrap();
    let poisson = parameter(&model, "prop_binb1_bin0_bkg");
    assert!(matches!(poisson.constraint, Constraint::Poisson { tau, .. } if tau == 400.0), "{poisson:?}");
    // The uncertainty of the other bin follows the norms; what both processes share is a factor of the sample.
    let extra = sample(&model, "b1", "autoMCStats");
    assert_eq!(extra.nominal, [0.0, 1.0]);
    let kinds: Vec<&str> = extra.modifiers.iter().map(|m| m.effect.type_name()).collect();
    assert_eq!(kinds, ["normsys", "staterror", "function"]);
    assert!(parameter(&model, "prop_binb1_bin0").fixed);
    let Some(&[Value::Number(none), Value::Function(own)]) = extra.modifiers[2].function() else {
        panic!("{:?}", extra.modifiers[2])
    };
    let mut point: Vec<f64> = model.parameters.iter().map(|p| p.init).collect();
    point[model.parameter_index("r").unwrap()] = 2.0;
    point[model.parameter_index("x").unwrap()] = 1.0;
    let found = function_values(&model.functions, &point)[own];
    let expected = (4.0 * 0.03 + 1.44 * 0.06_f64).sqrt();
    assert!(none == 0.0 && (found - expected).abs() < 1e-12, "{found} {expected}");
}

#[test]
fn cards_put_together_are_written_as_a_card() {
    let folder = tempfile::tempdir().unwrap();
    let path = with_table(
        folder.path(),
        "s shape - 1\nt lnN 1.1 0.9/1.2\nnuisance edit rename sig b1 s S\nn rateParam b1 bkg 1 [0,5]\n\
         f rateParam b1 sig (@0*2) n\ng group = s t\np param 1 0.5\n* autoMCStats 10 1 2\nnuisance edit freeze t\n",
    );
    let options = CardOptions::default();
    let read = |path: &Path| Card::read(path, &options).unwrap();
    let both = Card::combine(vec![("one".to_owned(), read(&path)), ("two".to_owned(), read(&path))]).unwrap();
    let below = folder.path().join("below");
    std::fs::create_dir(&below).unwrap();
    std::fs::write(below.join("card.txt"), both.to_text(&below)).unwrap();
    let again = read(&below.join("card.txt"));
    let (wanted, found) = (both.model().unwrap(), again.model().unwrap());
    assert_eq!(found.channels, wanted.channels);
    assert_eq!(found.parameters, wanted.parameters);
    assert_eq!(found.functions, wanted.functions);
    assert_eq!(again.groups(), both.groups());
    assert!(again.to_text(&below).lines().skip(1).eq(both.to_text(&below).lines().skip(1)));
}

#[test]
fn the_closest_shapes_line_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let path = with_table(folder.path(), "");
    let text = std::fs::read_to_string(&path).unwrap();
    let line =
        "shapes sig * t.csv no:thing\nshapes s* b1 t.csv no:thing\nshapes * b1 t.csv $CHANNEL:$PROCESS\n";
    std::fs::write(&path, format!("{line}shapes sig b1 t.csv b1:sig\n{text}")).unwrap();
    let model = Card::read(path, &CardOptions::default()).unwrap().model().unwrap();
    assert_eq!(sample(&model, "b1", "bkg").nominal.len(), 2);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in any::<Vec<u8>>()) {
        let _ = Card::from_text(&text, "card.txt", &CardOptions::default()).and_then(|card| card.model());
    }

    #[test]
    fn any_lines_are_read_or_refused(lines in proptest::collection::vec(
        "(a|b|nuisance|\\*|b1|[a-z0-9\\[\\]*]{1,4}) (lnN|lnU|gmN|shape|shape\\?|shapeU|param|flatParam|rateParam|group|autoMCStats|edit)( (1\\.1|0\\.9/1\\.1|-|0|5|-1|1e300|1e-320|\\[0,2\\]|b1|b\\*|sig|\\*|=|\\+=|a|add|drop|rename|changepdf|freeze|flip|merge|split|lnN|p2n|addq|[!-~]{1,3})){0,8}",
        0..8,
    )) {
        let text = card(&lines.join("\n"));
        let options = CardOptions { mc_stats: McStats::StatError, ..CardOptions::default() };
        if let Ok(model) = Card::from_text(text.as_bytes(), "card.txt", &options).and_then(|card| card.model()) {
            let n = model.parameters.len();
            for modifier in model.channels.iter().flat_map(|c| &c.samples).flat_map(|s| &s.modifiers) {
                prop_assert!(modifier.first < n);
                if let Effect::NormSys { lo, hi } = modifier.effect {
                    prop_assert!(lo > 0.0 && hi > 0.0 && lo.is_finite() && hi.is_finite(), "{lo} {hi}");
                }
            }
            prop_assert!(model.parameters.iter().all(|p| p.bounds.0 <= p.init && p.init <= p.bounds.1));
        }
    }

    #[test]
    fn any_header_is_read_or_refused(lines in proptest::collection::vec(
        "(imax|jmax|kmax|shapes|bin|observation|process|rate|[a-z]{1,3})( (\\*|1|-1|0|b1|b2|sig|bkg|FAKE|2\\.5|[!-~]{1,3})){0,5}",
        0..12,
    )) {
        let text = lines.join("\n");
        let _ = Card::from_text(text.as_bytes(), "card.txt", &CardOptions::default()).and_then(|card| card.model());
    }
}
