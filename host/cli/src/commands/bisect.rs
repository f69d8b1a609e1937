//! `fusebox bisect`: finds the first pass, fusion or stage whose result is wrong.

use fusebox_compiler::Phase;
use fusebox_run::terminal;
use fusebox_workshop::bisect::{self, BisectionSettings};
use serde_json::json;

use crate::arguments::Bisect;
use crate::exit::Failure;
use crate::{guard, module, running};

pub fn run(arguments: &Bisect) -> Result<(), Failure> {
    let common = &arguments.common;
    let reference = Some(arguments.reference.clone()).filter(|file| file.as_os_str() != "interpreter");
    guard::check(common, arguments.inputs.inputs.iter().chain(&reference), [])?;
    let force = common.compiling.emitters.force;
    arguments.output.iter().try_for_each(|folder| fusebox_files::check_folder(folder, force))?;
    let source = module::read_for(&common.module, &common.compiling, &arguments.inputs)?;
    let settings = BisectionSettings {
        compile: module::options(common, None, Phase::Run, Vec::new())?,
        run: running::options(&common.compiling)?,
        target: common.compiling.target.clone(),
        inputs: arguments.inputs.clone(),
        reference,
        repro: arguments.output.clone(),
        force,
    };
    let verdict = bisect::bisect(&source, &settings)?;
    Ok(terminal::print(|out| {
        if arguments.json { writeln!(out, "{}", json!(verdict)) } else { writeln!(out, "{}", verdict.words()) }
    })?)
}
