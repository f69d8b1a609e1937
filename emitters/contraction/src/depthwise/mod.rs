//! Convolutions whose groups have few features. The kernel uses each input element too rarely for
//! packing to pay. Each element of the result is a sum over the window. The lanes of a vector are
//! neighbouring output features or neighbouring output positions.
//!
//! ```text
//! mod.rs    fusion -> coordinates, operands and results
//! sizes.rs  sizes, blocks -> plan; the input rows that a task needs
//! emit.rs   the loops of a block
//! ```

mod emit;
mod sizes;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{Analysis, Blocks, Configuration, Decline, EmitError, Fusion, Kernel, Plan};
use fusebox_core::hlo::{ElementType, InstrId, Op, Opcode};
use fusebox_core::indexing::{Expr, IndexingMap};

use crate::convolution::{CHANNEL, FEATURE, GROUP, Geometry, IMAGE, is_written_by_positions, out, place, variable};
use crate::operand::Operand;
use crate::problem::{LEAST_PRODUCTS, ProductRoots, check_prologue, outputs, roots, sum_type, the_dot};
use crate::strategy::ProductStrategy;
pub use sizes::DepthwiseSizes;

/// Largest number of output features of a group that this emitter accepts. If a group has more
/// output features, packing the input pays.
const MOST_FEATURES: i64 = 4;

/// A convolution that the kernel computes without packing the input.
#[derive(Debug)]
pub struct DepthwiseProblem {
    pub convolution: InstrId,
    /// Input and kernel.
    pub operands: [InstrId; 2],
    pub elements: [ElementType; 2],
    pub geometry: Geometry,
    /// Type of sums and products.
    pub sum: ElementType,
    pub result: ElementType,
    pub roots: Vec<ProductRoots>,
    /// Whether lanes of a vector are output features, not output positions.
    pub along_features: bool,
    /// Window dimension along which a row of the input extends.
    pub axis: usize,
    /// Coordinates that identify a row of the result: all except the output feature and the
    /// position in the row.
    pub of_row: Vec<usize>,
    /// Coordinates of a step, except the window position along the row.
    pub outer_steps: Vec<usize>,
    /// Memory stride of each coordinate in the input, in elements.
    pub distance: Vec<f64>,
    /// The convolution kernel, with a map from `(0, output feature, step)` to the kernel's index.
    /// The window position along the row is the last coordinate of a step.
    pub kernel: Operand,
}

impl DepthwiseProblem {
    /// Returns the number of output features of all groups.
    pub fn features(&self) -> i64 {
        self.geometry.sizes[GROUP] * self.geometry.sizes[FEATURE]
    }

    /// Returns the number of positions of a row of the result.
    pub fn positions(&self) -> i64 {
        self.geometry.sizes[out(self.axis)]
    }

    /// Returns the number of window positions along a row.
    pub fn window(&self) -> i64 {
        self.geometry.sizes[place(self.axis)]
    }

    /// Returns the number of input rows that contribute to one row of the result.
    pub fn rows(&self) -> i64 {
        self.geometry.sizes_of(&self.outer_steps).iter().product()
    }

    /// Sets two coordinates of `point`: the group that contains output feature `feature`, and the
    /// number of this feature in its group.
    pub fn with_feature(&self, point: &mut [Expr], feature: &Expr) {
        point[GROUP] = feature.clone().floor_div(self.geometry.sizes[FEATURE].max(1));
        point[FEATURE] = feature.clone().modulo(self.geometry.sizes[FEATURE].max(1));
    }

    /// Returns for each operand how many of its elements the kernel computes per element of the
    /// result. The kernel computes an input element once for each row of the result that needs the
    /// element. For the convolution kernel, the function returns 0, because this number is
    /// negligible.
    pub fn reads_per_result(&self) -> [f64; 2] {
        let axis = &self.geometry.places[self.axis];
        [(self.rows() * axis.stride) as f64, 0.0]
    }

    /// Returns the number of all products.
    pub fn products(&self) -> i64 {
        self.geometry.sizes.iter().fold(1i64, |n, &size| n.saturating_mul(size))
    }

    /// Checks that a kernel without packing pays.
    ///
    /// # Errors
    /// If groups have too many features, or if there are too few products.
    pub fn check(&self) -> Result<(), Decline> {
        match self.products() {
            0 => Err(Decline::new("the convolution has no elements or no steps")),
            _ if self.geometry.sizes[FEATURE] > MOST_FEATURES => Err(Decline::new(format!(
                "each input element is used for {} output features: for more than {MOST_FEATURES}, packing it pays",
                self.geometry.sizes[FEATURE]
            ))),
            products if products < LEAST_PRODUCTS => {
                Err(Decline::new(format!("{products} products are too few: below {LEAST_PRODUCTS}, a loop is as fast")))
            }
            _ => Ok(()),
        }
    }
}

impl Analysis for DepthwiseProblem {
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
        // A row extends along the spatial dimension with the smallest memory stride.
        let long = spatial.clone().filter(|&dim| geometry.sizes[out(dim)].max(geometry.sizes[place(dim)]) > 1);
        let axis = long.min_by(|&a, &b| distance[place(a)].total_cmp(&distance[place(b)]));
        let axis = axis.ok_or_else(|| {
            Decline::at(instruction, "its window and its result have one position in every spatial dimension")
        })?;
        let mut of_row = vec![IMAGE];
        of_row.extend(spatial.clone().filter(|&dim| dim != axis).map(out));
        let mut outer_steps = vec![CHANNEL];
        outer_steps.extend(spatial.filter(|&dim| dim != axis).map(place));
        outer_steps.sort_by(|&a, &b| distance[b].total_cmp(&distance[a]));
        let (sum, result, elements) = sum_type(computation, convolution)?;
        let mut problem = DepthwiseProblem {
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

impl DepthwiseProblem {
    fn kernel_at(&self) -> IndexingMap {
        let mut point = self.geometry.constants();
        self.with_feature(&mut point, &variable(1));
        let steps = [self.outer_steps.as_slice(), &[place(self.axis)]].concat();
        self.geometry.set(&mut point, &steps, 2);
        let results = self.geometry.kernel.iter().map(|expr| expr.substitute(&point, &[], &[])).collect();
        IndexingMap::from_tensor_sizes(results, &[1, self.features(), self.rows() * self.window()], &[]).simplify()
    }

    /// Returns the map from `(coordinates of the row…, position in it, output feature)` to the
    /// index of the result.
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

impl ProductStrategy for DepthwiseSizes {
    type Problem = DepthwiseProblem;
    const BLOCKS: Blocks = Blocks::OfOneThread;
    const ANCHORS: &'static [Opcode] = &[Opcode::Convolution];

    fn suits(problem: &DepthwiseProblem, _: &DeviceDescription) -> Result<(), Decline> {
        problem.check()
    }

    fn new(
        problem: &DepthwiseProblem,
        device: &DeviceDescription,
        _: &Configuration,
    ) -> Result<DepthwiseSizes, EmitError> {
        DepthwiseSizes::new(problem, device)
    }

    fn plan(&self, problem: &DepthwiseProblem, _: &DeviceDescription) -> Plan {
        self.plan(problem)
    }

    fn emit(&self, fusion: &Fusion, problem: &DepthwiseProblem) -> Result<Kernel, EmitError> {
        emit::emit(fusion, problem, self)
    }
}
