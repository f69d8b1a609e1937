//! What becomes one kernel, and how sharing stays bounded.

use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{Computation, Module, Op, Opcode, parse_module, print_module, verify};

fn fused(text: &str) -> Module {
    fused_for(text, DeviceDescription::sm(90))
}

fn fused_for(text: &str, device: DeviceDescription) -> Module {
    let mut module = parse_module(text, "test.hlo").unwrap_or_else(|faults| panic!("{}", faults[0]));
    super::run(&mut module, &device, &crate::Emitters::bundled());
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

#[test]
fn an_elementwise_chain_is_one_kernel() {
    let module = fused(
        "HloModule m
ENTRY main { x = f32[1000] parameter(0)
  c = f32[] constant(2)
  b = f32[1000] broadcast(c), dimensions={}
  e = f32[1000] exponential(x)
  m = f32[1000] multiply(e, b)
  ROOT r = f32[1000] add(m, e) }",
    );
    let fusions = fusions(&module);
    assert_eq!(fusions.len(), 1, "{}", print_module(&module));
    assert_eq!(fusions[0].parameters().len(), 1);
}

#[test]
fn an_expensive_value_read_many_times_has_a_buffer() {
    let module = fused(
        "HloModule m
ENTRY main { x = f32[1000] parameter(0)
  e = f32[1000] exponential(x)
  b = f32[1000,1000] broadcast(e), dimensions={0}
  ROOT r = f32[1000,1000] negate(b) }",
    );
    let fusions = fusions(&module);
    assert_eq!(fusions.len(), 2, "{}", print_module(&module));
    assert_eq!(opcodes(fusions[1]), [Opcode::Broadcast, Opcode::Negate]);
}

#[test]
fn a_results_value_is_not_computed_twice() {
    let module = fused(
        "HloModule m
ENTRY main { x = f32[1000] parameter(0)
  e = f32[1000] exponential(x)
  n = f32[1000] negate(e)
  ROOT r = (f32[1000], f32[1000]) tuple(e, n) }",
    );
    assert_eq!(
        fusions(&module).iter().map(|f| opcodes(f)).collect::<Vec<_>>(),
        [vec![Opcode::Exponential], vec![Opcode::Negate]]
    );
}

/// Each step reads the one before at two indices: computing everything anew would take 2^depth evaluations.
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
    assert!(most <= 48, "{most}");
}

#[test]
fn loops_bodies_are_fused_and_unknown_operations_stay() {
    let module = fused(
        "HloModule m
lt { p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT c = pred[] compare(p, q), direction=LT }
cond { s = (s32[], f32[9]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[9]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[9] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  y = f32[9] negate(x)
  z = f32[9] sort(y), dimensions={0}, to_apply=lt
  ROOT t = (s32[], f32[9]) tuple(j, z) }
ENTRY main { i = s32[] constant(0)
  x = f32[9] parameter(0)
  t = (s32[], f32[9]) tuple(i, x)
  ROOT w = (s32[], f32[9]) while(t), condition=cond, body=body }",
    );
    let body = module.computation(module.find_computation("body").unwrap());
    let count = |opcode| body.instructions.iter().filter(|i| i.opcode() == opcode).count();
    assert_eq!((count(Opcode::Fusion), count(Opcode::Sort)), (2, 1), "{}", print_module(&module));
}

#[test]
fn text_without_entry_is_one_fusion_and_arrays_are_its_arguments() {
    let module = fused(
        "fusion {
  x = f32[3] parameter(0)
  table = f32[3] constant({1, 2, 3})
  e = f32[3] exponential(x)
  s = f32[3] add(e, table)
  ROOT r = (f32[3], f32[3]) tuple(e, s)
}",
    );
    let fusions = fusions(&module);
    assert_eq!(fusions.len(), 1, "{}", print_module(&module));
    assert_eq!(fusions[0].parameters().len(), 2);
    assert!(!opcodes(fusions[0]).contains(&Opcode::Constant));
}

#[test]
fn a_reshape_of_a_buffer_is_no_kernel() {
    let module = fused(
        "HloModule m
ENTRY main { x = f32[2,3] parameter(0)
  ROOT r = f32[6] reshape(x) }",
    );
    assert!(fusions(&module).is_empty(), "{}", print_module(&module));
}

/// A module with a reducer `add` and scalars `zero`, `i`; `body` defines the entry.
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

/// Opcodes of each fusion, constants left out.
fn kernels(text: &str) -> Vec<Vec<Opcode>> {
    let module = fused(text);
    let of = |f: &&Computation| opcodes(f).into_iter().filter(|o| *o != Opcode::Constant).collect();
    fusions(&module).iter().map(of).collect()
}

#[test]
fn a_large_hero_keeps_its_epilogue() {
    let reduce = with_reducer(
        "x = f32[512,512] parameter(0)",
        "r = f32[512] reduce(x, zero), dimensions={1}, to_apply=add
  ROOT n = f32[512] negate(r)",
    );
    assert_eq!(kernels(&reduce), [[Opcode::Reduce, Opcode::Negate]]);
    let transpose = "HloModule m
ENTRY main { x = f32[512,512] parameter(0)
  t = f32[512,512] transpose(x), dimensions={1,0}
  ROOT n = f32[512,512] negate(t) }";
    assert_eq!(kernels(transpose), [[Opcode::Transpose, Opcode::Negate]]);
}

#[test]
fn a_large_hero_inside_another_kernel_gets_its_own_and_a_small_one_does_not() {
    let reduce_of_transpose = |size: i64| {
        with_reducer(
            &format!("x = f32[{size},{size}] parameter(0)"),
            &format!(
                "t = f32[{size},{size}] transpose(x), dimensions={{1,0}}
  e = f32[{size},{size}] exponential(t)
  ROOT r = f32[{size}] reduce(e, zero), dimensions={{1}}, to_apply=add"
            ),
        )
    };
    assert_eq!(kernels(&reduce_of_transpose(512)).len(), 2);
    assert_eq!(kernels(&reduce_of_transpose(32)).len(), 1);
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
fn two_large_heroes_do_not_share_a_kernel() {
    let text = with_reducer(
        "x = f32[512,512] parameter(0)
  y = f32[512,512,64] parameter(1)",
        "t = f32[512,512] transpose(x), dimensions={1,0}
  r = f32[512,512] reduce(y, zero), dimensions={2}, to_apply=add
  ROOT a = f32[512,512] add(t, r)",
    );
    let kernels = kernels(&text);
    assert_eq!(kernels.len(), 2);
    assert!(kernels.iter().all(|k| k.contains(&Opcode::Transpose) != k.contains(&Opcode::Reduce)), "{kernels:?}");
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

#[test]
fn a_strided_transpose_is_not_copied_into_two_kernels() {
    let text = with_reducer(
        "x = f32[512,512] parameter(0)
  y = f32[512,512] parameter(1)",
        "t = f32[512,512] transpose(x), dimensions={1,0}
  a = f32[512,512] add(t, y)
  b = f32[512,512] exponential(t)
  ROOT r = (f32[512,512], f32[512,512]) tuple(a, b)",
    );
    let count = kernels(&text).iter().flatten().filter(|o| **o == Opcode::Transpose).count();
    assert_eq!(count, 1);
}

#[test]
fn what_is_updated_in_place_has_a_buffer() {
    let text = with_reducer(
        "x = f32[512] parameter(0)
  u = f32[4] parameter(1)
  i = s32[] parameter(2)",
        "e = f32[512] exponential(x)
  v = f32[4] negate(u)
  ROOT r = f32[512] dynamic-update-slice(e, v, i)",
    );
    assert_eq!(kernels(&text), [vec![Opcode::Exponential], vec![Opcode::Negate, Opcode::DynamicUpdateSlice]]);
}

const SCATTER: &str = "HloModule m
add { p = f32[] parameter(0)
  q = f32[] parameter(1)
  ROOT a = f32[] add(p, q) }
";

fn scatter(operands: &str) -> String {
    format!(
        "f32[9,4] scatter({operands}), update_window_dims={{1}}, inserted_window_dims={{0}}, \
         scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=add"
    )
}

#[test]
fn a_scatter_starts_from_a_parameter_of_its_own() {
    let module = fused(&format!(
        "{SCATTER}
ENTRY main {{ x = f32[9,4] parameter(0)
  i = s32[9] parameter(1)
  j = s32[9] negate(i)
  n = f32[9,4] negate(x)
  e = f32[9,4] exponential(x)
  s = {}
  ROOT r = f32[9,4] negate(s) }}",
        scatter("n, j, n")
    ));
    let fusions = fusions(&module);
    let scatters: Vec<_> = fusions.iter().filter(|f| opcodes(f).contains(&Opcode::Scatter)).collect();
    assert_eq!(scatters.len(), 1, "{}", print_module(&module));
    assert_eq!(opcodes(scatters[0]), [Opcode::Negate, Opcode::Scatter], "indices are computed inside, results not");
    let root = scatters[0].root_instruction();
    assert_ne!(root.operands[0], root.operands[2], "the value is passed twice: one of the two is written over");
    assert!(scatters[0].parameters().contains(&root.operands[0]));
}

#[test]
fn a_fusion_of_the_text_with_a_scatter_inside_is_taken_apart() {
    let module = fused(&format!(
        "{SCATTER}
fusion {{ x = f32[9,4] parameter(0)
  i = s32[9] parameter(1)
  n = f32[9,4] negate(x)
  s = {}
  ROOT r = f32[9,4] exponential(s) }}",
        scatter("n, i, x")
    ));
    let kernels: Vec<_> = fusions(&module).iter().map(|f| opcodes(f)).collect();
    assert_eq!(kernels, [vec![Opcode::Negate], vec![Opcode::Scatter], vec![Opcode::Exponential]]);
}

#[test]
fn a_constant_of_one_element_that_a_scatter_starts_from_has_a_buffer() {
    let module = fused(&format!(
        "{SCATTER}
ENTRY main {{ z = f32[1] constant({{0}})
  i = s32[3] parameter(0)
  u = f32[3] parameter(1)
  ROOT s = f32[1] scatter(z, i, u), update_window_dims={{}}, inserted_window_dims={{0}}, \
    scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=add }}"
    ));
    let fusions = fusions(&module);
    assert_eq!(fusions.len(), 1, "{}", print_module(&module));
    assert_eq!((fusions[0].parameters().len(), opcodes(fusions[0])), (3, vec![Opcode::Scatter]));
}

/// Results and opcodes of each fusion.
fn results(text: &str) -> Vec<(usize, Vec<Opcode>)> {
    let module = fused(text);
    let count = |f: &Computation| f.root_instruction().shape.leaves().len();
    let of = |f: &&Computation| {
        let skipped = [Opcode::Constant, Opcode::Tuple];
        (count(f), opcodes(f).into_iter().filter(|o| !skipped.contains(o)).collect())
    };
    fusions(&module).iter().map(of).collect()
}

#[test]
fn reductions_of_one_array_are_one_pass() {
    let text = with_reducer(
        "x = f32[512,512] parameter(0)",
        "s = f32[512] reduce(x, zero), dimensions={1}, to_apply=add
  q = f32[512,512] multiply(x, x)
  t = f32[512] reduce(q, zero), dimensions={1}, to_apply=add
  m = f32[512] negate(t)
  ROOT r = (f32[512], f32[512]) tuple(s, m)",
    );
    let found = results(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0], (2, vec![Opcode::Reduce, Opcode::Multiply, Opcode::Reduce, Opcode::Negate]));
}

#[test]
fn reductions_in_one_epilogue_are_one_kernel() {
    let text = with_reducer(
        "x = f32[512,512] parameter(0)",
        "s = f32[512] reduce(x, zero), dimensions={1}, to_apply=add
  q = f32[512,512] multiply(x, x)
  t = f32[512] reduce(q, zero), dimensions={1}, to_apply=add
  ROOT v = f32[512] subtract(t, s)",
    );
    let found = results(&text);
    assert_eq!((found.len(), found[0].0), (1, 1), "{found:?}");
}

#[test]
fn reductions_over_other_dimensions_or_of_other_arrays_stay_apart() {
    for second in ["reduce(x, zero), dimensions={0}", "reduce(y, zero), dimensions={1}"] {
        let text = with_reducer(
            "x = f32[512,512] parameter(0)
  y = f32[512,512] parameter(1)",
            &format!(
                "s = f32[512] reduce(x, zero), dimensions={{1}}, to_apply=add
  t = f32[512] {second}, to_apply=add
  ROOT r = (f32[512], f32[512]) tuple(s, t)"
            ),
        );
        assert_eq!(results(&text).len(), 2, "{second}");
    }
}

#[test]
fn a_value_computed_for_a_reduction_is_written_on_the_way() {
    let text = with_reducer(
        "x = f32[512,512] parameter(0)",
        "e = f32[512,512] exponential(x)
  s = f32[512] reduce(e, zero), dimensions={1}, to_apply=add
  ROOT r = (f32[512,512], f32[512]) tuple(e, s)",
    );
    assert_eq!(results(&text), [(2, vec![Opcode::Exponential, Opcode::Reduce])]);
}

#[test]
fn elementwise_kernels_of_one_array_are_one_pass() {
    let text = "HloModule m
ENTRY main { x = f32[512,512] parameter(0)
  y = f32[512,512] parameter(1)
  a = f32[512,512] exponential(x)
  b = f32[512,512] multiply(x, y)
  ROOT r = (f32[512,512], f32[512,512]) tuple(a, b) }";
    let found = results(text);
    assert_eq!(found, [(2, vec![Opcode::Exponential, Opcode::Multiply])]);
}

#[test]
fn nothing_is_merged_around_a_kernel_between() {
    let text = with_reducer(
        "x = f32[512,512] parameter(0)",
        // Sums of rows along columns: no chain, but a second pass.
        "s = f32[512] reduce(x, zero), dimensions={1}, to_apply=add
  b = f32[512,512] broadcast(s), dimensions={1}
  d = f32[512,512] subtract(x, b)
  q = f32[512,512] multiply(d, d)
  t = f32[512] reduce(q, zero), dimensions={1}, to_apply=add
  ROOT r = (f32[512], f32[512]) tuple(s, t)",
    );
    assert_eq!(results(&text).iter().map(|(count, _)| *count).collect::<Vec<_>>(), [1, 1]);
}

#[test]
fn what_reads_a_neighbour_stays_a_kernel_of_its_own() {
    let text = "HloModule m
ENTRY main { x = f32[100000] parameter(0)
  zero = f32[] constant(0)
  e = f32[100000] tanh(x)
  l = f32[99999] slice(e), slice={[1:100000]}
  p = f32[100000] pad(l, zero), padding=0_1
  n = f32[100000] add(p, e)
  ROOT r = (f32[100000], f32[100000]) tuple(e, n) }";
    assert_eq!(results(text).iter().map(|(count, _)| *count).collect::<Vec<_>>(), [1, 1]);
}

/// The rest of a softmax of `x`, which is `f32[512,512]`.
const SOFTMAX: &str = "m = f32[512] reduce(x, low), dimensions={1}, to_apply=max
  mb = f32[512,512] broadcast(m), dimensions={0}
  d = f32[512,512] subtract(x, mb)
  e = f32[512,512] exponential(d)
  s = f32[512] reduce(e, zero), dimensions={1}, to_apply=add
  sb = f32[512,512] broadcast(s), dimensions={0}
  p = f32[512,512] divide(e, sb)";

/// Kernels of a program, for blocks of one thread as for those of many: number of results, number of reductions.
fn chains(parameters: &str, body: &str) -> Vec<(usize, usize)> {
    let found = chains_for(parameters, body, DeviceDescription::cpu(2));
    assert_eq!(chains_for(parameters, body, DeviceDescription::sm(90)), found);
    found
}

/// The same for one device.
fn chains_for(parameters: &str, body: &str, device: DeviceDescription) -> Vec<(usize, usize)> {
    let module = with_chains(parameters, body, device);
    let reduces = |fused: &Computation| opcodes(fused).iter().filter(|&&op| op == Opcode::Reduce).count();
    fusions(&module).into_iter().map(|fused| (fused.root_instruction().shape.leaves().len(), reduces(fused))).collect()
}

/// A program fused for a device.
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
fn a_softmax_is_one_kernel() {
    let body = format!("{SOFTMAX}\n  ROOT r = f32[512,512] negate(p)");
    assert_eq!(chains("x = f32[512,512] parameter(0)", &body), [(1, 2)]);
}

#[test]
fn what_others_read_of_a_chain_is_a_result_of_it() {
    // The broadcast of the sums is computed again outside, from the sums.
    let body = format!(
        "{SOFTMAX}
  t = f32[512,512] transpose(sb), dimensions={{1,0}}
  ROOT r = (f32[512,512], f32[512,512]) tuple(p, t)"
    );
    assert_eq!(chains("x = f32[512,512] parameter(0)", &body), [(2, 2), (1, 0)]);
}

#[test]
fn nothing_leads_around_back_into_a_chain() {
    // The second softmax depends on the first one through a transpose, and directly.
    let body = format!(
        "{SOFTMAX}
  t = f32[512,512] transpose(p), dimensions={{1,0}}
  y = f32[512,512] add(p, t)
  n = f32[512] reduce(y, zero), dimensions={{1}}, to_apply=add
  nb = f32[512,512] broadcast(n), dimensions={{0}}
  ROOT r = f32[512,512] divide(y, nb)"
    );
    assert_eq!(chains("x = f32[512,512] parameter(0)", &body), [(1, 2), (1, 0), (1, 1)]);
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
    // Where a block has threads for a row, its rows may be of any length as long as there are enough of them.
    assert!(kernels(DeviceDescription::sm(90), 4, 100_000) > 1);
    for (rows, length) in [(5000, 100_000), (4, 10_000), (5000, 4)] {
        assert_eq!(kernels(DeviceDescription::sm(90), rows, length), 1, "{rows} rows of {length}");
    }
}

/// A scale from several arrays: one kernel computes all sums and the scale where they are small, and would be taken apart by
/// a chain. Large sums have kernels of their own anyway.
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

#[test]
fn rounding_at_random_is_done_by_a_kernel() {
    let text = "HloModule m
ENTRY main { x = f32[64] parameter(0)
  bits = u32[64] parameter(1)
  d = f32[64] add(x, x)
  ROOT r = s8[64] stochastic-convert(d, bits) }";
    let all = kernels(text);
    assert!(matches!(all.as_slice(), [one] if one.contains(&Opcode::StochasticConvert)), "{all:?}");
}

#[test]
fn what_reads_no_memory_is_computed_where_it_is_used() {
    let mask = "HloModule m
ENTRY main { x = f32[16,512,512] parameter(0)
  i = s32[512] iota(), iota_dimension=0
  a = s32[512,512] broadcast(i), dimensions={0}
  b = s32[512,512] broadcast(i), dimensions={1}
  m = pred[512,512] compare(a, b), direction=GE
  n = pred[16,512,512] broadcast(m), dimensions={1,2}
  zero = f32[] constant(0)
  z = f32[16,512,512] broadcast(zero), dimensions={}
  ROOT r = f32[16,512,512] select(n, x, z) }";
    assert_eq!(kernels(mask).len(), 1);
    let scalars = "HloModule m
ENTRY main { x = f32[512,512] parameter(0)
  i = s32[] parameter(1)
  zero = s32[] constant(0)
  n = s32[] constant(512)
  l = pred[] compare(i, zero), direction=LT
  a = s32[] add(i, n)
  s = s32[] select(l, a, i)
  ROOT r = f32[16,512] dynamic-slice(x, s, zero), dynamic_slice_sizes={16,512} }";
    assert_eq!(kernels(scalars).len(), 1);
}
