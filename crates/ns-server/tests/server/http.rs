//! Sends HTTP requests over plain sockets, so that the tests do not depend on the server's HTTP library.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// An HTTP response.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// Returns the body as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// Returns the body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// Returns a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let value = |line: &'_ str| {
            let (key, _) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(key.len())
        };
        self.head.lines().find_map(|line| value(line).map(|at| line[at + 1..].trim()))
    }
}

/// Writes a request and leaves the connection open.
pub(crate) fn open(to: SocketAddr, method: &str, path: &str, headers: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(to).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: {to}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    // A server that refuses the head of a request need not read its body.
    let _ = stream.write_all(body.as_bytes());
    stream
}

/// Reads the response from a connection until its end.
pub(crate) fn read(mut stream: TcpStream) -> Response {
    let mut bytes = Vec::new();
    // A server that refuses a body may close the connection while the body is being sent.
    if let Err(error) = stream.read_to_end(&mut bytes) {
        assert!(!bytes.is_empty(), "{error}");
    }
    let split = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8(bytes[..split].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let mut body = bytes[split + 4..].to_vec();
    if head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        body = unchunked(&body);
    }
    Response { status, head, body }
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            break;
        }
        body.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
    body
}

/// Sends a request with the additional headers `headers` and returns its response.
pub(crate) fn send(to: SocketAddr, method: &str, path: &str, headers: &str, body: &str) -> Response {
    read(open(to, method, path, headers, body))
}

const JSON: &str = "content-type: application/json\r\n";

/// Sends a POST request with a JSON body and returns its response. A result must follow its schema.
pub(crate) fn post(to: SocketAddr, path: &str, body: &str) -> Response {
    let response = send(to, "POST", path, JSON, body);
    if response.status == 200 {
        super::schemas::check(path, &response.body);
    }
    response
}

/// Sends a POST request with a JSON body, and leaves the connection open.
pub(crate) fn post_open(to: SocketAddr, path: &str, body: &str) -> TcpStream {
    open(to, "POST", path, JSON, body)
}

/// Sends a GET request for a path and returns its response.
pub(crate) fn get(to: SocketAddr, path: &str) -> Response {
    send(to, "GET", path, "", "")
}

/// Sends a DELETE request for a path and returns its response.
pub(crate) fn delete(to: SocketAddr, path: &str) -> Response {
    send(to, "DELETE", path, "", "")
}
