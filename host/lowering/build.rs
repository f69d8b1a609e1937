//! Compiles the dialect `xla_gpu` and the list of passes against the headers of the MLIR that is
//! linked.

use std::path::PathBuf;
use std::process::Command;

const SOURCES: [&str; 2] = ["mlir/xla_gpu.cpp", "mlir/passes.cpp"];

fn main() -> Result<(), String> {
    SOURCES.iter().for_each(|source| println!("cargo:rerun-if-changed={source}"));
    println!("cargo:rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    let prefix = std::env::var_os("LLVM_SYS_221_PREFIX").map_or_else(|| "/usr/lib/llvm-22".into(), PathBuf::from);
    let config = prefix.join("bin/llvm-config");
    let flags = Command::new(&config).arg("--cxxflags").output();
    let flags = flags.map_err(|error| format!("{} does not run ({error}): run ./setup.sh", config.display()))?;
    let mut build = cc::Build::new();
    build.cpp(true).files(SOURCES).opt_level(1).debug(false).warnings(false);
    for flag in String::from_utf8_lossy(&flags.stdout).split_whitespace() {
        build.flag(flag);
    }
    build.try_compile("fusebox_mlir").map_err(|error| error.to_string())
}
