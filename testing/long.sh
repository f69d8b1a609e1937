#!/usr/bin/env bash
# Runs the random and fuzzing tests with many more cases than `./test.sh` has time for: within an hour
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
