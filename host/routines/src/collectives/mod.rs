//! Collective operations, by which devices exchange arrays. The routine of an operation only
//! describes the exchange. The runtime implements [`Collectives`] for the devices that it connects.
//!
//! ```text
//! call      one collective operation: who sends what, and what each device receives
//! combine   the combination of arrays element by element
//! pieces    parts of arrays along a dimension
//! ```

mod call;
mod combine;
mod pieces;
#[cfg(test)]
mod tests;

pub use call::{CollectiveCall, SentArrays};

use fusebox_core::hlo::{ArrayShape, ElementType};

use crate::{Context, Operation, Routine, RoutineError, Unsupported};

/// The connection of a device to the devices that execute the same code.
pub trait Collectives: Sync {
    /// Returns the number of this device among the devices of the program.
    fn device(&self) -> i64;

    /// Starts an exchange: sends this device's arrays to its group. Does not wait for other devices.
    /// The caller may change the arrays afterwards. All devices of a group must start the exchanges
    /// of this group in the same order.
    ///
    /// # Errors
    /// If memory is short, or another device has failed.
    fn start<'c>(
        &'c self,
        call: &'c CollectiveCall,
        sent: &[&[u8]],
    ) -> Result<Box<dyn StartedCollective + 'c>, RoutineError>;
}

/// An exchange that has started.
pub trait StartedCollective {
    /// Waits until all devices of the group have started the exchange, and writes the arrays that
    /// this device receives.
    ///
    /// # Errors
    /// If another device has failed or does not come.
    fn done(self: Box<Self>, received: &mut [&mut [u8]]) -> Result<(), RoutineError>;
}

/// The routine of a collective operation.
#[derive(Debug)]
struct Exchange(CollectiveCall);

/// Creates the routine of a collective operation.
pub fn make(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    Ok(Box::new(Exchange(CollectiveCall::of(operation)?)))
}

impl Routine for Exchange {
    fn run(&self, arguments: &[&[u8]], results: &mut [&mut [u8]], context: &Context<'_>) -> Result<(), RoutineError> {
        connection(context)?.start(&self.0, arguments)?.done(results)
    }

    fn describe(&self) -> String {
        self.0.to_string()
    }
}

fn connection<'c>(context: &Context<'c>) -> Result<&'c dyn Collectives, RoutineError> {
    let missing = || RoutineError::Value("no manual computation contains this operation".into());
    context.collectives.ok_or_else(missing)
}

/// The routine of `partition-id`.
#[derive(Debug)]
struct DeviceNumber;

/// Creates the routine of `partition-id`.
pub fn make_partition_id(operation: &Operation) -> Result<Box<dyn Routine>, Unsupported> {
    match operation.results()[..] {
        [ArrayShape { element_type: ElementType::U32, dims, .. }] if dims.is_empty() => Ok(Box::new(DeviceNumber)),
        _ => Err(Unsupported::new("a partition-id that is not u32[]")),
    }
}

impl Routine for DeviceNumber {
    fn run(&self, _: &[&[u8]], results: &mut [&mut [u8]], context: &Context<'_>) -> Result<(), RoutineError> {
        let number = (connection(context)?.device() as u32).to_le_bytes();
        let [result] = results else { return Err(RoutineError::Buffer) };
        result.copy_from_slice(&number);
        Ok(())
    }

    fn describe(&self) -> String {
        "the number of the device".into()
    }
}
