//! The fusions with which an emitter is checked: typical fusions in unusual sizes, random fusions,
//! and fusions that no kernel can compute.

use std::sync::OnceLock;

use fusebox_core::hlo::{ArrayLiteral, Literal};
use serde::Serialize;

use super::typical::{COMBINERS, IMPOSSIBLE, TYPICAL};
use crate::Failure;
use crate::compiler::{inputs, interpreted};
use crate::fusions::of_kind;
use crate::literals::{Closeness, small_integers};

/// A fusion of a module.
#[derive(Clone, Debug)]
pub struct ModuleFusion {
    /// Name that reports show.
    pub name: String,
    /// Text in the form that `fusebox run` reads.
    pub text: String,
}

/// A fusion that could not be checked.
#[derive(Clone, Debug, Serialize)]
pub struct UncheckedFusion {
    pub fusion: String,
    /// The reason.
    pub words: String,
}

/// A fusion with its inputs and its right result.
#[derive(Clone, Debug)]
pub struct FusionCase {
    /// Name that reports show.
    pub name: String,
    /// Seed of a random fusion.
    pub seed: Option<u64>,
    /// Text in the form that `fusebox run` reads.
    pub text: String,
    pub inputs: Vec<ArrayLiteral>,
    /// Whether a kernel can compute the fusion. If no kernel can compute the fusion, every emitter
    /// must decline it.
    pub is_possible: bool,
    pub closeness: Closeness,
    expected: OnceLock<Result<Literal, Failure>>,
}

/// Sizes of typical fusions as `(rows, columns)`. The sizes include zero, one, primes, and sizes
/// below and above those of a warp, a tile and a block.
const SIZES: [(i64, i64); 6] = [(0, 5), (1, 1), (1, 997), (31, 33), (257, 128), (300, 401)];

impl FusionCase {
    /// Returns a random fusion, which the kind and the seed determine. The results of this fusion
    /// do not depend on the order of additions.
    pub fn generated(kind: &str, seed: u64) -> FusionCase {
        let fusion = of_kind(kind, seed);
        let name = format!("the fusion of seed {seed}");
        let case = FusionCase::new(name, fusion.text(), fusion.inputs().collect(), Closeness::Numbers);
        FusionCase { seed: Some(seed), ..case }
    }

    /// Returns a case for a fusion of a module. The inputs are small integers.
    ///
    /// # Errors
    /// If one of the fusion's parameters is not an array.
    pub fn of_module(fusion: &ModuleFusion) -> Result<FusionCase, UncheckedFusion> {
        FusionCase::with_small_integers(fusion.name.clone(), fusion.text.clone())
    }

    /// Returns all typical fusions, each in all sizes. If a fusion is invalid HLO, the iterator
    /// returns an error for it.
    pub fn typical() -> impl Iterator<Item = Result<FusionCase, UncheckedFusion>> {
        let all = TYPICAL.iter().flat_map(|fusion| SIZES.map(|size| (fusion, size)));
        all.map(|((name, body), size)| sized(name, body, size))
    }

    fn with_small_integers(name: String, text: String) -> Result<FusionCase, UncheckedFusion> {
        match inputs(&text, small_integers) {
            Ok(inputs) => Ok(FusionCase::new(name, text, inputs, Closeness::Units)),
            Err(failure) => Err(UncheckedFusion { fusion: name, words: failure.fault }),
        }
    }

    /// Returns the fusions that emitters must decline.
    pub fn impossible() -> [FusionCase; 2] {
        let case = |(name, body): (&str, &str)| {
            let (text, inputs) = (with_combiners(body), vec![]);
            FusionCase { is_possible: false, ..FusionCase::new(name.into(), text, inputs, Closeness::Bits) }
        };
        IMPOSSIBLE.map(case)
    }

    fn new(name: String, text: String, inputs: Vec<ArrayLiteral>, closeness: Closeness) -> FusionCase {
        FusionCase { name, seed: None, text, inputs, is_possible: true, closeness, expected: OnceLock::new() }
    }

    /// Returns the reference interpreter's result.
    ///
    /// # Errors
    /// If the interpreter fails.
    pub fn expected(&self) -> Result<&Literal, Failure> {
        self.expected.get_or_init(|| interpreted(&self.text, &self.inputs)).as_ref().map_err(Failure::clone)
    }

    /// Returns a copy of the case with the fusion `text`. The inputs are small integers. Returns
    /// `None` if the interpreter cannot evaluate the fusion `text`.
    pub fn with_text(&self, text: String) -> Option<FusionCase> {
        let inputs = inputs(&text, small_integers).ok()?;
        let expected = Ok(interpreted(&text, &inputs).ok()?).into();
        Some(FusionCase { text, inputs, is_possible: true, closeness: Closeness::Units, expected, ..self.clone() })
    }
}

/// Returns a typical fusion with these numbers of rows and columns.
fn sized(name: &str, body: &str, (rows, columns): (i64, i64)) -> Result<FusionCase, UncheckedFusion> {
    let sizes = [("{N}", rows), ("{N+3}", rows + 3), ("{M}", columns), ("{M-1}", columns - 1)];
    let body = sizes.iter().fold(body.to_owned(), |body, (name, size)| body.replace(name, &size.to_string()));
    FusionCase::with_small_integers(format!("{name}, {rows} by {columns}"), with_combiners(&body))
}

/// Returns the text of a computation with this body. The text begins with the combiners that the
/// body applies.
fn with_combiners(body: &str) -> String {
    let applied = COMBINERS.split_inclusive("}\n").filter(|combiner| {
        let name = combiner.split(' ').next().unwrap_or_default();
        body.contains(&format!("to_apply={name}"))
    });
    format!("{}fusion {{\n  {body}\n}}\n", applied.collect::<String>())
}
