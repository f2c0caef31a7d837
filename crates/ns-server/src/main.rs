//! The `nextstat-server` program, which offers the analyses of `nextstat` over HTTP.

mod allocator;
mod analyses;
mod args;
mod body;
mod clients;
mod devices;
mod http;
mod jobs;
mod memory;
mod metrics;
mod models;
mod picture;
mod pool;
mod problem;
mod results;
mod serve;
mod server;

use std::fs::{File, TryLockError};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use thiserror::Error;
use tokio::net::TcpListener;

use crate::args::Args;
use crate::clients::{Clients, TokenError};
use crate::devices::Devices;
use crate::jobs::{JobLimits, Jobs};
use crate::memory::Memory;
use crate::models::Models;
use crate::problem::ServerError;
use crate::server::Server;

/// Stack size, in bytes, of the threads that run analyses. The size does not depend on `ulimit -s`.
const STACK: usize = 16 << 20;

/// Number of threads in addition to one thread for each request in progress. These threads parse bodies and search
/// for devices.
const SPARE_THREADS: usize = 64;

/// Reasons why the server does not start.
#[derive(Debug, Error)]
enum StartError {
    /// The flags contradict each other. The text is the error message.
    #[error("{0}")]
    Usage(&'static str),
    /// The memory limit leaves no room for models.
    #[error("--memory {asked} is too little: the least is {} bytes (16M)", memory::LEAST)]
    Memory {
        /// The limit in bytes that was asked for.
        asked: u64,
    },
    /// Another server uses the folder of jobs.
    #[error("another server uses --state-dir {folder}; give each server a folder of its own")]
    FolderInUse {
        /// Path of the folder.
        folder: String,
    },
    /// The file of tokens cannot be used.
    #[error(transparent)]
    Tokens(#[from] TokenError),
    /// The folder of jobs, the threads or the address cannot be used.
    #[error("{what}: {source}")]
    System {
        /// The operation that failed.
        what: &'static str,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The records of jobs cannot be used.
    #[error(transparent)]
    Records(#[from] ServerError),
}

fn main() -> ExitCode {
    let args = Args::parse();
    tracing_subscriber::fmt().json().with_writer(std::io::stderr).with_target(false).init();
    // The code of the request catches a panic. The log contains only the place of the panic, because the
    // message may contain data of a client.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, ToString::to_string);
        tracing::error!(place, "panicked");
    }));
    match start(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, "the server does not start");
            ExitCode::from(2)
        }
    }
}

fn start(args: &Args) -> Result<(), StartError> {
    let system = |what| move |source| StartError::System { what, source };
    let clients = args.token_file.as_deref().map_or(Ok(Clients::Anyone), Clients::from_file)?;
    if clients.are_anyone() && !args.listen.ip().is_loopback() {
        return Err(StartError::Usage(
            "a server that others can reach needs --token-file; without it, listen on 127.0.0.1",
        ));
    }
    if args.memory < memory::LEAST {
        return Err(StartError::Memory { asked: args.memory });
    }
    allocator::give_back().map_err(system("the threads cannot be started"))?;
    // The lock is held until the server ends.
    let _lock = args.state_dir.as_deref().map(lock).transpose()?;
    let devices = Devices::start(args.execution()).map_err(system("the threads cannot be started"))?;
    let memory = Memory::of_server(args.memory);
    let models = Arc::new(Models::new(Arc::new(devices), args.max_parameters, memory));
    let time = Duration::from_secs(args.max_time);
    let limits = JobLimits { active: args.queue, per_client: args.quota, time };
    let jobs = Arc::new(Jobs::open(models, limits, args.state_dir.clone())?);
    let server = Arc::new(Server {
        jobs,
        clients,
        metrics: metrics::Metrics::default(),
        max_body: usize::try_from(args.max_body).unwrap_or(usize::MAX),
        wait: Duration::from_secs(args.wait),
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK)
        .max_blocking_threads(args.queue + SPARE_THREADS)
        .build()
        .map_err(system("the threads cannot be started"))?;
    runtime.block_on(async {
        let listener =
            TcpListener::bind(args.listen).await.map_err(system("the address cannot be listened on"))?;
        let address = listener.local_addr().map_err(system("the address cannot be listened on"))?;
        tracing::info!(%address, "listening");
        http::go_on(&server);
        let app = http::routes(Arc::clone(&server));
        serve::serve(listener, app, args.connections, stop_asked(), || {
            tracing::info!("stopping");
            server.jobs.stop();
        })
        .await;
        Ok(())
    })
    // The runtime waits until the cancelled analyses have saved their toys.
}

/// Makes the folder of jobs, and locks it against other servers. The system releases the lock if the server is killed.
fn lock(folder: &Path) -> Result<File, StartError> {
    let failed = |source| StartError::System { what: "the folder of jobs cannot be made or locked", source };
    std::fs::create_dir_all(folder.join("toys")).map_err(failed)?;
    let file = File::options().create(true).truncate(false).write(true).open(folder.join("lock"));
    let file = file.map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(StartError::FolderInUse { folder: folder.display().to_string() })
        }
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

/// Waits for Ctrl-C, or for the signal SIGTERM from a service manager.
async fn stop_asked() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut term) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = term.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    // Without a handler the signal ends the program at once.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
