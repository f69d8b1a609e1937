//! Clients.

use std::ffi::c_void;

use crate::abi::{Call, Handle, List, NamedValue, Reference, Text, arguments};
use crate::client::{Client, ClientOptions, Device, Memory};
use crate::error::{Answer, Error};
use crate::topology::{PLATFORM_VERSION, Topology};

arguments! {
    /// The functions `get`, `put` and `try_get` are meant for several processes. fusebox does not
    /// use these functions, because their addresses are garbage if there is only one process.
    ClientCreate("PJRT_Client_Create") {
        options: List<NamedValue>,
        get: *const c_void,
        get_argument: *const c_void,
        put: *const c_void,
        put_argument: *const c_void,
        client: Handle<Client>,
        try_get: *const c_void,
        try_get_argument: *const c_void,
    }
    ClientDestroy("PJRT_Client_Destroy") { client: Handle<Client>, }
    ClientPlatformName("PJRT_Client_PlatformName") { client: Handle<Client>, name: Text, }
    ClientProcessIndex("PJRT_Client_ProcessIndex") { client: Handle<Client>, index: i32, }
    ClientPlatformVersion("PJRT_Client_PlatformVersion") { client: Handle<Client>, version: Text, }
    ClientDevices("PJRT_Client_Devices") { client: Handle<Client>, devices: List<Reference<Device>>, }
    ClientAddressableDevices("PJRT_Client_AddressableDevices") {
        client: Handle<Client>,
        devices: List<Reference<Device>>,
    }
    ClientLookupDevice("PJRT_Client_LookupDevice") { client: Handle<Client>, number: i32, device: Reference<Device>, }
    ClientLookupAddressableDevice("PJRT_Client_LookupAddressableDevice") {
        client: Handle<Client>,
        number: i32,
        device: Reference<Device>,
    }
    ClientAddressableMemories("PJRT_Client_AddressableMemories") {
        client: Handle<Client>,
        memories: List<Reference<Memory>>,
    }
    ClientDefaultDeviceAssignment("PJRT_Client_DefaultDeviceAssignment") {
        client: Handle<Client>,
        replicas: i32,
        partitions: i32,
        places: usize,
        assignment: *mut i32,
    }
    ClientTopologyDescription("PJRT_Client_TopologyDescription") {
        client: Handle<Client>,
        topology: Handle<Topology>,
    }
    ClientDmaMap("PJRT_Client_DmaMap") { client: Handle<Client>, data: *const c_void, bytes: usize, }
    ClientDmaUnmap("PJRT_Client_DmaUnmap") { client: Handle<Client>, data: *const c_void, }
}

impl Call for ClientCreate {
    fn call(&mut self) -> Answer {
        self.client = Handle::NULL;
        let given = self.options.elements()?.iter().map(NamedValue::read).collect::<Answer<Vec<_>>>()?;
        self.client = Handle::of(Client::create(&ClientOptions::of(&given)?)?)?;
        Ok(())
    }
}

impl Call for ClientDestroy {
    fn call(&mut self) -> Answer {
        self.client.destroy()
    }
}

impl Call for ClientPlatformName {
    fn call(&mut self) -> Answer {
        self.name = Text::of(self.client.get()?.topology.platform.name());
        Ok(())
    }
}

impl Call for ClientProcessIndex {
    fn call(&mut self) -> Answer {
        self.client.get()?;
        self.index = 0;
        Ok(())
    }
}

impl Call for ClientPlatformVersion {
    fn call(&mut self) -> Answer {
        self.client.get()?;
        self.version = Text::of(PLATFORM_VERSION);
        Ok(())
    }
}

impl Call for ClientDevices {
    fn call(&mut self) -> Answer {
        self.devices = List::of(self.client.get()?.devices());
        Ok(())
    }
}

impl Call for ClientAddressableDevices {
    fn call(&mut self) -> Answer {
        self.devices = List::of(self.client.get()?.devices());
        Ok(())
    }
}

impl Call for ClientLookupDevice {
    fn call(&mut self) -> Answer {
        self.device = Reference::to(self.client.get()?.device(self.number)?);
        Ok(())
    }
}

impl Call for ClientLookupAddressableDevice {
    fn call(&mut self) -> Answer {
        self.device = Reference::to(self.client.get()?.device(self.number)?);
        Ok(())
    }
}

impl Call for ClientAddressableMemories {
    fn call(&mut self) -> Answer {
        self.memories = List::of(self.client.get()?.memories());
        Ok(())
    }
}

impl Call for ClientDefaultDeviceAssignment {
    fn call(&mut self) -> Answer {
        let available = self.client.get()?.devices().len();
        let count = |count: i32| usize::try_from(count).ok();
        let wanted = count(self.replicas).zip(count(self.partitions)).map(|(a, b)| a.saturating_mul(b));
        let Some(wanted) = wanted.filter(|&wanted| wanted <= self.places && wanted <= available) else {
            let (replicas, partitions) = (self.replicas, self.partitions);
            return Err(Error::invalid(format!(
                "{replicas} replicas of {partitions} partitions need more devices than the client's {available}"
            )));
        };
        if self.assignment.is_null() && wanted > 0 {
            return Err(Error::misuse("the assignment is null"));
        }
        for number in 0..wanted {
            // SAFETY: the caller's list has room for at least `wanted` numbers.
            unsafe { self.assignment.add(number).write(number as i32) };
        }
        Ok(())
    }
}

impl Call for ClientTopologyDescription {
    fn call(&mut self) -> Answer {
        self.topology = self.client.get()?.topology_handle.handle();
        Ok(())
    }
}

impl Call for ClientDmaMap {
    /// Maps nothing, because programs use the host's memory directly.
    fn call(&mut self) -> Answer {
        self.client.get().map(|_| ())
    }
}

impl Call for ClientDmaUnmap {
    fn call(&mut self) -> Answer {
        self.client.get().map(|_| ())
    }
}
