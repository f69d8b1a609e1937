//! `fusebox.ab`: compares a program with two sets of options.

use std::path::Path;

use fusebox_choices::{EmitterChoice, bundled, side};
use fusebox_lowering::Stage;
use fusebox_workshop::ab::{self, ComparisonSettings, Side};
use fusebox_workshop::measure::Effort;
use fusebox_workshop::page;
use glob::Pattern;
use serde::Deserialize;
use serde_json::{Value, json};

use super::interface::{NamedOptions, Request, text, user_options};
use crate::compiler::{FOLDER, Tuned, compilation_options, dump, emitter_choice, warn};
use crate::error::{Answer, Error};
use crate::options::UserOptions;

/// Options that both sides must have in common, because the comparison has one target.
const COMMON: [&str; 2] = ["fusebox.target", "fusebox.threads"];

#[derive(Deserialize)]
struct Wish {
    name: String,
    /// Options of both sides.
    options: NamedOptions,
    a: NamedOptions,
    b: NamedOptions,
    /// Pattern for the names of the fusions to compare.
    fusion: Option<String>,
    /// Number of pairs of runs to measure. Each pair contains a run of each side.
    pairs: Option<usize>,
    /// Whether the HTML page of the comparison shows the kernels after each stage of lowering.
    stages: bool,
}

pub fn ab(request: &Request<'_>) -> Answer<Value> {
    let Wish { name, options, a, b, fusion, pairs, stages } = request.read()?;
    if let Some(option) = COMMON.iter().find(|&&option| a.get(option) != b.get(option)) {
        return Err(Error::invalid(format!("{option} must be the same for both sides")));
    }
    let common = a.iter().filter(|(name, _)| COMMON.contains(&name.as_str()));
    let both = user_options(options)?.with(common.map(|(name, value)| (name.clone(), value.clone())))?;
    let source = request.source(&name);
    let inputs = request.inputs(&source.parse()?)?;
    let wrong = |error| Error::invalid(format!("fusion={fusion:?}: {error}"));
    let mut compile = compilation_options(&both, Tuned::Used)?;
    compile.dump = Default::default();
    compile.cache = Default::default();
    compile.stages = if stages { Stage::ALL.to_vec() } else { Vec::new() };
    let settings = ComparisonSettings {
        bundled: bundled()?,
        run: fusebox_runtime::Options { threads: compile.threads, ..Default::default() },
        compile,
        target: both.target_name().into(),
        inputs,
        fusion: fusion.as_deref().map(Pattern::new).transpose().map_err(wrong)?,
        effort: Effort { pairs, ..Effort::default() },
    };
    let report = ab::compare(&source, &side_of(a, &both)?, &side_of(b, &both)?, &settings)?;
    Ok(json!({
        "text": text(|out| ab::write(out, &report))?,
        "html": page::of_comparison(&report),
        "report": report,
    }))
}

/// Returns a side of the comparison with its own options in addition to the options of both sides.
fn side_of(options: NamedOptions, both: &UserOptions) -> Answer<Side> {
    let written: Vec<String> = options
        .iter()
        .filter(|(name, _)| !COMMON.contains(&name.as_str()))
        .map(|(name, value)| match name.as_str() {
            "fusebox.emitter" => value.clone(),
            _ => format!("{}={value}", name.trim_start_matches("fusebox.")),
        })
        .collect();
    let own = both.clone().with(options)?;
    let specs = own.emitters.get(both.emitters.len()..).unwrap_or_default();
    let choice = EmitterChoice { emitters: both.emitters.clone(), ..emitter_choice(&own) };
    let mut side = side(specs, &choice, Path::new(FOLDER), dump(&own)?, &mut warn)?;
    if !written.is_empty() {
        side.name = written.join(" ");
    }
    Ok(side)
}
