//! Modules of PTX that are loaded into a context, and their kernels.

use std::sync::Arc;

use crate::code::Code;
use crate::decode::{ModuleVariable, Target, decode};
use crate::device::DeviceKind;
use crate::error::LoadError;
use crate::fault::Space;
use crate::memory::Memory;
use crate::text::{File, Function, Operand, Type, Variable, parse};

/// A module whose variables have addresses in a device's memory.
#[derive(Debug)]
pub struct Module {
    kernels: Vec<Kernel>,
    globals: Vec<Global>,
}

/// A variable in global or constant memory.
#[derive(Debug)]
struct Global {
    name: String,
    address: u64,
    bytes: u64,
}

/// A kernel of a loaded module. Clones of a kernel share the code.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub name: Arc<str>,
    pub parameters: Arc<[Parameter]>,
    /// Bytes of static shared memory.
    pub shared_bytes: u32,
    /// Bytes of local memory of a thread.
    pub local_bytes: u32,
    /// The most threads of a block that `.maxntid` or `.reqntid` allows.
    pub max_threads: u32,
    /// Threads of a block in each direction, if `.reqntid` states them.
    pub required_threads: Option<[u32; 3]>,
    /// Bytes of shared memory that the system uses, in front of the kernel's own shared memory.
    pub(crate) reserved_shared_bytes: u32,
    pub(crate) multiprocessors: u32,
    pub(crate) code: Arc<Code>,
    /// Numbers and names of the source files.
    pub(crate) sources: Arc<[(u64, String)]>,
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Position among the bytes of all parameters.
    pub offset: u32,
    pub bytes: u32,
    pub alignment: u32,
}

/// Largest total size of a kernel's parameters in bytes: the usual limit, and the limit from PTX
/// 8.1 and compute capability 7.0 on.
const PARAMETER_BYTES: [u32; 2] = [4352, 32764];

impl Module {
    /// Reads and checks the text of a module, and writes the initial values of its variables to new
    /// allocations.
    pub fn load(text: &str, device: &DeviceKind, memory: &Memory) -> Result<Module, LoadError> {
        let file = parse(text)?;
        let target = checked_target(&file, device)?;
        let (mut variables, mut globals) = (Vec::new(), Vec::new());
        for variable in &file.variables {
            let space = match variable.space {
                "global" => Space::Global,
                "const" => Space::Constant,
                "shared" => Space::Shared,
                other => {
                    return Err(LoadError::new(variable.line, format!("a module has no variables in .{other} memory")));
                }
            };
            let mut address = 0;
            if space != Space::Shared {
                let global = placed(variable, memory)?;
                address = global.address;
                globals.push(global);
            }
            variables.push(ModuleVariable { variable, space, address });
        }
        let text: Arc<str> = text.into();
        let sources: Arc<[(u64, String)]> =
            file.sources.iter().map(|(number, name)| (*number, (*name).to_owned())).collect();
        let kernel = |function: &Function| {
            let parameters = parameters(function, target)?;
            let decoded = decode(
                function,
                &file.functions,
                &file.declared,
                &variables,
                target,
                device.reserved_shared_bytes,
                &text,
            )?;
            if decoded.shared_bytes > device.shared_bytes_per_block {
                let most = device.shared_bytes_per_block;
                let message = format!(
                    "{} has {} bytes of static shared memory; at most {most} are allowed",
                    function.name, decoded.shared_bytes
                );
                return Err(LoadError::new(function.line, message));
            }
            let (max_threads, required_threads) = threads(function, device)?;
            Ok(Kernel {
                name: function.name.into(),
                parameters,
                shared_bytes: decoded.shared_bytes,
                local_bytes: decoded.local_bytes,
                max_threads,
                required_threads,
                reserved_shared_bytes: device.reserved_shared_bytes,
                multiprocessors: device.multiprocessors,
                code: Arc::new(decoded.code),
                sources: sources.clone(),
            })
        };
        let kernels =
            file.functions.iter().filter(|function| function.is_kernel).map(kernel).collect::<Result<Vec<_>, _>>();
        match kernels {
            Ok(kernels) => Ok(Module { kernels, globals }),
            Err(error) => {
                free(&globals, memory);
                Err(error)
            }
        }
    }

    /// Frees the module's variables.
    pub fn unload(self, memory: &Memory) {
        free(&self.globals, memory);
    }

    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| &*kernel.name == name)
    }

    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// Returns the address and the size of a variable.
    pub fn global(&self, name: &str) -> Option<(u64, u64)> {
        self.globals.iter().find(|global| global.name == name).map(|global| (global.address, global.bytes))
    }
}

impl Kernel {
    /// Returns the number of bytes of all parameters.
    pub fn parameter_bytes(&self) -> u32 {
        self.parameters.last().map_or(0, |last| last.offset + last.bytes)
    }
}

fn free(globals: &[Global], memory: &Memory) {
    globals.iter().for_each(|global| memory.release(global.address));
}

/// Checks the header of a module against the rules of the driver.
fn checked_target(file: &File, device: &DeviceKind) -> Result<Target, LoadError> {
    let (version, line) = file.version;
    if line == 0 {
        return Err(LoadError::new(1, "the module has no .version"));
    }
    if version > device.newest_ptx {
        let message = format!(
            "PTX {}.{} is newer than the driver, which reads up to {}.{}",
            version / 10,
            version % 10,
            device.newest_ptx / 10,
            device.newest_ptx % 10
        );
        return Err(LoadError::too_new(line, message));
    }
    let (name, _, line) = &file.target;
    let line = (*line).max(1);
    let digits = name.strip_prefix("sm_").unwrap_or_default();
    let number = digits.trim_end_matches(['a', 'f']);
    let Ok(capability) = number.parse::<u32>() else {
        return Err(LoadError::new(line, format!("{name} is not a target such as sm_90")));
    };
    let needed = match capability {
        ..=75 => 63,
        80 => 70,
        86 => 71,
        87 => 74,
        89 | 90 => 78,
        100 | 101 => 86,
        103 | 121 => 88,
        120 => 87,
        _ => 90,
    };
    let needed = if digits.ends_with('a') && capability == 90 { 80 } else { needed };
    if version < needed {
        let message = format!("the target {name} needs PTX {}.{}", needed / 10, needed % 10);
        return Err(LoadError::new(line, message));
    }
    let is_specific = digits.ends_with('a');
    let runs = match digits.chars().last() {
        Some('a') => capability == device.capability,
        Some('f') => capability / 10 == device.capability / 10 && capability <= device.capability,
        _ => capability <= device.capability,
    };
    if !runs {
        return Err(LoadError::other_device(line, format!("code for {name} does not run on {}", device.name())));
    }
    if file.address_size.is_some_and(|bits| bits != 64) {
        return Err(LoadError::new(line, "only addresses of 64 bits are supported"));
    }
    Ok(Target { capability, is_specific, version })
}

fn parameters(function: &Function, target: Target) -> Result<Arc<[Parameter]>, LoadError> {
    let mut all = Vec::new();
    let mut offset = 0u64;
    for parameter in &function.parameters {
        let bytes = u64::from(parameter.ty.bytes()) * parameter.count.unwrap_or(0);
        let alignment = parameter.alignment;
        if !alignment.is_power_of_two() || alignment > 128 || bytes == 0 {
            let message = format!("the size or the alignment of {} is not allowed", parameter.name);
            return Err(LoadError::new(parameter.line, message));
        }
        offset = offset.next_multiple_of(alignment);
        let most = PARAMETER_BYTES[usize::from(target.version >= 81 && target.capability >= 70)];
        if offset + bytes > u64::from(most) {
            let message = format!("the parameters of {} have more than {most} bytes", function.name);
            return Err(LoadError::new(parameter.line, message));
        }
        all.push(Parameter { offset: offset as u32, bytes: bytes as u32, alignment: alignment as u32 });
        offset += bytes;
    }
    Ok(all.into())
}

/// Returns the largest number of threads of a block. If the kernel requires a number of threads in
/// each dimension of a block, also returns these numbers.
fn threads(function: &Function, device: &DeviceKind) -> Result<(u32, Option<[u32; 3]>), LoadError> {
    let numbers = |name: &str| {
        let (_, numbers) = function.directives.iter().find(|(directive, _)| *directive == name)?;
        let number = |at: usize| numbers.get(at).map_or(1, |number| u32::try_from(*number).unwrap_or(u32::MAX));
        Some([number(0), number(1), number(2)])
    };
    let most = device.max_threads_per_block;
    let required = numbers("reqntid");
    let Some(limits) = required.or_else(|| numbers("maxntid")) else { return Ok((most, None)) };
    let threads = limits.iter().try_fold(1u32, |all, limit| all.checked_mul(*limit)).unwrap_or(u32::MAX);
    if threads > most || threads == 0 {
        let message = format!("a block of {threads} threads is stated; 1 to {most} are allowed");
        return Err(LoadError::new(function.line, message));
    }
    Ok((threads, required))
}

/// Allocates a variable and writes its initial value. A variable without a stated initial value is
/// zero.
fn placed(variable: &Variable, memory: &Memory) -> Result<Global, LoadError> {
    let error = |message: String| LoadError::new(variable.line, message);
    let Some(count) = variable.count else {
        return Err(error(format!("the size of {} is not stated", variable.name)));
    };
    let element = variable.ty.bytes() as usize;
    let mut bytes = vec![0; count as usize * element];
    for (number, value) in variable.initial.iter().enumerate() {
        let bits = initial(value, variable.ty)
            .ok_or_else(|| error(format!("{value:?} cannot be an initial value of {}", variable.name)))?;
        let place = bytes.get_mut(number * element..(number + 1) * element);
        let place = place.ok_or_else(|| error(format!("{} has too many initial values", variable.name)))?;
        place.copy_from_slice(&bits.to_le_bytes()[..element]);
    }
    let address = memory.allocate_variable(&bytes, variable.alignment).map_err(|it| error(it.to_string()))?;
    Ok(Global { name: variable.name.to_owned(), address, bytes: bytes.len() as u64 })
}

fn initial(value: &Operand, ty: Type) -> Option<u64> {
    match (value, ty) {
        (Operand::Integer(value), Type::F(32)) => Some(u64::from((*value as f32).to_bits())),
        (Operand::Integer(value), Type::F(64)) => Some((*value as f64).to_bits()),
        (Operand::Integer(value), _) => Some(*value as u64),
        (Operand::Single(bits), _) if ty.bits() == 32 => Some(u64::from(*bits)),
        (Operand::Double(bits), Type::F(32)) => Some(u64::from((f64::from_bits(*bits) as f32).to_bits())),
        (Operand::Double(bits), _) if ty.bits() == 64 => Some(*bits),
        _ => None,
    }
}
