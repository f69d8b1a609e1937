#!/usr/bin/env bash
# Prepares a build that contains LLVM, MLIR and the C++ library: writes linker scripts into a folder, whose path it prints. With
# this folder as the first that the linker searches (`cargo rustc … -- -L native=FOLDER`), the names of the shared libraries, for
# which the crates ask (.cargo/config.toml), lead to archives, of which the linker takes what is referred to.
set -euo pipefail
cd "$(dirname "$0")/.."
llvm=/usr/lib/llvm-22
scripts=$PWD/target/static-llvm
archives=("$llvm"/lib/libMLIR*.a $("$llvm"/bin/llvm-config --link-static --ignore-libllvm --libfiles))
mkdir -p "$scripts"
echo "GROUP ( ${archives[*]} -l:libz.a -l:libzstd.a )" >"$scripts/libMLIR-C.so"
echo "GROUP ( -l:libstdc++.a )" >"$scripts/libstdc++.so"
echo "/* In libMLIR-C.so. */" | tee "$scripts/libMLIR.so" >"$scripts/libLLVM-22.so"
echo "$scripts"
