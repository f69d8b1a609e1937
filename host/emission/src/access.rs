//! Finds which operands an instruction reads, at which indices, in which loops and under which
//! conditions. Translates the indexing maps of each instruction to index values in the scopes of a
//! function.

use fusebox_core::builder::Type;
use fusebox_core::hlo::{InstrId, Op};
use fusebox_core::indexing::{Access, Constraint, Expr, Interval, OperandRead, access};

use crate::elemental::state::loop_states;
use crate::error::Result;
use crate::index::{Atom, IndexId, RuntimeIndex, Token};
use crate::partition::{BoundsCondition, Branch, InstructionSite, Partition, Recipe, leaf_dims};
use crate::scope::{ScopeId, ScopeKind};

/// The scope and conditions of a read.
struct ReadContext {
    scope: ScopeId,
    /// Index of the innermost branch around the read.
    branch: Option<usize>,
    loops: usize,
    reachable: bool,
    runtime: Vec<IndexId>,
}

/// A recipe under construction.
struct RecipePlanner<'p, 'm> {
    partition: &'p mut Partition<'m>,
    id: InstrId,
    site: &'p InstructionSite,
    access: &'p Access,
    /// Types of the values that each loop carries.
    states: Vec<Vec<Type>>,
    /// Range variables of the loops entered so far.
    ranges: Vec<IndexId>,
    /// Whether only one operand of a concatenation can be read. If only one operand can be read,
    /// reading it needs no condition.
    one_part: bool,
    recipe: Recipe,
}

impl Partition<'_> {
    /// Returns how an instruction reads its operands at its site. The site is the function, scope
    /// and index at which the instruction is computed.
    pub fn recipe(&mut self, id: InstrId, site: &InstructionSite) -> Result<Recipe> {
        if leaf_dims(&self.instruction(id).shape).is_none() {
            return Err(self.error(id, "the results have different dimensions"));
        }
        let access = &access(self.computation, self.instruction(id)).map_err(|reason| self.error(id, reason))?;
        let states = loop_states(self, id, access.loops.len())?;
        let (ranges, recipe) = (Vec::new(), Recipe::default());
        let mut planner = RecipePlanner { partition: self, id, site, access, states, ranges, one_part: false, recipe };
        planner.one_part = planner.hits_one_part()?;
        planner.recipe()
    }
}

impl RecipePlanner<'_, '_> {
    fn recipe(mut self) -> Result<Recipe> {
        let reads = &self.access.reads;
        let mut contexts = Vec::with_capacity(reads.len());
        for read in reads {
            contexts.push(match read.unless {
                None => Some(self.place(read)?),
                Some(_) => None,
            });
        }
        // A loop has no effect if one of the reads in the loop never happens.
        let looped = |place: &ReadContext| place.loops > 0;
        let idle = contexts.iter().flatten().any(|place| looped(place) && !place.reachable);
        for (read, place) in reads.iter().zip(&contexts) {
            if let Some(place) = place.as_ref().filter(|place| place.reachable && !(idle && looped(place))) {
                self.read(read, place.scope, &place.runtime)?;
            }
        }
        for read in reads {
            let other = read.unless.and_then(|other| contexts[other].as_ref());
            if let Some(scope) = other.and_then(|other| self.otherwise(other)) {
                self.read(read, scope, &[])?;
            }
        }
        for number in 0..self.access.loops.len() {
            let around = self.recipe.loops.last().copied().unwrap_or(self.site.scope);
            self.enter(number, around);
        }
        for index in self.access.indices.iter().filter(|_| !idle) {
            let index = self.at(index, &[])?;
            self.recipe.indices.push(index);
        }
        Ok(self.recipe)
    }

    fn hits_one_part(&mut self) -> Result<bool> {
        if !matches!(self.partition.instruction(self.id).op, Op::Concatenate { .. }) {
            return Ok(false);
        }
        let mut parts = 0;
        for read in &self.access.reads {
            let mut possible = true;
            for Constraint { expr, bounds } in &read.reading.map.constraints {
                let index = self.at(expr, &[])?;
                possible &= !self.partition.indices.bounds(index).intersect(*bounds).is_empty();
            }
            parts += usize::from(possible);
        }
        Ok(parts == 1)
    }

    /// Enters the loops that a read depends on, outermost first. In each loop, adds a branch on the
    /// conditions that do not depend on loops further inside.
    fn place(&mut self, read: &OperandRead) -> Result<ReadContext> {
        let map = &read.reading.map;
        let depth = |expr: &Expr| self.access.loops_around(expr);
        let exprs = map.results.iter().chain(map.constraints.iter().map(|constraint| &constraint.expr));
        let loops = exprs.map(depth).max().unwrap_or(0);
        let runtime = self.runtime_values(read)?;
        let mut place = ReadContext { scope: self.site.scope, branch: None, loops, reachable: true, runtime };
        for level in 0..=loops {
            if level > 0 {
                place.scope = self.enter(level - 1, place.scope);
                place.reachable &= self.access.loops[level - 1].iter().all(|variable| !variable.bounds.is_empty());
            }
            let mut conditions = Vec::new();
            for Constraint { expr, bounds } in &map.constraints {
                // The first loop also checks conditions that depend on no loop, because values can
                // be skipped only inside a loop.
                if self.access.loops_around(expr).max(loops.min(1)) == level {
                    conditions.push(BoundsCondition { index: self.at(expr, &place.runtime)?, bounds: *bounds });
                }
            }
            if !conditions.is_empty() {
                let number = self.branch(place.scope, conditions);
                let branch = &self.recipe.branches[number];
                (place.scope, place.branch) = (branch.scope, Some(number));
                place.reachable &= branch.reachable;
            }
        }
        Ok(place)
    }

    /// Returns the scope for reads that happen only where a condition of another read is false.
    /// Returns `None` if the conditions of the other read are always true.
    fn otherwise(&mut self, other: &ReadContext) -> Option<ScopeId> {
        let branch = &self.recipe.branches[other.branch?];
        match (branch.reachable, branch.conditions.is_empty()) {
            (false, _) => Some(self.site.scope),
            (true, true) => None,
            (true, false) => {
                let parent = branch.parent;
                let scope = self.partition.add_scope(parent, ScopeKind::Branch);
                self.recipe.branches.push(Branch { parent, scope, conditions: Vec::new(), reachable: true });
                Some(scope)
            }
        }
    }

    fn read(&mut self, read: &OperandRead, scope: ScopeId, runtime: &[IndexId]) -> Result<()> {
        let token = self.token(&read.reading.map.results, runtime)?;
        self.recipe.reads.push(self.partition.read(read.instruction, scope, token));
        self.recipe.operands.push(read.operand);
        Ok(())
    }

    /// Returns the scope of a loop. Creates the scope inside `around` if it does not exist yet.
    fn enter(&mut self, number: usize, around: ScopeId) -> ScopeId {
        if let Some(&scope) = self.recipe.loops.get(number) {
            return scope;
        }
        let sizes = self.access.loops[number].iter().map(|variable| variable.bounds.size() as i64).collect();
        let state = std::mem::take(&mut self.states[number]);
        let scope = self.partition.add_scope(around, ScopeKind::Loop { sizes, state });
        self.ranges.extend(self.partition.ranges(scope));
        self.recipe.loops.push(scope);
        scope
    }

    /// Adds a branch whose code runs only if all conditions hold. Returns the number of the branch.
    /// Drops conditions that always hold within the bounds of the indices.
    fn branch(&mut self, parent: ScopeId, conditions: Vec<BoundsCondition>) -> usize {
        let mut open = Vec::new();
        let mut reachable = true;
        for condition in conditions {
            let (possible, allowed) = (self.partition.indices.bounds(condition.index), condition.bounds);
            reachable &= !possible.intersect(allowed).is_empty();
            if !allowed.contains_interval(possible) && !self.one_part {
                open.push(condition);
            }
        }
        let branches = &mut self.recipe.branches;
        let known = |b: &Branch| (b.parent, &b.conditions, b.reachable) == (parent, &open, reachable);
        if let Some(known) = branches.iter().position(known) {
            return known;
        }
        let plain = open.is_empty() || !reachable;
        let scope = if plain { parent } else { self.partition.add_scope(parent, ScopeKind::Branch) };
        branches.push(Branch { parent, scope, conditions: open, reachable });
        branches.len() - 1
    }

    /// Returns the values that the kernel reads at run time to compute the indices of a read.
    fn runtime_values(&mut self, read: &OperandRead) -> Result<Vec<IndexId>> {
        let mut values = Vec::new();
        for (variable, value) in read.reading.map.runtime.iter().zip(&read.reading.runtime) {
            let at = self.token(&value.index, &values)?;
            values.push(self.runtime(value.instruction, at, variable.bounds));
        }
        Ok(values)
    }

    /// Returns the value of an integer instruction as an index, clamped to `bounds`.
    fn runtime(&mut self, instruction: InstrId, at: Token, bounds: Interval) -> IndexId {
        let (partition, site) = (&mut *self.partition, self.site);
        // A scalar is the same everywhere in a function, and reading it needs no condition.
        let scope = if at.is_empty() { partition.body_of(site.scope) } else { site.scope };
        if bounds.upper <= 0 {
            return partition.indices.constant(0);
        }
        let read = partition.read(instruction, scope, at);
        let runtime = RuntimeIndex { instruction, at: read.token, scope: read.scope, limit: bounds.upper };
        partition.indices.atom(Atom::Runtime(runtime), bounds, read.scope)
    }

    fn token(&mut self, exprs: &[Expr], runtime: &[IndexId]) -> Result<Token> {
        exprs.iter().map(|expr| self.at(expr, runtime)).collect()
    }

    /// Evaluates an expression of an indexing map at the index at which the instruction is
    /// computed.
    fn at(&mut self, expr: &Expr, runtime: &[IndexId]) -> Result<IndexId> {
        let index = self.partition.indices.substitute(expr, &self.site.token, &self.ranges, runtime);
        index.map_err(|reason| self.partition.error(self.id, reason))
    }
}
