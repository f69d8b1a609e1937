//! Merges the products of one array with several other arrays into one product.
//!
//! ```text
//! dot(x, u), dot(x, v)    p = dot(x, concatenate(u, v)); slice p, slice p
//! ```
//!
//! The joined product reads `x` once, and can use cores that each separate product leaves idle. The
//! joined product requires a copy, which concatenates the other operands of the products. The copy
//! is hoisted out of a loop that does not change the concatenated operands. The pass compares the
//! times that emitters predict for the separate products, and for the joined product together with
//! its concatenation and slices.

use std::collections::{BTreeSet, HashMap};

use fusebox_core::hlo::{Computation, DotDims, ElementType, InstrId, Instruction, Module, Op, canonical_text};
use fusebox_edit::{EditError, Rewrite, Rewritten, detached_computation, with_callees};

use super::loop_invariants::leaving;
use crate::CompileError;
use crate::equal_instructions::depends_on_operands_alone;
use crate::fuse::{Claims, forecast};
use crate::roles::{Role, in_role};

/// The joined product must be predicted to save more than this fraction of the separate products'
/// time.
const LEAST_GAIN: f64 = 0.1;

/// Joins the products in all computations that thunks execute.
pub fn run(module: &mut Module, claims: &mut Claims) -> Result<(), CompileError> {
    let leaving = leaving(module, claims.device());
    let mut judge = ProductPredictor { claims, known: HashMap::new() };
    for id in in_role(module, Role::Sequence) {
        let old = module.computation(id);
        let leaves = leaving.get(&id).map_or(&[][..], |leaves| leaves);
        let mut won = Vec::new();
        for group in groups(old) {
            if judge.is_won(module, old, &group, group.is_made_before(leaves))? {
                won.push(group);
            }
        }
        if !won.is_empty() {
            joined(module, old, &won)?.put_into(module, id);
        }
    }
    Ok(())
}

/// Products with a common operand.
pub(super) struct ProductGroup {
    /// Index of the common operand: 0 or 1.
    side: usize,
    products: Vec<InstrId>,
    /// The operands that the products do not have in common, without repetition.
    others: Vec<InstrId>,
    /// Dimension in which the operands in `others` may differ in length.
    differs: Option<usize>,
}

/// Returns the groups of products that the pass can join in a computation. No product is in two
/// groups.
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

/// Returns, for each instruction, whether it may precede every product. An instruction may precede
/// every product if it is independent of products, loops, branches and operations whose order
/// matters.
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
    /// Adds a product of the common operand if the product differs from the group's first product
    /// at most in the length of a free dimension.
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

    /// Returns the outermost dimension along which the operands in `others` can be concatenated,
    /// and the corresponding dimension of the product.
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

    /// Returns a computation that contains only the group's products. Also returns a copy of the
    /// group that refers to the products by their ids in the new computation.
    fn alone(&self, module: &Module, computation: &Computation) -> Result<(Computation, ProductGroup), EditError> {
        let shared = computation.instruction(self.products[0]).operands[self.side];
        let mut parameters: HashMap<InstrId, InstrId> = HashMap::new();
        let mut products = Vec::new();
        let alone = detached_computation(module, "main", |edit| {
            for &id in [shared].iter().chain(&self.others) {
                let shape = &computation.instruction(id).shape;
                parameters.entry(id).or_insert_with(|| edit.parameter(shape.clone()));
            }
            for &product in &self.products {
                let product = computation.instruction(product);
                let operands: Vec<InstrId> = product.operands.iter().map(|operand| parameters[operand]).collect();
                products.push(edit.add_shaped(product.op.clone(), product.shape.clone(), operands));
            }
            edit.tuple(products.clone())
        })?;
        let others = self.others.iter().map(|id| parameters[id]).collect();
        Ok((alone, ProductGroup { side: self.side, products, others, differs: self.differs }))
    }

    /// Returns a replacement for each product: a slice of the joined product, which multiplies the
    /// common operand with the concatenation of the operands in `others`.
    fn write(&self, edit: &mut Rewrite) -> Option<Vec<InstrId>> {
        let old = edit.old();
        let (along, in_product) = self.along(old)?;
        let others: Vec<InstrId> = self.others.iter().map(|&other| edit.mapped(other)).collect();
        let sizes: Vec<i64> =
            others.iter().map(|&other| Some(edit.array(other)?.dims[along])).collect::<Option<_>>()?;
        edit.set_origin(old.instruction(self.others[0]));
        let whole = edit.concatenate(others, along);
        let first = old.instruction(self.products[0]);
        let mut operands = [whole; 2];
        operands[self.side] = edit.mapped(first.operands[self.side]);
        edit.set_origin(first);
        let product = edit.add_typed(first.op.clone(), element_type(first)?, operands);
        let slice = |&id: &InstrId| {
            let instruction = old.instruction(id);
            let number = self.others.iter().position(|&other| other == instruction.operands[1 - self.side])?;
            let start: i64 = sizes[..number].iter().sum();
            edit.set_origin(instruction);
            Some(edit.slice_along(product, in_product, start, start + sizes[number]))
        };
        self.products.iter().map(slice).collect()
    }
}

/// Predicts the times of products by asking emitters. Caches the answer for each distinct group of
/// products.
struct ProductPredictor<'a, 'c> {
    claims: &'a mut Claims<'c>,
    known: HashMap<(String, bool), bool>,
}

impl ProductPredictor<'_, '_> {
    /// Whether the joined product is predicted to save more than [`LEAST_GAIN`] of the separate
    /// products' time. If `is_free`, the concatenation is hoisted out of the loop and its time is
    /// ignored.
    fn is_won(
        &mut self,
        module: &Module,
        computation: &Computation,
        group: &ProductGroup,
        is_free: bool,
    ) -> Result<bool, EditError> {
        let (alone, group) = group.alone(module, computation)?;
        let separate = with_callees(module, alone.clone(), "products");
        let key = (canonical_text(&separate), is_free);
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        let mut merged = joined(module, &alone, &[group])?.computation;
        if is_free {
            merged = with_concatenations_as_parameters(module, &merged)?;
        }
        let merged = with_callees(module, merged, "joined");
        let is_won = self.gain(separate, merged).is_some_and(|gain| gain > LEAST_GAIN);
        self.known.insert(key, is_won);
        Ok(is_won)
    }

    /// Returns the fraction of the separate products' time that the joined product saves.
    fn gain(&mut self, separate: Module, merged: Module) -> Option<f64> {
        let merged = forecast(merged, self.claims).ok()?.seconds;
        let separate = forecast(separate, self.claims).ok()?.seconds;
        Some(1.0 - merged / separate)
    }
}

/// Returns the computation with a parameter in place of each concatenation.
fn with_concatenations_as_parameters(module: &Module, computation: &Computation) -> Result<Computation, EditError> {
    let rewritten = Rewrite::each(module, computation, |edit, _, instruction| {
        let is_concatenation = matches!(instruction.op, Op::Concatenate { .. });
        Ok::<_, EditError>(is_concatenation.then(|| edit.parameter(instruction.shape.clone())))
    })?;
    Ok(rewritten.computation)
}

/// Returns the computation with one joined product for each group. The instructions that a joined
/// product needs come before the group's first product.
pub(super) fn joined(module: &Module, old: &Computation, groups: &[ProductGroup]) -> Result<Rewritten, EditError> {
    let group_of: HashMap<InstrId, &ProductGroup> =
        groups.iter().flat_map(|group| group.products.iter().map(move |&product| (product, group))).collect();
    let mut is_placed = vec![false; old.instructions.len()];
    let mut edit = Rewrite::new(module, old);
    for id in old.ids() {
        if is_placed[id.index()] {
            continue;
        }
        let group = group_of.get(&id);
        let needed = group.map_or(BTreeSet::from([id]), |group| needed(old, &group.others, &is_placed));
        for id in needed {
            let new = edit.copy(old.instruction(id));
            edit.set(id, new);
            is_placed[id.index()] = true;
        }
        let Some(group) = group else { continue };
        let parts = group.write(&mut edit);
        for (number, &product) in group.products.iter().enumerate() {
            let part = parts.as_ref().map(|parts| parts[number]);
            let new = part.unwrap_or_else(|| edit.copy(old.instruction(product)));
            edit.set(product, new);
            is_placed[product.index()] = true;
        }
    }
    edit.finish()
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

/// Returns the instruction's further attributes that influence how a product is computed.
fn attributes(instruction: &Instruction) -> (Option<&String>, &[(String, String)]) {
    let extra = instruction.extra.as_ref();
    (extra.and_then(|it| it.backend_config.as_ref()), extra.map_or(&[], |it| &it.other))
}
