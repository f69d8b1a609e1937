//! Tests which outputs of whole kernels may be written in-place into which parameters.

use fusebox_core::device::DeviceDescription;
use fusebox_lowering::Target;
use fusebox_runtime::Thunk;

use super::{InPlacePair, pairs};
use crate::{Compilation, Emitters, Options, Phase, Source, compile};

fn compiled(text: &str, until: Phase) -> Compilation {
    let options = Options::new(Target::cpu(), DeviceDescription::cpu(2), Emitters::bundled(), until);
    compile(&Source::text("m.hlo", text), &options).unwrap()
}

/// Returns, for a program's only kernel, each pair of a parameter and an output that may be written
/// into the parameter's buffer.
fn pairs_of(text: &str) -> Vec<(usize, usize)> {
    let made = compiled(text, Phase::Emit);
    let [kernel] = &made.kernels[..] else { panic!("{} kernels", made.kernels.len()) };
    pairs(kernel).into_iter().map(|InPlacePair { parameter, output }| (parameter, output)).collect()
}

#[test]
fn results_that_have_nothing_in_common_take_the_places_of_what_they_are_made_of() {
    let text = "HloModule m
        fused {
          p = s32[4] parameter(0)
          q = s32[2,3] parameter(1)
          o = s32[2,3] parameter(2)
          a = s32[4] negate(p)
          b = s32[2,3] subtract(q, o)
          ROOT t = (s32[4], s32[2,3]) tuple(a, b)
        }
        ENTRY main {
          p = s32[4] parameter(0)
          q = s32[2,3] parameter(1)
          o = s32[2,3] parameter(2)
          ROOT f = (s32[4], s32[2,3]) fusion(p, q, o), kind=kLoop, calls=fused
        }";
    assert_eq!(pairs_of(text), [(0, 0), (1, 1), (2, 1)]);
}

/// The kernel computes each result in a separate loop, and both loops read `p`. If the first loop
/// wrote into `p`, the second loop would read the written values.
#[test]
fn what_two_loops_read_keeps_its_place() {
    let text = "HloModule m
        fused {
          p = s32[4] parameter(0)
          q = s32[2,3] parameter(1)
          zero = s32[] constant(0)
          a = s32[4] negate(p)
          part = s32[2] slice(p), slice={[0:2]}
          rows = s32[2,3] broadcast(part), dimensions={0}
          b = s32[2,3] subtract(q, rows)
          ROOT t = (s32[4], s32[2,3]) tuple(a, b)
        }
        ENTRY main {
          p = s32[4] parameter(0)
          q = s32[2,3] parameter(1)
          ROOT f = (s32[4], s32[2,3]) fusion(p, q), kind=kLoop, calls=fused
        }";
    assert_eq!(pairs_of(text), [(1, 1)]);
}

/// The rows have common operands, so the kernel computes all rows together, and then writes one row
/// after the other. The kernel reads each row of `q` for several rows of the result.
#[test]
fn a_result_that_is_written_row_by_row_takes_the_place_of_what_is_read_row_by_row() {
    let text = "HloModule m
        fused {
          p = f32[3,64] parameter(0)
          q = f32[3,64] parameter(1)
          e = f32[3,64] exponential(q)
          a = f32[1,64] slice(e), slice={[0:1], [0:64]}
          b = f32[1,64] slice(e), slice={[1:2], [0:64]}
          c = f32[1,64] slice(e), slice={[2:3], [0:64]}
          x = f32[1,64] subtract(a, b)
          y = f32[1,64] multiply(b, c)
          z = f32[1,64] divide(c, a)
          rows = f32[3,64] concatenate(x, y, z), dimensions={0}
          ROOT sum = f32[3,64] add(rows, p)
        }
        ENTRY main {
          p = f32[3,64] parameter(0)
          q = f32[3,64] parameter(1)
          ROOT f = f32[3,64] fusion(p, q), kind=kLoop, calls=fused
        }";
    assert_eq!(pairs_of(text), [(0, 0)]);
}

/// In the dimensions of size 1 the epilogue reads at index 0, and the kernel writes at a computed
/// index.
#[test]
fn the_result_of_a_convolution_takes_the_place_of_what_it_is_added_to() {
    let text = "HloModule m
        ENTRY main {
          x = f32[4,4,4,16] parameter(0)
          g = f32[4,4,4,32] parameter(1)
          w = f32[1,1,16,32] parameter(2)
          c = f32[1,1,16,32] convolution(x, g), window={size=4x4}, dim_labels=f01b_i01o->01bf
          ROOT s = f32[1,1,16,32] subtract(w, c)
        }";
    assert_eq!(pairs_of(text), [(2, 0)]);
}

#[test]
fn a_donated_array_is_updated_after_all_who_read_it() {
    let text = "HloModule m, input_output_alias={ {0}: (1, {}, may-alias) }
        ENTRY main {
          x = f32[64,64] parameter(0)
          w = f32[64,64] parameter(1)
          d = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          u = f32[64,64] subtract(w, d)
          e = f32[64,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
          ROOT r = (f32[64,64], f32[64,64]) tuple(u, e)
        }";
    let executable = compiled(text, Phase::Schedule).executable.unwrap();
    let computes = |thunk: &Thunk| matches!(thunk, Thunk::Kernel { .. } | Thunk::HostOp { .. });
    assert!(executable.thunks.iter().all(computes), "{:?}", executable.thunks);
}

/// Prints a softmax over rows of `columns` elements.
fn softmax(columns: usize) -> String {
    format!(
        "HloModule m
        max {{ a = f32[] parameter(0)
          b = f32[] parameter(1)
          ROOT c = f32[] maximum(a, b) }}
        sum {{ a = f32[] parameter(0)
          b = f32[] parameter(1)
          ROOT c = f32[] add(a, b) }}
        ENTRY main {{
          x = f32[8,{columns}] parameter(0)
          zero = f32[] constant(0)
          least = f32[] constant(-inf)
          m = f32[8] reduce(x, least), dimensions={{1}}, to_apply=max
          largest = f32[8,{columns}] broadcast(m), dimensions={{0}}
          d = f32[8,{columns}] subtract(x, largest)
          e = f32[8,{columns}] exponential(d)
          s = f32[8] reduce(e, zero), dimensions={{1}}, to_apply=sum
          all = f32[8,{columns}] broadcast(s), dimensions={{0}}
          ROOT r = f32[8,{columns}] divide(e, all)
        }}"
    )
}

#[test]
fn rows_that_are_read_before_they_are_written_take_their_places() {
    assert_eq!(pairs_of(&softmax(200)), [(0, 0)]);
    // LLVM generates better code for short rows if output and input do not alias.
    assert_eq!(pairs_of(&softmax(8)), []);
}
