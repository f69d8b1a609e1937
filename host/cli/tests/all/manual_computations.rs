//! Compares programs in which each device computes with its own parts of arrays with the reference
//! interpreter, and checks the errors of such programs.

use std::time::Duration;

use fusebox_compiler::Phase;
use fusebox_conformance::literals::small_integers;
use fusebox_conformance::{Compiler, Machine, inputs};
use fusebox_runtime::{LoadedExecutable, Options};

/// A program whose devices form a mesh `x` by `y` of 2 by 4. Each device executes `body`, in which
/// `a` is the part of the operand.
fn program(types: [&str; 4], shardings: [&str; 2], axes: &str, before: &str, body: &str) -> String {
    let [whole, part, own, result] = types;
    let [divided, joined] = shardings;
    format!(
        r##"HloModule m, num_partitions=8, frontend_attributes={{xla.sdy.meshes={{mesh = #sdy.mesh<["x"=2, "y"=4]>}}}}
add {{
  p = s32[] parameter(0)
  q = s32[] parameter(1)
  ROOT s = s32[] add(p, q)
}}
most {{
  p = s32[] parameter(0)
  q = s32[] parameter(1)
  m = s32[] maximum(p, q)
  ROOT s = s32[] custom-call(m), custom_call_target="Sharding"
}}
{before}
xla.sdy.manual_computation_body.1 {{
  a = {part} parameter(0)
{body}
}}
ENTRY main {{
  x = {whole} parameter(0), sharding={{devices=[8]<=[8]}}
  one = s32[] constant(1)
  ones = {whole} broadcast(one), dimensions={{}}
  y = {whole} add(x, ones)
  z = {whole} custom-call(y), custom_call_target="Sharding", sharding={{replicated}}
  g = {part} custom-call(z), custom_call_target="xla.sdy.GlobalToLocalShape", custom_call_has_side_effect=true, frontend_attributes={{xla.sdy.in_shardings="#sdy.sharding_per_value<[<@mesh, {divided}>]>",xla.sdy.manual_axes="#sdy<manual_axes{{{axes}}}>"}}
  c = {own} call(g), to_apply=xla.sdy.manual_computation_body.1
  l = {result} custom-call(c), custom_call_target="xla.sdy.LocalToGlobalShape", custom_call_has_side_effect=true, frontend_attributes={{xla.sdy.out_shardings="#sdy.sharding_per_value<[<@mesh, {joined}>]>",xla.sdy.manual_axes="#sdy<manual_axes{{{axes}}}>"}}
  n = {result} negate(l)
  ROOT r = {result} custom-call(n), custom_call_target="xla.sdy.FuncResultSharding", custom_call_has_side_effect=true
}}
"##
    )
}

const BOTH: &str = r##"\"x\", \"y\""##;
const BY_BOTH: &str = r##"[{\"x\", \"y\"}]"##;
const NOT: &str = "[{}]";

/// A program whose device `d` has elements `2 * d` and `2 * d + 1` of 16 numbers, and computes
/// `result`, of which the devices' parts are joined.
fn of_all(own: &str, result: &str, joined: &str, body: &str) -> String {
    program(["s32[16]", "s32[2]", own, result], [BY_BOTH, joined], BOTH, "", body)
}

/// Checks a program on small integers. The program must compute the same on cpu and simt.
fn check(text: &str) {
    let compiler = Compiler::new(Vec::new()).unwrap();
    compiler.check(text).unwrap_or_else(|failure| panic!("{failure}\n{text}"));
}

#[test]
fn reductions() {
    let groups =
        ["{}", "{{0,1,2,3},{4,5,6,7}}", "[4,2]<=[2,4]T(1,0)", "mesh['x'=2,'y'=4] {'x'}", "{{0},{1,2,3},{7,6,5,4}}"];
    for groups in groups {
        for combiner in ["add", "most"] {
            let body = format!(
                "  ROOT r = s32[2] all-reduce(a), channel_id=1, replica_groups={groups}, use_global_device_ids=true, to_apply={combiner}"
            );
            check(&of_all("s32[2]", "s32[16]", BY_BOTH, &body));
        }
    }
    let body = "  i = s32[2] iota(), iota_dimension=0
  t = (s32[2], s32[2]) all-reduce(a, i), channel_id=1, replica_groups={}, to_apply=add
  f = s32[2] get-tuple-element(t), index=0
  s = s32[2] get-tuple-element(t), index=1
  ROOT r = s32[2] multiply(f, s)";
    check(&of_all("s32[2]", "s32[2]", NOT, body));
}

#[test]
fn gathered_and_scattered_arrays() {
    let gathered =
        "  ROOT r = s32[8] all-gather(a), channel_id=1, dimensions={0}, replica_groups={{0,1,2,3},{7,6,5,4}}";
    check(&of_all("s32[8]", "s32[64]", BY_BOTH, gathered));
    let scattered = "  g = s32[8] all-gather(a), channel_id=1, dimensions={0}, replica_groups=[2,4]<=[8]
  m = s32[2,4] reshape(g)
  s = s32[2,1] reduce-scatter(m), channel_id=1, dimensions={1}, replica_groups=[2,4]<=[8], to_apply=add
  ROOT r = s32[2] reshape(s)";
    check(&of_all("s32[2]", "s32[16]", BY_BOTH, scattered));
}

#[test]
fn exchanged_arrays() {
    let columns = "  g = s32[8] all-gather(a), channel_id=1, dimensions={0}, replica_groups=[2,4]<=[8]
  m = s32[2,4] reshape(g)
  s = s32[2,4] all-to-all(m), channel_id=1, dimensions={1}, replica_groups=[2,4]<=[8]
  ROOT r = s32[8] reshape(s)";
    check(&of_all("s32[8]", "s32[64]", BY_BOTH, columns));
    let operands = "  n = s32[2] negate(a)
  t = (s32[2], s32[2]) all-to-all(a, n), channel_id=1, replica_groups={{0,4},{1,5},{2,6},{3,7}}
  f = s32[2] get-tuple-element(t), index=0
  s = s32[2] get-tuple-element(t), index=1
  ROOT r = s32[4] concatenate(f, s), dimensions={0}";
    check(&of_all("s32[4]", "s32[32]", BY_BOTH, operands));
    let moved = "  ROOT r = s32[2] collective-permute(a), channel_id=1, source_target_pairs={{0,1},{1,0},{2,2},{5,7}}";
    check(&of_all("s32[2]", "s32[16]", BY_BOTH, moved));
    let first = "  ROOT r = s32[2] collective-broadcast(a), channel_id=1, replica_groups={{3,2,1,0},{4,5,6,7}}";
    check(&of_all("s32[2]", "s32[16]", BY_BOTH, first));
}

#[test]
fn the_number_of_a_device() {
    let body = "  d = u32[] partition-id()
  n = s32[] convert(d)
  b = s32[2] broadcast(n), dimensions={}
  ROOT r = s32[2] multiply(a, b)";
    check(&of_all("s32[2]", "s32[16]", BY_BOTH, body));
}

/// A loop of as many iterations as all devices agree on, with an exchange in each one, and a
/// branch that some devices take.
#[test]
fn loops_and_branches_of_devices() {
    let before = "goes_on {
  s = (s32[], s32[2]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  five = s32[] constant(5)
  ROOT c = pred[] compare(n, five), direction=LT
}
takes {
  s = (s32[], s32[2]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  v = s32[2] get-tuple-element(s), index=1
  one = s32[] constant(1)
  m = s32[] add(n, one)
  p = s32[2] collective-permute(v), channel_id=1, source_target_pairs={{0,1},{1,2},{2,3},{3,4},{4,5},{5,6},{6,7},{7,0}}
  b = s32[2] broadcast(m), dimensions={}
  w = s32[2] add(p, b)
  ROOT t = (s32[], s32[2]) tuple(m, w)
}
summed {
  v = s32[2] parameter(0)
  ROOT r = s32[2] all-reduce(v), channel_id=1, replica_groups={{0,1,2,3},{4,5,6,7}}, to_apply=add
}
same { ROOT v = s32[2] parameter(0) }";
    let body = "  zero = s32[] constant(0)
  s = (s32[], s32[2]) tuple(zero, a)
  w = (s32[], s32[2]) while(s), condition=goes_on, body=takes
  v = s32[2] get-tuple-element(w), index=1
  d = u32[] partition-id()
  four = u32[] constant(4)
  c = pred[] compare(d, four), direction=LT
  ROOT r = s32[2] conditional(c, v, v), true_computation=summed, false_computation=same";
    check(&program(["s32[16]", "s32[2]", "s32[2]", "s32[16]"], [BY_BOTH, BY_BOTH], BOTH, before, body));
}

/// A manual computation in each iteration of a loop that runs once for all devices.
#[test]
fn a_manual_computation_in_a_loop() {
    let text = r##"HloModule m, num_partitions=4, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["x"=4]>}}
add {
  p = s32[] parameter(0)
  q = s32[] parameter(1)
  ROOT s = s32[] add(p, q)
}
xla.sdy.manual_computation_body {
  a = s32[4,2] parameter(0)
  b = s32[4] parameter(1)
  z = s32[] constant(0)
  r = s32[4] reduce(a, z), dimensions={1}, to_apply=add
  s = s32[4] all-reduce(r), channel_id=1, replica_groups={{0,1,2,3}}, to_apply=add
  ROOT t = (s32[4], s32[4,2]) tuple(s, a)
}
goes_on {
  s = (s32[], s32[4,8], s32[4]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  five = s32[] constant(3)
  ROOT c = pred[] compare(n, five), direction=LT
}
takes {
  s = (s32[], s32[4,8], s32[4]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  v = s32[4,8] get-tuple-element(s), index=1
  w = s32[4] get-tuple-element(s), index=2
  one = s32[] constant(1)
  m = s32[] add(n, one)
  g = (s32[4,2], s32[4]) custom-call(v, w), custom_call_target="xla.sdy.GlobalToLocalShape", frontend_attributes={xla.sdy.in_shardings="#sdy.sharding_per_value<[<@mesh, [{}, {\"x\"}]>, <@mesh, [{}]>]>",xla.sdy.manual_axes="#sdy<manual_axes{\"x\"}>"}
  ga = s32[4,2] get-tuple-element(g), index=0
  gb = s32[4] get-tuple-element(g), index=1
  c = (s32[4], s32[4,2]) call(ga, gb), to_apply=xla.sdy.manual_computation_body
  ca = s32[4] get-tuple-element(c), index=0
  cb = s32[4,2] get-tuple-element(c), index=1
  l = (s32[4], s32[4,8]) custom-call(ca, cb), custom_call_target="xla.sdy.LocalToGlobalShape", frontend_attributes={xla.sdy.out_shardings="#sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{}, {\"x\"}]>]>",xla.sdy.manual_axes="#sdy<manual_axes{\"x\"}>"}
  la = s32[4] get-tuple-element(l), index=0
  lb = s32[4,8] get-tuple-element(l), index=1
  sum = s32[4] add(la, w)
  spread = s32[4,8] broadcast(sum), dimensions={0}
  next = s32[4,8] subtract(lb, spread)
  ROOT t = (s32[], s32[4,8], s32[4]) tuple(m, next, sum)
}
ENTRY main {
  x = s32[4,8] parameter(0)
  y = s32[4] parameter(1)
  zero = s32[] constant(0)
  s = (s32[], s32[4,8], s32[4]) tuple(zero, x, y)
  ROOT w = (s32[], s32[4,8], s32[4]) while(s), condition=goes_on, body=takes
}
"##;
    check(text);
}

/// Only the axis `y` is manual: devices that differ along `x` compute the same.
#[test]
fn some_axes_are_manual() {
    let by_y = r##"[{\"y\", ?}]"##;
    let y = r##"\"y\""##;
    let body = "  d = s32[4] custom-call(a), custom_call_target=\"Sharding\", sharding={replicated}
  r = s32[4] all-reduce(d), channel_id=1, replica_groups={{0,1,2,3},{4,5,6,7}}, to_apply=most
  p = s32[4] collective-permute(a), channel_id=1, source_target_pairs={{0,1},{1,2},{2,3},{3,0},{4,5},{5,6},{6,7},{7,4}}
  ROOT s = s32[4] add(r, p)";
    check(&program(["s32[16]", "s32[4]", "s32[4]", "s32[16]"], [by_y, by_y], y, "", body));
}

/// Each device of a manual computation along `x` starts one along `y`, whose devices exchange
/// arrays with all others.
#[test]
fn a_manual_computation_in_another_one() {
    let before = r##"xla.sdy.manual_computation_body.2 {
  b = s32[2] parameter(0)
  s = s32[2] all-reduce(b), channel_id=1, replica_groups={{0,1,2,3},{4,5,6,7}}, to_apply=add
  t = s32[2] all-reduce(b), channel_id=1, replica_groups={{0,4},{1,5},{2,6},{3,7}}, to_apply=add
  d = u32[] partition-id()
  n = s32[] convert(d)
  e = s32[2] broadcast(n), dimensions={}
  u = s32[2] add(s, t)
  ROOT v = s32[2] multiply(u, e)
}"##;
    let body = r##"  h = s32[2] custom-call(a), custom_call_target="xla.sdy.GlobalToLocalShape", frontend_attributes={xla.sdy.in_shardings="#sdy.sharding_per_value<[<@mesh, [{\"y\"}]>]>",xla.sdy.manual_axes="#sdy<manual_axes{\"y\"}>"}
  i = s32[2] call(h), to_apply=xla.sdy.manual_computation_body.2
  j = s32[8] custom-call(i), custom_call_target="xla.sdy.LocalToGlobalShape", frontend_attributes={xla.sdy.out_shardings="#sdy.sharding_per_value<[<@mesh, [{\"y\"}]>]>",xla.sdy.manual_axes="#sdy<manual_axes{\"y\"}>"}
  ROOT k = s32[8] add(j, a)"##;
    let by_x = r##"[{\"x\"}]"##;
    check(&program(["s32[16]", "s32[8]", "s32[8]", "s32[16]"], [by_x, by_x], r##"\"x\""##, before, body));
}

/// Runs a program whose devices wait at most 100 ms. Returns the error.
fn error_of(text: &str) -> String {
    let compilation = Compiler::new(Vec::new()).unwrap().compile(text, &Machine::cpu(), Phase::Run).unwrap();
    let limit = Some(Duration::from_millis(100));
    let options = Options { threads: 2, collective_limit: limit, ..Options::default() };
    let program = LoadedExecutable::open(compilation.executable.unwrap(), &options).unwrap();
    program.run(&inputs(text, small_integers).unwrap()).unwrap_err().to_string()
}

/// Returns the error of compiling a program.
fn refusal_of(text: &str) -> String {
    Compiler::new(Vec::new()).unwrap().compile(text, &Machine::cpu(), Phase::Run).unwrap_err().to_string()
}

#[test]
fn devices_that_do_not_come_are_named() {
    let before = "summed {
  v = s32[2] parameter(0)
  ROOT r = s32[2] all-reduce(v), channel_id=1, replica_groups={}, to_apply=add
}
swapped {
  v = s32[2] parameter(0)
  ROOT p = s32[2] all-reduce(v), channel_id=1, replica_groups={{0,1,2,3},{4,5,6,7}}, to_apply=add
}";
    let taken = |other: &str| {
        let body = format!(
            "  d = u32[] partition-id()
  two = u32[] constant(2)
  c = pred[] compare(d, two), direction=GE
  v = s32[2] conditional(c, a, a), true_computation=summed, false_computation={other}
  ROOT w = s32[2] all-reduce(v), channel_id=1, replica_groups={{{{0,1}},{{2,3,4,5,6,7}}}}, to_apply=add"
        );
        program(["s32[16]", "s32[2]", "s32[2]", "s32[16]"], [BY_BOTH, BY_BOTH], BOTH, before, &body)
    };
    let text = error_of(&taken("swapped"));
    assert!(text.contains("all-reduce: device ") && text.contains(" has waited 0.1 s for devices "), "{text}");
}

#[test]
fn unsupported_programs_are_refused_with_their_line() {
    let refused = |body: &str, message: &str| {
        let error = refusal_of(&of_all("s32[2]", "s32[16]", BY_BOTH, body));
        assert!(error.contains(message), "{error}");
    };
    refused("  ROOT r = s32[2] all-reduce(a), replica_groups={}, to_apply=add", "exchange between replicas");
    let ragged = "  ROOT r = s32[2] ragged-all-to-all(a, a, a, a, a, a), channel_id=1, replica_groups={}";
    refused(ragged, "ragged-all-to-all is not supported");
    let odd = "  ROOT r = s32[2] all-reduce(a), channel_id=1, replica_groups={}, to_apply=odd";
    let computation =
        "odd {\n  p = s32[] parameter(0)\n  q = s32[] parameter(1)\n  ROOT s = s32[] subtract(p, q)\n}\nmost {";
    let error = refusal_of(&of_all("s32[2]", "s32[16]", BY_BOTH, odd).replace("most {", computation));
    assert!(error.contains("the combiner odd is not supported"), "{error}");
    let outside = "HloModule m, num_partitions=2\nadd {\n  p = s32[] parameter(0)\n  q = s32[] parameter(1)\n  \
                   ROOT s = s32[] add(p, q)\n}\nENTRY e {\n  x = s32[2] parameter(0)\n  ROOT r = s32[2] all-reduce(x), \
                   channel_id=1, replica_groups={}, to_apply=add\n}\n";
    let error = refusal_of(outside);
    assert!(error.contains(":9:") && error.contains("only in manual computations"), "{error}");
}
