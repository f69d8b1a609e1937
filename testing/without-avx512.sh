#!/usr/bin/env bash
# Runs the tests of the routines, the lowering and the products as on a processor without AVX-512, where this one has it.
# Libraries choose their code by CPUID, so testing/without-avx512 answers it as such a processor does.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! grep -qs avx512f /proc/cpuinfo; then exit 0; fi
# The binaries of `./test.sh`, which are not built again: the library first, then the tests.
found=$(cargo --config testing/lints.toml test --workspace --no-run --quiet --message-format=json | python3 -c '
import json, sys
libraries, tests = [], []
for line in sys.stdin:
    made = json.loads(line)
    if made.get("reason") != "compiler-artifact":
        continue
    libraries += [file for file in made["filenames"] if file.endswith("/libwithout_avx512.so")]
    packages = ("fusebox-routines", "fusebox-lowering", "fusebox-emitter-contraction")
    if made.get("executable") and any(package in made["package_id"] for package in packages):
        tests.append(made["executable"])
print(*libraries[:1], *tests, sep="\n")
')
library=$(head -1 <<<"$found")
for tests in $(tail -n +2 <<<"$found"); do
  echo "without AVX-512: $tests"
  LD_PRELOAD=$library "$tests" -q
done
