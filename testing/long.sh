#!/usr/bin/env bash
# Runs the random and fuzzing tests with many more cases than `./test.sh` has time for: within two hours
# on two cores. The argument is a seed: `testing/long.sh 7`.
set -euo pipefail
cd "$(dirname "$0")/.."
seed=${1:-1}

export FUSEBOX_FUSION_SEED=$seed FUSEBOX_FUSIONS=20000
cargo test -p fusebox --test all random_fusions::
export FUSEBOX_PRODUCT_SEED=$seed FUSEBOX_PRODUCTS=600 FUSEBOX_CONVOLUTION_SEED=$seed FUSEBOX_CONVOLUTIONS=600
cargo test -p fusebox-emitter-contraction --test all
export FUSEBOX_MATRICES=1300
cargo test -p fusebox-routines --test all linalg::
export FUSEBOX_KILLS=400
cargo test -p fusebox --test all kills::
export FUSEBOX_FUZZ_SEED=$seed FUSEBOX_FUZZ_SECONDS=120
cargo test -p fusebox-fuzz --test all seconds::
# Artifacts and calls of the C interface are input from outside of the process.
RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address cargo run --release -p fusebox-fuzz --no-default-features \
    --target x86_64-unknown-linux-gnu -- artifacts --seed "$seed" --no-memory-limit --cases 2000000 --seconds 1800
# Some calls ask for more memory than there is.
export ASAN_OPTIONS=allocator_may_return_null=1
RUSTC_BOOTSTRAP=1 RUSTFLAGS=-Zsanitizer=address FUSEBOX_SEQUENCE_SEED=$seed FUSEBOX_SEQUENCES=200000 \
    cargo test --release -p fusebox-pjrt --test interface --target x86_64-unknown-linux-gnu sequences::
