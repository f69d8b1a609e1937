//! A kernel's launch as attributes of its entry function. Because the attributes state the launch,
//! the text of any stage describes the kernel completely.
//!
//! | attribute | meaning |
//! | --- | --- |
//! | `fusebox.launch = array<i64: blocks, threads>` | the grid, and the threads of a block |
//! | `fusebox.shared_bytes = n : i64` | maximum bytes of the tiles |
//! | of an argument: `fusebox.bytes`, `fusebox.alignment` | size and alignment of its buffer |
//! | of an argument: `fusebox.read_only`, `fusebox.no_alias` | see [`Argument`] |

use std::borrow::Cow;

use fusebox_core::emitter::LaunchDimensions;
use fusebox_core::ir::{Attribute, FastMath, Function, Region};

use crate::error::{Diagnostic, LoweringError};
use crate::{Argument, KernelSource, Origins, mlir};

const LAUNCH: &str = "fusebox.launch";
const SHARED_BYTES: &str = "fusebox.shared_bytes";
const BYTES: &str = "fusebox.bytes";
const ALIGNMENT: &str = "fusebox.alignment";
const READ_ONLY: &str = "fusebox.read_only";
const NO_ALIAS: &str = "fusebox.no_alias";

/// Default values in bytes, for a text without the attributes `fusebox.shared_bytes` and
/// `fusebox.alignment`.
const SHARED_BY_DEFAULT: u32 = 48 << 10;
const ALIGNMENT_BY_DEFAULT: u32 = 64;

type Attributes = Vec<(Cow<'static, str>, Attribute)>;

/// Writes a kernel's launch into the attributes of its entry function.
pub(crate) fn describe(entry: &mut Function, kernel: &KernelSource) {
    entry.attributes.retain(|(name, _)| name != LAUNCH && name != SHARED_BYTES);
    let (blocks, threads) = (kernel.launch.blocks as i64, i64::from(kernel.launch.threads_per_block));
    entry.attributes.push((LAUNCH.into(), Attribute::I64Array(vec![blocks, threads])));
    entry.attributes.push((SHARED_BYTES.into(), Attribute::i64(i64::from(kernel.shared_bytes))));
    let own =
        |(name, _): &(Cow<'static, str>, Attribute)| ![BYTES, ALIGNMENT, READ_ONLY, NO_ALIAS].contains(&name.as_ref());
    let mut others = std::mem::take(&mut entry.argument_attributes).into_iter();
    entry.argument_attributes = kernel
        .arguments
        .iter()
        .map(|argument| {
            let others = others.next().unwrap_or_default().into_iter().filter(own);
            of_argument(argument).into_iter().chain(others).collect()
        })
        .collect();
}

fn of_argument(argument: &Argument) -> Attributes {
    let mut attributes: Attributes = vec![
        (BYTES.into(), Attribute::i64(argument.bytes as i64)),
        (ALIGNMENT.into(), Attribute::i64(i64::from(argument.alignment))),
    ];
    attributes.extend(argument.read_only.then_some((READ_ONLY.into(), Attribute::Unit)));
    attributes.extend(argument.no_alias.then_some((NO_ALIAS.into(), Attribute::Unit)));
    attributes
}

/// Returns the size in bytes of all arguments of a kernel's entry function. Returns 0 for other
/// functions.
pub(crate) fn bytes_of_arguments(function: &Function) -> i64 {
    let attributes = function.argument_attributes.iter().flatten().filter(|(name, _)| name == BYTES);
    attributes.filter_map(|(_, bytes)| bytes.as_integer()).fold(0, i64::saturating_add)
}

/// Reads a kernel from the text of any stage of the kernel IR. The text may have the generic form
/// or any other form that MLIR reads. The entry function is the function named `wanted`. If
/// `wanted` is `None`, the entry function is the function with the attribute `fusebox.entry`, or
/// else the first function. If the text states no launch, the kernel has one block of one thread.
/// If the arguments have no attributes, the last arguments are the outputs, one per result of the
/// function, and all arguments before the outputs are read-only.
///
/// # Errors
/// If the text is not kernel IR or lacks the wanted kernel, or if `wanted` is `None` and the text
/// holds several kernels.
pub fn read_kernel(name: &str, text: &str, wanted: Option<&str>) -> Result<KernelSource, LoweringError> {
    let functions = match fusebox_kernel_text::parse(name, text) {
        Ok(functions) => functions,
        Err(_) => {
            let generic = mlir::generic_form(name, text)?;
            parse_generic(name, &generic).map_err(|error| placed_in_source(error, &generic))?
        }
    };
    let refused = |message: String| {
        let diagnostics = vec![Diagnostic { location: name.into(), message }];
        LoweringError::Invalid { kernel: name.into(), diagnostics }
    };
    let entry = entry(&functions, wanted).map_err(refused)?;
    let launch = match entry.attribute(LAUNCH) {
        Some(Attribute::I64Array(launch)) if launch.len() == 2 => [launch[0], launch[1]],
        _ => [1, 1],
    };
    let shared = entry.attribute(SHARED_BYTES).and_then(Attribute::as_integer);
    Ok(KernelSource {
        entry: entry.name.clone(),
        arguments: arguments(entry),
        launch: LaunchDimensions {
            blocks: u64::try_from(launch[0]).unwrap_or(1),
            threads_per_block: u32::try_from(launch[1]).unwrap_or(1),
        },
        shared_bytes: shared.and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(SHARED_BY_DEFAULT),
        origins: Origins::default(),
        functions: if wanted.is_some() { called_by(&functions, entry) } else { functions },
    })
}

/// Returns the entry function of the wanted kernel. If the text lacks this function, returns a
/// message with the reason.
fn entry<'f>(functions: &'f [Function], wanted: Option<&str>) -> Result<&'f Function, String> {
    let entries: Vec<&Function> =
        functions.iter().filter(|function| function.attribute("fusebox.entry").is_some()).collect();
    let names = || entries.iter().map(|entry| entry.name.as_str()).collect::<Vec<_>>().join(", ");
    match (wanted, &entries[..]) {
        (Some(wanted), _) => functions
            .iter()
            .find(|function| function.name == wanted)
            .ok_or_else(|| format!("there is no kernel {wanted} in it; there are: {}", names())),
        (None, []) => functions.first().ok_or_else(|| "there is no function in it".into()),
        (None, [entry]) => Ok(entry),
        (None, several) => Err(format!("it holds {} kernels: {}; choose one by --kernel", several.len(), names())),
    }
}

/// Returns a function and all functions that it calls, directly or indirectly, in the order of the
/// text.
fn called_by(functions: &[Function], entry: &Function) -> Vec<Function> {
    let mut names = vec![entry.name.clone()];
    let mut next = 0;
    while let Some(name) = names.get(next).cloned() {
        for function in functions.iter().filter(|function| function.name == name) {
            function.body.walk(&mut |operation| {
                let callee = operation.callee().filter(|callee| !names.iter().any(|known| known == callee));
                names.extend(callee.map(str::to_owned));
            });
        }
        next += 1;
    }
    functions.iter().filter(|function| names.contains(&function.name)).cloned().collect()
}

/// Parses functions from the generic form that MLIR prints.
pub(crate) fn parse_generic(name: &str, generic: &str) -> Result<Vec<Function>, LoweringError> {
    let mut functions = crate::parse(name, generic)?;
    functions.iter_mut().for_each(|function| drop_defaults(&mut function.body));
    Ok(functions)
}

/// Replaces the location of an error in the generic form by the location in the original text. Each
/// line of the generic form ends with its original location.
fn placed_in_source(error: LoweringError, generic: &str) -> LoweringError {
    let LoweringError::Invalid { kernel, mut diagnostics } = error else { return error };
    for diagnostic in &mut diagnostics {
        let line = diagnostic.location.rsplit(':').nth(1).and_then(|line| line.parse::<usize>().ok());
        let line = line.and_then(|line| generic.lines().nth(line.checked_sub(1)?));
        let place = line.and_then(|line| line.rsplit_once("loc(\"")).and_then(|(_, place)| place.strip_suffix(')'));
        if let Some(place) = place {
            diagnostic.location = place.replace('"', "");
        }
    }
    LoweringError::Invalid { kernel, diagnostics }
}

/// Drops attributes for flags that have their default value. MLIR prints these attributes, but
/// kernel IR omits them.
fn drop_defaults(region: &mut Region) {
    for op in &mut region.operations {
        op.attributes.retain(|(_, value)| match value {
            Attribute::FastMath(flags) => *flags != FastMath::NONE,
            Attribute::Raw(text) => text.as_ref() as &str != "#arith.overflow<none>",
            _ => true,
        });
        op.regions.iter_mut().for_each(drop_defaults);
    }
}

fn arguments(entry: &Function) -> Vec<Argument> {
    let count = entry.body.arguments.len();
    let inputs = count.saturating_sub(entry.results.len());
    let argument = |number: usize| {
        let ty = entry.type_of(entry.body.arguments[number]);
        let attributes = entry.argument_attributes.get(number).map_or(&[][..], Vec::as_slice);
        let find = |wanted: &str| attributes.iter().find(|(name, _)| name == wanted).map(|(_, value)| value);
        let integer = |wanted: &str| find(wanted).and_then(Attribute::as_integer);
        let described = find(BYTES).is_some();
        let size = ty.element_count().unwrap_or(0) * ty.element().byte_size();
        Argument {
            bytes: integer(BYTES).and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(size as u64),
            alignment: integer(ALIGNMENT).and_then(|it| u32::try_from(it).ok()).unwrap_or(ALIGNMENT_BY_DEFAULT),
            read_only: find(READ_ONLY).is_some() || !described && number < inputs,
            no_alias: find(NO_ALIAS).is_some() || !described,
        }
    };
    (0..count).map(argument).collect()
}
