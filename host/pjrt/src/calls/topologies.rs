//! Topologies: devices without a client.

use crate::abi::{Call, Handle, Holder, List, NamedValue, Reference, Text, arguments};
use crate::client::{ClientOptions, MEMORY_KINDS};
use crate::error::{Answer, Error};
use crate::topology::{DeviceDescription, MOST_DEVICES, PLATFORM_VERSION, Platform, Topology};

arguments! {
    TopologyCreate("PJRT_TopologyDescription_Create") {
        name: Text,
        options: List<NamedValue>,
        topology: Handle<Topology>,
    }
    TopologyDestroy("PJRT_TopologyDescription_Destroy") { topology: Handle<Topology>, }
    TopologyPlatformName("PJRT_TopologyDescription_PlatformName") { topology: Handle<Topology>, name: Text, }
    TopologyPlatformVersion("PJRT_TopologyDescription_PlatformVersion") { topology: Handle<Topology>, version: Text, }
    TopologyGetDeviceDescriptions("PJRT_TopologyDescription_GetDeviceDescriptions") {
        topology: Handle<Topology>,
        descriptions: List<Reference<DeviceDescription>>,
    }
    TopologySerialize("PJRT_TopologyDescription_Serialize") { topology: Handle<Topology>, holder: Holder, }
    TopologyDeserialize("PJRT_TopologyDescription_Deserialize") { bytes: Text, topology: Handle<Topology>, }
    TopologyAttributes("PJRT_TopologyDescription_Attributes") {
        topology: Handle<Topology>,
        attributes: List<NamedValue>,
    }
    TopologyFingerprint("PJRT_TopologyDescription_Fingerprint") { topology: Handle<Topology>, fingerprint: u64, }
    TopologyGetMemorySpaceKindIds("PJRT_TopologyDescription_GetMemorySpaceKindIds") {
        topology: Handle<Topology>,
        numbers: List<i32>,
    }
}

/// Numbers of the kinds of memories.
const KIND_NUMBERS: [i32; MEMORY_KINDS.len()] = [0, 1, 2];

/// The first bytes of every serialised topology.
const MAGIC: &[u8] = b"fusebox topology 2\n";

impl Call for TopologyCreate {
    fn call(&mut self) -> Answer {
        self.topology = Handle::NULL;
        let given = self.options.elements()?.iter().map(NamedValue::read).collect::<Answer<Vec<_>>>()?;
        let options = ClientOptions::of(&given)?;
        self.topology = Handle::of(Topology::of(options.devices, options.platform).into())?;
        Ok(())
    }
}

impl Call for TopologyDestroy {
    fn call(&mut self) -> Answer {
        self.topology.destroy()
    }
}

impl Call for TopologyPlatformName {
    fn call(&mut self) -> Answer {
        self.name = Text::of(self.topology.get()?.platform.name());
        Ok(())
    }
}

impl Call for TopologyPlatformVersion {
    fn call(&mut self) -> Answer {
        self.topology.get()?;
        self.version = Text::of(PLATFORM_VERSION);
        Ok(())
    }
}

impl Call for TopologyGetDeviceDescriptions {
    fn call(&mut self) -> Answer {
        self.descriptions = List::of(self.topology.get()?.references());
        Ok(())
    }
}

impl Call for TopologySerialize {
    fn call(&mut self) -> Answer {
        let topology = self.topology.get()?;
        let count = topology.descriptions().len() as u32;
        self.holder = Holder::of([MAGIC, &count.to_le_bytes(), topology.platform.name().as_bytes()].concat());
        Ok(())
    }
}

impl Call for TopologyDeserialize {
    fn call(&mut self) -> Answer {
        self.topology = Handle::NULL;
        let topology = read(self.bytes.bytes()?);
        let unknown = || Error::invalid("these bytes are no topology of this version of fusebox");
        self.topology = Handle::of(topology.ok_or_else(unknown)?.into())?;
        Ok(())
    }
}

/// Reads a serialised topology.
fn read(bytes: &[u8]) -> Option<Topology> {
    let (count, name) = bytes.strip_prefix(MAGIC)?.split_first_chunk()?;
    let count = i32::try_from(u32::from_le_bytes(*count)).ok().filter(|&count| count <= MOST_DEVICES)?;
    Some(Topology::of(count, Platform::named(str::from_utf8(name).ok()?)?))
}

impl Call for TopologyAttributes {
    fn call(&mut self) -> Answer {
        self.topology.get()?;
        self.attributes = List::of(&[]);
        Ok(())
    }
}

impl Call for TopologyFingerprint {
    fn call(&mut self) -> Answer {
        self.fingerprint = self.topology.get()?.descriptions().len() as u64;
        Ok(())
    }
}

impl Call for TopologyGetMemorySpaceKindIds {
    fn call(&mut self) -> Answer {
        self.topology.get()?;
        self.numbers = List::of(&KIND_NUMBERS);
        Ok(())
    }
}
