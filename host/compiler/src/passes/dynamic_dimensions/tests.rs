//! Tests that each error names the refused operation and its position, and says what to do instead.

use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::{parse_module, print_module, verify};

use crate::fuse::Claims;
use crate::passes::PASSES;
use crate::{CompileError, Emitters};

const COMPUTATIONS: &str = "HloModule m
add { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b) }
odd { a = f32[] parameter(0)
  b = f32[] parameter(1)
  d = f32[] subtract(a, b)
  ROOT c = f32[] add(d, b) }
";

fn apply(text: &str) -> Result<String, CompileError> {
    let mut module = parse_module(text, "test.hlo").unwrap_or_else(|faults| panic!("{}", faults[0]));
    verify(&module).unwrap_or_else(|faults| panic!("{}", faults[0]));
    let pass = PASSES.iter().find(|it| it.name == "dynamic-dimensions").unwrap();
    pass.apply(
        &mut module,
        &mut Claims::new(&DeviceDescription::cpu(2), &Emitters::bundled(), &fusebox_plugins::KnownPlans::default()),
        true,
    )?;
    verify(&module).unwrap_or_else(|faults| panic!("{}\n{}", faults[0], print_module(&module)));
    Ok(print_module(&module))
}

/// Returns a program with an array `d = f32[<=8]`, an array `s = f32[4,<=4]`, and these lines.
fn program(lines: &str) -> String {
    format!(
        "{COMPUTATIONS}ENTRY main {{ x = f32[8] parameter(0)
  n = s32[] parameter(1)
  y = f32[4,4] parameter(2)
  z = f32[] constant(0)
  d = f32[<=8] set-dimension-size(x, n), dimensions={{0}}
  s = f32[4,<=4] set-dimension-size(y, n), dimensions={{1}}
{lines} }}"
    )
}

#[test]
fn what_cannot_be_done_is_named() {
    for (lines, why) in [
        ("ROOT r = f32[8] set-dimension-size(d, n), dimensions={0}", "declares it static"),
        (
            "c = s32[] constant(9)\n  e = f32[<=8] set-dimension-size(x, c), dimensions={0}\n  ROOT r = s32[] \
          get-dimension-size(e), dimensions={0}",
            "not between 0 and the bound 8",
        ),
        ("e = f32[<=16] reshape(s)\n  ROOT r = f32[] reduce(e, z), dimensions={0}, to_apply=add", "leave gaps"),
        (
            "e = f32[2,<=4] reshape(d)\n  ROOT r = f32[] reduce(e, z), dimensions={0,1}, to_apply=add",
            "not only the outermost part is dynamic",
        ),
        (
            "e = f32[<=8] custom-call(d), custom_call_target=\"f\"\n  ROOT r = s32[] get-dimension-size(e), \
          dimensions={0}",
            "custom-call cannot have operands or results of dynamic size",
        ),
        (
            "i = f32[1,16,1] reshape(y)\n  w = f32[8,1,1] reshape(x)\n  v = f32[<=8,1,1] set-dimension-size(w, n), \
             dimensions={0}\n  c = f32[1,9,1] convolution(i, v), window={size=8}, dim_labels=b0f_0io->b0f\n  ROOT r = f32[1,9,1] \
             negate(c)",
            "groups and windows must be static",
        ),
    ] {
        let error = apply(&program(lines)).expect_err(lines).to_string();
        assert!(error.contains(why) && error.contains("test.hlo:"), "{lines}\n{error}");
    }
}

#[test]
fn a_static_program_stays() {
    let text = "HloModule m\nENTRY main { x = f32[8] parameter(0)\n  ROOT r = f32[8] negate(x) }";
    let module = parse_module(text, "test.hlo").unwrap();
    assert_eq!(apply(text).unwrap(), print_module(&module));
}

/// The shape must say that a dimension is dynamic if the operands make it dynamic.
#[test]
fn a_dynamic_dimension_is_declared() {
    let module = parse_module(&program("ROOT r = f32[8] negate(d)"), "test.hlo").unwrap();
    let faults = verify(&module).unwrap_err();
    assert!(faults[0].message.contains("dimension 0 of this negate is as dynamic as its operands"), "{}", faults[0]);
}
