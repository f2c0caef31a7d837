//! Groups parameters into waves. A wave is a set of parameters that are shifted together in one evaluation of the
//! yields. Parameters that act on single bins may be in the same wave if they do not shift the same bin. A model with
//! one parameter for each of 20 000 bins then needs a few evaluations instead of 40 000.

use ns_core::Model;

/// Number of recent waves (sets of parameters that are shifted together) that are tried for a parameter. If the
/// parameter fits into none of them, it begins a new wave.
const MOST_TRIED: usize = 8;

/// Parameters that are shifted together. Each parameter is given by its position in the list of varied parameters.
pub(super) enum Wave {
    /// A single parameter that may shift any bin.
    Alone(usize),
    /// Several parameters. The second list has one entry per bin of the model: the parameter that shifts this bin, or
    /// `None`.
    Together(Vec<usize>, Vec<Option<usize>>),
}

impl Wave {
    /// Returns the parameters of the wave, by their positions in the list of varied parameters.
    pub(super) fn members(&self) -> &[usize] {
        match self {
            Self::Alone(position) => std::slice::from_ref(position),
            Self::Together(members, _) => members,
        }
    }

    /// Returns the parameter of the wave that shifts the bin `bin`, as a position in the list of varied parameters;
    /// `None` if there is none. A parameter that is alone in its wave is returned for every bin.
    pub(super) fn mover(&self, bin: usize) -> Option<usize> {
        match self {
            Self::Alone(position) => Some(*position),
            Self::Together(_, movers) => movers.get(bin).copied().flatten(),
        }
    }
}

/// A wave under construction: its parameters, and for each bin of the model the parameter that shifts this bin, or
/// `None`.
type Group = (Vec<usize>, Vec<Option<usize>>);

/// Distributes the varied parameters over waves, i.e. sets of parameters that are shifted together. `varied` has the
/// index and the uncertainty of each parameter.
pub(super) fn waves(model: &Model, varied: &[(usize, f64)]) -> Vec<Wave> {
    let bins = bins_of(model);
    let mut alone: Vec<Wave> = Vec::new();
    let mut together: Vec<Group> = Vec::new();
    for (position, &(parameter, _)) in varied.iter().enumerate() {
        let Some(own) = bins.get(parameter).and_then(Option::as_ref) else {
            alone.push(Wave::Alone(position));
            continue;
        };
        let leaves =
            |movers: &[Option<usize>]| own.iter().all(|bin| movers.get(*bin).is_some_and(Option::is_none));
        let first = together.len().saturating_sub(MOST_TRIED);
        let place = together.iter().skip(first).position(|(_, movers)| leaves(movers)).map(|at| first + at);
        let place = place.unwrap_or_else(|| {
            together.push((Vec::new(), vec![None; model.n_bins()]));
            together.len() - 1
        });
        if let Some((members, movers)) = together.get_mut(place) {
            members.push(position);
            for bin in own {
                if let Some(mover) = movers.get_mut(*bin) {
                    *mover = Some(position);
                }
            }
        }
    }
    alone.extend(together.into_iter().map(|(members, movers)| Wave::Together(members, movers)));
    alone
}

/// Returns one entry per parameter: the list of bins on which it acts, if it acts on single bins. The entry is `None`
/// for a parameter that acts on all bins of a sample or on no bin.
fn bins_of(model: &Model) -> Vec<Option<Vec<usize>>> {
    let mut bins: Vec<Option<Vec<usize>>> = vec![None; model.parameters.len()];
    let mut whole = vec![false; model.parameters.len()];
    for channel in &model.channels {
        for modifier in channel.samples.iter().flat_map(|sample| &sample.modifiers) {
            if !modifier.effect.per_bin() {
                for p in model.acting_parameters(modifier, channel.n_bins) {
                    if let Some(whole) = whole.get_mut(p) {
                        *whole = true;
                    }
                }
                continue;
            }
            for (at, own) in bins.iter_mut().skip(modifier.first).take(channel.n_bins).enumerate() {
                let own = own.get_or_insert_with(Vec::new);
                if own.last() != Some(&(channel.first_bin + at)) {
                    own.push(channel.first_bin + at);
                }
            }
        }
    }
    bins.into_iter().zip(whole).map(|(bins, whole)| bins.filter(|_| !whole)).collect()
}
