//! Replaces names that HLO text cannot hold: empty names, and names with blanks, brackets or line
//! ends. A protobuf may contain names that HLO text cannot hold. The plugin boundary and host
//! operations print modules as text and parse the text again. Dumps and reproductions also contain
//! modules as text. So all names of a module must be valid in HLO text.

use std::collections::{HashMap, HashSet};

use crate::Module;
use crate::text::lexer::can_be_name;

/// Replaces each character that the text format does not allow in a name.
const REPLACEMENT: char = '_';
/// Prefix for a name that the parser would not read as a name.
const PREFIX: &str = "n_";

/// Renames computations and instructions if HLO text cannot hold their names. Names that differ
/// within one scope still differ after the renaming. Names that HLO text can hold remain unchanged.
pub(super) fn make_readable(module: &mut Module) {
    if !module.name.is_empty() {
        rename([&mut module.name]);
    }
    rename(module.computations.iter_mut().map(|computation| &mut computation.name));
    for computation in &mut module.computations {
        rename(computation.instructions.iter_mut().map(|instruction| &mut instruction.name));
    }
}

fn rename<'n>(names: impl IntoIterator<Item = &'n mut String>) {
    let mut names: Vec<&mut String> = names.into_iter().collect();
    if names.iter().all(|name| can_be_name(name)) {
        return;
    }
    let mut taken: HashSet<String> = names.iter().map(|name| name.to_string()).collect();
    // Equal names remain equal, so that the verifier reports the duplicate.
    let mut renamed: HashMap<String, String> = HashMap::new();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for name in names.iter_mut().filter(|name| !can_be_name(name)) {
        let new = renamed.entry(name.to_string()).or_insert_with(|| {
            let near = nearest(name);
            let number = numbers.entry(near.clone()).or_default();
            loop {
                let new = if *number == 0 { near.clone() } else { format!("{near}.{number}") };
                *number += 1;
                if taken.insert(new.clone()) {
                    return new;
                }
            }
        });
        **name = new.clone();
    }
}

/// Returns a name that resembles `name` and that HLO text can hold.
fn nearest(name: &str) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let name: String = name.chars().map(|c| if kept(c) { c } else { REPLACEMENT }).collect();
    if can_be_name(&name) {
        return name;
    }
    format!("{PREFIX}{}", name.replace(['-', '.'], &REPLACEMENT.to_string()))
}
