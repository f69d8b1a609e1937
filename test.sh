#!/usr/bin/env bash
# Sets up what is missing and runs everything a change has to pass: format, lints, all tests, those of routines also without AVX-512.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh
# Tests build crates outside of the workspace, to which the workspace's profiles do not apply.
export CARGO_PROFILE_DEV_DEBUG=none
cargo fmt --all --check
cargo --config testing/lints.toml test --workspace --all-targets --no-run
cargo --config testing/lints.toml test --workspace
testing/without-avx512.sh
