//! Where log lines go: to standard error, one line an event.
//! Must not be in here: a payload, an identity value or a secret.

use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

/// Starts logging, at `info` unless `RUST_LOG` says otherwise; panics go through it as well.
pub fn start() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let message = panic.payload_as_str().unwrap_or("no message");
        tracing::error!(place, "panic: {message}");
    }));
}
