#!/usr/bin/env bash
# Runs the programs of a corpus on the software driver: for every device, kind of launch and number of streams, with
# many orders of concurrent work.
#
#     sweep.sh OUT CORPUS [SEEDS]
#
# OUT gets one file per run, sm_90a-always-4-7.txt for seed 7 on four streams. Runs that have their file are not
# repeated, so the command goes on where it was stopped. CORPUS contains check.py and the folder open. SEEDS is 20
# unless stated: 480 runs. All combinations get their first seed before one gets its second. The exit status is 0 if all
# programs passed in all runs and the driver reported nothing.
#
# FUSEBOX and SOFTWARE_CUDA name the program and the library; both are those of the release build unless stated. PYTHON
# names a Python with numpy.
set -euo pipefail

out=${1:?folder for the results} corpus=${2:?folder with check.py and open} seeds=${3:-20}
root=$(cd "$(dirname "$0")/../.." && pwd)
program=$(realpath "${FUSEBOX:-$root/target/release/fusebox}")
library=$(realpath "${SOFTWARE_CUDA:-$root/target/release/libsoftware_cuda.so}")
mkdir -p "$out/driver"
out=$(realpath "$out")
ln -sf "$library" "$out/driver/libcuda.so.1"

# Runs the corpus once: name of the result, target, graphs, streams, seed.
run() {
  local file=$out/$1.txt device=${2%a}
  if [ -e "$file" ]; then return; fi
  local report=$out/$1.report
  rm -f "$report"
  local settings="LD_LIBRARY_PATH=$out/driver SOFTWARE_CUDA_DEVICE=$device SOFTWARE_CUDA_SEED=$5 SOFTWARE_CUDA_REPORT=$report"
  local command="env $settings $program run {hlo} --target $2 --graphs $3 --streams $4 --inputs {in_npz} --outputs {out_npz}"
  # The exit status is not 0 if a program fails, which the list at the end states.
  "${PYTHON:-python3}" "$corpus/check.py" "$corpus/open" --cmd "$command" > "$file.part" || true
  if [ -s "$report" ]; then
    { echo "reports of the driver:"; cat "$report"; } >> "$file.part"
  fi
  rm -f "$report"
  if ! grep -q '^CORPUS' "$file.part"; then
    echo "check.py does not run the corpus: see $file.part" >&2
    exit 1
  fi
  mv "$file.part" "$file"
  echo "$1: $(grep '^CORPUS' "$file")"
}

for seed in $(seq "$seeds"); do
  for target in sm_80 sm_90 sm_90a sm_100; do
    for graphs in never repeated always; do
      for streams in 1 4; do
        run "$target-$graphs-$streams-$seed" "$target" "$graphs" "$streams" "$seed"
      done
    done
  done
done

failed=0
for file in "$out"/*.txt; do
  if ! grep -q '^CORPUS passed \([0-9]*\) of \1 ' "$file" || grep -q '^reports of the driver' "$file"; then
    echo "failed: $file"
    failed=1
  fi
done
exit $failed
