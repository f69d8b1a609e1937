//! Checks the forms in which claims want products.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Candidate, Fusion};
use fusebox_core::hlo::parse_module;
use fusebox_emitter_contraction::emitters;

/// Whether the claim for the product of `f32[rows,steps]` and `f32[steps,columns]` wants a sum.
fn is_sum([rows, steps, columns]: [i64; 3], device: &DeviceDescription) -> bool {
    let text = format!(
        "HloModule m
ENTRY main {{ x = f32[{rows},{steps}] parameter(0)
  w = f32[{steps},{columns}] parameter(1)
  ROOT y = f32[{rows},{columns}] dot(x, w), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}} }}"
    );
    let region = Fusion::new("y", parse_module(&text, "test.hlo").unwrap()).unwrap();
    let anchor = region.computation().root;
    let candidate = Candidate { region, anchor };
    emitters()[0].claim(&candidate, device).is_some_and(|claim| claim.as_sum)
}

#[test]
fn a_row_times_a_large_matrix_is_wanted_as_a_sum_on_a_cpu() {
    let (cpu, gpu) = (DeviceDescription::cpu(2), DeviceDescription::simt());
    assert!(is_sum([1, 1024, 256], &cpu));
    for sizes in [[2, 1024, 256], [1, 1023, 256], [1, 4096, 255]] {
        assert!(!is_sum(sizes, &cpu), "{sizes:?}");
    }
    assert!(!is_sum([1, 1024, 256], &gpu));
}
