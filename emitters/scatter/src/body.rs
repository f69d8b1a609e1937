//! Code that every schedule emits: index vectors, bounds checks, and combinations.

use fusebox_core::analysis::SliceStart;
use fusebox_core::builder::{FunctionBuilder, IntPredicate, KernelBuilder, Scalar, Subgraph, Type, Value};
use fusebox_core::device::DeviceDescription;
use fusebox_core::hlo::ElementType;
use fusebox_core::indexing::{Expr, IndexingMap, Variable, delinearize};

use crate::problem::ScatterProblem;

/// The functions that the kernel calls.
pub struct ScatterBody<'p> {
    pub problem: &'p ScatterProblem,
    /// Whether kernels state the range of indices, so that the compiler can use 32-bit arithmetic,
    /// which is cheaper than 64-bit arithmetic.
    narrows: bool,
    indices: Subgraph,
    updates: Subgraph,
    combiner: Subgraph,
}

impl<'p> ScatterBody<'p> {
    pub fn new(kernel: &mut KernelBuilder, problem: &'p ScatterProblem, device: &DeviceDescription) -> Self {
        ScatterBody {
            problem,
            narrows: !device.is_single_threaded_block(),
            indices: kernel.values(&[problem.indices]),
            updates: kernel.values(&problem.updates),
            combiner: kernel.combiner(problem.instruction),
        }
    }

    /// Computes the coordinates of a slice from its number.
    pub fn slice(&self, b: &mut FunctionBuilder, number: Value) -> Vec<Value> {
        let shape = &self.problem.shape;
        let sizes: Vec<i64> = shape.scatter_dims.iter().map(|&(_, size)| size).collect();
        let map = IndexingMap {
            dims: vec![Variable::from_size(shape.slices())],
            results: delinearize(&Expr::dim(0), &sizes),
            ..IndexingMap::default()
        };
        b.apply_indexing(&map, &[number])
    }

    /// Computes the index vector of a slice, in the program's integer type.
    pub fn index_vector(&self, b: &mut FunctionBuilder, slice: &[Value]) -> Vec<Value> {
        let shape = &self.problem.shape;
        let mut vector = Vec::with_capacity(shape.components.len());
        for component in 0..shape.components.len() {
            let component = b.index(component as i64);
            let index = shape.component_index(slice, component);
            vector.extend(b.call_subgraph(&self.indices, &index, &[]));
        }
        vector
    }

    /// Emits the check that the slice of an index vector is entirely inside the operand.
    pub fn fits(&self, b: &mut FunctionBuilder, vector: &[Value]) -> Value {
        let shape = &self.problem.shape;
        let mut all = None;
        for (&component, &dim) in vector.iter().zip(&shape.components) {
            let test = self.is_at_most(b, component, shape.operand[dim].last_start());
            all = Some(match (all, test) {
                (None, test) => test,
                (Some(all), test) => b.andi(all, test),
            });
        }
        all.unwrap_or_else(|| b.bool(true))
    }

    /// Emits the comparison `0 <= value <= last` in the program's integer type. In an unsigned
    /// comparison, a negative number is a huge number.
    fn is_at_most(&self, b: &mut FunctionBuilder, value: Value, last: i64) -> Value {
        let (scalar, signed) =
            (Scalar::of_element(self.problem.index_type), self.problem.index_type.is_signed_integer());
        match (reaches(self.problem.index_type, last), signed) {
            (true, _) => {
                let last = b.int(last, scalar);
                b.cmpi(IntPredicate::Ule, value, last)
            }
            (false, true) => {
                let zero = b.int(0, scalar);
                b.cmpi(IntPredicate::Sge, value, zero)
            }
            (false, false) => b.bool(true),
        }
    }

    /// Computes the start of a slice, per operand dimension. The slice must be inside the operand.
    pub fn starts(&self, b: &mut FunctionBuilder, slice: &[Value], vector: &[Value]) -> Vec<Value> {
        let operand = &self.problem.shape.operand;
        let mut start = |dim: usize| match operand[dim].start {
            SliceStart::Zero => b.index(0),
            SliceStart::Batch(at) => slice[at],
            SliceStart::Component(_) if operand[dim].last_start() == 0 => b.index(0),
            SliceStart::Component(component) => self.bounded(b, vector[component], operand[dim].last_start()),
        };
        (0..operand.len()).map(&mut start).collect()
    }

    /// Converts an index between 0 and `last` to the type `index`. Emits a clamp, from which the
    /// host derives this range. If the code is in a branch that has checked this range, the
    /// compiler removes the clamp.
    fn bounded(&self, b: &mut FunctionBuilder, value: Value, last: i64) -> Value {
        let (scalar, signed) =
            (Scalar::of_element(self.problem.index_type), self.problem.index_type.is_signed_integer());
        let mut value = value;
        if !self.narrows {
            return b.index_castui(value, Scalar::Index);
        }
        if signed {
            let zero = b.int(0, scalar);
            value = b.maxsi(value, zero);
        }
        if reaches(self.problem.index_type, last) {
            let last = b.int(last, scalar);
            value = if signed { b.minsi(value, last) } else { b.minui(value, last) };
        }
        b.index_castui(value, Scalar::Index)
    }

    /// Computes the output index of the update at the coordinates `window` of a slice that begins
    /// at `starts`.
    pub fn landing(&self, b: &mut FunctionBuilder, starts: &[Value], window: &[Value]) -> Vec<Value> {
        starts.iter().zip(window).map(|(&start, &offset)| b.addi(start, offset)).collect()
    }

    /// Computes the updates at window coordinates of a slice.
    pub fn updates(&self, b: &mut FunctionBuilder, slice: &[Value], window: &[Value]) -> Vec<Value> {
        let index = self.problem.shape.update_index(slice, window);
        b.call_subgraph(&self.updates, &index, &[])
    }

    /// Combines elements with updates.
    pub fn combine(&self, b: &mut FunctionBuilder, elements: &[Value], updates: &[Value]) -> Vec<Value> {
        b.call_subgraph(&self.combiner, &[elements, updates].concat(), &[])
    }

    /// Reads elements, combines them with updates and writes them. Returns the new outputs.
    pub fn update(&self, b: &mut FunctionBuilder, outputs: &[Value], at: &[Value], updates: &[Value]) -> Vec<Value> {
        let elements: Vec<Value> = outputs.iter().map(|&output| b.extract(output, at)).collect();
        let combined = self.combine(b, &elements, updates);
        combined.iter().zip(outputs).map(|(&element, &output)| b.insert(element, output, at)).collect()
    }

    /// Updates several elements. All reads precede the first write.
    pub fn update_all(
        &self,
        b: &mut FunctionBuilder,
        outputs: &[Value],
        places: &[(Vec<Value>, Vec<Value>)],
    ) -> Vec<Value> {
        let mut combined = Vec::with_capacity(places.len());
        for (at, updates) in places {
            let elements: Vec<Value> = outputs.iter().map(|&output| b.extract(output, at)).collect();
            combined.push(self.combine(b, &elements, updates));
        }
        places.iter().zip(combined).fold(outputs.to_vec(), |outputs, ((at, _), elements)| {
            elements.iter().zip(outputs).map(|(&element, output)| b.insert(element, output, at)).collect()
        })
    }

    /// Updates an element of each output with one atomic operation per output. No output may depend
    /// on another output.
    pub fn update_atomically(
        &self,
        b: &mut FunctionBuilder,
        outputs: &[Value],
        at: &[Value],
        updates: &[Value],
    ) -> Vec<Value> {
        let update = |(number, &output): (usize, &Value)| {
            b.atomic_rmw(output, at, |b, element| {
                // The combiner takes elements of all outputs. The result for this output depends
                // only on its own element, so updates replace the other elements.
                let mut elements = updates.to_vec();
                elements[number] = element;
                self.combine(b, &elements, updates)[number]
            })
        };
        outputs.iter().enumerate().map(update).collect()
    }

    /// Returns the types of the outputs' elements.
    pub fn element_types(&self) -> Vec<Type> {
        self.problem.elements.iter().map(|&element| Type::of_element(element)).collect()
    }
}

/// Whether type `ty` represents numbers greater than `last`.
pub fn reaches(ty: ElementType, last: i64) -> bool {
    let bits = ty.bits() - u32::from(ty.is_signed_integer());
    bits >= 63 || last < (1 << bits) - 1
}

/// A function that applies one slice, which must be inside the operand. The function takes `(slice,
/// index vector, outputs)` and returns the new outputs.
pub type ApplySlice<'a> = dyn Fn(&mut FunctionBuilder, &[Value], &[Value], &[Value]) -> Vec<Value> + 'a;

/// The body of nested loops. The function takes `(coordinates, state)` and returns the next state.
type LoopBody<'a> = dyn FnMut(&mut FunctionBuilder, &[Value], &[Value]) -> Vec<Value> + 'a;

/// Emits nested loops. Each entry of `bounds` consists of the first index and the end of a loop.
/// The last loop is the innermost.
pub fn nest(
    b: &mut FunctionBuilder,
    bounds: &[(Value, Value)],
    state: &[Value],
    body: &mut LoopBody<'_>,
) -> Vec<Value> {
    inner(b, bounds, &mut Vec::new(), state, body)
}

fn inner(
    b: &mut FunctionBuilder,
    bounds: &[(Value, Value)],
    coordinates: &mut Vec<Value>,
    state: &[Value],
    body: &mut LoopBody<'_>,
) -> Vec<Value> {
    let Some((&(first, end), rest)) = bounds.split_first() else { return body(b, coordinates, state) };
    let one = b.index(1);
    b.scf_for(first, end, one, state, |b, coordinate, state| {
        coordinates.push(coordinate);
        let next = inner(b, rest, coordinates, state, body);
        coordinates.pop();
        next
    })
}
