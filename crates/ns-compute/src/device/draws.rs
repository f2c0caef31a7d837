//! Uploads the distributions from which the device draws toys.
//!
//! ns-core computes all numbers that depend only on the mean of a distribution. These numbers are copied to the
//! device unchanged. The kernels draw from them with the same exactly rounded operations as ns-core. The toys
//! therefore have the same bits as toys of the CPU.

use std::sync::Arc;

use ns_core::random::{Normal, Poisson};
use ns_core::{AuxiliarySource, SessionError, ToySource};

use super::arena::Arena;
use super::backend::{Backend, Buffer};
use super::layout::{DatumSource, Draws, Joint, PoissonRejection};
use super::offset::Offset;
use crate::shared_constants::{DRAW_NORMAL, DRAW_REJECTION, DRAW_TABLE};

/// Distributions of all data of a toy, one element of `sources` per datum. A distribution that is drawn by inversion
/// also has a table of thresholds. The tables are stored one after another.
#[derive(Default)]
struct Tables {
    sources: Vec<DatumSource>,
    thresholds: Vec<u64>,
    guides: Vec<u16>,
}

impl Tables {
    fn new(source: &ToySource) -> Self {
        let mut tables = Self::default();
        for poisson in &source.main {
            tables.poisson(poisson);
        }
        for auxiliary in &source.auxiliary {
            match auxiliary {
                AuxiliarySource::Gaussian(normal) => tables.normal(normal),
                AuxiliarySource::Poisson(poisson) => tables.poisson(poisson),
            }
        }
        tables
    }

    fn poisson(&mut self, poisson: &Poisson) {
        let mut datum =
            DatumSource { method: DRAW_TABLE, thresholds: 0, guide: 0, unused: 0, numbers: [0.0; 7] };
        if let Some(of) = poisson.rejection() {
            datum.method = DRAW_REJECTION;
            datum.numbers = bytemuck::cast(PoissonRejection {
                whole: of.whole,
                part: of.part,
                mean: of.mean,
                a: of.a,
                b: of.b,
                attempts: of.attempts,
                squeeze: of.squeeze,
            });
        }
        if let Some(table) = poisson.table() {
            // A table has at most 2000 thresholds, so a 32-bit index overflows only with more than two million data.
            datum.thresholds = self.thresholds.len() as u32;
            datum.guide = self.guides.len() as u32;
            datum.numbers[0] = table.first() as f64;
            self.thresholds.extend_from_slice(table.thresholds());
            self.guides.extend_from_slice(table.guide());
        }
        self.sources.push(datum);
    }

    fn normal(&mut self, normal: &Normal) {
        let mut numbers = [0.0; 7];
        numbers[0] = normal.mean();
        numbers[1] = normal.sigma();
        self.sources.push(DatumSource { method: DRAW_NORMAL, thresholds: 0, guide: 0, unused: 0, numbers });
    }
}

/// A source of toys ([`ToySource`]) in device memory, from which kernels draw.
pub(super) struct Uploaded {
    draws: Buffer,
    /// Memory that contains the tables. The offsets in `draws` refer to this memory.
    _tables: [Buffer; 3],
    /// Memory of the data that are drawn jointly, if there are any.
    _joint: Option<Buffer>,
}

impl Uploaded {
    /// Copies the distributions of `source` to the device.
    pub(super) fn new(backend: &Arc<dyn Backend>, source: &ToySource) -> Result<Self, SessionError> {
        let tables = Tables::new(source);
        let sources = Buffer::holding(backend, &tables.sources)?;
        let thresholds = Buffer::holding(backend, &tables.thresholds)?;
        let guides = Buffer::holding(backend, &tables.guides)?;
        let joint = joint(backend, source)?;
        let draws = Draws {
            sources: sources.at(),
            thresholds: thresholds.at(),
            guides: guides.at(),
            seed: source.seed,
            hypothesis: u32::from(source.hypothesis),
            slots: tables.sources.len() as u32,
            joint: joint.as_ref().map_or(Offset::NULL, |(at, _)| *at),
        };
        let draws = Buffer::holding(backend, &[draws])?;
        Ok(Self { draws, _tables: [sources, thresholds, guides], _joint: joint.map(|(_, memory)| memory) })
    }

    /// Returns the offset of the uploaded distributions in device memory.
    pub(super) fn at(&self) -> Offset<Draws> {
        self.draws.at()
    }
}

/// Copies the description of the auxiliary data that are drawn jointly to the device. Returns `None` if there are none.
fn joint(
    backend: &Arc<dyn Backend>,
    source: &ToySource,
) -> Result<Option<(Offset<Joint>, Buffer)>, SessionError> {
    if source.joint.is_empty() {
        return Ok(None);
    }
    let (mut groups, mut data, mut lower) = (Vec::new(), Vec::new(), Vec::new());
    for group in &source.joint {
        let ends = [data.len(), data.len() + group.data.len(), lower.len()].map(|at| at as i32);
        groups.push([ends[0], ends[1], ends[2], 0]);
        data.extend_from_slice(&group.data);
        lower.extend_from_slice(&group.lower);
    }
    let mut arena = Arena::default();
    let joint = Joint {
        n: groups.len() as i32,
        n_main: source.main.len() as i32,
        group: arena.put(&groups),
        datum: arena.put_indices(data),
        lower: arena.put(&lower),
    };
    let at = arena.put(&[joint]);
    let memory = arena.upload(backend)?;
    Ok(Some((at.moved(memory.start()), memory)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::backend::{Kernel, Shape};
    use super::super::layout::DrawLaunch;
    use super::*;
    use ns_core::JointSource;

    /// Returns a source with normal distributions and Poisson distributions. The Poisson means go from 1e-8 to 1e9,
    /// so all methods of drawing are used. The smallest and the largest possible mean are among them.
    fn source() -> ToySource {
        let mut means: Vec<f64> = (0..35).map(|i| 1e-8 * 10.0_f64.powf(0.5 * f64::from(i))).collect();
        means.extend([
            0.0,
            0.7,
            9.99,
            333.25,
            1e4,
            1e4_f64.next_up(),
            14_000.5,
            1e9,
            1e12,
            Poisson::MAX_MEAN,
        ]);
        let poisson = |&mean: &f64| Poisson::new(mean).unwrap();
        let normal = |mean, sigma| AuxiliarySource::Gaussian(Normal::new(mean, sigma).unwrap());
        let mut auxiliary =
            vec![normal(0.0, 1.0), normal(-3.5, 1e-3), normal(1.0, 0.25), normal(2.0, 0.0), normal(7.0, 3.0)];
        auxiliary.extend(means.iter().step_by(9).map(|mean| AuxiliarySource::Poisson(poisson(mean))));
        ToySource {
            seed: 0xfedc_ba98_7654_3210,
            hypothesis: 1,
            parameters: Vec::new(),
            main: means.iter().map(poisson).collect(),
            auxiliary,
            joint: vec![
                JointSource { data: vec![2, 0], lower: Arc::from([1.0, 0.0, -0.6, 0.8]) },
                JointSource { data: vec![4, 1], lower: Arc::from([1.0, 0.0, 0.28, 0.96]) },
            ],
            events: Vec::new(),
        }
    }

    /// Draws the same ten million data with the kernel and with ns-core. Asserts that they agree bit by bit.
    fn compare(backend: &Arc<dyn Backend>, threads: u32) {
        let source = source();
        let (n_main, n_aux) = (source.main.len(), source.auxiliary.len());
        let n_data = n_main + n_aux;
        let uploaded = Uploaded::new(backend, &source).unwrap();
        let n_toys = 9_999;
        let data = Buffer::new(backend, 8 * n_data * n_toys).unwrap();
        let (mut got, mut main, mut aux) =
            (vec![0.0_f64; n_data * n_toys], vec![0.0; n_main], vec![0.0; n_aux]);
        let launches = 10_000_000_usize.div_ceil(n_data * n_toys) as u64;
        // Every second launch uses toy indices that need more than 32 bits.
        for first in (0..launches).map(|i| i * n_toys as u64 + (i % 2) * 0x1_0000_0000) {
            let launch = DrawLaunch {
                draws: uploaded.at(),
                first_toy: first,
                n_toys: n_toys as i32,
                n_data: n_data as i32,
                data: data.at(),
            };
            let shape = Shape { blocks: 500, threads, shared: 0 };
            backend.launch(Kernel::Draw, shape, bytemuck::bytes_of(&launch)).unwrap();
            data.read_into(0, &mut got).unwrap();
            for (toy, drawn) in got.chunks(n_data).enumerate() {
                source.draw_into(first + toy as u64, &mut main, &mut aux);
                for (slot, (device, cpu)) in drawn.iter().zip(main.iter().chain(&aux)).enumerate() {
                    assert!(
                        device.to_bits() == cpu.to_bits(),
                        "toy {toy} from {first}, slot {slot}: {device} on the device, {cpu} here"
                    );
                }
            }
        }
    }

    #[cfg(feature = "cuda-on-host")]
    #[test]
    fn kernels_on_the_cpu_draw_the_same_bits() {
        let backend: Arc<dyn Backend> = Arc::new(super::super::host::Host::new());
        compare(&backend, 1);
    }

    #[cfg(feature = "cuda")]
    #[test]
    #[allow(clippy::print_stderr)]
    fn a_gpu_draws_the_same_bits() {
        match super::super::cuda::backend(0) {
            Ok(backend) => compare(&backend, 128),
            Err(error) => eprintln!("SKIPPED, no GPU: {error}"),
        }
    }
}
