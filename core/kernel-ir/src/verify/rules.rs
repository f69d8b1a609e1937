//! The rules of each operation for operands, results, attributes and regions.

mod lowered;
mod matrices;
mod tiles;
mod vectors;

use super::{Verdict, ensure, list};
use crate::{Attribute, Form, OpKind, Operation, Scalar, Type, Value};
use fusebox_indexing::IndexingMap;

/// Checks one operation. `types` contains the types of all values.
///
/// # Errors
/// Returns the fault, in words that follow the operation's name in a sentence.
pub(crate) fn check(types: &[Type], operation: &Operation) -> Verdict {
    let of_regions = operation.regions.iter().flat_map(|region| region.arguments.iter().chain(region.yielded()));
    let mut values = operation.operands.iter().chain(&operation.results).chain(of_regions);
    ensure(values.all(|value| value.number() < types.len()), || "has values of another function".into())?;
    let rule = Rule {
        types,
        operation,
        operands: types_of(types, &operation.operands),
        results: types_of(types, &operation.results),
    };
    rule.results.iter().try_for_each(|ty| ty.check().map_err(|reason| format!("has a value {reason}")))?;
    rule.number_of_regions()?;
    rule.tile_registers()?;
    ensure(matches!(operation.attribute("fastmath"), None | Some(Attribute::FastMath(_))), || {
        "has an attribute `fastmath` that is no set of flags, as `#arith.fastmath<contract>`".into()
    })?;
    rule.form(operation.kind.form())
}

fn types_of<'t>(types: &'t [Type], values: &[Value]) -> Vec<&'t Type> {
    values.iter().map(|value| &types[value.number()]).collect()
}

struct Rule<'f> {
    types: &'f [Type],
    operation: &'f Operation,
    operands: Vec<&'f Type>,
    results: Vec<&'f Type>,
}

impl<'f> Rule<'f> {
    /// Fails with the text of the rule if the rule does not hold.
    fn ensure(&self, holds: bool, rule: &str) -> Verdict {
        ensure(holds, || {
            let (operands, results) = (list(self.operands.iter().copied()), list(self.results.iter().copied()));
            format!("{rule}; it has ({operands}) -> ({results})")
        })
    }

    fn number_of_regions(&self) -> Verdict {
        let found = self.operation.regions.len();
        match self.operation.kind {
            OpKind::IndexSwitch => ensure(found >= 1, || "has a region for the default, and one for each case".into()),
            OpKind::If | OpKind::While => ensure(found == 2, || format!("has two regions, not {found}")),
            OpKind::For | OpKind::Loop | OpKind::AtomicRmw => {
                ensure(found == 1, || format!("has one region, not {found}"))
            }
            _ => ensure(found == 0, || "has no regions".into()),
        }
    }

    fn form(&self, form: Form) -> Verdict {
        let (operands, results) = (&self.operands[..], &self.results[..]);
        let same = |count, kind: fn(&Type) -> bool| same(operands, count, results, kind);
        let cast = |allowed: fn(Scalar, Scalar) -> bool| cast(operands, results, allowed);
        let (rule, holds) = match form {
            Form::IntBinary => ("takes two integers of one type and gives one of it", same(2, is_integer)),
            Form::IntUnary => ("takes an integer and gives one of its type", same(1, is_integer)),
            Form::FloatBinary => {
                ("takes two floating-point numbers of one type and gives one of it", same(2, is_float))
            }
            Form::FloatUnary => ("takes a floating-point number and gives one of its type", same(1, is_float)),
            Form::FloatTernary => {
                ("takes three floating-point numbers of one type and gives one of it", same(3, is_float))
            }
            Form::FloatTest => {
                let test =
                    matches!((operands, results), ([a], [r]) if is_float(a) && **r == a.with_element(Scalar::I1));
                ("takes a floating-point number and gives an i1", test)
            }
            Form::WidenInt => ("takes an integer to one of more bits", cast(|a, b| int(a) && int(b) && wider(b, a))),
            Form::NarrowInt => ("takes an integer to one of fewer bits", cast(|a, b| int(a) && int(b) && wider(a, b))),
            Form::WidenFloat => {
                ("takes a floating-point number to one of more bits", cast(|a, b| float(a) && float(b) && wider(b, a)))
            }
            Form::NarrowFloat => {
                ("takes a floating-point number to one of fewer bits", cast(|a, b| float(a) && float(b) && wider(a, b)))
            }
            Form::IntToFloat => ("takes an integer to a floating-point number", cast(|a, b| int(a) && float(b))),
            Form::FloatToInt => ("takes a floating-point number to an integer", cast(|a, b| float(a) && int(b))),
            Form::IndexCast => {
                let holds = cast(|a, b| a == Scalar::Index && int(b) || int(a) && b == Scalar::Index);
                ("takes an index to an integer, or an integer to an index", holds)
            }
            Form::SameBits => {
                let holds = cast(|a, b| [a, b].iter().all(|&ty| int(ty) || float(ty)) && a.bits() == b.bits());
                ("takes an integer or float to one of as many bits", holds)
            }
            Form::IntProduct => {
                let holds = matches!((operands, results), ([a, b], [low, high])
                    if is_integer(a) && [b, low, high].iter().all(|ty| *ty == a));
                ("takes two integers of one type and gives two of it", holds)
            }
            Form::NewTensor => {
                ("takes nothing and gives one tensor", operands.is_empty() && matches!(results, [Type::Tensor(..)]))
            }
            Form::NewMemory => return self.memory(),
            Form::TileProduct => return self.tile_product(),
            Form::TileTransfer => return self.tile_transfer(),
            Form::Signal => return self.signal(),
            Form::Own => return self.own(),
        };
        self.ensure(holds, rule)
    }

    fn own(&self) -> Verdict {
        match self.operation.kind {
            OpKind::Constant => self.constant(),
            OpKind::CmpI => self.comparison(10, is_integer, "integers"),
            OpKind::CmpF => self.comparison(16, is_float, "floating-point numbers"),
            OpKind::Select => self.select(),
            OpKind::ComplexCreate | OpKind::ComplexConstant | OpKind::ComplexRe | OpKind::ComplexIm => self.complex(),
            OpKind::Extract | OpKind::Insert | OpKind::PredicatedExtract | OpKind::PredicatedInsert => self.access(),
            OpKind::TransferRead | OpKind::TransferWrite => self.transfer(),
            OpKind::FromElements | OpKind::Broadcast | OpKind::Shuffle | OpKind::Reduction => self.vector(),
            OpKind::VectorExtract | OpKind::VectorInsert => self.lane(),
            OpKind::WordMulF | OpKind::WordMulI => self.word_product(),
            OpKind::TileZero => {
                let holds = self.operands.is_empty() && matches!(self.results[..], [Type::Tile(..)]);
                self.ensure(holds, "takes nothing and gives one tile")
            }
            OpKind::For => self.for_loop(),
            OpKind::If => self.if_else(),
            OpKind::While => self.while_loop(),
            OpKind::IndexSwitch => self.index_switch(),
            OpKind::Yield | OpKind::Return | OpKind::LoopYield => self.ensure(self.results.is_empty(), "gives nothing"),
            OpKind::Condition => {
                let holds = self.operands.first() == Some(&&Type::I1) && self.results.is_empty();
                self.ensure(holds, "takes an i1 and the values that it passes on, and gives nothing")
            }
            OpKind::Call | OpKind::PureCall => self.callee(),
            OpKind::ThreadId | OpKind::BlockId => self.id(),
            OpKind::ApplyIndexing => self.apply_indexing(),
            OpKind::Loop => self.indexed_loop(),
            OpKind::SyncThreads => {
                let tensors = self.operands.iter().all(|ty| matches!(ty, Type::Tensor(..)));
                self.ensure(
                    tensors && self.operands == self.results,
                    "takes tensors and gives tensors of the same types",
                )
            }
            OpKind::ShuffleReduce => {
                self.callee()?;
                let distance = self.operation.integer("max_distance");
                ensure(distance.is_some_and(|distance| distance > 0 && distance & (distance - 1) == 0), || {
                    "needs the attribute `max_distance`, a power of two".into()
                })?;
                let holds = self.operands == self.results && !self.operands.is_empty();
                self.ensure(holds, "takes values and gives values of the same types")
            }
            OpKind::AtomicRmw => self.atomic_rmw(),
            OpKind::Mma => self.matrix_product(),
            OpKind::Wgmma => self.product_of_warps(),
            // Only lowering creates the other operations whose form is `Own`.
            _ => self.lowered(),
        }
    }

    fn constant(&self) -> Verdict {
        let ty = match self.operation.attribute("value") {
            Some(Attribute::Bool(_)) => Type::I1,
            Some(Attribute::Int(_, ty)) => ty.clone(),
            Some(Attribute::Float(_, float)) => Scalar::Float(*float).into(),
            Some(Attribute::Dense(ty, bytes)) => {
                let (count, size) = (ty.element_count(), ty.element().byte_size());
                let all = count.and_then(|count| count.checked_mul(size));
                ensure(Some(bytes.len()) == all || bytes.len() == size && count != Some(0), || {
                    format!("has {} bytes for a {ty}", bytes.len())
                })?;
                ty.clone()
            }
            _ => return Err("needs the attribute `value`, a number or `dense<…>`".into()),
        };
        let holds = self.operands.is_empty() && self.results == [&ty];
        self.ensure(holds, &format!("takes nothing and gives a value of its constant's type {ty}"))
    }

    fn comparison(&self, predicates: i64, takes: fn(&Type) -> bool, what: &str) -> Verdict {
        let predicate = self.operation.integer("predicate");
        ensure(predicate.is_some_and(|it| (0..predicates).contains(&it)), || {
            format!("needs the attribute `predicate`, a number from 0 to {}", predicates - 1)
        })?;
        let holds = matches!((&self.operands[..], &self.results[..]), ([a, b], [r])
            if takes(a) && a == b && **r == a.with_element(Scalar::I1));
        self.ensure(holds, &format!("takes two {what} of one type and gives an i1"))
    }

    fn select(&self) -> Verdict {
        let holds = matches!((&self.operands[..], &self.results[..]), ([condition, yes, no], [r])
            if yes == no && yes == r
                && (**condition == Type::I1
                    || matches!(yes, Type::Vector(..)) && **condition == yes.with_element(Scalar::I1)));
        self.ensure(holds, "takes an i1, or a vector of them, and two values of the result's type")
    }

    fn complex(&self) -> Verdict {
        let part = |ty: &Type| match ty {
            Type::Scalar(Scalar::Complex(part)) => Some(Type::Scalar(Scalar::Float(*part))),
            _ => None,
        };
        match (self.operation.kind, &self.operands[..], &self.results[..]) {
            (OpKind::ComplexCreate, operands, results) => {
                let holds = matches!((operands, results), ([re, im], [r]) if part(r).as_ref() == Some(re) && re == im);
                self.ensure(holds, "takes two floats of one type and gives a complex number of them")
            }
            (OpKind::ComplexConstant, [], [r]) => {
                let Some(Attribute::Array(parts)) = self.operation.attribute("value") else {
                    return Err("needs the attribute `value`, as `[1.0 : f32, 2.0 : f32]`".into());
                };
                let fits = parts.len() == 2
                    && parts.iter().all(
                        |it| matches!(it, Attribute::Float(_, float) if part(r) == Some(Scalar::Float(*float).into())),
                    );
                self.ensure(fits, "gives a complex number of its two parts' type")
            }
            (OpKind::ComplexConstant, ..) => self.ensure(false, "takes nothing and gives a complex number"),
            (_, operands, results) => {
                let holds = matches!((operands, results), ([a], [r]) if part(a).as_ref() == Some(r));
                self.ensure(holds, "takes a complex number and gives a part of it")
            }
        }
    }

    /// Checks that the operands from `first` on are a tensor and one index per dimension. Returns
    /// the element type.
    fn indexed_tensor(&self, first: usize) -> Result<Type, String> {
        let Some((tensor, indices)) = self.operands.get(first..).and_then(|operands| operands.split_first()) else {
            return Err(format!("takes a tensor as operand {first}"));
        };
        let Some((dims, element)) = tensor.as_tensor() else {
            return Err(format!("takes a tensor as operand {first}, not {tensor}"));
        };
        let holds = indices.len() == dims.len() && indices.iter().all(|ty| **ty == Type::INDEX);
        self.ensure(holds, &format!("takes {} indices after the tensor", dims.len()))?;
        Ok(element.into())
    }

    /// Checks reads and writes of one element. The last operands are the tensor and the indices.
    /// Before these operands, a write has the element, a predicated write has the condition and the
    /// element, and a predicated read has the condition and the fallback.
    fn access(&self) -> Verdict {
        let (predicated, writes) = match self.operation.kind {
            OpKind::Extract => (false, false),
            OpKind::Insert => (false, true),
            OpKind::PredicatedExtract => (true, false),
            _ => (true, true),
        };
        let before = 2 * usize::from(predicated) + usize::from(writes && !predicated);
        let element = self.indexed_tensor(before)?;
        if predicated {
            self.ensure(*self.operands[0] == Type::I1, "takes a condition of type i1")?;
        }
        if before > 0 {
            let holds = *self.operands[before - 1] == element;
            let what = if writes { "an element" } else { "a fallback" };
            self.ensure(holds, &format!("takes {what} of the tensor's element type {element}"))?;
        }
        let given = if writes { self.operands[before] } else { &element };
        self.ensure(self.results == [given], &format!("gives one {given}"))
    }

    fn for_loop(&self) -> Verdict {
        let [lower, upper, step, state @ ..] = &self.operands[..] else {
            return self.ensure(false, "takes bounds and a step");
        };
        let counts = matches!(lower, Type::Scalar(Scalar::Index | Scalar::Int(_))) && lower == upper && lower == step;
        self.ensure(counts, "takes bounds and a step of one integer type")?;
        self.ensure(state == self.results, "gives results of the types of its initial values")?;
        let arguments: Vec<&Type> = [*lower].into_iter().chain(state.iter().copied()).collect();
        self.body(0, &arguments, &self.results)
    }

    fn if_else(&self) -> Verdict {
        self.ensure(self.operands == [&Type::I1], "takes a condition of type i1")?;
        self.body(0, &[], &self.results)?;
        self.body(1, &[], &self.results)
    }

    fn while_loop(&self) -> Verdict {
        let condition: Vec<&Type> = [&Type::I1].into_iter().chain(self.results.iter().copied()).collect();
        self.body(0, &self.operands, &condition)?;
        self.body(1, &self.results, &self.operands)
    }

    fn index_switch(&self) -> Verdict {
        self.ensure(self.operands == [&Type::INDEX], "takes an index")?;
        let Some(cases) = self.operation.integers("cases") else {
            return Err("needs the attribute `cases`, an array of numbers".into());
        };
        let regions = self.operation.regions.len();
        ensure(regions == cases.len() + 1, || format!("has {regions} regions, its cases ask for {}", cases.len() + 1))?;
        let mut sorted = cases.to_vec();
        sorted.sort_unstable();
        ensure(sorted.is_sorted_by(|a, b| a < b), || "has two cases of one number".into())?;
        (0..regions).try_for_each(|region| self.body(region, &[], &self.results))
    }

    /// Checks that a region takes and yields values of these types.
    fn body(&self, region: usize, arguments: &[&Type], yielded: &[&Type]) -> Verdict {
        let region = &self.operation.regions[region];
        let found_arguments = types_of(self.types, &region.arguments);
        let found = types_of(self.types, region.yielded());
        ensure(found_arguments == arguments, || {
            let (found, wanted) = (list(found_arguments.iter().copied()), list(arguments.iter().copied()));
            format!("has a region that takes ({found}), it must take ({wanted})")
        })?;
        ensure(found == yielded, || {
            let (found, wanted) = (list(found.iter().copied()), list(yielded.iter().copied()));
            format!("has a region that yields ({found}), it must yield ({wanted})")
        })
    }

    fn callee(&self) -> Verdict {
        ensure(self.operation.callee().is_some(), || "needs the attribute `callee`, a function's name".into())
    }

    fn id(&self) -> Verdict {
        let known = matches!(self.operation.attribute("dimension"), Some(Attribute::Raw(dimension))
            if ["#gpu<dim x>", "#gpu<dim y>", "#gpu<dim z>"].contains(&dimension.as_str()));
        ensure(known, || "needs the attribute `dimension`, as `#gpu<dim x>`".into())?;
        self.ensure(self.operands.is_empty() && self.results == [&Type::INDEX], "takes nothing and gives an index")
    }

    fn map(&self) -> Result<&'f IndexingMap, String> {
        match self.operation.attribute("map") {
            Some(Attribute::Map(map)) => Ok(map),
            _ => Err("needs the attribute `map`, an indexing map as a string".into()),
        }
    }

    fn apply_indexing(&self) -> Verdict {
        let map = self.map()?;
        let wanted = map.dims.len() + map.ranges.len() + map.runtime.len();
        let (operands, results) = (self.operands.len(), self.results.len());
        ensure(operands == wanted, || format!("has {operands} operands, its map {wanted} variables"))?;
        ensure(results == map.results.len(), || format!("has {results} results, its map {}", map.results.len()))?;
        let indices = self.operands.iter().chain(&self.results).all(|ty| **ty == Type::INDEX);
        self.ensure(indices, "takes and gives values of type index")
    }

    fn indexed_loop(&self) -> Verdict {
        let map = self.map()?;
        let (dims, operands) = (map.dims.len() + map.runtime.len(), self.operands.len());
        ensure(operands >= dims, || {
            format!("has {operands} operands, its map {dims} dimensions and runtime variables")
        })?;
        let (dims, state) = self.operands.split_at(dims);
        self.ensure(dims.iter().all(|ty| **ty == Type::INDEX), "takes dimensions of type index")?;
        self.ensure(state == self.results, "gives results of the types of its initial values")?;
        let indices = map.ranges.len() + map.results.len();
        let (wanted, found) = (indices + state.len(), self.operation.regions[0].arguments.len());
        ensure(found == wanted, || format!("has a body of {found} arguments where its map asks for {wanted}"))?;
        let arguments: Vec<&Type> = std::iter::repeat_n(&Type::INDEX, indices).chain(state.iter().copied()).collect();
        self.body(0, &arguments, &self.results)?;
        let unroll = match self.operation.attribute("unroll") {
            None => &[],
            Some(Attribute::I64Array(ranges)) => &ranges[..],
            Some(_) => return Err("has an `unroll` that is no array".into()),
        };
        let known = |&range: &i64| usize::try_from(range).is_ok_and(|range| range < map.ranges.len());
        ensure(unroll.iter().all(known), || format!("unrolls range variables {unroll:?} of {}", map.ranges.len()))
    }

    /// Checks an atomic update of a tensor. After lowering, the operation updates the bits at an
    /// address and has no results.
    fn atomic_rmw(&self) -> Verdict {
        if let Some(Type::Pointer(_)) = self.operands.first() {
            self.place(0)?;
            self.ensure(self.results.is_empty(), "gives nothing")?;
            let bits = self.operation.regions[0].arguments.first().map(|bits| &self.types[bits.number()]);
            let bits = bits.filter(|bits| matches!(bits, Type::Scalar(Scalar::Int(_))));
            let Some(bits) = bits else { return self.ensure(false, "has a region that takes an integer") };
            return self.body(0, &[bits], &[bits]);
        }
        let element = self.indexed_tensor(0)?;
        self.ensure(self.results == self.operands[..1], "gives a tensor of the type it takes")?;
        self.body(0, &[&element], &[&element])
    }
}

/// Whether there are `count` operands and one result, all of the same type, and `kind` accepts this
/// type.
fn same(operands: &[&Type], count: usize, results: &[&Type], kind: fn(&Type) -> bool) -> bool {
    matches!(results, [r] if kind(r) && operands.len() == count && operands.iter().all(|ty| ty == r))
}

/// Whether there is one operand and one result with the same dimensions, and `allowed` accepts the
/// conversion between their element types.
fn cast(operands: &[&Type], results: &[&Type], allowed: impl Fn(Scalar, Scalar) -> bool) -> bool {
    match (operands, results) {
        ([Type::Scalar(a)], [Type::Scalar(b)]) => allowed(*a, *b),
        ([Type::Vector(from, a)], [Type::Vector(to, b)]) => from == to && allowed(*a, *b),
        _ => false,
    }
}

fn int(ty: Scalar) -> bool {
    matches!(ty, Scalar::Int(_))
}

fn float(ty: Scalar) -> bool {
    matches!(ty, Scalar::Float(_))
}

fn wider(a: Scalar, b: Scalar) -> bool {
    a.bits() > b.bits()
}

/// Whether the type is an integer, an index, or a vector of these.
fn is_integer(ty: &Type) -> bool {
    matches!(ty, Type::Scalar(element) | Type::Vector(_, element) if element.is_integer())
}

/// Whether the type is a float or a vector of floats.
fn is_float(ty: &Type) -> bool {
    matches!(ty, Type::Scalar(Scalar::Float(_)) | Type::Vector(_, Scalar::Float(_)))
}
