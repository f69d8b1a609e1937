//! Describes the sizes of a result's dimensions for operands with dynamic dimensions.
//!
//! A dynamic dimension has a bound and a size. The shape contains the bound. The size is known only
//! at run time. [`extents`] describes how the sizes of a result follow from the sizes of the
//! operands. The verifier uses [`extents`] to find dimensions that must be dynamic. The pass that
//! removes dynamic dimensions from a program uses [`extents`] to compute sizes.

use super::dynamic_size::{Extent, Source};
use super::reshaping;
use crate::{ArrayShape, ConvolutionAttrs, DotDims, GatherDims, Op, Shape};

/// Returns the extent of each dimension, for each array leaf of a result. `result` is the declared
/// shape. This function does not cover operations that return tuples unchanged. This function does
/// not cover operations that call computations with whole values, either. The result of a tuple
/// operation has the sizes of the tuple. The result of a call has the sizes of the called
/// computation's result.
pub fn extents(op: &Op, operands: &[&Shape], result: &Shape) -> Vec<Vec<Extent>> {
    let is_dynamic = |source: &Source| {
        let operand = operands.get(source.operand).and_then(|shape| shape.as_array());
        operand.is_some_and(|array| array.is_dynamic(source.dimension))
    };
    // Operands without dynamic dimensions do not affect sizes.
    let decided = |extent: Extent| match extent {
        Extent::Unknown => Extent::Unknown,
        extent if extent.sources().iter().any(is_dynamic) => extent,
        _ => Extent::Bound,
    };
    let leaves: Vec<&ArrayShape> = result.leaves().into_iter().filter_map(Shape::as_array).collect();
    let of_leaf = |(leaf, &result): (usize, &&ArrayShape)| {
        let is_carry = matches!(op, Op::Scan { num_carries, .. } if leaf as i64 >= leaves.len() as i64 - num_carries);
        let found = if is_carry { Vec::new() } else { Sized { op, operands, result }.extents() };
        let mut found: Vec<Extent> = found.into_iter().map(decided).collect();
        found.resize(result.rank(), Extent::Bound);
        found
    };
    leaves.iter().enumerate().map(of_leaf).collect()
}

/// An operation, and the array leaf of its result whose extents are computed.
struct Sized<'a> {
    op: &'a Op,
    operands: &'a [&'a Shape],
    result: &'a ArrayShape,
}

impl Sized<'_> {
    fn array(&self, operand: usize) -> Option<&ArrayShape> {
        self.operands.get(operand).and_then(|shape| shape.as_array())
    }

    fn rank(&self, operand: usize) -> usize {
        self.array(operand).map_or(0, ArrayShape::rank)
    }

    /// Searches the first `operands` operands for an operand in which `dimension` is dynamic.
    /// Returns the number of the first such operand; 0 if there is none.
    fn first_dynamic(&self, operands: usize, dimension: usize) -> usize {
        let is_dynamic = |&it: &usize| self.array(it).is_some_and(|array| array.is_dynamic(dimension));
        (0..operands).find(is_dynamic).unwrap_or(0)
    }

    fn extents(&self) -> Vec<Extent> {
        match self.op {
            op if op.is_elementwise() => self.alike(0..self.operands.len()),
            Op::BitcastConvert | Op::Cholesky { .. } | Op::DynamicUpdateSlice => self.alike(0..1),
            Op::SetDimensionSize { dimension } => self.but(*dimension as usize),
            Op::BatchNormInference { .. } | Op::Scatter { .. } | Op::SelectAndScatter { .. } => self.alike(0..1),
            Op::Fft { length, .. } => self.outer(0, length.len()),
            Op::Topk { .. } => self.outer(0, 1),
            Op::TriangularSolve { .. } => self.alike(1..2),
            Op::Sort { .. } => self.alike(0..self.operands.len()),
            Op::Scan { dimension, num_carries, .. } => {
                self.scan(*dimension as usize, self.operands.len().saturating_sub(*num_carries as usize))
            }
            Op::Broadcast { dimensions } => self.broadcast(dimensions),
            Op::Transpose { permutation } => permutation.iter().map(|&d| same(0, d as usize)).collect(),
            op if op.is_reshape() => match self.array(0) {
                Some(operand) => reshaping::extents(operand, self.result),
                None => Vec::new(),
            },
            Op::Concatenate { dimension } => self.concatenate(*dimension as usize),
            Op::Slice { dims } => {
                let is_whole = |d: usize, size: i64| dims[d].limit == size && dims[d].start == 0 && dims[d].stride == 1;
                self.where_whole(is_whole)
            }
            Op::DynamicSlice { sizes } => self.where_whole(|d, size| sizes[d] == size),
            Op::Pad { dims } => {
                dims.iter().enumerate().map(|(d, padding)| Extent::Padded(source(0, d), *padding)).collect()
            }
            Op::Reduce { dimensions, .. } => {
                let arrays = 0..self.operands.len() / 2;
                let kept = (0..self.rank(0)).filter(|d| !dimensions.contains(&(*d as i64)));
                kept.map(|d| Extent::Same(arrays.clone().map(|operand| source(operand, d)).collect())).collect()
            }
            Op::ReduceWindow { window, .. } => {
                let of = |d: usize| source(self.first_dynamic(self.operands.len() / 2, d), d);
                window.dims.iter().enumerate().map(|(d, window)| Extent::Windows(of(d), *window)).collect()
            }
            Op::Gather(dims) => self.gather(dims),
            Op::Dot(dims) => self.dot(dims),
            Op::Convolution(attributes) => self.convolution(attributes),
            op if op.is_movement() && self.array(0).is_some_and(|array| array.dims == self.result.dims) => {
                self.alike(0..1)
            }
            _ => Vec::new(),
        }
    }

    /// Returns one extent for each dimension of the result. The extent states that this dimension
    /// has the same size as in each operand in `operands`. The extent ignores operands that lack
    /// this dimension.
    fn alike(&self, operands: std::ops::Range<usize>) -> Vec<Extent> {
        let of = |d: usize| operands.clone().filter(|&it| d < self.rank(it)).map(|it| source(it, d)).collect();
        (0..self.result.rank()).map(|d| Extent::Same(of(d))).collect()
    }

    /// Returns the sizes of the first operand as extents, except that the extent of `dimension` is
    /// the bound.
    fn but(&self, dimension: usize) -> Vec<Extent> {
        let mut extents = self.alike(0..1);
        extents.get_mut(dimension).into_iter().for_each(|extent| *extent = Extent::Bound);
        extents
    }

    /// Returns the sizes of an operand's dimensions as extents, without the last `inner`
    /// dimensions.
    fn outer(&self, operand: usize, inner: usize) -> Vec<Extent> {
        (0..self.rank(operand).saturating_sub(inner)).map(|d| same(operand, d)).collect()
    }

    /// Returns one extent per dimension of the first operand. The extent is the operand's size if
    /// the operation reads the dimension completely, and the bound otherwise.
    fn where_whole(&self, is_whole: impl Fn(usize, i64) -> bool) -> Vec<Extent> {
        let Some(operand) = self.array(0) else { return Vec::new() };
        let extent = |(d, &size): (usize, &i64)| if is_whole(d, size) { same(0, d) } else { Extent::Bound };
        operand.dims.iter().enumerate().map(extent).collect()
    }

    /// Returns the extents of a scan's output. In the scanned dimension, the output is as large as
    /// the inputs. The result of the called computation determines the other sizes.
    fn scan(&self, dimension: usize, inputs: usize) -> Vec<Extent> {
        let inputs: Vec<Source> = (0..inputs).map(|operand| source(operand, dimension)).collect();
        let extent = |d| if d == dimension { Extent::Same(inputs.clone()) } else { Extent::Bound };
        (0..self.result.rank()).map(extent).collect()
    }

    fn broadcast(&self, dimensions: &[i64]) -> Vec<Extent> {
        let mut extents = vec![Extent::Bound; self.result.rank()];
        for (from, &to) in dimensions.iter().enumerate() {
            extents.get_mut(to as usize).into_iter().for_each(|extent| *extent = same(0, from));
        }
        extents
    }

    fn concatenate(&self, dimension: usize) -> Vec<Extent> {
        let of = |d: usize| (0..self.operands.len()).map(|operand| source(operand, d)).collect();
        let extent = |d: usize| if d == dimension { Extent::Sum(of(d)) } else { Extent::Same(of(d)) };
        (0..self.result.rank()).map(extent).collect()
    }

    fn gather(&self, dims: &GatherDims) -> Vec<Extent> {
        let is_kept = |d: &i64| !dims.collapsed_slice_dims.contains(d) && !dims.operand_batching_dims.contains(d);
        let mut window = (0..self.rank(0) as i64).filter(is_kept);
        let mut batch = (0..self.rank(1)).filter(|&d| d as i64 != dims.index_vector_dim);
        let extent = |d: usize| {
            if dims.offset_dims.contains(&(d as i64)) {
                let d = window.next()? as usize;
                let is_whole = self.array(0)?.dims[d] == dims.slice_sizes[d];
                Some(if is_whole { same(0, d) } else { Extent::Bound })
            } else {
                Some(same(1, batch.next()?))
            }
        };
        (0..self.result.rank()).map_while(extent).collect()
    }

    fn dot(&self, dims: &DotDims) -> Vec<Extent> {
        let batch = dims.lhs_batch.iter().zip(&dims.rhs_batch);
        let batch = batch.map(|(&l, &r)| Extent::Same(vec![source(0, l as usize), source(1, r as usize)]));
        let free = |operand: usize, batch: &[i64], contracting: &[i64]| -> Vec<Extent> {
            let is_free = |d: &usize| !batch.contains(&(*d as i64)) && !contracting.contains(&(*d as i64));
            (0..self.rank(operand)).filter(is_free).map(|d| same(operand, d)).collect()
        };
        let (lhs, rhs) =
            (free(0, &dims.lhs_batch, &dims.lhs_contracting), free(1, &dims.rhs_batch, &dims.rhs_contracting));
        batch.chain(lhs).chain(rhs).collect()
    }

    fn convolution(&self, attributes: &ConvolutionAttrs) -> Vec<Extent> {
        let dims = &attributes.dims;
        let mut extents = vec![Extent::Bound; self.result.rank()];
        let mut set =
            |to: i64, extent: Extent| extents.get_mut(to as usize).into_iter().for_each(|it| *it = extent.clone());
        set(dims.output_batch, same(0, dims.input_batch as usize));
        set(dims.output_feature, same(1, dims.kernel_output_feature as usize));
        for ((&to, &from), window) in dims.output_spatial.iter().zip(&dims.input_spatial).zip(&attributes.window.dims) {
            set(to, Extent::Windows(source(0, from as usize), *window));
        }
        extents
    }
}

fn source(operand: usize, dimension: usize) -> Source {
    Source { operand, dimension }
}

fn same(operand: usize, dimension: usize) -> Extent {
    Extent::Same(vec![source(operand, dimension)])
}
