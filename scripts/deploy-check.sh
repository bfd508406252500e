#!/usr/bin/env bash
# Holds deploy/ to what its readers demand: the manifests to Kubernetes' own schemas, the unit to
# systemd's own reading of it and to a bound on its exposure, the manual page to groff. Installs
# what is missing from packages, where it may.
#   scripts/deploy-check.sh       # after `make build`
# Must not be in here: whether names agree with each other, which tests/deploy checks.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Of 0 to 10, as systemd reckons it.
exposure_max=15 # tenths
cache=${ONCEGATE_CHECK_DIR:-$HOME/.cache/oncegate/deploy-check}
program=${CARGO_TARGET_DIR:-$PWD/target}/release/oncegate

fail() {
    echo "deploy-check: $*" >&2
    exit 1
}
missing=
need() { command -v "$1" >/dev/null || missing="$missing $2"; }
need systemd-analyze systemd
need groff groff-base
need python3 python3
python3 -c 'import ensurepip' 2>/dev/null || missing="$missing python3-venv"
if [ -n "$missing" ]; then
    if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ]; then
        fail "missing here:$missing"
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || true
    # shellcheck disable=SC2086 # a list of words
    apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! [ -x "$cache/bin/kubernetes-validate" ]; then
    python3 -m venv "$cache"
    "$cache/bin/pip" -q --disable-pip-version-check install 'kubernetes-validate>=1.31'
fi
for manifest in deploy/kubernetes/*.yaml; do
    # The one that kubectl reads and the API server never sees.
    [ "${manifest##*/}" = kustomization.yaml ] && continue
    "$cache/bin/kubernetes-validate" --strict --quiet "$manifest" || fail "$manifest"
done

# What the unit names is not installed here.
sed "s|/usr/bin/oncegate|$program|; /^Documentation=/d" deploy/systemd/oncegate.service \
    >"$work/oncegate.service"
[ -x "$program" ] || fail "$program is not there: make build"
systemd-analyze verify "$work/oncegate.service" 2>"$work/verify" || fail "$(cat "$work/verify")"
[ ! -s "$work/verify" ] || fail "$(cat "$work/verify")"
systemd-analyze security --offline=true --threshold=$exposure_max "$work/oncegate.service" \
    >"$work/security" || fail "$(tail -n 1 "$work/security")"

"$program" man >"$work/oncegate.1"
groff -man -Tutf8 -ww -z "$work/oncegate.1" 2>"$work/groff" || fail "$(cat "$work/groff")"
[ ! -s "$work/groff" ] || fail "$(cat "$work/groff")"
bash -n <("$program" completions bash) || fail "the completions of bash"

echo "deploy-check: passed; $(grep -o 'exposure level.*: [0-9.]*' "$work/security")"
