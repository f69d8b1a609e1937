//! Recording a function: values, operations, regions, errors.

use std::fmt;
use std::rc::Rc;

use super::{Attribute, Type, print};

/// A value: argument of the function or of a region, or result of an operation. Belongs to the builder
/// that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub(super) u32);

/// Stands in for the result of an operation that was refused; further operations on it are silent, so
/// that one mistake gives one error.
const POISON: Value = Value(u32::MAX);

/// Why a function could not be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("function {function}: {operation}: {message}")]
pub struct BuildError {
    /// Name of the function.
    pub function: String,
    /// The operation that was refused.
    pub operation: String,
    /// What is wrong with it.
    pub message: String,
}

/// Assumptions that a float operation may make about its operands and result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct FastMath(u8);

impl FastMath {
    /// IEEE semantics.
    pub const NONE: FastMath = FastMath(0);
    /// Sums and products may be regrouped.
    pub const REASSOC: FastMath = FastMath(1);
    /// A product and a sum may be fused.
    pub const CONTRACT: FastMath = FastMath(2);
    /// No operand or result is NaN.
    pub const NNAN: FastMath = FastMath(4);
    /// No operand or result is infinite.
    pub const NINF: FastMath = FastMath(8);
    /// The sign of zero is without meaning.
    pub const NSZ: FastMath = FastMath(16);

    const NAMES: [(FastMath, &'static str); 5] = [
        (Self::REASSOC, "reassoc"),
        (Self::CONTRACT, "contract"),
        (Self::NNAN, "nnan"),
        (Self::NINF, "ninf"),
        (Self::NSZ, "nsz"),
    ];

    /// The attribute, `None` for IEEE semantics.
    pub(super) fn attribute(self) -> Option<Attribute> {
        let names: Vec<&str> =
            Self::NAMES.iter().filter(|(flag, _)| self.0 & flag.0 != 0).map(|&(_, name)| name).collect();
        (!names.is_empty()).then(|| Attribute::Raw(format!("#arith.fastmath<{}>", names.join(","))))
    }
}

impl std::ops::BitOr for FastMath {
    type Output = FastMath;
    fn bitor(self, other: FastMath) -> FastMath {
        FastMath(self.0 | other.0)
    }
}

/// A recorded operation.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) name: String,
    pub(super) operands: Vec<Value>,
    pub(super) results: Vec<Value>,
    pub(super) attributes: Vec<(String, Attribute)>,
    pub(super) regions: Vec<Region>,
    /// Name of the instruction it is for.
    pub(super) place: Option<Rc<str>>,
}

/// A region of one block, made by [`FunctionBuilder::region`].
#[derive(Debug, Default)]
pub struct Region {
    pub(super) arguments: Vec<Value>,
    pub(super) operations: Vec<Operation>,
}

/// A value's type, and whether it may still be used.
struct Definition {
    ty: Type,
    in_scope: bool,
}

/// Records one function. See the [module](super) for an example.
pub struct FunctionBuilder {
    name: String,
    private: bool,
    attributes: Vec<(String, Attribute)>,
    argument_attributes: Vec<Vec<(String, Attribute)>>,
    results: Option<Vec<Type>>,
    definitions: Vec<Definition>,
    /// The regions under construction, the function's body first.
    open: Vec<Region>,
    error: Option<BuildError>,
    pub(super) fastmath: FastMath,
    place: Option<Rc<str>>,
}

impl FunctionBuilder {
    /// A public function without arguments yet.
    pub fn new(name: impl Into<String>) -> Self {
        FunctionBuilder {
            name: name.into(),
            private: false,
            attributes: Vec::new(),
            argument_attributes: Vec::new(),
            results: None,
            definitions: Vec::new(),
            open: vec![Region::default()],
            error: None,
            fastmath: FastMath::NONE,
            place: None,
        }
    }

    /// Makes the function visible in its module only.
    pub fn set_private(&mut self) {
        self.private = true;
    }

    /// Name of the function.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Appends an argument.
    pub fn argument(&mut self, ty: impl Into<Type>) -> Value {
        if self.open.len() != 1 {
            return self.refuse("func.func", "arguments are added outside of regions");
        }
        let value = self.define(ty.into());
        self.open[0].arguments.push(value);
        self.argument_attributes.push(Vec::new());
        value
    }

    /// Attaches an attribute to an argument.
    pub fn set_argument_attribute(&mut self, argument: Value, name: &str, value: Attribute) {
        match self.open[0].arguments.iter().position(|&a| a == argument) {
            Some(i) => self.argument_attributes[i].push((name.into(), value)),
            None => _ = self.refuse("func.func", format!("attribute {name}: the value is no argument")),
        }
    }

    /// Attaches an attribute to the function.
    pub fn set_attribute(&mut self, name: &str, value: Attribute) {
        self.attributes.push((name.into(), value));
    }

    /// From here on, float operations carry these flags.
    pub fn set_fastmath(&mut self, flags: FastMath) {
        self.fastmath = flags;
    }

    /// From here on, accesses of tensors are for the HLO instruction of this name: diagnostics name it.
    pub fn set_place(&mut self, instruction: Option<&str>) {
        self.place = instruction.map(Rc::from);
    }

    /// Type of a value. A value that stands in for a refused operation counts as `index`.
    pub fn type_of(&self, value: Value) -> &Type {
        const INDEX: &Type = &Type::INDEX;
        self.definitions.get(value.0 as usize).map_or(INDEX, |definition| &definition.ty)
    }

    /// Records any operation: the way to dialects this builder has no methods for.
    ///
    /// Returns one value per result type. Regions come from [`FunctionBuilder::region`].
    pub fn op(
        &mut self,
        name: &str,
        operands: &[Value],
        attributes: Vec<(&str, Attribute)>,
        results: &[Type],
        regions: Vec<Region>,
    ) -> Vec<Value> {
        if operands.contains(&POISON) {
            return vec![POISON; results.len()];
        }
        if let Some(i) = operands.iter().position(|&v| !self.in_scope(v)) {
            self.refuse(name, format!("operand {i} was made in a region that is closed, or by another builder"));
            return vec![POISON; results.len()];
        }
        let results: Vec<Value> = results.iter().map(|ty| self.define(ty.clone())).collect();
        let attributes = attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        let is_access = matches!(name, "tensor.extract" | "tensor.insert");
        let place = self.place.clone().filter(|_| is_access);
        self.record(Operation {
            place,
            name: name.to_owned(),
            operands: operands.to_vec(),
            results: results.clone(),
            attributes,
            regions,
        });
        results
    }

    /// Records an operation of one result.
    pub(super) fn op1(
        &mut self,
        name: &str,
        operands: &[Value],
        attributes: Vec<(&str, Attribute)>,
        result: Type,
    ) -> Value {
        self.op(name, operands, attributes, &[result], Vec::new()).first().copied().unwrap_or(POISON)
    }

    /// Records what `body` does as a region with arguments of these types. Values made inside are
    /// not to be used outside. `body` ends with a terminator.
    pub fn region(&mut self, arguments: &[Type], body: impl FnOnce(&mut Self, &[Value])) -> Region {
        let first = self.definitions.len();
        let arguments: Vec<Value> = arguments.iter().map(|ty| self.define(ty.clone())).collect();
        self.open.push(Region { arguments: arguments.clone(), operations: Vec::new() });
        body(self, &arguments);
        self.definitions[first..].iter_mut().for_each(|definition| definition.in_scope = false);
        self.open.pop().unwrap_or_default()
    }

    /// An empty region and its arguments, to be filled piece by piece between [`enter`](Self::enter) and
    /// [`leave`](Self::leave), then handed to [`op`](Self::op). Values made inside are not followed:
    /// whoever fills regions out of order answers for their use.
    pub fn detached(&mut self, arguments: &[Type]) -> (Region, Vec<Value>) {
        let arguments: Vec<Value> = arguments.iter().map(|ty| self.define(ty.clone())).collect();
        (Region { arguments: arguments.clone(), operations: Vec::new() }, arguments)
    }

    /// From here on, operations are appended to a detached region.
    pub fn enter(&mut self, region: Region) {
        self.open.push(region);
    }

    /// Gives back the region last entered; operations go where they went before.
    pub fn leave(&mut self) -> Region {
        if self.open.len() < 2 {
            self.refuse("region", "left without being entered");
            return Region::default();
        }
        self.open.pop().unwrap_or_default()
    }

    /// `func.return`; fixes the result types.
    pub fn ret(&mut self, values: &[Value]) {
        if self.open.len() != 1 || self.results.is_some() {
            self.refuse("func.return", "a function returns once, outside of regions");
            return;
        }
        self.results = Some(values.iter().map(|&v| self.type_of(v).clone()).collect());
        self.op("func.return", values, Vec::new(), &[], Vec::new());
    }

    /// `func.call` of a function with these result types.
    pub fn call(&mut self, callee: &str, arguments: &[Value], results: &[Type]) -> Vec<Value> {
        self.op("func.call", arguments, vec![("callee", Attribute::symbol(callee))], results, Vec::new())
    }

    /// The function as one `func.func` operation in generic MLIR text.
    ///
    /// # Errors
    /// The first misuse, with the operation's name; or that nothing is returned.
    pub fn finish(mut self) -> Result<String, BuildError> {
        if self.results.is_none() {
            self.refuse("func.func", "the function does not return; call `ret`");
        }
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut header = vec![("sym_name".to_owned(), Attribute::Str(self.name))];
        let types_of = |values: &[Value]| -> Vec<Type> {
            values.iter().map(|v| self.definitions[v.0 as usize].ty.clone()).collect()
        };
        let function_type = print::function_type(&types_of(&self.open[0].arguments), &self.results.unwrap_or_default());
        header.push(("function_type".to_owned(), Attribute::Raw(function_type)));
        if self.private {
            header.push(("sym_visibility".to_owned(), Attribute::str("private")));
        }
        if self.argument_attributes.iter().any(|attributes| !attributes.is_empty()) {
            let dictionaries = self.argument_attributes.into_iter().map(Attribute::Dictionary).collect();
            header.push(("arg_attrs".to_owned(), Attribute::Array(dictionaries)));
        }
        header.extend(self.attributes);
        let types: Vec<Type> = self.definitions.into_iter().map(|definition| definition.ty).collect();
        let body = self.open.pop().unwrap_or_default();
        Ok(print::function(&header, &body, &types))
    }

    /// Records the first mistake; later ones are often its consequences.
    pub fn refuse(&mut self, operation: &str, message: impl fmt::Display) -> Value {
        if self.error.is_none() {
            self.error = Some(BuildError {
                function: self.name.clone(),
                operation: operation.to_owned(),
                message: message.to_string(),
            });
        }
        POISON
    }

    /// Whether one of the values stands in for a refused operation.
    pub(super) fn any_poison(values: &[Value]) -> bool {
        values.contains(&POISON)
    }

    fn in_scope(&self, value: Value) -> bool {
        self.definitions.get(value.0 as usize).is_some_and(|definition| definition.in_scope)
    }

    fn define(&mut self, ty: Type) -> Value {
        self.definitions.push(Definition { ty, in_scope: true });
        Value(self.definitions.len() as u32 - 1)
    }

    fn record(&mut self, operation: Operation) {
        if let Some(region) = self.open.last_mut() {
            region.operations.push(operation);
        }
    }
}
