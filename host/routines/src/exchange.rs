//! The routines of collective operations and of `partition-id`. The routine of a collective
//! operation only describes the exchange of arrays. An implementation of [`Collectives`] executes
//! this exchange.

use fusebox_core::hlo::{ArrayShape, ElementType};

use crate::{CollectiveCall, Collectives, Context, Operation, Routine, RoutineError, Unsupported};

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
