//! Tests which instructions become one kernel, and that repeated work stays bounded.

use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{Computation, ElementType, Module, Op, Opcode, Shape, parse_module, print_module, verify};

fn fused(text: &str) -> Module {
    fused_for(text, DeviceDescription::sm(90))
}

fn fused_for(text: &str, device: DeviceDescription) -> Module {
    let mut module = parse_module(text, "test.hlo").unwrap_or_else(|faults| panic!("{}", faults[0]));
    super::run(&mut module, &device, &crate::Emitters::bundled(), &fusebox_plugins::KnownPlans::default()).unwrap();
    verify(&module).unwrap_or_else(|faults| panic!("{}\n{}", faults[0], print_module(&module)));
    module
}

fn fusions(module: &Module) -> Vec<&Computation> {
    let entry = module.entry_computation().unwrap();
    let calls = |op: &Op| match op {
        Op::Fusion { calls, .. } => Some(module.computation(*calls)),
        _ => None,
    };
    entry.instructions.iter().filter_map(|i| calls(&i.op)).collect()
}

fn opcodes(computation: &Computation) -> Vec<Opcode> {
    computation.instructions.iter().map(|i| i.opcode()).filter(|o| *o != Opcode::Parameter).collect()
}

/// Prints a chain whose steps read the previous step at two indices. A kernel that computed the
/// previous step again for each read would need 2^depth evaluations.
fn sharing_chain(depth: usize) -> String {
    let mut text = String::from("HloModule m\nENTRY main { v0 = f32[100] parameter(0)\n  z = f32[] constant(0)\n");
    for step in 1..=depth {
        let before = step - 1;
        text += &format!(
            "  a{step} = f32[99] slice(v{before}), slice={{[1:100]}}\n  b{step} = f32[100] pad(a{step}, z), padding=0_1\n  \
             c{step} = f32[99] slice(v{before}), slice={{[0:99]}}\n  d{step} = f32[100] pad(c{step}, z), padding=1_0\n  \
             {}v{step} = f32[100] add(b{step}, d{step})\n",
            if step == depth { "ROOT " } else { "" }
        );
    }
    text + "}"
}

#[test]
fn a_sharing_chain_stays_linear() {
    let size = |depth| {
        let module = fused(&sharing_chain(depth));
        let fusions = fusions(&module);
        (fusions.len(), fusions.iter().map(|f| f.instructions.len()).sum::<usize>())
    };
    let ((kernels_20, code_20), (kernels_80, code_80)) = (size(20), size(80));
    assert!(kernels_20 > 1 && kernels_20 < 20, "{kernels_20} kernels");
    assert!(kernels_80 <= 5 * kernels_20, "{kernels_20}, {kernels_80} kernels");
    assert!(code_80 <= 5 * code_20, "{code_20}, {code_80} instructions");
}

/// LLVM inlines a value at each index at which it is read, so a fusion of small arrays contains
/// only few steps of such a chain.
#[test]
fn a_chain_of_small_arrays_is_no_kernel_of_thousands_of_instructions() {
    let step = |i: usize| {
        let before = i - 1;
        format!(
            "  g{i} = f32[40,3] gather(v{before}, i), offset_dims={{1}}, collapsed_slice_dims={{0}}, start_index_map={{0}}, \
             index_vector_dim=1, slice_sizes={{1,3}}\n  r{i} = f32[40,3] reverse(v{before}), dimensions={{0}}\n  \
             v{i} = f32[40,3] subtract(g{i}, r{i})\n"
        )
    };
    let steps: String = (1..=12).map(step).collect();
    let text = format!(
        "HloModule m\nENTRY main {{\n  v0 = f32[40,3] parameter(0)\n  i = s32[40,1] parameter(1)\n{steps}  \
         ROOT r = f32[40,3] negate(v12)\n}}"
    );
    let module = fused(&text);
    let steps = |f: &&Computation| opcodes(f).iter().filter(|&&opcode| opcode == Opcode::Gather).count();
    let most = fusions(&module).iter().map(steps).max().unwrap();
    assert!((1..=3).contains(&most), "{most}");
}

#[test]
fn a_kernel_reads_a_limited_number_of_buffers() {
    let mut text = String::from("HloModule m\nENTRY main {\n");
    for i in 0..200 {
        text += &format!("  p{i} = f32[8] parameter({i})\n  t{i} = f32[8] tanh(p{i})\n");
    }
    text += "  s0 = f32[8] add(t0, t1)\n";
    for i in 2..200 {
        let root = if i == 199 { "ROOT " } else { "" };
        text += &format!("  {root}s{} = f32[8] add(s{}, t{i})\n", i - 1, i - 2);
    }
    let module = fused(&(text + "}"));
    let most = fusions(&module).iter().map(|f| f.parameters().len()).max().unwrap();
    assert!(most <= 80, "{most}");
}

/// Prints comparisons of one array, and a chain of selects. Each select chooses between two values
/// that are computed from the previous select.
fn selects(count: usize) -> String {
    let mut text = String::from(
        "HloModule m\nENTRY main { x = f32[10000] parameter(0)\n  y = f32[10000] parameter(1)\n  v0 = f32[10000] negate(x)\n",
    );
    for i in 0..count {
        text += &format!(
            "  c{i} = f32[] constant({i})\n  b{i} = f32[10000] broadcast(c{i}), dimensions={{}}\n  \
             g{i} = pred[10000] compare(x, b{i}), direction=GT\n"
        );
    }
    for i in 1..=count {
        let (before, root) = (i - 1, if i == count { "ROOT " } else { "" });
        text += &format!(
            "  a{i} = f32[10000] add(v{before}, y)\n  s{i} = f32[10000] subtract(v{before}, y)\n  \
             {root}v{i} = f32[10000] select(g{before}, a{i}, s{i})\n"
        );
    }
    text + "}"
}

/// Values that are computed from an array which a kernel reads anyway do not count as the kernel's
/// inputs. If a chain is cut, one kernel computes the two values that cross the cut.
#[test]
fn a_chain_of_selects_writes_no_predicates_and_computes_nothing_twice() {
    let module = fused(&selects(200));
    let fusions = fusions(&module);
    assert!(fusions.len() > 1, "a kernel of {} instructions", fusions[0].instructions.len());
    let is_pred = |shape: &&Shape| shape.as_array().is_some_and(|array| array.element_type == ElementType::Pred);
    assert!(fusions.iter().all(|fused| !fused.root_instruction().shape.leaves().iter().any(is_pred)));
    let made = fusions.iter().flat_map(|fused| opcodes(fused)).filter(|&opcode| opcode == Opcode::Select).count();
    assert_eq!(made, 200);
}

#[test]
fn operands_that_read_one_buffer_each_come_into_a_wide_kernel() {
    let each = |i: usize| format!("p{i} = f32[8] parameter({i})\n  s{i} = f32[3] slice(p{i}), slice={{[2:5]}}\n");
    let operands: Vec<String> = (0..100).map(|i| format!("s{i}")).collect();
    let text = format!(
        "HloModule m\nENTRY main {{\n{}  ROOT r = f32[300] concatenate({}), dimensions={{0}}\n}}",
        (0..100).map(each).collect::<String>(),
        operands.join(", ")
    );
    assert_eq!(fusions(&fused(&text)).len(), 1);
}

#[test]
fn an_index_is_made_by_few_divisions() {
    let step = |i: usize| {
        format!("  t{i} = s32[10,6] transpose(v{}), dimensions={{1,0}}\n  v{i} = s32[6,10] reshape(t{i})\n", i - 1)
    };
    let steps: String = (1..=100).map(step).collect();
    let text = format!(
        "HloModule m\nENTRY main {{\n  v0 = s32[6,10] parameter(0)\n{steps}  ROOT r = s32[6,10] negate(v100)\n}}"
    );
    let module = fused(&text);
    let reshapes = |f: &&Computation| opcodes(f).iter().filter(|&&opcode| opcode == Opcode::Reshape).count();
    let most = fusions(&module).iter().map(reshapes).max().unwrap();
    assert!((2..=14).contains(&most), "{most}");
}

/// Prints a module with a reducer `add` and a scalar `zero`. `parameters` and `body` define the
/// rest of the entry.
fn with_reducer(parameters: &str, body: &str) -> String {
    format!(
        "HloModule m
add {{ p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT s = f32[] add(p, q) }}
ENTRY main {{ zero = f32[] constant(0)
  {parameters}
  {body} }}"
    )
}

/// Returns the opcodes of each fusion, except constants.
fn kernels(text: &str) -> Vec<Vec<Opcode>> {
    let module = fused(text);
    let of = |f: &&Computation| opcodes(f).into_iter().filter(|o| *o != Opcode::Constant).collect();
    fusions(&module).iter().map(of).collect()
}

#[test]
fn a_large_reduction_inside_a_transpose_gets_a_kernel_and_a_small_one_does_not() {
    let transpose_of_reduce = |size: i64| {
        with_reducer(
            &format!("x = f32[{size},{size},64] parameter(0)"),
            &format!(
                "r = f32[{size},{size}] reduce(x, zero), dimensions={{2}}, to_apply=add
  ROOT t = f32[{size},{size}] transpose(r), dimensions={{1,0}}"
            ),
        )
    };
    assert_eq!(kernels(&transpose_of_reduce(64)).len(), 2);
    assert_eq!(kernels(&transpose_of_reduce(4)).len(), 1);
}

#[test]
fn a_transpose_that_moves_whole_cache_lines_goes_anywhere() {
    let text = with_reducer(
        "x = f32[64,512,64] parameter(0)",
        "t = f32[512,64,64] transpose(x), dimensions={1,0,2}
  ROOT r = f32[512,64] reduce(t, zero), dimensions={2}, to_apply=add",
    );
    assert_eq!(kernels(&text).len(), 1);
}

/// A softmax of `x`, which is `f32[512,512]`.
const SOFTMAX: &str = "m = f32[512] reduce(x, low), dimensions={1}, to_apply=max
  mb = f32[512,512] broadcast(m), dimensions={0}
  d = f32[512,512] subtract(x, mb)
  e = f32[512,512] exponential(d)
  s = f32[512] reduce(e, zero), dimensions={1}, to_apply=add
  sb = f32[512,512] broadcast(s), dimensions={0}
  p = f32[512,512] divide(e, sb)";

/// Returns, for each kernel, the number of results and the number of reductions. Checks that these
/// numbers are the same for blocks of one thread and of many threads.
fn chains(parameters: &str, body: &str) -> Vec<(usize, usize)> {
    let found = chains_for(parameters, body, DeviceDescription::cpu(2));
    assert_eq!(chains_for(parameters, body, DeviceDescription::sm(90)), found);
    found
}

/// Returns, for each kernel, the number of results and the number of reductions on one device.
fn chains_for(parameters: &str, body: &str, device: DeviceDescription) -> Vec<(usize, usize)> {
    let module = with_chains(parameters, body, device);
    let reduces = |fused: &Computation| opcodes(fused).iter().filter(|&&op| op == Opcode::Reduce).count();
    fusions(&module).into_iter().map(|fused| (fused.root_instruction().shape.leaves().len(), reduces(fused))).collect()
}

/// Returns a program that is fused for a device.
fn with_chains(parameters: &str, body: &str, device: DeviceDescription) -> Module {
    let text = format!(
        "HloModule m
add {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }}
max {{ a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] maximum(a, b) }}
ENTRY main {{ {parameters}
  zero = f32[] constant(0)
  low = f32[] constant(-inf)
  {body} }}"
    );
    fused_for(&text, device)
}

#[test]
fn parts_of_tuples_come_into_a_chain_as_arrays() {
    let body = format!("{SOFTMAX}\n  ROOT r = f32[512,512] negate(p)");
    let state = "s0 = (s32[], f32[512,512]) parameter(0)\n  x = f32[512,512] get-tuple-element(s0), index=1";
    let module = with_chains(state, &body, DeviceDescription::cpu(2));
    for fused in fusions(&module) {
        let opcodes = opcodes(fused);
        assert!(!opcodes.contains(&Opcode::GetTupleElement), "{opcodes:?}");
    }
    assert_eq!(chains(state, &body), [(1, 2)]);
}

#[test]
fn rows_too_few_for_the_cores_or_too_long_for_a_cache_are_no_chain() {
    let kernels = |device: DeviceDescription, rows: i64, length: i64| {
        let body = SOFTMAX.replace("[512,512]", &format!("[{rows},{length}]")).replace("[512]", &format!("[{rows}]"));
        let body = format!("{body}\n  ROOT r = f32[{rows},{length}] negate(p)");
        chains_for(&format!("x = f32[{rows},{length}] parameter(0)"), &body, device).len()
    };
    for (rows, length) in [(4, 100_000), (5000, 100_000), (5000, 4)] {
        assert!(kernels(DeviceDescription::cpu(2), rows, length) > 1, "{rows} rows of {length}");
    }
    // If there are enough rows, and all threads of a block work on one row, rows may have any
    // length.
    assert!(kernels(DeviceDescription::sm(90), 4, 100_000) > 1);
    for (rows, length) in [(5000, 100_000), (4, 10_000), (5000, 4)] {
        assert_eq!(kernels(DeviceDescription::sm(90), rows, length), 1, "{rows} rows of {length}");
    }
}

/// A scale that is computed from several arrays. If the arrays are small, one kernel computes all
/// sums of arrays and the scale. Merging this kernel with the readers of the sums must not split
/// the kernel. Sums of large arrays have separate kernels anyway.
#[test]
fn small_reductions_whose_results_meet_stay_together() {
    let found = |length: i64| {
        let arrays = ["x", "y", "z"].iter().enumerate();
        let parameters = arrays.map(|(number, name)| format!("{name} = f32[{}] parameter({number})", length << number));
        let body = format!(
            "a = f32[] reduce(x, zero), dimensions={{0}}, to_apply=add
  b = f32[] reduce(y, zero), dimensions={{0}}, to_apply=add
  c = f32[] reduce(z, zero), dimensions={{0}}, to_apply=add
  d = f32[] add(a, b)
  e = f32[] add(d, c)
  n = f32[] tanh(e)
  nb = f32[{length}] broadcast(n), dimensions={{}}
  ROOT r = f32[{length}] divide(x, nb)"
        );
        chains(&parameters.collect::<Vec<_>>().join("\n  "), &body)
    };
    assert_eq!(found(512), [(1, 3), (1, 0)]);
    assert_eq!(found(8192), [(1, 1), (1, 1), (1, 1)]);
}

/// Largest number of buffers of a kernel in older versions of PTX.
const MOST_BUFFERS: usize = 544;

/// Prints parameters `p0`, `p1`, …. After each parameter, prints the instruction that `of` returns
/// for the parameter's number.
fn each(count: usize, of: impl Fn(usize) -> String) -> String {
    (0..count).map(|i| format!("  p{i} = f32[8] parameter({i})\n  {}\n", of(i))).collect()
}

fn names(prefix: &str, count: usize) -> String {
    (0..count).map(|i| format!("{prefix}{i}")).collect::<Vec<_>>().join(", ")
}

/// Prints a module of one fusion with `count` parameters.
fn one_fusion(count: usize, shape: &str, body: &str) -> String {
    let parameters = each(count, |_| String::new());
    format!(
        "HloModule m\nfused {{\n{body}}}\nENTRY main {{\n{parameters}  ROOT f = {shape} fusion({}), kind=kLoop, calls=fused\n}}",
        names("p", count)
    )
}

#[test]
fn a_kernel_has_no_more_buffers_than_the_target_takes() {
    let sum = |count: usize| {
        let before = |i: usize| if i == 1 { "p0".to_owned() } else { format!("s{}", i - 1) };
        let added = |i: usize| if i == 0 { String::new() } else { format!("s{i} = f32[8] add({}, p{i})", before(i)) };
        each(count, added) + &format!("  ROOT r = f32[8] negate(s{})\n", count - 1)
    };
    let results = format!("({})", vec!["f32[8]"; 300].join(", "));
    let negated = each(300, |i| format!("n{i} = f32[8] negate(p{i})"));
    let several = negated + &format!("  ROOT r = {results} tuple({})\n", names("n", 300));
    let joined = each(1200, |_| String::new())
        + &format!("  ROOT r = f32[9600] concatenate({}), dimensions={{0}}\n", names("p", 1200));
    for text in [
        format!("HloModule m\nENTRY main {{\n{joined}}}"),
        one_fusion(1200, "f32[9600]", &joined),
        one_fusion(600, "f32[8]", &sum(600)),
        one_fusion(300, &results, &several),
        format!("fusion {{\n{}}}", sum(600)),
    ] {
        let mut module = parse_module(&text, "test.hlo").unwrap();
        crate::wide::split(&mut module, MOST_BUFFERS).unwrap();
        super::run(
            &mut module,
            &DeviceDescription::sm(80),
            &crate::Emitters::bundled(),
            &fusebox_plugins::KnownPlans::default(),
        )
        .unwrap();
        verify(&module).unwrap_or_else(|faults| panic!("{}", faults[0]));
        let buffers = |f: &&Computation| f.parameters().len() + f.root_instruction().shape.leaves().len();
        let most = fusions(&module).iter().map(buffers).max().unwrap();
        assert!(fusions(&module).len() > 1 && most <= MOST_BUFFERS, "{most}");
        assert!(crate::wide::refused(&module, MOST_BUFFERS).is_empty());
    }
}

/// In the kernel of a concatenate, the code for each operand names all operands. So the size of the
/// kernel grows with the square of the number of operands.
#[test]
fn a_concatenate_of_many_operands_is_made_of_smaller_ones() {
    let joined = each(1000, |_| String::new())
        + &format!("  ROOT r = f32[8000] concatenate({}), dimensions={{0}}\n", names("p", 1000));
    let mut module = parse_module(&format!("HloModule m\nENTRY main {{\n{joined}}}"), "test.hlo").unwrap();
    crate::wide::split(&mut module, usize::MAX).unwrap();
    verify(&module).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let entry = module.entry_computation().unwrap();
    let concatenates = entry.instructions.iter().filter(|it| it.opcode() == Opcode::Concatenate);
    let widths: Vec<usize> = concatenates.map(|it| it.operands.len()).collect();
    assert_eq!(widths, [128, 128, 128, 128, 128, 128, 128, 104, 8]);
}

#[test]
fn what_cannot_be_split_is_refused_by_name() {
    let scalars =
        |from: usize| (0..400).map(|i| format!("  q{i} = f32[] parameter({})\n", i + from)).collect::<String>();
    let maxima: String = (0..400).map(|i| format!("  m{i} = f32[] maximum(q{i}, b{i})\n")).collect();
    let others: String = (0..400).map(|i| format!("  b{i} = f32[] parameter({})\n", i + 400)).collect();
    let types = format!("({})", vec!["f32[]"; 400].join(", "));
    let text = format!(
        "HloModule m\nmaxima {{\n{}{others}{maxima}  ROOT t = {types} tuple({})\n}}\nENTRY main {{\n{}{}\
         \n  ROOT rows = {types} reduce({}, {}), dimensions={{0}}, to_apply=maxima\n}}",
        scalars(0),
        names("m", 400),
        each(400, |_| String::new()),
        scalars(400),
        names("p", 400),
        names("q", 400),
    );
    let mut module = parse_module(&text, "test.hlo").unwrap_or_else(|faults| panic!("{}", faults[0]));
    crate::wide::split(&mut module, MOST_BUFFERS).unwrap();
    super::run(
        &mut module,
        &DeviceDescription::sm(80),
        &crate::Emitters::bundled(),
        &fusebox_plugins::KnownPlans::default(),
    )
    .unwrap();
    let [fault] = &crate::wide::refused(&module, MOST_BUFFERS)[..] else { panic!("one fusion") };
    let words = "a kernel of 1200 operands and results; the target's kernels take 544";
    assert_eq!((fault.subject.as_deref(), fault.message.as_str()), (Some("rows"), words));
}
