//! Checks operations of routines with unsupported operands. The error must name the operation, its
//! line and the requirement, and must need little time and memory. Supported edge cases must
//! succeed.

use crate::program::{Ran, Workplace};

/// Returns a module that applies one operation to parameters of these shapes (separated by `; `),
/// and the line of the operation.
fn module(operands: &str, operation: &str) -> (String, usize) {
    let operands: Vec<&str> = operands.split("; ").filter(|shape| !shape.is_empty()).collect();
    let mut text = String::from(
        "HloModule m\nless {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = pred[] compare(a, b), direction=LT\n}\nrandom {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  n = pred[] constant(false)\n  y = pred[] constant(true)\n  ROOT r = pred[] rng(n, y), distribution=rng_uniform\n}\nENTRY e {\n",
    );
    for (number, shape) in operands.iter().enumerate() {
        text += &format!("  p{number} = {shape} parameter({number})\n");
    }
    let names: Vec<String> = (0..operands.len()).map(|number| format!("p{number}")).collect();
    let operation = operation.replacen("()", &format!("({})", names.join(", ")), 1);
    let line = text.lines().count() + 1;
    (text + &format!("  ROOT x = {operation}\n}}\n"), line)
}

/// Runs one operation with 1 GiB of address space and 10 seconds of processor time. The program
/// itself takes a third of this address space.
fn run(operands: &str, operation: &str) -> (Ran, usize) {
    let (text, line) = module(operands, operation);
    let place = Workplace::with_module(&text);
    (place.shell("ulimit -v 1048576; ulimit -t 10; exec \"$@\" --threads 1", &["run", "m.hlo"]), line)
}

/// Checks that the program fails with exit code 1, and that the message contains these words and
/// the line of the operation.
fn refused(operands: &str, operation: &str, words: &str) {
    let (ran, line) = run(operands, operation);
    let said = &ran.err;
    assert_eq!(ran.code, Some(1), "{operands} {operation}: {}{said}", ran.out);
    assert!(said.contains(&format!("m.hlo:{line}:")), "{operands} {operation}: no place in {said}");
    assert!(said.contains(words), "{operands} {operation}: `{words}` is missing in {said}");
}

fn done(operands: &str, operation: &str) {
    let (ran, _) = run(operands, operation);
    assert_eq!(ran.code, Some(0), "{operands} {operation}: {}", ran.err);
}

/// Returns the text of a custom call of a target. `config` is the content of the dictionary in its
/// `backend_config`.
fn call(result: &str, target: &str, config: &str) -> String {
    format!("{result} custom-call(), custom_call_target=\"{target}\", backend_config=\"{{{config}}}\"")
}

/// LAPACK's functions with operands, results and attributes. In shapes, N is the number of rows and
/// columns, and M is N - 1.
const LAPACK: [(&str, &str, &str, &str); 14] = [
    ("potrf", "f32[N,N]", "(f32[N,N], s32[])", "uplo = 76 : ui8"),
    ("getrf", "f32[N,N]", "(f32[N,N], s32[N], s32[])", ""),
    ("trsm", "f32[N,N]; f32[N,N]", "f32[N,N]", "side = 76 : ui8, uplo = 76 : ui8, trans_x = 78 : ui8, diag = 78 : ui8"),
    ("gtsv", "f32[N]; f32[N]; f32[N]; f32[N,N]", "(f32[N], f32[N], f32[N], f32[N,N], s32[])", ""),
    ("geqrf", "f32[N,N]", "(f32[N,N], f32[N])", ""),
    ("geqp3", "f32[N,N]; s32[N]", "(f32[N,N], s32[N], f32[N])", ""),
    ("orgqr", "f32[N,N]; f32[N]", "f32[N,N]", ""),
    ("ormqr", "f32[N,N]; f32[N]; f32[N,N]", "f32[N,N]", "left = true, transpose = false"),
    ("gehrd", "f32[N,N]", "(f32[N,N], f32[M], s32[])", "low = 1 : i32, high = N : i32"),
    ("sytrd", "f32[N,N]", "(f32[N,N], f32[N], f32[M], f32[M], s32[])", "uplo = 76 : ui8"),
    ("syevd", "f32[N,N]", "(f32[N,N], f32[N], s32[])", "mode = 86 : ui8, uplo = 76 : ui8"),
    ("gesdd", "f32[N,N]", "(f32[N,N], f32[N], f32[N,N], f32[N,N], s32[])", "mode = 65 : ui8"),
    ("gees", "f32[N,N]", "(f32[N,N], f32[N,N], f32[N], f32[N], s32[], s32[])", "mode = 86 : ui8, sort = 78 : ui8"),
    (
        "geev",
        "f32[N,N]",
        "(f32[N], f32[N], c64[N,N], c64[N,N], s32[])",
        "compute_left = 86 : ui8, compute_right = 86 : ui8",
    ),
];

/// Returns the text for matrices of `n` rows and columns.
fn sized(text: &str, n: usize) -> String {
    text.replace('N', &n.to_string()).replace('M', &n.saturating_sub(1).to_string())
}

#[test]
fn lapack_with_other_operands_and_results() {
    for (name, operands, results, config) in LAPACK {
        let [operands, results, config] = [operands, results, config].map(|text| sized(text, 3));
        let target = format!("lapack_s{name}_ffi");
        let call = |results: &str, config: &str| call(results, &target, config);
        let right = call(&results, &config);
        done(&operands, &right);
        refused("", &right, "without operand 0");
        refused(&format!("{operands}; f32[3]"), &right, "these operands: expected");
        refused(&format!("({})", operands.replace("; ", ", ")), &right, "these operands: expected");
        for wrong in ["[]", "[2,3,3]", "[4,3]"] {
            refused(&operands.replacen("[3,3]", wrong, 1), &right, "expected");
        }
        for wrong in [
            format!("({results}, f32[])"),
            results.replacen("[3", "[4", 1),
            results.replacen("[3", "[2,3", 1),
            results.replacen("f32", "f64", 1),
        ] {
            refused(&operands, &call(&wrong, &config), "expected");
        }
        for ty in ["s32", "bf16"] {
            let wrong = call(&results.replace("f32", ty), &config);
            refused(&operands.replace("f32", ty), &wrong, &format!("elements of {ty}"));
        }
        if !config.is_empty() {
            refused(&operands, &call(&results, ""), "a backend_config without `");
            let wrong = config.replace(" : ", "9 : ").replace("true", "2");
            refused(&operands, &call(&results, &wrong), "for ");
        }
    }
}

#[test]
fn lapack_of_nothing() {
    for (name, operands, results, config) in LAPACK {
        let target = format!("lapack_s{name}_ffi");
        done(&sized(operands, 0), &call(&sized(results, 0), &target, &sized(config, 0)));
        let no_batch = |text: &str| sized(text, 3).replace('[', "[0,").replace(",]", "]");
        done(&no_batch(operands), &call(&no_batch(results), &target, &sized(config, 3)));
    }
}

#[test]
fn targets_that_there_are_not() {
    for target in ["", " ", "lapack_", "lapack__ffi", "lapack_s_ffi", "lapack_xpotrf_ffi", "lapack_ßpotrf_ffi", "Sort"]
    {
        let said = if target.contains("xpotrf") { "elements of f32" } else { "this target" };
        refused("f32[3,3]", &call("f32[3,3]", target, ""), said);
    }
    refused("f32[3]", &call("f32[4]", "Sharding", ""), "whose result is not its operands");
}

#[test]
fn top_k() {
    for (k, n) in [(0, 5), (5, 5), (0, 0)] {
        done(&format!("f32[2,{n}]"), &format!("(f32[2,{k}], s32[2,{k}]) topk(), k={k}, largest=true"));
        done(&format!("f32[2,{n}]"), &call(&format!("(f32[2,{k}], s32[2,{k}])"), "TopK", ""));
    }
    for (k, n) in [(6, 5), (1, 0), (i64::MAX / 64, 5)] {
        let results = format!("(f32[{k}], s32[{k}])");
        refused(&format!("f32[{n}]"), &format!("{results} topk(), k={k}, largest=true"), "topk takes");
        refused(&format!("f32[{n}]"), &call(&results, "TopK", ""), "expected at most as many as there are");
    }
    refused("f32[5]", "(f32[2], s32[2]) topk(), k=-1, largest=true", "topk takes");
    refused("f32[5]; f32[5]", &call("(f32[2], s32[2])", "TopK", ""), "these operands: expected 1");
    refused("f32[5]", &call("(f32[2], s32[2], s32[2])", "TopK", ""), "these results: expected values and positions");
    refused("f32[5]", &call("(f32[2], s64[2])", "TopK", ""), "expected values and s32 positions");
    refused("c64[5]", &call("(c64[2], s32[2])", "TopK", ""), "a top-k of c64");
    refused("f32[]", &call("(f32[], s32[])", "TopK", ""), "dimension");
    refused("f32[5]", &call("(f32[2], s32[2])", "TopK", "largest = 3"), "`largest = 3` in backend_config");
}

#[test]
fn fourier_transforms() {
    for n in [0, 1, 2, 3, 97, 1009] {
        let half = if n == 0 { 0 } else { n / 2 + 1 };
        for batch in ["", "2,", "0,"] {
            let transform = |kind: &str, from: &str, to: &str| {
                done(from, &format!("{to} fft(), fft_type={kind}, fft_length={{{n}}}"));
            };
            let [complex, real, halved] =
                [("c64", n), ("f32", n), ("c64", half)].map(|(ty, size)| format!("{ty}[{batch}{size}]"));
            transform("FFT", &complex, &complex);
            transform("IFFT", &complex, &complex);
            transform("RFFT", &real, &halved);
            transform("IRFFT", &halved, &real);
        }
    }
    // For an empty array, the routine creates no plan.
    done("c64[0,1000000007]", "c64[0,1000000007] fft(), fft_type=FFT, fft_length={1000000007}");
    refused("c64[4]", "c64[4] fft(), fft_type=FFT, fft_length={5}", "fft_length");
    refused("c64[4]", "c64[4] fft(), fft_type=FFT, fft_length={2,2}", "fft_length");
    refused("c64[4]", "c64[4] fft(), fft_type=FFT, fft_length={}", "fft_length");
    refused("c64[4]", "c64[4] fft(), fft_type=FFT, fft_length={-4}", "");
    refused("bf16[4]", "c64[3] fft(), fft_type=RFFT, fft_length={4}", "RFFT");
}

#[test]
fn random_numbers() {
    let bits = |algorithm: &str, state: &str, result: &str| {
        format!("({state}, {result}) rng-bit-generator(), algorithm={algorithm}")
    };
    for algorithm in ["rng_three_fry", "rng_philox", "rng_default"] {
        for result in ["u32[]", "u8[3]", "u64[0]", "s16[0,1000000]"] {
            done("u64[2]", &bits(algorithm, "u64[2]", result));
        }
        for state in ["u64[0]", "u64[1]", "u64[4]", "u32[4]"] {
            refused(state, &bits(algorithm, state, "u32[5]"), &format!("the state {state}: expected u64[2]"));
        }
        for state in ["u64[]", "u64[2,1]", "s64[2]", "f32[2]"] {
            refused(state, &bits(algorithm, state, "u32[5]"), "the state of rng-bit-generator must be");
        }
        refused("u64[2]", &bits(algorithm, "u64[2]", "s4[3]"), "expected integers of 8 bits or more");
        refused("u64[2]", &bits(algorithm, "u64[2]", "f32[3]"), "cannot give");
    }
    let state = |ty: &str, delta: i64| format!("{ty} rng-get-and-update-state(), delta={delta}");
    done("", &state("u64[2]", i64::MIN));
    refused("", &state("u64[3]", 1), "");
    refused("", &state("u32[2]", 1), "");
    done("f32[]; f32[]", "f32[2,0] rng(), distribution=rng_normal");
    refused("s32[]; s32[]", "s32[3] rng(), distribution=rng_normal", "the distribution rng_normal of s32");
    refused("c64[]; c64[]", "c64[3] rng(), distribution=rng_uniform", "the distribution rng_uniform of c64");
    refused("f32[1]; f32[]", "f32[3] rng(), distribution=rng_uniform", "must be a scalar");
}

#[test]
fn sorts() {
    for (shape, dimension) in [("f32[0]", 0), ("f32[1]", 0), ("f32[0,5]", 1), ("f32[5,0]", 0)] {
        done(shape, &format!("{shape} sort(), dimensions={{{dimension}}}, to_apply=less"));
    }
    for dimension in [1, -1, i64::MAX, i64::MIN] {
        refused("f32[5]", &format!("f32[5] sort(), dimensions={{{dimension}}}, to_apply=less"), "dimension");
    }
    refused("f32[5,5]", "f32[5,5] sort(), dimensions={0,1}, to_apply=less", "");
    refused("f32[5,5]", "f32[5,5] sort(), dimensions={}, to_apply=less", "");
    refused("", "() sort(), dimensions={0}, to_apply=less", "");
    let (text, _) = module("f32[5]", "f32[5] sort(), dimensions={0}, to_apply=random");
    let line = 1 + text.lines().position(|line| line.starts_with("random")).unwrap();
    Workplace::with_module(&text).run(&["run", "m.hlo"]).failed(1, &[&format!("m.hlo:{line}:"), "rng", "[in random]"]);
}

#[test]
fn matrices() {
    let solve = |shape: &str| {
        format!("{shape} triangular-solve(), left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE")
    };
    for shape in ["f32[0,0]", "f64[1,1]", "bf16[2,2]", "c64[0,3,3]", "c128[2,0,0]"] {
        done(shape, &format!("{shape} cholesky(), lower=false"));
        done(&format!("{shape}; {shape}"), &solve(shape));
    }
    done("f32[3,3]; f32[3,0]", &solve("f32[3,0]"));
    for shape in ["f32[2,3]", "f32[3]", "f32[]", "s32[2,2]", "pred[2,2]"] {
        refused(shape, &format!("{shape} cholesky(), lower=true"), "cholesky needs square float or complex matrices");
        refused(&format!("{shape}; {shape}"), &solve(shape), "triangular-solve needs square");
    }
    refused("f32[3,3]; f32[4,3]", &solve("f32[4,3]"), "triangular-solve cannot apply");
    refused("f32[2,3,3]; f32[3,3]", &solve("f32[3,3]"), "triangular-solve cannot apply");
}
