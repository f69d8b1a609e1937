//! Execution.

use crate::abi::{Call, ExecuteOptions, Handle, Kind, Object, Reference, arguments, read_struct};
use crate::buffer::Buffer;
use crate::client::Device;
use crate::error::{Answer, Error};
use crate::event::Event;
use crate::executable::{Loaded, Run};

/// Resources that a caller shares with custom calls, and that fusebox does not use.
pub struct ExecuteContext;

impl Object for ExecuteContext {
    const KIND: Kind = Kind::ExecuteContext;
}

arguments! {
    /// The lists of arguments, of outputs and of events have one entry per device.
    LoadedExecute("PJRT_LoadedExecutable_Execute") {
        executable: Handle<Loaded>,
        options: *const ExecuteOptions,
        arguments: *const *const Handle<Buffer>,
        devices: usize,
        count: usize,
        outputs: *const *mut Handle<Buffer>,
        events: *mut Handle<Event>,
        device: Reference<Device>,
    }
    ExecuteContextCreate("PJRT_ExecuteContext_Create") { context: Handle<ExecuteContext>, }
    ExecuteContextDestroy("PJRT_ExecuteContext_Destroy") { context: Handle<ExecuteContext>, }
}

impl Call for LoadedExecute {
    fn call(&mut self) -> Answer {
        let loaded = self.executable.get()?;
        // SAFETY: the caller passes options; any bytes are valid for their fields.
        let options = unsafe { read_struct(self.options) }?;
        if options.sends > 0 || options.receives > 0 {
            return Err(Error::unimplemented("transfers between a program and its caller"));
        }
        if (self.arguments.is_null() && self.count > 0) || self.outputs.is_null() {
            return Err(Error::misuse("the lists of arguments or outputs are null"));
        }
        let not_donated = options.not_donated.elements()?;
        if self.devices == 1 {
            let device = if self.device.is_null() { None } else { Some(self.device.get()?) };
            return self.deliver(0, loaded.run(device, &self.arguments_of(0)?, not_donated)?);
        }
        let lists = (0..self.devices).map(|device| self.arguments_of(device)).collect::<Answer<Vec<_>>>()?;
        let runs = loaded.run_on_all(&lists, not_donated)?;
        runs.into_iter().enumerate().try_for_each(|(device, run)| self.deliver(device, run))
    }
}

impl LoadedExecute {
    /// Hands the outputs and the event of a device over to the caller.
    fn deliver(&self, device: usize, Run { outputs, done }: Run) -> Answer {
        for (number, output) in outputs.into_iter().enumerate() {
            let output = Handle::of(output)?;
            // SAFETY: the caller has a list for each device, which has room for all outputs.
            unsafe { (*self.outputs.add(device)).add(number).write(output) };
        }
        if !self.events.is_null() {
            let done = Handle::of(done)?;
            // SAFETY: the caller's list has room for an event per device.
            unsafe { self.events.add(device).write(done) };
        }
        Ok(())
    }

    /// Returns the arguments for a device.
    fn arguments_of(&self, device: usize) -> Answer<Vec<&Buffer>> {
        if self.count == 0 {
            return Ok(Vec::new());
        }
        // SAFETY: the caller has a list for each device, and it has `count` arguments.
        let arguments = unsafe { std::slice::from_raw_parts(*self.arguments.add(device), self.count) };
        arguments.iter().map(Handle::get).collect()
    }
}

impl Call for ExecuteContextCreate {
    fn call(&mut self) -> Answer {
        self.context = Handle::of(ExecuteContext.into())?;
        Ok(())
    }
}

impl Call for ExecuteContextDestroy {
    fn call(&mut self) -> Answer {
        self.context.destroy()
    }
}
