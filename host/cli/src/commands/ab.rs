//! `fusebox ab`: compares two choices of emitters, or two versions of fusebox, on each module.

use std::path::Path;

use fusebox_choices::bundled;
use fusebox_compiler::Phase;
use fusebox_lowering::Stage;
use fusebox_run::terminal;
use fusebox_workshop::ab::{self, Comparison, ComparisonReport, ComparisonSettings, Side, SideCompiler};
use fusebox_workshop::measure::Effort;
use fusebox_workshop::page;
use serde_json::json;

use crate::arguments::{Ab, CommonArguments};
use crate::exit::Failure;
use crate::{emitters, guard, module, running};

pub fn run(arguments: &Ab) -> Result<(), Failure> {
    let first = &arguments.common;
    guard::check(first, arguments.more.iter().chain(&arguments.inputs.inputs), [])?;
    if let Some(folder) = &arguments.html {
        fusebox_files::check_folder(folder, first.compiling.emitters.force)?;
    }
    let mut reports = Vec::new();
    for module in [&first.module].into_iter().chain(&arguments.more) {
        let report = compare(arguments, &CommonArguments { module: module.clone(), ..first.clone() })?;
        if let Some(folder) = &arguments.html {
            let name = module.file_stem().unwrap_or_default();
            let folder = if arguments.more.is_empty() { folder.clone() } else { folder.join(name) };
            write_page(&report, &folder)?;
        }
        terminal::print(
            |out| if arguments.json { writeln!(out, "{}", json!(report)) } else { ab::write(out, &report) },
        )?;
        reports.push(report);
    }
    if !arguments.more.is_empty() && !arguments.json {
        terminal::print(|out| ab::write_summary(out, &reports))?;
    }
    let wrong: Vec<String> = reports.iter().flat_map(wrong).collect();
    match wrong.as_slice() {
        [] => Ok(()),
        wrong => Err(Failure::input(wrong.join("\n"))),
    }
}

/// Returns one error text for each wrong result that a report contains.
fn wrong(report: &ComparisonReport) -> Vec<String> {
    let faults = |comparison: &Comparison| -> Vec<String> {
        let name = &comparison.name;
        let faults = comparison.judged.faults();
        faults.map(|(side, fault)| format!("{}: {side} is wrong in {name}: {fault}", report.module)).collect()
    };
    report.comparisons().flat_map(faults).collect()
}

fn compare(arguments: &Ab, common: &CommonArguments) -> Result<ComparisonReport, Failure> {
    let source = module::read_for(&common.module, &common.compiling, &arguments.inputs)?;
    let a = side(&arguments.a, common, "a")?;
    let b = side(&arguments.b, common, "b")?;
    emitters::remark_on_builds([&a, &b].into_iter().filter_map(|side| match &side.compiler {
        SideCompiler::Emitters(emitters) => Some(&emitters.registry),
        SideCompiler::Program(_) => None,
    }));
    let stages = if arguments.html.is_some() { Stage::ALL.to_vec() } else { Vec::new() };
    let settings = ComparisonSettings {
        compile: module::options(&CommonArguments { dump_to: None, ..common.clone() }, None, Phase::Run, stages)?,
        bundled: bundled()?,
        run: running::options(&common.compiling)?,
        target: common.compiling.target.clone(),
        inputs: arguments.inputs.clone(),
        fusion: arguments.fusion.clone(),
        effort: Effort { pairs: arguments.pairs.map(|pairs| pairs as usize), ..Effort::default() },
    };
    Ok(ab::compare(&source, &a, &b, &settings)?)
}

fn write_page(report: &ComparisonReport, folder: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::input(format!("cannot create the directory {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    Ok(fusebox_files::write(&folder.join("index.html"), page::of_comparison(report).as_bytes())?)
}

/// Builds a side from its SPECs on the command line. `dumps` is the subfolder into which the side's
/// dumps are written.
fn side(specs: &[String], common: &CommonArguments, dumps: &str) -> Result<Side, Failure> {
    let dump_to = common.dump_to.as_ref().map(|dump_to| dump_to.join(dumps));
    let (both, folder) = (emitters::plain(&common.compiling.emitters), module::folder_of(&common.module));
    let dump = module::dump_to(dump_to.as_deref())?;
    Ok(fusebox_choices::side(specs, &both, folder, dump, &mut terminal::complain)?)
}
