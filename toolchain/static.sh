#!/usr/bin/env bash
# Prepares a build that contains LLVM, MLIR and the C++ library: writes linker scripts into a
# folder, and prints the path of the folder. The crates ask for shared libraries
# (.cargo/config.toml). If the linker searches this folder first (`cargo rustc … -- -L
# native=FOLDER`), it finds scripts of these names, which hand out archives.
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
