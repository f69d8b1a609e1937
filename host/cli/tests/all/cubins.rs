//! Machine code for GPUs: when `ptxas` makes it, where it is kept, and errors.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use fusebox_runtime::{CodeImage, Cubin, Executable};

use crate::program::{Ran, Workplace};

const MODULE: &str = "HloModule m
ENTRY main {
  a = f32[8] parameter(0)
  ROOT r = f32[8] add(a, a)
}
";

/// A program that answers like `ptxas`, notes each assembly in the file `calls`, and writes the
/// header of an ELF file as machine code. It refuses code for `sm_80`.
const ASSEMBLER: &str = r#"#!/bin/sh
case "$*" in
  --version) printf 'Cuda compilation tools, release 0.0, VERSION\n' ;;
  *-arch=sm_80*) echo 'ptxas fatal : no such thing' >&2; exit 255 ;;
  *) echo "$*" >> "$(dirname "$0")/calls"
     printf '\177ELF\002\001\001\000\000\000\000\000\000\000\000\000\000\000\276\000'
     printf '\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000'
     printf '\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000'
     printf '\100\000\000\000\000\000\000\000\000\000\000\000' ;;
esac
"#;

struct Place(Workplace);

impl Place {
    fn new() -> Place {
        let place = Place(Workplace::with_module(MODULE));
        place.install("V1");
        place
    }

    /// Installs the assembler with this version.
    fn install(&self, version: &str) {
        let file = self.0.path("ptxas");
        std::fs::write(&file, ASSEMBLER.replace("VERSION", version)).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        let assembler = self.0.path("ptxas");
        self.0.run_with_environment(arguments, &[("FUSEBOX_PTXAS", assembler.to_str().unwrap())])
    }

    /// Runs without an assembler.
    fn run_without(&self, arguments: &[&str]) -> Ran {
        self.0.run_with_environment(arguments, &[("FUSEBOX_PTXAS", ""), ("PATH", "/absent")])
    }

    /// Returns how often the assembler was called.
    fn calls(&self) -> usize {
        std::fs::read_to_string(self.0.path("calls")).unwrap_or_default().lines().count()
    }

    fn cubins(&self, file: &str) -> Vec<Cubin> {
        let executable = Executable::from_bytes(&std::fs::read(self.0.path(file)).unwrap()).unwrap();
        let [CodeImage::Ptx { text, cubins }] = executable.code.as_slice() else { panic!("{:?}", executable.code) };
        assert!(text.contains(".entry"));
        cubins.clone()
    }
}

const COMPILE: [&str; 6] = ["compile", "m.hlo", "--emit", "executable", "--target", "sm_90"];

#[test]
fn machine_code_is_made_for_executables_in_files() {
    let place = Place::new();
    place.run(&[&COMPILE[..], &["-o", "a"]].concat()).succeeded();
    assert_eq!(place.cubins("a").iter().map(|it| it.architecture.as_str()).collect::<Vec<_>>(), ["sm_90"]);
    assert_eq!(place.calls(), 1);
    place.run(&[&COMPILE[..], &["-o", "b", "--cubins", "never"]].concat()).succeeded();
    place.run(&["compile", "m.hlo", "--target", "sm_90", "--emit", "ptx"]).succeeded();
    place.run(&["compile", "m.hlo", "--emit", "executable", "--cubins", "always", "-o", "c"]).succeeded();
    assert!(place.cubins("b").is_empty() && place.calls() == 1);
}

#[test]
fn without_an_assembler_the_executable_has_only_ptx_unless_the_user_asks() {
    let place = Place::new();
    place.run_without(&[&COMPILE[..], &["-o", "a"]].concat()).succeeded();
    assert!(place.cubins("a").is_empty());
    let asked = place.run_without(&[&COMPILE[..], &["-o", "b", "--cubins", "always"]].concat());
    asked.failed(1, &["ptxas, NVIDIA's assembler, is not in PATH"]);
}

#[test]
fn what_the_assembler_refuses_is_an_error_with_its_words() {
    let place = Place::new();
    let refused = place.run(&["compile", "m.hlo", "--emit", "executable", "--target", "sm_80", "-o", "a"]);
    refused.failed(1, &["refuses the kernels for sm_80", "ptxas fatal : no such thing", "--cubins never"]);
    assert!(!place.0.path("a").exists());
    std::fs::write(place.0.path("ptxas"), "#!/bin/sh\necho hello\n").unwrap();
    let refused = place.run(&[&COMPILE[..], &["-o", "a"]].concat());
    refused.failed(1, &["does not tell its version, so it is not NVIDIA's assembler: hello"]);
}

/// The cache has machine code by its PTX and the assembler's version.
#[test]
fn machine_code_is_in_the_cache() {
    let place = Place::new();
    let compile = |module: &str| {
        std::fs::write(place.0.path("m.hlo"), module).unwrap();
        place.run(&[&COMPILE[..], &["-o", "a", "--cache", "cache"]].concat()).succeeded();
        assert_eq!(place.cubins("a").len(), 1);
        place.calls()
    };
    assert_eq!([compile(MODULE), compile(MODULE)], [1, 1]);
    // Another program with the same kernels.
    assert_eq!(compile(&MODULE.replace("HloModule m", "HloModule n")), 1);
    assert_eq!(compile(&MODULE.replace("add(", "multiply(")), 2);
    place.install("V2");
    assert_eq!([compile(MODULE), compile(MODULE)], [3, 3]);
}

/// Assembles with NVIDIA's assembler, if it is there.
#[test]
fn machine_code_has_the_kernels() {
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools/ptxas");
    let program = std::env::var_os("FUSEBOX_PTXAS").map_or(fetched, Into::into);
    if !program.exists() {
        eprintln!("skipped: no ptxas at {}", program.display());
        return;
    }
    let place = Place::new();
    let compile = |file: &str, target: &str| {
        let arguments = ["compile", "m.hlo", "--emit", "executable", "--target", target, "-o", file];
        place.0.run_with_environment(&arguments, &[("FUSEBOX_PTXAS", program.to_str().unwrap())]).succeeded();
        place.cubins(file).remove(0)
    };
    let cubin = compile("a", "sm_90a");
    let executable = Executable::from_bytes(&std::fs::read(place.0.path("a")).unwrap()).unwrap();
    let symbol = executable.kernels[0].symbol.as_bytes();
    assert!(cubin.bytes.windows(symbol.len()).any(|part| part == symbol));
    assert_eq!(cubin.architecture, "sm_90a");
    assert_eq!(compile("b", "sm_90a"), cubin, "machine code is reproducible");
}
