//! Counts of requests and histograms of their times, in the text format of Prometheus.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Upper limits of the histogram bins of times, in seconds.
const BUCKETS: [f64; 12] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    route: String,
    status: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    route: String,
}

/// The metrics of a server.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Request, Counter>,
    seconds: Family<Route, Histogram, fn() -> Histogram>,
    active: Gauge,
    waiting: Gauge,
    models: Gauge,
    model_bytes: Gauge<f64, AtomicU64>,
    reserved_bytes: Gauge<f64, AtomicU64>,
    allocated_bytes: Gauge<f64, AtomicU64>,
}

/// Current values of the metrics that can rise and fall, in contrast to counts.
pub(crate) struct Levels {
    /// Number of requests and jobs in progress.
    pub(crate) active: usize,
    /// Number of pieces of work that are waiting for a thread.
    pub(crate) waiting: usize,
    /// Number of stored models, and their memory in bytes.
    pub(crate) models: (usize, u64),
    /// Memory, in bytes, that models, requests and results have reserved together.
    pub(crate) reserved: u64,
    /// Memory, in bytes, that the allocator has given out.
    pub(crate) allocated: u64,
}

fn histogram() -> Histogram {
    Histogram::new(BUCKETS)
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("nextstat"),
            requests: Family::default(),
            seconds: Family::new_with_constructor(histogram as fn() -> Histogram),
            active: Gauge::default(),
            waiting: Gauge::default(),
            models: Gauge::default(),
            model_bytes: Gauge::default(),
            reserved_bytes: Gauge::default(),
            allocated_bytes: Gauge::default(),
        };
        let registry = &mut metrics.registry;
        registry.register("requests", "Requests that were answered", metrics.requests.clone());
        registry.register("request_seconds", "Time until a request was answered", metrics.seconds.clone());
        registry.register("active", "Requests and jobs in progress", metrics.active.clone());
        registry.register("waiting", "Pieces of work that wait for a thread", metrics.waiting.clone());
        registry.register("models", "Compiled models that are kept", metrics.models.clone());
        registry.register("model_bytes", "Memory of the kept models", metrics.model_bytes.clone());
        let about = "Memory that models, requests and results have reserved";
        registry.register("reserved_bytes", about, metrics.reserved_bytes.clone());
        let about = "Memory that is in use, without freed memory that has not yet gone back to the system";
        registry.register("allocated_bytes", about, metrics.allocated_bytes.clone());
        metrics
    }
}

impl Metrics {
    /// Counts a request with the status code and the duration of its response. `route` is the pattern of its path,
    /// such as `/v1/jobs/{id}`.
    pub(crate) fn count(&self, route: &str, status: u16, time: Duration) {
        let route = route.to_owned();
        self.seconds.get_or_create(&Route { route: route.clone() }).observe(time.as_secs_f64());
        self.requests.get_or_create(&Request { route, status: u32::from(status) }).inc();
    }

    /// Returns all metrics as text.
    ///
    /// # Errors
    /// If a metric cannot be formatted.
    pub(crate) fn text(&self, levels: &Levels) -> Result<String, std::fmt::Error> {
        let number = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
        self.active.set(number(levels.active));
        self.waiting.set(number(levels.waiting));
        self.models.set(number(levels.models.0));
        self.model_bytes.set(levels.models.1 as f64);
        self.reserved_bytes.set(levels.reserved as f64);
        self.allocated_bytes.set(levels.allocated as f64);
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}
