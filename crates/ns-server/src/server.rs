//! The state that all requests share.

use std::sync::Arc;
use std::time::Duration;

use crate::clients::Clients;
use crate::jobs::Jobs;
use crate::metrics::Metrics;

/// The server's jobs, clients and limits.
pub(crate) struct Server {
    pub(crate) jobs: Arc<Jobs>,
    pub(crate) clients: Clients,
    pub(crate) metrics: Metrics,
    /// Longest body of a request, in bytes.
    pub(crate) max_body: usize,
    /// Time after which a request becomes a job. A request can give a different time.
    pub(crate) wait: Duration,
}
