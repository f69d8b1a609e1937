//! Concatenates and the results that come from them.

use fusebox_core::analysis::{Hero, hero_of, hero_to_root, moves_elements};
use fusebox_core::emitter::{Analysis, Decline, Fusion};
use fusebox_core::hlo::{Computation, InstrId, Op, Shape};
use fusebox_core::indexing::IndexingMap;

use crate::accept::{check, concatenate};

/// An operand of a concatenate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The operand.
    pub instruction: InstrId,
    /// First index in the result along the dimension of the concatenate.
    pub offset: i64,
}

/// A concatenate that is the hero of at least one result.
pub struct Joined {
    /// The concatenate.
    pub hero: InstrId,
    /// Dimension along which the operands are concatenated.
    pub dimension: usize,
    /// Dimensions of the concatenate.
    pub dims: Vec<i64>,
    /// Operands that have elements.
    pub operands: Vec<Operand>,
    /// Outputs that are the concatenate itself.
    pub direct: Vec<usize>,
    /// Outputs of epilogues, grouped by dimensions.
    pub epilogues: Vec<Epilogue>,
}

/// Results of equal dimensions that are computed from a concatenate's elements.
pub struct Epilogue {
    /// The results' instructions, each once.
    pub roots: Vec<InstrId>,
    /// `(output, result)`: the output's number in the kernel and the number of its value.
    pub outputs: Vec<(usize, usize)>,
    /// Map from an index of the concatenate to the index of the results.
    pub from_hero: IndexingMap,
}

/// A result with another hero or without a hero.
pub struct Beside {
    /// The result.
    pub root: InstrId,
    /// Outputs of the result, one per leaf.
    pub outputs: Vec<usize>,
}

/// The results of a fusion that the emitter takes.
pub struct Results {
    /// Concatenates with the results that come from them.
    pub joined: Vec<Joined>,
    /// Results that do not come from a concatenate.
    pub beside: Vec<Beside>,
}

impl Analysis for Results {
    fn of(fusion: &Fusion) -> Result<Self, Decline> {
        let computation = fusion.computation();
        let heroes: Vec<Hero> = fusion.roots.iter().map(|&root| hero(computation, root)).collect();
        check(fusion, &heroes)?;
        let (mut joined, mut beside): (Vec<Joined>, Vec<Beside>) = (Vec::new(), Vec::new());
        let mut output = 0;
        for hero in heroes {
            let first = output;
            output += computation.instruction(hero.root).shape.leaves().len();
            let Some(concatenate) = concatenate(computation, &hero) else {
                beside.push(Beside { root: hero.root, outputs: (first..output).collect() });
                continue;
            };
            let position = match joined.iter().position(|joined| joined.hero == concatenate) {
                Some(position) => position,
                None => {
                    joined.extend(Joined::new(computation, concatenate));
                    joined.len() - 1
                }
            };
            joined[position].add(computation, hero.root, first)?;
        }
        Ok(Results { joined, beside })
    }
}

/// Returns the hero of a result. One of several concatenates sets the iteration space. For the
/// others, the kernel chooses between reads. A result that also comes from a reduction or a
/// transpose has no hero, because the kernel would compute the elements of these in the order of
/// the concatenate.
fn hero(computation: &Computation, root: InstrId) -> Hero {
    hero_of(computation, root, |id| {
        let instruction = computation.instruction(id);
        let is_other = matches!(instruction.op, Op::Reduce { .. }) || moves_elements(instruction);
        let is_concatenate = is_concatenate(computation, id);
        (is_concatenate || is_other).then_some(is_concatenate)
    })
}

/// Whether the instruction is a concatenate.
pub fn is_concatenate(computation: &Computation, id: InstrId) -> bool {
    matches!(computation.instruction(id).op, Op::Concatenate { .. })
}

impl Joined {
    fn new(computation: &Computation, hero: InstrId) -> Option<Self> {
        let instruction = computation.instruction(hero);
        let (Op::Concatenate { dimension }, Shape::Array(array)) = (&instruction.op, &instruction.shape) else {
            return None;
        };
        Some(Joined {
            hero,
            dimension: *dimension as usize,
            dims: array.dims.clone(),
            operands: operands(computation, hero),
            direct: Vec::new(),
            epilogues: Vec::new(),
        })
    }

    /// Returns the results of epilogues.
    pub fn epilogue_roots(&self) -> Vec<InstrId> {
        self.epilogues.iter().flat_map(|epilogue| &epilogue.roots).copied().collect()
    }

    fn add(&mut self, computation: &Computation, root: InstrId, output: usize) -> Result<(), Decline> {
        if root == self.hero {
            self.direct.push(output);
            return Ok(());
        }
        let (hero, root_instruction) = (computation.instruction(self.hero), computation.instruction(root));
        let from_hero = hero_to_root(hero, root_instruction).ok_or_else(|| {
            Decline::at(
                root_instruction,
                format!("{} has not as many elements as {}", root_instruction.name, hero.name),
            )
        })?;
        let dims = |id: InstrId| computation.instruction(id).shape.as_array().map(|array| &array.dims);
        let known = self.epilogues.iter().position(|epilogue| dims(epilogue.roots[0]) == dims(root));
        let position = known.unwrap_or(self.epilogues.len());
        if known.is_none() {
            self.epilogues.push(Epilogue { roots: Vec::new(), outputs: Vec::new(), from_hero });
        }
        let epilogue = &mut self.epilogues[position];
        let value = epilogue.roots.iter().position(|&known| known == root).unwrap_or(epilogue.roots.len());
        if value == epilogue.roots.len() {
            epilogue.roots.push(root);
        }
        epilogue.outputs.push((output, value));
        Ok(())
    }
}

/// Returns the operands that have elements. An operand that is itself a concatenate along the same
/// dimension is replaced by its own operands.
pub fn operands(computation: &Computation, concatenate: InstrId) -> Vec<Operand> {
    let Op::Concatenate { dimension } = computation.instruction(concatenate).op else { return Vec::new() };
    let mut found = Vec::new();
    let mut offset = 0;
    // Operands to visit, the next one last.
    let mut pending: Vec<InstrId> = computation.instruction(concatenate).operands.iter().rev().copied().collect();
    while let Some(id) = pending.pop() {
        let instruction = computation.instruction(id);
        match (&instruction.op, &instruction.shape) {
            (Op::Concatenate { dimension: inner }, _) if *inner == dimension => {
                pending.extend(instruction.operands.iter().rev());
            }
            (_, Shape::Array(array)) => {
                if array.element_count() > 0 {
                    found.push(Operand { instruction: id, offset });
                }
                offset += array.dims.get(dimension as usize).copied().unwrap_or(0);
            }
            _ => {}
        }
    }
    found
}
