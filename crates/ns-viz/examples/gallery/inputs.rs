//! Invented data for pictures, used by the gallery and by tests. Some of the data look like those of real
//! analyses. Others are hard to draw.

#[path = "dice.rs"]
mod dice;
#[path = "effects.rs"]
mod effects;
#[path = "fits.rs"]
mod fits;
#[path = "hard.rs"]
mod hard;
#[path = "limits.rs"]
mod limits;
#[path = "planes.rs"]
mod planes;
#[path = "toys.rs"]
mod toys;
#[path = "unfolding.rs"]
mod unfolding;
#[path = "yields.rs"]
mod yields;

use ns_viz::{Drawing, PictureError};

// Only tests use it.
#[allow(unused_imports)]
pub(crate) use dice::long_name;
pub(crate) use fits::{contour, correlation, pulls, ranking, scan};
pub(crate) use hard::hard;
pub(crate) use limits::{confidence, exclusion, limit, limit_curve};
pub(crate) use toys::{goodness_toys, linearity, toy_distribution, toy_pulls};
pub(crate) use yields::{channels, diphoton, diphoton_blinded, yields, yields_page};

/// Returns the pictures of the documentation with their names. There is at least one picture of each kind.
pub(crate) fn typical() -> Vec<(String, Result<Drawing, PictureError>)> {
    vec![
        ("scan".into(), scan().draw()),
        ("contour".into(), contour(21).draw()),
        ("ranking".into(), ranking(20, false).draw()),
        ("pulls".into(), pulls(24).draw()),
        ("correlation".into(), correlation(12).draw()),
        ("confidence".into(), confidence().draw()),
        ("region".into(), planes::region().draw()),
        ("corner".into(), planes::corner(4).draw()),
        ("places".into(), planes::places().draw()),
        ("spurious".into(), planes::spurious().draw()),
        ("channels".into(), channels(6).draw()),
        ("linearity".into(), linearity().draw()),
        ("unfolded".into(), unfolding::unfolded().draw()),
        ("strengths".into(), unfolding::strengths().draw()),
        ("limit".into(), limit(false).draw()),
        ("limit-curve".into(), limit_curve(13).draw()),
        ("exclusion".into(), exclusion(100.0).draw()),
        ("toys".into(), toy_distribution(10_000).draw()),
        ("goodness".into(), goodness_toys(2000).draw()),
        ("toy-pulls".into(), toy_pulls(24).draw()),
        ("templates".into(), effects::templates().draw()),
        ("impacts".into(), effects::impacts(20).draw()),
        ("groups".into(), effects::groups().draw()),
        ("pruning".into(), effects::pruning(14).draw()),
        ("summary".into(), effects::summary(8).draw()),
        ("latex".into(), effects::marked().draw()),
        ("yields".into(), yields(false).draw()),
        ("yields-page".into(), yields_page().draw()),
        ("events".into(), diphoton().draw()),
        ("events-blinded".into(), diphoton_blinded().draw()),
    ]
}
