#!/bin/sh
# Builds a bench in the profile that all targets share, and prints the path of its program.
#   scripts/bench-path.sh NAME
set -eu
cd "$(dirname "$0")/.."
cargo build --release --workspace --locked --bench "$1" --message-format=json |
    sed -n "s/.*\"name\":\"$1\".*\"executable\":\"\([^\"]*\)\".*/\1/p" | tail -n 1
