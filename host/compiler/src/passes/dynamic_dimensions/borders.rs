//! Passes sizes into bodies and branches, and out of them, together with the arrays.
//!
//! ```text
//! while(s: (s32[], f32[<=8]))      =>      while(s: (s32[], f32[8], s32[]))
//! ```
//!
//! A value that enters or leaves a body or branch crosses a border. It becomes a tuple: its own
//! elements, then the sizes of all dimensions that are declared as dynamic, in the order of arrays
//! and dimensions. The size of a dimension is its bound if the program has not set it.

use fusebox_core::hlo::{ComputationId, ElementType, InstrId, Instruction, Op, Shape};

use super::BoundedComputation;
use super::size_writer::RewriteResult;
use super::sizes::Sizes;

impl<'b> BoundedComputation<'b> {
    /// Rewrites a parameter of a body or branch.
    pub fn parameter(&mut self, it: &'b Instruction) -> (InstrId, Sizes) {
        let parameter = self.rebuild.add(it, it.op.clone(), with_sizes(&it.shape), Vec::new());
        self.split_crossed(it, &it.shape, parameter)
    }

    pub fn while_loop(&mut self, it: &'b Instruction) -> RewriteResult<(InstrId, Sizes)> {
        let initial = self.together(it, it.operands[0], &it.shape)?;
        let result = self.rebuild.add(it, it.op.clone(), with_sizes(&it.shape), vec![initial]);
        Ok(self.split_crossed(it, &it.shape, result))
    }

    pub fn conditional(&mut self, it: &'b Instruction, branches: &[ComputationId]) -> RewriteResult<(InstrId, Sizes)> {
        let mut operands = vec![self.rebuild.mapped(it.operands[0])];
        for (&operand, &branch) in it.operands[1..].iter().zip(branches) {
            let callee = self.module.computation(branch);
            let parameter = callee.parameters().first().map(|&id| &callee.instruction(id).shape);
            operands.push(match parameter.filter(|shape| shape.has_dynamic_size()) {
                Some(shape) => self.together(it, operand, shape)?,
                None => self.rebuild.mapped(operand),
            });
        }
        // The branches' shapes decide which dimensions have sizes. A dimension that only the
        // conditional declares as dynamic has its bound as size.
        let given = branches.first().map_or(&it.shape, |&id| &self.module.computation(id).root_instruction().shape);
        if given.has_dynamic_size() {
            let result = self.rebuild.add(it, it.op.clone(), with_sizes(given), operands);
            Ok(self.split_crossed(it, given, result))
        } else {
            Ok((self.with_operands(it, operands), super::sizes::of_bounds(&it.shape)))
        }
    }

    /// Returns the root of a body or branch, with its sizes.
    pub fn result(&mut self, root: &'b Instruction, id: InstrId) -> RewriteResult {
        self.together(root, id, &root.shape)
    }

    /// Returns a tuple of a value's elements, followed by its sizes. `declared` is the shape of the
    /// value.
    fn together(&mut self, origin: &'b Instruction, value: InstrId, declared: &Shape) -> RewriteResult {
        let new = self.rebuild.mapped(value);
        let mut elements = match declared {
            Shape::Tuple(elements) => {
                (0..elements.len()).map(|index| self.tuple_element(origin, new, index)).collect::<Vec<InstrId>>()
            }
            _ => vec![new],
        };
        let sizes = self.sizes[value.index()].clone();
        let arrays = declared.leaves().into_iter().filter_map(Shape::as_array);
        for (array, sizes) in arrays.zip(sizes) {
            for d in array.dynamic_dimensions() {
                let size = sizes.get(d).copied().flatten();
                elements.push(match size {
                    Some(size) => size,
                    None => self.writer(origin).s32(array.dims[d])?,
                });
            }
        }
        Ok(self.writer(origin).add(Op::Tuple, with_sizes(declared), elements))
    }

    /// Splits a tuple that crossed a border into the value, whose declared shape is `shape`, and
    /// the value's sizes.
    fn split_crossed(&mut self, it: &'b Instruction, shape: &Shape, crossed: InstrId) -> (InstrId, Sizes) {
        let static_shape = shape.with_bounds_as_sizes();
        let count = static_shape.as_tuple().map_or(1, <[Shape]>::len);
        let elements: Vec<InstrId> = (0..count).map(|index| self.tuple_element(it, crossed, index)).collect();
        let value = match static_shape {
            Shape::Tuple(_) => self.writer(it).add(Op::Tuple, static_shape, elements),
            _ => elements[0],
        };
        let mut next = count..;
        let mut sizes = Sizes::new();
        for array in shape.leaves().into_iter().filter_map(Shape::as_array) {
            let size = |d: usize| array.is_dynamic(d).then(|| next.next().unwrap_or_default());
            let places: Vec<Option<usize>> = (0..array.rank()).map(size).collect();
            sizes.push(places.into_iter().map(|place| Some(self.tuple_element(it, crossed, place?))).collect());
        }
        (value, sizes)
    }

    /// Returns an element of a tuple. If `tuple` is a `tuple` instruction, returns its operand.
    pub fn tuple_element(&mut self, origin: &'b Instruction, tuple: InstrId, index: usize) -> InstrId {
        let from = self.rebuild.instruction(tuple);
        if matches!(from.op, Op::Tuple) {
            return from.operands[index];
        }
        let shape = from.shape.as_tuple().and_then(|elements| elements.get(index)).cloned();
        let shape = shape.unwrap_or_else(|| from.shape.clone());
        self.writer(origin).add(Op::GetTupleElement { index: index as i64 }, shape, vec![tuple])
    }
}

/// Returns the shape of a value together with its sizes.
fn with_sizes(shape: &Shape) -> Shape {
    let arrays = shape.leaves().into_iter().filter_map(Shape::as_array);
    let count: usize = arrays.map(|array| array.dynamic_dimensions().count()).sum();
    with_more(&shape.with_bounds_as_sizes(), std::iter::repeat_n(Shape::array(ElementType::S32, []), count))
}

/// Returns a tuple of the elements of `shape` and of `more`. A shape that is not a tuple counts as
/// a tuple of one element.
pub fn with_more(shape: &Shape, more: impl IntoIterator<Item = Shape>) -> Shape {
    let elements = shape.as_tuple().unwrap_or(std::slice::from_ref(shape));
    Shape::Tuple(elements.iter().cloned().chain(more).collect())
}
