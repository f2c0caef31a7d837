//! Draws any result in a style.

use ns_viz::{
    Drawing, Impacts, JointRanking, Limit, PictureError, Ranking, ToyDistribution, Unfolded, Yields,
};
use thiserror::Error;

use super::{BlindError, BlindRange, GridPicture, GridPictureError, MOST_RANKED, Scanned, Style, StyleError};
use crate::reread::AnyResult;
use crate::{NOTHING_TO_RANK, RankingResult, YieldsResult};

/// A picture of a result that has several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Pulls and constraints of a fit.
    Pulls,
    /// Correlations of the parameters of a fit.
    Correlation,
    /// Correlations of the parameters of interest of a fit.
    PoiCorrelation,
    /// A ranking with pulls and impacts in one panel.
    Ranking,
    /// Numbered pages of pulls and impacts of a ranking.
    Impacts,
    /// Impacts of the groups of a ranking.
    Groups,
    /// Events of all channels.
    Yields,
    /// All channels with one bin for each.
    Summary,
    /// An unfolded distribution.
    Unfolded,
    /// The strengths of a regularisation that were scanned.
    Strengths,
}

impl Kind {
    const ALL: [Self; 10] = [
        Self::Pulls,
        Self::Correlation,
        Self::PoiCorrelation,
        Self::Ranking,
        Self::Impacts,
        Self::Groups,
        Self::Yields,
        Self::Summary,
        Self::Unfolded,
        Self::Strengths,
    ];

    /// Returns the name of the picture.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pulls => "pulls",
            Self::Correlation => "correlation",
            Self::PoiCorrelation => "poi-correlation",
            Self::Ranking => "ranking",
            Self::Impacts => "impacts",
            Self::Groups => "groups",
            Self::Yields => "yields",
            Self::Summary => "summary",
            Self::Unfolded => "unfolded",
            Self::Strengths => "strengths",
        }
    }

    /// Returns the pictures that a result has if it has several, the usual one first.
    #[must_use]
    pub fn of(result: &AnyResult) -> &'static [Self] {
        match result {
            AnyResult::Fit(_) => &[Self::Pulls, Self::Correlation, Self::PoiCorrelation],
            AnyResult::Ranking(_) => &[Self::Ranking, Self::Impacts, Self::Groups],
            AnyResult::Yields(_) => &[Self::Yields, Self::Summary],
            AnyResult::Unfold(_) => &[Self::Unfolded, Self::Strengths],
            _ => &[],
        }
    }
}

/// What is drawn, and how.
#[derive(Debug, Clone, PartialEq, Default)]
#[allow(clippy::exhaustive_structs)]
pub struct Draw {
    /// Name of the picture of a result that has several. If empty, it is the usual one.
    pub kind: String,
    /// The style.
    pub style: Style,
    /// Labels of a grid, one or two. If empty, they are the labels that vary.
    pub labels: Vec<String>,
    /// Yields before the fit, for a summary.
    pub before: Option<YieldsResult>,
    /// Ranges of observables of single events in which no data are drawn.
    pub blind: Vec<BlindRange>,
}

/// Why a result is not drawn.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DrawError {
    /// The result has no such picture.
    #[error("the result has no picture '{kind}'; it has {known}")]
    NoSuchKind {
        /// Name of the picture.
        kind: String,
        /// Names of the pictures that it has.
        known: String,
    },
    /// The result has nothing to draw.
    #[error("{0}")]
    Nothing(&'static str),
    /// The result has several parameters of interest, and its picture shows one.
    #[error("a picture shows one parameter of interest, and there are {0}; run the command with --poi NAME")]
    SeveralPois(String),
    /// An argument is for another kind of result.
    #[error("{0}")]
    NotFor(&'static str),
    /// The style does not fit the result.
    #[error("style: {0}")]
    Style(#[from] StyleError),
    /// The labels do not fit the grid.
    #[error("{0}")]
    Grid(#[from] GridPictureError),
    /// A range cannot be blinded.
    #[error("{0}")]
    Blind(#[from] BlindError),
    /// The picture cannot be drawn.
    #[error(transparent)]
    Picture(#[from] PictureError),
}

impl Draw {
    /// Draws a result.
    ///
    /// # Errors
    /// [`DrawError`]
    pub fn draw(&self, result: &AnyResult) -> Result<Drawing, DrawError> {
        let kind = self.chosen(result)?;
        let style = &self.style;
        if !self.labels.is_empty() && !matches!(result, AnyResult::Grid(_)) {
            return Err(DrawError::NotFor("labels are for results of grids (upper-limit --patchset)"));
        }
        if self.before.is_some() && kind != Some(Kind::Summary) {
            return Err(DrawError::NotFor("yields before the fit are for the picture 'summary'"));
        }
        Ok(match result {
            AnyResult::Fit(fit) => match kind {
                Some(Kind::Correlation) => {
                    let mut fit = (**fit).clone();
                    style.keep_correlated(&mut fit)?;
                    let matrix = super::correlation(&fit, style.threshold);
                    style.applied(matrix.ok_or(DrawError::Nothing("it has no covariance"))?)?.draw()?
                }
                Some(Kind::PoiCorrelation) => {
                    let nothing = DrawError::Nothing("it has no two parameters of interest");
                    style.applied(super::poi_correlation(fit).ok_or(nothing)?)?.draw()?
                }
                _ => {
                    let mut pulls = super::pulls(fit);
                    if pulls.rows.is_empty() {
                        return Err(DrawError::Nothing(
                            "there are no pulls: no parameter is free, or an earlier version wrote the result",
                        ));
                    }
                    style.keep(&mut pulls.rows, |row| &row.parameter)?;
                    style.sort(&mut pulls.rows);
                    style.applied(pulls)?.draw()?
                }
            },
            AnyResult::Scan(scan) => match super::scan(scan) {
                Scanned::Line(picture) => style.applied(picture)?.draw()?,
                Scanned::Plane(picture) => style.applied(picture)?.draw()?,
            },
            AnyResult::Limit(limit) => {
                let picture = super::limit(limit).ok_or(DrawError::Nothing(
                    "it has no scan; write it with upper-limit --scan-points 41",
                ))?;
                Limit { log_y: style.log, ..style.applied(picture)? }.draw()?
            }
            AnyResult::Grid(grid) => match super::grid(grid, &self.labels)? {
                GridPicture::Curve(picture) => style.applied(picture)?.draw()?,
                GridPicture::Plane(picture) => style.applied(picture)?.draw()?,
            },
            AnyResult::Ranking(ranking) if super::ranking(ranking).rows.is_empty() => {
                return Err(DrawError::Nothing(NOTHING_TO_RANK));
            }
            AnyResult::Ranking(ranking) if kind == Some(Kind::Impacts) => {
                let mut picture = super::impacts(ranking);
                style.keep(&mut picture.rows, |row| &row.parameter)?;
                Impacts { max_rows: style.max_rows, ..style.applied(picture)? }.draw()?
            }
            AnyResult::Ranking(ranking) if kind == Some(Kind::Groups) => {
                let nothing = DrawError::Nothing("it has no groups; write it with ranking --group FILE");
                let mut picture = super::groups(ranking).ok_or(nothing)?;
                style.keep(&mut picture.rows, |row| &row.group)?;
                style.applied(picture)?.draw()?
            }
            AnyResult::Ranking(ranking) => {
                let mut picture = super::ranking(ranking);
                style.keep(&mut picture.rows, |row| &row.parameter)?;
                let max_rows = Some(style.max_rows.unwrap_or(MOST_RANKED));
                Ranking { max_rows, ..style.applied(picture)? }.draw()?
            }
            AnyResult::PerPoi { results, .. } if results.is_empty() => {
                return Err(DrawError::Nothing("the analysis was interrupted before its first result"));
            }
            AnyResult::PerPoi { pois, results } => {
                let rankings: Option<Vec<RankingResult>> = results
                    .iter()
                    .map(|result| match result {
                        AnyResult::Ranking(ranking) => Some(ranking.clone()),
                        _ => None,
                    })
                    .collect();
                let rankings = rankings.ok_or_else(|| DrawError::SeveralPois(pois.join(", ")))?;
                let mut picture = super::joint_ranking(&rankings);
                style.keep(&mut picture.rows, |row| &row.parameter)?;
                let max_rows = Some(style.max_rows.unwrap_or(MOST_RANKED));
                JointRanking { max_rows, ..style.applied(picture)? }.draw()?
            }
            AnyResult::Yields(yields) => self.events(yields, kind)?.0.draw()?,
            AnyResult::HypotestToys(result) => self.toys(super::toy_test(result), true)?,
            AnyResult::Goodness(result) => self.toys(super::goodness(result), false)?,
            AnyResult::EventGoodness(result) => self.toys(super::event_goodness(result), false)?,
            AnyResult::Toys(result) => {
                let mut picture = super::toy_pulls(result);
                style.keep(&mut picture.rows, |row| &row.parameter)?;
                style.applied(picture)?.draw()?
            }
            AnyResult::Injection(result) => style.applied(super::injection(result))?.draw()?,
            AnyResult::Interval(result) => {
                let nothing =
                    "an interval without toys has no picture; find it with toys (interval --toys N)";
                style.applied(super::interval(result).ok_or(DrawError::Nothing(nothing))?)?.draw()?
            }
            AnyResult::LookElsewhere(result) => style.applied(super::look_elsewhere(result))?.draw()?,
            AnyResult::Region(result) => style.applied(super::region(result))?.draw()?,
            AnyResult::Compatibility(result) => style.applied(super::compatibility(result))?.draw()?,
            AnyResult::Spurious(result) => style.applied(super::spurious(result))?.draw()?,
            AnyResult::Unfold(result) if kind == Some(Kind::Strengths) => {
                let nothing = "no strengths were scanned; unfold with --tau l-curve or correlation";
                style.applied(super::strengths(result).ok_or(DrawError::Nothing(nothing))?)?.draw()?
            }
            AnyResult::Unfold(result) => {
                Unfolded { log_y: style.log, ..style.applied(super::unfolded(result))? }.draw()?
            }
            AnyResult::Hypotest(_) | AnyResult::Significance(_) => {
                return Err(DrawError::Nothing(
                    "the result of a single test is a few numbers, without a picture",
                ));
            }
            AnyResult::Simplify(_) => {
                return Err(DrawError::Nothing("a simplified likelihood has no picture; fit its workspace"));
            }
        })
    }

    /// Draws each channel of yields as a picture of its own. Returns the pictures with the names of the channels.
    ///
    /// # Errors
    /// [`DrawError`], also for all other pictures.
    pub fn draw_each(&self, result: &AnyResult) -> Result<Vec<(String, Drawing)>, DrawError> {
        match (result, self.chosen(result)?) {
            (AnyResult::Yields(yields), Some(Kind::Yields)) => {
                let (picture, names) = self.events(yields, Some(Kind::Yields))?;
                let drawings = picture.draw_each()?.into_iter().map(|(_, drawing)| drawing);
                Ok(names.into_iter().zip(drawings).collect())
            }
            _ => Err(DrawError::NotFor("{channel} is for the picture 'yields'; name one file")),
        }
    }

    /// Returns the picture of yields, and the names of its channels.
    fn events(&self, yields: &YieldsResult, kind: Option<Kind>) -> Result<(Yields, Vec<String>), DrawError> {
        let style = &self.style;
        let mut yields = yields.clone();
        style.keep(&mut yields.channels, |channel| &channel.name)?;
        let names = yields.channels.iter().map(|channel| channel.name.clone()).collect();
        let picture = match kind {
            Some(Kind::Summary) => style.summary(yields, self.before.as_ref())?,
            _ => {
                let mut picture = super::yields(&yields);
                for range in &self.blind {
                    super::blind(&mut picture, range)?;
                }
                style.shape(picture)?
            }
        };
        Ok((style.applied(picture)?, names))
    }

    fn chosen(&self, result: &AnyResult) -> Result<Option<Kind>, DrawError> {
        let all = Kind::of(result);
        if self.kind.is_empty() {
            return Ok(all.first().copied());
        }
        let asked = Kind::ALL.into_iter().find(|kind| kind.name() == self.kind);
        if let Some(kind) = asked.filter(|kind| all.contains(kind)) {
            return Ok(Some(kind));
        }
        let names: Vec<&str> = all.iter().map(|kind| kind.name()).collect();
        let known =
            if names.is_empty() { "one picture, without a name".to_owned() } else { names.join(", ") };
        Err(DrawError::NoSuchKind { kind: self.kind.clone(), known })
    }

    /// Draws the distribution of a statistic in toys. `log` says whether its axis is logarithmic without a style.
    fn toys(&self, picture: ToyDistribution, log: bool) -> Result<Drawing, DrawError> {
        if picture.histograms.is_empty() {
            return Err(DrawError::Nothing(
                "it has no toys to draw: the analysis ran without toys, or an earlier version wrote the result",
            ));
        }
        Ok(ToyDistribution { log_y: log || self.style.log, ..self.style.applied(picture)? }.draw()?)
    }
}
