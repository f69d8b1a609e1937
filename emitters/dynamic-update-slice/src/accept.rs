//! Finds the updates and the other results of a fusion, or the reason why the emitter does not
//! support the fusion.

use fusebox_core::analysis::hero_to_root;
use fusebox_core::emitter::{Analysis, Decline, Fusion};
use fusebox_core::hlo::{Computation, InstrId, Op, Shape};
use fusebox_core::launch::MOST_POINTS;

use crate::hazards::check_hazards;
use crate::updates::{OtherResult, Update, UpdateFusion, decline, reshaped};

impl Analysis for UpdateFusion {
    /// Returns the updates and the other results of a fusion. Declines if a dynamic-update-slice
    /// among the results updates an array that is not a parameter. Also declines if another
    /// instruction could read elements that the kernel has already replaced.
    fn of(fusion: &Fusion) -> Result<Self, Decline> {
        let computation = fusion.computation();
        let mut work = UpdateFusion { updates: Vec::new(), others: Vec::new() };
        let mut output = 0;
        for &root in &fusion.roots {
            let leaves = computation.instruction(root).shape.leaves();
            check_sizes(computation, root)?;
            let chain = reshaped(computation, root);
            let last = chain.last().copied().unwrap_or(root);
            if matches!(computation.instruction(last).op, Op::DynamicUpdateSlice) {
                work.add(computation, last, root, output)?;
            } else {
                let dims = leaves.first().and_then(|leaf| leaf.as_array()).map(|array| array.dims.clone());
                let outputs = (output..output + leaves.len()).collect();
                work.others.push(OtherResult { root, dims: dims.unwrap_or_default(), outputs });
            }
            output += leaves.len();
        }
        if work.updates.is_empty() {
            Err(Decline::new("no result is a dynamic-update-slice"))
        } else {
            check_hazards(fusion, &work).map(|()| work)
        }
    }
}

impl UpdateFusion {
    fn add(&mut self, computation: &Computation, id: InstrId, root: InstrId, output: usize) -> Result<(), Decline> {
        let to_root = hero_to_root(computation.instruction(id), computation.instruction(root));
        let to_root = to_root.ok_or_else(|| decline(computation, root, "has another number of elements"))?;
        if let Some(known) = self.updates.iter_mut().find(|update| update.instruction == id) {
            known.outputs.push((output, to_root));
            return Ok(());
        }
        self.updates.push(Update { outputs: vec![(output, to_root)], ..Update::new(computation, id)? });
        Ok(())
    }
}

fn check_sizes(computation: &Computation, root: InstrId) -> Result<(), Decline> {
    for leaf in computation.instruction(root).shape.leaves() {
        match leaf {
            Shape::Array(array) if array.element_count() <= MOST_POINTS => {}
            Shape::Array(_) => return Err(decline(computation, root, "is too large")),
            _ => return Err(decline(computation, root, "is no array; only arrays can be written")),
        }
    }
    Ok(())
}
