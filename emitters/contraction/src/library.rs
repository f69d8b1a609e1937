//! `library-product`: a dot that nothing is fused with, left to the library that the host has for it. Whoever writes an emitter of
//! products sees what it is worth, and where the library is predicted to be faster, it is taken.

use fusebox_core::emitter::{
    Analysis, Blocks, Configuration, Decline, EmitError, Fusion, Kernel, KernelCode, LaunchDimensions, OutputPlan,
    Plan, Strategy, Task, Visit, Work,
};
use fusebox_core::hlo::{DotDims, ElementType, InstrId, Instruction, Op};
use fusebox_core::indexing::{Expr, IndexingMap, Variable};

/// Fewest rows, columns and steps: what the library does for shapes is for larger ones.
const LEAST: i64 = 32;
/// Products of a part of the rows: a batch is shared out in as many parts as it has so many products, each with a copy of the
/// right operand.
const PRODUCTS_OF_PART: f64 = (1 << 22) as f64;
/// Most parts of a batch.
const MOST_PARTS: f64 = 8.0;
/// Fewest rows for which these copies take little of the time.
const LEAST_ROWS_SHARED: i64 = 256;
/// Additions in the time of a vector of products, what the library packs included: where a batch is one part, and where it is
/// shared out.
const VECTOR: f64 = 0.55;
const VECTOR_SHARED: f64 = 0.75;
/// Products of real numbers that one of complex numbers is made of.
const OF_COMPLEX: f64 = 4.0;

/// A dot and its parameters.
#[derive(Debug)]
pub struct Plain {
    dot: InstrId,
    /// Dimensions of the result.
    dims: Vec<i64>,
    /// Products of real numbers.
    pub products: f64,
    /// Batches that they are in.
    batches: f64,
    /// Parts in which the library's routine multiplies a batch.
    parts: f64,
    /// The type of their parts.
    real: ElementType,
}

impl Analysis for Plain {
    fn of(fusion: &Fusion) -> Result<Self, Decline> {
        let computation = fusion.computation();
        let root = computation.root_instruction();
        let Op::Dot(dims) = &root.op else { return Err(Decline::at(root, "the result is no dot")) };
        let is_parameter = |(number, &id): (usize, &InstrId)| {
            computation.instruction(id).op == Op::Parameter { number: number as i64 }
        };
        if computation.instructions.len() != 3 || !root.operands.iter().enumerate().all(is_parameter) {
            return Err(Decline::at(root, "something else is computed with the dot"));
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
        let is_known = matches!(element, ElementType::F32 | ElementType::F64 | ElementType::C64 | ElementType::C128);
        if !is_known || left.element_type != element || right.element_type != element {
            return Err(Decline::at(root, "the library has products of f32, f64, c64 and c128"));
        }
        let sizes = sizes(root, dims, &left.dims, &right.dims)?;
        if sizes.iter().any(|&size| size < LEAST) {
            let reason = format!("the library is for products of at least {LEAST} rows, columns and steps");
            return Err(Decline::at(root, reason));
        }
        let [rows, steps, columns] = sizes;
        let of_batch = rows as f64 * steps as f64 * columns as f64;
        if rows < LEAST_ROWS_SHARED && of_batch >= PRODUCTS_OF_PART {
            return Err(Decline::at(root, format!("the library is not for {rows} rows of large matrices")));
        }
        let each = if element.is_complex() { OF_COMPLEX } else { 1.0 };
        let batches = result.element_count() as f64 / (rows * columns) as f64;
        let parts = (of_batch / PRODUCTS_OF_PART).floor().clamp(1.0, MOST_PARTS);
        let products = batches * of_batch * each;
        Ok(Plain { dot: computation.root, dims: result.dims, products, batches, parts, real: element.real_part() })
    }
}

/// Rows, steps and columns: the library takes one dimension of each.
fn sizes(root: &Instruction, dims: &DotDims, left: &[i64], right: &[i64]) -> Result<[i64; 3], Decline> {
    let sole = |found: &[i64]| match *found {
        [size] => Ok(size),
        [] => Ok(1),
        _ => Err(Decline::at(root, "the library takes one dimension of each role")),
    };
    let of = |array: &[i64], is_meant: &dyn Fn(i64) -> bool| -> Vec<i64> {
        (0..array.len() as i64).filter(|&dim| is_meant(dim)).map(|dim| array[dim as usize]).collect()
    };
    let rows = of(left, &|dim| !dims.lhs_batch.contains(&dim) && !dims.lhs_contracting.contains(&dim));
    let columns = of(right, &|dim| !dims.rhs_batch.contains(&dim) && !dims.rhs_contracting.contains(&dim));
    let steps = of(left, &|dim| dims.lhs_contracting.contains(&dim));
    Ok([sole(&rows)?, sole(&steps)?, sole(&columns)?])
}

/// The emitter.
pub struct Library;

impl Strategy for Library {
    type Problem = Plain;

    fn blocks(&self) -> Blocks {
        Blocks::OfOneThread
    }

    fn plan(&self, task: &Task<Plain>, _: &Configuration) -> Result<Plan, EmitError> {
        let Plain { dot, dims, products, batches, parts, real } = task.problem;
        // The library cuts the work itself: where blocks cannot stand for the cores, one stands for all of them.
        let cores = i64::from(task.device.core_count.max(1));
        let blocks = if dims.first().is_some_and(|first| first % cores == 0) { cores } else { 1 };
        let lanes = (f64::from(task.device.register_bytes) / real.byte_size() as f64).max(1.0);
        let busy = (batches * parts).clamp(1.0, cores as f64);
        let vector = if *parts > 1.0 { VECTOR_SHARED } else { VECTOR };
        let launch = LaunchDimensions { blocks: blocks as u64, threads_per_block: 1 };
        let written = written(dims, blocks);
        Ok(Plan {
            visits: vec![Visit { map: written.clone(), values: vec![*dot], given: vec![*dot] }],
            work: Work { additions: products / lanes * vector * blocks as f64 / busy, ..Work::default() },
            notes: vec!["executed by a routine of the host".into()],
            ..Plan::new(launch, vec![OutputPlan::unique(written)])
        })
    }

    fn emit(&self, _: &Task<Plain>, _: &Plan) -> Result<Kernel, EmitError> {
        Ok(Kernel { code: KernelCode::Routine, calls: Vec::new() })
    }
}

/// `(th, bl)[…] -> index of the result`, its first dimension dealt to blocks.
fn written(dims: &[i64], blocks: i64) -> IndexingMap {
    let range = |(number, &size): (usize, &i64)| if number == 0 { size / blocks } else { size };
    let ranges: Vec<i64> = dims.iter().enumerate().map(range).collect();
    let mut results: Vec<Expr> = (0..dims.len() as u32).map(Expr::range).collect();
    if let (Some(first), Some(&size)) = (results.first_mut(), ranges.first()) {
        *first = Expr::dim(1) * size + first.clone();
    }
    IndexingMap {
        dims: vec![Variable::named("th", 1), Variable::named("bl", blocks)],
        ranges: ranges.into_iter().map(Variable::from_size).collect(),
        results,
        ..IndexingMap::default()
    }
}
