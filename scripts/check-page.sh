#!/bin/sh
# Looks at the status page of a running process with a headless Chromium: that it shows what
# /status says, fits a telephone, stays live, and says when it cannot reach the process.
# Must not be in here: starting a process, or installing a browser.
# Usage: scripts/check-page.sh URL OUT_DIR     (pictures and the DOM go to OUT_DIR)
set -eu

fail() {
    printf 'check-page: %s\n' "$*" >&2
    exit 1
}

[ $# -eq 2 ] || fail "usage: scripts/check-page.sh URL OUT_DIR"
command -v python3 >/dev/null 2>&1 || fail "python3 is missing"
for browser in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
    if [ -n "$browser" ] && command -v "$browser" >/dev/null 2>&1; then
        mkdir -p "$2"
        exec python3 "$(dirname "$0")/check_page.py" "$browser" "$1" "$2"
    fi
done
fail "no Chromium in PATH (Debian: apt-get install chromium; CHROMIUM names another)"
