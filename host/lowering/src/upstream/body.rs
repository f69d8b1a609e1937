//! Writes the body of a function: most operations stay as they are, because MLIR converts them.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use fusebox_core::ir::{
    Attribute, Combination, FastMath, Function, OpKind, Operation, Place, Region, Scalar, Type, Value,
};

use crate::error::{Done, Unsupported};
use crate::hints::{LoopWish, wish};
use crate::math as library;
use crate::math_versions::name_of;
use crate::targets::TargetInfo;

/// Attribute of every `scf.for`, which states the restrictions on LLVM's transformations of the
/// loop. The list of restrictions may be empty. MLIR's conversion of the loop copies the attribute
/// to the jump that closes the loop, where `mlir/passes.cpp` reads the attribute.
pub(super) const LOOP: &str = "llvm.loop_annotation";

pub(super) type Outcome<'s> = Result<(), (Option<&'s Operation>, Unsupported)>;

/// The part of a kernel's text that has been written so far.
pub(super) struct Kernel<'k> {
    pub(super) name: &'k str,
    pub(super) target: &'k TargetInfo,
    pub(super) text: String,
    /// Constants in memory, which are not inside of functions.
    pub(super) globals: String,
    /// Names of the functions that the kernel calls, except functions of the math library.
    pub(super) own: BTreeSet<String>,
    /// The math functions that the kernel calls. The kernel copies all other math functions that it
    /// uses.
    called: BTreeSet<&'static str>,
    /// Functions of the math library that the kernel uses.
    pub(super) math: BTreeSet<&'static str>,
    /// Whether the kernel has non-temporal stores.
    pub(super) past_caches: bool,
    /// Number of rows, and bytes of a row, of the kernel's tile registers.
    pub(super) tile_shape: Option<[i64; 2]>,
    /// Number of the kernel's constants in memory.
    constants: usize,
}

/// A function that is being written.
pub(super) struct Body<'b, 'k, 's> {
    pub(super) kernel: &'b mut Kernel<'k>,
    pub(super) source: &'s Function,
    /// Constant integers of the function.
    numbers: HashMap<Value, i64>,
    /// Whether the function is the entry function, which knows the ids of block and thread.
    is_entry: bool,
    /// Number of values written so far that have no counterpart in the source function.
    fresh: usize,
    depth: usize,
    current: Option<&'s Operation>,
}

impl<'k> Kernel<'k> {
    pub(super) fn new(name: &'k str, target: &'k TargetInfo, called: BTreeSet<&'static str>) -> Self {
        Kernel {
            name,
            target,
            text: String::new(),
            globals: String::new(),
            own: BTreeSet::new(),
            called,
            math: BTreeSet::new(),
            past_caches: false,
            tile_shape: None,
            constants: 0,
        }
    }

    /// Writes the body of a function after its signature.
    pub(super) fn body<'s>(&mut self, function: &'s Function, is_entry: bool) -> Outcome<'s> {
        let mut numbers = HashMap::new();
        function.body.walk(&mut |op| {
            let number = op.attribute("value").filter(|_| op.kind == OpKind::Constant).and_then(Attribute::as_integer);
            numbers.extend(number.map(|number| (op.result(), number)));
        });
        let mut body = Body { kernel: self, source: function, numbers, is_entry, fresh: 0, depth: 1, current: None };
        body.kernel.text.push_str("{\n");
        body.operations(&function.body, "").map_err(|reason| (body.current, reason))?;
        self.text.push_str("}\n");
        Ok(())
    }
}

/// Whether an operation on scalars or vectors stays as it is, because MLIR converts the operation.
/// On vectors, all these operations work lane by lane.
pub(super) fn is_copied(kind: OpKind) -> bool {
    use OpKind::*;
    matches!(
        kind,
        AddI | SubI
            | MulI
            | DivSI
            | DivUI
            | RemSI
            | RemUI
            | AndI
            | OrI
            | XorI
            | ShlI
            | ShrSI
            | ShrUI
            | MaxSI
            | MaxUI
            | MinSI
            | MinUI
            | CmpI
            | AddF
            | SubF
            | MulF
            | DivF
            | MaximumF
            | MinimumF
            | MaxNumF
            | MinNumF
            | NegF
            | CmpF
            | Select
            | ExtSI
            | ExtUI
            | TruncI
            | ExtF
            | TruncF
            | SIToFP
            | UIToFP
            | FPToSI
            | FPToUI
            | Bitcast
            | AbsF
            | Sqrt
            | Floor
            | Ceil
            | Trunc
            | RoundEven
            | CopySign
            | Fma
            | AbsI
            | CtPop
            | Ctlz
            | Cttz
    )
}

impl<'s> Body<'_, '_, 's> {
    /// Writes the operations of a region. `before_end` is an operation that is added before the
    /// terminator.
    fn operations(&mut self, region: &'s Region, before_end: &str) -> Done {
        let Some((end, operations)) = region.operations.split_last() else { return Ok(()) };
        for op in operations {
            self.current = Some(op);
            self.operation(op)?;
        }
        if !before_end.is_empty() {
            self.line(before_end);
        }
        self.current = Some(end);
        match end.kind {
            OpKind::LoopYield => Ok(()),
            _ => self.operation(end),
        }
    }

    fn operation(&mut self, op: &'s Operation) -> Done {
        use OpKind::*;
        match op.kind {
            kind if is_copied(kind) => self.copied(op, kind.name(), &plain(&op.attributes)),
            Constant => self.constant(op),
            FromElements | Broadcast | VectorExtract | VectorInsert | Shuffle => {
                self.copied(op, op.kind.name(), &plain(&op.attributes))
            }
            // MLIR's conversion of `vector.fma` permits two roundings.
            VectorFma => self.copied(op, Fma.name(), &plain(&op.attributes)),
            Reduction => self.reduction(op),
            IndexCast => self.copied(op, op.kind.name(), &[]),
            BlockId | ThreadId => self.id(op),
            Yield | Condition | Return => self.copied(op, op.kind.name(), &[]),
            If | While => self.nested(op, &plain(&op.attributes), "", &names(&op.operands)),
            IndexSwitch => self.index_switch(op),
            For => self.for_loop(op),
            Call | PureCall => self.call(op),
            Load if self.tile(op.result()).is_some() => self.load_tile(op),
            Load => self.load(op),
            Store if self.tile(op.operands[0]).is_some() => self.store_tile(op),
            Store => self.store(op),
            StackMemory => self.stack_memory(op),
            ConstantMemory => self.constant_memory(op),
            AtomicCombine => self.atomic_combine(op),
            AtomicStore => self.atomic_store(op),
            AtomicRmw => self.exchange_loop(op),
            TileZero | TileMulF | TileMulI => self.tile_operation(op),
            WordMulF | WordMulI => self.word_product(op),
            _ => Unsupported::because("the lowering `mlir` has no form of it"),
        }
    }

    /// Writes an operation with the operands and results that it has in the source function.
    fn copied(&mut self, op: &Operation, name: &str, attributes: &[Entry]) -> Done {
        let attributes = dictionary(attributes);
        let signature = self.signature(op)?;
        let (results, operands) = (results(op), names(&op.operands));
        self.line(&format!("{results}\"{name}\"({operands}){attributes} : {signature}"));
        Ok(())
    }

    /// Writes an operation with regions. `before_end` is added before the terminator of each
    /// region.
    fn nested(&mut self, op: &'s Operation, attributes: &[Entry], before_end: &str, operands: &str) -> Done {
        self.indent();
        let start = format!("{}\"{}\"({operands}) (", results(op), op.kind);
        self.kernel.text.push_str(&start);
        for (number, region) in op.regions.iter().enumerate() {
            self.kernel.text.push_str(if number > 0 { ", {\n" } else { "{\n" });
            let arguments: Done<Vec<String>> = region.arguments.iter().map(|&it| self.typed(it)).collect();
            let arguments = arguments?.join(", ");
            if !arguments.is_empty() {
                self.line(&format!("^bb0({arguments}):"));
            }
            self.depth += 1;
            self.operations(region, before_end)?;
            self.depth -= 1;
            self.indent();
            self.kernel.text.push('}');
        }
        self.current = Some(op);
        let rest = format!("){} : {}", dictionary(attributes), self.signature(op)?);
        self.kernel.text.push_str(&rest);
        self.end_line();
        Ok(())
    }

    fn for_loop(&mut self, op: &'s Operation) -> Done {
        let [body] = &op.regions[..] else { return Unsupported::because("it has no body") };
        let wish = wish(op, body, self.source, &|value| self.numbers.get(&value).copied(), self.kernel.target);
        let annotation = |text: &str| Attribute::raw(format!("#llvm.loop_annotation<{text}>"));
        let annotation = match wish {
            LoopWish::None => annotation(""),
            LoopWish::OneCopy => annotation("unroll = <disable = true>"),
            LoopWish::InOrder => annotation("isVectorized = true"),
            LoopWish::WholeVectors => annotation("vectorize = <disable = false>"),
            LoopWish::NoRemainder => annotation("vectorize = <predicateEnable = true>"),
            LoopWish::Jammed(count) => annotation(&format!("unrollAndJam = <count = {count} : i32>")),
            LoopWish::Interleaved(count) => annotation(&format!("interleave = <count = {count} : i32>")),
        };
        // LLVM merges an empty block into its predecessor and moves the metadata there. If the
        // predecessor closes an inner loop, the metadata would apply to the inner loop. This call
        // keeps the block non-empty.
        let before_end = match wish {
            LoopWish::InOrder => "llvm.call_intrinsic \"llvm.sideeffect\"() : () -> ()",
            _ => "",
        };
        self.nested(op, &[(LOOP.into(), annotation)], before_end, &names(&op.operands))
    }

    /// Writes an `scf.index_switch`, which chooses a region by an index. MLIR's conversion keeps
    /// only 32 bits of the index, so this function replaces a larger index by a number that selects
    /// the default.
    fn index_switch(&mut self, op: &'s Operation) -> Done {
        let cases = op.integers("cases").unwrap_or_default();
        if cases.iter().any(|case| !(0..i64::from(i32::MAX)).contains(case)) {
            return Unsupported::because("a case is negative or too large");
        }
        let &[index] = op.operands.as_slice() else { return Unsupported::because("it has no index") };
        let index = self.result_of(&format!("arith.index_cast {} : index to i64", name(index)));
        let most = self.result_of(&format!("arith.constant {} : i64", i32::MAX));
        let least = self.result_of(&format!("arith.minui {index}, {most} : i64"));
        let index = self.result_of(&format!("arith.index_cast {least} : i64 to index"));
        self.nested(op, &plain(&op.attributes), "", &index)
    }

    fn constant(&mut self, op: &Operation) -> Done {
        let ty = self.source.type_of(op.result());
        let value = match op.attribute("value") {
            Some(Attribute::Dense(_, bytes)) => Attribute::Dense(flat(ty), bytes.clone()),
            Some(value) => value.clone(),
            None => return Unsupported::because("it has no value"),
        };
        self.copied(op, op.kind.name(), &[("value".into(), value)])
    }

    /// Writes a reduction of a vector. The start value of a sum of floats is explicit, because
    /// MLIR's own start value would turn a sum of negative zeros into a positive zero.
    fn reduction(&mut self, op: &Operation) -> Done {
        let Some(Attribute::Combination(by)) = op.attribute("kind") else {
            return Unsupported::because("its combining operation is unknown");
        };
        let element = self.source.type_of(op.operands[0]).element();
        let neutral = match (by, element) {
            (Combination::Add, Scalar::Float(_)) => "-0.0",
            (Combination::Mul, Scalar::Float(_)) => "1.0",
            _ => return self.copied(op, op.kind.name(), &plain(&op.attributes)),
        };
        if op.operands.len() > 1 {
            return self.copied(op, op.kind.name(), &plain(&op.attributes));
        }
        let element = type_text(&Type::Scalar(element))?;
        let start = self.result_of(&format!("arith.constant {neutral} : {element}"));
        let vector = self.type_of(op.operands[0])?;
        let attributes = dictionary(&plain(&op.attributes));
        let (results, operand) = (results(op), name(op.operands[0]));
        let name = op.kind.name();
        self.line(&format!("{results}\"{name}\"({operand}, {start}){attributes} : ({vector}, {element}) -> {element}"));
        Ok(())
    }

    fn id(&mut self, op: &Operation) -> Done {
        if !self.is_entry {
            return Unsupported::because("only the entry function knows the ids of block and thread");
        }
        let parameter = if op.kind == OpKind::BlockId { "%block" } else { "%thread" };
        let result = self.type_of(op.result())?;
        self.line(&format!("{}arith.index_cast {parameter} : i64 to {result}", results(op)));
        Ok(())
    }

    fn call(&mut self, op: &Operation) -> Done {
        let Some(callee) = op.callee() else { return Unsupported::because("the callee is not a function's name") };
        let callee = match library::symbol(callee) {
            _ if self.kernel.own.contains(callee) => callee.to_owned(),
            Some(symbol) => {
                self.kernel.math.insert(symbol);
                name_of(symbol, self.kernel.called.contains(symbol))
            }
            None => return Unsupported::because(format!("there is no function @{callee}")),
        };
        self.copied(op, OpKind::Call.name(), &[("callee".into(), Attribute::symbol(callee))])
    }

    /// Writes the operations of a region inside of an operation that the caller writes.
    pub(super) fn inside(&mut self, region: &'s Region) -> Done {
        self.depth += 1;
        self.operations(region, "")?;
        self.depth -= 1;
        Ok(())
    }

    /// Returns a number for a new constant in memory.
    pub(super) fn next_constant(&mut self) -> usize {
        self.kernel.constants += 1;
        self.kernel.constants - 1
    }

    /// Returns the value of a constant integer.
    pub(super) fn number(&self, value: Value) -> Option<i64> {
        self.numbers.get(&value).copied()
    }

    pub(super) fn type_of(&self, value: Value) -> Done<String> {
        type_text(self.source.type_of(value))
    }

    fn typed(&self, value: Value) -> Done<String> {
        Ok(format!("{}: {}", name(value), self.type_of(value)?))
    }

    /// Returns the types of an operation's operands and results.
    fn signature(&self, op: &Operation) -> Done<String> {
        let types = |values: &[Value]| -> Done<String> {
            let types: Done<Vec<String>> = values.iter().map(|&value| self.type_of(value)).collect();
            Ok(types?.join(", "))
        };
        Ok(format!("({}) -> ({})", types(&op.operands)?, types(&op.results)?))
    }

    /// Writes an operation that has one result and no counterpart in the source function. Returns
    /// the name of the result.
    pub(super) fn result_of(&mut self, operation: &str) -> String {
        let name = self.fresh_name();
        self.line(&format!("{name} = {operation}"));
        name
    }

    pub(super) fn fresh_name(&mut self) -> String {
        self.fresh += 1;
        format!("%x{}", self.fresh - 1)
    }

    /// Writes an operation in a line of its own, with the location of the current operation.
    pub(super) fn line(&mut self, operation: &str) {
        self.indent();
        self.kernel.text.push_str(operation);
        if operation.ends_with([':', '{']) {
            self.kernel.text.push('\n');
        } else {
            self.end_line();
        }
    }

    fn indent(&mut self) {
        self.kernel.text.extend(std::iter::repeat_n("  ", self.depth));
    }

    fn end_line(&mut self) {
        if let Some(op) = self.current {
            write_location(&mut self.kernel.text, &op.place);
        }
        self.kernel.text.push('\n');
    }
}

type Entry = (std::borrow::Cow<'static, str>, Attribute);

/// Returns the attributes that belong to the operation itself, not to a dialect of fusebox.
fn plain(attributes: &[Entry]) -> Vec<Entry> {
    let is_plain = |(name, value): &&Entry| !name.contains('.') && *value != Attribute::FastMath(FastMath::NONE);
    attributes.iter().filter(is_plain).cloned().collect()
}

fn dictionary(attributes: &[Entry]) -> String {
    if attributes.is_empty() { String::new() } else { format!(" {}", Attribute::Dictionary(attributes.to_vec())) }
}

fn results(op: &Operation) -> String {
    if op.results.is_empty() { String::new() } else { format!("{} = ", names(&op.results)) }
}

/// Returns the name of a value in the text.
pub(super) fn name(value: Value) -> String {
    format!("%{}", value.number())
}

fn names(values: &[Value]) -> String {
    values.iter().map(|&value| name(value)).collect::<Vec<_>>().join(", ")
}

/// Returns a vector type with one dimension for a vector type with any number of dimensions.
fn flat(ty: &Type) -> Type {
    match ty {
        Type::Vector(dims, element) => Type::Vector([dims.iter().product::<i64>()].into(), *element),
        other => other.clone(),
    }
}

/// Returns the text of a type, for types that LLVM has.
pub(super) fn type_text(ty: &Type) -> Done<String> {
    let is_known = match ty {
        Type::Tile(..) => return Ok("!llvm.x86_amx".into()),
        Type::Pointer(_) => true,
        Type::Vector(_, element) | Type::Scalar(element) => match element {
            Scalar::Index | Scalar::Int(_) => true,
            Scalar::Float(float) => matches!(float.name().as_str(), "f16" | "bf16" | "f32" | "f64"),
            Scalar::Complex(_) => false,
        },
        Type::Tensor(..) => false,
    };
    if is_known {
        Ok(flat(ty).to_string())
    } else {
        Unsupported::because(format!("values of type {ty} are not handled"))
    }
}

/// Writes `loc("instruction"("file":1:2))`.
fn write_location(text: &mut String, place: &Place) {
    let Place { instruction, source } = place;
    let quoted = |text: &str| Attribute::str(text).to_string();
    let instruction = instruction.as_deref().map(quoted);
    let source = source.as_ref().map(|(file, line, column)| format!("{}:{line}:{column}", quoted(file)));
    // Writing to a string cannot fail.
    let _ = match (instruction, source) {
        (None, None) => Ok(()),
        (Some(place), None) | (None, Some(place)) => write!(text, " loc({place})"),
        (Some(instruction), Some(source)) => write!(text, " loc({instruction}({source}))"),
    };
}
