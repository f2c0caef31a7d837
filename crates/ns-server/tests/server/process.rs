//! Starts and stops a server process for a test.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use serde_json::Value;

/// A running server. It is killed when the test ends.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    log: Option<JoinHandle<Vec<String>>>,
}

impl Server {
    /// Starts a server on a free port with the additional flags `flags`.
    pub(crate) fn start(flags: &[&str]) -> Self {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin!("nextstat-server"))
            .args(["--listen", "127.0.0.1:0", "--device", "cpu"])
            .args(flags)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let first = lines.next().expect("the server logs its address").unwrap();
        let event: Value = serde_json::from_str(&first).unwrap();
        let address = event["fields"]["address"].as_str().unwrap_or_else(|| panic!("{first}"));
        let address = address.parse().unwrap();
        // A thread reads the log to its end, so that the server never waits for its reader.
        let log = std::thread::spawn(move || lines.map_while(Result::ok).collect());
        Self { child, address, log: Some(log) }
    }

    /// Returns the process ID of the server.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the resident memory of the server in kilobytes; `None` on systems without this information.
    pub(crate) fn resident(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace().nth(1)?.parse().ok()
    }

    /// Starts a server that must refuse its flags. Returns what it logs.
    pub(crate) fn refused(flags: &[&str]) -> String {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("nextstat-server"));
        let output = command.args(flags).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    }

    /// Kills the server at once, as `kill -9` does. Returns its log.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.log.take().unwrap().join().unwrap()
    }

    /// Asks the server to stop and waits until it has stopped. Returns its log.
    pub(crate) fn stop(mut self) -> Vec<String> {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
        self.log.take().unwrap().join().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
