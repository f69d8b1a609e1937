//! Concatenates and the results that come from them.

use fusebox_core::analysis::{Hero, hero_of, hero_to_root, moves_elements};
use fusebox_core::emitter::{Analysis, Decline, Fusion};
use fusebox_core::hlo::{Computation, InstrId, Op, Shape};
use fusebox_core::indexing::IndexingMap;

use crate::accept::{check, concatenate};
use crate::operands::{ConcatenateOperand, is_concatenate, operands};

/// A concatenate that is the hero of at least one result.
pub struct ConcatenateHero {
    /// The concatenate.
    pub hero: InstrId,
    /// Dimension along which the operands are concatenated.
    pub dimension: usize,
    /// Dimensions of the concatenate.
    pub dims: Vec<i64>,
    /// Operands that have elements.
    pub operands: Vec<ConcatenateOperand>,
    /// Indices of the outputs that are the concatenate itself, without an epilogue.
    pub direct: Vec<usize>,
    /// Results of epilogues. All results of a group have the same dimensions.
    pub epilogues: Vec<EpilogueGroup>,
}

/// A group of results with equal dimensions. Epilogue functions compute the results from a
/// concatenate's elements.
pub struct EpilogueGroup {
    /// Instructions that compute the results, without duplicates.
    pub roots: Vec<InstrId>,
    /// Pairs `(output, result)`. `output` is the number of an output of the kernel, and `result` is
    /// the position of the output's instruction in `roots`.
    pub outputs: Vec<(usize, usize)>,
    /// Map from an index of the concatenate to the index of the results.
    pub from_hero: IndexingMap,
}

/// A result whose hero is not a concatenate, or which has no hero.
pub struct SideResult {
    /// The result.
    pub root: InstrId,
    /// Numbers of the outputs to which the kernel writes the result, one number per leaf.
    pub outputs: Vec<usize>,
}

/// Results of a supported fusion, grouped by their heroes.
pub struct ConcatenateResults {
    /// Concatenates, each with the results that come from it.
    pub concatenates: Vec<ConcatenateHero>,
    /// Results that do not come from a concatenate.
    pub side_results: Vec<SideResult>,
}

impl Analysis for ConcatenateResults {
    fn of(fusion: &Fusion) -> Result<Self, Decline> {
        let computation = fusion.computation();
        let heroes: Vec<Hero> = fusion.roots.iter().map(|&root| hero(computation, root)).collect();
        check(fusion, &heroes)?;
        let (mut concatenates, mut side_results): (Vec<ConcatenateHero>, Vec<SideResult>) = (Vec::new(), Vec::new());
        let mut output = 0;
        for hero in heroes {
            let first = output;
            output += computation.instruction(hero.root).shape.leaves().len();
            let Some(concatenate) = concatenate(computation, &hero) else {
                side_results.push(SideResult { root: hero.root, outputs: (first..output).collect() });
                continue;
            };
            let position = match concatenates.iter().position(|known| known.hero == concatenate) {
                Some(position) => position,
                None => {
                    concatenates.extend(ConcatenateHero::new(computation, concatenate));
                    concatenates.len() - 1
                }
            };
            concatenates[position].add(computation, hero.root, first)?;
        }
        Ok(ConcatenateResults { concatenates, side_results })
    }
}

/// Returns the hero of a result. If a result comes from several concatenates, one of them is the
/// hero and determines the iteration space. For all other concatenates, the kernel selects an
/// operand for each element. A result that also comes from a reduction or a transpose has no hero,
/// because the kernel would have to compute the reduction or transpose in the iteration space of
/// the concatenate.
fn hero(computation: &Computation, root: InstrId) -> Hero {
    hero_of(computation, root, |id| {
        let instruction = computation.instruction(id);
        let is_other = matches!(instruction.op, Op::Reduce { .. }) || moves_elements(instruction);
        let is_concatenate = is_concatenate(computation, id);
        (is_concatenate || is_other).then_some(is_concatenate)
    })
}

impl ConcatenateHero {
    fn new(computation: &Computation, hero: InstrId) -> Option<Self> {
        let instruction = computation.instruction(hero);
        let (Op::Concatenate { dimension }, Shape::Array(array)) = (&instruction.op, &instruction.shape) else {
            return None;
        };
        Some(ConcatenateHero {
            hero,
            dimension: *dimension as usize,
            dims: array.dims.clone(),
            operands: operands(computation, hero),
            direct: Vec::new(),
            epilogues: Vec::new(),
        })
    }

    /// Returns the instructions that compute the epilogues' results.
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
            self.epilogues.push(EpilogueGroup { roots: Vec::new(), outputs: Vec::new(), from_hero });
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
