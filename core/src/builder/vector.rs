//! `vector` operations, on vectors of one dimension.
//!
//! `arith` operations take vectors as they take scalars; loops carry vectors as they carry scalars. A vector's
//! elements are integers or floats. Reads and writes are of elements that are next to each other in the tensor's
//! last dimension, and within it.

use super::{Attribute, FunctionBuilder, Scalar, Type, Value};

/// Marks writes past the caches.
const PAST_CACHES: &str = "fusebox.past_caches";

/// How `vector.reduction` combines lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are MLIR's")]
pub enum Combination {
    Add,
    Mul,
    And,
    Or,
    Xor,
    MinSi,
    MaxSi,
    MinUi,
    MaxUi,
    MinimumF,
    MaximumF,
    MinNumF,
    MaxNumF,
}

impl Combination {
    fn name(self) -> &'static str {
        match self {
            Combination::Add => "add",
            Combination::Mul => "mul",
            Combination::And => "and",
            Combination::Or => "or",
            Combination::Xor => "xor",
            Combination::MinSi => "minsi",
            Combination::MaxSi => "maxsi",
            Combination::MinUi => "minui",
            Combination::MaxUi => "maxui",
            Combination::MinimumF => "minimumf",
            Combination::MaximumF => "maximumf",
            Combination::MinNumF => "minnumf",
            Combination::MaxNumF => "maxnumf",
        }
    }

    fn takes(self, element: Scalar) -> bool {
        match self {
            Combination::Add | Combination::Mul => matches!(element, Scalar::Int(_) | Scalar::Float(_)),
            Combination::MinimumF | Combination::MaximumF | Combination::MinNumF | Combination::MaxNumF => {
                matches!(element, Scalar::Float(_))
            }
            _ => matches!(element, Scalar::Int(_)),
        }
    }
}

impl FunctionBuilder {
    /// `vector.transfer_read`: `lanes` elements, the first of them at these indices.
    pub fn vector_read(&mut self, tensor: Value, indices: &[Value], lanes: i64) -> Value {
        const NAME: &str = "vector.transfer_read";
        let element = match self.check_row(NAME, tensor, indices, lanes) {
            Ok(element) => element,
            Err(poison) => return poison,
        };
        // What would stand for elements out of bounds, of which there are none.
        let padding = match element {
            Scalar::Float(_) => self.float_bits(0, element),
            _ => self.int(0, element),
        };
        let operands = [&[tensor], indices, &[padding]].concat();
        let segments = format!("array<i32: 1, {}, 1, 0>", indices.len());
        self.op1(NAME, &operands, transfer(segments, indices.len()), Type::vector(&[lanes], element))
    }

    /// `vector.transfer_write`: the tensor with the vector's elements, the first of them at these indices.
    pub fn vector_write(&mut self, vector: Value, tensor: Value, indices: &[Value]) -> Value {
        self.write_row(vector, tensor, indices, None)
    }

    /// As [`vector_write`](Self::vector_write), of elements that nobody reads soon: where the machine can, they go to
    /// memory past the caches. That pays for whole cache lines, of more data than the caches hold.
    pub fn vector_write_past_caches(&mut self, vector: Value, tensor: Value, indices: &[Value]) -> Value {
        self.write_row(vector, tensor, indices, Some((PAST_CACHES, Attribute::Unit)))
    }

    fn write_row(
        &mut self,
        vector: Value,
        tensor: Value,
        indices: &[Value],
        further: Option<(&'static str, Attribute)>,
    ) -> Value {
        const NAME: &str = "vector.transfer_write";
        if Self::any_poison(&[vector]) {
            return tensor;
        }
        let Some((lanes, element)) = self.row_of_lanes(vector) else {
            let message = format!("the operand is {}, it must be a vector", self.type_of(vector));
            return self.refuse(NAME, message);
        };
        match self.check_row(NAME, tensor, indices, lanes) {
            Ok(wanted) if wanted != element => {
                self.refuse(NAME, format!("the vector holds {element}, the tensor {wanted}"))
            }
            Ok(_) => {
                let operands = [&[vector, tensor], indices].concat();
                let segments = format!("array<i32: 1, 1, {}, 0>", indices.len());
                let ty = self.type_of(tensor).clone();
                let attributes = transfer(segments, indices.len()).into_iter().chain(further).collect();
                self.op1(NAME, &operands, attributes, ty)
            }
            Err(poison) => poison,
        }
    }

    /// `vector.shuffle`: lanes of two vectors of one type, chosen by number; the second vector's follow the first's.
    pub fn vector_shuffle(&mut self, first: Value, second: Value, lanes: &[i64]) -> Value {
        const NAME: &str = "vector.shuffle";
        if Self::any_poison(&[first, second]) {
            return first;
        }
        match (self.row_of_lanes(first), self.row_of_lanes(second)) {
            (Some((count, element)), Some(other))
                if other == (count, element)
                    && !lanes.is_empty()
                    && lanes.iter().all(|lane| (0..2 * count).contains(lane)) =>
            {
                let mask = vec![("mask", Attribute::I64Array(lanes.to_vec()))];
                self.op1(NAME, &[first, second], mask, Type::vector(&[lanes.len() as i64], element))
            }
            _ => {
                let [first, second] = [first, second].map(|vector| self.type_of(vector).to_string());
                self.refuse(NAME, format!("{first} and {second} do not have the lanes {lanes:?}"))
            }
        }
    }

    /// Lanes and element of a vector of one dimension.
    fn row_of_lanes(&self, vector: Value) -> Option<(i64, Scalar)> {
        match self.type_of(vector).as_vector() {
            Some((&[lanes], element)) => Some((lanes, element)),
            _ => None,
        }
    }

    /// `vector.broadcast`: a vector of one element in every lane.
    pub fn vector_broadcast(&mut self, element: Value, lanes: i64) -> Value {
        const NAME: &str = "vector.broadcast";
        match self.type_of(element).as_scalar() {
            _ if Self::any_poison(&[element]) => element,
            Some(scalar) if !matches!(scalar, Scalar::Complex(_)) && lanes > 0 => {
                self.op1(NAME, &[element], Vec::new(), Type::vector(&[lanes], scalar))
            }
            _ => {
                let ty = self.type_of(element).to_string();
                self.refuse(NAME, format!("there are no {lanes} lanes of {ty}"))
            }
        }
    }

    /// `vector.extract` at a static position.
    pub fn vector_extract(&mut self, vector: Value, lane: i64) -> Value {
        match self.check_lane("vector.extract", vector, lane) {
            Ok(element) => {
                let position = vec![("static_position", Attribute::I64Array(vec![lane]))];
                self.op1("vector.extract", &[vector], position, element.into())
            }
            Err(poison) => poison,
        }
    }

    /// `vector.insert` at a static position: the vector with another element there.
    pub fn vector_insert(&mut self, element: Value, vector: Value, lane: i64) -> Value {
        const NAME: &str = "vector.insert";
        match self.check_lane(NAME, vector, lane) {
            Ok(wanted) if *self.type_of(element) != wanted.into() && !Self::any_poison(&[element]) => {
                let message = format!("the element is {}, the vector holds {wanted}", self.type_of(element));
                self.refuse(NAME, message)
            }
            Ok(_) => {
                let position = vec![("static_position", Attribute::I64Array(vec![lane]))];
                let ty = self.type_of(vector).clone();
                self.op1(NAME, &[element, vector], position, ty)
            }
            Err(poison) => poison,
        }
    }

    /// `vector.from_elements`: a vector of one dimension from its elements, all of one type.
    pub fn vector_from_elements(&mut self, elements: &[Value]) -> Value {
        const NAME: &str = "vector.from_elements";
        if Self::any_poison(elements) {
            return self.op1(NAME, elements, Vec::new(), Type::INDEX);
        }
        let Some(first) = elements.first().and_then(|&v| self.type_of(v).as_scalar()) else {
            return self.refuse(NAME, "needs at least one element, and scalars only");
        };
        if elements.iter().any(|&v| *self.type_of(v) != first.into()) {
            return self.refuse(NAME, format!("the elements must all be {first}"));
        }
        self.op1(NAME, elements, Vec::new(), Type::vector(&[elements.len() as i64], first))
    }

    /// `vector.reduction`: all lanes combined, with the current fastmath flags: in order, unless they allow another.
    pub fn vector_reduction(&mut self, combination: Combination, vector: Value) -> Value {
        const NAME: &str = "vector.reduction";
        match self.type_of(vector).as_vector() {
            _ if Self::any_poison(&[vector]) => vector,
            Some((dims, element)) if dims.len() == 1 && combination.takes(element) => {
                let kind = Attribute::raw(format!("#vector.kind<{}>", combination.name()));
                let mut attributes = vec![("kind", kind)];
                attributes.extend(self.fastmath.attribute().map(|flags| ("fastmath", flags)));
                self.op1(NAME, &[vector], attributes, element.into())
            }
            _ => {
                let ty = self.type_of(vector).to_string();
                self.refuse(NAME, format!("{} does not combine the lanes of {ty}", combination.name()))
            }
        }
    }

    fn check_lane(&mut self, name: &str, vector: Value, lane: i64) -> Result<Scalar, Value> {
        match self.type_of(vector).as_vector() {
            _ if Self::any_poison(&[vector]) => Err(vector),
            Some((dims, element)) if dims.len() == 1 && (0..dims[0]).contains(&lane) => Ok(element),
            _ => {
                let ty = self.type_of(vector).to_string();
                Err(self.refuse(name, format!("there is no lane {lane} in {ty}")))
            }
        }
    }

    /// Checks an access to elements in a row and gives their type.
    fn check_row(&mut self, name: &str, tensor: Value, indices: &[Value], lanes: i64) -> Result<Scalar, Value> {
        let element = self.check_access(name, tensor, indices)?;
        let last = self.type_of(tensor).as_tensor().and_then(|(dims, _)| dims.last().copied());
        let fits = last.is_some_and(|last| (1..=last).contains(&lanes));
        if fits && !matches!(element, Scalar::Complex(_) | Scalar::Index) {
            return Ok(element);
        }
        let message = format!("there are no {lanes} lanes in a row of {}", self.type_of(tensor));
        Err(self.refuse(name, message))
    }
}

/// Attributes of a transfer along the last of `rank` dimensions.
fn transfer(segments: String, rank: usize) -> Vec<(&'static str, Attribute)> {
    let dims: Vec<String> = (0..rank).map(|dim| format!("d{dim}")).collect();
    let last = dims.last().cloned().unwrap_or_default();
    let map = format!("affine_map<({}) -> ({last})>", dims.join(", "));
    vec![
        ("in_bounds", Attribute::Array(vec![Attribute::Bool(true)])),
        ("operandSegmentSizes", Attribute::Raw(segments)),
        ("permutation_map", Attribute::Raw(map)),
    ]
}
