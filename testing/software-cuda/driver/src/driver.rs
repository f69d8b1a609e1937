//! The state of the driver in a process.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use fusebox_ptx::DeviceKind;

use crate::capture::{Mode, Session};
use crate::context::Context;
use crate::counts::KernelCounts;
use crate::device::Device;
use crate::engine::Engine;
use crate::event::Event;
use crate::graph::{Condition, Executable, Graph};
use crate::handles::Handles;
use crate::module::{Function, Module};
use crate::pinned::Pinned;
use crate::reporter::Reporter;
use crate::settings::Settings;
use crate::space::Space;
use crate::status::{Answer, Status};
use crate::stream::Stream;
use crate::work::Job;

/// A pool of memory. Every pool allocates memory of the context that uses the pool.
#[derive(Debug)]
pub struct Pool {
    /// The number of the device.
    pub device: u32,
    /// The attribute that the caller sets for the pool: a number of bytes.
    pub release_threshold: Mutex<u64>,
}

/// A node of a graph.
#[derive(Debug)]
pub struct NodeHandle {
    pub graph: Arc<Graph>,
    pub number: usize,
}

/// An executable graph, and the graph from which it was made.
#[derive(Debug)]
pub struct LoadedGraph {
    pub executable: Executable,
    /// The original graph. The driver keeps it alive, because callers name a step of the executable
    /// graph by a node of the original graph.
    pub graph: Arc<Graph>,
}

/// All objects of the driver.
#[derive(Debug)]
pub struct Driver {
    pub devices: Vec<Arc<Device>>,
    pub contexts: Handles<Context>,
    pub streams: Handles<Stream>,
    pub events: Handles<Event>,
    pub modules: Handles<Module>,
    pub functions: Handles<Function>,
    pub graphs: Handles<Graph>,
    pub nodes: Handles<NodeHandle>,
    pub executables: Handles<LoadedGraph>,
    /// All conditions. The key is the number of the condition's context and the condition's handle,
    /// because conditions of two contexts may have equal handles.
    pub conditions: Mutex<HashMap<(usize, u64), Arc<Condition>>>,
    pub pools: Handles<Pool>,
    /// The handle of each device's default pool.
    pub default_pools: Vec<usize>,
    pub pinned: Pinned,
    pub engine: Arc<Engine<Job>>,
    pub reporter: Arc<Reporter>,
    pub counts: Arc<KernelCounts>,
    pub settings: Settings,
    is_initialized: AtomicBool,
    /// For each device, the handle of the primary context and the number of users of this context.
    primaries: Mutex<Vec<(Option<usize>, usize)>>,
    sessions: Mutex<Vec<Weak<Session>>>,
    spaces: AtomicUsize,
}

thread_local! {
    /// The handles of the contexts that the thread has pushed. The last handle belongs to the
    /// current context.
    static CURRENT: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

static DRIVER: OnceLock<Driver> = OnceLock::new();

impl Driver {
    /// Returns the driver of this process, with the settings from the environment variables. If a
    /// setting is wrong, reports the error and returns a driver without devices.
    pub fn get() -> &'static Driver {
        DRIVER.get_or_init(|| {
            let settings = Settings::read(|name| std::env::var(name).ok());
            let made = settings.and_then(Driver::new);
            made.unwrap_or_else(|error| {
                eprintln!("software-cuda: {error}");
                Driver::with_devices(Settings { count: 0, ..Settings::default() }, Vec::new())
            })
        })
    }

    /// Returns the driver of this process, or `None` if no call has created the driver yet.
    pub fn existing() -> Option<&'static Driver> {
        DRIVER.get()
    }

    /// Returns a driver with the devices that the settings describe.
    ///
    /// # Errors
    /// If no kind of device has the name that the settings state.
    pub fn new(settings: Settings) -> Result<Driver, String> {
        let name = &settings.device;
        let kind = DeviceKind::named(name).ok_or_else(|| {
            format!("SOFTWARE_CUDA_DEVICE={name} is unknown: choose, for example, sm_80, sm_90 or sm_100")
        })?;
        let device = Arc::new(Device::new(kind, settings.memory));
        let devices = vec![device; settings.count as usize];
        Ok(Driver::with_devices(settings, devices))
    }

    fn with_devices(settings: Settings, devices: Vec<Arc<Device>>) -> Driver {
        let pools = Handles::new(8);
        let pool = |device: usize| Pool { device: device as u32, release_threshold: Mutex::new(0) };
        let default_pools = (0..devices.len()).map(|device| pools.add(Arc::new(pool(device)))).collect();
        Driver {
            contexts: Handles::new(0),
            streams: Handles::new(1),
            events: Handles::new(2),
            modules: Handles::new(3),
            functions: Handles::new(4),
            graphs: Handles::new(5),
            nodes: Handles::new(6),
            executables: Handles::new(7),
            conditions: Mutex::default(),
            pools,
            default_pools,
            pinned: Pinned::default(),
            engine: Arc::new(Engine::new(settings.seed)),
            reporter: Arc::new(Reporter::new(settings.report.clone())),
            counts: Arc::new(KernelCounts::new(settings.counts.clone())),
            is_initialized: AtomicBool::new(false),
            primaries: Mutex::new(vec![(None, 0); devices.len()]),
            sessions: Mutex::default(),
            spaces: AtomicUsize::new(0),
            devices,
            settings,
        }
    }

    /// Makes the handles of the conditions of a graph invalid.
    pub fn forget_conditions(&self, graph: &Graph) {
        let mut conditions = self.conditions.lock().unwrap_or_else(PoisonError::into_inner);
        conditions.retain(|_, condition| !condition.is_of(graph.address()));
    }

    /// Allows other calls.
    pub fn initialize(&self) -> Answer {
        if self.devices.is_empty() {
            return Err(Status::NO_DEVICE);
        }
        self.is_initialized.store(true, Ordering::Release);
        Ok(())
    }

    /// Returns an error until a call of `cuInit` has succeeded.
    pub fn check_initialized(&self) -> Answer {
        if self.is_initialized.load(Ordering::Acquire) { Ok(()) } else { Err(Status::NOT_INITIALIZED) }
    }

    /// Returns a device by its number.
    pub fn device(&self, number: i32) -> Answer<&Arc<Device>> {
        self.check_initialized()?;
        usize::try_from(number).ok().and_then(|number| self.devices.get(number)).ok_or(Status::INVALID_DEVICE)
    }

    /// Makes a context, and returns its handle.
    pub fn new_context(&self, device: i32, flags: u32, is_primary: bool) -> Answer<usize> {
        let kind = self.device(device)?.clone();
        let number = self.spaces.fetch_add(1, Ordering::Relaxed);
        let approximations = self.settings.approximations;
        let mut settings = fusebox_ptx::Settings { approximations, ..fusebox_ptx::Settings::default() };
        if self.settings.threads > 0 {
            settings.workers = self.settings.threads;
        }
        let space = Space::new(number, kind, self.reporter.clone(), self.counts.clone(), settings);
        let context = Context::new(&self.engine, space, device.unsigned_abs(), flags, is_primary);
        Ok(self.contexts.add(Arc::new(context)))
    }

    /// Waits for all work of a context, and destroys the context with all its streams and modules.
    pub fn destroy_context(&self, handle: usize) -> Answer {
        let context = self.contexts.get(handle).map_err(|_| Status::INVALID_CONTEXT)?;
        // The work of a failed context is dropped.
        _ = context.finish();
        self.contexts.remove(handle)?;
        let space = &context.space;
        self.streams.remove_if(|stream| Arc::ptr_eq(&stream.space, space));
        self.modules.remove_if(|module| module.is_of(space));
        CURRENT.with_borrow_mut(|current| current.retain(|other| *other != handle));
        Ok(())
    }

    /// Returns the handle of a device's primary context. The caller counts as a user of the context
    /// until the caller releases it.
    pub fn retain_primary(&self, device: i32) -> Answer<usize> {
        self.device(device)?;
        let mut primaries = self.primaries.lock().unwrap_or_else(PoisonError::into_inner);
        let (handle, users) = &mut primaries[device.unsigned_abs() as usize];
        let made = match *handle {
            Some(handle) => handle,
            None => *handle.insert(self.new_context(device, 0, true)?),
        };
        *users += 1;
        Ok(made)
    }

    /// Ends one use of a device's primary context, or all uses. Destroys the context after the last
    /// use.
    pub fn release_primary(&self, device: i32, all: bool) -> Answer {
        self.device(device)?;
        let mut primaries = self.primaries.lock().unwrap_or_else(PoisonError::into_inner);
        let (handle, users) = &mut primaries[device.unsigned_abs() as usize];
        let Some(made) = *handle else { return if all { Ok(()) } else { Err(Status::INVALID_CONTEXT) } };
        *users = if all { 0 } else { users.saturating_sub(1) };
        if *users == 0 {
            *handle = None;
            return self.destroy_context(made);
        }
        Ok(())
    }

    /// Whether a device's primary context exists.
    pub fn has_primary(&self, device: i32) -> Answer<bool> {
        self.device(device)?;
        let primaries = self.primaries.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(primaries[device.unsigned_abs() as usize].0.is_some())
    }

    /// Returns the handle of the thread's current context, if it has one.
    pub fn current_handle(&self) -> Answer<Option<usize>> {
        self.check_initialized()?;
        Ok(CURRENT.with_borrow(|current| current.last().copied()))
    }

    /// Changes the thread's current context. `None` removes the current context without a
    /// replacement.
    pub fn set_current(&self, handle: Option<usize>, keeps_others: bool) -> Answer {
        self.check_initialized()?;
        if let Some(handle) = handle {
            self.contexts.get(handle).map_err(|_| Status::INVALID_CONTEXT)?;
        }
        CURRENT.with_borrow_mut(|current| {
            if !keeps_others {
                current.pop();
            }
            current.extend(handle);
        });
        Ok(())
    }

    /// Pops the current context from the thread's stack of contexts, and returns its handle.
    pub fn pop_current(&self) -> Answer<usize> {
        self.check_initialized()?;
        CURRENT.with_borrow_mut(Vec::pop).ok_or(Status::INVALID_CONTEXT)
    }

    /// Returns the thread's current context, unless it has failed.
    pub fn current(&self) -> Answer<Arc<Context>> {
        let handle = self.current_handle()?.ok_or(Status::INVALID_CONTEXT)?;
        let context = self.contexts.get(handle).map_err(|_| Status::CONTEXT_IS_DESTROYED)?;
        context.space.check()?;
        Ok(context)
    }

    /// Returns the stream of a handle. The handles 0 and 1 stand for the default stream of the
    /// current context, and 2 for the default stream of the thread.
    pub fn stream(&self, handle: usize) -> Answer<Arc<Stream>> {
        let context = self.current()?;
        match handle {
            0 | 1 => {
                // The default stream would have to wait for a stream whose work is not executed.
                let captures = |stream: &Stream| {
                    stream.is_blocking() && Arc::ptr_eq(&stream.space, &context.space) && stream.capture().is_some()
                };
                if self.streams.all().iter().any(|(_, stream)| captures(stream)) {
                    return Err(Status::STREAM_CAPTURE_IMPLICIT);
                }
                Ok(context.default_stream.clone())
            }
            2 => Ok(context.thread_stream()),
            _ => self.streams.get(handle),
        }
    }

    /// Returns the memory of the context that has an allocation at a device's address. If no
    /// context has one, returns the memory of the current context.
    pub fn space_of(&self, address: u64) -> Answer<Arc<Space>> {
        let current = self.current()?.space.clone();
        if current.memory.allocation(address).is_some() {
            return Ok(current);
        }
        let other = self.contexts.all().into_iter().find(|(_, c)| c.space.memory.allocation(address).is_some());
        Ok(other.map_or(current, |(_, context)| context.space.clone()))
    }

    /// Registers a capture, so that the driver can refuse the calls that the capture forbids.
    pub fn add_session(&self, session: &Arc<Session>) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|other| other.upgrade().is_some_and(|other| other.is_open()));
        sessions.push(Arc::downgrade(session));
    }

    /// If a capture forbids calls that might wait for work, invalidates the capture and returns an
    /// error.
    pub fn check_captures(&self) -> Answer {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let thread = std::thread::current().id();
        for session in sessions.iter().filter_map(Weak::upgrade).filter(|session| session.is_open()) {
            let forbids = match session.mode {
                Mode::Global => true,
                Mode::Thread => session.thread == thread,
                Mode::Relaxed => false,
            };
            if forbids {
                session.invalidate();
                return Err(Status::STREAM_CAPTURE_UNSUPPORTED);
            }
        }
        Ok(())
    }
}
