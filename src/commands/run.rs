//! `oncegate run`: checks, starts the gate, and ends it in order when it is told to.
//! Must not be in here: a rule, or a route's work.

use crate::check::{CheckError, RouteFacts, check};
use crate::cli::{Outcome, RunArgs};
use crate::ops::board::Board;
use crate::ops::logging::LogFormat;
use crate::ops::sampler::Sampler;
use crate::ops::{http, logging};
use crate::service::Service;
use crate::settings::Settings;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

/// How long the cluster may take to answer one question at start.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause before a cluster that was not there is asked again.
const RETRY_PAUSE: Duration = Duration::from_secs(2);
/// Between two looks whether a stop was asked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Runs until a signal or a failure. Refuses to start where `check` would fail; a cluster that
/// is not there is waited for, not ready.
pub fn run(args: RunArgs) -> Outcome {
    logging::start(args.log_format);
    let outcome = match Settings::load_all(&args.config.config, &args.overrides()) {
        Ok((settings, _)) => match serve(settings, args.log_format) {
            Ok(()) => Outcome::Fine,
            Err(why) => {
                tell(args.log_format, &format!("run: {why}"));
                Outcome::Wrong
            }
        },
        Err(faults) => {
            tell(args.log_format, &faults.to_string());
            Outcome::Faulty
        }
    };
    logging::end();
    outcome
}

/// What ends the process is said as it is to a person, and as a line like all others to a program.
fn tell(log_format: LogFormat, what: &str) {
    match log_format {
        LogFormat::Human => eprintln!("{what}"),
        LogFormat::Json => tracing::error!("{what}"),
    }
}

fn serve(settings: Settings, log_format: LogFormat) -> Result<(), String> {
    let stop = Arc::new(AtomicBool::new(false));
    let runtime = Runtime::new().map_err(|error| format!("no threads to be had: {error}"))?;
    stop_at_signal(&runtime, &stop)?;
    let service = Service::new(settings.clone(), stop.clone())?;
    listen(&runtime, &settings, &service)?;
    let board = service.board();
    let Some(facts) = sound_facts(&settings, &stop, &board, log_format)? else {
        return Ok(());
    };
    board.hold_up(None);
    let result = service.run(&facts);
    runtime.shutdown_background();
    if result.is_ok() {
        tracing::info!("ended");
    }
    result
}

/// The facts of a sound check; `None` where a stop was asked for before the cluster answered.
fn sound_facts(
    settings: &Settings,
    stop: &AtomicBool,
    board: &Board,
    log_format: LogFormat,
) -> Result<Option<Vec<RouteFacts>>, String> {
    while !stop.load(Ordering::Relaxed) {
        match check(settings, ANSWER_TIMEOUT) {
            Ok(report) if report.is_sound() => {
                report.findings.iter().for_each(|finding| tracing::warn!("{finding}"));
                return Ok(Some(report.routes));
            }
            Ok(report) => {
                for finding in &report.findings {
                    tell(log_format, &finding.to_string());
                }
                return Err("refused to start; `oncegate check` says the same".into());
            }
            Err(CheckError::Unreachable(why)) => {
                tracing::warn!("the cluster cannot be reached: {why}; trying again");
                board.hold_up(Some(format!("the cluster cannot be reached: {why}")));
                let mut waited = Duration::ZERO;
                while waited < RETRY_PAUSE && !stop.load(Ordering::Relaxed) {
                    std::thread::sleep(LOOK_EVERY);
                    waited += LOOK_EVERY;
                }
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(None)
}

fn stop_at_signal(runtime: &Runtime, stop: &Arc<AtomicBool>) -> Result<(), String> {
    let _context = runtime.enter();
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        let mut signals = signal(kind).map_err(|error| format!("no signals: {error}"))?;
        let stop = stop.clone();
        runtime.spawn(async move {
            if signals.recv().await.is_some() {
                tracing::info!("stopping: the transaction under way is finished first");
                stop.store(true, Ordering::Relaxed);
            }
        });
    }
    Ok(())
}

fn listen(runtime: &Runtime, settings: &Settings, service: &Service) -> Result<(), String> {
    let address = settings.http_listen;
    let failed = |error: std::io::Error| format!("cannot listen on {address}: {error}");
    let listener = runtime.block_on(tokio::net::TcpListener::bind(address)).map_err(failed)?;
    let bound = listener.local_addr().map_err(failed)?;
    tracing::info!(%bound, "listening for /, /status, /livez, /readyz and /metrics");
    let (board, metrics) = (service.board(), service.metrics());
    let sampler = Arc::new(Sampler::new(service.about(), board.clone()));
    let keeper = sampler.clone();
    runtime.spawn(async move { keeper.keep().await });
    runtime.spawn(async move {
        if let Err(error) = http::serve(listener, board, metrics, sampler).await {
            tracing::error!("the HTTP port failed: {error}");
        }
    });
    Ok(())
}
