//! Memories of devices.

use crate::abi::{Call, List, Reference, Text, arguments};
use crate::client::{Device, MEMORY_KINDS, Memory};
use crate::error::Answer;

arguments! {
    MemoryId("PJRT_Memory_Id") { memory: Reference<Memory>, number: i32, }
    MemoryKind("PJRT_Memory_Kind") { memory: Reference<Memory>, kind: Text, }
    MemoryKindId("PJRT_Memory_Kind_Id") { memory: Reference<Memory>, number: i32, }
    MemoryDebugString("PJRT_Memory_DebugString") { memory: Reference<Memory>, text: Text, }
    MemoryToString("PJRT_Memory_ToString") { memory: Reference<Memory>, text: Text, }
    MemoryAddressableByDevices("PJRT_Memory_AddressableByDevices") {
        memory: Reference<Memory>,
        devices: List<Reference<Device>>,
    }
}

impl Call for MemoryId {
    fn call(&mut self) -> Answer {
        self.number = self.memory.get()?.number;
        Ok(())
    }
}

impl Call for MemoryKind {
    fn call(&mut self) -> Answer {
        self.kind = Text::of(MEMORY_KINDS[self.memory.get()?.kind]);
        Ok(())
    }
}

impl Call for MemoryKindId {
    fn call(&mut self) -> Answer {
        self.number = self.memory.get()?.kind as i32;
        Ok(())
    }
}

impl Call for MemoryDebugString {
    fn call(&mut self) -> Answer {
        self.text = Text::of(&self.memory.get()?.text);
        Ok(())
    }
}

impl Call for MemoryToString {
    fn call(&mut self) -> Answer {
        self.text = Text::of(&self.memory.get()?.text);
        Ok(())
    }
}

impl Call for MemoryAddressableByDevices {
    fn call(&mut self) -> Answer {
        let memory = self.memory.get()?;
        self.devices = List::of(memory.client()?.only(memory.device));
        Ok(())
    }
}
