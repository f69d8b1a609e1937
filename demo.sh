#!/usr/bin/env bash
# Sets up what is missing, builds fusebox and runs a fusion: softmax's numerator over 4 x 1000 numbers.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh
cargo build --release -p fusebox
echo
cat examples/softmax_numerator.hlo
echo
./target/release/fusebox run examples/softmax_numerator.hlo
