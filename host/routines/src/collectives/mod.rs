//! Collective operations, by which devices exchange arrays. The runtime implements [`Collectives`]
//! for the devices that it connects.
//!
//! ```text
//! call      one collective operation: its groups, the arrays of each device, and the results
//! combine   the combination of arrays element by element
//! pieces    parts of arrays along a dimension
//! ```

mod call;
mod combine;
mod pieces;

pub use call::{CollectiveCall, SentArrays};
pub use combine::{Combine, combine};

use crate::error::RoutineError;

/// The connection of a device to the devices that execute the same code.
pub trait Collectives: Sync {
    /// Returns the number of this device among the devices of the program.
    fn device(&self) -> i64;

    /// Starts an exchange: sends this device's arrays to its group. Does not wait for other
    /// devices. After this call, the caller may change the arrays. All devices of a group must
    /// start the exchanges of this group in the same order.
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
    /// If another device has failed, or does not start the exchange within the time limit.
    fn done(self: Box<Self>, received: &mut [&mut [u8]]) -> Result<(), RoutineError>;
}
