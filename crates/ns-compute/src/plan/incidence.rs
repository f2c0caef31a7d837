//! Lists the channels and bins on which each parameter acts. Estimates how long a factorisation takes for each choice
//! of border parameters (parameters that are eliminated last, see `layout`).

use super::Structure;

/// The channels and bins on which each parameter acts. They determine the layout of the curvature matrix.
pub(super) struct Incidence {
    /// For each block (one sample in one channel), the index of its channel.
    pub(super) channel: Vec<usize>,
    pub(super) n_channels: usize,
    /// Index of the first channel that is an event channel or a penalty term.
    pub(super) first_event_term: usize,
    /// For each channel, the index of its first bin and its number of bins.
    pub(super) bins: Vec<(usize, usize)>,
    /// For each parameter, the indices of the channels on which it acts, in ascending order.
    pub(super) channels: Vec<Vec<u32>>,
    /// For each local parameter (one that scales a single bin), the index of this bin; `None` for all other parameters.
    pub(super) only_bin: Vec<Option<usize>>,
}

impl Incidence {
    /// Collects the channels and bins on which each parameter acts from the blocks (samples in channels) of
    /// `structure`.
    pub(super) fn new(structure: &Structure) -> Self {
        let n = structure.table.init.len();
        let mut this = Self {
            channel: Vec::new(),
            n_channels: 0,
            first_event_term: 0,
            bins: Vec::new(),
            channels: vec![Vec::new(); n],
            only_bin: vec![None; n],
        };
        let mut scalar = vec![false; n];
        let mut several = vec![false; n];
        for block in &structure.blocks {
            if this.bins.last().is_none_or(|&(first, _)| first != block.bin) {
                this.bins.push((block.bin, block.n_bins));
                this.n_channels += 1;
            }
            let channel = this.n_channels - 1;
            this.channel.push(channel);
            let mut touch = |p: usize| {
                if this.channels[p].last() != Some(&(channel as u32)) {
                    this.channels[p].push(channel as u32);
                }
            };
            for &p in &structure.block_params[block.params.0..block.params.1] {
                scalar[p as usize] = true;
                touch(p as usize);
            }
            for &first in &structure.binwise_first[block.binwise.0..block.binwise.1] {
                for b in 0..block.n_bins {
                    let p = first as usize + b;
                    touch(p);
                    match this.only_bin[p] {
                        None => this.only_bin[p] = Some(block.bin + b),
                        Some(bin) if bin != block.bin + b => several[p] = true,
                        Some(_) => {}
                    }
                }
            }
        }
        // Event channels and penalty terms count as channels without bins.
        this.first_event_term = this.n_channels;
        for parameters in &structure.event_terms {
            for &p in parameters {
                scalar[p] = true;
                this.channels[p].push(this.n_channels as u32);
            }
            this.bins.push((0, 0));
            this.n_channels += 1;
        }
        for p in 0..n {
            if scalar[p] || several[p] {
                this.only_bin[p] = None;
            }
        }
        this
    }

    /// Groups the channels so that channels that share a parameter are in the same group. Only parameters count that
    /// act on more than one bin and on at most `limit` channels. Returns for each channel the index of the first
    /// channel of its group.
    pub(super) fn groups(&self, limit: usize) -> Vec<usize> {
        let mut parent: Vec<usize> = (0..self.n_channels).collect();
        fn root(parent: &mut [usize], mut i: usize) -> usize {
            while parent[i] != i {
                parent[i] = parent[parent[i]];
                i = parent[i];
            }
            i
        }
        for (p, channels) in self.channels.iter().enumerate() {
            if self.only_bin[p].is_none() && channels.len() <= limit {
                for pair in channels.windows(2) {
                    let (a, b) = (root(&mut parent, pair[0] as usize), root(&mut parent, pair[1] as usize));
                    parent[a.max(b)] = a.min(b);
                }
            }
        }
        (0..self.n_channels).map(|c| root(&mut parent, c)).collect()
    }

    /// Estimates the number of multiplications of one factorisation. Parameters that act on more than `limit` channels
    /// are border parameters, which means that they are eliminated last.
    pub(super) fn cost(&self, limit: usize) -> f64 {
        let groups = self.groups(limit);
        let mut dense = vec![0.0; self.n_channels];
        let mut rows = vec![0.0; self.n_channels];
        let mut border = 0.0;
        for (p, channels) in self.channels.iter().enumerate() {
            match (channels.first(), self.only_bin[p]) {
                (None, _) => {}
                (Some(&c), Some(_)) => rows[groups[c as usize]] += 1.0,
                (Some(_), None) if channels.len() > limit => border += 1.0,
                (Some(&c), None) => dense[groups[c as usize]] += 1.0,
            }
        }
        let mut total: f64 = border * border * border / 6.0;
        for c in 0..self.n_channels {
            rows[groups[c]] += self.bins[c].1 as f64;
        }
        for c in 0..self.n_channels {
            if groups[c] == c {
                let width: f64 = dense[c] + border;
                // Products of rows, the partial elimination, and copies of the border block.
                total += rows[c] * width * width / 2.0
                    + (width.powi(3) - border.powi(3)) / 6.0
                    + 8.0 * border * border
                    + 4096.0;
            }
        }
        total
    }
}
