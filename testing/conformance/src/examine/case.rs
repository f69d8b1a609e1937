//! Fusions that an emitter is asked to take: such as programs have, of awkward sizes, and such as nobody wrote.

use std::sync::OnceLock;

use fusebox_core::hlo::{ArrayLiteral, Literal};

use super::modules::OfModule;
use super::written::{COMBINERS, IMPOSSIBLE, WRITTEN};
use crate::Failure;
use crate::compiler::{inputs, interpreted};
use crate::fusions::of_kind;
use crate::literals::{Closeness, small_integers};

/// A fusion with inputs, and what it gives.
#[derive(Clone, Debug)]
pub struct Case {
    /// For people.
    pub name: String,
    /// What makes it again, if a seed has made it.
    pub seed: Option<u64>,
    /// As `fusebox run` takes it.
    pub text: String,
    pub inputs: Vec<ArrayLiteral>,
    /// Whether a kernel can compute it at all; otherwise every emitter has to decline it.
    pub is_possible: bool,
    pub closeness: Closeness,
    expected: OnceLock<Result<Literal, Failure>>,
}

/// `(rows, columns)`: none, one, primes, less and more than a warp, a tile, a block.
const SIZES: [(i64, i64); 6] = [(0, 5), (1, 1), (1, 997), (31, 33), (257, 128), (300, 401)];

impl Case {
    /// The fusion of a kind and a seed. Its results do not depend on the order of additions.
    pub fn generated(kind: &str, seed: u64) -> Case {
        let fusion = of_kind(kind, seed);
        let name = format!("the fusion of seed {seed}");
        let case = Case::new(name, fusion.text(), fusion.inputs().collect(), Closeness::Numbers);
        Case { seed: Some(seed), ..case }
    }

    /// A fusion of a module, on small integers.
    ///
    /// # Errors
    /// If one of its parameters is no array.
    pub fn of_module(fusion: &OfModule) -> Result<Case, Failure> {
        let inputs = inputs(&fusion.text, small_integers)?;
        Ok(Case::new(fusion.name.clone(), fusion.text.clone(), inputs, Closeness::Units))
    }

    /// The fusions that programs have, of all sizes.
    ///
    /// # Errors
    /// If one of them is no HLO.
    pub fn written() -> Result<Vec<Case>, Failure> {
        let all = WRITTEN.iter().flat_map(|fusion| SIZES.map(|size| (fusion, size)));
        all.map(|((name, body), size)| sized(name, body, size)).collect()
    }

    /// Those to be declined.
    pub fn impossible() -> Vec<Case> {
        let case = |(name, body): (&str, &str)| {
            let (text, inputs) = (with_combiners(body), vec![]);
            Case { is_possible: false, ..Case::new(name.into(), text, inputs, Closeness::Bits) }
        };
        IMPOSSIBLE.map(case).into()
    }

    fn new(name: String, text: String, inputs: Vec<ArrayLiteral>, closeness: Closeness) -> Case {
        Case { name, seed: None, text, inputs, is_possible: true, closeness, expected: OnceLock::new() }
    }

    /// What the reference interpreter gives.
    ///
    /// # Errors
    /// If it gives nothing.
    pub fn expected(&self) -> Result<&Literal, Failure> {
        self.expected.get_or_init(|| interpreted(&self.text, &self.inputs)).as_ref().map_err(Failure::clone)
    }

    /// The same with another fusion, on small integers; `None` if that is none the interpreter can evaluate.
    pub fn with_text(&self, text: String) -> Option<Case> {
        let inputs = inputs(&text, small_integers).ok()?;
        let expected = Ok(interpreted(&text, &inputs).ok()?).into();
        Some(Case { text, inputs, is_possible: true, closeness: Closeness::Units, expected, ..self.clone() })
    }
}

/// A fusion of that size.
fn sized(name: &str, body: &str, (rows, columns): (i64, i64)) -> Result<Case, Failure> {
    let sizes = [("{N}", rows), ("{N+3}", rows + 3), ("{M}", columns), ("{M-1}", columns - 1)];
    let body = sizes.iter().fold(body.to_owned(), |body, (name, size)| body.replace(name, &size.to_string()));
    let text = with_combiners(&body);
    let inputs = inputs(&text, small_integers)?;
    Ok(Case::new(format!("{name}, {rows} by {columns}"), text, inputs, Closeness::Units))
}

/// The body as a computation, with what it applies before it.
fn with_combiners(body: &str) -> String {
    let applied = COMBINERS.split_inclusive("}\n").filter(|combiner| {
        let name = combiner.split(' ').next().unwrap_or_default();
        body.contains(&format!("to_apply={name}"))
    });
    format!("{}fusion {{\n  {body}\n}}\n", applied.collect::<String>())
}
