#!/usr/bin/env bash
# Builds dist/: `fusebox` and `fusebox-run` without their symbols, and a manual page for each command.
# Checks that the program needs no installed LLVM, MLIR or C++ library. The build reuses everything of
# a release build except the last link.
set -euo pipefail
cd "$(dirname "$0")"
./setup.sh

cargo rustc --locked --release -p fusebox-run --bin fusebox-run -- -C strip=symbols
cargo rustc --locked --release -p fusebox --bin fusebox -- -C strip=symbols

rm -rf dist
mkdir -p dist/man
cp target/release/fusebox target/release/fusebox-run LICENSE CHANGELOG.md dist/
dist/fusebox man >dist/man/fusebox.1
for command in $(dist/fusebox --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
  if [ "$command" != help ]; then dist/fusebox man "$command" >"dist/man/fusebox-$command.1"; fi
done

if ldd dist/fusebox | grep -E 'LLVM|MLIR|stdc\+\+'; then
  echo "dist: the program still needs these libraries" >&2
  exit 1
fi
# A program is compiled and run, by a plugin: in this process, and in one of its own.
cargo build --locked --release --lib --manifest-path examples/out-of-tree-emitter/Cargo.toml --target-dir target/plugins
echo 'HloModule m
ENTRY main {
  a = f32[1000] parameter(0)
  ROOT b = f32[1000] exponential(a)
}' >target/dist.hlo
for isolate in "" --isolate; do
  dist/fusebox run target/dist.hlo --check --emitter loop=target/plugins/release/libsimple_loop.so $isolate >/dev/null
done
for _ in {1..20}; do
  start=$(date +%s%N)
  dist/fusebox emitters list >/dev/null
  echo $((($(date +%s%N) - start) / 1000))
done | sort -n | sed -n '10s/$/ µs to start (`fusebox emitters list`, median of 20)/p'
du -h dist/fusebox dist/fusebox-run
