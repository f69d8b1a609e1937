//! Starts this test again with the library, and checks which features the process then finds.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![allow(clippy::unwrap_used)]

use std::arch::x86_64::__cpuid_count;
use std::hint::black_box;
use std::process::Command;

/// Set in the process that has the library.
const INSIDE: &str = "WITHOUT_AVX512_TEST";

#[test]
fn processes_and_threads_find_avx2_but_not_avx512() {
    if std::env::var_os(INSIDE).is_some() {
        check_features();
        set_handlers();
        check_features();
        std::thread::spawn(check_features).join().unwrap();
        return;
    }
    if !is_x86_feature_detected!("avx2") {
        println!("skipped: this processor has no AVX2");
        return;
    }
    let program = std::env::current_exe().unwrap();
    let library = program.with_file_name("libwithout_avx512.so");
    assert!(library.exists(), "{library:?}");
    let output = Command::new(program).env("LD_PRELOAD", library).env(INSIDE, "1").output().unwrap();
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{:?} {out} {error}", output.status);
    assert!(out.contains("1 passed"), "{out}");
}

/// Sets handlers of signals, as programs do that report their crashes.
fn set_handlers() {
    extern "C" fn ignore(_: libc::c_int) {}
    // SAFETY: zeros are a valid action. The handler has the type that it needs without SA_SIGINFO.
    let (mut new, mut old): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
    new.sa_sigaction = ignore as *const () as libc::sighandler_t;
    for signal in [libc::SIGSEGV, libc::SIGILL] {
        for _ in 0..2 {
            // SAFETY: both pointers are valid.
            assert_eq!(unsafe { libc::sigaction(signal, &new, &mut old) }, 0);
        }
        assert_eq!(old.sa_sigaction, new.sa_sigaction);
    }
}

fn check_features() {
    assert!(is_x86_feature_detected!("avx2"));
    assert!(!is_x86_feature_detected!("avx512f") && !is_x86_feature_detected!("avx512bf16"));
    let features = __cpuid_count(7, 0);
    assert_ne!(features.ebx & 1 << 5, 0, "AVX2");
    assert_eq!(features.ebx & 1 << 16, 0, "AVX512F");
    assert_eq!(features.edx & 1 << 24, 0, "AMX-TILE");
    // The bytes of the instruction in another one are a number, and stay it.
    assert_eq!(black_box(number)(1), 0xa20f_0000 + 1);
}

#[inline(never)]
fn number(small: u32) -> u32 {
    0xa20f_0000 | small
}
