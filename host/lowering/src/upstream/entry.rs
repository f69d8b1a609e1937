//! Writes functions: their signatures and attributes, and the loop over blocks.

use fusebox_core::ir::{Attribute, Function};

use super::body::{Kernel, LOOP, Outcome, type_text};
use crate::error::Done;
use crate::hints::{Buffer, named, only_reads};
use crate::math as library;
use crate::stages::{Facts, KernelFunctions};

/// Returns the name of the function with a kernel's operations. The parameters of this function are
/// the buffers, the id of a block and the id of a thread.
pub(super) fn name_of_body(kernel: &str) -> String {
    format!("{kernel}.body")
}

impl Kernel<'_> {
    /// Writes all functions of the kernel. The kernel can be launched only if `is_visible` is true.
    pub(super) fn write<'s>(
        &mut self,
        source: &'s KernelFunctions,
        facts: &Facts<'_>,
        is_visible: bool,
    ) -> Outcome<'s> {
        // A text may contain functions of the math library. These are written once for all kernels.
        let is_own = |function: &&Function| library::symbol(&function.name).is_none();
        let Some((entry, callees)) = source.functions.split_first() else { return Ok(()) };
        let callees: Vec<&Function> = callees.iter().filter(is_own).collect();
        self.own = callees.iter().map(|callee| callee.name.clone()).collect();
        self.entry(entry)?;
        let only_read = callees.iter().all(|callee| only_reads(callee));
        for callee in callees {
            self.callee(callee, only_read)?;
        }
        if is_visible {
            wrapper(&mut self.text, facts, entry.body.arguments.len(), self.past_caches);
        }
        Ok(())
    }

    /// Writes the function with the operations of the entry function. The parameters of the
    /// function have the facts about the buffers as attributes.
    fn entry<'s>(&mut self, entry: &'s Function) -> Outcome<'s> {
        let parameters = entry_parameters(entry).map_err(|reason| (None, reason))?;
        let name = Attribute::symbol(name_of_body(self.name));
        let attributes = "attributes {passthrough = [\"alwaysinline\", \"nounwind\"]}";
        self.text.push_str(&format!("func.func {name}({parameters}) {attributes} "));
        self.body(entry, true)
    }

    /// Writes a function that the kernel calls.
    fn callee<'s>(&mut self, function: &'s Function, only_reads: bool) -> Outcome<'s> {
        // LLVM must not inline the functions that remain after `stages/inline.rs`, because the time
        // of its inliner grows exponentially in chains of functions that call the next one twice.
        let mut attributes = vec!["\"noinline\"".to_owned(), "\"nounwind\"".to_owned()];
        attributes.extend(only_reads.then(|| "[\"memory\", \"1\"]".to_owned()));
        let signature = signature(&function.name, function).map_err(|reason| (None, reason))?;
        let passthrough = attributes.join(", ");
        let linkage = "llvm.linkage = #llvm.linkage<internal>";
        self.text.push_str(&format!("func.func {signature} attributes {{{linkage}, passthrough = [{passthrough}]}} "));
        self.body(function, false)
    }

    /// Writes a function of the math library under another name.
    pub(super) fn define<'s>(&mut self, name: &str, function: &'s Function, attributes: &[String]) -> Outcome<'s> {
        let signature = signature(name, function).map_err(|reason| (None, reason))?;
        self.text.push_str(&format!("func.func {signature} attributes {{passthrough = [{}]}} ", attributes.join(", ")));
        self.body(function, false)
    }
}

/// Declares a function that another module defines.
pub(super) fn declaration(text: &mut String, name: &str, function: &Function, attributes: &[String]) -> Done {
    let types = |types: Vec<&fusebox_core::ir::Type>| -> Done<String> {
        let types: Done<Vec<String>> = types.into_iter().map(type_text).collect();
        Ok(types?.join(", "))
    };
    let parameters = types(function.body.arguments.iter().map(|&it| function.type_of(it)).collect())?;
    let results = types(function.results.iter().collect())?;
    let (name, attributes) = (Attribute::symbol(name), attributes.join(", "));
    text.push_str(&format!(
        "func.func private {name}({parameters}) -> ({results}) attributes {{passthrough = [{attributes}]}}\n"
    ));
    Ok(())
}

/// Returns the parameters of an entry function's body.
fn entry_parameters(entry: &Function) -> Done<String> {
    let attributes = &entry.argument_attributes;
    let has = |attributes: &[_], name: &str| {
        attributes.iter().any(|(other, _): &(std::borrow::Cow<'static, str>, Attribute)| other == name)
    };
    let known = |it: &Vec<_>| Buffer { no_alias: has(it, "llvm.noalias"), read_only: has(it, "llvm.readonly") };
    let apart = named(&attributes.iter().map(known).collect::<Vec<_>>());
    let mut parameters = Vec::new();
    for (position, &argument) in entry.body.arguments.iter().enumerate() {
        let ty = type_text(entry.type_of(argument))?;
        let of_argument = attributes.get(position).into_iter().flatten().filter(|(name, _)| {
            name.starts_with("llvm.") && (name != "llvm.noalias" || apart.get(position).copied().unwrap_or(false))
        });
        let attributes = Attribute::Dictionary(of_argument.cloned().collect());
        parameters.push(format!("%{}: {ty} {attributes}", argument.number()));
    }
    parameters.extend(["%block: i64".to_owned(), "%thread: i64".to_owned()]);
    Ok(parameters.join(", "))
}

fn signature(name: &str, function: &Function) -> Done<String> {
    let parameters = function
        .body
        .arguments
        .iter()
        .map(|&argument| Ok(format!("%{}: {}", argument.number(), type_text(function.type_of(argument))?)));
    let parameters: Done<Vec<String>> = parameters.collect();
    let results: Done<Vec<String>> = function.results.iter().map(type_text).collect();
    Ok(format!("{}({}) -> ({})", Attribute::symbol(name), parameters?.join(", "), results?.join(", ")))
}

/// Writes `void kernel(void *const *args, int64_t first_block, int64_t end_block)`, which runs the
/// body for each thread of a range of blocks.
fn wrapper(text: &mut String, facts: &Facts<'_>, buffers: usize, past_caches: bool) {
    let (name, body) = (Attribute::symbol(facts.name), Attribute::symbol(name_of_body(facts.name)));
    let mut line = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    line(format!(
        "func.func {name}(%table: !llvm.ptr, %first: i64, %end: i64) attributes {{passthrough = [\"nounwind\"]}} {{"
    ));
    let pointers: Vec<String> = (0..buffers).map(|number| format!("%buffer{number}")).collect();
    for (number, pointer) in pointers.iter().enumerate() {
        line(format!(
            "  %place{number} = llvm.getelementptr inbounds %table[{number}] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr"
        ));
        line(format!("  {pointer} = llvm.load %place{number} {{alignment = 8 : i64}} : !llvm.ptr -> !llvm.ptr"));
    }
    line("  %zero = arith.constant 0 : i64".into());
    line("  %one = arith.constant 1 : i64".into());
    line(format!("  %threads = arith.constant {} : i64", facts.threads));
    let operands = [&pointers[..], &["%block".into(), "%thread".into()]].concat().join(", ");
    let types = [vec!["!llvm.ptr"; buffers], vec!["i64"; 2]].concat().join(", ");
    let call = |operands: &str| format!("func.call {body}({operands}) : ({types}) -> ()");
    line("  scf.for %block = %first to %end step %one : i64 {".into());
    // A block with one thread, which is the usual case, needs no loop.
    if facts.threads == 1 {
        line(format!("    {}", call(&operands.replace("%thread", "%zero"))));
    } else {
        line("    scf.for %thread = %zero to %threads step %one : i64 {".into());
        line(format!("      {}", call(&operands)));
        line(format!("    }} {{{LOOP} = #llvm.loop_annotation<>}}"));
    }
    line(format!("  }} {{{LOOP} = #llvm.loop_annotation<>}}"));
    if past_caches {
        line("  llvm.fence seq_cst".into());
    }
    line("  return".into());
    line("}".into());
}
