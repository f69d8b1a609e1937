//! The results of a fusion as boxes (rectangular parts) of arrays.

use fusebox_core::analysis::hero_to_root;
use fusebox_core::emitter::{Analysis, Decline, Fusion};
use fusebox_core::hlo::{Computation, InstrId, Op, Shape};
use fusebox_core::indexing::IndexingMap;

use crate::accept::check;
use crate::reshapes::reshaped;

/// A result, described as a box of an array. If the result is not a slice, the box is the whole
/// result.
#[derive(Clone, Debug)]
pub struct Slice {
    /// The array.
    pub array: InstrId,
    /// Dimensions of the array.
    pub dims: Vec<i64>,
    /// First index of the box, per dimension.
    pub first: Vec<i64>,
    /// Distance in the array between neighbouring elements of the box, per dimension.
    pub strides: Vec<i64>,
    /// Number of elements of the box, per dimension.
    pub sizes: Vec<i64>,
    /// Outputs that contain the slice. An entry consists of the number of the output, the number of
    /// its value in the list of the array's leaves, and a map. The map leads from an index of the
    /// box to an index of the output.
    pub outputs: Vec<(usize, usize, IndexingMap)>,
}

impl Slice {
    /// Whether neighbouring elements of the slice are neighbouring elements of the array.
    pub fn is_dense(&self) -> bool {
        self.strides.iter().all(|&stride| stride == 1)
    }

    /// Returns the index after the last index of the box, per dimension. The slice must be dense.
    pub fn end(&self) -> Vec<i64> {
        self.first.iter().zip(&self.sizes).map(|(first, size)| first + size).collect()
    }

    /// Returns the number of elements.
    pub fn element_count(&self) -> i64 {
        self.sizes.iter().product()
    }
}

/// The results of a supported fusion.
pub struct Slices {
    /// The results.
    pub slices: Vec<Slice>,
}

impl Analysis for Slices {
    fn of(fusion: &Fusion) -> Result<Self, Decline> {
        check(fusion)?;
        Ok(Slices { slices: slices(fusion)? })
    }
}

fn slices(fusion: &Fusion) -> Result<Vec<Slice>, Decline> {
    let computation = fusion.computation();
    let mut slices: Vec<Slice> = Vec::new();
    let mut output = 0;
    for &root in &fusion.roots {
        let first_output = output;
        output += computation.instruction(root).shape.leaves().len();
        let mut slice = slice_of(computation, root);
        let box_map = |root| {
            let map = hero_to_root(computation.instruction(reshaped(computation, root)), computation.instruction(root));
            map.ok_or_else(|| {
                Decline::at(computation.instruction(root), "the result has not as many elements as the slice")
            })
        };
        for (leaf, output) in (first_output..output).enumerate() {
            slice.outputs.push((output, leaf, box_map(root)?));
        }
        let same = |known: &&mut Slice| {
            known.array == slice.array
                && (&known.first, &known.strides, &known.sizes) == (&slice.first, &slice.strides, &slice.sizes)
        };
        match slices.iter_mut().find(same) {
            Some(known) => known.outputs.extend(slice.outputs),
            None => slices.push(slice),
        }
    }
    Ok(slices)
}

fn slice_of(computation: &Computation, root: InstrId) -> Slice {
    let id = reshaped(computation, root);
    let dims = |id: InstrId| {
        let leaf = computation.instruction(id).shape.leaves().into_iter().next().and_then(Shape::as_array);
        leaf.map(|array| array.dims.clone()).unwrap_or_default()
    };
    let sizes = dims(id);
    match &computation.instruction(id).op {
        Op::Slice { dims: ranges } => {
            let array = computation.instruction(id).operands[0];
            Slice {
                array,
                dims: dims(array),
                first: ranges.iter().map(|range| range.start).collect(),
                // With a single element, the stride has no effect.
                strides: ranges
                    .iter()
                    .zip(&sizes)
                    .map(|(range, &size)| if size > 1 { range.stride } else { 1 })
                    .collect(),
                sizes,
                outputs: Vec::new(),
            }
        }
        _ => Slice {
            array: id,
            first: vec![0; sizes.len()],
            strides: vec![1; sizes.len()],
            dims: sizes.clone(),
            sizes,
            outputs: Vec::new(),
        },
    }
}
