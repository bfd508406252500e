//! The HTTP port: liveness, readiness, metrics, status and its page.
//! Must not be in here: a way to change anything.

use super::board::Board;
use super::metrics::Metrics;
use super::page::Page;
use super::sampler::Sampler;
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use std::sync::Arc;
use tokio::net::TcpListener;

/// For the page only: no other site may show it in a frame of its own, or learn its address.
const OF_PAGE: [(HeaderName, &str); 4] = [
    (header::CONTENT_TYPE, "text/html; charset=utf-8"),
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
];
const OF_STATUS: [(HeaderName, &str); 2] =
    [(header::CACHE_CONTROL, "no-store"), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];

/// Serves on a bound listener until the process ends.
///
/// # Errors
/// The listener failed.
pub async fn serve(
    listener: TcpListener,
    board: Arc<Board>,
    metrics: Arc<Metrics>,
    sampler: Arc<Sampler>,
) -> std::io::Result<()> {
    axum::serve(listener, router(board, metrics, sampler)).await
}

fn router(board: Arc<Board>, metrics: Arc<Metrics>, sampler: Arc<Sampler>) -> Router {
    let states = board.clone();
    let page = Arc::new(Page::new());
    Router::new()
        .route("/livez", get(|| async { "alive\n" }))
        .route("/readyz", get(move || std::future::ready(ready(&board))))
        .route("/metrics", get(move || std::future::ready(metrics.text(&states))))
        .route("/status", get(move || std::future::ready((OF_STATUS, Json(sampler.status())))))
        .route("/", get(move || std::future::ready(document(&page))))
}

fn ready(board: &Board) -> (StatusCode, String) {
    let waits = board.waits_for();
    match waits.is_empty() {
        true => (StatusCode::OK, "ready\n".to_owned()),
        false => (StatusCode::SERVICE_UNAVAILABLE, waits.join("\n") + "\n"),
    }
}

fn document(page: &Page) -> Response {
    let policy = [(header::CONTENT_SECURITY_POLICY, page.policy.clone())];
    (OF_PAGE, policy, page.html.clone()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::fetch::{Address, get as fetch};
    use crate::ops::metrics::HostFigures;
    use crate::ops::status::{About, RouteNames, Status};
    use crate::processor::observer::WorkerView;
    use std::time::Duration;

    /// A port with one route and one worker.
    fn serving() -> (tokio::runtime::Runtime, Arc<Board>, Address) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        let board = Arc::new(Board::new(1));
        let metrics = Metrics::new(["lab"], Box::new(HostFigures::default)).unwrap();
        let lab = RouteNames { name: "lab".into(), raw: "r".into(), clean: "c".into() };
        let about = About { instance: "i".into(), group: "g".into(), routes: vec![lab] };
        let sampler = Arc::new(Sampler::new(about, board.clone()));
        runtime.spawn(serve(listener, board.clone(), Arc::new(metrics), sampler));
        (runtime, board, address)
    }

    #[test]
    fn the_port_tells_readiness_and_status() {
        let (_runtime, board, address) = serving();
        let ask = |path: &str| fetch(&address, path, Duration::from_secs(10)).unwrap();
        assert_eq!(ask("/livez").status, 200);
        assert_eq!(ask("/readyz").status, 503);
        let status: Status = serde_json::from_str(&ask("/status").body).unwrap();
        assert!(!status.ready);
        assert_eq!(status.waits_for, ["0 of 1 workers started"]);
        let view = WorkerView { joined: true, producing: true, ..WorkerView::default() };
        board.set(&("lab".to_owned(), 0), view);
        assert_eq!(ask("/readyz").status, 200);
        let status: Status = serde_json::from_str(&ask("/status").body).unwrap();
        assert!(status.ready);
        assert!(ask("/metrics").body.contains("oncegate_"));
        assert_eq!(ask("/nothing").status, 404);
    }

    #[test]
    fn the_page_comes_with_a_policy() {
        let (_runtime, _board, address) = serving();
        let page = fetch(&address, "/", Duration::from_secs(10)).unwrap();
        assert_eq!(page.status, 200);
        let head = page.head.to_lowercase();
        for line in [
            "content-security-policy: default-src 'none'; style-src 'sha256-",
            "text/html",
            "nosniff",
        ] {
            assert!(head.contains(line), "{line} is not in {head}");
        }
        assert!(page.body.starts_with("<!doctype html>"));
    }
}
