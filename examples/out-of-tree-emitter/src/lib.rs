//! `simple-loop`: a simple loop emitter with one thread per element.
//!
//! The file is best read from top to bottom: description, accepted fusions, plan, code.

#![forbid(unsafe_code)]

use fusebox_core::builder::KernelBuilder;
use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Configuration, Decline, Descriptor, EmitError, Emitter, Fusion, Kernel, LaunchDimensions, OutputPlan, Plan,
    StaticDescriptor, Verdict,
};
use fusebox_core::hlo::ArrayShape;
use fusebox_core::indexing::{Expr, IndexingMap, Interval, Variable, delinearize};

/// Number of elements that a block of one thread computes one after another.
const ELEMENTS: i64 = 4096;

/// The emitter.
pub struct SimpleLoop;

const SIMPLE_LOOP: StaticDescriptor =
    StaticDescriptor { kind: "loop", name: "simple-loop", version: env!("CARGO_PKG_VERSION") };

fusebox_core::export_emitters!(SIMPLE_LOOP => SimpleLoop);

impl Emitter for SimpleLoop {
    fn descriptor(&self) -> Descriptor {
        SIMPLE_LOOP.into()
    }

    /// Accepts only fusions with a single result.
    fn consider(&self, fusion: &Fusion, _device: &DeviceDescription) -> Verdict {
        let mut instructions = fusion.computation().instructions.iter();
        let verdict = match output_shape(fusion) {
            Some(shape) if shape.element_count() < 1 << 40 => match instructions.find(|it| !it.op.is_elemental()) {
                None => Ok(()),
                Some(other) => Err(Decline::at(other, "its elements cannot be computed one by one")),
            },
            _ => Err(Decline::new("takes fusions with one array as their result")),
        };
        verdict.into()
    }

    fn plan(&self, fusion: &Fusion, device: &DeviceDescription, _: &Configuration) -> Result<Plan, EmitError> {
        let shape = output_shape(fusion).ok_or_else(|| EmitError::new("the result is not one array"))?;
        let elements = shape.element_count();
        let threads = i64::from(device.max_threads_per_block.min(128));
        let per_thread = if device.is_single_threaded_block() { ELEMENTS } else { 1 };
        let blocks = (elements / (threads * per_thread) + 1).max(1);

        let linear = Expr::dim(1) * (threads * per_thread) + Expr::range(0) * threads + Expr::dim(0);
        let map = IndexingMap {
            dims: vec![Variable::named("th", threads), Variable::named("bl", blocks)],
            ranges: vec![Variable::named("step", per_thread)],
            results: delinearize(&linear, &shape.dims),
            ..IndexingMap::default()
        }
        .with_constraint(linear, Interval::from_size(elements));

        let launch = LaunchDimensions { blocks: blocks as u64, threads_per_block: threads as u32 };
        // The kernel computes elements where it writes them, so the plan needs no visits.
        let plan = Plan::new(launch, vec![OutputPlan::unique(map)]);
        Ok(Plan { notes: vec!["one thread per element".into()], ..plan })
    }

    fn emit(&self, fusion: &Fusion, _device: &DeviceDescription, plan: &Plan) -> Result<Kernel, EmitError> {
        let mut kernel = KernelBuilder::new(fusion);
        // The host generates this function. The kernel only calls it.
        let root = kernel.values(&fusion.roots);
        let point = [kernel.thread(), kernel.block()];
        let outputs = kernel.outputs().to_vec();
        let map = &plan.outputs[0].maps[0];
        let written = kernel.indexed_loop(map, &point, &outputs, &[], |b, _, index, outputs| {
            let value = b.call_subgraph(&root, index, &[]);
            vec![b.insert(value[0], outputs[0], index)]
        });
        kernel.finish(&written)
    }
}

fn output_shape(fusion: &Fusion) -> Option<&ArrayShape> {
    match fusion.roots[..] {
        [root] => fusion.computation().instruction(root).shape.as_array(),
        _ => None,
    }
}
