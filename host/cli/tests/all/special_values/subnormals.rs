//! Checks guards against division by zero, for subnormal numbers. On the cpu, every operation
//! flushes subnormal numbers to zero. Elsewhere they keep their values.

use fusebox_core::hlo::{ArrayLiteral, ElementType, FloatFormat};

use super::engines::Engine;
use super::values::array;

const ENGINES: [Engine; 3] = [Engine::Cpu, Engine::Simt, Engine::Interpreter];
/// All formats for which the subnormal numbers are also subnormal in the type of the computation.
const FLOATS: [ElementType; 3] = [ElementType::F32, ElementType::F64, ElementType::BF16];

/// Returns four numbers of a type: the smallest and the largest subnormal number, the smallest
/// normal number, and 1.
fn edges(ty: ElementType) -> ArrayLiteral {
    let format = FloatFormat::of(ty).unwrap();
    let normal = 1u64 << format.mantissa_bits;
    let edges = [1, normal - 1, normal, format.encode(1.0)];
    array(ty, edges.map(|bits| bits.to_le_bytes()[..ty.byte_size()].to_vec()))
}

fn numbers(result: &ArrayLiteral) -> Vec<f64> {
    let part = result.element_type.real_part();
    let number = |bytes: &[u8]| {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        FloatFormat::of(part).unwrap().decode(u64::from_le_bytes(wide))
    };
    result.data.chunks(part.byte_size()).map(number).collect()
}

fn run(engine: Engine, text: &str, input: &ArrayLiteral) -> ArrayLiteral {
    engine.run(text, std::slice::from_ref(input)).remove(0)
}

/// XLA:CPU flushes subnormal results too. The simulator keeps them, as GPUs do.
#[test]
fn results_are_zeros_on_the_cpu() {
    let text = "HloModule m\nENTRY e {\n  x = f32[1] parameter(0)\n  ROOT half = f32[1] multiply(x, x) }";
    let x = array(ElementType::F32, [2f32.powi(-70).to_le_bytes().to_vec()]);
    assert_eq!(run(Engine::Cpu, text, &x).data[..], 0f32.to_le_bytes());
    assert_eq!(run(Engine::Simt, text, &x).data[..], f32::from_bits(1 << 9).to_le_bytes());
}

/// Returns a module that computes `where(x == 0, 1, sin(x) / x)`.
fn guarded_quotient(t: ElementType) -> String {
    format!(
        "  zero = {t}[] constant(0)\n  z = {t}[4] broadcast(zero), dimensions={{}}\n  one = {t}[] constant(1)\n  \
         o = {t}[4] broadcast(one), dimensions={{}}\n  is_zero = pred[4] compare(x, z), direction=EQ\n  \
         s = {t}[4] sine(x)\n  q = {t}[4] divide(s, x)\n  "
    )
}

#[test]
fn a_quotient_that_is_guarded_is_finite() {
    for ty in FLOATS {
        let guarded = guarded_quotient(ty);
        let text = format!(
            "HloModule m\nENTRY e {{\n  x = {ty}[4] parameter(0)\n{guarded}ROOT y = {ty}[4] select(is_zero, o, q)\n}}\n"
        );
        for engine in ENGINES {
            let found = numbers(&run(engine, &text, &edges(ty)));
            assert!(found[..3].iter().all(|&y| (y - 1.0).abs() < 0.01), "{ty} on {engine:?}: {found:?}");
        }
    }
}

/// Checks the guarded quotient in a loop. On the cpu, this loop is called as one function.
#[test]
fn a_quotient_that_is_guarded_in_a_loop_is_finite() {
    for ty in FLOATS {
        let guarded = guarded_quotient(ty);
        let state = format!("(s32[], {ty}[4], {ty}[4])");
        let text = format!(
            "HloModule m\nbody {{\n  p = {state} parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n  \
             x = {ty}[4] get-tuple-element(p), index=1\n  sum = {ty}[4] get-tuple-element(p), index=2\n{guarded}\
             y = {ty}[4] select(is_zero, o, q)\n  more = {ty}[4] add(sum, y)\n  n = s32[] constant(1)\n  \
             j = s32[] add(i, n)\n  ROOT t = {state} tuple(j, x, more)\n}}\n\
             condition {{\n  p = {state} parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n  \
             n = s32[] constant(40)\n  ROOT c = pred[] compare(i, n), direction=LT\n}}\n\
             ENTRY e {{\n  x = {ty}[4] parameter(0)\n  i = s32[] constant(0)\n  zero = {ty}[] constant(0)\n  \
             z = {ty}[4] broadcast(zero), dimensions={{}}\n  t = {state} tuple(i, x, z)\n  \
             w = {state} while(t), condition=condition, body=body\n  ROOT y = {ty}[4] get-tuple-element(w), index=2\n}}\n"
        );
        for engine in ENGINES {
            let found = numbers(&run(engine, &text, &edges(ty)));
            assert!(found[..3].iter().all(|&y| (y - 40.0).abs() < 0.5), "{ty} on {engine:?}: {found:?}");
        }
    }
}

/// Checks `z / |z|` where `|z|` is not zero.
#[test]
fn a_unit_complex_number_is_finite() {
    for (ty, part) in [(ElementType::C64, ElementType::F32), (ElementType::C128, ElementType::F64)] {
        let text = format!(
            "HloModule m\nENTRY e {{\n  z = {ty}[4] parameter(0)\n  zero = {part}[] constant(0)\n  \
             zeros = {part}[4] broadcast(zero), dimensions={{}}\n  r = {part}[4] abs(z)\n  \
             is_zero = pred[4] compare(r, zeros), direction=EQ\n  c = {ty}[4] complex(r, zeros)\n  \
             q = {ty}[4] divide(z, c)\n  ROOT y = {ty}[4] select(is_zero, z, q)\n}}\n"
        );
        let parts = edges(part);
        let bytes: Vec<Vec<u8>> = parts.data.chunks(part.byte_size()).map(|re| [re, re].concat()).collect();
        for engine in ENGINES {
            let found = numbers(&run(engine, &text, &array(ty, bytes.clone())));
            assert!(found.iter().all(|y| y.is_finite() && y.abs() <= 1.0), "{ty} on {engine:?}: {found:?}");
        }
    }
}

/// The reciprocal of a large number is subnormal. The reciprocal of this subnormal number is the
/// large number again.
#[test]
fn a_reciprocal_of_a_reciprocal_is_finite() {
    for ty in FLOATS {
        let text = format!(
            "HloModule m\nENTRY e {{\n  x = {ty}[2] parameter(0)\n  one = {ty}[] constant(1)\n  \
             o = {ty}[2] broadcast(one), dimensions={{}}\n  a = {ty}[2] divide(o, x)\n  ROOT y = {ty}[2] divide(o, a)\n}}\n"
        );
        let format = FloatFormat::of(ty).unwrap();
        let large = [format.max_finite_bits(), format.encode(2.0)];
        let x = array(ty, large.map(|bits| bits.to_le_bytes()[..ty.byte_size()].to_vec()));
        for engine in [Engine::Cpu, Engine::Simt] {
            assert_eq!(run(engine, &text, &x).data, x.data, "{ty} on {engine:?}");
        }
    }
}

/// Checks a routine that solves `2x = b` for each line. The quotient is subnormal. Routines of
/// linear algebra keep subnormal numbers on every target, because their algorithms depend on them.
#[test]
fn linear_algebra_keeps_subnormal_numbers() {
    let text = "HloModule m\nENTRY e {\n  b = f64[300,1] parameter(0)\n  two = f64[] constant(2)\n  \
                twos = f64[300,300] broadcast(two), dimensions={}\n  i = s32[300,300] iota(), iota_dimension=0\n  \
                j = s32[300,300] iota(), iota_dimension=1\n  on = pred[300,300] compare(i, j), direction=EQ\n  \
                zero = f64[] constant(0)\n  zeros = f64[300,300] broadcast(zero), dimensions={}\n  \
                a = f64[300,300] select(on, twos, zeros)\n  ROOT x = f64[300,1] triangular-solve(a, b), left_side=true, \
                lower=true, transpose_a=NO_TRANSPOSE\n}\n";
    let b = array(ElementType::F64, vec![f64::MIN_POSITIVE.to_le_bytes().to_vec(); 300]);
    let b = ArrayLiteral::new(ElementType::F64, vec![300, 1], b.data).unwrap();
    for engine in [Engine::Cpu, Engine::Simt] {
        assert!(numbers(&run(engine, text, &b)).iter().all(|&x| x == f64::MIN_POSITIVE / 2.0));
    }
}
