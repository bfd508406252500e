//! Waiting for the end that a person asks for.
//! Must not be in here: what is done then.

use tokio::signal::unix::{SignalKind, signal};

use crate::Result;
use crate::error::Doing;

/// Waits for SIGINT, SIGTERM or SIGHUP.
pub fn wait_for_signal() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .doing(|| "cannot make a runtime".to_owned())?;
    runtime.block_on(async {
        let failed = || "cannot wait for signals".to_owned();
        let mut terminate = signal(SignalKind::terminate()).doing(failed)?;
        let mut interrupt = signal(SignalKind::interrupt()).doing(failed)?;
        let mut hang_up = signal(SignalKind::hangup()).doing(failed)?;
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hang_up.recv() => {}
        }
        Ok(())
    })
}
