//! The builder of functions, which records values, operations, regions and the first error.

use std::borrow::Cow;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use crate::{Attribute, FastMath, Function, OpKind, Operation, Place, Region, Type, Value, check_operation};

/// The value that a refused operation returns. An operation with this value as an operand reports
/// no error, so that one mistake causes only one error.
const POISON: Value = Value(u32::MAX);

/// The operation name in errors that concern the whole function.
const FUNCTION: &str = "func.func";

/// A mistake that prevents building a function.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("function {function}: {operation}: {message}{}", written_at(.line))]
pub struct BuildError {
    /// Name of the function.
    pub function: String,
    /// Name of the refused operation.
    pub operation: String,
    /// The mistake.
    pub message: String,
    /// The line of Rust code that requested the operation.
    pub line: Option<&'static Location<'static>>,
}

fn written_at(line: &Option<&'static Location<'static>>) -> String {
    line.map_or_else(String::new, |line| format!(" [{}:{}]", line.file(), line.line()))
}

/// Builder of one function. See the [module](super) for an example.
pub struct FunctionBuilder {
    name: String,
    private: bool,
    attributes: Vec<(Cow<'static, str>, Attribute)>,
    argument_attributes: Vec<Vec<(Cow<'static, str>, Attribute)>>,
    results: Option<Vec<Type>>,
    /// Type of each value.
    types: Vec<Type>,
    /// For each value, whether operations may still use it.
    in_scope: Vec<bool>,
    /// The regions under construction, from the function's body to the innermost region.
    open: Vec<Region>,
    error: Option<BuildError>,
    pub(super) fastmath: FastMath,
    place: Option<Arc<str>>,
    /// File name of the last recorded location of Rust code. The builder reuses this string for
    /// further operations from the same file.
    file: Option<Arc<str>>,
}

impl FunctionBuilder {
    /// Creates a public function without arguments.
    pub fn new(name: impl Into<String>) -> Self {
        FunctionBuilder {
            name: name.into(),
            private: false,
            attributes: Vec::new(),
            argument_attributes: Vec::new(),
            results: None,
            types: Vec::new(),
            in_scope: Vec::new(),
            open: vec![Region::default()],
            error: None,
            fastmath: FastMath::NONE,
            place: None,
            file: None,
        }
    }

    /// Makes the function visible only in its own module.
    pub fn set_private(&mut self) {
        self.private = true;
    }

    /// Returns the name of the function.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Appends an argument.
    #[track_caller]
    pub fn argument(&mut self, ty: impl Into<Type>) -> Value {
        if self.open.len() != 1 {
            return self.refuse(FUNCTION, "arguments are added outside of regions");
        }
        let ty = ty.into();
        if let Err(reason) = ty.check() {
            return self.refuse(FUNCTION, format!("has an argument {reason}"));
        }
        let value = self.define(ty);
        self.open[0].arguments.push(value);
        self.argument_attributes.push(Vec::new());
        value
    }

    /// Attaches an attribute to an argument.
    #[track_caller]
    pub fn set_argument_attribute(&mut self, argument: Value, name: &str, value: Attribute) {
        match self.open[0].arguments.iter().position(|&a| a == argument) {
            Some(i) => self.argument_attributes[i].push((name.to_owned().into(), value)),
            None => _ = self.refuse(FUNCTION, format!("attribute {name}: the value is no argument")),
        }
    }

    /// Attaches an attribute to the function.
    pub fn set_attribute(&mut self, name: &str, value: Attribute) {
        self.attributes.push((name.to_owned().into(), value));
    }

    /// Sets the fastmath flags of all float operations that are recorded after this call.
    pub fn set_fastmath(&mut self, flags: FastMath) {
        self.fastmath = flags;
    }

    /// Sets the name of an HLO instruction. Diagnostics report the instruction's name for all
    /// operations that are recorded after this call.
    pub fn set_place(&mut self, instruction: Option<&str>) {
        self.place = instruction.map(Arc::from);
    }

    /// Returns the type of a value. The result of a refused operation has type `index`.
    pub fn type_of(&self, value: Value) -> &Type {
        const INDEX: &Type = &Type::INDEX;
        self.types.get(value.number()).unwrap_or(INDEX)
    }

    /// Records an operation. Returns one value per result type. Use [`FunctionBuilder::region`] to
    /// create the regions.
    #[track_caller]
    pub fn op(
        &mut self,
        kind: OpKind,
        operands: &[Value],
        attributes: Vec<(&'static str, Attribute)>,
        results: &[Type],
        regions: Vec<Region>,
    ) -> Vec<Value> {
        if operands.contains(&POISON) {
            return vec![POISON; results.len()];
        }
        let refused = vec![POISON; results.len()];
        if !self.check_scope(kind, operands, Location::caller()) {
            return refused;
        }
        let results: Vec<Value> = results.iter().map(|ty| self.define(ty.clone())).collect();
        let operation = Operation {
            kind,
            operands: operands.to_vec(),
            results: results.clone(),
            attributes: attributes.into_iter().map(|(name, value)| (name.into(), value)).collect(),
            regions,
            place: self.place_of(kind, Location::caller()),
        };
        if let Err(message) = check_operation(&self.types, &operation) {
            self.refuse(kind, message);
            return refused;
        }
        self.record(operation);
        results
    }

    /// Returns the origin of an operation if the simulator can report faults at the operation. If
    /// [`set_place`](Self::set_place) has set an HLO instruction, the origin is this instruction.
    /// If no HLO instruction is set, the origin is the line of Rust code that requested the
    /// operation.
    fn place_of(&mut self, kind: OpKind, line: &'static Location<'static>) -> Place {
        if !kind.is_reported() {
            return Place::default();
        }
        if let Some(instruction) = &self.place {
            return Place { instruction: Some(instruction.clone()), source: None };
        }
        let file = match self.file.take() {
            Some(file) if *file == *line.file() => file,
            _ => line.file().into(),
        };
        self.file = Some(file.clone());
        Place { instruction: None, source: Some((file, line.line(), line.column())) }
    }

    /// Records an operation with one result.
    #[track_caller]
    pub(super) fn op1(
        &mut self,
        kind: OpKind,
        operands: &[Value],
        attributes: Vec<(&'static str, Attribute)>,
        result: Type,
    ) -> Value {
        self.op(kind, operands, attributes, &[result], Vec::new()).first().copied().unwrap_or(POISON)
    }

    /// Records the operations of `body` as a region with arguments of these types. Values that
    /// `body` defines must not be used outside of the region. `body` must end with a terminator.
    pub fn region(&mut self, arguments: &[Type], body: impl FnOnce(&mut Self, &[Value])) -> Region {
        let first = self.types.len();
        let arguments: Vec<Value> = arguments.iter().map(|ty| self.define(ty.clone())).collect();
        self.open.push(Region { arguments: arguments.clone(), operations: Vec::new() });
        body(self, &arguments);
        self.in_scope[first..].fill(false);
        self.open.pop().unwrap_or_default()
    }

    /// Creates an empty region and its arguments. The caller fills the region piece by piece
    /// between [`enter`](Self::enter) and [`leave`](Self::leave), then passes it to
    /// [`op`](Self::op). The caller must use the values that the region defines only inside the
    /// region. The builder does not check this rule.
    pub fn detached(&mut self, arguments: &[Type]) -> (Region, Vec<Value>) {
        let arguments: Vec<Value> = arguments.iter().map(|ty| self.define(ty.clone())).collect();
        (Region { arguments: arguments.clone(), operations: Vec::new() }, arguments)
    }

    /// Enters a detached region. After this call, the builder appends operations to the entered
    /// region.
    pub fn enter(&mut self, region: Region) {
        self.open.push(region);
    }

    /// Leaves the region that was entered last, and returns this region. After this call, the
    /// builder appends operations to the region that surrounds the returned region.
    #[track_caller]
    pub fn leave(&mut self) -> Region {
        if self.open.len() < 2 {
            self.refuse("region", "left without being entered");
            return Region::default();
        }
        self.open.pop().unwrap_or_default()
    }

    /// `func.return`: returns these values. The types of the values become the function's result
    /// types.
    #[track_caller]
    pub fn ret(&mut self, values: &[Value]) {
        if self.open.len() != 1 || self.results.is_some() {
            self.refuse(OpKind::Return, "ends a function, once and outside of regions");
            return;
        }
        self.results = Some(values.iter().map(|&v| self.type_of(v).clone()).collect());
        self.op(OpKind::Return, values, Vec::new(), &[], Vec::new());
    }

    /// `func.call`: calls a function with these result types.
    #[track_caller]
    pub fn call(&mut self, callee: &str, arguments: &[Value], results: &[Type]) -> Vec<Value> {
        self.op(OpKind::Call, arguments, vec![("callee", Attribute::symbol(callee))], results, Vec::new())
    }

    /// Finishes the function and returns it.
    ///
    /// # Errors
    /// Returns the first mistake, with the name of the operation. A missing call of
    /// [`ret`](Self::ret) is a mistake too.
    #[track_caller]
    pub fn finish(mut self) -> Result<Function, BuildError> {
        if self.results.is_none() {
            self.refuse(FUNCTION, "the function does not return; call `ret`");
        }
        if let Some(error) = self.error {
            return Err(error);
        }
        Ok(Function {
            name: self.name,
            private: self.private,
            attributes: self.attributes,
            argument_attributes: self.argument_attributes,
            results: self.results.unwrap_or_default(),
            body: self.open.pop().unwrap_or_default(),
            types: self.types,
        })
    }

    /// Records a mistake if the builder has recorded no earlier mistake. Later mistakes are often
    /// consequences of the first.
    #[track_caller]
    pub fn refuse(&mut self, operation: impl fmt::Display, message: impl fmt::Display) -> Value {
        self.refuse_at(Location::caller(), operation, message)
    }

    fn refuse_at(
        &mut self,
        line: &'static Location<'static>,
        operation: impl fmt::Display,
        message: impl fmt::Display,
    ) -> Value {
        if self.error.is_none() {
            self.error = Some(BuildError {
                function: self.name.clone(),
                operation: operation.to_string(),
                message: message.to_string(),
                line: Some(line),
            });
        }
        POISON
    }

    /// Whether one of the values is the result of a refused operation.
    pub(super) fn any_poison(values: &[Value]) -> bool {
        values.contains(&POISON)
    }

    /// Whether all operands are in scope for the next operation. If an operand is out of scope,
    /// refuses the operation.
    pub(super) fn check_scope(&mut self, kind: OpKind, operands: &[Value], line: &'static Location<'static>) -> bool {
        let unknown = |value: &Value| !self.in_scope.get(value.number()).is_some_and(|&in_scope| in_scope);
        let Some(i) = operands.iter().position(unknown) else { return true };
        let message = format!("operand {i} was created in a region that is closed, or by another builder");
        self.refuse_at(line, kind, message);
        false
    }

    fn define(&mut self, ty: Type) -> Value {
        self.in_scope.push(true);
        Function::add_value(&mut self.types, ty)
    }

    pub(super) fn record(&mut self, operation: Operation) {
        if let Some(region) = self.open.last_mut() {
            region.operations.push(operation);
        }
    }
}
