//! The HTTP port: liveness, readiness, metrics.
//! Must not be in here: a way to change anything.

use super::board::Board;
use super::metrics::Metrics;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use std::sync::Arc;
use tokio::net::TcpListener;

/// Serves on a bound listener until the process ends.
///
/// # Errors
/// The listener failed.
pub async fn serve(
    listener: TcpListener,
    board: Arc<Board>,
    metrics: Arc<Metrics>,
) -> std::io::Result<()> {
    let states = board.clone();
    let ready = move || {
        let waits = board.waits_for();
        async move {
            match waits.is_empty() {
                true => (StatusCode::OK, "ready\n".to_owned()),
                false => (StatusCode::SERVICE_UNAVAILABLE, waits.join("\n") + "\n"),
            }
        }
    };
    let text = move || {
        let text = metrics.text(&states);
        async move { text }
    };
    let app = Router::new()
        .route("/livez", get(|| async { "alive\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(text));
    axum::serve(listener, app).await
}
