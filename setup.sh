#!/usr/bin/env bash
# Installs what fusebox needs and this machine lacks: LLVM and MLIR 22 from Debian's packages, and
# NVIDIA's ptxas (from PyPI, into .tools/), with which tests check PTX. Safe to run again: what is
# there already is left alone. `./setup.sh --check` installs nothing: it fails if a package is missing.
set -euo pipefail
cd "$(dirname "$0")"

packages=(llvm-22-dev libmlir-22-dev mlir-22-tools libpolly-22-dev libclang1-22 libclang-common-22-dev g++ zlib1g-dev libzstd-dev python3 python3-pip)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
if [ "${1:-}" = --check ]; then exit $((${#missing[@]} > 0)); fi
if [ ${#missing[@]} -gt 0 ]; then
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then as_root=(sudo); fi
  echo "setup: installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# ptxas only checks generated code; without it those tests say that they are skipped.
if [ ! -x .tools/ptxas ]; then
  echo "setup: fetching ptxas"
  mkdir -p .tools
  if python3 -m pip download -q --disable-pip-version-check --no-deps -d .tools/download nvidia-cuda-nvcc; then
    python3 - <<'PY'
import glob, os, stat, zipfile
wheel = zipfile.ZipFile(glob.glob('.tools/download/nvidia_cuda_nvcc*.whl')[0])
name = next(n for n in wheel.namelist() if n.endswith('bin/ptxas'))
with open('.tools/ptxas', 'wb') as out:
    out.write(wheel.read(name))
os.chmod('.tools/ptxas', os.stat('.tools/ptxas').st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
PY
    rm -rf .tools/download
  else
    echo "setup: ptxas could not be fetched; tests that need it will say so" >&2
  fi
fi
