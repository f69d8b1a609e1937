//! Compiles the shim that registers the `xla_gpu` dialect.

use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-changed=shim/operations.cpp");
    println!("cargo:rerun-if-env-changed=TABLEGEN_220_PREFIX");
    let prefix = std::env::var_os("TABLEGEN_220_PREFIX").unwrap_or_else(|| "/usr/lib/llvm-22".into());
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .flag("-fno-exceptions")
        .warnings(false)
        .opt_level(1)
        .debug(false)
        .include(PathBuf::from(prefix).join("include"))
        .file("shim/operations.cpp")
        .compile("fusebox_lowering_shim");
}
