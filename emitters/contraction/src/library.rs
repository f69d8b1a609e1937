//! The emitter `library-product`. The host's library for the device computes a dot without fused
//! instructions. The host uses the library for a dot if it predicts that the library is faster than
//! all other kernels. The library also shows authors of product emitters how fast their kernels
//! have to be.

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Analysis, Configuration, Decline, EmitError, Fusion, Kernel, KernelCode, LaunchDimensions, OutputPlan, Plan,
    Strategy, Task, Visit, Work,
};
use fusebox_core::hlo::{ArrayShape, DotDims, ElementType, InstrId, Instruction, Op};
use fusebox_core::indexing::{Constraint, Expr, IndexingMap, Interval, Variable, ceil_div, delinearize};
use fusebox_core::launch::Balance;

/// Element types for which a library has products.
const TYPES: [ElementType; 6] =
    [ElementType::F16, ElementType::BF16, ElementType::F32, ElementType::F64, ElementType::C64, ElementType::C128];
/// Least number of rows, of columns and of steps for which the emitter uses the library, because
/// the library is optimised for large shapes.
const LEAST: i64 = 32;
/// Least number of rows, and least number of products per batch, if blocks have one thread. With
/// fewer rows or products, the library takes longer to pack than to multiply.
const LEAST_ROWS: i64 = 48;
const LEAST_PRODUCTS: f64 = (1 << 17) as f64;
/// Number of products per part of a batch. The library splits a batch of `n` products into `n /
/// PRODUCTS_OF_PART` parts.
const PRODUCTS_OF_PART: f64 = (1 << 19) as f64;
/// Largest number of parts of all batches together, if the library splits batches.
const MOST_PARTS: f64 = 8.0;
/// Cost of a vector of products, in additions, including the library's packing.
const VECTOR: f64 = 1.0;
/// Assumed number of threads per block on a device whose blocks have many threads. The numbers of
/// threads and blocks that the library uses are unknown.
const THREADS: i64 = 256;
/// For blocks of many threads: number of products of real numbers that the device computes in the
/// time of an addition. `NARROW` is for narrow floats; one instruction multiplies whole matrices of
/// narrow floats. `SINGLE` is for floats of 4 bytes, and `DOUBLE` for floats of 8 bytes.
const NARROW: f64 = 20.0;
const SINGLE: f64 = 0.9;
const DOUBLE: f64 = 0.5;
/// Number of products of real numbers per product of complex numbers.
const OF_COMPLEX: f64 = 4.0;

/// A dot whose operands are the fusion's parameters.
#[derive(Debug)]
pub struct PlainDot {
    dot: InstrId,
    /// Dimensions of the result.
    dims: Vec<i64>,
    /// Number of products of real numbers.
    pub products: f64,
    /// Type of the real numbers.
    real: ElementType,
    /// Numbers of rows, steps and columns.
    sizes: [i64; 3],
    /// Whether the last dimension of each operand is a row, column or step dimension, not a batch
    /// dimension.
    is_dense: bool,
}

impl Analysis for PlainDot {
    fn of(fusion: &Fusion) -> Result<Self, Decline> {
        let computation = fusion.computation();
        let root = computation.root_instruction();
        let Op::Dot(dims) = &root.op else { return Err(Decline::at(root, "the result is no dot")) };
        let is_parameter = |(number, &id): (usize, &InstrId)| {
            computation.instruction(id).op == Op::Parameter { number: number as i64 }
        };
        if computation.instructions.len() != 3 || !root.operands.iter().enumerate().all(is_parameter) {
            return Err(Decline::at(root, "the fusion computes more than a dot of its parameters"));
        }
        let array = |instruction: &Instruction| {
            let array = instruction.shape.as_array().cloned();
            array.ok_or_else(|| Decline::at(instruction, "it is no array"))
        };
        let result = array(root)?;
        let operands = [0, 1].map(|side| array(computation.instruction(root.operands[side])));
        let [left, right] = operands;
        let (left, right) = (left?, right?);
        let element = result.element_type;
        if !TYPES.contains(&element) || left.element_type != element || right.element_type != element {
            return Err(Decline::at(root, "libraries have products of f16, bf16, f32, f64, c64 and c128"));
        }
        let sizes = sizes(root, dims, &left.dims, &right.dims)?;
        if sizes.iter().any(|&size| size < LEAST) {
            let reason = format!("the library is for products of at least {LEAST} rows, columns and steps");
            return Err(Decline::at(root, reason));
        }
        let is_dense = |array: &ArrayShape, batch: &[i64]| !batch.contains(&(array.dims.len() as i64 - 1));
        let is_dense = is_dense(&left, &dims.lhs_batch) && is_dense(&right, &dims.rhs_batch);
        let each = if element.is_complex() { OF_COMPLEX } else { 1.0 };
        let products = result.element_count() as f64 * sizes[1] as f64 * each;
        Ok(PlainDot { dot: computation.root, dims: result.dims, products, real: element.real_part(), sizes, is_dense })
    }
}

impl PlainDot {
    /// Returns the number of products of a batch. A complex product counts as one product.
    fn of_batch(&self) -> f64 {
        self.sizes.iter().map(|&size| size as f64).product()
    }

    /// Checks that the device's library computes the product.
    ///
    /// # Errors
    /// If the device has no library, or the library does not support these matrices.
    pub fn check(&self, device: &DeviceDescription) -> Result<(), Decline> {
        let PlainDot { sizes: [rows, ..], real, is_dense, .. } = *self;
        let is_cpu = device.is_single_threaded_block();
        match () {
            () if !device.has_product_library => {
                Err(Decline::new("the host has no library of products for this device"))
            }
            () if is_cpu && real.byte_size() < 4 => {
                Err(Decline::new(format!("the library of this device has no products of {real}")))
            }
            () if is_cpu && rows < LEAST_ROWS => {
                Err(Decline::new(format!("the library of this device is for at least {LEAST_ROWS} rows, not {rows}")))
            }
            () if is_cpu && self.of_batch() < LEAST_PRODUCTS => Err(Decline::new(format!(
                "the library of this device is for at least {LEAST_PRODUCTS} products of a batch"
            ))),
            () if !is_cpu && !is_dense => Err(Decline::new(
                "the library needs the rows or the columns of each operand to be contiguous in memory",
            )),
            () => Ok(()),
        }
    }
}

/// Returns the numbers of rows, steps and columns. Each number can combine several dimensions only
/// if these dimensions are adjacent in the array.
fn sizes(root: &Instruction, dims: &DotDims, left: &[i64], right: &[i64]) -> Result<[i64; 3], Decline> {
    let merged = |array: &[i64], of: &[i64]| {
        if of.windows(2).all(|two| two[0] + 1 == two[1]) {
            Ok(of.iter().map(|&dim| array[dim as usize]).product())
        } else {
            Err(Decline::at(
                root,
                "the library needs the dimensions of each role (batch, rows, columns, steps) to be adjacent",
            ))
        }
    };
    let lines = |array: &[i64], batch: &[i64], steps: &[i64]| -> Vec<i64> {
        (0..array.len() as i64).filter(|dim| !batch.contains(dim) && !steps.contains(dim)).collect()
    };
    let rows = merged(left, &lines(left, &dims.lhs_batch, &dims.lhs_contracting))?;
    let columns = merged(right, &lines(right, &dims.rhs_batch, &dims.rhs_contracting))?;
    let steps = merged(left, &dims.lhs_contracting)?;
    merged(right, &dims.rhs_contracting)?;
    Ok([rows, steps, columns])
}

/// The emitter `library-product`.
pub struct LibraryProduct;

impl Strategy for LibraryProduct {
    type Problem = PlainDot;

    fn check(&self, task: &Task<PlainDot>) -> Result<(), Decline> {
        task.problem.check(task.device)
    }

    fn plan(&self, task: &Task<PlainDot>, _: &Configuration) -> Result<Plan, EmitError> {
        let PlainDot { dot, dims, products, real, sizes, .. } = task.problem;
        let of_batch = task.problem.of_batch();
        let cores = i64::from(task.device.core_count.max(1));
        let (launch, written, additions) = if task.device.is_single_threaded_block() {
            // The library distributes the work itself. Blocks represent the cores.
            let blocks = dims.first().map_or(1, |&first| cores.min(first)).max(1);
            let lanes = (f64::from(task.device.register_bytes) / real.byte_size() as f64).max(1.0);
            let batches = dims.iter().product::<i64>() as f64 / (sizes[0] * sizes[2]) as f64;
            let parts = (of_batch / PRODUCTS_OF_PART).floor().clamp(1.0, (MOST_PARTS / batches).ceil().max(1.0));
            let busy = (batches * parts).clamp(1.0, cores as f64);
            let additions = products / lanes * VECTOR * blocks as f64 / busy;
            (LaunchDimensions { blocks: blocks as u64, threads_per_block: 1 }, written(dims, blocks), additions)
        } else {
            let blocks = ceil_div(dims.iter().product(), THREADS).min(Balance::OfTasks.blocks(task.device));
            let rate = match real.byte_size() {
                8 => DOUBLE,
                4 => SINGLE,
                _ => NARROW,
            };
            let launch = LaunchDimensions { blocks: blocks as u64, threads_per_block: THREADS as u32 };
            (launch, distributed(dims, blocks), products / rate)
        };
        Ok(Plan {
            visits: vec![Visit { map: written.clone(), values: vec![*dot], given: vec![*dot] }],
            work: Work { additions, ..Work::default() },
            notes: vec!["executed by a library of the host".into()],
            ..Plan::new(launch, vec![OutputPlan::unique(written)])
        })
    }

    fn emit(&self, _: &Task<PlainDot>, _: &Plan) -> Result<Kernel, EmitError> {
        Ok(Kernel { code: KernelCode::Routine, calls: Vec::new() })
    }
}

/// Returns the map `(th, bl)[…] -> index of the result`, with the first dimension distributed over
/// blocks.
fn written(dims: &[i64], blocks: i64) -> IndexingMap {
    let range = |(number, &size): (usize, &i64)| if number == 0 { ceil_div(size, blocks) } else { size };
    let ranges: Vec<i64> = dims.iter().enumerate().map(range).collect();
    let mut results: Vec<Expr> = (0..dims.len() as u32).map(Expr::range).collect();
    let mut constraints = Vec::new();
    if let (Some(first), Some(&range), Some(&size)) = (results.first_mut(), ranges.first(), dims.first()) {
        *first = Expr::dim(1) * range + first.clone();
        if size % blocks != 0 {
            constraints.push(Constraint::new(first.clone(), Interval::from_size(size)));
        }
    }
    IndexingMap {
        dims: vec![Variable::named("th", 1), Variable::named("bl", blocks)],
        ranges: ranges.into_iter().map(Variable::from_size).collect(),
        results,
        constraints,
        ..IndexingMap::default()
    }
}

/// Returns the map `(th, bl)[turn] -> index of the result` for blocks of many threads.
fn distributed(dims: &[i64], blocks: i64) -> IndexingMap {
    let count: i64 = dims.iter().product();
    let number = (Expr::range(0) * blocks + Expr::dim(1)) * THREADS + Expr::dim(0);
    IndexingMap {
        dims: vec![Variable::named("th", THREADS), Variable::named("bl", blocks)],
        ranges: vec![Variable::named("turn", ceil_div(count, blocks * THREADS))],
        results: delinearize(&number, dims),
        constraints: vec![Constraint::new(number, Interval::from_size(count))],
        ..IndexingMap::default()
    }
    .simplify()
}
