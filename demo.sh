#!/usr/bin/env bash
# Sets up what is missing, builds fusebox and runs a fusion: softmax's numerator over 4 x 1000 numbers.
set -euo pipefail
cd "$(dirname "$0")"
# The lowest crates need a linker and none of the packages, so they are compiled while these are installed.
early=
if ! ./setup.sh --check && command -v cc >/dev/null; then
  cargo build --release -p fusebox-core -p fusebox-features &
  early=$!
fi
./setup.sh
if [ -n "$early" ]; then wait "$early"; fi
cargo build --release -p fusebox
echo
cat examples/softmax_numerator.hlo
echo
./target/release/fusebox run examples/softmax_numerator.hlo
