//! Compiles the dialect `xla_gpu` and the list of passes against the headers of the MLIR that is
//! linked. A release build links the archives of LLVM, MLIR and the C++ library instead of the
//! shared libraries.

use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: [&str; 2] = ["mlir/xla_gpu.cpp", "mlir/passes.cpp"];

fn main() -> Result<(), String> {
    SOURCES.iter().for_each(|source| println!("cargo:rerun-if-changed={source}"));
    println!("cargo:rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    let prefix = std::env::var_os("LLVM_SYS_221_PREFIX").map_or_else(|| "/usr/lib/llvm-22".into(), PathBuf::from);
    let flags = llvm_config(&prefix, &["--cxxflags"])?;
    let mut build = cc::Build::new();
    build.cpp(true).files(SOURCES).opt_level(1).debug(false).warnings(false);
    for flag in flags.split_whitespace() {
        build.flag(flag);
    }
    build.try_compile("fusebox_mlir").map_err(|error| error.to_string())?;
    if std::env::var("PROFILE").as_deref() == Ok("release") {
        return link_archives(&prefix);
    }
    println!("cargo:rustc-link-search=native={}", prefix.join("lib").display());
    Ok(())
}

fn llvm_config(prefix: &Path, arguments: &[&str]) -> Result<String, String> {
    let config = prefix.join("bin/llvm-config");
    let output = Command::new(&config).args(arguments).output();
    let output = output.map_err(|error| format!("{} does not run ({error}): run ./setup.sh", config.display()))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Makes the linker link archives where the crates request shared libraries. For this purpose,
/// writes linker scripts with the names of the shared libraries. The scripts are in a folder that
/// the linker searches first. A program that contains LLVM and MLIR starts in 8 ms, instead of 40
/// ms with shared libraries. For a compilation, the program takes 0.8 to 0.87 of the time that it
/// takes with shared libraries. The program saves time because the loader does not look up the
/// symbols of LLVM and MLIR. The linker still links glibc as a shared library, because `dlopen` of
/// glibc loads the plugins.
fn link_archives(prefix: &Path) -> Result<(), String> {
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set: run cargo")?).join("archives");
    let in_folder = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(in_folder)?;
    let llvm = llvm_config(prefix, &["--link-static", "--ignore-libllvm", "--libfiles"])?;
    let script = |name: &str, text: String| std::fs::write(folder.join(name), text).map_err(in_folder);
    let archives = [&mlir_archives(prefix)?.join(" "), llvm.trim(), "-l:libz.a -l:libzstd.a"].join(" ");
    script("libMLIR-C.so", format!("GROUP ( {archives} )\n"))?;
    script("libstdc++.so", "GROUP ( -l:libstdc++.a )\n".into())?;
    for name in ["libMLIR.so", "libLLVM-22.so"] {
        script(name, "/* In libMLIR-C.so. */\n".into())?;
    }
    println!("cargo:rustc-link-search=native={}", folder.display());
    Ok(())
}

fn mlir_archives(prefix: &Path) -> Result<Vec<String>, String> {
    let folder = prefix.join("lib");
    let unreadable = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut archives = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_mlir = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libMLIR"));
        if is_mlir && path.extension().is_some_and(|extension| extension == "a") {
            archives.push(path.display().to_string());
        }
    }
    archives.sort();
    Ok(archives)
}
