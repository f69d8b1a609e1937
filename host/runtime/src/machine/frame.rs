//! The part of a program's state that belongs to one execution.

use std::sync::{Arc, PoisonError};

use fusebox_routines::{Generator, SharedGenerator};

use super::collectives::Connection;
use crate::Slice;
use crate::code::ObservedLaunches;

/// The state of one execution: the address of each allocation, and all other state that concurrent
/// executions must not share.
#[derive(Debug)]
pub struct Frame {
    addresses: Vec<*mut u8>,
    /// The arguments of the current launch. The memory of this list is reused for each launch.
    arguments: Vec<*mut u8>,
    generator: SharedGenerator,
    launches: Option<Arc<ObservedLaunches>>,
    /// The connection to other devices, if several devices execute the same code.
    connection: Option<Connection>,
}

// SAFETY: the addresses are only used by machines, whose creators guarantee that the memory may be
// used on the thread of the execution.
unsafe impl Send for Frame {}
// SAFETY: no method accesses the memory through a shared reference.
unsafe impl Sync for Frame {}

impl Frame {
    /// Returns a frame for a program with this number of allocations, whose addresses are not set
    /// yet. If a watchdog observes the execution, `launches` is the execution's registration with
    /// the watchdog.
    pub fn new(allocations: usize, launches: Option<Arc<ObservedLaunches>>) -> Frame {
        let addresses = vec![std::ptr::null_mut(); allocations];
        Frame { addresses, arguments: Vec::new(), generator: SharedGenerator::default(), launches, connection: None }
    }

    /// Sets the address of an allocation.
    pub fn set(&mut self, allocation: u32, address: *mut u8) {
        self.addresses[allocation as usize] = address;
    }

    /// Returns the address of each allocation.
    pub fn addresses(&self) -> &[*mut u8] {
        &self.addresses
    }

    /// Returns the address of a slice.
    pub fn address(&self, slice: &Slice) -> *mut u8 {
        self.addresses[slice.allocation as usize].wrapping_add(slice.offset as usize)
    }

    /// Prepares the next execution: resets the generator of random numbers.
    pub fn restart(&mut self) {
        *self.generator.get_mut().unwrap_or_else(PoisonError::into_inner) = Generator::default();
    }

    /// Connects the execution to the executions of other devices.
    pub fn connect(&mut self, connection: Connection) {
        self.connection = Some(connection);
    }

    /// Returns the connection to other devices.
    pub fn connection(&self) -> Option<&Connection> {
        self.connection.as_ref()
    }

    /// Returns the generator of random numbers.
    pub fn generator(&self) -> &SharedGenerator {
        &self.generator
    }

    /// Returns the execution's registration with a watchdog.
    pub fn launches(&self) -> Option<&ObservedLaunches> {
        self.launches.as_deref()
    }

    /// Returns the addresses of slices, which are the arguments of a launch.
    pub fn arguments(&mut self, slices: &[Slice]) -> Launch<'_> {
        self.arguments.clear();
        let Frame { addresses, arguments, launches, .. } = self;
        let address = |slice: &Slice| addresses[slice.allocation as usize].wrapping_add(slice.offset as usize);
        arguments.extend(slices.iter().map(address));
        Launch { arguments, launches: launches.as_deref() }
    }
}

/// The arguments of a launch.
pub struct Launch<'f> {
    /// The address of each argument.
    pub arguments: &'f mut Vec<*mut u8>,
    /// The execution's registration with a watchdog.
    pub launches: Option<&'f ObservedLaunches>,
}
