//! Random programs over the instructions, with branches and loops in which the threads of a warp
//! diverge. The results are compared with a second definition of each instruction, and NVIDIA's
//! assembler must accept each program. `FUSEBOX_PTX_MODULES` sets the number of programs, and
//! `FUSEBOX_PTX_SEED` the first seed.

mod operations;
mod program;

use std::path::Path;
use std::process::Command;

use crate::harness::{Card, TARGET};
use operations::{ALL, Class};
use program::{OTHERS, Random, State, Statement, THREADS, WORDS, Writer};

/// Bytes of the registers of a thread in memory.
const BYTES: usize = 8 * (WORDS + 4 * OTHERS);

/// The registers in the order in which they are in memory.
fn registers() -> impl Iterator<Item = (Class, usize)> {
    let of = |class: Class, count: usize| (0..count).map(move |number| (class, number));
    of(Class::Word, WORDS)
        .chain(of(Class::Long, OTHERS))
        .chain(of(Class::Single, OTHERS))
        .chain(of(Class::Double, OTHERS))
        .chain(of(Class::Predicate, OTHERS))
}

fn values(state: &State) -> Vec<u64> {
    [&state.words[..], &state.longs, &state.singles, &state.doubles, &state.predicates].concat()
}

fn text(statements: &[Statement]) -> String {
    let mut writer = Writer::default();
    writer.write(statements);
    let (mut loads, mut stores) = (String::new(), String::new());
    for (at, (class, number)) in registers().enumerate() {
        let at = 8 * at;
        let (load, store) = match class {
            Class::Word => {
                (format!("ld.global.b32 %w{number}, [%a+{at}];"), format!("st.global.b32 [%a+{at}], %w{number};"))
            }
            Class::Long => {
                (format!("ld.global.b64 %l{number}, [%a+{at}];"), format!("st.global.b64 [%a+{at}], %l{number};"))
            }
            Class::Single => {
                (format!("ld.global.f32 %s{number}, [%a+{at}];"), format!("st.global.f32 [%a+{at}], %s{number};"))
            }
            Class::Double => {
                (format!("ld.global.f64 %d{number}, [%a+{at}];"), format!("st.global.f64 [%a+{at}], %d{number};"))
            }
            Class::Predicate => (
                format!("ld.global.b32 %t, [%a+{at}];\nsetp.ne.u32 %p{number}, %t, 0;"),
                format!("selp.b32 %t, 1, 0, %p{number};\nst.global.b32 [%a+{at}], %t;"),
            ),
        };
        loads += &(load + "\n");
        stores += &(store + "\n");
    }
    format!(
        "{TARGET}.visible .entry k(.param .u64 p)\n{{\n.reg .b32 %w<{WORDS}>, %t, %n<{}>;\n.reg .b64 %l<{OTHERS}>, %a, %m;\n\
         .reg .f32 %s<{OTHERS}>, %f;\n.reg .f64 %d<{OTHERS}>;\n.reg .pred %p<{OTHERS}>, %q;\n\
         ld.param.u64 %a, [p];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %m, %t, {BYTES};\nadd.u64 %a, %a, %m;\n\
         {loads}{}{stores}ret;\n}}\n",
        writer.counters + 1,
        writer.text
    )
}

/// Whether two values of a class are equal. The bits of a NaN may differ.
fn is_equal(class: Class, a: u64, b: u64) -> bool {
    let is_nan = |bits: u64| match class {
        Class::Single => f32::from_bits(bits as u32).is_nan(),
        Class::Double => f64::from_bits(bits).is_nan(),
        _ => false,
    };
    a == b || is_nan(a) && is_nan(b)
}

/// Executes a random program in the interpreter and by the second definitions. Returns its text.
fn check(seed: u64, counts: &mut [usize]) -> Result<String, String> {
    let mut random = Random::new(seed);
    let length = 5 + random.below(60);
    let statements = random.statements(length, 3);
    compare(seed, &statements, &mut random, counts)
}

/// Executes statements in threads with random registers.
fn compare(seed: u64, statements: &[Statement], random: &mut Random, counts: &mut [usize]) -> Result<String, String> {
    let states: Vec<State> = (0..THREADS).map(|_| random.state()).collect();
    let text = text(statements);
    let mut card = Card::new();
    let bytes: Vec<u8> = states.iter().flat_map(values).flat_map(u64::to_le_bytes).collect();
    let array = card.array(&bytes);
    card.run(&text, 1, THREADS as u32, &[array]).map_err(|fault| format!("seed {seed}: {fault}\n{text}"))?;
    let found = card.read(array, bytes.len());
    let found: Vec<u64> = found.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    for (thread, state) in states.iter().enumerate() {
        let mut state = state.clone();
        state.execute(statements, counts);
        let own = &found[thread * BYTES / 8..][..BYTES / 8];
        for ((register, expected), found) in registers().zip(values(&state)).zip(own) {
            if !is_equal(register.0, expected, *found) {
                return Err(format!(
                    "seed {seed}, thread {thread}: {register:?} is {found:#x}, expected {expected:#x}\n{text}"
                ));
            }
        }
    }
    Ok(text)
}

/// Assembles a program, if NVIDIA's assembler is there.
fn assemble(seed: u64, text: &str) -> Result<(), String> {
    let ptxas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../.tools/ptxas");
    if !ptxas.exists() {
        return Ok(());
    }
    let path = std::env::temp_dir().join(format!("generated-{}-{seed}.ptx", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let output = Command::new(ptxas).args(["-arch=sm_90a", "-O0", "-o", "/dev/null"]).arg(&path).output().unwrap();
    std::fs::remove_file(&path).unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(format!("seed {seed}: {error}\n{text}")) }
}

#[test]
fn each_instruction_has_the_results_of_its_second_definition() {
    let mut failures = Vec::new();
    for (number, operation) in ALL.iter().enumerate() {
        for seed in 0..4 {
            let mut random = Random::new(1000 * seed + number as u64);
            let statement = random.application(operation);
            let result = compare(seed, &[statement], &mut random, &mut vec![0; ALL.len()]);
            if let Err(error) = result {
                failures.push(format!("{}: {}", operation.text, error.lines().next().unwrap_or_default()));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn random_programs_have_the_results_of_the_second_definitions() {
    let number = |name: &str, usual| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
    let first: u64 = number("FUSEBOX_PTX_SEED", 1);
    let count = number("FUSEBOX_PTX_MODULES", 100);
    let mut counts = vec![0; ALL.len()];
    for seed in first..first + count {
        let text = check(seed, &mut counts).unwrap_or_else(|error| panic!("{error}"));
        // The assembler takes most of the time.
        if count > 100 || seed % 10 == 0 {
            assemble(seed, &text).unwrap_or_else(|error| panic!("{error}"));
        }
    }
    for (operation, count) in ALL.iter().zip(&counts) {
        println!("{count:8} {}", operation.text.replace('\n', " "));
    }
    let missing: Vec<&str> = ALL.iter().zip(&counts).filter(|(_, count)| **count == 0).map(|(it, _)| it.text).collect();
    assert!(count < 100 || missing.is_empty(), "never executed: {missing:?}");
}
