//! Checks damaged executables, and forged executables, which have a valid digest and an invalid
//! structure. The runtime must refuse both kinds and do nothing else.

use super::assembler::*;
use fusebox_core::device::instructions;
use fusebox_runtime::measurement::Session;
use fusebox_runtime::{
    Access, Allocation, AllocationKind, Binding, CodeImage, DynamicSize, Executable, FormatError, HostKernel, HostOp,
    KernelArgument, KernelImage, Options, Slice, Target, Thunk, ValueShape,
};
use object::elf;
use sha2::{Digest, Sha256};

const WHOLE: Slice = Slice { allocation: 1, offset: 0, bytes: 16 };

/// Returns an executable that copies its parameter of four numbers with a kernel. It then runs a
/// loop, a conditional and a host operation, which have no effect. Allocation 0 is the parameter,
/// allocation 1 is the result, and allocation 2 is a false predicate.
fn harmless() -> Executable {
    let input = Slice { allocation: 0, ..WHOLE };
    let predicate = Slice { allocation: 2, offset: 0, bytes: 1 };
    let argument = |access| KernelArgument { name: "it".into(), bytes: 16, element_bytes: 4, access };
    let four = ValueShape::Array("s32".into(), vec![4]);
    let annotation = "HloModule r\nENTRY main {\n  p = s32[4] parameter(0)\n  ROOT r = s32[4] custom-call(p), \
                      custom_call_target=\"Sharding\"\n}\n";
    Executable {
        name: "harmless".into(),
        target: Target::Cpu,
        instruction_sets: Vec::new(),
        code: vec![CodeImage::Object { bytes: object(&[COPY_16, STORE_CONSTANT]), sites: Vec::new() }],
        kernels: vec![KernelImage {
            symbol: "copy_16".into(),
            emitter: "test 1.0.0".into(),
            code: 0,
            blocks: 1,
            threads_per_block: 1,
            shared_bytes: 0,
            predicted_ns: None,
            arguments: vec![argument(Access::Read), argument(Access::WriteOnce)],
        }],
        host_ops: vec![HostOp {
            name: "r".into(),
            opcode: "custom-call".into(),
            hlo: annotation.into(),
            comparator: None,
            per_device: None,
        }],
        allocations: vec![
            Allocation { bytes: 16, kind: AllocationKind::Parameter },
            Allocation { bytes: 16, kind: AllocationKind::Result },
            Allocation { bytes: 1, kind: AllocationKind::Constant(vec![0]) },
        ],
        thunks: vec![
            Thunk::HostOp { op: 0, arguments: vec![input], results: vec![WHOLE] },
            Thunk::Kernel { kernel: 0, arguments: vec![input, WHOLE] },
            Thunk::While { name: "loop".into(), condition: Vec::new(), predicate, body: Vec::new(), iterations: None },
            Thunk::Conditional { name: "choice".into(), index: predicate, branches: vec![Vec::new(), Vec::new()] },
        ],
        parameters: vec![Binding { shape: four.clone(), leaves: vec![input], sizes: Vec::new() }],
        result: Binding { shape: four, leaves: vec![WHOLE], sizes: Vec::new() },
    }
}

/// Writes an executable, reads it and loads it. Returns the error that occurs.
fn refusal(executable: &Executable) -> String {
    match Executable::from_bytes(&executable.to_bytes().unwrap()) {
        Err(error) => error.to_string(),
        Ok(executable) => match Session::load(executable, &Options { threads: 1, ..Options::default() }) {
            Err(error) => error.to_string(),
            Ok(_) => "it was loaded".into(),
        },
    }
}

#[test]
fn what_is_harmless_is_loaded() {
    assert_eq!(refusal(&harmless()), "it was loaded");
}

#[test]
fn code_for_another_processor_is_not_loaded() {
    let present: Vec<String> = instructions::present().map(Into::into).collect();
    assert_eq!(refusal(&Executable { instruction_sets: present.clone(), ..harmless() }), "it was loaded");
    let lacked = present.into_iter().chain(["avx9999f".into(), "apx-of-the-future".into()]);
    let refused = refusal(&Executable { instruction_sets: lacked.collect(), ..harmless() });
    assert!(refused.contains("a processor with avx9999f, apx-of-the-future, which"), "{refused}");
}

#[test]
fn every_damaged_byte_is_noticed() {
    let whole = harmless().to_bytes().unwrap();
    for place in 0..whole.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut damaged = whole.clone();
            damaged[place] ^= change;
            assert!(Executable::from_bytes(&damaged).is_err(), "byte {place} changed by {change:#x}");
        }
    }
    for length in 0..whole.len() {
        let error = Executable::from_bytes(&whole[..length]).unwrap_err();
        let is_known = matches!(error, FormatError::Length { .. }) || length < 8 && error == FormatError::Magic;
        assert!(is_known, "cut to {length} bytes: {error}");
    }
    let longer = [whole.as_slice(), &[0]].concat();
    assert!(matches!(Executable::from_bytes(&longer), Err(FormatError::Length { .. })));
}

#[test]
fn kinds_of_files_are_told_apart() {
    assert_eq!(Executable::from_bytes(b"HloModule x"), Err(FormatError::Magic));
    let mut newer = harmless().to_bytes().unwrap();
    newer[8] = 99;
    assert_eq!(Executable::from_bytes(&newer), Err(FormatError::Version { found: 99 }));
}

/// Changes the harmless executable and expects an error with these words.
fn is_refused(name: &str, words: &str, change: impl FnOnce(&mut Executable)) {
    let mut executable = harmless();
    change(&mut executable);
    let said = refusal(&executable);
    assert!(said.contains(words), "{name}: {said}");
}

fn predicate_of_bytes(executable: &mut Executable, count: u64) -> Slice {
    executable.allocations.push(Allocation { bytes: count, kind: AllocationKind::Temporary });
    Slice { allocation: executable.allocations.len() as u32 - 1, offset: 0, bytes: count }
}

#[test]
fn steps_that_do_not_fit_are_refused() {
    is_refused("empty predicate", "predicate of loop loop has 0 bytes", |e| {
        let predicate = predicate_of_bytes(e, 0);
        e.thunks.push(Thunk::While {
            name: "loop".into(),
            condition: vec![],
            predicate,
            body: vec![],
            iterations: None,
        });
    });
    for (bytes, count) in [(0, 2), (1, 1), (1, 3), (4, 0), (3, 2), (8, 2)] {
        is_refused("choice", "conditional it has an index of", |e| {
            let index = predicate_of_bytes(e, bytes);
            e.thunks.push(Thunk::Conditional { name: "it".into(), index, branches: vec![vec![]; count] });
        });
    }
    is_refused("inside a branch", "kernel 7 does not exist", |e| {
        let Some(Thunk::Conditional { branches, .. }) = e.thunks.last_mut() else { panic!() };
        branches[1].push(Thunk::Kernel { kernel: 7, arguments: vec![] });
    });
    is_refused("outside", "leaves its allocation", |e| e.result.leaves[0].bytes = 1 << 40);
    is_refused("overflow", "a slice is too long", |e| e.result.leaves[0].offset = u64::MAX - 3);
    is_refused("allocation", "allocation 9 does not exist", |e| e.result.leaves[0].allocation = 9);
    is_refused("unaligned", "not aligned", |e| {
        let kind = AllocationKind::Temporary;
        e.allocations.push(Allocation { bytes: 32, kind });
        e.result.leaves[0] = Slice { allocation: 3, offset: 4, bytes: 16 };
    });
    is_refused("copy on itself", "overlap", |e| e.thunks.push(Thunk::Copy { from: WHOLE, to: WHOLE }));
    is_refused("write to a constant", "writes to a parameter or a constant", |e| {
        let to = Slice { allocation: 2, offset: 0, bytes: 1 };
        e.thunks.push(Thunk::Copy { from: Slice { bytes: 1, ..WHOLE }, to });
    });
    is_refused("arguments", "wrong number of arguments", |e| {
        e.thunks.push(Thunk::Kernel { kernel: 0, arguments: vec![WHOLE] });
    });
    is_refused("size", "argument of the wrong size", |e| e.kernels[0].arguments[1].bytes = 12);
    is_refused("operation", "arguments of other sizes", |e| {
        let half = Slice { allocation: 0, bytes: 8, ..WHOLE };
        e.thunks.push(Thunk::HostOp { op: 0, arguments: vec![half], results: vec![WHOLE] });
    });
    is_refused("operation", "results of other sizes", |e| {
        e.thunks.push(Thunk::HostOp { op: 0, arguments: vec![WHOLE], results: vec![] });
    });
    is_refused("apart", "shares memory", |e| {
        let input = Slice { allocation: 0, ..WHOLE };
        e.thunks.push(Thunk::HostOp { op: 0, arguments: vec![input], results: vec![WHOLE, WHOLE] });
    });
    is_refused("apart", "shares memory", |e| {
        e.thunks.push(Thunk::HostOp { op: 0, arguments: vec![WHOLE], results: vec![WHOLE] });
    });
}

#[test]
fn interfaces_and_kernels_that_do_not_fit_are_refused() {
    is_refused("leaves", "wrong number of leaves", |e| e.result.leaves.clear());
    is_refused("size", "wrong size", |e| e.result.shape = ValueShape::Array("s64".into(), vec![4]));
    is_refused("type", "shape is invalid", |e| e.result.shape = ValueShape::Array("s33".into(), vec![4]));
    is_refused("negative", "shape is invalid", |e| e.result.shape = ValueShape::Array("s32".into(), vec![-4]));
    is_refused("many", "wrong size", |e| e.result.shape = ValueShape::Array("s32".into(), vec![1 << 62, 1 << 62]));
    is_refused("parameter", "used for something else", |e| e.parameters[0].leaves[0] = WHOLE);
    let size = |leaf, dimension, bytes| DynamicSize { leaf, dimension, at: Slice { bytes, ..WHOLE } };
    is_refused("dynamic", "does not exist", |e| e.result.sizes = vec![size(1, 0, 4)]);
    is_refused("dynamic", "does not exist", |e| e.result.sizes = vec![size(0, 1, 4)]);
    is_refused("dynamic", "no s32", |e| e.result.sizes = vec![size(0, 0, 8)]);
    is_refused("dynamic", "leaves its allocation", |e| {
        e.result.sizes = vec![size(0, 0, 4)];
        e.result.sizes[0].at.offset = 1 << 20;
    });
    is_refused("dynamic", "used for something else", |e| e.parameters[0].sizes = vec![size(0, 0, 4)]);
    is_refused("two inputs", "used for something else", |e| e.parameters.push(e.parameters[0].clone()));
    is_refused("part of an input", "used for something else", |e| e.allocations[0].bytes = 32);
    is_refused("temporary result", "in temporary memory", |e| e.allocations[1].kind = AllocationKind::Temporary);
    is_refused("constant", "constant's size", |e| e.allocations[2].bytes = 2);
    is_refused("memory", "memory for buffers", |e| e.allocations[1].bytes = 1 << 60);
    is_refused("image", "code image 1 does not exist", |e| e.kernels[0].code = 1);
    is_refused("blocks", "blocks of", |e| e.kernels[0].blocks = u64::MAX);
    is_refused("no threads", "of 0 threads", |e| e.kernels[0].threads_per_block = 0);
    is_refused("threads", "threads", |e| e.kernels[0].threads_per_block = 1 << 20);
    is_refused("elements", "no array of its elements", |e| e.kernels[0].arguments[0].element_bytes = 0);
    is_refused("elements", "no array of its elements", |e| e.kernels[0].arguments[0].element_bytes = 5);
    is_refused("symbol", "is not in its object", |e| e.kernels[0].symbol = "missing".into());
    is_refused("code", "cannot be loaded", |e| e.code[0] = CodeImage::Ptx { text: String::new(), cubins: Vec::new() });
    is_refused("program", "host operation r", |e| e.host_ops[0].hlo = "HloModule r\n".into());
    is_refused("routine", "the operation reverse", |e| {
        e.host_ops[0].hlo =
            e.host_ops[0].hlo.replace("custom-call(p), custom_call_target=\"Sharding\"", "reverse(p), dimensions={0}");
    });
    let kernel =
        |symbol: &str| HostKernel { object: object(&[COPY_16]), symbol: symbol.into(), emitter: "test 1.0.0".into() };
    is_refused("needless", "it does not need", |e| e.host_ops[0].comparator = Some(kernel("copy_16")));
    let sort = "less {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT r = pred[] compare(a, b), \
                direction=LE\n}\nENTRY e {\n  p = s32[4] parameter(0)\n  ROOT s = s32[4] sort(p), dimensions={0}, \
                to_apply=less\n}\n";
    is_refused("comparator", "its comparator is missing", |e| e.host_ops[0].hlo = sort.into());
    is_refused("symbol", "missing is not in its object", |e| {
        e.host_ops[0].hlo = sort.into();
        e.host_ops[0].comparator = Some(kernel("missing"));
    });
    is_refused("object", "cannot be loaded", |e| {
        e.host_ops[0].hlo = sort.into();
        e.host_ops[0].comparator = Some(HostKernel { object: vec![1, 2, 3], ..kernel("copy_16") });
    });
}

#[test]
fn deep_nesting_is_refused_before_the_stack_ends() {
    let nest = |depth: usize| {
        move |e: &mut Executable| {
            for _ in 0..depth {
                let body = std::mem::take(&mut e.thunks);
                let predicate = Slice { allocation: 2, offset: 0, bytes: 1 };
                e.thunks =
                    vec![Thunk::While { name: String::new(), condition: vec![], predicate, body, iterations: None }];
            }
        }
    };
    is_refused("900 loops", "it was loaded", nest(900));
    is_refused("1,100 loops", "nested more than 1000 deep", nest(1100));
    is_refused("tuples", "nested more than 1000 deep", |e| {
        for _ in 0..1100 {
            let inner = std::mem::replace(&mut e.result.shape, ValueShape::Token);
            e.result.shape = ValueShape::Tuple(vec![inner]);
        }
    });
}

/// Checks that the decoder refuses a shape that is nested a million levels deep. The test assembles
/// this file by hand, because encoding or dropping such a shape would itself overflow the stack.
#[test]
fn a_million_levels_are_refused_by_the_decoder() {
    let mut executable = harmless();
    executable.result.shape = ValueShape::Array("innermost".into(), vec![]);
    let whole = executable.to_bytes().unwrap();
    // The variant and the length precede the text.
    let place = whole.windows(9).position(|window| window == b"innermost").unwrap() - 2;
    let tuple_of_one = [1, 1].repeat(1_000_000);
    let mut deep = [&whole[..place], &tuple_of_one, &whole[place..]].concat();
    seal(&mut deep);
    let error = Executable::from_bytes(&deep).unwrap_err().to_string();
    assert!(error.contains("nested more than 1000 deep"), "{error}");
}

/// Updates the length and the digest in a file.
fn seal(bytes: &mut [u8]) {
    let length = bytes.len() as u64 - 52;
    bytes[12..20].copy_from_slice(&length.to_le_bytes());
    let digest = Sha256::new().chain_update(&bytes[..20]).chain_update(&bytes[52..]).finalize();
    bytes[20..52].copy_from_slice(&digest);
}

/// Returns the offsets of the section headers of an object file.
fn headers(bytes: &[u8]) -> Vec<usize> {
    let count = usize::from(u16::from_le_bytes(bytes[0x3c..0x3e].try_into().unwrap()));
    (0..count).map(|number| word(bytes, 0x28) + 64 * number).collect()
}

fn word(bytes: &[u8], at: usize) -> usize {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize
}

/// Returns two offsets: that of the first section header of this type, and that of its section.
fn section(bytes: &[u8], kind: u32) -> (usize, usize) {
    let of_kind = |at: &usize| bytes[at + 4..at + 8] == kind.to_le_bytes();
    let header = headers(bytes).into_iter().find(of_kind).unwrap();
    (header, word(bytes, header + 0x18))
}

/// Changes the object file of the harmless executable and expects an error with these words.
fn object_is_refused(name: &str, words: &str, change: impl FnOnce(&mut Vec<u8>)) {
    is_refused(name, words, |e| {
        let CodeImage::Object { bytes, .. } = &mut e.code[0] else { panic!() };
        change(bytes);
    });
}

#[test]
fn objects_that_lead_outside_are_refused() {
    let relocation = |bytes: &[u8]| section(bytes, elf::SHT_RELA.0).1;
    let put = |bytes: &mut [u8], at: usize, value: u64| bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    for offset in [1 << 20, u64::MAX, u64::MAX - 7, 1 << 63] {
        object_is_refused("place of a relocation", "outside its section", |bytes| {
            let at = relocation(bytes);
            put(bytes, at, offset);
        });
    }
    for addend in [i64::MAX, i64::MIN, 1 << 40] {
        object_is_refused("addend", "further than 2 GiB", |bytes| {
            let at = relocation(bytes) + 16;
            put(bytes, at, addend as u64);
        });
    }
    object_is_refused("size", "cannot be loaded", |bytes| {
        let at = section(bytes, elf::SHT_PROGBITS.0).0 + 0x20;
        put(bytes, at, u64::MAX);
    });
    object_is_refused("alignment", "takes more than", |bytes| {
        for header in headers(bytes) {
            put(bytes, header + 0x30, u64::MAX);
        }
    });
    for value in [1 << 30, u64::MAX] {
        object_is_refused("place of a function", "not in its object", |bytes| {
            let (_, symbols) = section(bytes, elf::SHT_SYMTAB.0);
            let count = (bytes.len() - symbols) / 24;
            let symbol = (0..count).map(|number| symbols + 24 * number).find(|&at| is_function(bytes, at)).unwrap();
            put(bytes, symbol + 8, value);
        });
    }
    object_is_refused("cut off", "cannot be loaded", |bytes| bytes.truncate(bytes.len() / 2));
}

/// Whether the symbol is a global function. The first such symbol is `copy_16`.
fn is_function(bytes: &[u8], at: usize) -> bool {
    bytes[at + 4] == (elf::STB_GLOBAL.0 << 4 | elf::STT_FUNC.0)
}
