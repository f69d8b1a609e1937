//! Convolutions computed from copied rows of the input. The copied rows are not packed. If several
//! windows along a row contain an element, the element is copied once, not once per window. Only
//! the convolution kernel is packed.
//!
//! ```text
//! mod.rs    fusion -> coordinates, operands and results
//! sizes.rs  sizes, blocks -> plan; the input rows
//! emit.rs   the loops of a block
//! ```

mod emit;
mod sizes;

use std::sync::{Arc, Mutex, PoisonError};

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Analysis, Blocks, Configuration, Decline, EmitError, Fusion, Kernel, Plan};
use fusebox_core::hlo::{ElementType, InstrId, Op, Opcode};
use fusebox_core::indexing::{Expr, IndexingMap, delinearize};

use crate::convolution::{
    CHANNEL, FEATURE, GROUP, Geometry, IMAGE, InputPosition, OperandCoordinates, is_written_by_positions, out, place,
    variable,
};
use crate::operand::Operand;
use crate::problem::{LEAST_PRODUCTS, LEAST_STEPS, ProductRoots, check_prologue, outputs, roots, sum_type, the_dot};
use crate::strategy::ProductStrategy;
pub use sizes::DirectSizes;

/// A convolution. For each group and each row of the result, the convolution is a matrix product of
/// `[positions, steps]` and `[steps, features]`.
#[derive(Debug)]
pub struct DirectProblem {
    pub convolution: InstrId,
    pub input: InstrId,
    pub element: ElementType,
    pub geometry: Geometry,
    /// Type of sums and products.
    pub sum: ElementType,
    pub result: ElementType,
    /// Results of the fusion. Each entry has a map from `(batch, coordinates of the row…, position,
    /// output feature of the group)` to the index of its results.
    pub roots: Vec<ProductRoots>,
    /// Window dimension along which a row of the input extends.
    pub axis: usize,
    /// Coordinates of the elements at one position of an input row, outermost first: images,
    /// channels, both or neither.
    pub inner: Vec<usize>,
    /// Coordinates that identify a row of the result.
    pub of_row: Vec<usize>,
    /// Coordinates of the result along a row, outermost first.
    pub along_row: Vec<usize>,
    /// Coordinates of a step that identify an input row.
    pub outer_steps: Vec<usize>,
    /// Coordinates of a step that select an element within an input row. Outermost first.
    pub inner_steps: Vec<usize>,
    /// Memory stride of each coordinate in the input, in elements.
    pub distance: Vec<f64>,
    /// The convolution kernel, with a map from `(batch, output feature of the group, step)` to the
    /// kernel's index.
    pub kernel: Operand,
    /// Whether output positions, not output features, are contiguous in the result.
    pub by_positions: bool,
    pub inputs: KnownInputs,
}

/// The input as an operand, for each known number of elements of an input row. The plan and the
/// kernel have the same operand.
#[derive(Debug, Default)]
pub struct KnownInputs(Mutex<Vec<(i64, Arc<Operand>)>>);

impl KnownInputs {
    /// Returns the operand for rows of `row` elements. If the operand is not known, `create`
    /// creates it.
    fn of(&self, row: i64, create: impl FnOnce() -> Operand) -> Arc<Operand> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, operand)) = known.iter().find(|(size, _)| *size == row) {
            return Arc::clone(operand);
        }
        let operand = Arc::new(create());
        known.push((row, Arc::clone(&operand)));
        operand
    }
}

impl DirectProblem {
    fn count(&self, coordinates: &[usize]) -> i64 {
        coordinates.iter().fold(1, |n, &coordinate| n.saturating_mul(self.geometry.sizes[coordinate]))
    }

    /// Returns the number of batches. The number of batches is the number of groups, multiplied by
    /// the number of phases of each dilated dimension.
    pub fn batches(&self) -> i64 {
        self.count(&self.geometry.batch)
    }

    /// Returns the number of output features of a group.
    pub fn features(&self) -> i64 {
        self.geometry.sizes[FEATURE]
    }

    /// Returns the number of rows that the result has for one group and one feature.
    pub fn rows(&self) -> i64 {
        self.count(&self.of_row)
    }

    /// Returns the number of positions of a row of the result.
    pub fn positions(&self) -> i64 {
        self.count(&self.along_row)
    }

    /// Returns the number of input rows from which one row of the result is computed.
    pub fn outer(&self) -> i64 {
        self.count(&self.outer_steps)
    }

    /// Returns the number of steps in a row of the input.
    pub fn steps(&self) -> i64 {
        self.count(&self.inner_steps)
    }

    /// Returns the number of input elements of one group.
    pub fn input_size(&self) -> i64 {
        let of_input = self.geometry.places.iter().map(|place| (place.extent - 1) / place.base_dilation + 1);
        self.count(&[IMAGE, CHANNEL]).saturating_mul(of_input.fold(1, i64::saturating_mul))
    }

    /// Returns the number of elements at one position of an input row.
    pub fn inner_size(&self) -> i64 {
        self.count(&self.inner)
    }

    /// Returns the number of contiguous runs in memory that form an input row: one, or one per
    /// position of the row.
    pub fn runs_of_row(&self) -> i64 {
        let axis = &self.geometry.places[self.axis];
        let mut distance_between = self.inner.last().map_or(0.0, |&last| self.distance[last]);
        let mut are_neighbours = true;
        for &coordinate in self.inner.iter().rev() {
            are_neighbours &= self.distance[coordinate] == distance_between;
            distance_between *= self.geometry.sizes[coordinate] as f64;
        }
        let of_place = self.distance[place(self.axis)];
        are_neighbours &= axis.base_dilation == 1 && of_place == distance_between * axis.window_dilation as f64;
        if self.inner.is_empty() || are_neighbours { 1 } else { self.places() }
    }

    /// Returns the number of positions of an input row that contribute to one row of the result.
    pub fn places(&self) -> i64 {
        let axis = &self.geometry.places[self.axis];
        let reached = |coordinate: usize, by: i64| (self.geometry.sizes[coordinate] - 1) * by;
        reached(axis.out, axis.stride) + reached(axis.window, axis.window_dilation) + 1
    }

    /// Returns the map from a position in a row of the result to an offset in an input row: the
    /// offset of the first element that the position needs. The map's domain includes `beyond`
    /// positions after the row's last position.
    pub fn of_position(&self, beyond: i64) -> IndexingMap {
        let axis = &self.geometry.places[self.axis];
        self.in_row(&self.along_row, axis.out, axis.stride, beyond)
    }

    /// Returns the map from a step in an input row to the offset of the step's element, relative to
    /// the first element of an output position.
    pub fn of_step(&self) -> IndexingMap {
        let axis = &self.geometry.places[self.axis];
        self.in_row(&self.inner_steps, axis.window, axis.window_dilation, 0)
    }

    fn in_row(&self, list: &[usize], moves: usize, by: i64, beyond: i64) -> IndexingMap {
        let parts = delinearize(&variable(0), &self.geometry.sizes_of(list));
        let distance_between = |coordinate: usize| match self.inner.iter().position(|&it| it == coordinate) {
            Some(at) => self.count(&self.inner[at + 1..]),
            None if coordinate == moves => by * self.inner_size(),
            None => 0,
        };
        let sum = list.iter().zip(parts).fold(Expr::constant(0), |sum, (&it, part)| sum + part * distance_between(it));
        IndexingMap::from_tensor_sizes(vec![sum], &[self.count(list) + beyond], &[]).simplify()
    }

    fn products(&self) -> i64 {
        self.geometry.sizes.iter().fold(1i64, |n, &size| n.saturating_mul(size))
    }

    fn check(&self) -> Result<(), Decline> {
        let steps = self.outer().saturating_mul(self.steps());
        match self.products() {
            0 => Err(Decline::new("the convolution has no elements or no steps")),
            products if products < LEAST_PRODUCTS => Err(Decline::new(format!(
                "{products} products are too few to be packed: below {LEAST_PRODUCTS}, a loop is as fast"
            ))),
            _ if steps < LEAST_STEPS => Err(Decline::new(format!(
                "an element is a sum of {steps} products: packing pays from {LEAST_STEPS} on"
            ))),
            _ if self.features() == 1 && self.geometry.sizes[GROUP] > 1 => {
                Err(Decline::new("each group has one output feature: each packed element would be used only once"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the map from `(batch, coordinates of the row…, position in it, output feature)` to
    /// the index of the result.
    fn result_at(&self) -> IndexingMap {
        let mut point = self.geometry.constants();
        let mut sizes = vec![self.batches()];
        self.geometry.set(&mut point, &self.geometry.batch, 0);
        for &coordinate in &self.of_row {
            point[coordinate] = variable(sizes.len());
            sizes.push(self.geometry.sizes[coordinate]);
        }
        self.geometry.set(&mut point, &self.along_row, sizes.len());
        point[FEATURE] = variable(sizes.len() + 1);
        sizes.extend([self.positions(), self.features()]);
        let results = self.geometry.result.iter().map(|expr| expr.substitute(&point, &[], &[])).collect();
        IndexingMap::from_tensor_sizes(results, &sizes, &[]).simplify()
    }
}

impl Analysis for DirectProblem {
    fn of(fusion: &Fusion) -> Result<Self, Decline> {
        let computation = fusion.computation();
        let convolution = the_dot(computation)?;
        let instruction = computation.instruction(convolution);
        let Op::Convolution(attributes) = &instruction.op else {
            return Err(Decline::at(instruction, "it is no convolution"));
        };
        check_prologue(computation, convolution)?;
        let geometry = Geometry::new(fusion, instruction, attributes, true)?;
        let [input, kernel] = [instruction.operands[0], instruction.operands[1]];
        let distance = geometry.distances(fusion, input, &geometry.input)?;
        let spatial = 0..attributes.window.dims.len();
        // Windows overlap along a dimension only if the dimension has several output positions and
        // several window positions.
        let shared = spatial.clone().filter(|&dim| geometry.sizes[out(dim)] > 1 && geometry.sizes[place(dim)] > 1);
        let axis = shared.min_by(|&a, &b| distance[place(a)].total_cmp(&distance[place(b)]));
        let axis = axis.ok_or_else(|| Decline::at(instruction, "its windows do not overlap"))?;
        let is_inner = |coordinate: usize, of_axis: usize| {
            geometry.sizes[coordinate] > 1 && distance[coordinate] > 0.0 && distance[coordinate] < distance[of_axis]
        };
        let mut inner = Vec::new();
        let mut list = |other: usize, of_axis: usize, all: Vec<usize>| {
            let mut outer: Vec<usize> = all.into_iter().filter(|&it| it != of_axis).collect();
            let mut along = vec![of_axis];
            if is_inner(other, of_axis) {
                along.push(other);
                inner.push(other);
            } else {
                outer.push(other);
            }
            outer.sort_by(|&a, &b| distance[b].total_cmp(&distance[a]));
            (outer, along)
        };
        let (of_row, along_row) = list(IMAGE, out(axis), spatial.clone().map(out).collect());
        let (outer_steps, inner_steps) = list(CHANNEL, place(axis), spatial.map(place).collect());
        inner.sort_by(|&a, &b| distance[b].total_cmp(&distance[a]));
        let (sum, result, elements) = sum_type(computation, convolution)?;
        if sum.is_integer() && elements.iter().all(|element| element.bits() <= 8) {
            return Err(Decline::at(instruction, "bytes multiply faster after packing, which converts them to floats"));
        }
        let of_kernel = geometry.distances(fusion, kernel, &geometry.kernel)?;
        let steps = [outer_steps.as_slice(), &inner_steps].concat();
        let layout =
            OperandCoordinates { batch: &geometry.batch, lines: &[FEATURE], steps: &steps, distance: &of_kernel };
        let places: Vec<&InputPosition> = geometry.kernel_places.iter().collect();
        let (kernel, _) = geometry.side(fusion, kernel, &geometry.kernel, &places, &layout)?;
        let mut problem = DirectProblem {
            convolution,
            input,
            element: elements[0],
            sum,
            result,
            roots: Vec::new(),
            axis,
            inner,
            of_row,
            along_row,
            outer_steps,
            inner_steps,
            distance,
            kernel,
            by_positions: is_written_by_positions(instruction, attributes),
            inputs: KnownInputs::default(),
            geometry,
        };
        if problem.products() > 0 {
            problem.roots = roots(outputs(fusion, convolution)?, &problem.result_at())?;
        }
        Ok(problem)
    }
}

impl ProductStrategy for DirectSizes {
    type Problem = DirectProblem;
    const BLOCKS: Blocks = Blocks::OfOneThread;
    const ANCHORS: &'static [Opcode] = &[Opcode::Convolution];

    fn suits(problem: &DirectProblem, _: &DeviceDescription) -> Result<(), Decline> {
        problem.check()
    }

    fn new(
        problem: &DirectProblem,
        device: &DeviceDescription,
        knobs: &Configuration,
    ) -> Result<DirectSizes, EmitError> {
        DirectSizes::new(problem, device, knobs)
    }

    fn plan(&self, problem: &DirectProblem, device: &DeviceDescription) -> Plan {
        self.plan(problem, device)
    }

    fn emit(&self, fusion: &Fusion, problem: &DirectProblem) -> Result<Kernel, EmitError> {
        emit::emit(fusion, problem, self)
    }
}
