//! Sends random requests, of which many are broken, incomplete or abandoned. The server must answer each request and
//! keep running.
//!
//! The environment variable `NEXTSTAT_HOSTILE_SECONDS` sets the duration of the test, and `NEXTSTAT_HOSTILE_SEED` the
//! seed of the random numbers.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::http::{get, open, post, read};
use super::process::Server;
use super::{body, fixture};

/// A generator of random numbers (splitmix64). A seed gives the same requests on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn of<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// Replaces a randomly chosen part of `value` by a value of a wrong type or size.
fn spoil(value: &mut Value, random: &mut Random) {
    let odd = [
        json!(null),
        json!(-1),
        json!(1e308),
        json!("\u{202e}\u{0}"),
        json!([]),
        json!({}),
        json!([[[[1]]]]),
        json!(true),
        json!(18_446_744_073_709_551_615_u64),
        json!("../../../etc/passwd"),
    ];
    let children = match value {
        Value::Array(items) => items.len(),
        Value::Object(keys) => keys.len(),
        _ => 0,
    };
    if children == 0 || random.below(6) == 0 {
        *value = random.of(&odd).clone();
        return;
    }
    let at = random.below(children);
    match value {
        Value::Array(items) => spoil(&mut items[at], random),
        Value::Object(keys) => spoil(keys.values_mut().nth(at).unwrap(), random),
        _ => {}
    }
}

const ANALYSES: [&str; 14] = [
    "fit",
    "scan",
    "ranking",
    "hypotest",
    "hypotest-toys",
    "toys",
    "upper-limit",
    "significance",
    "gof",
    "yields",
    "inspect",
    "validate",
    "models",
    "fit-batch",
];

#[test]
fn random_requests_are_answered_and_the_server_lives() {
    let number = |name, usual| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
    let mut random = Random(number("NEXTSTAT_HOSTILE_SEED", 1));
    let time = Duration::from_secs(number("NEXTSTAT_HOSTILE_SECONDS", 5));
    let server = Server::start(&["--max-time", "5", "--memory", "200M", "--max-body", "1M"]);
    let workspaces = ["simple_workspace.json", "all_modifiers.json", "shared_names.json"].map(fixture);
    let further = [
        json!({}),
        json!({"mu": 1.0, "options": {"n_toys": 50}}),
        json!({"mu": 1.0, "wait_s": 0, "options": {"fit": {"fixed": {"mu": 1.0}}}}),
        json!({"options": {"first": {"points": 5}}}),
        json!({"datasets": [{"main": [1.0, 2.0]}], "device": "cpu"}),
    ];
    let (began, mut n, mut early) = (Instant::now(), 0, None);
    while began.elapsed() < time {
        n += 1;
        let name = *random.of(&ANALYSES);
        let workspace: &String = random.of(&workspaces);
        let text = body(workspace, random.of(&further).clone());
        let mut request: Value = serde_json::from_str(&text).unwrap();
        for _ in 0..random.below(4) {
            spoil(&mut request, &mut random);
        }
        let mut text = request.to_string();
        let path = format!("/v1/{name}{}", random.of(&["", "", "?plot=svg", "?plot=", "?x=1"]));
        match random.below(8) {
            0 => text.truncate(text.char_indices().nth(random.below(text.chars().count())).unwrap().0),
            1 => {
                // The client leaves without waiting.
                drop(open(server.address, "POST", &path, "content-type: application/json\r\n", &text));
                continue;
            }
            2 => {
                let mut stream = TcpStream::connect(server.address).unwrap();
                let noise: Vec<u8> = (0..random.below(300)).map(|_| random.next() as u8).collect();
                // The server may close the connection at the first wrong byte.
                let _ = stream.write_all(&noise);
                continue;
            }
            _ => {}
        }
        let answer = post(server.address, &path, &text);
        let good = matches!(answer.status, 200 | 202 | 400..=499 | 503);
        assert!(good, "request {n}: {path} {text}: {} {}", answer.status, answer.text());
        if answer.status >= 400 {
            assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{path} {text}");
        }
        if n == 200 {
            early = server.resident();
        }
    }
    assert_eq!(read(open(server.address, "GET", "/v1/health", "", "")).status, 200);
    if let (Some(early), Some(late)) = (early, server.resident()) {
        assert!(late < 2 * early + (300 << 10), "{early} kB became {late} kB after {n} requests");
    }
    let deadline = Instant::now() + Duration::from_secs(30);
    while !get(server.address, "/metrics").text().contains("nextstat_active 0\n") {
        assert!(Instant::now() < deadline, "requests are left in progress");
    }
    let log = server.stop();
    assert!(!log.iter().any(|line| line.contains("panicked")), "{log:?}");
}
