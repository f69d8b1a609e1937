//! Clients, and their devices and memories. All devices share this machine's processor and memory.

use std::ffi::c_void;
use std::sync::{Arc, Weak};

use fusebox_choices::threads;
use fusebox_run::collective_limit;

use crate::abi::{Kind, Lent, Object, Reference, Value};
use crate::compiler::Compiler;
use crate::device::Machine;
use crate::error::{Answer, Error};
use crate::options::UserOptions;
use crate::topology::{MOST_DEVICES, Platform, Topology};

/// Kinds of memories. Every device has one memory of each kind. The memory of the first kind is the
/// default.
pub const MEMORY_KINDS: [&str; 3] = ["device", "pinned_host", "unpinned_host"];

/// Environment variable with the number of devices.
const DEVICES: &str = "FUSEBOX_NUM_DEVICES";
/// Environment variable with the name of the platform.
const PLATFORM_NAME: &str = "FUSEBOX_PLATFORM_NAME";

/// A client of the interface, with its devices and their memories.
pub struct Client {
    pub topology: Arc<Topology>,
    /// The handle through which callers use the client's topology.
    pub topology_handle: Lent<Topology>,
    pub machine: Machine,
    pub compiler: Compiler,
    devices: Box<[Device]>,
    memories: Box<[Memory]>,
    device_references: Box<[Reference<Device>]>,
    memory_references: Box<[Reference<Memory>]>,
}

/// A device of a client.
pub struct Device {
    client: Weak<Client>,
    pub number: i32,
}

/// A memory of a device. The interface requires that the first word of a memory is null, or points
/// to functions on several memories at once. fusebox has no such functions, so the first word is
/// null.
#[repr(C)]
pub struct Memory {
    functions: *const c_void,
    client: Weak<Client>,
    /// Number of the memory among all memories of the client.
    pub number: i32,
    /// Number of the memory's device.
    pub device: i32,
    /// Number of the memory's kind.
    pub kind: usize,
    pub text: String,
}

// SAFETY: the pointer is null.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// Options of a client.
#[derive(Debug, PartialEq, Eq)]
pub struct ClientOptions {
    /// Number of devices.
    pub devices: i32,
    /// Name of the platform.
    pub platform: Platform,
}

impl ClientOptions {
    /// Reads the options. If an option is not given, reads its environment variable. JAX passes
    /// numbers as texts if the user writes all options in one text.
    pub fn of(given: &[(String, Value)]) -> Answer<ClientOptions> {
        let mut options = ClientOptions { devices: 1, platform: Platform::Fusebox };
        if let Some(text) = variable(DEVICES) {
            let count =
                text.trim().parse().map_err(|_| Error::invalid(format!("{DEVICES} must be a number, not `{text}`")));
            options.devices = devices(count?)?;
        }
        if let Some(text) = variable(PLATFORM_NAME) {
            options.platform = platform(PLATFORM_NAME, &text)?;
        }
        for (name, value) in given {
            match (name.as_str(), value) {
                ("num_devices", Value::Integer(count)) => options.devices = devices(*count)?,
                ("num_devices", Value::Text(text)) => {
                    let count = text.trim().parse();
                    options.devices = devices(count.map_err(|_| not_a_count(text))?)?;
                }
                ("num_devices", other) => return Err(not_a_count(&format!("{other:?}"))),
                ("platform_name", Value::Text(text)) => options.platform = platform("platform_name", text)?,
                ("platform_name", other) => return platform("platform_name", &format!("{other:?}")).map(|_| options),
                _ => {
                    return Err(Error::invalid(format!(
                        "fusebox has no option `{name}` of clients; it has num_devices and platform_name"
                    )));
                }
            }
        }
        Ok(options)
    }
}

fn devices(count: i64) -> Answer<i32> {
    let count = i32::try_from(count).ok().filter(|count| (1..=MOST_DEVICES).contains(count));
    count.ok_or_else(|| Error::invalid(format!("num_devices must be from 1 to {MOST_DEVICES}")))
}

/// Returns the value of an environment variable, if it is not empty.
fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).filter(|text| !text.is_empty()).map(|text| text.to_string_lossy().into_owned())
}

fn platform(option: &str, name: &str) -> Answer<Platform> {
    let wrong = || Error::invalid(format!("{option} must be `fusebox` or `cpu`, not `{name}`"));
    Platform::named(name.trim()).ok_or_else(wrong)
}

fn not_a_count(text: &str) -> Error {
    Error::invalid(format!("num_devices must be a number, not `{text}`"))
}

impl Object for Client {
    const KIND: Kind = Kind::Client;
}

impl Client {
    /// Creates a client and starts its threads.
    pub fn create(options: &ClientOptions) -> Answer<Arc<Client>> {
        let limit = collective_limit().map_err(Error::invalid)?;
        let machine = Machine::start(threads(UserOptions::of_environment()?.threads), limit)?;
        let count = options.devices;
        let topology = Arc::new(Topology::of(count, options.platform));
        let topology_handle = Lent::of(Arc::clone(&topology))?;
        Ok(Arc::new_cyclic(|client| {
            let devices: Box<[Device]> = (0..count).map(|number| Device { client: client.clone(), number }).collect();
            let per_device = MEMORY_KINDS.len() as i32;
            let memory = |number: i32| {
                let (device, kind) = (number / per_device, (number % per_device) as usize);
                let text = format!("FuseboxMemory(device={device}, kind={})", MEMORY_KINDS[kind]);
                Memory { functions: std::ptr::null(), client: client.clone(), number, device, kind, text }
            };
            let memories: Box<[Memory]> = (0..count * per_device).map(memory).collect();
            Client {
                topology,
                topology_handle,
                machine,
                compiler: Compiler::default(),
                device_references: devices.iter().map(Reference::to).collect(),
                memory_references: memories.iter().map(Reference::to).collect(),
                devices,
                memories,
            }
        }))
    }

    /// Returns the device that has the number `number`.
    pub fn device(&self, number: i32) -> Answer<&Device> {
        let device = usize::try_from(number).ok().and_then(|number| self.devices.get(number));
        let missing = || format!("there is no device {number}: the client has {}", self.devices.len());
        device.ok_or_else(|| Error::invalid(missing()))
    }

    /// Returns pointers to all devices.
    pub fn devices(&self) -> &[Reference<Device>] {
        &self.device_references
    }

    /// Returns the memory that has the number `number`.
    pub fn memory(&self, number: i32) -> Answer<&Memory> {
        let memory = usize::try_from(number).ok().and_then(|number| self.memories.get(number));
        memory.ok_or_else(|| Error::invalid(format!("there is no memory {number}")))
    }

    /// Returns pointers to all memories.
    pub fn memories(&self) -> &[Reference<Memory>] {
        &self.memory_references
    }

    /// Returns pointers to the memories of a device.
    pub fn memories_of(&self, device: i32) -> &[Reference<Memory>] {
        let first = usize::try_from(device).unwrap_or(usize::MAX).saturating_mul(MEMORY_KINDS.len());
        self.memory_references.get(first..first.saturating_add(MEMORY_KINDS.len())).unwrap_or_default()
    }

    /// Returns a list that contains only the pointer to the device with the number `device`.
    pub fn only(&self, device: i32) -> &[Reference<Device>] {
        let at = usize::try_from(device).unwrap_or(usize::MAX);
        self.device_references.get(at..at.saturating_add(1)).unwrap_or_default()
    }
}

fn upgraded(client: &Weak<Client>) -> Answer<Arc<Client>> {
    client.upgrade().ok_or_else(|| Error::precondition("the client is destroyed"))
}

impl Device {
    pub fn client(&self) -> Answer<Arc<Client>> {
        upgraded(&self.client)
    }
}

impl Memory {
    pub fn client(&self) -> Answer<Arc<Client>> {
        upgraded(&self.client)
    }
}

#[cfg(test)]
mod tests {
    use super::{Client, ClientOptions, MEMORY_KINDS};
    use crate::abi::Value;
    use crate::topology::Platform;

    #[test]
    fn the_number_of_devices_is_a_number_or_a_text() {
        let of = |value| ClientOptions::of(&[("num_devices".to_owned(), value)]);
        assert_eq!(of(Value::Integer(3)).unwrap().devices, 3);
        assert_eq!(of(Value::Text("2".into())).unwrap().devices, 2);
        for wrong in [Value::Text("two".into()), Value::Integer(0), Value::Bool(true)] {
            assert!(of(wrong).unwrap_err().message.starts_with("num_devices must be"));
        }
        assert!(ClientOptions::of(&[("devices".to_owned(), Value::Integer(1))]).is_err());
    }

    #[test]
    fn the_platform_may_have_the_name_cpu() {
        let of = |value| ClientOptions::of(&[("platform_name".to_owned(), value)]);
        assert_eq!(ClientOptions::of(&[]).unwrap().platform.name(), "fusebox");
        assert_eq!(of(Value::Text("cpu".into())).unwrap().platform.name(), "cpu");
        for wrong in [Value::Text("gpu".into()), Value::Integer(0)] {
            assert!(of(wrong).unwrap_err().message.starts_with("platform_name must be `fusebox` or `cpu`"));
        }
    }

    #[test]
    fn every_device_has_all_memories() {
        let client = Client::create(&ClientOptions { devices: 2, platform: Platform::Fusebox }).unwrap();
        assert_eq!((client.devices().len(), client.memories().len()), (2, 2 * MEMORY_KINDS.len()));
        let second = client.memories_of(1);
        assert_eq!(second.len(), MEMORY_KINDS.len());
        assert!(second.iter().all(|memory| memory.get().unwrap().device == 1));
        assert_eq!(client.only(1)[0].get().unwrap().number, 1);
        assert!(client.device(2).is_err() && client.memories_of(2).is_empty());
    }
}
