//! Conversion of a convolution to a matrix product. The rows of the product are output positions,
//! and the columns are output features. A step is a window position together with an input feature.
//! Each group of the convolution becomes a batch of the product.

use fusebox_core::emitter::{Decline, Fusion};
use fusebox_core::hlo::{ArrayShape, ConvolutionAttrs, InstrId, Instruction, WindowDim};
use fusebox_core::indexing::{Expr, IndexingMap, ceil_div, delinearize};

use crate::form::{MOST_POINTS, ProductForm, SizedOperand};
use crate::operand::{Operand, distances, is_in_parts, rows_of};
use crate::operand_runs::{BoundsCondition, OperandRuns, PositionStep};

/// Largest input dilation for which output positions are split into phases.
const MOST_PHASES: i64 = 16;
/// Largest extent, stride, dilation or padding for which the index arithmetic cannot overflow.
const MOST_EXTENT: i64 = 1 << 31;
/// Least number of output positions per image for which each image becomes a batch of the product.
const POSITIONS_OF_IMAGE: i64 = 16;

/// Coordinates of one multiplication of two elements. Each of the constants below is the number of
/// one coordinate's variable in index expressions.
pub const GROUP: usize = 0;
pub const IMAGE: usize = 1;
pub const FEATURE: usize = 2;
pub const CHANNEL: usize = 3;
pub const fn out(dim: usize) -> usize {
    4 + 2 * dim
}
pub const fn place(dim: usize) -> usize {
    5 + 2 * dim
}

/// Returns the coordinate of the phase along dimension `dim` of a window with `rank` dimensions.
/// [`DilationPhases`] explains phases.
const fn phase(rank: usize, dim: usize) -> usize {
    4 + 2 * rank + dim
}

pub fn variable(coordinate: usize) -> Expr {
    Expr::dim(coordinate as u32)
}

/// A position in the input as a function of the coordinates: `out * stride + window * dilation -
/// padding`.
#[derive(Debug)]
pub struct InputPosition {
    pub at: Expr,
    /// Dimension of the input to which the position applies.
    pub input: usize,
    pub out: usize,
    pub stride: i64,
    pub window: usize,
    pub window_dilation: i64,
    pub extent: i64,
    pub base_dilation: i64,
    /// Whether the position is inside the input for all coordinates.
    pub is_always_there: bool,
}

/// Sizes of a convolution's coordinates, and the indices of its arrays as functions of the
/// coordinates.
#[derive(Debug)]
pub struct Geometry {
    pub sizes: Vec<i64>,
    /// Indices of the input, the convolution kernel and the result.
    pub input: Vec<Expr>,
    pub kernel: Vec<Expr>,
    pub result: Vec<Expr>,
    /// Positions in the input, one for each dimension of the window.
    pub places: Vec<InputPosition>,
    /// Coordinates of the group and of the phases. The indices of the convolution kernel and of the
    /// result depend on the group and on the phases. No sum runs over the group or a phase.
    pub batch: Vec<usize>,
    /// Positions in the convolution kernel that may be out of bounds, because phases need different
    /// numbers of window positions.
    pub kernel_places: Vec<InputPosition>,
}

/// Coordinates of an operand's batches, lines and steps, outermost first, and the memory stride of
/// each coordinate.
pub struct OperandCoordinates<'a> {
    pub batch: &'a [usize],
    pub lines: &'a [usize],
    pub steps: &'a [usize],
    pub distance: &'a [f64],
}

/// Returns the convolution as a matrix product.
///
/// # Errors
/// If the sizes or the window are too large for the index arithmetic.
pub fn form(fusion: &Fusion, id: InstrId, attributes: &ConvolutionAttrs) -> Result<ProductForm, Decline> {
    let computation = fusion.computation();
    let instruction = computation.instruction(id);
    let geometry = Geometry::new(fusion, instruction, attributes, true)?;
    if geometry.sizes[GROUP] > 1 && geometry.sizes[FEATURE] == 1 {
        return Err(Decline::at(
            instruction,
            "each group has one output feature: each packed element would be used only once",
        ));
    }
    let [input, kernel] = [instruction.operands[0], instruction.operands[1]];
    let distance = geometry.distances(fusion, input, &geometry.input)?;
    let mut lines: Vec<usize> = (0..attributes.window.dims.len()).map(out).collect();
    let mut steps: Vec<usize> = (0..attributes.window.dims.len()).map(place).collect();
    lines.insert(0, IMAGE);
    steps.push(CHANNEL);
    // Sorts lines and steps by their stride in the input, because the input is larger than the
    // kernel.
    for list in [&mut lines, &mut steps] {
        list.retain(|&coordinate| geometry.sizes[coordinate] != 1);
        list.sort_by(|&a, &b| distance[b].total_cmp(&distance[a]));
    }
    let mut batch = geometry.batch.clone();
    let positions = lines.iter().filter(|&&it| it != IMAGE).map(|&it| geometry.sizes[it]);
    if lines.first() == Some(&IMAGE)
        && is_written_by_positions(instruction, attributes)
        && positions.fold(1, i64::saturating_mul) >= POSITIONS_OF_IMAGE
    {
        batch.push(lines.remove(0));
    }
    let layout = OperandCoordinates { batch: &batch, lines: &lines, steps: &steps, distance: &distance };
    let places: Vec<&InputPosition> = geometry.places.iter().filter(|place| !place.is_always_there).collect();
    let left = geometry.side(fusion, input, &geometry.input, &places, &layout)?;
    let distance = geometry.distances(fusion, kernel, &geometry.kernel)?;
    let layout = OperandCoordinates { lines: &[FEATURE], distance: &distance, ..layout };
    let places: Vec<&InputPosition> = geometry.kernel_places.iter().collect();
    let right = geometry.side(fusion, kernel, &geometry.kernel, &places, &layout)?;
    let ([batches, rows, _], [_, columns, _]) = (left.1, right.1);
    let mut point = geometry.constants();
    geometry.set(&mut point, &batch, 0);
    geometry.set(&mut point, &lines, 1);
    geometry.set(&mut point, &[FEATURE], 2);
    let result = geometry.result.iter().map(|expr| expr.substitute(&point, &[], &[])).collect();
    let result = IndexingMap::from_tensor_sizes(result, &[batches, rows, columns], &[]).simplify();
    Ok(ProductForm { sides: [left, right], result })
}

/// Whether output positions, not output features, are contiguous in the result.
pub fn is_written_by_positions(instruction: &Instruction, attributes: &ConvolutionAttrs) -> bool {
    let Some(result) = instruction.shape.as_array() else { return false };
    let last = (0..result.rank()).rev().find(|&dim| result.dims[dim] > 1);
    last.is_some_and(|dim| attributes.dims.output_spatial.contains(&(dim as i64)))
}

/// Phases of the output positions along a dimension with input dilation. A phase consists of the
/// output positions with equal remainder modulo `count`. For all output positions of a phase, the
/// same window positions meet input elements: every `count`-th window position. Each phase is
/// therefore a convolution without input dilation.
struct DilationPhases {
    /// Number of phases.
    count: i64,
    padding: i64,
}

impl DilationPhases {
    /// Returns the phases if the window has stride 1, no dilation and at least `count` positions,
    /// and if all phases have equally many output positions.
    fn of(window: &WindowDim, outputs: i64) -> Option<DilationPhases> {
        let count = window.base_dilation;
        let is_plain = window.stride == 1 && window.window_dilation == 1 && window.size >= count;
        let is_even = (2..=MOST_PHASES).contains(&count) && outputs % count == 0;
        (is_plain && is_even).then_some(DilationPhases { count, padding: window.padding_low })
    }

    /// Returns the first window position that, in phase `phase`, meets an input element instead of
    /// a hole between dilated elements.
    fn first(&self, phase: Expr) -> Expr {
        (-phase + self.padding).modulo(self.count)
    }

    /// Returns the index of the input element that the phase's first output position reads at
    /// window position [`DilationPhases::first`].
    fn element(&self, phase: Expr) -> Expr {
        (phase.clone() + self.first(phase) - self.padding).floor_div(self.count)
    }
}

impl Geometry {
    /// Computes the geometry. If `is_by_phases`, splits dimensions with input dilation into phases
    /// where possible.
    ///
    /// # Errors
    /// If the sizes or the window are too large for the index arithmetic.
    pub fn new(
        fusion: &Fusion,
        instruction: &Instruction,
        attributes: &ConvolutionAttrs,
        is_by_phases: bool,
    ) -> Result<Geometry, Decline> {
        let computation = fusion.computation();
        let array = |shape: Option<&ArrayShape>| {
            shape.cloned().ok_or_else(|| Decline::at(instruction, "its operands and its result must be arrays"))
        };
        let operand = |number: usize| array(computation.instruction(instruction.operands[number]).shape.as_array());
        let (input, kernel, result) = (operand(0)?, operand(1)?, array(instruction.shape.as_array())?);
        let dims = &attributes.dims;
        let at = |array: &ArrayShape, dim: i64| array.dims[dim as usize];
        let groups = attributes.feature_group_count.max(attributes.batch_group_count).max(1);
        let features = at(&result, dims.output_feature) / groups;
        let (images, channels) = (at(&result, dims.output_batch), at(&kernel, dims.kernel_input_feature));
        let mut sizes = vec![groups, images, features, channels];
        let mut geometry = Geometry {
            input: vec![Expr::constant(0); input.rank()],
            kernel: vec![Expr::constant(0); kernel.rank()],
            result: vec![Expr::constant(0); result.rank()],
            places: Vec::new(),
            sizes: Vec::new(),
            batch: vec![GROUP],
            kernel_places: Vec::new(),
        };
        let rank = attributes.window.dims.len();
        let mut phases = vec![1; rank];
        for (number, window) in attributes.window.dims.iter().enumerate() {
            let (size, outputs) = (at(&input, dims.input_spatial[number]), at(&result, dims.output_spatial[number]));
            let numbers = [size, outputs, window.size, window.stride, window.padding_low.saturating_abs()];
            let numbers = [numbers.as_slice(), &[window.window_dilation, window.base_dilation]].concat();
            let extent = (size - 1).saturating_mul(window.base_dilation).saturating_add(1).max(0);
            let reached = |count: i64, by: i64| (count - 1).max(0).saturating_mul(by);
            let last = reached(outputs, window.stride).saturating_add(reached(window.size, window.window_dilation));
            if numbers.iter().chain([&extent, &last]).any(|&number| number > MOST_EXTENT) {
                return Err(Decline::at(instruction, "its sizes or its window are too large for the index arithmetic"));
            }
            let input = dims.input_spatial[number] as usize;
            let (kernel, result) = (dims.kernel_spatial[number] as usize, dims.output_spatial[number] as usize);
            let of_kernel = |at: Expr| if window.reversal { Expr::constant(window.size - 1) - at } else { at };
            if let Some(by_phase) = DilationPhases::of(window, outputs).filter(|_| is_by_phases) {
                let (count, own) = (by_phase.count, variable(phase(rank, number)));
                phases[number] = count;
                geometry.batch.push(phase(rank, number));
                let places = ceil_div(window.size, count);
                sizes.extend([outputs / count, places]);
                let at = variable(out(number)) + variable(place(number)) + by_phase.element(own.clone());
                geometry.input[input] = at.clone();
                let in_kernel = by_phase.first(own.clone()) + variable(place(number)) * count;
                geometry.kernel[kernel] = of_kernel(in_kernel.clone());
                geometry.result[result] = variable(out(number)) * count + own;
                let plain = |at: Expr, input: usize, window_dilation: i64, extent: i64| InputPosition {
                    at,
                    input,
                    out: out(number),
                    stride: 1,
                    window: place(number),
                    window_dilation,
                    extent,
                    base_dilation: 1,
                    is_always_there: false,
                };
                geometry.places.push(plain(at, input, 1, size));
                if window.size % count != 0 {
                    geometry.kernel_places.push(plain(in_kernel, kernel, count, window.size));
                }
                continue;
            }
            sizes.extend([outputs, window.size]);
            let position = variable(out(number)) * window.stride + variable(place(number)) * window.window_dilation
                - window.padding_low;
            geometry.input[input] = position.clone().floor_div(window.base_dilation);
            geometry.kernel[kernel] = of_kernel(variable(place(number)));
            geometry.result[result] = variable(out(number));
            let is_always_there =
                window.padding_low <= 0 && last - window.padding_low < extent && window.base_dilation == 1;
            geometry.places.push(InputPosition {
                at: position,
                input,
                out: out(number),
                stride: window.stride,
                window: place(number),
                window_dilation: window.window_dilation,
                extent,
                base_dilation: window.base_dilation,
                is_always_there,
            });
        }
        let of_group = |size: i64, inside: usize| variable(GROUP) * size + variable(inside);
        let is_by_batch = attributes.batch_group_count > 1;
        let (batch, feature) = if is_by_batch {
            (of_group(images, IMAGE), variable(CHANNEL))
        } else {
            (variable(IMAGE), of_group(channels, CHANNEL))
        };
        geometry.input[dims.input_batch as usize] = batch;
        geometry.input[dims.input_feature as usize] = feature;
        geometry.kernel[dims.kernel_input_feature as usize] = variable(CHANNEL);
        geometry.kernel[dims.kernel_output_feature as usize] = of_group(features, FEATURE);
        geometry.result[dims.output_batch as usize] = variable(IMAGE);
        geometry.result[dims.output_feature as usize] = of_group(features, FEATURE);
        sizes.extend(phases);
        // An empty dimension counts as 1, so that no count overflows for an empty result.
        if sizes.iter().fold(1i64, |n, &size| n.saturating_mul(size.max(1))) > MOST_POINTS {
            return Err(Decline::at(instruction, "there are more products than any machine computes"));
        }
        geometry.sizes = sizes;
        Ok(geometry)
    }

    /// Returns the memory stride of each coordinate, in elements.
    pub fn distances(&self, fusion: &Fusion, operand: InstrId, index: &[Expr]) -> Result<Vec<f64>, Decline> {
        let instruction = fusion.computation().instruction(operand);
        let array = instruction.shape.as_array().ok_or_else(|| Decline::at(instruction, "it is no array"))?;
        let mut strides = Vec::new();
        for (dim, &size) in array.dims.iter().enumerate() {
            let mut at = vec![Expr::constant(0); array.rank()];
            at[dim] = Expr::dim(1);
            let map = IndexingMap::from_tensor_sizes(at, &[1, size.max(1), 1], &[]);
            strides.push(distances(fusion, operand, &map)[0] as f64);
        }
        let origin = vec![0i64; self.sizes.len()];
        // Distances are measured over a multiple of all dilations, so that the quotient is the
        // average stride.
        let dilation = self.places.iter().fold(1i64, |all, place| all.saturating_mul(place.base_dilation)).min(1 << 30);
        let moved = |coordinate: usize| {
            let mut to = origin.clone();
            to[coordinate] = dilation;
            let ways = index.iter().zip(&strides).map(|(expr, stride)| {
                let way = expr.eval(&to, &[], &[]).saturating_sub(expr.eval(&origin, &[], &[]));
                way as f64 / dilation as f64 * stride
            });
            ways.sum()
        };
        Ok((0..self.sizes.len()).map(moved).collect())
    }

    /// Returns coordinates that are all 0.
    pub fn constants(&self) -> Vec<Expr> {
        vec![Expr::constant(0); self.sizes.len()]
    }

    pub fn sizes_of(&self, coordinates: &[usize]) -> Vec<i64> {
        coordinates.iter().map(|&coordinate| self.sizes[coordinate]).collect()
    }

    /// Sets those coordinates of `point` that `coordinates` lists. Variable `number` enumerates the
    /// values of the listed coordinates in row-major order.
    pub fn set(&self, point: &mut [Expr], coordinates: &[usize], number: usize) {
        let parts = delinearize(&variable(number), &self.sizes_of(coordinates));
        for (&coordinate, part) in coordinates.iter().zip(parts) {
            point[coordinate] = part;
        }
    }

    pub fn side(
        &self,
        fusion: &Fusion,
        instruction: InstrId,
        index: &[Expr],
        places: &[&InputPosition],
        layout: &OperandCoordinates,
    ) -> Result<SizedOperand, Decline> {
        let of = fusion.computation().instruction(instruction);
        let array = of.shape.as_array().ok_or_else(|| Decline::at(of, "it is no array"))?;
        let roles = [layout.batch, layout.lines, layout.steps];
        let sizes = roles.map(|role| self.sizes_of(role).into_iter().fold(1, i64::saturating_mul));
        let [of_lines, of_steps] = [layout.lines, layout.steps].map(|list| self.run(list, places, layout.distance));
        let are_steps = of_steps.worth >= of_lines.worth;
        let first = if are_steps { of_steps.first } else { of_lines.first };
        let is_plain = places.is_empty() && first == 0;
        let runs = self.runs(index, places, layout, are_steps, first);
        let at = runs.over_lines_and_steps();
        let operand = Operand {
            instruction,
            element: array.element_type,
            runs_along_steps: are_steps,
            steps_are_adjacent: is_plain && distances(fusion, instruction, &at)[1] == 1,
            is_in_parts: is_in_parts(fusion, instruction),
            rows_of: rows_of(fusion, instruction, &at).filter(|_| places.is_empty()),
            at,
            runs: (!is_plain).then_some(runs),
        };
        Ok((operand, sizes))
    }

    /// Returns the longest suffix of the coordinates `list` along which the operand's elements have
    /// one constant stride in memory.
    fn run(&self, list: &[usize], places: &[&InputPosition], distance: &[f64]) -> RunCoordinates {
        let Some(&last) = list.last() else { return RunCoordinates { first: 0, worth: 0.0 } };
        let place_of = |coordinate: usize| places.iter().find(|it| it.out == coordinate || it.window == coordinate);
        let (mut first, mut size) = (list.len() - 1, self.sizes[last]);
        while first > 0
            && place_of(list[first]).is_none()
            && place_of(list[first - 1]).is_none_or(|place| place.base_dilation == 1)
            && distance[list[first - 1]] == distance[last] * size as f64
            && distance[last] > 0.0
        {
            first -= 1;
            size = size.saturating_mul(self.sizes[list[first]]);
        }
        let worth = if distance[last] == 0.0 { 0.0 } else { size as f64 / distance[last].abs() };
        RunCoordinates { first, worth }
    }

    /// Splits an operand's lines and steps into coordinates. The run is a suffix of the steps'
    /// coordinates if `are_steps`, and otherwise a suffix of the lines' coordinates. In the list
    /// that contains the run, coordinate number `first` and all later coordinates become one
    /// coordinate.
    fn runs(
        &self,
        index: &[Expr],
        places: &[&InputPosition],
        layout: &OperandCoordinates,
        are_steps: bool,
        first: usize,
    ) -> OperandRuns {
        let mut point = self.constants();
        self.set(&mut point, layout.batch, 0);
        let mut sizes = vec![self.sizes_of(layout.batch).into_iter().product()];
        let mut list = |list: &[usize], is_run: bool| {
            let first = if is_run { first } else { list.len() };
            let start = sizes.len();
            for &coordinate in &list[..first] {
                point[coordinate] = variable(sizes.len());
                sizes.push(self.sizes[coordinate]);
            }
            if is_run {
                self.set(&mut point, &list[first..], sizes.len());
                sizes.push(self.sizes_of(&list[first..]).into_iter().product());
            }
            sizes[start..].to_vec()
        };
        let (lines, steps) = (list(layout.lines, !are_steps), list(layout.steps, are_steps));
        let over = |results: Vec<Expr>| IndexingMap::from_tensor_sizes(results, &sizes, &[]).simplify();
        let run = &(if are_steps { layout.steps } else { layout.lines })[first..];
        let condition = |place: &&InputPosition| {
            let moves = [(place.out, place.stride), (place.window, place.window_dilation)];
            // A position depends on at most one coordinate of a run: the outermost.
            let along = moves.into_iter().find(|(coordinate, _)| run.first() == Some(coordinate)).map(|(_, by)| {
                let after = self.sizes_of(&run[1..]).into_iter().product();
                PositionStep { by, after }
            });
            let at = over(vec![place.at.substitute(&point, &[], &[])]);
            BoundsCondition { place: at, extent: place.extent, dilation: place.base_dilation, along }
        };
        let conditions = places.iter().map(condition).collect();
        let at = over(index.iter().map(|expr| expr.substitute(&point, &[], &[])).collect());
        OperandRuns { lines, steps, are_steps, at, conditions }
    }
}

/// A run. A run consists of coordinate number `first` of a list and all later coordinates. `worth`
/// is the number of elements of the run divided by their memory stride.
struct RunCoordinates {
    first: usize,
    worth: f64,
}
