//! Prepares, on a device, the quantities that are functions of the caller's inputs: further numbers of the model, and
//! data.

use ns_core::{Data, SessionError};

use super::super::arena::Arena;
use super::copies::Copies;
use super::layout::{DifferentiateLaunch, InputDatum, InputFollower};
use crate::cpu::CpuSession;
use crate::eval::Dataset;
use crate::follow::Follower;
use crate::plan::{OpenWidth, Plan};
use crate::task::length;
use crate::terms::poisson::saturated;

/// Quantities on which the likelihood on a device depends, in addition to the parameters and the caller's inputs.
#[derive(Debug, Clone)]
pub struct DeviceDependence<'a> {
    /// Rules by which the last inputs of the model are computed from the inputs before them. The caller gives only
    /// those earlier inputs.
    pub followers: &'a [Follower],
    /// The data of all calls.
    pub data: DeviceData,
}

impl DeviceDependence<'_> {
    /// Returns the description of a likelihood whose data are constant and whose inputs are all given by the caller.
    #[must_use]
    pub fn constant(data: Data) -> Self {
        Self { followers: &[], data: DeviceData::Constant(data) }
    }
}

/// The data of all calls on a device.
#[derive(Debug, Clone)]
pub enum DeviceData {
    /// Constant data.
    Constant(Data),
    /// The observed data. The auxiliary data of some Poisson constraints change: they are equal to the rate of their
    /// constraint. The list has the positions of the widths of these constraints in the array of all inputs.
    ObservedRates(Vec<usize>),
    /// Asimov data: the expected data at these values of the parameters. The expected data change with the inputs.
    Asimov(Vec<f64>),
}

/// The data that a launch begins with, in the memory of the host.
pub(super) struct StartData {
    /// Main counts, then auxiliary data.
    pub(super) numbers: Vec<f64>,
    /// Sum of the constant terms of `-ln L`, without the terms of the data that change with the inputs.
    pub(super) constant: f64,
}

/// Adds the lists of followers and of changing data to `arena`, and sets the fields of `launch` that refer to them.
/// Returns the data that a launch begins with.
///
/// # Errors
/// If the data do not suit the model.
pub(super) fn place(
    cpu: &CpuSession,
    dependence: &DeviceDependence<'_>,
    arena: &mut Arena,
    launch: &mut DifferentiateLaunch,
    copies: &mut Copies,
) -> Result<StartData, SessionError> {
    let plan = &cpu.plan;
    let (data, changing) = match &dependence.data {
        DeviceData::Constant(data) => {
            let own = cpu.dataset(data)?;
            (own.as_ref().unwrap_or(&cpu.observed).clone(), Vec::new())
        }
        DeviceData::ObservedRates(places) => {
            let is_listed = |width: &&OpenWidth| places.contains(&width.place);
            let widths = plan.open.poisson.iter().filter(is_listed);
            (Dataset::clone(&cpu.observed), widths.map(|width| datum(plan, width, 1.0)).collect())
        }
        DeviceData::Asimov(point) => {
            length("the parameters of the Asimov data", point.len(), plan.n_parameters())?;
            launch.asimov = arena.put(point);
            let main = vec![0.0; plan.n_bins()];
            let expected = Dataset::new(plan, &main, &cpu.expected_auxiliary(point), &[]);
            let ratio = |width: &OpenWidth| {
                point.get(plan.structure.poisson.param[width.term]).copied().unwrap_or(0.0)
            };
            let of = |width: &OpenWidth| datum(plan, width, ratio(width));
            (expected, plan.open.poisson.iter().map(of).collect())
        }
    };
    let n_all = launch.n_inputs as usize;
    let n_followers = dependence.followers.len();
    length("the inputs that are computed from others", n_followers, n_followers.min(n_all))?;
    launch.n_given = (n_all - n_followers) as i32;
    launch.n_data = changing.len() as i32;
    launch.changing = arena.put(&changing);
    if is_changing(launch) {
        followers(dependence.followers, arena, launch);
        launch.all_at = copies.put(vec![0.0; n_all]);
        launch.by_all_at = copies.put(vec![0.0; n_all]);
        launch.changes_at = copies.put(vec![0.0; dependence.followers.len()]);
    }
    let Dataset { main, aux, saturated_main, saturated_constraint, .. } = data;
    let of_changing = |datum: &InputDatum| aux.get(datum.aux as usize).map_or(0.0, |&n| saturated(n));
    let constant = saturated_main + saturated_constraint - changing.iter().map(of_changing).sum::<f64>();
    Ok(StartData { numbers: [main, aux].concat(), constant })
}

/// Returns whether further numbers of the model, or the data, are functions of the caller's inputs.
pub(super) fn is_changing(launch: &DifferentiateLaunch) -> bool {
    launch.n_given < launch.n_inputs || launch.n_data > 0 || launch.asimov.is_some()
}

/// Returns the auxiliary datum of a Poisson constraint, which is `ratio` times the rate of the constraint.
fn datum(plan: &Plan, width: &OpenWidth, ratio: f64) -> InputDatum {
    let poisson = &plan.structure.poisson;
    InputDatum {
        param: poisson.param[width.term] as i32,
        aux: poisson.aux[width.term] as i32,
        input: width.place as i32,
        padding: 0,
        ratio,
    }
}

/// Adds three lists to `arena`: the followers (inputs that are functions of the caller's inputs), the inputs on which
/// each follower depends, and the followers that depend on each input of the caller.
fn followers(all: &[Follower], arena: &mut Arena, launch: &mut DifferentiateLaunch) {
    let (mut numbers, mut sources) = (Vec::new(), Vec::new());
    let mut of_input = vec![Vec::new(); launch.n_given as usize];
    for (index, follower) in all.iter().enumerate() {
        let first = sources.len() as i32;
        for &place in &follower.sources {
            if let Some(list) = of_input.get_mut(place) {
                list.push(index);
                sources.push(place);
            }
        }
        numbers.push(InputFollower {
            first,
            end: sources.len() as i32,
            inverse: i32::from(follower.inverse),
            padding: 0,
            factor: follower.factor,
            held: follower.held,
        });
    }
    let mut from = vec![0];
    for list in &of_input {
        from.push(from.last().copied().unwrap_or(0) + list.len());
    }
    launch.followers = arena.put(&numbers);
    launch.sources = arena.put_indices(sources);
    launch.followers_from = arena.put_indices(from);
    launch.followers_of = arena.put_indices(of_input.into_iter().flatten());
}
