//! Giving a client up. librdkafka takes its time to let go of a broker that is gone, and has hung
//! for ever: whoever has partitions to serve must not wait for it.
//! Must not be in here: a client that is still to be used.

use std::sync::mpsc::channel;
use std::time::Duration;

/// How long the end of a client is waited for.
const WAIT: Duration = Duration::from_secs(2);

/// Ends a client beside the calling thread, which goes on once it has ended or after two seconds.
pub(super) fn discard<T: Send + 'static>(what: &'static str, client: T) {
    let (sender, ended) = channel();
    let spawned = std::thread::Builder::new().name("discard".into()).spawn(move || {
        drop(client);
        // Nobody waits any more where it took too long.
        let _ = sender.send(());
    });
    match spawned {
        Ok(_) if ended.recv_timeout(WAIT).is_ok() => {}
        Ok(_) => tracing::warn!(
            "a {what} that was given up has not ended after {} s; it is left to end by itself",
            WAIT.as_secs()
        ),
        // The system has no thread to give: the client was dropped here.
        Err(error) => tracing::warn!("a {what} was ended in place: {error}"),
    }
}

/// The same without a wait.
pub(super) fn leave<T: Send + 'static>(client: T) {
    // Where the system has no thread to give, the client was dropped here.
    let _ = std::thread::Builder::new().name("discard".into()).spawn(move || drop(client));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender};

    /// Ends when it is told to, and tells that it has.
    struct Slow(Receiver<()>, Sender<()>);

    impl Drop for Slow {
        fn drop(&mut self) {
            let _ = self.0.recv();
            let _ = self.1.send(());
        }
    }

    #[test]
    fn a_client_that_does_not_end_keeps_nobody() {
        let ((let_go, told), (tell, ended)) = (channel(), channel());
        discard("client", Slow(told, tell));
        assert!(ended.try_recv().is_err(), "it has not ended, and this thread goes on");
        let_go.send(()).unwrap();
        ended.recv().unwrap();
    }
}
