//! What stands between the gate and one broker: a TCP proxy that cuts, stalls and delays
//! connections, and holds a request back until its retry has long succeeded.
//! Must not be in here: which fault comes when, or anything of a Kafka request but its API key.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Doing, Result};

/// How often a stalled connection looks whether it may go on.
const LOOK: Duration = Duration::from_millis(5);
/// How long a late request's answer may take before its connection is closed.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
/// The largest request that a client sends here, far above `message.max.bytes`.
const FRAME_MAX: usize = 64 << 20;

/// A request of Kafka's protocol that can be made to come late.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Request {
    /// Writes records.
    Produce,
    /// Makes the group's offsets part of the transaction.
    TxnOffsetCommit,
    /// Commits or aborts a transaction.
    EndTxn,
}

impl Request {
    /// Kafka's number for it (the protocol's "API keys").
    fn api_key(self) -> i16 {
        match self {
            Request::Produce => 0,
            Request::EndTxn => 26,
            Request::TxnOffsetCommit => 28,
        }
    }
}

/// The next request of a kind is held back: its client sees a broken connection, the broker sees
/// the request so much later, on the old connection.
#[derive(Clone, Copy, Debug)]
struct Hold {
    request: Request,
    late_by: Duration,
}

#[derive(Default)]
struct Shared {
    upstream: Mutex<Option<SocketAddr>>,
    stalled: AtomicBool,
    delay_ms: AtomicU64,
    hold: Mutex<Option<Hold>>,
    /// Late requests that the broker has got.
    late: AtomicU64,
    open: Mutex<Vec<(TcpStream, TcpStream)>>,
    closing: AtomicBool,
}

/// A proxy before one broker; it ends with this value.
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

impl Proxy {
    /// Listens on a port of the loopback. Connections are refused until the broker is known.
    pub fn start() -> Result<Proxy> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .doing(|| "cannot listen on the loopback".to_owned())?;
        let port = listener.local_addr().doing(|| "no address".to_owned())?.port();
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, &of_thread));
        Ok(Proxy { port, shared })
    }

    /// Where clients reach it.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The broker's own address.
    pub fn forward_to(&self, address: SocketAddr) {
        *lock(&self.shared.upstream) = Some(address);
    }

    /// Breaks every connection.
    pub fn cut(&self) {
        for (client, broker) in lock(&self.shared.open).drain(..) {
            let _ = client.shutdown(Shutdown::Both);
            let _ = broker.shutdown(Shutdown::Both);
        }
    }

    /// Lets nothing through, or everything again, without breaking a connection.
    pub fn stall(&self, stalled: bool) {
        self.shared.stalled.store(stalled, Ordering::Relaxed);
    }

    /// Each request and each piece of an answer comes so much later; zero for at once.
    pub fn delay(&self, by: Duration) {
        self.shared.delay_ms.store(by.as_millis() as u64, Ordering::Relaxed);
    }

    /// Holds the next request of this kind back.
    pub fn hold(&self, request: Request, late_by: Duration) {
        *lock(&self.shared.hold) = Some(Hold { request, late_by });
    }

    /// Takes back a hold that nothing has met yet.
    pub fn forget_hold(&self) {
        *lock(&self.shared.hold) = None;
    }

    /// How many late requests the broker has got so far.
    pub fn late(&self) -> u64 {
        self.shared.late.load(Ordering::Relaxed)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Relaxed);
        self.cut();
        // Wakes the thread that accepts.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
    }
}

// A thread that panicked must not keep the others from ending.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        if shared.closing.load(Ordering::Relaxed) {
            return;
        }
        let upstream = *lock(&shared.upstream);
        // A client whose broker is down sees a connection that ends at once.
        let pair = client.ok().zip(upstream.and_then(|to| TcpStream::connect(to).ok()));
        if let Some(connection) =
            pair.and_then(|(client, broker)| Connection::new(client, broker, Arc::clone(shared)))
        {
            connection.serve();
        }
    }
}

/// One connection of a client.
struct Connection {
    client: TcpStream,
    broker: TcpStream,
    shared: Arc<Shared>,
    /// The client is gone, the broker's side stays for a late request.
    held: AtomicBool,
    answered: AtomicBool,
}

impl Connection {
    fn new(client: TcpStream, broker: TcpStream, shared: Arc<Shared>) -> Option<Connection> {
        client.set_nodelay(true).ok()?;
        broker.set_nodelay(true).ok()?;
        let pair = (client.try_clone().ok()?, broker.try_clone().ok()?);
        {
            let mut open = lock(&shared.open);
            // Those that ended by themselves are no longer connected.
            open.retain(|(client, _)| client.peer_addr().is_ok());
            open.push(pair);
        }
        let (held, answered) = (AtomicBool::new(false), AtomicBool::new(false));
        Some(Connection { client, broker, shared, held, answered })
    }

    fn serve(self) {
        let requests = Arc::new(self);
        let answers = Arc::clone(&requests);
        thread::spawn(move || answers.carry_answers());
        thread::spawn(move || requests.carry_requests());
    }

    fn carry_requests(&self) {
        let (mut client, mut broker) = (&self.client, &self.broker);
        let mut frame = Vec::new();
        while read_frame(&mut client, &mut frame).is_ok() {
            self.wait_out();
            if let Some(late_by) = self.take_hold(&frame) {
                return self.deliver_late(&frame, late_by);
            }
            if broker.write_all(&frame).is_err() {
                break;
            }
        }
        self.end();
    }

    fn carry_answers(&self) {
        let (mut client, mut broker) = (&self.client, &self.broker);
        let mut buffer = vec![0; 64 << 10];
        while let Ok(read @ 1..) = broker.read(&mut buffer) {
            if self.held.load(Ordering::Relaxed) {
                self.answered.store(true, Ordering::Relaxed);
                continue;
            }
            self.wait_out();
            if client.write_all(&buffer[..read]).is_err() && !self.held.load(Ordering::Relaxed) {
                break;
            }
        }
        self.end();
    }

    /// Waits as long as the proxy is told to.
    fn wait_out(&self) {
        let delay_ms = self.shared.delay_ms.load(Ordering::Relaxed);
        if delay_ms > 0 {
            thread::sleep(Duration::from_millis(delay_ms));
        }
        while self.shared.stalled.load(Ordering::Relaxed)
            && !self.shared.closing.load(Ordering::Relaxed)
        {
            thread::sleep(LOOK);
        }
    }

    fn take_hold(&self, frame: &[u8]) -> Option<Duration> {
        let api_key = i16::from_be_bytes([*frame.get(4)?, *frame.get(5)?]);
        let mut hold = lock(&self.shared.hold);
        let taken = hold.filter(|hold| hold.request.api_key() == api_key)?;
        *hold = None;
        Some(taken.late_by)
    }

    /// The client sees a broken connection and asks again on another one; what it asked first
    /// comes to the broker afterwards.
    fn deliver_late(&self, frame: &[u8], late_by: Duration) {
        self.held.store(true, Ordering::Relaxed);
        let _ = self.client.shutdown(Shutdown::Both);
        thread::sleep(late_by);
        if (&self.broker).write_all(frame).is_ok() {
            let until = Instant::now() + ANSWER_TIMEOUT;
            while !self.answered.load(Ordering::Relaxed) && Instant::now() < until {
                thread::sleep(LOOK);
            }
            self.shared.late.fetch_add(1, Ordering::Relaxed);
        }
        self.held.store(false, Ordering::Relaxed);
        self.end();
    }

    fn end(&self) {
        let _ = self.client.shutdown(Shutdown::Both);
        if !self.held.load(Ordering::Relaxed) {
            let _ = self.broker.shutdown(Shutdown::Both);
        }
    }
}

/// Reads one request with its length before it.
fn read_frame(from: &mut impl Read, frame: &mut Vec<u8>) -> std::io::Result<()> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let size = u32::from_be_bytes(length) as usize;
    if size > FRAME_MAX {
        return Err(std::io::ErrorKind::InvalidData.into());
    }
    frame.clear();
    frame.extend_from_slice(&length);
    frame.resize(4 + size, 0);
    from.read_exact(&mut frame[4..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::wait_until;

    const SOON: Duration = Duration::from_secs(20);

    /// A broker that keeps every request and answers each with one byte.
    fn broker() -> (SocketAddr, Arc<Mutex<Vec<Vec<u8>>>>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let got: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let of_thread = Arc::clone(&got);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, got) = (stream.unwrap(), Arc::clone(&of_thread));
                thread::spawn(move || {
                    let mut frame = Vec::new();
                    while read_frame(&mut stream, &mut frame).is_ok() {
                        lock(&got).push(frame[4..].to_vec());
                        let _ = stream.write_all(b"!");
                    }
                });
            }
        });
        (address, got)
    }

    fn request(api_key: i16, number: u8) -> Vec<u8> {
        [&[0, 0, 0, 3][..], &api_key.to_be_bytes(), &[number]].concat()
    }

    fn connect(proxy: &Proxy) -> TcpStream {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, proxy.port())).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream
    }

    #[test]
    fn a_held_request_comes_after_its_retry() {
        let (address, got) = broker();
        let proxy = Proxy::start().unwrap();
        proxy.forward_to(address);
        proxy.hold(Request::EndTxn, Duration::from_millis(200));
        let mut client = connect(&proxy);
        client.write_all(&request(0, 1)).unwrap();
        assert_eq!(client.read(&mut [0]).unwrap(), 1, "another kind passes");
        client.write_all(&request(26, 2)).unwrap();
        assert!(matches!(client.read(&mut [0]), Ok(0) | Err(_)), "the connection breaks");
        let mut retry = connect(&proxy);
        retry.write_all(&request(26, 3)).unwrap();
        assert_eq!(retry.read(&mut [0]).unwrap(), 1);
        wait_until(SOON, "the late request came", || proxy.late() == 1).unwrap();
        let numbers: Vec<u8> = lock(&got).iter().map(|request| request[2]).collect();
        assert_eq!(numbers, [1, 3, 2]);
    }

    #[test]
    fn cut_and_stalled_connections() {
        let (address, got) = broker();
        let proxy = Proxy::start().unwrap();
        proxy.forward_to(address);
        let mut client = connect(&proxy);
        client.write_all(&request(0, 1)).unwrap();
        assert_eq!(client.read(&mut [0]).unwrap(), 1);
        proxy.stall(true);
        client.write_all(&request(0, 2)).unwrap();
        client.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        assert!(client.read(&mut [0]).is_err(), "nothing comes");
        assert_eq!(lock(&got).len(), 1);
        proxy.stall(false);
        client.set_read_timeout(Some(SOON)).unwrap();
        assert_eq!(client.read(&mut [0]).unwrap(), 1);
        proxy.cut();
        assert!(matches!(client.read(&mut [0]), Ok(0) | Err(_)));
    }
}
