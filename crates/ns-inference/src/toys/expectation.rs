//! Draws toys from given expected data. The model need not be able to describe these data exactly.

use ns_core::random::{Normal, Poisson};
use ns_core::{AuxiliarySource, Constraint, Model, SessionError, ToySource};

use super::STUDY_HYPOTHESIS;

/// Builds the source of toys with given expected data, i.e. the distributions from which these toys are drawn. Main
/// counts have Poisson distributions with the means `main`. Auxiliary data are distributed around `aux` with the widths
/// of their constraints. If `aux` is `None`, the observed auxiliary data are used. `seed` is the seed of the random
/// numbers.
///
/// # Errors
/// If the model has event channels, a length does not fit the model, an expected value is not finite, or a Poisson mean
/// is negative or above 1e15.
pub fn source_of_expectation(
    model: &Model,
    main: &[f64],
    aux: Option<&[f64]>,
    seed: u64,
) -> Result<ToySource, SessionError> {
    let length = |what, actual: usize, expected: usize| {
        if actual == expected { Ok(()) } else { Err(SessionError::WrongLength { what, actual, expected }) }
    };
    if !model.event_channels.is_empty() {
        let remedy = "expected counts say nothing about events: draw toys at values of the parameters";
        return Err(SessionError::ForeignData { remedy });
    }
    let aux = aux.unwrap_or(&model.observed.aux);
    length("the expected main data", main.len(), model.n_bins())?;
    length("the expected auxiliary data", aux.len(), model.observed.aux.len())?;
    let poisson =
        |what, index, mean| Poisson::new(mean).map_err(|_| SessionError::BadMean { what, index, mean });
    let counts = main
        .iter()
        .enumerate()
        .map(|(b, mean)| poisson("expected main data", b, *mean))
        .collect::<Result<_, _>>()?;
    // Auxiliary data that belong to no parameter keep their value. (No model has such data today.)
    let mut sigmas: Vec<Option<f64>> = vec![Some(0.0); aux.len()];
    for constraint in model.parameters.iter().map(|p| p.constraint) {
        let (index, sigma) = match constraint {
            Constraint::None => continue,
            Constraint::Gaussian { sigma, aux } => (aux, Some(sigma)),
            Constraint::Poisson { aux, .. } => (aux, None),
        };
        if let Some(place) = sigmas.get_mut(index) {
            *place = sigma;
        }
    }
    let mut auxiliary = Vec::with_capacity(aux.len());
    for (index, (mean, sigma)) in aux.iter().zip(sigmas).enumerate() {
        auxiliary.push(match sigma {
            None => AuxiliarySource::Poisson(poisson("expected auxiliary data", index, *mean)?),
            Some(sigma) => AuxiliarySource::Gaussian(Normal::new(*mean, sigma).map_err(|_| {
                let (what, remedy) =
                    ("expected auxiliary data", "give finite numbers; widths of constraints are finite too");
                SessionError::BadNumber { what, index, value: *mean, remedy }
            })?),
        });
    }
    let parameters = model.parameters.iter().map(|p| p.init).collect();
    Ok(ToySource {
        seed,
        hypothesis: STUDY_HYPOTHESIS,
        parameters,
        main: counts,
        auxiliary,
        joint: model.joint_sources(),
        events: Vec::new(),
    })
}
