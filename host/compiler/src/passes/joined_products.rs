//! Merges products of one array with several others into one product.
//!
//! ```text
//! dot(x, u), dot(x, v)    p = dot(x, concatenate(u, v)); slice p, slice p
//! ```
//!
//! The joined product reads `x` once, and can use cores that each separate product leaves idle.
//! Concatenating the other operands is a copy. The copy is hoisted out of a loop that does not
//! change these operands. The pass compares the times that emitters predict for the separate
//! products, and for the joined product together with its concatenation and slices.

use std::collections::{BTreeSet, HashMap};

use fusebox_core::hlo::{
    Computation, DotDims, ElementType, Extra, InstrId, Instruction, Module, Op, Shape, SliceDim, Span, canonical_text,
};

use super::common_subexpressions::depends_on_operands_alone;
use super::loop_invariants::leaving;
use crate::CompileError;
use crate::fuse::{Claims, forecast};
use crate::host_module::with_callees;
use crate::rebuild::Rebuild;
use crate::roles::{Role, in_role};

/// Least fraction of the separate products' time that the joined product must be predicted to save.
const LEAST_GAIN: f64 = 0.1;

/// Joins the products in all computations that thunks execute.
pub fn run(module: &mut Module, claims: &mut Claims) -> Result<(), CompileError> {
    let leaving = leaving(module, claims.device());
    let mut judge = ProductPredictor { claims, known: HashMap::new() };
    for id in in_role(module, Role::Sequence) {
        let old = module.computation(id);
        let leaves = leaving.get(&id).map_or(&[][..], |leaves| leaves);
        let mut groups = groups(old);
        groups.retain(|group| judge.is_won(module, old, group, group.is_made_before(leaves)));
        if !groups.is_empty() {
            module.computations[id.index()] = joined(old, &groups);
        }
    }
    Ok(())
}

/// Products with a common operand.
pub(super) struct ProductGroup {
    /// Number of the common operand: 0 or 1.
    side: usize,
    products: Vec<InstrId>,
    /// The other operands, without repetition.
    others: Vec<InstrId>,
    /// Dimension in which the other operands may differ.
    differs: Option<usize>,
}

/// Returns the groups of a computation. No product is in two groups.
pub(super) fn groups(computation: &Computation) -> Vec<ProductGroup> {
    let is_early = before_products(computation);
    let users = computation.users();
    let mut is_taken = vec![false; users.len()];
    let mut groups: Vec<ProductGroup> = Vec::new();
    for (side, shared) in [0, 1].into_iter().flat_map(|side| computation.ids().map(move |id| (side, id))) {
        let mut of_shared: Vec<ProductGroup> = Vec::new();
        for &user in &users[shared.index()] {
            let instruction = computation.instruction(user);
            let is_product = matches!(instruction.op, Op::Dot(_)) && instruction.operands[side] == shared;
            if is_product && !is_taken[user.index()] && is_early[instruction.operands[1 - side].index()] {
                let found = of_shared.iter_mut().any(|group| group.admit(computation, user));
                if !found {
                    let others = vec![instruction.operands[1 - side]];
                    of_shared.push(ProductGroup { side, products: vec![user], others, differs: None });
                }
            }
        }
        of_shared.retain(|group| group.others.len() > 1 && group.along(computation).is_some());
        of_shared.iter().flat_map(|group| &group.products).for_each(|product| is_taken[product.index()] = true);
        groups.extend(of_shared);
    }
    groups
}

/// Returns for each instruction whether it may precede every product: it depends on no product,
/// loop or branch, and on no operation whose order matters.
fn before_products(computation: &Computation) -> Vec<bool> {
    let mut is_early = vec![false; computation.instructions.len()];
    for (id, instruction) in computation.ids().zip(&computation.instructions) {
        is_early[id.index()] = match &instruction.op {
            Op::Parameter { .. } => true,
            Op::Dot(_) | Op::While { .. } | Op::Conditional { .. } => false,
            op => depends_on_operands_alone(op) && instruction.operands.iter().all(|it| is_early[it.index()]),
        };
    }
    is_early
}

impl ProductGroup {
    /// Adds a product of the common operand, if it differs from the first at most in the length of
    /// a free dimension.
    fn admit(&mut self, computation: &Computation, product: InstrId) -> bool {
        let [first, new] = [self.products[0], product].map(|id| computation.instruction(id));
        let Op::Dot(dims) = &first.op else { return false };
        let other = new.operands[1 - self.side];
        let [Some(one), Some(two)] = [self.others[0], other].map(|id| computation.instruction(id).shape.as_array())
        else {
            return false;
        };
        let is_alike = first.op == new.op
            && element_type(first) == element_type(new)
            && one.element_type == two.element_type
            && one.rank() == two.rank()
            && attributes(first) == attributes(new);
        if !is_alike {
            return false;
        }
        let mut differing = (0..one.rank()).filter(|&d| one.dims[d] != two.dims[d]);
        let differs = differing.next();
        let free = free_dims(dims, 1 - self.side, one.rank());
        let agrees = differs.is_none_or(|d| free.contains(&d) && self.differs.is_none_or(|known| known == d));
        if differing.next().is_some() || !agrees {
            return false;
        }
        self.differs = self.differs.or(differs);
        self.products.push(product);
        if !self.others.contains(&other) {
            self.others.push(other);
        }
        true
    }

    /// Returns the outermost dimension along which the other operands can be concatenated, and the
    /// dimension of the product that corresponds to it.
    fn along(&self, computation: &Computation) -> Option<(usize, usize)> {
        let product = computation.instruction(self.products[0]);
        let Op::Dot(dims) = &product.op else { return None };
        let rank = computation.instruction(self.others[0]).shape.as_array()?.rank();
        let free = free_dims(dims, 1 - self.side, rank);
        let position = match self.differs {
            Some(differs) => free.iter().position(|&d| d == differs)?,
            None => 0,
        };
        let behind = match self.side {
            0 => product.shape.as_array()?.rank() - free.len(),
            _ => dims.lhs_batch.len(),
        };
        Some((*free.get(position)?, behind + position))
    }

    /// Whether the concatenation can be hoisted out of the loop that contains the products.
    fn is_made_before(&self, leaves: &[bool]) -> bool {
        !leaves.is_empty() && self.others.iter().all(|other| leaves[other.index()])
    }

    /// Returns a computation that contains only the group's products, and the group that consists
    /// of its instructions.
    fn alone(&self, computation: &Computation) -> (Computation, ProductGroup) {
        let shared = computation.instruction(self.products[0]).operands[self.side];
        let mut instructions: Vec<Instruction> = Vec::new();
        let mut numbers: HashMap<InstrId, InstrId> = HashMap::new();
        for &id in [shared].iter().chain(&self.others) {
            let number = instructions.len();
            numbers.entry(id).or_insert_with(|| {
                let (op, shape) = (Op::Parameter { number: number as i64 }, computation.instruction(id).shape.clone());
                instructions.push(Instruction::new(format!("p{number}"), shape, op, Vec::new()));
                InstrId(number as u32)
            });
        }
        let products: Vec<InstrId> =
            (instructions.len()..).map(|n| InstrId(n as u32)).take(self.products.len()).collect();
        for (number, &product) in self.products.iter().enumerate() {
            let mut copy = computation.instruction(product).clone();
            copy.name = format!("product{number}");
            copy.operands.iter_mut().for_each(|operand| *operand = numbers[operand]);
            copy.extra = None;
            instructions.push(copy);
        }
        let shapes = products.iter().map(|id| instructions[id.index()].shape.clone()).collect();
        let root = InstrId(instructions.len() as u32);
        instructions.push(Instruction::new("products", Shape::Tuple(shapes), Op::Tuple, products.clone()));
        let others = self.others.iter().map(|id| numbers[id]).collect();
        let alone =
            Computation { name: "main".into(), instructions, root, execution_thread: None, span: Span::default() };
        (alone, ProductGroup { side: self.side, products, others, differs: self.differs })
    }

    /// Returns a replacement for each product: a slice of the product of the common operand with
    /// `whole`.
    fn write(&self, rebuild: &mut Rebuild, old: &Computation, whole: InstrId) -> Option<Vec<InstrId>> {
        let first = old.instruction(self.products[0]);
        let (along, in_product) = self.along(old)?;
        let length = |id: InstrId| Some(old.instruction(id).shape.as_array()?.dims[along]);
        let sizes = self.others.iter().map(|&other| length(other)).collect::<Option<Vec<i64>>>()?;
        let array = first.shape.as_array()?;
        let part = |size: i64| {
            let mut dims = array.dims.to_vec();
            dims[in_product] = size;
            Shape::array(array.element_type, dims)
        };
        let mut operands = [whole; 2];
        operands[self.side] = rebuild.mapped(first.operands[self.side]);
        let product = rebuild.add(first, first.op.clone(), part(sizes.iter().sum()), operands.into());
        let slice = |&id: &InstrId| {
            let instruction = old.instruction(id);
            let number = self.others.iter().position(|&other| other == instruction.operands[1 - self.side])?;
            let start: i64 = sizes[..number].iter().sum();
            let shape = part(sizes[number]);
            let mut dims: Vec<SliceDim> =
                array.dims.iter().map(|&limit| SliceDim { start: 0, limit, stride: 1 }).collect();
            dims[in_product] = SliceDim { start, limit: start + sizes[number], stride: 1 };
            Some(rebuild.push(with_metadata_of(instruction, Op::Slice { dims }, shape, vec![product])))
        };
        self.products.iter().map(slice).collect()
    }

    /// Returns the shape of the concatenated operands.
    fn shape(&self, old: &Computation, along: usize) -> Option<Shape> {
        let arrays = self.others.iter().map(|&it| old.instruction(it).shape.as_array()).collect::<Option<Vec<_>>>()?;
        let mut dims = arrays[0].dims.to_vec();
        dims[along] = arrays.iter().map(|array| array.dims[along]).sum();
        Some(Shape::array(arrays[0].element_type, dims))
    }
}

/// Predicts the times of products by asking emitters. Caches the answer for each form of a group.
struct ProductPredictor<'a, 'c> {
    claims: &'a mut Claims<'c>,
    known: HashMap<(String, bool), bool>,
}

impl ProductPredictor<'_, '_> {
    /// Whether the joined product is predicted to take less time. `is_free`: the concatenation is
    /// hoisted out of the loop.
    fn is_won(&mut self, module: &Module, computation: &Computation, group: &ProductGroup, is_free: bool) -> bool {
        let (alone, group) = group.alone(computation);
        let separate = with_callees(module, alone, "products");
        let key = (canonical_text(&separate), is_free);
        if let Some(&known) = self.known.get(&key) {
            return known;
        }
        let is_won = self.gain(&separate, &group, is_free).is_some_and(|gain| gain > LEAST_GAIN);
        self.known.insert(key, is_won);
        is_won
    }

    /// Returns the fraction of the separate products' time that the joined product saves.
    fn gain(&mut self, separate: &Module, group: &ProductGroup, is_free: bool) -> Option<f64> {
        let alone = separate.entry_computation()?;
        let mut merged = joined(alone, std::slice::from_ref(group));
        if is_free {
            let number = merged.parameters().len() as i64;
            let whole = merged.instructions.iter_mut().find(|it| matches!(it.op, Op::Concatenate { .. }))?;
            (whole.op, whole.operands) = (Op::Parameter { number }, Vec::new());
        }
        let merged = forecast(with_callees(separate, merged, "joined"), self.claims).ok()?.seconds;
        let separate = forecast(separate.clone(), self.claims).ok()?.seconds;
        Some(1.0 - merged / separate)
    }
}

/// Returns the computation with one joined product for each group. The instructions that a joined
/// product needs come before the group's first product.
pub(super) fn joined(old: &Computation, groups: &[ProductGroup]) -> Computation {
    let group_of: HashMap<InstrId, &ProductGroup> =
        groups.iter().flat_map(|group| group.products.iter().map(move |&product| (product, group))).collect();
    let mut is_placed = vec![false; old.instructions.len()];
    let mut rebuild = Rebuild::new(old);
    for id in old.ids() {
        if is_placed[id.index()] {
            continue;
        }
        let group = group_of.get(&id);
        let needed = group.map_or(BTreeSet::from([id]), |group| needed(old, &group.others, &is_placed));
        for id in needed {
            let new = rebuild.copy(old.instruction(id));
            rebuild.set(id, new);
            is_placed[id.index()] = true;
        }
        let Some(group) = group else { continue };
        let parts = put_together(&mut rebuild, old, group).and_then(|whole| group.write(&mut rebuild, old, whole));
        for (number, &product) in group.products.iter().enumerate() {
            let part = parts.as_ref().map(|parts| parts[number]);
            let new = part.unwrap_or_else(|| rebuild.copy(old.instruction(product)));
            rebuild.set(product, new);
            is_placed[product.index()] = true;
        }
    }
    rebuild.finish()
}

/// Returns the instructions that `values` depend on and that are not placed yet.
fn needed(old: &Computation, values: &[InstrId], is_placed: &[bool]) -> BTreeSet<InstrId> {
    let (mut needed, mut open) = (BTreeSet::new(), values.to_vec());
    while let Some(id) = open.pop() {
        if !is_placed[id.index()] && needed.insert(id) {
            open.extend(&old.instruction(id).operands);
        }
    }
    needed
}

/// Concatenates the other operands of a group.
fn put_together(rebuild: &mut Rebuild, old: &Computation, group: &ProductGroup) -> Option<InstrId> {
    let (along, _) = group.along(old)?;
    let operands = group.others.iter().map(|&other| rebuild.mapped(other)).collect();
    let origin = old.instruction(group.others[0]);
    let shape = group.shape(old, along)?;
    Some(rebuild.push(with_metadata_of(origin, Op::Concatenate { dimension: along as i64 }, shape, operands)))
}

/// Returns the free dimensions of an operand: neither batch nor contracted.
fn free_dims(dims: &DotDims, side: usize, rank: usize) -> Vec<usize> {
    let (batch, summed) = match side {
        0 => (&dims.lhs_batch, &dims.lhs_contracting),
        _ => (&dims.rhs_batch, &dims.rhs_contracting),
    };
    (0..rank).filter(|&d| !batch.contains(&(d as i64)) && !summed.contains(&(d as i64))).collect()
}

fn element_type(instruction: &Instruction) -> Option<ElementType> {
    instruction.shape.as_array().map(|array| array.element_type)
}

/// Returns the attributes outside of the operation that influence how a product is computed.
fn attributes(instruction: &Instruction) -> (Option<&String>, &[(String, String)]) {
    let extra = instruction.extra.as_ref();
    (extra.and_then(|it| it.backend_config.as_ref()), extra.map_or(&[], |it| &it.other))
}

/// Returns an instruction with the name, metadata and source position of `origin`, but none of its
/// other attributes.
fn with_metadata_of(origin: &Instruction, op: Op, shape: Shape, operands: Vec<InstrId>) -> Instruction {
    let metadata = origin.extra.as_ref().and_then(|extra| extra.metadata.clone());
    let extra = metadata.map(|metadata| Box::new(Extra { metadata: Some(metadata), ..Extra::default() }));
    Instruction { name: origin.name.clone(), shape, op, operands, extra, span: origin.span }
}
