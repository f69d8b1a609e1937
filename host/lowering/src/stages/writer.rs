//! A function that a stage is writing.

use std::borrow::Cow;
use std::convert::Infallible;

use fusebox_core::builder::{Formula, IntPredicate, Recorder, Term};
use fusebox_core::ir::{Attribute, Float, Function, OpKind, Operation, Place, Region, Scalar, Type, Value};
use fusebox_core::plugin::limits::MOST_WRITTEN;
use rustc_hash::FxHashMap;

use crate::error::{Done, Unsupported};

/// Attributes of an operation.
pub(crate) type Attributes = Vec<(Cow<'static, str>, Attribute)>;

/// A value in a formula.
pub(crate) type Number<'f> = Term<'f, Writer>;

/// Appends operations to the innermost open region. Constants and allocations are written at the
/// function's beginning. Equal numbers become one constant.
pub(crate) struct Writer {
    function: Function,
    beginning: Vec<Operation>,
    open: Vec<Region>,
    /// Open scopes, outermost first. A value is visible while its scope is open.
    scopes: Vec<u32>,
    next_scope: u32,
    constants: FxHashMap<(Type, u64), Value>,
    known: FxHashMap<Value, i64>,
    written: u64,
    /// Source location of the operations that are written next.
    pub(crate) place: Place,
}

impl Writer {
    /// Begins a function with the name and attributes of `source`, without arguments.
    pub(crate) fn like(source: &Function) -> Writer {
        let function = Function {
            name: source.name.clone(),
            private: source.private,
            attributes: source.attributes.clone(),
            argument_attributes: Vec::new(),
            results: Vec::new(),
            body: Region::default(),
            types: Vec::with_capacity(source.types.len()),
        };
        Writer {
            function,
            beginning: Vec::new(),
            open: vec![Region::default()],
            scopes: vec![0],
            next_scope: 1,
            constants: FxHashMap::default(),
            known: FxHashMap::default(),
            written: 0,
            place: Place::default(),
        }
    }

    /// Begins an empty function without a name.
    pub(crate) fn empty() -> Writer {
        Writer::like(&EMPTY)
    }

    /// Writes the operations of a formula over `values`.
    pub(crate) fn formula(
        &mut self,
        values: &[Value],
        write: impl for<'f> FnOnce(&[Number<'f>]) -> Number<'f>,
    ) -> Value {
        let Ok(value) = Formula::write(self, Writer::empty(), values, |terms| Ok::<_, Infallible>(write(terms)));
        value
    }

    /// Appends an argument to the function.
    pub(crate) fn argument(&mut self, ty: Type, attributes: Attributes) -> Value {
        let value = self.function.new_value(ty);
        self.open[0].arguments.push(value);
        self.function.argument_attributes.push(attributes);
        value
    }

    /// Returns the function, which must end with a return.
    pub(crate) fn finish(mut self, results: Vec<Type>) -> Function {
        let body = self.open.pop().unwrap_or_default();
        self.drop_unused(&body);
        self.beginning.extend(body.operations);
        self.function.body = Region { arguments: body.arguments, operations: self.beginning };
        self.function.results = results;
        self.function.renumber();
        self.function
    }

    /// Drops unused constants.
    fn drop_unused(&mut self, body: &Region) {
        let mut used = vec![false; self.function.types.len()];
        let mut take = |op: &Operation| op.operands.iter().for_each(|operand| used[operand.number()] = true);
        self.beginning.iter().for_each(&mut take);
        body.walk(&mut |op| take(op));
        self.beginning.retain(|op| op.kind != OpKind::Constant || used[op.results[0].number()]);
    }

    pub(crate) fn set_name(&mut self, name: String) {
        self.function.name = name;
    }

    pub(crate) fn type_of(&self, value: Value) -> &Type {
        self.function.type_of(value)
    }

    pub(crate) fn types_of(&self, values: &[Value]) -> Vec<Type> {
        self.function.types_of(values)
    }

    /// Begins a region whose arguments have these types. Returns the arguments.
    pub(crate) fn open(&mut self, arguments: &[Type]) -> Vec<Value> {
        let arguments: Vec<Value> = arguments.iter().map(|ty| self.function.new_value(ty.clone())).collect();
        self.open.push(Region { arguments: arguments.clone(), operations: Vec::new() });
        self.scopes.push(self.next_scope);
        self.next_scope += 1;
        arguments
    }

    /// Ends the innermost region.
    pub(crate) fn close(&mut self) -> Region {
        self.scopes.pop();
        self.open.pop().unwrap_or_default()
    }

    /// Ends the innermost region with a terminator that has these operands.
    pub(crate) fn close_with(&mut self, terminator: OpKind, values: Vec<Value>) -> Region {
        let mut region = self.close();
        region.operations.push(Operation::new(terminator, values, Vec::new()));
        region
    }

    /// Returns the innermost scope.
    pub(crate) fn scope(&self) -> u32 {
        self.scopes.last().copied().unwrap_or(0)
    }

    /// Whether the next operation can use values of a scope.
    pub(crate) fn is_visible(&self, scope: u32) -> bool {
        self.scopes.binary_search(&scope).is_ok()
    }

    /// Returns the nesting depth of the innermost scope.
    pub(crate) fn depth(&self) -> u32 {
        self.scopes.len() as u32 - 1
    }

    /// Returns the number of the next new value. Values that exist now have smaller numbers.
    pub(crate) fn next_value(&self) -> usize {
        self.function.types.len()
    }

    /// Appends an operation, with its regions.
    pub(crate) fn push(
        &mut self,
        kind: OpKind,
        operands: Vec<Value>,
        attributes: Attributes,
        results: &[Type],
        regions: Vec<Region>,
    ) -> Vec<Value> {
        let results: Vec<Value> = results.iter().map(|ty| self.function.new_value(ty.clone())).collect();
        let place = self.place.clone();
        let operation = Operation { kind, operands, results: results.clone(), attributes, regions, place };
        self.written += 1;
        if let Some(region) = self.open.last_mut() {
            region.operations.push(operation);
        }
        results
    }

    /// Fails if the function has too many operations. A stage may write the body of an unrolled
    /// loop or of a combiner many times.
    pub(crate) fn check_size(&self) -> Done {
        if self.written > MOST_WRITTEN {
            return Unsupported::because(format!(
                "with this the kernel has more than {MOST_WRITTEN} operations, loops unrolled and functions inlined"
            ));
        }
        Ok(())
    }

    /// Appends an operation with one result and no regions.
    pub(crate) fn op(&mut self, kind: OpKind, operands: &[Value], attributes: Attributes, result: Type) -> Value {
        self.push(kind, operands.to_vec(), attributes, &[result], Vec::new())[0]
    }

    /// Appends an operation without results and regions.
    pub(crate) fn act(&mut self, kind: OpKind, operands: &[Value], attributes: Attributes) {
        self.push(kind, operands.to_vec(), attributes, &[], Vec::new());
    }

    /// Appends an operation with two operands and a result of the same type.
    pub(crate) fn binary(&mut self, kind: OpKind, a: Value, b: Value) -> Value {
        let ty = self.type_of(a).clone();
        self.op(kind, &[a, b], Vec::new(), ty)
    }

    /// Appends a conversion to elements of another type.
    pub(crate) fn cast(&mut self, kind: OpKind, value: Value, to: Scalar) -> Value {
        let ty = self.type_of(value).with_element(to);
        if ty == *self.type_of(value) { value } else { self.op(kind, &[value], Vec::new(), ty) }
    }

    pub(crate) fn compare(&mut self, predicate: IntPredicate, a: Value, b: Value) -> Value {
        self.comparison(OpKind::CmpI, predicate as i64, a, b)
    }

    /// Appends a comparison of integers or floats. `predicate` is the number of the comparison's
    /// predicate in MLIR.
    pub(crate) fn comparison(&mut self, kind: OpKind, predicate: i64, a: Value, b: Value) -> Value {
        let ty = self.type_of(a).with_element(Scalar::I1);
        self.op(kind, &[a, b], vec![("predicate".into(), Attribute::i64(predicate))], ty)
    }

    pub(crate) fn select(&mut self, condition: Value, yes: Value, no: Value) -> Value {
        let ty = self.type_of(yes).clone();
        self.op(OpKind::Select, &[condition, yes, no], Vec::new(), ty)
    }

    /// Appends the conjunction of two conditions. Appends nothing if one of the conditions is
    /// known.
    pub(crate) fn both(&mut self, a: Value, b: Value) -> Value {
        match (self.as_bool(a), self.as_bool(b)) {
            (Some(true), _) | (_, Some(false)) => b,
            (Some(false), _) | (_, Some(true)) => a,
            _ => self.binary(OpKind::AndI, a, b),
        }
    }

    /// Returns a constant integer or index. If `ty` is a vector type, every lane of the constant is
    /// `value`.
    pub(crate) fn int(&mut self, value: i64, ty: &Type) -> Value {
        let bits = ty.element().bits();
        let kept = if bits >= 64 { value } else { value << (64 - bits) >> (64 - bits) };
        if let Some(&known) = self.constants.get(&(ty.clone(), kept as u64)) {
            return known;
        }
        let attribute = match ty {
            Type::Vector(..) => Attribute::Dense(ty.clone(), kept.to_le_bytes()[..ty.element().byte_size()].into()),
            Type::Scalar(Scalar::Int(1)) => Attribute::Bool(kept & 1 != 0),
            _ => Attribute::Int(kept, ty.clone()),
        };
        let constant = self.constant(attribute, ty.clone());
        self.constants.insert((ty.clone(), kept as u64), constant);
        if matches!(ty, Type::Scalar(_)) {
            self.known.insert(constant, kept);
        }
        constant
    }

    pub(crate) fn bool(&mut self, value: bool) -> Value {
        self.int(-i64::from(value), &Type::I1)
    }

    pub(crate) fn index(&mut self, value: i64) -> Value {
        self.int(value, &Type::INDEX)
    }

    /// Returns a constant `f32` or `f64`. If `ty` is a vector type, every lane of the constant is
    /// `value`.
    pub(crate) fn float(&mut self, value: f64, ty: &Type) -> Value {
        let (bits, float) = match ty.element() {
            Scalar::F64 => (value.to_bits(), Float::F64),
            _ => (u64::from((value as f32).to_bits()), Float::F32),
        };
        if let Some(&known) = self.constants.get(&(ty.clone(), bits)) {
            return known;
        }
        let attribute = match ty {
            Type::Vector(..) => Attribute::Dense(ty.clone(), bits.to_le_bytes()[..float.bytes() as usize].into()),
            _ => Attribute::Float(bits, float),
        };
        let constant = self.constant(attribute, ty.clone());
        self.constants.insert((ty.clone(), bits), constant);
        constant
    }

    /// Writes a constant at the function's beginning.
    pub(crate) fn constant(&mut self, value: Attribute, ty: Type) -> Value {
        self.at_beginning(OpKind::Constant, vec![("value".into(), value)], ty)
    }

    /// Copies a constant of another function.
    pub(crate) fn constant_like(&mut self, op: &Operation, ty: &Type) -> Done<Value> {
        match op.attribute("value") {
            Some(Attribute::Int(value, _)) => Ok(self.int(*value, ty)),
            Some(Attribute::Bool(value)) => Ok(self.int(-i64::from(*value), ty)),
            Some(value) => Ok(self.constant(value.clone(), ty.clone())),
            None => Unsupported::because("it has no value"),
        }
    }

    /// Writes an operation without operands at the function's beginning.
    pub(crate) fn at_beginning(&mut self, kind: OpKind, attributes: Attributes, ty: Type) -> Value {
        let result = self.function.new_value(ty);
        let place = self.place.clone();
        let (operands, results, regions) = (Vec::new(), vec![result], Vec::new());
        self.beginning.push(Operation { kind, operands, results, attributes, regions, place });
        result
    }

    /// Casts an index to an integer at the function's beginning.
    pub(crate) fn cast_at_beginning(&mut self, index: Value, to: Scalar) -> Value {
        let result = self.at_beginning(OpKind::IndexCast, Vec::new(), to.into());
        if let Some(cast) = self.beginning.last_mut() {
            cast.operands.push(index);
        }
        result
    }

    /// Returns the value of a constant integer.
    pub(crate) fn as_int(&self, value: Value) -> Option<i64> {
        self.known.get(&value).copied()
    }

    /// Returns the value of a constant `f32` or `f64`.
    pub(crate) fn as_float(&self, value: Value) -> Option<f64> {
        let constant = self.beginning.iter().find(|it| it.kind == OpKind::Constant && it.results[..] == [value])?;
        match *constant.attribute("value")? {
            Attribute::Float(bits, Float::F32) => Some(f32::from_bits(bits as u32).into()),
            Attribute::Float(bits, Float::F64) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    /// Returns the value of a condition, if it is known.
    pub(crate) fn as_bool(&self, value: Value) -> Option<bool> {
        self.as_int(value).map(|value| value != 0)
    }

    /// Extends or truncates an integer to this number of bits.
    pub(crate) fn resized(&mut self, value: Value, bits: u32, signed: bool) -> Value {
        let from = self.type_of(value).element().bits();
        let kind = match bits.cmp(&from) {
            std::cmp::Ordering::Equal => return value,
            std::cmp::Ordering::Less => OpKind::TruncI,
            std::cmp::Ordering::Greater if signed => OpKind::ExtSI,
            std::cmp::Ordering::Greater => OpKind::ExtUI,
        };
        if let Some(known) = self.as_int(value).filter(|_| signed || kind == OpKind::TruncI) {
            return self.int(known, &Type::Scalar(Scalar::Int(bits)));
        }
        self.cast(kind, value, Scalar::Int(bits))
    }
}

/// Creates the operation that defines a constant integer.
pub(crate) fn integer(value: i64, ty: &Type, result: Value) -> Operation {
    let attributes = vec![("value".into(), Attribute::Int(value, ty.clone()))];
    Operation { attributes, ..Operation::new(OpKind::Constant, Vec::new(), vec![result]) }
}

impl Recorder for Writer {
    fn type_of(&self, value: Value) -> &Type {
        Writer::type_of(self, value)
    }

    fn constant_of(&mut self, bits: u64, ty: &Type) -> Value {
        match ty.element() {
            Scalar::F32 => self.float(f32::from_bits(bits as u32).into(), ty),
            Scalar::Float(_) => self.float(f64::from_bits(bits), ty),
            _ => self.int(bits as i64, ty),
        }
    }

    fn operation(&mut self, kind: OpKind, operands: &[Value], predicate: Option<i64>, result: Type) -> Value {
        let predicate = predicate.map(|predicate| ("predicate".into(), Attribute::i64(predicate)));
        self.op(kind, operands, predicate.into_iter().collect(), result)
    }
}

/// An empty function.
static EMPTY: Function = Function {
    name: String::new(),
    private: true,
    attributes: Vec::new(),
    argument_attributes: Vec::new(),
    results: Vec::new(),
    body: Region { arguments: Vec::new(), operations: Vec::new() },
    types: Vec::new(),
};
