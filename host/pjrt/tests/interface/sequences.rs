//! Random sequences of calls: valid ones, and ones that the library refuses (handles that are null,
//! destroyed or invented, deleted buffers and executables, wrong numbers of arguments, broken
//! programs, structs of other sizes). The values of all buffers are known, so that each download is
//! checked.
//!
//! `FUSEBOX_SEQUENCES` is the number of sequences, and `FUSEBOX_SEQUENCE_SEED` the seed of the
//! first one.

use fusebox_core::random::SplitMix64;
use fusebox_pjrt::NAMES;

use crate::caller::{Client, GARBAGE, at, call, call_sized, download, execute_without, function, is_deleted};
use crate::executables::{ADDS, OPTIONS};

/// Codes of errors.
const INVALID_ARGUMENT: i32 = 3;
const UNIMPLEMENTED: i32 = 12;
/// Number of sequences without the environment variable.
const SEQUENCES: u64 = 300;
/// Number of calls of a sequence.
const CALLS: u64 = 24;
/// A sequence compiles a program once in so many calls.
const COMPILES_ONE_IN: u64 = 2000;
/// Number of destroyed handles that a caller remembers.
const MOST_GONE: usize = 64;
/// Prefixes of the functions whose first argument is a handle of a kind.
const KINDS: [&str; 3] = ["PJRT_Buffer_", "PJRT_Event_", "PJRT_LoadedExecutable_"];

/// A buffer that the caller has not destroyed.
struct Buffer {
    handle: u64,
    /// The elements of an array of three floats. `None` for other arrays.
    values: Option<Vec<f32>>,
    is_deleted: bool,
}

/// An executable that adds two arrays of three floats, and may write the sum over the first one.
struct Adding {
    handle: u64,
    is_deleted: bool,
}

/// The objects of a sequence.
struct Caller<'c> {
    random: SplitMix64,
    client: &'c Client,
    buffers: Vec<Buffer>,
    events: Vec<u64>,
    executables: Vec<Adding>,
    /// Destroyed handles, with the numbers of their kinds in `KINDS`.
    gone: Vec<(usize, u64)>,
}

impl Caller<'_> {
    fn below(&mut self, end: u64) -> u64 {
        self.random.bits() % end.max(1)
    }

    /// Returns the position of a random buffer.
    fn buffer(&mut self) -> Option<usize> {
        let count = self.buffers.len() as u64;
        (count > 0).then(|| self.below(count) as usize)
    }

    fn keep(&mut self, handle: u64, values: Option<Vec<f32>>) {
        self.buffers.push(Buffer { handle, values, is_deleted: false });
    }

    fn step(&mut self) {
        match self.below(18) {
            0..3 => self.upload(),
            3 | 4 => self.download(),
            5 => self.delete(),
            6 => self.destroy(),
            7 => self.query(),
            8 => self.copy(),
            9 => self.event(),
            10..13 => self.execute(),
            13 => self.executable(),
            14 => self.nothing(),
            15 | 16 => self.destroyed(),
            _ => self.short(),
        }
    }

    /// Creates a buffer: of three floats, or of other sizes and types, some of which are none.
    fn upload(&mut self) {
        let values: Vec<f32> = (0..3).map(|_| self.random.unit() as f32).collect();
        if self.below(3) > 0 {
            let handle = self.client.floats(&values, &[3]);
            self.keep(handle, Some(values));
            return;
        }
        let sizes = [-1, 0, 1, 2, 3, 1 << 40];
        let dims: Vec<i64> = (0..self.below(4)).map(|_| sizes[self.below(6) as usize]).collect();
        let (kind, semantics) = (self.below(40), self.below(5));
        let strides: Vec<i64> = if self.below(2) == 0 { Vec::new() } else { dims.iter().map(|_| 16).collect() };
        // The host's array must exist for all sizes that the library does not refuse.
        let data = vec![0x5A_u8; 4096];
        let address = if self.below(8) == 0 { 0 } else { at(&data[..]) };
        if let Ok([event, buffer]) = self.client.upload(address, kind, &dims, &strides, semantics) {
            // A buffer may refer to the host's array until it is destroyed, and the event waits for
            // that.
            self.give_back(0, buffer);
            call("Event_Await", [event]).unwrap();
            self.give_back(1, event);
        }
    }

    /// Destroys a handle and remembers it.
    fn give_back(&mut self, kind: usize, handle: u64) {
        let function = format!("{}Destroy", KINDS[kind]);
        call(function.trim_start_matches("PJRT_"), [handle]).unwrap();
        if self.gone.len() == MOST_GONE {
            let oldest = self.below(MOST_GONE as u64) as usize;
            self.gone.swap_remove(oldest);
        }
        self.gone.push((kind, handle));
    }

    /// Passes a handle to a function that must refuse it, because it is destroyed, belongs to an
    /// object of another kind, or is invented.
    fn destroyed(&mut self) {
        let Some(&(kind, handle)) = self.gone.get(self.random.bits() as usize % self.gone.len().max(1)) else { return };
        let handle = match self.below(4) {
            0 => self.random.bits(),
            1 => handle ^ 1 << self.below(64),
            _ => handle,
        };
        let functions: Vec<&&str> = NAMES.iter().filter(|name| name.starts_with(KINDS[kind])).collect();
        let name = functions[self.below(functions.len() as u64) as usize].trim_start_matches("PJRT_");
        // An invented handle may be that of an object which exists.
        let is_live = self.buffers.iter().map(|it| it.handle).chain(self.events.iter().copied());
        let is_live = is_live.chain(self.executables.iter().map(|it| it.handle)).any(|it| it == handle);
        if is_live || name == "Event_Create" || (handle == 0 && name.ends_with("Destroy")) {
            return;
        }
        let mut fields = [0; 20];
        fields[0] = handle;
        let (code, message) = call_sized(name, 176, fields).unwrap_err();
        assert!([INVALID_ARGUMENT, UNIMPLEMENTED].contains(&code), "{name}: {message}");
        // An argument of an execution.
        if let (0, Some(other)) = (kind, self.buffer()) {
            let (other, executable) = (self.buffers[other].handle, self.executables[0].handle);
            let failure = execute_without(executable, &[other, handle], 1, &[0]).unwrap_err();
            assert_eq!(failure.0, INVALID_ARGUMENT, "{failure:?}");
        }
    }

    fn download(&mut self) {
        let Some(at) = self.buffer() else { return };
        let Buffer { handle, values, is_deleted } = &self.buffers[at];
        match (download(*handle), values) {
            (Ok(found), Some(values)) => assert!(!is_deleted && found == *values, "{found:?} is not {values:?}"),
            (Ok(_), None) => assert!(!is_deleted, "a deleted buffer was read"),
            (Err(failure), _) => assert!(*is_deleted, "{failure:?}"),
        }
        // A target that is too small.
        let (handle, mut target) = (*handle, [0_u8; 2]);
        call("Buffer_ToHostBuffer", [handle, 0, target.as_mut_ptr() as u64, 2, GARBAGE]).unwrap_err();
    }

    fn delete(&mut self) {
        let Some(at) = self.buffer() else { return };
        call("Buffer_Delete", [self.buffers[at].handle]).unwrap();
        self.buffers[at].is_deleted = true;
        assert!(is_deleted(self.buffers[at].handle));
    }

    fn destroy(&mut self) {
        let Some(at) = self.buffer() else { return };
        let handle = self.buffers.swap_remove(at).handle;
        self.give_back(0, handle);
    }

    fn query(&mut self) {
        let Some(at) = self.buffer() else { return };
        let Buffer { handle, is_deleted: deleted, .. } = self.buffers[at];
        assert_eq!(is_deleted(handle), deleted);
        let [_, _, rank] = call("Buffer_Dimensions", [handle, GARBAGE, GARBAGE]).unwrap();
        assert_eq!(rank, 1);
        assert_eq!(call("Buffer_ElementType", [handle, GARBAGE]).unwrap()[1] as u32, 11);
        for name in ["Buffer_OnDeviceSizeInBytes", "Buffer_Device", "Buffer_Memory"] {
            _ = call(name, [handle, GARBAGE]);
        }
        if let Ok([_, event]) = call("Buffer_ReadyEvent", [handle, GARBAGE]) {
            self.events.push(event);
        }
    }

    fn copy(&mut self) {
        let Some(at) = self.buffer() else { return };
        let devices = self.client.devices();
        let target = devices[self.below(devices.len() as u64) as usize];
        let (name, target) = match self.below(3) {
            0 => ("Buffer_CopyToMemory", self.client.memory()),
            1 => ("Buffer_CopyToMemory", 0),
            _ => ("Buffer_CopyToDevice", target),
        };
        let Buffer { handle, values, is_deleted } = &self.buffers[at];
        let values = values.clone();
        match call(name, [*handle, target, GARBAGE]) {
            Ok([_, _, copy]) => {
                assert!(!is_deleted && target != 0);
                self.keep(copy, values);
            }
            Err(failure) => assert!(*is_deleted || target == 0, "{failure:?}"),
        }
    }

    fn event(&mut self) {
        let Some(event) = self.events.pop() else { return };
        match self.below(3) {
            0 => _ = call("Event_Await", [event]),
            1 => _ = call("Event_Error", [event]),
            _ => {
                call("Event_IsReady", [event, GARBAGE]).unwrap();
            }
        }
        self.give_back(1, event);
    }

    /// Executes a program on random buffers, with a wrong number of arguments in some cases.
    fn execute(&mut self) {
        let count = if self.below(8) == 0 { self.below(4) } else { 2 };
        let chosen: Option<Vec<usize>> = (0..count).map(|_| self.buffer()).collect();
        let executable = self.below(self.executables.len() as u64) as usize;
        let Some(chosen) = chosen else { return };
        let keeps_first = self.below(2) == 0;
        let not_donated: &[i64] = if keeps_first { &[0] } else { &[] };
        let arguments: Vec<u64> = chosen.iter().map(|&at| self.buffers[at].handle).collect();
        let Adding { handle, is_deleted: is_gone } = self.executables[executable];
        let done = execute_without(handle, &arguments, 1, not_donated);
        let is_same = !chosen.is_empty() && chosen.first() == chosen.get(1);
        let are_there = chosen.iter().all(|&at| !self.buffers[at].is_deleted);
        match done {
            Ok(outputs) => {
                assert!(count == 2 && are_there && !is_gone);
                let values = |at: usize| self.buffers[chosen[at]].values.clone().unwrap();
                let sum = values(0).iter().zip(&values(1)).map(|(a, b)| a + b).collect();
                if !keeps_first {
                    self.buffers[chosen[0]].is_deleted = true;
                }
                self.keep(outputs[0], Some(sum));
            }
            // A buffer may not be donated and read at the same time, and buffers are on one device.
            Err(failure) => {
                let is_known = count != 2 || !are_there || is_gone || is_same || failure.1.contains("device");
                assert!(is_known, "{failure:?}");
                // A refused execution may have taken a donated argument.
                for at in chosen {
                    self.buffers[at].is_deleted = is_deleted(self.buffers[at].handle);
                }
            }
        }
    }

    /// Deletes or destroys an executable and compiles another one, rarely; or compiles a broken
    /// program.
    fn executable(&mut self) {
        if self.below(COMPILES_ONE_IN / 16) > 0 {
            let executable = &self.executables[0];
            let [_, deleted] = call("LoadedExecutable_IsDeleted", [executable.handle, GARBAGE]).unwrap();
            assert_eq!(deleted & 0xFF == 1, executable.is_deleted);
            return;
        }
        let mut broken = ADDS.as_bytes().to_vec();
        let position = self.below(broken.len() as u64) as usize;
        broken[position] = self.random.bits() as u8;
        if let Ok(executable) = self.client.compile(&broken, OPTIONS) {
            call("LoadedExecutable_Destroy", [executable]).unwrap();
        }
        call("LoadedExecutable_Delete", [self.executables[0].handle]).unwrap();
        self.executables[0].is_deleted = true;
        if self.executables.len() > 2 {
            let handle = self.executables.remove(0).handle;
            self.give_back(2, handle);
        }
        let handle = self.client.compile(ADDS.as_bytes(), OPTIONS).unwrap();
        self.executables.push(Adding { handle, is_deleted: false });
    }

    /// Calls a function with null handles, addresses and counts. It must answer.
    fn nothing(&mut self) {
        let name = NAMES[self.below(NAMES.len() as u64) as usize].trim_start_matches("PJRT_");
        // A client uses much memory.
        if name == "Client_Create" {
            return;
        }
        let result = call_sized(name, 176, [0; 20]);
        // If an object remained, an invented handle might be that of the object.
        let is_creation = ["Event_Create", "ExecuteContext_Create"].contains(&name);
        if let (true, Ok([handle, ..])) = (is_creation, result) {
            call(&name.replace("Create", "Destroy"), [handle]).unwrap();
        }
    }

    /// Calls a function with a struct that ends early.
    fn short(&mut self) {
        let name = ["Buffer_Dimensions", "Client_Devices", "Event_Await", "Buffer_IsDeleted"][self.below(4) as usize];
        let mut words = [self.below(17), 0, 0, GARBAGE, GARBAGE, GARBAGE];
        // SAFETY: the struct has at least as many bytes as it says.
        let error = unsafe { function(name)(words.as_mut_ptr()) };
        assert!(!error.is_null(), "{name} without a handle");
        crate::caller::failure(error);
        assert_eq!(words[3..], [GARBAGE; 3]);
    }

    /// Destroys everything that the sequence has made, and checks the remaining values.
    fn end(&mut self) {
        for Buffer { handle, values, is_deleted } in std::mem::take(&mut self.buffers) {
            if let (false, Some(values)) = (is_deleted, values) {
                assert_eq!(download(handle).unwrap(), values);
            }
            self.give_back(0, handle);
        }
        for event in std::mem::take(&mut self.events) {
            self.give_back(1, event);
        }
    }
}

/// Prints the seed of a sequence that fails.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("FUSEBOX_SEQUENCE_SEED={} FUSEBOX_SEQUENCES=1 repeats this", self.0);
        }
    }
}

fn asked_for(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn random_sequences_of_calls_are_answered() {
    let client = Client::new(2);
    let handle = client.compile(ADDS.as_bytes(), OPTIONS).unwrap();
    let executables = vec![Adding { handle, is_deleted: false }];
    let random = SplitMix64(0);
    let (buffers, events, gone) = (Vec::new(), Vec::new(), Vec::new());
    let mut caller = Caller { random, client: &client, buffers, events, executables, gone };
    let first = asked_for("FUSEBOX_SEQUENCE_SEED").unwrap_or(1);
    for seed in first..first + asked_for("FUSEBOX_SEQUENCES").unwrap_or(SEQUENCES) {
        caller.random = SplitMix64(seed);
        let _named = Named(seed);
        for _ in 0..CALLS {
            caller.step();
        }
        caller.end();
    }
    for Adding { handle, .. } in caller.executables {
        call("LoadedExecutable_Destroy", [handle]).unwrap();
    }
}
