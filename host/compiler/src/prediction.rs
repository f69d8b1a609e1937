//! What a kernel will move through memory, and how long that takes at best.

use fusebox_core::cost::{self, of_computation};
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Fusion, OutputPlan, Plan};
use fusebox_core::hlo::{ArrayShape, Shape};

/// A lower bound for a kernel: every parameter read once, every output written once, at the full bandwidth of
/// the device's memory; every operation done once, at the device's full speed. The slower of both counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Bytes of the parameters, without those that an output starts from.
    pub read: u64,
    /// Bytes that the kernel writes: of an output updated in place, those updated.
    pub written: u64,
    /// Seconds: launch, and memory traffic or arithmetic.
    pub seconds: f64,
}

/// Predicts a fusion's kernel.
pub fn predict(fusion: &Fusion, plan: &Plan, device: &DeviceDescription) -> Prediction {
    let computation = fusion.computation();
    let updated: Vec<u32> = plan.outputs.iter().filter_map(|output| output.initial).collect();
    let parameters = computation.parameters().into_iter().enumerate();
    let plain = parameters.filter(|(number, _)| !updated.contains(&(*number as u32)));
    let read = plain.filter_map(|(_, id)| computation.instruction(id).shape.as_array()).map(bytes).sum();
    let leaves = fusion.roots.iter().flat_map(|&root| computation.instruction(root).shape.leaves());
    let arrays = leaves.filter_map(Shape::as_array).zip(&plan.outputs);
    let written = arrays.map(|(array, output)| written(array, output)).sum();
    Prediction { read, written, seconds: cost::seconds(read + written, of_computation(computation), device) }
}

fn bytes(array: &ArrayShape) -> u64 {
    array.byte_size().max(0) as u64
}

fn written(array: &ArrayShape, output: &OutputPlan) -> u64 {
    let points = output.maps.iter().map(|map| map.box_size()).fold(0, u64::saturating_add);
    let touched = points.saturating_mul(array.element_type.byte_size() as u64);
    if output.initial.is_some() { touched.min(bytes(array)) } else { bytes(array) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fusebox_core::emitter::LaunchDimensions;
    use fusebox_core::hlo::parse_module;
    use fusebox_core::indexing::IndexingMap;

    fn prediction(text: &str, output: OutputPlan) -> Prediction {
        let fusion = Fusion::new("f", parse_module(text, "test.hlo").unwrap()).unwrap();
        let plan = Plan {
            launch: LaunchDimensions { blocks: 1, threads_per_block: 1 },
            shared_bytes: 0,
            outputs: vec![output],
            vector_lanes: 1,
            configuration: Default::default(),
            alternatives: Vec::new(),
            notes: Vec::new(),
        };
        predict(&fusion, &plan, &DeviceDescription { memory_bandwidth: 1e9, ..DeviceDescription::cpu(1) })
    }

    #[test]
    fn everything_is_moved_once_and_an_update_moves_what_it_updates() {
        let copy = prediction(
            "f { x = f32[1000] parameter(0)\n  ROOT n = f32[1000] negate(x) }",
            OutputPlan::unique(IndexingMap::identity(&[1000])),
        );
        assert_eq!((copy.read, copy.written), (4000, 4000));
        assert!((copy.seconds - cost::LAUNCH_SECONDS - 8e-6).abs() < 1e-12);
        let update = prediction(
            "f { x = f32[1000] parameter(0)
  u = f32[10] parameter(1)
  i = s32[] parameter(2)
  ROOT d = f32[1000] dynamic-update-slice(x, u, i) }",
            OutputPlan::in_place(IndexingMap::identity(&[10]), 0),
        );
        assert_eq!((update.read, update.written), (44, 40));
    }
}
