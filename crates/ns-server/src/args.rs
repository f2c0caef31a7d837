//! The flags of the server.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;
use ns_core::{Device, Execution, parse_bytes};

/// The analyses of `nextstat` over HTTP: many users, one engine.
#[derive(Debug, Clone, Parser)]
#[command(name = "nextstat-server", version)]
pub(crate) struct Args {
    /// Address and port to listen on; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8765")]
    pub(crate) listen: SocketAddr,
    /// Device of requests that name none: auto, cpu, cuda, cuda:I or cuda:all
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: Device,
    /// Number of threads for fits on the CPU; 0 takes all cores
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// Largest memory of all kept models, requests and results together, and of one session, such as 500M or 2G;
    /// 16M or more
    #[arg(long, value_name = "BYTES", default_value = "2G", value_parser = parse_bytes)]
    pub(crate) memory: u64,
    /// File of tokens, a line each: NAME TOKEN, or NAME TOKEN N for at most N requests at a time. Without it
    /// every request is accepted, so the server then listens on this machine alone
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Folder for jobs, which then go on after a restart
    #[arg(long, value_name = "FOLDER")]
    pub(crate) state_dir: Option<PathBuf>,
    /// Longest body of a request
    #[arg(long, value_name = "BYTES", default_value = "64M", value_parser = parse_bytes)]
    pub(crate) max_body: u64,
    /// Largest number of parameters of a model
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub(crate) max_parameters: usize,
    /// Longest time of an analysis in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 86_400)]
    pub(crate) max_time: u64,
    /// Time in seconds after which a request becomes a job, unless it says another
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) wait: u64,
    /// Largest number of requests and jobs in progress
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub(crate) queue: usize,
    /// Largest number of requests and jobs in progress of one client
    #[arg(long, value_name = "N", default_value_t = 128)]
    pub(crate) quota: usize,
    /// Largest number of open connections
    #[arg(long, value_name = "N", default_value_t = 1024)]
    pub(crate) connections: usize,
}

impl Args {
    /// Returns the default device, the number of threads and the memory limit of the sessions.
    pub(crate) fn execution(&self) -> Execution {
        Execution {
            device: self.device,
            threads: self.threads,
            memory_limit: Some(self.memory),
            ..Execution::default()
        }
    }
}
