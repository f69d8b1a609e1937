//! Checks the bids that the emitters make around a dot or a convolution.

use fusebox_conformance::assertions;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Bid, Candidate, Fusion};
use fusebox_core::hlo::Op;
use fusebox_emitter_contraction::emitters;

/// Returns the names of the instructions in a bid. The anchor of the bid is the first dot or
/// convolution of a region.
fn taken(region: &str) -> Vec<String> {
    let region: Fusion = assertions::fusion(region);
    let computation = region.computation();
    let anchor = computation
        .ids()
        .find(|&id| matches!(computation.instruction(id).op, Op::Dot(_) | Op::Convolution(_)))
        .unwrap();
    let names = |ids: Vec<_>| ids.into_iter().map(|id| region.computation().instruction(id).name.clone()).collect();
    let candidate = Candidate { region: region.clone(), anchor };
    match emitters()[0].bid(&candidate, &DeviceDescription::cpu(2)) {
        Bid::Take { instructions } => names(instructions),
        Bid::Decline(decline) => panic!("{}", decline.reason),
    }
}

#[test]
fn cheap_operands_and_what_follows_element_by_element() {
    let region = "region {
  x = bf16[40,50] parameter(0)
  y = f32[50,60] parameter(1)
  bias = f32[60] parameter(2)
  xf = f32[40,50] convert(x)
  e = f32[50,60] exponential(y)
  d = f32[40,60] dot(xf, e), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[40,60] broadcast(bias), dimensions={1}
  a = f32[40,60] add(d, b)
  t = f32[40,60] tanh(a)
  r = f32[60,40] transpose(t), dimensions={1,0}
  ROOT n = f32[60,40] negate(r)
}
";
    // The kernel would recompute the exponential for every tile. After the transpose, elements have
    // other indices.
    assert_eq!(taken(region), ["xf", "d", "b", "a", "t"]);
}

#[test]
fn a_transpose_of_the_product() {
    let region = "region {
  x = f32[40,50] parameter(0)
  y = f32[50,60] parameter(1)
  d = f32[40,60] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[60,40] transpose(d), dimensions={1,0}
  ROOT n = f32[60,40] negate(t)
}
";
    assert_eq!(taken(region), ["d", "t", "n"]);
}

#[test]
fn operands_that_others_read_stay_theirs() {
    let region = "region {
  x = f32[40,50] parameter(0)
  y = f32[50,40] parameter(1)
  n = f32[40,50] negate(x)
  d = f32[40,40] dot(n, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  e = f32[40,40] dot(n, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[40,40] add(d, e)
  ROOT m = f32[40,40] negate(s)
}
";
    // The sum needs the other product too, which runs first.
    assert_eq!(taken(region), ["d", "s", "m"]);
}

#[test]
fn what_stands_around_a_convolution() {
    let region = "region {
  x = bf16[2,9,9,20] parameter(0)
  w = f32[3,3,20,40] parameter(1)
  bias = f32[40] parameter(2)
  residual = f32[2,9,9,40] parameter(3)
  xf = f32[2,9,9,20] convert(x)
  c = f32[2,9,9,40] convolution(xf, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
  b = f32[2,9,9,40] broadcast(bias), dimensions={3}
  a = f32[2,9,9,40] add(c, b)
  zero = f32[] constant(0)
  z = f32[2,9,9,40] broadcast(zero), dimensions={}
  m = f32[2,9,9,40] maximum(a, z)
  r = f32[2,9,9,40] add(m, residual)
  ROOT h = bf16[2,9,9,40] convert(r)
}
";
    assert_eq!(taken(region), ["xf", "c", "b", "a", "zero", "z", "m", "r", "h"]);
}
