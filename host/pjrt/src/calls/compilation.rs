//! Functions that compile programs, and that serialise and load executables.

use std::ffi::c_void;

use crate::abi::{Call, Handle, Holder, Program, Text, arguments, read_struct};
use crate::client::Client;
use crate::error::Answer;
use crate::executable::Loaded;

arguments! {
    ClientCompile("PJRT_Client_Compile") {
        client: Handle<Client>,
        program: *const Program,
        options: Text,
        executable: Handle<Loaded>,
    }
    ExecutableSerialize("PJRT_Executable_Serialize") { executable: Handle<Loaded>, holder: Holder, }
    ExecutableDeserializeAndLoad("PJRT_Executable_DeserializeAndLoad") {
        client: Handle<Client>,
        bytes: Text,
        executable: Handle<Loaded>,
        options: Text,
        load_options: *const c_void,
    }
}

impl Call for ClientCompile {
    fn call(&mut self) -> Answer {
        self.executable = Handle::NULL;
        let client = self.client.shared()?;
        // SAFETY: the caller passes a program; any bytes are valid for its fields.
        let program = unsafe { read_struct(self.program) }?;
        let options = self.options.bytes()?;
        let compiled = client.compiler.compile(program.code.bytes()?, &program.format.text()?, options)?;
        self.executable = Handle::of(Loaded::of(client, compiled, options)?)?;
        Ok(())
    }
}

impl Call for ExecutableSerialize {
    fn call(&mut self) -> Answer {
        self.holder = Holder::of(self.executable.get()?.stored()?);
        Ok(())
    }
}

impl Call for ExecutableDeserializeAndLoad {
    fn call(&mut self) -> Answer {
        self.executable = Handle::NULL;
        let options = if self.options.is_absent() { None } else { Some(self.options.bytes()?) };
        self.executable = Handle::of(Loaded::restored(self.client.shared()?, self.bytes.bytes()?, options)?)?;
        Ok(())
    }
}
