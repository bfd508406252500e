//! One GET over plain HTTP, for the port of a process under test.
//! Must not be in here: anything that a second request would need.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::error::{Doing, KitError, Result};

const TIMEOUT: Duration = Duration::from_secs(5);

/// Status and body of `GET path` at `address`.
pub fn get(address: &str, path: &str) -> Result<(u16, String)> {
    let what = || format!("GET http://{address}{path} failed");
    let mut stream = TcpStream::connect(address).doing(what)?;
    stream.set_read_timeout(Some(TIMEOUT)).doing(what)?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
        .doing(what)?;
    let mut text = String::new();
    stream.read_to_string(&mut text).doing(what)?;
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| KitError::new(format!("{}: no status", what())))?;
    Ok((status, body.to_owned()))
}
