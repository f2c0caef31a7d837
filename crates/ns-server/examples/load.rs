//! Measures how fast a running server makes fits. Many clients send requests for fits of one model. For comparison,
//! the library then makes the same fits without a server.
//!
//! `cargo run --release -p ns-server --example load -- 127.0.0.1:8765 WORKSPACE.json [CLIENTS [SECONDS [BACKGROUND]]]`
//!
//! While the clients fit, a job with toys of the workspace `BACKGROUND` runs on the server. The program prints the
//! number of fits per second, the quantiles of the times of requests, and the number per second of requests that need
//! no analysis. Neither the server nor the library computes a covariance matrix, because writing the numbers of the
//! matrix as text would take most of the time.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use ns_core::{Control, Execution, Observations};
use ns_inference::{FitOptions, fit, fit_batch, open_session};
use ns_translate::pyhf::{ModelOptions, Workspace};
use serde_json::{Value, json};

/// A connection that stays open between requests.
struct Connection {
    stream: TcpStream,
    host: String,
    text: Vec<u8>,
}

impl Connection {
    fn open(host: &str) -> Self {
        let stream = TcpStream::connect(host).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, host: host.to_owned(), text: Vec::new() }
    }

    /// Sends a request and returns the body of the response. The response must have a content length.
    fn send(&mut self, method: &str, path: &str, body: &str) -> Vec<u8> {
        let (host, length) = (&self.host, body.len());
        let head = "content-type: application/json";
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\n{head}\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(request.as_bytes()).unwrap();
        self.text.clear();
        let mut part = [0; 1 << 16];
        loop {
            let n = self.stream.read(&mut part).unwrap();
            assert!(n > 0, "the server closed the connection");
            self.text.extend_from_slice(&part[..n]);
            let Some(end) = self.text.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
            let head = String::from_utf8_lossy(&self.text[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            if self.text.len() >= end + 4 + length.parse::<usize>().unwrap() {
                assert!(head.starts_with("http/1.1 2"), "{}", String::from_utf8_lossy(&self.text));
                return self.text.split_off(end + 4);
            }
        }
    }
}

/// Sends a model to the server, which stores the model. Returns the server's response, which has the digests of the
/// model.
fn keep(connection: &mut Connection, workspace: &str) -> Value {
    let body = format!("{{\"model\": {{\"workspace\": {workspace}}}}}");
    let kept: Value = serde_json::from_slice(&connection.send("POST", "/v1/models", &body)).unwrap();
    json!({"model_digest": kept["model_digest"], "data_digest": kept["data_digest"]})
}

/// Sends the same request from many clients for some seconds, each on its own connection. Returns the number of
/// responses per second, and the times of all requests in ascending order.
fn requests(
    clients: u64,
    host: &str,
    (method, path, body): (&str, &str, &str),
    seconds: u64,
) -> (f64, Vec<Duration>) {
    let began = Instant::now();
    let client = || {
        let mut connection = Connection::open(host);
        connection.send(method, path, body);
        let mut times = Vec::new();
        while began.elapsed() < Duration::from_secs(seconds) {
            let began = Instant::now();
            connection.send(method, path, body);
            times.push(began.elapsed());
        }
        times
    };
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let rate = times.len() as f64 / began.elapsed().as_secs_f64();
    times.sort();
    (rate, times)
}

fn quantile(times: &[Duration], part: f64) -> f64 {
    times[((times.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [host, path, rest @ ..] = arguments.as_slice() else { panic!("see the head of this file") };
    let number = |i: usize, usual| rest.get(i).map_or(usual, |text| text.parse().unwrap());
    let (clients, seconds) = (number(0, 64), number(1, 5));

    let text = std::fs::read_to_string(path).unwrap();
    let model = Workspace::from_slice(text.as_bytes()).unwrap().model(&ModelOptions::default()).unwrap();
    let session = open_session(&model, &Execution::default()).unwrap();
    let options = FitOptions::default().covariance(false);
    fit(&model, session.as_ref(), &options, Control::default()).unwrap();
    let began = Instant::now();
    let mut alone: Vec<Duration> = (0..200)
        .map(|_| {
            let began = Instant::now();
            fit(&model, session.as_ref(), &options, Control::default()).unwrap();
            began.elapsed()
        })
        .take_while(|_| began.elapsed() < Duration::from_secs(10))
        .collect();
    alone.sort();
    let n = ((2.0 / alone[alone.len() / 2].as_secs_f64()) as usize).clamp(64, 20_000);
    let data: Vec<Observations> = vec![model.observed.clone(); n];
    let began = Instant::now();
    fit_batch(&model, session.as_ref(), data, &options, Control::default()).unwrap();
    let batch = n as f64 / began.elapsed().as_secs_f64();
    println!(
        "library: fit p50 {:.3} ms, p99 {:.3} ms; fit_batch {batch:.0} fits/s",
        quantile(&alone, 0.5),
        quantile(&alone, 0.99)
    );

    let mut connection = Connection::open(host);
    let model = keep(&mut connection, &text);
    let body = json!({"model": model, "options": {"covariance": false}}).to_string();
    let job = rest.get(2).map(|path| {
        let other = keep(&mut connection, &std::fs::read_to_string(path).unwrap());
        let toys = json!({"model": other, "wait_s": 0, "options": {"n_toys": 100_000_000}}).to_string();
        let job: Value = serde_json::from_slice(&connection.send("POST", "/v1/toys", &toys)).unwrap();
        format!("/v1/jobs/{}", job["id"].as_str().unwrap())
    });
    let progress = |connection: &mut Connection| {
        let job = job.as_ref()?;
        let status: Value = serde_json::from_slice(&connection.send("GET", job, "")).unwrap();
        status["progress"]["done"].as_f64()
    };
    if job.is_some() {
        // The first toys come after the first fits. They show that the job runs.
        while progress(&mut connection) == Some(0.0) {}
    }
    let before = (progress(&mut connection), Instant::now());
    for clients in [1, clients] {
        // Requests without an analysis show the highest rate that connections and sockets allow.
        let (empty, _) = requests(clients, host, ("GET", "/v1/health", ""), seconds);
        let (rate, times) = requests(clients, host, ("POST", "/v1/fit", &body), seconds);
        println!(
            "server, {clients} client(s): {rate:.0} fits/s ({:.0} % of fit_batch), p50 {:.3} ms, p99 {:.3} ms, longest {:.3} ms; \
             {empty:.0} requests/s of /v1/health",
            100.0 * rate / batch,
            quantile(&times, 0.5),
            quantile(&times, 0.99),
            quantile(&times, 1.0),
        );
    }
    if let (Some(done), Some(now), Some(job)) = (before.0, progress(&mut connection), &job) {
        println!("job of toys meanwhile: {:.0} fits/s", (now - done) / before.1.elapsed().as_secs_f64());
        connection.send("DELETE", job, "");
    }
}
