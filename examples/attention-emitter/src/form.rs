//! Recognises attention regardless of the order of its dimensions.
//!
//! ```text
//! first    dot of queries and keys
//! scores   what becomes of it element by element: scale, mask, bias, cap
//! maximum  of the scores over keys                                  } softmax
//! exps     exponential(scores - maximum), and their sum over keys   }
//! second   dot of exps / sum and values
//! root     what becomes of it: the same elements in another order or type
//! ```
//!
//! The search starts at the dot `second` and follows operands. At each instruction, an indexing map
//! from an element of `second` and a key states which element of the instruction is read. So
//! transposes, reshapes and broadcasts need no separate code. For example, if one map describes
//! both the elements that a sum reads and the elements that `second` reads, the sum adds up the row
//! that `second` multiplies.

use fusebox_core::builder::Scalar;
use fusebox_core::emitter::{Decline, Fusion};
use fusebox_core::hlo::{BinaryOp, Computation, ElementType, FloatFormat, InstrId, Instruction, Literal, Op, UnaryOp};
use fusebox_core::indexing::{
    Expr, ExprKind, Indexing, IndexingMap, Interval, Reading, delinearize, input_to_output, maps_from, output_to_input,
};

/// Smallest number of queries per group with which tiling saves time. The queries of a group share
/// keys.
const LEAST_QUERIES: i64 = 4;
/// Limit on the product of all loop sizes. No memory holds this number of elements, and up to this
/// limit no product of sizes overflows.
const MOST_POINTS: i64 = 1 << 48;

/// The attention that a fusion or a candidate region computes.
pub struct Attention {
    /// The dot of queries and keys.
    pub first: InstrId,
    /// The operand of the softmax: an elementwise function of `first`.
    pub scores: InstrId,
    /// The dot of probabilities and values.
    pub second: InstrId,
    /// The result, whose elements are those of `second`, possibly in another order.
    pub root: InstrId,
    /// Operands of the dots, with the maps to their indices.
    pub queries: Operand,
    pub keys: Operand,
    pub values: Operand,
    /// Map from `(group, query, key)` to an index of `scores`.
    pub scores_at: IndexingMap,
    /// Map from `(group, query, feature)` to an index of `root`.
    pub root_at: IndexingMap,
    pub sizes: Sizes,
    /// The type in which the kernel computes: `f64` if the program uses `f64`, else `f32`.
    pub computed_in: Scalar,
}

/// An operand of a dot.
pub struct Operand {
    pub instruction: InstrId,
    /// Map to an index of the operand, from `(group, query, depth)`, `(group, key, depth)` or
    /// `(group, key, feature)`.
    pub at: IndexingMap,
}

/// Sizes of the loops. Each size may be the product of several dimensions of the program.
#[derive(Clone, Copy)]
pub struct Sizes {
    /// Number of groups: pairs of a batch and a head, each with separate keys and values.
    pub groups: i64,
    /// Number of queries per group. The queries of a group share keys and values.
    pub queries: i64,
    pub keys: i64,
    /// Number of elements of a query, and of a key.
    pub depth: i64,
    /// Number of elements of a value.
    pub features: i64,
}

/// An instruction, and a map from `second`'s dimensions and the key to the instruction's element
/// that is read.
#[derive(Clone)]
struct Place {
    id: InstrId,
    at: Reading,
}

pub fn decline(reason: impl Into<String>, instruction: Option<&Instruction>) -> Decline {
    Decline { reason: reason.into(), instruction: instruction.map(|it| it.name.clone()) }
}

impl Attention {
    /// Returns the attention whose second dot is `second`.
    ///
    /// # Errors
    /// If there is no such attention, or the kernels do not support it. The error states the reason
    /// to the user.
    pub fn at(fusion: &Fusion, second: InstrId) -> Result<Attention, Decline> {
        let walk = Walk::new(fusion, second)?;
        let (scores, values) = walk.scores_and_values()?;
        let (first, first_at) = walk.first(&scores)?;
        let above = Place { id: first, at: first_at };
        let (queries, keys) = match [walk.step(&above, 0)?, walk.step(&above, 1)?] {
            [left, right] if walk.reads_key(&right) && !walk.reads_key(&left) => (left, right),
            [left, right] if walk.reads_key(&left) && !walk.reads_key(&right) => (right, left),
            _ => return Err(walk.decline("keys and queries are not its two operands", first)),
        };
        let depth =
            walk.depth(&queries, &keys).ok_or_else(|| walk.decline("it does not contract one dimension", first))?;
        let roles = walk.roles(&scores, &keys, &values);
        let sizes = roles.sizes(walk.keys, depth);
        check_sizes(sizes).map_err(|reason| walk.decline(&reason, second))?;
        let (root, root_at) = walk.root();
        let computed_in = walk.computed_in(&[first, scores.id, second, queries.id, keys.id, values.id])?;
        // In every map, the first dimension is the group. The other dimensions differ.
        let (one, two) = (Expr::dim(1), Expr::dim(2));
        let none = Expr::constant(0);
        let map = |map: &IndexingMap, query: &Expr, feature: &Expr, key: &Expr, depth: &Expr, sizes: [i64; 3]| {
            let dims = [roles.index(query, feature), vec![key.clone()]].concat();
            let dims = &dims[..map.dims.len()];
            let results = map.results.iter().map(|expr| expr.substitute(dims, std::slice::from_ref(depth), &[]));
            IndexingMap::from_tensor_sizes(results.collect(), &sizes, &[]).simplify()
        };
        let Sizes { groups: g, queries: q, keys: k, depth: d, features: f } = sizes;
        Ok(Attention {
            first,
            scores: scores.id,
            second,
            root,
            scores_at: map(&scores.at.map, &one, &none, &two, &none, [g, q, k]),
            root_at: map(&root_at, &one, &two, &none, &none, [g, q, f]),
            queries: Operand { instruction: queries.id, at: map(&queries.at.map, &one, &none, &none, &two, [g, q, d]) },
            keys: Operand { instruction: keys.id, at: map(&keys.at.map, &none, &none, &one, &two, [g, k, d]) },
            values: Operand { instruction: values.id, at: map(&values.at.map, &none, &two, &one, &none, [g, k, f]) },
            sizes,
            computed_in,
        })
    }
}

fn check_sizes(sizes: Sizes) -> Result<(), String> {
    let Sizes { groups, queries, keys, depth, features } = sizes;
    let points = [groups, queries, keys, depth.max(1), features].iter().fold(1i64, |n, &size| n.saturating_mul(size));
    match () {
        _ if queries < LEAST_QUERIES => {
            Err(format!("too few queries ({queries}) share keys, tiles pay from {LEAST_QUERIES} on"))
        }
        _ if keys < 2 || features < 1 => Err("there are no keys, or no values".into()),
        _ if points > MOST_POINTS => Err("there are more points than any memory holds".into()),
        _ => Ok(()),
    }
}

/// The search that starts from one dot.
struct Walk<'f> {
    fusion: &'f Fusion,
    computation: &'f Computation,
    second: InstrId,
    /// Sizes of `second`'s result.
    dims: Vec<i64>,
    keys: i64,
    /// The operands of `second`, with the maps to the elements that `second` reads.
    operands: [Place; 2],
}

impl<'f> Walk<'f> {
    fn new(fusion: &'f Fusion, second: InstrId) -> Result<Walk<'f>, Decline> {
        let computation = fusion.computation();
        let instruction = computation.instruction(second);
        let dims = instruction.shape.as_array().map(|array| array.dims.clone()).unwrap_or_default();
        let steps = output_to_input(&fusion.module, fusion.entry(), second, 0);
        let readings: Vec<&Reading> = steps.iter().filter_map(only).collect();
        let ([left, right], [left_id, right_id]) = (&readings[..], &instruction.operands[..]) else {
            return Err(decline("it is not known what the dot reads", Some(instruction)));
        };
        let keys = match (&left.map.ranges[..], &right.map.ranges[..]) {
            ([key], [other]) if key.bounds == other.bounds && key.bounds.lower == 0 => key.bounds.upper + 1,
            _ => return Err(decline("it does not add up over one dimension of keys", Some(instruction))),
        };
        // The key becomes a dimension after those of the result.
        let sizes = [dims.as_slice(), &[keys]].concat();
        let place = |id: InstrId, reading: &Reading| {
            let results = at_range(&reading.map, Expr::dim(dims.len() as u32));
            Place { id, at: Reading::new(IndexingMap::from_tensor_sizes(results, &sizes, &[])) }
        };
        let operands = [place(*left_id, left), place(*right_id, right)];
        Ok(Walk { fusion, computation, second, dims, keys, operands })
    }

    fn instruction(&self, id: InstrId) -> &'f Instruction {
        self.computation.instruction(id)
    }

    fn decline(&self, reason: &str, id: InstrId) -> Decline {
        let instruction = self.instruction(id);
        decline(format!("{}: {reason}", instruction.name), Some(instruction))
    }

    /// Returns an operand of the instruction, and the map to the operand's element that is read, if
    /// a single map describes the read.
    fn step(&self, place: &Place, operand: usize) -> Result<Place, Decline> {
        let steps = output_to_input(&self.fusion.module, self.fusion.entry(), place.id, 0);
        let at = steps.get(operand).and_then(only).and_then(|step| place.at.then(step));
        let id = self.instruction(place.id).operands.get(operand).copied();
        match (id, at) {
            (Some(id), Some(at)) if is_plain(&at) => Ok(Place { id, at }),
            _ => Err(self.decline("it is not known which elements it reads", place.id)),
        }
    }

    /// Follows the value back through operations that only move elements or change their type.
    fn source(&self, mut place: Place) -> Result<Place, Decline> {
        while keeps_values(self.computation, self.instruction(place.id)) {
            place = self.step(&place, 0)?;
        }
        Ok(place)
    }

    fn operand(&self, place: &Place, number: usize) -> Result<Place, Decline> {
        self.source(self.step(place, number)?)
    }

    /// Returns the scores and the values. One operand of `second` is the softmax of the scores, and
    /// the other operand is the values.
    fn scores_and_values(&self) -> Result<(Place, Place), Decline> {
        let [left, right] = &self.operands;
        for (probabilities, values) in [(left, right), (right, left)] {
            let quotient = self.source(probabilities.clone())?;
            if self.instruction(quotient.id).op == Op::Binary(BinaryOp::Divide) {
                return Ok((self.scores(&quotient)?, values.clone()));
            }
        }
        Err(self.decline("no operand is a softmax: exponentials divided by their sum", self.second))
    }

    /// Checks that `quotient` is the softmax of scores. Returns these scores, and the map to the
    /// scores' elements.
    fn scores(&self, quotient: &Place) -> Result<Place, Decline> {
        let (exps, sum) = (self.operand(quotient, 0)?, self.operand(quotient, 1)?);
        if self.instruction(exps.id).op != Op::Unary(UnaryOp::Exponential) {
            return Err(self.decline("what is divided is no exponential", exps.id));
        }
        self.check_row(&sum, BinaryOp::Add, &exps)?;
        let difference = self.operand(&exps, 0)?;
        if self.instruction(difference.id).op != Op::Binary(BinaryOp::Subtract) {
            return Err(self.decline("nothing is subtracted from the scores", difference.id));
        }
        let (scores, mut maximum) = (self.operand(&difference, 0)?, self.operand(&difference, 1)?);
        // `maximum(reduce, -inf)` is the reduction itself.
        if self.instruction(maximum.id).op == Op::Binary(BinaryOp::Maximum) {
            let sides = [self.operand(&maximum, 0)?, self.operand(&maximum, 1)?];
            let Some(lowest) = sides.iter().position(|side| self.is_constant(side, f64::NEG_INFINITY)) else {
                return Err(self.decline("what is subtracted is not the maximum of the scores", maximum.id));
            };
            maximum = sides[1 - lowest].clone();
        }
        self.check_row(&maximum, BinaryOp::Maximum, &scores)?;
        Ok(scores)
    }

    /// Checks that `reduce` is the sum or the maximum (as `op` states) of the elements `row` over
    /// all keys.
    fn check_row(&self, reduce: &Place, op: BinaryOp, row: &Place) -> Result<(), Decline> {
        let instruction = self.instruction(reduce.id);
        let (what, start) = match op {
            BinaryOp::Add => ("sum of the exponentials", 0.0),
            _ => ("maximum of the scores", f64::NEG_INFINITY),
        };
        let wrong = || self.decline(&format!("it is not the {what} over all keys"), reduce.id);
        let Op::Reduce { to_apply, .. } = &instruction.op else { return Err(wrong()) };
        let applied = self.fusion.module.computation(*to_apply);
        let combines = applied.root_instruction();
        let is_whole = combines.op == Op::Binary(op) && applied.instructions.len() == 3;
        if !is_whole || instruction.operands.len() != 2 || combines.operands.first() == combines.operands.last() {
            return Err(wrong());
        }
        let elements = self.operand(reduce, 0)?;
        let [over] = &elements.at.map.ranges[..] else { return Err(wrong()) };
        let at = at_range(&elements.at.map, Expr::dim(self.dims.len() as u32));
        let is_row = over.bounds == Interval::from_size(self.keys)
            && elements.id == row.id
            && !self.reads_key(reduce)
            && at == row.at.map.results
            && self.is_constant(&self.operand(reduce, 1)?, start);
        if is_row { Ok(()) } else { Err(wrong()) }
    }

    fn is_constant(&self, place: &Place, wanted: f64) -> bool {
        let Op::Constant(Literal::Array(literal)) = &self.instruction(place.id).op else { return false };
        let size = literal.element_type.byte_size();
        FloatFormat::of(literal.element_type)
            .is_some_and(|format| *literal.data == format.encode(wanted).to_le_bytes()[..size])
    }

    /// Returns the dot from which the scores are computed, and the map to the dot's elements.
    fn first(&self, scores: &Place) -> Result<(InstrId, Reading), Decline> {
        let (mut pending, mut seen, mut dots) = (vec![scores.id], Vec::new(), Vec::new());
        while let Some(id) = pending.pop() {
            match self.instruction(id) {
                _ if seen.contains(&id) => {}
                Instruction { op: Op::Dot(_), .. } => dots.push(id),
                instruction => pending.extend(&instruction.operands),
            }
            seen.push(id);
        }
        let [first] = dots[..] else {
            let reason = format!("the scores come from {} dots instead of one", dots.len());
            return Err(self.decline(&reason, scores.id));
        };
        let maps = maps_from(&self.fusion.module, self.fusion.entry(), scores.id, 0);
        let at = only(&maps.instructions[first.index()]).and_then(|step| scores.at.then(step));
        match at {
            Some(at) if is_plain(&at) && at.map.ranges.is_empty() => Ok((first, at)),
            _ => Err(self.decline("the scores do not come from it element by element", first)),
        }
    }

    /// Returns the number of products that the first dot sums for each of its elements.
    fn depth(&self, queries: &Place, keys: &Place) -> Option<i64> {
        match (&queries.at.map.ranges[..], &keys.at.map.ranges[..]) {
            ([], []) => Some(1),
            ([one], [other]) if one.bounds == other.bounds && one.bounds.lower == 0 => Some(one.bounds.upper + 1),
            _ => None,
        }
    }

    fn reads_key(&self, place: &Place) -> bool {
        mentions(&place.at.map, self.dims.len())
    }

    /// Returns the role of each dimension of `second`'s result: group, query or feature.
    fn roles(&self, scores: &Place, keys: &Place, values: &Place) -> Roles {
        let role = |dim: usize| {
            let [scores, keys, values] = [scores, keys, values].map(|place| mentions(&place.at.map, dim));
            match (scores, keys, values) {
                (false, _, true) => Role::Feature,
                (_, false, false) => Role::Query,
                _ => Role::Group,
            }
        };
        Roles { dims: self.dims.iter().enumerate().map(|(dim, &size)| (role(dim), size)).collect() }
    }

    /// Follows the users of `second` as long as each user only moves elements or changes their
    /// type. Returns the last such user, and the map to the user's elements.
    fn root(&self) -> (InstrId, IndexingMap) {
        let users = self.computation.users();
        let (mut root, mut map) = (self.second, IndexingMap::identity(&self.dims));
        while !self.fusion.roots.contains(&root) {
            let [user] = users[root.index()][..] else { break };
            let instruction = self.instruction(user);
            let moved = input_to_output(&self.fusion.module, self.fusion.entry(), user, 0, 0);
            let next = only(&moved).filter(|step| is_plain(step) && step.map.ranges.is_empty());
            let next = next.and_then(|step| map.then(&step.map)).map(|next| next.simplify());
            match next {
                Some(next) if next.constraints.is_empty() && keeps_values(self.computation, instruction) => map = next,
                _ => break,
            }
            root = user;
        }
        (root, map)
    }

    fn computed_in(&self, all: &[InstrId]) -> Result<Scalar, Decline> {
        if let Some(&other) = all.iter().find(|&&id| !is_float(self.instruction(id))) {
            return Err(self.decline("it is none of f64, f32, bf16, f16", other));
        }
        let is_double = |&&id: &&InstrId| element_type(self.instruction(id)) == Some(ElementType::F64);
        Ok(if all.iter().any(|id| is_double(&id)) { Scalar::F64 } else { Scalar::F32 })
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Role {
    Group,
    Query,
    Feature,
}

/// Role and size of each dimension of `second`'s result.
struct Roles {
    dims: Vec<(Role, i64)>,
}

impl Roles {
    fn of(&self, role: Role) -> Vec<i64> {
        self.dims.iter().filter(|dim| dim.0 == role).map(|dim| dim.1).collect()
    }

    fn sizes(&self, keys: i64, depth: i64) -> Sizes {
        let size = |role| self.of(role).iter().fold(1i64, |n, &size| n.saturating_mul(size));
        let (groups, queries, features) = (size(Role::Group), size(Role::Query), size(Role::Feature));
        Sizes { groups, queries, keys, depth, features }
    }

    /// Returns the index in `second`'s result for a group (dimension 0), a query and a feature.
    fn index(&self, query: &Expr, feature: &Expr) -> Vec<Expr> {
        let part = |role, number: &Expr| delinearize(number, &self.of(role)).into_iter();
        let (mut groups, mut queries, mut features) =
            (part(Role::Group, &Expr::dim(0)), part(Role::Query, query), part(Role::Feature, feature));
        let next = self.dims.iter().map(|(role, _)| match role {
            Role::Group => groups.next(),
            Role::Query => queries.next(),
            Role::Feature => features.next(),
        });
        next.flatten().collect()
    }
}

/// Returns the reading of an operand, if exactly one reading is known.
fn only(indexing: &Indexing) -> Option<&Reading> {
    match indexing.known() {
        Some([reading]) => Some(reading),
        _ => None,
    }
}

/// Replaces the only range variable of a map by `value`, and returns the map's results.
fn at_range(map: &IndexingMap, value: Expr) -> Vec<Expr> {
    let mut replace = |leaf: &ExprKind| matches!(leaf, ExprKind::Range(_)).then(|| value.clone());
    map.results.iter().map(|expr| expr.replace_leaves(&mut replace)).collect()
}

/// Whether the index alone determines the element that is read, without run-time values or
/// constraints.
fn is_plain(reading: &Reading) -> bool {
    reading.runtime.is_empty() && reading.map.constraints.is_empty()
}

fn mentions(map: &IndexingMap, dim: usize) -> bool {
    map.results.iter().any(|expr| expr.mentions(&ExprKind::Dim(dim as u32)))
}

fn element_type(instruction: &Instruction) -> Option<ElementType> {
    instruction.shape.as_array().map(|array| array.element_type)
}

fn is_float(instruction: &Instruction) -> bool {
    let ty = element_type(instruction);
    ty.is_some_and(|ty| matches!(ty, ElementType::F64 | ElementType::F32 | ElementType::BF16 | ElementType::F16))
}

/// Whether every element of the instruction's result equals an element of its first operand, apart
/// from rounding.
fn keeps_values(computation: &Computation, instruction: &Instruction) -> bool {
    let from_float = instruction.operands.first().is_some_and(|&id| is_float(computation.instruction(id)));
    let moves = matches!(instruction.op, Op::Reshape | Op::Transpose { .. } | Op::Broadcast { .. } | Op::Copy);
    from_float && is_float(instruction) && (moves || instruction.op == Op::Convert)
}
