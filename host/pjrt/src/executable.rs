//! Executables of a client: compiled programs that can run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fusebox_core::hlo::Tiling;
use fusebox_runtime::Executable;
use serde::{Deserialize, Serialize};

use crate::abi::{Kind, NamedValue, Object, Reference};
use crate::buffer::{Buffer, Contents};
use crate::client::{Client, Device, MEMORY_KINDS};
use crate::compiler::{Compiled, Figures};
use crate::device::{Array, LoadedProgram};
use crate::element::BufferType;
use crate::error::{Answer, Error};
use crate::event::Event;
use crate::messages::{CompileOptions, Placement};
use crate::sharding::{Shardings, message};
use crate::signature::{Signature, ValueType};

/// The first bytes of every serialised executable, which state the version of the format.
const MAGIC: &[u8] = b"fusebox-pjrt 2\n";

/// A compiled program of a client.
pub struct Loaded {
    pub client: Arc<Client>,
    pub name: String,
    pub figures: Figures,
    pub signature: Signature,
    /// Options of the compilation as the caller has passed them.
    pub options: Vec<u8>,
    /// The assignment of devices as the caller has passed it.
    pub assignment: Vec<u8>,
    /// The device of each partition. `None` if any device may run the program.
    devices: Option<Vec<i32>>,
    pub lists: Lists,
    /// For each output, the sizes of its dimensions.
    output_dims: Vec<Arc<[i64]>>,
    /// Number of partitions.
    pub partitions: usize,
    shardings: Shardings,
    /// Types of the parameters and outputs before their division among devices. `signature`
    /// contains the types of one device's tiles.
    whole: Signature,
    /// For each parameter, its division into one tile per device.
    parameter_tiles: Vec<Tiling>,
    /// For each output, its division into one tile per device.
    output_tiles: Vec<Tiling>,
    program: LoadedProgram,
    is_deleted: AtomicBool,
}

/// Lists of facts about a program, to which functions of the interface return pointers.
pub struct Lists {
    pub output_types: Vec<i32>,
    /// Sizes of the dimensions of all outputs.
    pub output_dims: Vec<i64>,
    /// Numbers of dimensions of the outputs.
    pub output_ranks: Vec<usize>,
    /// Addresses and lengths of the names of memories, for outputs or parameters.
    pub kind_names: Vec<usize>,
    pub kind_lengths: Vec<usize>,
    pub costs: Vec<NamedValue>,
    /// The devices that run the program. `positions` contains the position of each of these devices
    /// among the partitions.
    pub devices: Vec<Reference<Device>>,
    pub positions: Vec<LogicalId>,
    /// Messages that state how parameters and outputs are divided among devices, if the program has
    /// several devices.
    pub parameter_shardings: Messages,
    pub output_shardings: Messages,
}

/// Position of one device's program among the programs that an execution runs on all devices.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogicalId {
    replica: i32,
    partition: i32,
}

/// Messages, with their addresses and lengths.
#[derive(Default)]
pub struct Messages {
    pub starts: Vec<usize>,
    pub lengths: Vec<usize>,
    _bytes: Vec<Vec<u8>>,
}

impl Messages {
    fn of(bytes: Vec<Vec<u8>>) -> Messages {
        let starts = bytes.iter().map(|it| it.as_ptr() as usize).collect();
        Messages { starts, lengths: bytes.iter().map(Vec::len).collect(), _bytes: bytes }
    }
}

/// The contents of a serialised executable, which callers store.
#[derive(Serialize, Deserialize)]
struct Stored {
    options: Vec<u8>,
    figures: Figures,
    shardings: Shardings,
    executable: Vec<u8>,
}

/// A run of a program that has begun.
pub struct Run {
    pub outputs: Vec<Arc<Buffer>>,
    pub done: Arc<Event>,
}

impl Object for Loaded {
    const KIND: Kind = Kind::Executable;
}

impl Loaded {
    /// Loads a compiled program.
    pub fn of(client: Arc<Client>, compiled: Compiled, options: &[u8]) -> Answer<Arc<Loaded>> {
        let Compiled { executable, figures, shardings } = compiled;
        let read = CompileOptions::read(options)?;
        let Placement { partitions, devices } = read.placement()?;
        let devices = match devices {
            None if partitions > 1 => Some((0..partitions as i32).collect::<Vec<i32>>()),
            devices => devices,
        };
        devices.iter().flatten().try_for_each(|&device| client.device(device).map(|_| ()))?;
        let whole = Signature::of(&executable)?;
        let ranks = |values: &[ValueType]| values.iter().map(|it| it.dims().len()).collect::<Vec<usize>>();
        let tilings =
            |texts: &[String], values: &[ValueType]| Shardings::tilings(texts, partitions, ranks(values).into_iter());
        let parameter_tiles = tilings(&shardings.parameters, &whole.parameters)?;
        let output_tiles = tilings(&shardings.outputs, &whole.outputs)?;
        let signature = whole.on_device(&parameter_tiles, &output_tiles)?;
        let mut lists = Lists::of(&signature, &figures);
        for (partition, &device) in (0..).zip(devices.iter().flatten()) {
            lists.devices.push(Reference::to(client.device(device)?));
            lists.positions.push(LogicalId { replica: 0, partition });
        }
        if partitions > 1 {
            lists.parameter_shardings = Messages::of(parameter_tiles.iter().map(message).collect());
            let outputs: Vec<Vec<u8>> = output_tiles.iter().map(message).collect();
            // The interface wants one sharding for a program without outputs.
            let none = || vec![message(&Tiling::whole(partitions, 0))];
            lists.output_shardings = Messages::of(if outputs.is_empty() { none() } else { outputs });
        }
        let facts = figures.steps.as_slice().into();
        Ok(Arc::new(Loaded {
            name: executable.name.clone(),
            lists,
            output_dims: signature.outputs.iter().map(|output| output.dims().into()).collect(),
            signature,
            figures,
            options: options.to_vec(),
            assignment: read.assignment().to_vec(),
            devices,
            partitions,
            shardings,
            whole,
            parameter_tiles,
            output_tiles,
            program: client.machine.load(executable, facts)?,
            client,
            is_deleted: AtomicBool::new(false),
        }))
    }

    /// Serialises the executable, so that callers can store it.
    pub fn stored(&self) -> Answer<Vec<u8>> {
        let (options, figures, shardings) = (self.options.clone(), self.figures.clone(), self.shardings.clone());
        let stored = Stored { options, figures, shardings, executable: self.program.bytes()? };
        postcard::to_extend(&stored, MAGIC.to_vec()).map_err(|error| Error::internal(error.to_string()))
    }

    /// Loads a stored executable. If `options` is given, it replaces the stored options.
    pub fn restored(client: Arc<Client>, bytes: &[u8], options: Option<&[u8]>) -> Answer<Arc<Loaded>> {
        let data = bytes.strip_prefix(MAGIC).ok_or_else(|| {
            Error::invalid("these bytes are not an executable of this version of fusebox: compile the program again")
        })?;
        let damaged = |error: String| Error::invalid(format!("damaged executable: {error}; compile the program again"));
        let stored: Stored = postcard::from_bytes(data).map_err(|error| damaged(error.to_string()))?;
        let executable = Executable::from_bytes(&stored.executable).map_err(|error| damaged(error.to_string()))?;
        let compiled = Compiled { executable, figures: stored.figures, shardings: stored.shardings };
        Loaded::of(client, compiled, options.unwrap_or(&stored.options))
    }

    /// Forbids further runs.
    pub fn delete(&self) {
        self.is_deleted.store(true, Ordering::Relaxed);
    }

    pub fn is_deleted(&self) -> bool {
        self.is_deleted.load(Ordering::Relaxed)
    }

    /// Runs the program of one partition on a device. Marks donated arguments as deleted.
    pub fn run(&self, device: Option<&Device>, arguments: &[&Buffer], not_donated: &[i64]) -> Answer<Run> {
        self.check_runs(1)?;
        let only = self.devices.as_ref().and_then(|devices| devices.first().copied());
        let device = self.client.device(device.map(|it| it.number).or(only).unwrap_or(0))?;
        self.check(arguments, device)?;
        let donated = self.donated(arguments, not_donated)?;
        let kept: Vec<usize> = (0..arguments.len()).filter(|&number| not_donated.contains(&(number as i64))).collect();
        let outcome = self.outputs(arguments, &kept)?;
        donated.into_iter().for_each(|number| arguments[number].delete());
        self.on_device(device, outcome)
    }

    /// Runs the program on the devices of all partitions, each with its own arguments. Marks
    /// donated arguments as deleted. fusebox joins the devices' arguments to whole arrays, and runs
    /// the program once with the whole arrays.
    pub fn run_on_all(&self, arguments: &[Vec<&Buffer>], not_donated: &[i64]) -> Answer<Vec<Run>> {
        self.check_runs(arguments.len())?;
        let devices = self.devices.iter().flatten().map(|&number| self.client.device(number));
        let devices = devices.collect::<Answer<Vec<&Device>>>()?;
        let mut donated = Vec::new();
        for (arguments, device) in arguments.iter().zip(&devices) {
            self.check(arguments, device)?;
            donated = self.donated(arguments, not_donated)?;
        }
        let outcome = self.outputs_of_parts(arguments)?;
        for arguments in arguments {
            donated.iter().for_each(|&number| arguments[number].delete());
        }
        let machine = &self.client.machine;
        let runs = devices.into_iter().enumerate().map(|(partition, device)| {
            let own = outcome.as_ref().map_err(Clone::clone).map(|arrays| {
                let tiles = arrays.iter().zip(&self.output_tiles);
                tiles.map(|(array, tiling)| machine.tile(array, tiling, partition)).collect()
            });
            self.on_device(device, own)
        });
        runs.collect()
    }

    fn check_runs(&self, devices: usize) -> Answer {
        if self.is_deleted() {
            return Err(Error::precondition("the executable has been deleted"));
        }
        if devices == self.partitions {
            return Ok(());
        }
        let partitions = self.partitions;
        Err(Error::invalid(format!("a program for {partitions} devices is to run on {devices}")))
    }

    /// Returns the numbers of donated arguments.
    fn donated(&self, arguments: &[&Buffer], not_donated: &[i64]) -> Answer<Vec<usize>> {
        let is_donated = |number: &usize| self.signature.donated[*number] && !not_donated.contains(&(*number as i64));
        let donated: Vec<usize> = (0..arguments.len()).filter(is_donated).collect();
        check_donation(arguments, &donated)?;
        Ok(donated)
    }

    /// Creates the output buffers of a device from the output arrays of a run.
    fn on_device(&self, device: &Device, outcome: Answer<Vec<Array>>) -> Answer<Run> {
        let memory = self.client.memories_of(device.number).first();
        let memory = memory.ok_or_else(|| Error::internal("the device has no memory"))?.get()?;
        let done = completion(outcome.as_deref());
        let buffer = |(output, dims): (&ValueType, &Arc<[i64]>), contents| {
            Buffer::create(memory, output.buffer_type(), Arc::clone(dims), contents)
        };
        let outputs = self.signature.outputs.iter().zip(&self.output_dims);
        let outputs = match outcome {
            Ok(arrays) => outputs.zip(arrays).map(|(it, array)| buffer(it, Contents::Array(array))).collect(),
            Err(error) => outputs.map(|it| buffer(it, Contents::Failed(error.clone()))).collect::<Answer<_>>(),
        };
        Ok(Run { outputs: outputs?, done })
    }

    /// Joins the devices' tiles of each argument to a whole array, and executes the program with
    /// the whole arrays. Returns the same as [`Loaded::outputs`], but with whole arrays.
    fn outputs_of_parts(&self, arguments: &[Vec<&Buffer>]) -> Answer<Answer<Vec<Array>>> {
        let machine = &self.client.machine;
        let mut arrays = Vec::new();
        for (number, (parameter, tiling)) in self.whole.parameters.iter().zip(&self.parameter_tiles).enumerate() {
            let mut tiles = Vec::new();
            for argument in arguments.iter().map(|arguments| arguments[number]) {
                match argument.array() {
                    Err(error) if argument.is_deleted() => return Err(error),
                    Err(error) => return Ok(Err(error)),
                    Ok(array) => tiles.push(array),
                }
            }
            // A token has no array.
            if let Some(shape) = &parameter.array {
                arrays.push(machine.joined(&tiles, tiling, shape)?);
            }
        }
        self.executed(&arrays, &[]).map(Ok)
    }

    /// Executes the program. Returns an array for each output, also for tokens.
    fn executed(&self, arrays: &[Array], kept: &[usize]) -> Answer<Vec<Array>> {
        let Signature { parameters, outputs, .. } = &self.signature;
        let machine = &self.client.machine;
        let has_tokens = parameters.iter().chain(outputs).any(|it| it.array.is_none());
        let results = self.program.execute(machine, arrays, kept, has_tokens)?;
        if !has_tokens && results.len() == outputs.len() {
            return Ok(results);
        }
        let mut results = results.into_iter();
        let output = |output: &ValueType| match output.array {
            Some(_) => results.next().ok_or_else(|| Error::internal("the program returned too few arrays")),
            None => machine.copied(BufferType::BOOLEANS.element()?, &[0], &[]),
        };
        outputs.iter().map(output).collect()
    }

    /// Executes the program. Returns an array for each output. The inner result is an error if the
    /// computation of an argument has already failed.
    fn outputs(&self, arguments: &[&Buffer], kept: &[usize]) -> Answer<Answer<Vec<Array>>> {
        let parameters = &self.signature.parameters;
        let (mut arrays, mut kept_arrays) = (Vec::with_capacity(arguments.len()), Vec::new());
        for (number, (argument, parameter)) in arguments.iter().zip(parameters).enumerate() {
            match argument.array() {
                Err(error) if argument.is_deleted() => return Err(error),
                Err(error) => return Ok(Err(error)),
                // A token has no array.
                Ok(_) if parameter.array.is_none() => {}
                Ok(array) => {
                    if let Some(Err(error)) = array.outcome() {
                        return Ok(Err(error));
                    }
                    kept_arrays.extend(kept.contains(&number).then_some(arrays.len()));
                    arrays.push(array);
                }
            }
        }
        self.executed(&arrays, &kept_arrays).map(Ok)
    }

    /// Checks the number of arguments, and the type and the device of each argument.
    fn check(&self, arguments: &[&Buffer], device: &Device) -> Answer {
        let parameters = &self.signature.parameters;
        if arguments.len() != parameters.len() {
            let (wanted, given) = (parameters.len(), arguments.len());
            return Err(Error::invalid(format!("the program takes {wanted} arguments, {given} are given")));
        }
        for (number, (argument, parameter)) in arguments.iter().zip(parameters).enumerate() {
            let fits = argument.kind == parameter.buffer_type() && *argument.dims == *parameter.dims();
            if parameter.array.is_some() && !fits {
                let (given, dims) = (argument.kind.element().map_or("token", |it| it.name()), &argument.dims);
                let wanted = parameter.text();
                return Err(Error::invalid(format!("argument {number} is {given}{dims:?}, the parameter {wanted}")));
            }
            let place = argument.memory()?.device;
            if place != device.number || !Arc::ptr_eq(&argument.client, &self.client) {
                let wanted = device.number;
                return Err(Error::invalid(format!("argument {number} is on device {place}, the program on {wanted}")));
            }
        }
        Ok(())
    }
}

/// Returns the event that completes when a run is complete. All outputs of a run are ready, or
/// fail, at the same time.
fn completion(outcome: Result<&[Array], &Error>) -> Arc<Event> {
    let arrays = match outcome {
        Ok(arrays) => arrays,
        Err(error) => return Event::done(Err(error.clone())),
    };
    let Some(last) = arrays.iter().rfind(|array| !array.is_ready()) else { return Event::done(Ok(())) };
    let event = Event::pending();
    let own = Arc::clone(&event);
    last.when_ready(move |outcome| {
        own.complete(outcome);
    });
    event
}

/// Checks that no donated argument is passed a second time.
fn check_donation(arguments: &[&Buffer], donated: &[usize]) -> Answer {
    for &number in donated {
        let is_same = |&other: &usize| other != number && std::ptr::eq(arguments[other], arguments[number]);
        let Some(other) = (0..arguments.len()).find(is_same) else { continue };
        let message = if donated.contains(&other) {
            format!(
                "Attempt to donate the same buffer twice in Execute(): arguments {other} and {number} are one array"
            )
        } else {
            format!(
                "Attempt to donate a buffer which is also used by the same call to Execute(): argument {number} is \
                 donated, and argument {other} is the same array; pass a copy of it"
            )
        };
        return Err(Error::invalid(message));
    }
    Ok(())
}

impl Lists {
    fn of(signature: &Signature, figures: &Figures) -> Lists {
        let outputs = &signature.outputs;
        let names = outputs.len().max(signature.parameters.len());
        let work = figures.work.map(|(additions, bytes)| {
            vec![NamedValue::float("flops", additions), NamedValue::float("bytes accessed", bytes)]
        });
        Lists {
            output_types: outputs.iter().map(|it| it.buffer_type().0).collect(),
            output_dims: outputs.iter().flat_map(|it| it.dims().to_vec()).collect(),
            output_ranks: outputs.iter().map(|it| it.dims().len()).collect(),
            kind_names: vec![MEMORY_KINDS[0].as_ptr() as usize; names],
            kind_lengths: vec![MEMORY_KINDS[0].len(); names],
            costs: work.unwrap_or_default(),
            devices: Vec::new(),
            positions: Vec::new(),
            parameter_shardings: Messages::default(),
            output_shardings: Messages::default(),
        }
    }
}
