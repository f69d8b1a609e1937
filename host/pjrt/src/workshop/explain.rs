//! `fusebox.explain`: shows which emitter builds each kernel, and why.

use fusebox_compiler::{Phase, compile};
use fusebox_workshop::{explain, page, roofline};
use glob::Pattern;
use serde::Deserialize;
use serde_json::{Value, json};

use super::interface::{NamedOptions, Request, text, user_options};
use crate::compiler::{Tuned, compilation_options};
use crate::error::{Answer, Error};

/// The last line of the table.
const ADVICE: &str =
    "fusion=\"NAME\" says why a fusion has its emitter and not another one; all=True says so for all fusions";

#[derive(Deserialize)]
struct Wish {
    name: String,
    options: NamedOptions,
    /// Pattern that selects fusions by name.
    fusion: Option<String>,
    /// Whether to show the details of all fusions.
    all: bool,
}

pub fn explain(request: &Request<'_>) -> Answer<Value> {
    let Wish { name, options, fusion, all } = request.read()?;
    let user = user_options(options)?;
    let mut options = compilation_options(&user, Tuned::Used)?;
    options.until = Phase::Emit;
    let made = compile(&request.source(&name), &options)?;
    let rows = roofline::rows(&made.kernels, &options.device, None);
    let wrong = |error| Error::invalid(format!("fusion={fusion:?}: {error}"));
    let pattern = fusion.as_deref().map(Pattern::new).transpose().map_err(wrong)?;
    let meant = explain::matching(&made, pattern.as_ref())?;
    let text = text(|out| {
        if pattern.is_none() && !all {
            return explain::write_table(out, &made, &rows, ADVICE);
        }
        explain::write_kernels(out, &made, &meant, &rows, &options, all)
    })?;
    let kernels: Vec<Value> = meant.iter().map(|kernel| explain::describe(kernel, &options, &rows)).collect();
    Ok(json!({
        "text": text,
        "html": page::of_program(&made, &options, user.target_name(), &rows, &[]),
        "kernels": kernels,
        "warnings": made.warnings,
    }))
}
