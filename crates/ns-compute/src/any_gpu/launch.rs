//! Runs the kernel of one kind of fit: copies inputs to the GPU, starts a workgroup for each descent, and copies the
//! results back.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

use super::adapter::Gpu;
use super::program::Program;

/// Time that a dispatch should take at most, so that a desktop stays responsive.
const LONGEST: Duration = Duration::from_millis(100);

/// Descents of the first dispatch, when nobody knows how long one takes, and the largest number of any dispatch.
const FIRST: usize = 32;
const MOST: usize = 4096;

/// By which factor the next dispatch is larger after a short one.
const GROWTH: u32 = 4;

/// Largest size of the buffers of one dispatch in bytes.
const MOST_BYTES: u64 = 256 << 20;

/// The kernel of one kind of fit with its tables, on a GPU.
#[derive(Debug)]
pub(super) struct Launcher {
    gpu: Arc<Gpu>,
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    indices: wgpu::Buffer,
    numbers: wgpu::Buffer,
    /// Numbers of inputs, of working memory and of results of one descent.
    sizes: [usize; 3],
    /// Number of descents of the next dispatch, and largest number for which there are buffers.
    at_once: AtomicUsize,
    most: usize,
    spare: Mutex<Vec<Buffers>>,
}

/// Buffers of one dispatch.
#[derive(Debug)]
struct Buffers {
    descents: usize,
    jobs: wgpu::Buffer,
    ends: wgpu::Buffer,
    results: wgpu::Buffer,
    group: wgpu::BindGroup,
}

/// Why a dispatch did not end, in the words of the driver.
pub(super) type Failure = String;

impl Launcher {
    /// Compiles the entry point `entry` of the kernel, and copies its tables to the GPU.
    ///
    /// # Errors
    /// What the driver says.
    pub(super) fn new(gpu: &Arc<Gpu>, program: &Program, entry: &str) -> Result<Self, Failure> {
        let device = &gpu.device;
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("descents"),
            source: wgpu::ShaderSource::Wgsl(program.text.as_str().into()),
        });
        let entries: Vec<_> = (0..5)
            .map(|binding| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Storage { read_only: binding < 3 },
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            })
            .collect();
        let layout = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("descents"),
            entries: &entries,
        });
        let of_pipeline = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("descents"),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("descents"),
            layout: Some(&of_pipeline),
            module: &module,
            entry_point: Some(entry),
            // Every descent writes its arrays before it reads them.
            compilation_options: wgpu::PipelineCompilationOptions {
                zero_initialize_workgroup_memory: false,
                ..Default::default()
            },
            cache: None,
        });
        let table = |label, bytes: &[u8]| {
            let size = (bytes.len() as u64).max(16);
            let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
            let buffer = device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size,
                usage,
                mapped_at_creation: false,
            });
            gpu.queue.write_buffer(&buffer, 0, bytes);
            buffer
        };
        let indices = table("indices", bytemuck::cast_slice(&program.tables.indices));
        let numbers = table("numbers", bytemuck::cast_slice(&program.tables.numbers));
        let sizes = [program.job, program.slab, program.end];
        let most_numbers = gpu.largest_buffer.min(MOST_BYTES) / 4;
        let most = sizes.iter().map(|&size| most_numbers / size.max(1) as u64).min().unwrap_or(0);
        let most = usize::try_from(most).unwrap_or(MOST).min(MOST);
        if most == 0 {
            return Err("a descent does not fit into its memory".to_owned());
        }
        if let Some(failure) = gpu.failure() {
            return Err(failure.to_owned());
        }
        let at_once = AtomicUsize::new(FIRST.min(most));
        let spare = Mutex::default();
        Ok(Self { gpu: Arc::clone(gpu), pipeline, layout, indices, numbers, sizes, at_once, most, spare })
    }

    /// Returns how many descents the next dispatch should make.
    pub(super) fn at_once(&self) -> usize {
        self.at_once.load(Ordering::Relaxed)
    }

    /// Makes the `descents` whose inputs are `jobs`, one after the other. Returns their results.
    ///
    /// # Errors
    /// What the driver says.
    pub(super) fn run(&self, jobs: &[f32], descents: usize) -> Result<Vec<f32>, Failure> {
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = {
            let mut spare = spare();
            let fits = spare.iter().position(|buffers| buffers.descents >= descents);
            fits.map(|place| spare.swap_remove(place))
        };
        let buffers = kept.unwrap_or_else(|| self.buffers(descents));
        let bytes = (self.sizes[2] * descents * 4) as u64;
        let turn = self.gpu.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = Instant::now();
        self.gpu.queue.write_buffer(&buffers.jobs, 0, bytemuck::cast_slice(jobs));
        let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        {
            let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, &buffers.group, &[]);
            pass.dispatch_workgroups(u32::try_from(descents).unwrap_or(0), 1, 1);
        }
        encoder.copy_buffer_to_buffer(&buffers.ends, 0, &buffers.results, 0, bytes);
        let submitted = self.gpu.queue.submit([encoder.finish()]);
        let (send, receive) = mpsc::channel();
        buffers.results.map_async(wgpu::MapMode::Read, 0..bytes, move |mapped| {
            let _ = send.send(mapped);
        });
        let wait = wgpu::PollType::Wait { submission_index: Some(submitted), timeout: None };
        self.gpu.device.poll(wait).map_err(|error| error.to_string())?;
        receive
            .recv()
            .map_err(|_| "the results were not copied".to_owned())?
            .map_err(|error| error.to_string())?;
        self.pace(begun.elapsed(), descents);
        drop(turn);
        let results = {
            let view = buffers.results.get_mapped_range(0..bytes).map_err(|error| error.to_string())?;
            bytemuck::pod_collect_to_vec(&view)
        };
        buffers.results.unmap();
        if let Some(failure) = self.gpu.failure() {
            return Err(failure.to_owned());
        }
        spare().push(buffers);
        Ok(results)
    }

    /// Chooses the size of the next dispatch from the time that one of `descents` descents took.
    fn pace(&self, took: Duration, descents: usize) {
        let now = self.at_once();
        if took > LONGEST {
            self.at_once.store((descents / 2).max(1), Ordering::Relaxed);
        } else if took < LONGEST / GROWTH && descents == now {
            self.at_once.store((GROWTH as usize * descents).min(self.most), Ordering::Relaxed);
        }
    }

    fn buffers(&self, descents: usize) -> Buffers {
        let buffer = |label, numbers: usize, usage| {
            let size = (numbers * descents * 4) as u64;
            self.gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(label),
                size,
                usage,
                mapped_at_creation: false,
            })
        };
        let storage = wgpu::BufferUsages::STORAGE;
        let jobs = buffer("jobs", self.sizes[0], storage | wgpu::BufferUsages::COPY_DST);
        let slabs = buffer("slabs", self.sizes[1], storage);
        let ends = buffer("ends", self.sizes[2], storage | wgpu::BufferUsages::COPY_SRC);
        let mappable = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let results = buffer("results", self.sizes[2], mappable);
        let bound = [&self.indices, &self.numbers, &jobs, &slabs, &ends];
        let entries: Vec<_> = (0..)
            .zip(bound)
            .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
            .collect();
        let group = self.gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("descents"),
            layout: &self.layout,
            entries: &entries,
        });
        Buffers { descents, jobs, ends, results, group }
    }
}
