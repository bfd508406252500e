//! One GET over plain HTTP, for `oncegate status`: asked as HTTP/1.0, so that the answer comes
//! whole and the connection ends with it.
//! Must not be in here: TLS, redirects, proxies of the environment, or what is fetched.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// An answer that is longer is not one of ours.
const BYTES_MAX: usize = 64 << 20;

/// Where to ask: `http://host:port`, perhaps with a path before ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Host without brackets.
    host: String,
    port: u16,
    /// Empty, or a path that begins with `/` and does not end with it.
    prefix: String,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// Status line and headers.
    pub head: String,
    /// What follows them.
    pub body: String,
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Address, String> {
        let faulty = || format!("`{text}` is not written http://HOST:PORT");
        let rest = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("https") => {
                return Err("the port speaks plain HTTP, without TLS: http://HOST:PORT".to_owned());
            }
            Some(_) => return Err(faulty()),
            None => text,
        };
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let (host, port) = match authority.strip_prefix('[') {
            Some(v6) => {
                let (host, after) = v6.split_once(']').ok_or_else(faulty)?;
                (host, after.strip_prefix(':').or(after.is_empty().then_some("80")))
            }
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, Some("80")),
            },
        };
        let port = port.and_then(|port| port.parse().ok()).ok_or_else(faulty)?;
        let odd = |c: char| c.is_control() || c.is_whitespace() || "?#@/".contains(c);
        let path = path.trim_end_matches('/');
        if host.is_empty() || host.contains(odd) || path.contains(|c| c != '/' && odd(c)) {
            return Err(faulty());
        }
        let prefix = if path.is_empty() { String::new() } else { format!("/{path}") };
        Ok(Address { host: host.to_owned(), port, prefix })
    }
}

impl From<SocketAddr> for Address {
    fn from(socket: SocketAddr) -> Address {
        Address { host: socket.ip().to_string(), port: socket.port(), prefix: String::new() }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority(), self.prefix)
    }
}

impl Address {
    fn authority(&self) -> String {
        match self.host.contains(':') {
            true => format!("[{}]:{}", self.host, self.port),
            false => format!("{}:{}", self.host, self.port),
        }
    }
}

/// Asks for a path below the address; all together may take so long.
///
/// # Errors
/// One line that says why there is no answer.
pub fn get(address: &Address, path: &str, patience: Duration) -> Result<Answer, String> {
    let until = Instant::now() + patience;
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => {
            format!("no answer within {} s", patience.as_secs_f32())
        }
        ErrorKind::ConnectionRefused => "nothing listens there (connection refused)".to_owned(),
        _ => error.to_string(),
    };
    let mut stream = connect(address, until).map_err(failed)?;
    let (prefix, authority) = (&address.prefix, address.authority());
    let request =
        format!("GET {prefix}{path} HTTP/1.0\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    let answer = stream
        .write_all(request.as_bytes())
        .and_then(|()| read_all(&mut stream, until))
        .map_err(failed)?;
    parse(&answer).ok_or_else(|| "what answers there does not speak HTTP".to_owned())
}

fn left(until: Instant) -> std::io::Result<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// Connects to the first of the host's addresses that takes the connection.
fn connect(address: &Address, until: Instant) -> std::io::Result<TcpStream> {
    let mut failed = ErrorKind::AddrNotAvailable.into();
    for socket in (address.host.as_str(), address.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&socket, left(until)?) {
            Ok(stream) => {
                stream.set_write_timeout(Some(left(until)?))?;
                return Ok(stream);
            }
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn read_all(stream: &mut TcpStream, until: Instant) -> std::io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    let mut piece = [0; 16 << 10];
    loop {
        stream.set_read_timeout(Some(left(until)?))?;
        match stream.read(&mut piece) {
            Ok(0) => return Ok(answer),
            Ok(read) => answer.extend_from_slice(&piece[..read]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if answer.len() > BYTES_MAX {
            return Err(std::io::Error::other("the answer has no end"));
        }
    }
}

fn parse(answer: &[u8]) -> Option<Answer> {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, head: head.to_owned(), body: body.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        for (text, told) in [
            ("http://127.0.0.1:9464", "http://127.0.0.1:9464"),
            ("http://gate-0.gate:9464/", "http://gate-0.gate:9464"),
            ("localhost:9464", "http://localhost:9464"),
            ("HTTP://[::1]:9464", "http://[::1]:9464"),
            ("http://gate", "http://gate:80"),
            ("http://proxy:80/gate/0/", "http://proxy:80/gate/0"),
        ] {
            assert_eq!(text.parse::<Address>().map(|a| a.to_string()), Ok(told.to_owned()));
        }
        for text in
            ["", "http://", "ftp://x", "http://x:y", "http://x:99999", "http://a b:1", "a?b"]
        {
            assert!(text.parse::<Address>().is_err(), "{text:?} was taken");
        }
        assert!("https://x:1".parse::<Address>().unwrap_err().contains("without TLS"));
    }

    /// What a listener of one's own answers is what comes.
    fn answer(bytes: &'static [u8], patience: Duration) -> Result<Answer, String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address: Address = listener.local_addr().unwrap().to_string().parse().unwrap();
        let serving = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut asked = [0; 1024];
            let _ = stream.read(&mut asked);
            let _ = stream.write_all(bytes);
            if bytes.is_empty() {
                std::thread::sleep(Duration::from_millis(500));
            }
        });
        let answer = get(&address, "/status", patience);
        serving.join().unwrap();
        answer
    }

    #[test]
    fn an_answer_or_one_clear_line() {
        let soon = Duration::from_secs(10);
        let got = answer(b"HTTP/1.0 503 Service Unavailable\r\nA: b\r\n\r\nbody", soon).unwrap();
        assert_eq!((got.status, got.body.as_str()), (503, "body"));
        assert!(answer(b"220 mail.example ESMTP\r\n\r\n", soon).unwrap_err().contains("HTTP"));
        let late = answer(b"", Duration::from_millis(100)).unwrap_err();
        assert_eq!(late, "no answer within 0.1 s");
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address: Address = listener.local_addr().unwrap().to_string().parse().unwrap();
        drop(listener);
        assert!(get(&address, "/", soon).unwrap_err().contains("connection refused"));
    }
}
