#!/usr/bin/env bash
# What an operations team is given, tried on a run: the alert rules by promtool, the dashboard as a
# file, then every query of both against a Prometheus that scrapes two processes under load on a real
# broker; and the status page of one of them in a browser. Before that, the files of deploy/ are held
# to their readers. Installs Prometheus and Chromium from the system's packages where they are lacking.
# Must not be in here: what is right of a dashboard, which is scripts/check-dashboard.py's to say, or
# of the page, which is scripts/check_page.py's.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

BIN=${BIN:-${CARGO_TARGET_DIR:-target}/release}
# The demo counts what came out before it says that it keeps running.
SCENE_TIMEOUT=150
PROMETHEUS_TIMEOUT=30
PANELS_TIMEOUT=60

say() {
    printf 'test-ops: %s\n' "$*"
}

fail() {
    printf 'test-ops: FAILED: %s\n' "$*" >&2
    exit 1
}

folder=$(mktemp -d "${TMPDIR:-/tmp}/oncegate-test-ops-XXXXXX")
scene=
prometheus=

# Ends what was started, in the order in which each needs the other; keeps the logs of a failure.
cleanup() {
    status=$?
    trap - EXIT INT TERM
    for process in $prometheus $scene; do
        kill -TERM "$process" 2>/dev/null || true
        wait "$process" 2>/dev/null || true
    done
    if [ "$status" -eq 0 ]; then
        rm -rf "$folder"
    else
        printf 'test-ops: ended with status %s; logs are in %s\n' "$status" "$folder" >&2
    fi
    exit "$status"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

has() {
    command -v "$1" >/dev/null 2>&1
}

# Debian's package starts a server of its own; here none is wanted.
install_prometheus() {
    has promtool && has prometheus && return
    has apt-get || fail "promtool and prometheus are not in PATH; install Prometheus 2.40 or later"
    [ "$(id -u)" -eq 0 ] || fail "missing here; run:
    sudo apt-get update && sudo apt-get install -y --no-install-recommends prometheus"
    say "installing prometheus"
    export DEBIAN_FRONTEND=noninteractive
    # A stale list that cannot be renewed may still do.
    apt-get update -qq || true
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
        installed=0
        apt-get install -y -qq --no-install-recommends prometheus >/dev/null || installed=$?
        rm -f "$policy"
    else
        installed=0
        apt-get install -y -qq --no-install-recommends prometheus >/dev/null || installed=$?
    fi
    [ "$installed" -eq 0 ] || fail "apt-get could not install prometheus; see above"
}

install_browser() {
    has chromium || has chromium-browser || has google-chrome && return
    has apt-get || fail "no Chromium is in PATH; install one"
    [ "$(id -u)" -eq 0 ] || fail "missing here; run:
    sudo apt-get update && sudo apt-get install -y --no-install-recommends chromium fonts-dejavu-core"
    say "installing chromium"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || true
    apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null ||
        fail "apt-get could not install chromium; see above"
}

# Waits until a command succeeds: `wait_for SECONDS WHAT COMMAND...`.
wait_for() {
    local until=$((SECONDS + $1)) what=$2
    shift 2
    until "$@"; do
        [ "$SECONDS" -lt "$until" ] || fail "$what: not within the time"
        sleep 0.2
    done
}

# Starts a broker, two processes and traffic that does not end.
start_scene() {
    [ -x "$BIN/demo" ] || fail "$BIN/demo is not there: run make build"
    TMPDIR=$folder "$BIN/demo" --keep --records 20000 >"$folder/scene.log" 2>&1 &
    scene=$!
}

# The addresses of the processes' metrics, one a line; fails while they do not keep running yet.
scene_targets() {
    kill -0 "$scene" 2>/dev/null || {
        tail -n 20 "$folder/scene.log" >&2
        fail "the demo ended"
    }
    grep -q '^demo: keeps running: broker' "$folder/scene.log" || return 1
    sed -n 's#^demo: keeps running:.*http://\([^/ ]*\)/metrics.*#\1#p' "$folder/scene.log"
}

free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Scrapes every second, so that a minute of the dashboard is there in seconds.
start_prometheus() {
    local targets
    targets=$(scene_targets | sed "s/.*/'&'/" | paste -sd, -)
    [ -n "$targets" ] || fail "the demo named no address of metrics"
    address=127.0.0.1:$(free_port)
    cat >"$folder/prometheus.yml" <<EOF
global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }
rule_files: ["$PWD/config/prometheus/alerts.yml"]
scrape_configs:
  - job_name: oncegate
    static_configs: [{ targets: [$targets] }]
EOF
    prometheus --config.file="$folder/prometheus.yml" --storage.tsdb.path="$folder/data" \
        --web.listen-address="$address" --log.level=warn >"$folder/prometheus.log" 2>&1 &
    prometheus=$!
    wait_for "$PROMETHEUS_TIMEOUT" "Prometheus is ready" prometheus_is_ready
}

prometheus_is_ready() {
    kill -0 "$prometheus" 2>/dev/null || {
        tail -n 20 "$folder/prometheus.log" >&2
        fail "Prometheus ended"
    }
    python3 - "http://$address/-/ready" <<'EOF' 2>/dev/null
import sys, urllib.request
urllib.request.urlopen(sys.argv[1], timeout=2)
EOF
}

has python3 || fail "python3 is not in PATH"
install_prometheus
install_browser

say "what deploy/ holds"
scripts/deploy-check.sh
promtool check rules config/prometheus/alerts.yml
promtool test rules config/prometheus/alerts_test.yml
promtool check config config/prometheus/prometheus.yml
python3 -B scripts/dashboard --check
python3 -B scripts/check-dashboard.py

say "starting a broker, two processes and traffic"
start_scene
wait_for "$SCENE_TIMEOUT" "the demo keeps running" scene_targets >/dev/null
start_prometheus
say "Prometheus scrapes $(scene_targets | paste -sd' ' -)"
python3 -B scripts/check-dashboard.py --prometheus "http://$address" --interval 1 --minutes 5 \
    --wait "$PANELS_TIMEOUT"
say "the status page in a browser"
scripts/check-page.sh "http://$(scene_targets | head -n 1)/" "$folder/page"
say "all passed in $SECONDS s"
