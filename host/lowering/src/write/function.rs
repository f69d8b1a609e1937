//! Writes the body of one function, and dispatches over the kinds of its operations.

use fusebox_core::ir::{Attribute, Function, OpKind, Operation, Region, Scalar, Type, Value};

use super::{Outcome, Translation};
use crate::error::{Done, Unsupported};
use crate::llvm::{FastMath, Module, Op, Ty, Val};
use crate::math as library;
use crate::stages::{Facts, Surroundings};

/// Facts about the kernel of an entry function, for example the kernel's launch. Also the ids of
/// the block and the thread that the entry function has.
#[derive(Clone, Copy)]
pub(super) struct Ids<'k> {
    pub(super) facts: &'k Facts<'k>,
    /// The ids of the block and the thread, if they are parameters of the entry function.
    pub(super) parameters: Option<[Val; 2]>,
}

/// State of the translation of one function.
pub(super) struct Body<'b, 't, 's> {
    pub(super) translation: &'b mut Translation<'t>,
    pub(super) source: &'s Function,
    values: Vec<Option<Val>>,
    pub(super) ids: Option<Ids<'b>>,
    current: Option<&'s Operation>,
    /// On the cpu, the facts that determine which loops become single operations on memory.
    pub(super) surroundings: Option<Surroundings>,
}

impl<'b, 't, 's> Body<'b, 't, 's> {
    pub(super) fn new(translation: &'b mut Translation<'t>, source: &'s Function, ids: Option<Ids<'b>>) -> Self {
        let surroundings = translation.target.is_cpu().then(|| Surroundings::of(source));
        Body { translation, source, values: vec![None; source.types.len()], ids, current: None, surroundings }
    }

    pub(super) fn llvm(&self) -> &Module {
        &self.translation.llvm
    }

    pub(super) fn bind(&mut self, value: Value, llvm: Val) {
        self.values[value.number()] = Some(llvm);
    }

    pub(super) fn bind_all(&mut self, values: &[Value], llvm: &[Val]) {
        values.iter().zip(llvm).for_each(|(&value, &llvm)| self.bind(value, llvm));
    }

    pub(super) fn value(&self, value: Value) -> Done<Val> {
        self.values[value.number()].ok_or_else(|| Unsupported("it uses a value that is not available here".into()))
    }

    pub(super) fn operands(&self, op: &Operation) -> Done<Vec<Val>> {
        op.operands.iter().map(|&operand| self.value(operand)).collect()
    }

    pub(super) fn type_of(&self, value: Value) -> Done<Ty> {
        self.translation.type_of(self.source.type_of(value))
    }

    /// Writes the body, including the return of its results.
    pub(super) fn returning(&mut self, region: &'s Region) -> Outcome<'s> {
        self.written(region).map_err(|reason| (self.current, reason))
    }

    fn written(&mut self, region: &'s Region) -> Done {
        let values = self.region(region)?;
        let llvm = self.llvm();
        let result = match values.as_slice() {
            [] => None,
            [value] => Some(*value),
            values => {
                let types: Vec<Ty> = values.iter().map(|&value| llvm.type_of(value)).collect();
                let start = llvm.undefined(llvm.structure(&types));
                Some(values.iter().enumerate().fold(start, |all, (at, &value)| llvm.with_field(all, value, at)))
            }
        };
        llvm.return_value(result);
        Ok(())
    }

    /// Writes the operations of a region. Returns the values that the region's terminator has as
    /// operands.
    pub(super) fn region(&mut self, region: &'s Region) -> Done<Vec<Val>> {
        let Some((end, operations)) = region.operations.split_last() else { return Ok(Vec::new()) };
        for op in operations {
            self.current = Some(op);
            self.locate(op);
            self.operation(op)?;
        }
        self.current = Some(end);
        self.operands(end)
    }

    pub(super) fn operation(&mut self, op: &'s Operation) -> Done {
        use OpKind::*;
        let value = match op.kind {
            For => return self.for_loop(op),
            If => return self.if_else(op),
            While => return self.while_loop(op),
            IndexSwitch => return self.index_switch(op),
            Call | PureCall => return self.call(op),
            Store | AtomicCombine | AtomicStore | AtomicRmw | Barrier => return self.effect(op),
            ReportAccess | ReportIndex | ReportTurn | ReportDivision => return self.report(op),
            Mma => return self.matrix_product(op),
            Wgmma => return self.tile_product(op),
            Constant => self.constant(op)?,
            ThreadId | BlockId => self.id(op)?,
            Load if self.source.type_of(op.result()).as_tile().is_some() => self.load_tile(op)?,
            Load => self.load(op)?,
            TileZero | TileMulF | TileMulI => self.tile_operation(op)?,
            WordMulF | WordMulI => self.word_product(op)?,
            StackMemory | SharedMemory | ConstantMemory => self.memory(op)?,
            ShuffleDown => self.shuffle_down(op)?,
            FromElements | Broadcast | VectorExtract | VectorInsert | Shuffle | VectorFma | Reduction => {
                self.vector_operation(op)?
            }
            _ => self.arithmetic(op)?,
        };
        self.bind(op.result(), value);
        Ok(())
    }

    pub(super) fn flags(&self, op: &Operation) -> FastMath {
        match op.attribute("fastmath") {
            Some(Attribute::FastMath(flags)) => FastMath(flags.bits().into()),
            _ => FastMath::default(),
        }
    }

    fn id(&mut self, op: &Operation) -> Done<Val> {
        let Some(Ids { facts, parameters }) = self.ids else {
            return Unsupported::because("only the ids of block and thread are known, in the entry function");
        };
        let is_thread = op.kind == OpKind::ThreadId;
        if let Some([block, thread]) = parameters {
            return Ok(if is_thread { thread } else { block });
        }
        let Some(gpu) = &self.translation.target.gpu else { return Unsupported::because("the target has no such id") };
        let (name, count) =
            if is_thread { (gpu.thread_id, u64::from(facts.threads)) } else { (gpu.block_id, facts.blocks) };
        let id = self.llvm().call_intrinsic(name, &[], &[]);
        if (1..=i32::MAX as u64).contains(&count) {
            self.llvm().set_result_range(id, count);
        }
        Ok(id)
    }

    fn call(&mut self, op: &'s Operation) -> Done {
        let Some(callee) = op.callee() else { return Unsupported::because("the callee is not a function's name") };
        let operands = self.operands(op)?;
        let declared = match self.translation.own.get(callee) {
            Some(declared) => declared.clone(),
            None => {
                let symbol =
                    library::symbol(callee).ok_or_else(|| Unsupported(format!("there is no function @{callee}")))?;
                let parameters: Vec<Ty> = operands.iter().map(|&operand| self.llvm().type_of(operand)).collect();
                let results = op.results.iter().map(|&result| self.type_of(result)).collect::<Done<Vec<Ty>>>()?;
                self.translation.math_function(symbol, &parameters, &results)
            }
        };
        let llvm = self.llvm();
        let result = llvm.with_flags(llvm.call(declared.signature, declared.function, &operands), self.flags(op));
        let results = match declared.results {
            1 => vec![result],
            count => (0..count).map(|at| llvm.field(result, at)).collect(),
        };
        self.bind_all(&op.results, &results);
        Ok(())
    }

    fn constant(&mut self, op: &Operation) -> Done<Val> {
        let ty = self.source.type_of(op.result());
        match op.attribute("value") {
            Some(Attribute::Dense(_, bytes)) => self.vector_constant(ty, bytes),
            Some(Attribute::Float(bits, _)) => self.element_constant(&bits.to_le_bytes(), ty.element()),
            Some(value) => match value.as_integer() {
                Some(value) => Ok(self.llvm().const_int(self.translation.type_of(ty)?, value)),
                None => Unsupported::because(format!("the constant {value} is not readable")),
            },
            None => Unsupported::because("it has no value"),
        }
    }

    fn vector_constant(&mut self, ty: &Type, bytes: &[u8]) -> Done<Val> {
        let size = ty.element().byte_size();
        let lanes = ty.dims().iter().product::<i64>() as usize;
        let splat = bytes.len() == size;
        let mut vector = self.llvm().undefined(self.translation.type_of(ty)?);
        for lane in 0..lanes {
            let start = if splat { 0 } else { lane * size };
            let value = self.element_constant(&bytes[start..start + size], ty.element())?;
            let llvm = self.llvm();
            vector = llvm.with_lane(vector, value, llvm.const_int(llvm.int(32), lane as i64));
        }
        Ok(vector)
    }

    /// Converts an element's bytes in memory to a constant integer, `f32` or `f64`.
    fn element_constant(&self, bytes: &[u8], element: Scalar) -> Done<Val> {
        let llvm = self.llvm();
        let bits = bytes.iter().rev().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte)) as i64;
        let of_bits = |width| llvm.const_int(llvm.int(width), bits);
        Ok(match element {
            Scalar::Int(width) => of_bits(width),
            Scalar::F32 | Scalar::F64 => {
                llvm.cast(Op::LLVMBitCast, of_bits(element.bits()), self.translation.type_of(&element.into())?)
            }
            other => return Unsupported::because(format!("constants of {other} are not handled")),
        })
    }
}

impl Translation<'_> {
    /// Returns the LLVM type of an integer, a float, a vector, a tile or a pointer. Fails for float
    /// formats that LLVM lacks.
    pub(super) fn type_of(&self, ty: &Type) -> Done<Ty> {
        let llvm = &self.llvm;
        let known = match ty {
            Type::Pointer(space) => Some(llvm.pointer(*space)),
            Type::Tile(..) => Some(llvm.tile()),
            Type::Vector(dims, element) => {
                Some(llvm.vector(self.type_of(&Type::Scalar(*element))?, dims.iter().product::<i64>() as u32))
            }
            Type::Scalar(Scalar::Int(bits)) => Some(llvm.int(*bits)),
            Type::Scalar(Scalar::Float(float)) => llvm.float(*float),
            _ => None,
        };
        known.ok_or_else(|| Unsupported(format!("values of type {ty} are not handled")))
    }
}
