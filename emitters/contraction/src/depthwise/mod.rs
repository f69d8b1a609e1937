//! Convolutions whose groups have few features: nothing is used often enough to be packed for a product. Each element of the
//! result is a sum over the window, and vectors are made of neighbours in the result: output features, or positions.
//!
//! ```text
//! mod.rs    fusion -> coordinates, and what is read and written
//! rows.rs   sizes, blocks -> plan; the rows of the input that a task needs
//! emit.rs   the loops of a block
//! ```

mod emit;
mod rows;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Analysis, Blocks, Configuration, Decline, EmitError, Fusion, Kernel, Plan};
use fusebox_core::hlo::{ElementType, InstrId, Op, Opcode};
use fusebox_core::indexing::{Expr, IndexingMap};

use crate::convolution::{CHANNEL, FEATURE, GROUP, Geometry, IMAGE, is_written_by_positions, out, place, variable};
use crate::operand::Operand;
use crate::problem::{LEAST_PRODUCTS, Roots, check_prologue, outputs, roots, sum_type, the_dot};
use crate::way::Way;
pub use rows::Rows;

/// Output features of a group up to which it may be no use to pack the input.
const MOST_FEATURES: i64 = 4;

/// A convolution, element by element.
#[derive(Debug)]
pub struct Problem {
    pub convolution: InstrId,
    /// Input and kernel.
    pub operands: [InstrId; 2],
    pub elements: [ElementType; 2],
    pub geometry: Geometry,
    /// The type of sums and products.
    pub sum: ElementType,
    pub result: ElementType,
    pub roots: Vec<Roots>,
    /// Whether vectors are made of output features, not of output positions.
    pub along_features: bool,
    /// The dimension of the window along which a row of the input lies.
    pub axis: usize,
    /// Coordinates of the result that say which row it is: all but features and the position in the row.
    pub of_row: Vec<usize>,
    /// Coordinates of steps but for the place in the row.
    pub outer_steps: Vec<usize>,
    /// How far apart in memory elements are that are one apart in each coordinate.
    pub distance: Vec<f64>,
    /// `(0, output feature, step)` to the kernel's elements, the place in the row being the last coordinate of a step.
    pub kernel: Operand,
}

impl Problem {
    /// Output features of all groups.
    pub fn features(&self) -> i64 {
        self.geometry.sizes[GROUP] * self.geometry.sizes[FEATURE]
    }

    /// Positions of a row of the result.
    pub fn positions(&self) -> i64 {
        self.geometry.sizes[out(self.axis)]
    }

    /// Places of the window along a row.
    pub fn window(&self) -> i64 {
        self.geometry.sizes[place(self.axis)]
    }

    /// Rows of the input that are added up in one of the result.
    pub fn rows(&self) -> i64 {
        self.geometry.sizes_of(&self.outer_steps).iter().product()
    }

    /// Coordinates of groups and features, from an output feature.
    pub fn with_feature(&self, point: &mut [Expr], feature: &Expr) {
        point[GROUP] = feature.clone().floor_div(self.geometry.sizes[FEATURE].max(1));
        point[FEATURE] = feature.clone().modulo(self.geometry.sizes[FEATURE].max(1));
    }

    /// How many elements of each operand are computed for an element of the result: those of the input once for each row
    /// that they are added to, those of the kernel hardly.
    pub fn reads_per_result(&self) -> [f64; 2] {
        let axis = &self.geometry.places[self.axis];
        [(self.rows() * axis.stride) as f64, 0.0]
    }

    /// All of them.
    pub fn products(&self) -> i64 {
        self.geometry.sizes.iter().fold(1i64, |n, &size| n.saturating_mul(size))
    }

    /// # Errors
    /// If there are too few products, or too many to be counted.
    pub fn check(&self) -> Result<(), Decline> {
        match self.products() {
            0 => Err(Decline::new("the convolution has no elements or no steps")),
            _ if self.geometry.sizes[FEATURE] > MOST_FEATURES => Err(Decline::new(format!(
                "each element of the input is multiplied for {} features: it is worth packing for more than {MOST_FEATURES}",
                self.geometry.sizes[FEATURE]
            ))),
            products if products < LEAST_PRODUCTS => Err(Decline::new(format!(
                "{products} products are too few: a loop computes fewer than {LEAST_PRODUCTS} as fast"
            ))),
            _ => Ok(()),
        }
    }
}

impl Analysis for Problem {
    fn of(fusion: &Fusion) -> Result<Self, Decline> {
        let computation = fusion.computation();
        let convolution = the_dot(computation)?;
        let instruction = computation.instruction(convolution);
        let Op::Convolution(attributes) = &instruction.op else {
            return Err(Decline::at(instruction, "it is no convolution"));
        };
        check_prologue(computation, convolution)?;
        let geometry = Geometry::new(fusion, instruction, attributes, false)?;
        let operands = [instruction.operands[0], instruction.operands[1]];
        let distance = geometry.distances(fusion, operands[0], &geometry.input)?;
        let spatial = 0..attributes.window.dims.len();
        // The row lies along memory.
        let long = spatial.clone().filter(|&dim| geometry.sizes[out(dim)].max(geometry.sizes[place(dim)]) > 1);
        let axis = long.min_by(|&a, &b| distance[place(a)].total_cmp(&distance[place(b)]));
        let axis = axis.ok_or_else(|| Decline::at(instruction, "it has no window that moves"))?;
        let mut of_row = vec![IMAGE];
        of_row.extend(spatial.clone().filter(|&dim| dim != axis).map(out));
        let mut outer_steps = vec![CHANNEL];
        outer_steps.extend(spatial.filter(|&dim| dim != axis).map(place));
        outer_steps.sort_by(|&a, &b| distance[b].total_cmp(&distance[a]));
        let (sum, result, elements) = sum_type(computation, convolution)?;
        let mut problem = Problem {
            convolution,
            operands,
            elements,
            along_features: !is_written_by_positions(instruction, attributes),
            sum,
            result,
            roots: Vec::new(),
            axis,
            of_row,
            outer_steps,
            distance,
            kernel: Operand {
                instruction: operands[1],
                at: IndexingMap::default(),
                element: elements[1],
                runs_along_steps: false,
                steps_are_adjacent: false,
                is_in_parts: false,
                rows_of: None,
                runs: None,
            },
            geometry,
        };
        problem.kernel.at = problem.kernel_at();
        if problem.products() > 0 {
            problem.roots = roots(outputs(fusion, convolution)?, &problem.result_at())?;
        }
        Ok(problem)
    }
}

impl Problem {
    fn kernel_at(&self) -> IndexingMap {
        let mut point = self.geometry.constants();
        self.with_feature(&mut point, &variable(1));
        let steps = [self.outer_steps.as_slice(), &[place(self.axis)]].concat();
        self.geometry.set(&mut point, &steps, 2);
        let results = self.geometry.kernel.iter().map(|expr| expr.substitute(&point, &[], &[])).collect();
        IndexingMap::from_tensor_sizes(results, &[1, self.features(), self.rows() * self.window()], &[]).simplify()
    }

    /// `(coordinates of the row…, position in it, output feature)` to the index of the result.
    fn result_at(&self) -> IndexingMap {
        let mut point = self.geometry.constants();
        let mut sizes = self.geometry.sizes_of(&self.of_row);
        for (number, &coordinate) in self.of_row.iter().enumerate() {
            point[coordinate] = variable(number);
        }
        point[out(self.axis)] = variable(sizes.len());
        self.with_feature(&mut point, &variable(sizes.len() + 1));
        sizes.extend([self.positions(), self.features()]);
        let results = self.geometry.result.iter().map(|expr| expr.substitute(&point, &[], &[])).collect();
        IndexingMap::from_tensor_sizes(results, &sizes, &[]).simplify()
    }
}

impl Way for Rows {
    type Problem = Problem;
    const BLOCKS: Blocks = Blocks::OfOneThread;
    const ANCHORS: &'static [Opcode] = &[Opcode::Convolution];

    fn suits(problem: &Problem, _: &DeviceDescription) -> Result<(), Decline> {
        problem.check()
    }

    fn new(problem: &Problem, device: &DeviceDescription, _: &Configuration) -> Result<Rows, EmitError> {
        Rows::new(problem, device)
    }

    fn plan(&self, problem: &Problem, _: &DeviceDescription) -> Plan {
        self.plan(problem)
    }

    fn emit(&self, fusion: &Fusion, problem: &Problem) -> Result<Kernel, EmitError> {
        emit::emit(fusion, problem, self)
    }
}
