#!/usr/bin/env bash
# Runs the tests of the routines on an emulated processor without AVX-512, where this one has it: the libraries that they call choose
# instructions by asking the processor. (Kernels are compiled for `cpu,-avx512` by the tests themselves.)
set -euo pipefail
cd "$(dirname "$0")/.."

if ! grep -qs avx512f /proc/cpuinfo; then exit 0; fi
if ! command -v qemu-x86_64 >/dev/null; then
  echo "skipped: routines without AVX-512, as there is no qemu-x86_64 (qemu-user)" >&2
  exit 0
fi
# The binaries of `./test.sh`, which are not built again.
found=$(cargo --config testing/lints.toml test --workspace --no-run --quiet --message-format=json | python3 -c '
import json, sys
for line in sys.stdin:
    made = json.loads(line)
    if made.get("executable") and "fusebox-routines" in made["package_id"]:
        print(made["executable"])
')
if [ -z "$found" ]; then
  echo "no tests of the routines were found among those of the workspace" >&2
  exit 1
fi
for tests in $found; do
  echo "without AVX-512: $tests"
  # Emulation takes some thirty times as long, so that there are fewer matrices, few lines to sort, and transforms of at
  # most 512 numbers in a dimension.
  FUSEBOX_FFT_LENGTH=512 FUSEBOX_MATRICES=14 qemu-x86_64 -cpu max "$tests" -q --skip long_lines --skip two_thousand
done
