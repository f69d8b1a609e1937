//! Copies between memory of the host and memory of devices, and fills.

use std::fmt;
use std::sync::Arc;

use fusebox_ptx::Fault;

use crate::calls;
use crate::engine::Ticket;
use crate::space::{Space, stamp};

/// A copy of a box of bytes.
#[derive(Clone, Debug)]
pub struct Copy {
    pub from: Side,
    pub to: Side,
    /// Number of bytes per row, number of rows per plane, and number of planes.
    pub extent: [u64; 3],
}

/// The source or the target of a copy.
#[derive(Clone, Debug)]
pub struct Side {
    pub place: Place,
    /// Distance in bytes from one row to the next, and from one plane to the next.
    pub pitch: [u64; 2],
}

/// The place where the bytes of a copy begin.
#[derive(Clone, Debug)]
pub enum Place {
    /// Memory of a device.
    Device(Arc<Space>, u64),
    /// Memory of the host, which the copy reads or writes when it is executed.
    Host(HostAddress),
    /// Bytes of the host that the driver read when the caller issued the copy.
    Staged(Arc<[u8]>),
}

/// An address of the host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostAddress(pub usize);

impl HostAddress {
    /// Reads bytes of the host's memory.
    fn read(self, offset: u64, bytes: &mut [u8]) {
        // SAFETY: the caller of the driver passed an address and a size of memory that it may read
        // and promised that the memory stays valid until the copy is executed.
        unsafe {
            std::ptr::copy_nonoverlapping((self.0 as *const u8).add(offset as usize), bytes.as_mut_ptr(), bytes.len())
        }
    }

    /// Writes bytes of the host's memory.
    fn write(self, offset: u64, bytes: &[u8]) {
        // SAFETY: as in `read`; the caller may write the memory.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), (self.0 as *mut u8).add(offset as usize), bytes.len()) }
    }
}

impl Side {
    /// Returns a source or a target whose bytes are contiguous.
    pub fn linear(place: Place) -> Side {
        Side { place, pitch: [0; 2] }
    }

    fn offset(&self, row: u64, plane: u64) -> u64 {
        row * self.pitch[0] + plane * self.pitch[1]
    }
}

impl Copy {
    /// Returns a copy of contiguous bytes.
    pub fn linear(from: Place, to: Place, bytes: u64) -> Copy {
        Copy { from: Side::linear(from), to: Side::linear(to), extent: [bytes, 1, 1] }
    }

    /// Whether the copy moves no bytes.
    pub fn is_empty(&self) -> bool {
        self.extent.contains(&0)
    }

    /// If the copy reads bytes of the host, reads them now, and returns a copy that contains them.
    /// Returns any other copy unchanged.
    pub fn staged(self) -> Copy {
        let Place::Host(address) = self.from.place else { return self };
        let [width, rows, planes] = self.extent;
        let mut bytes = vec![0; (width * rows * planes) as usize];
        for (number, bytes) in bytes.chunks_exact_mut(width.max(1) as usize).enumerate() {
            let (row, plane) = (number as u64 % rows, number as u64 / rows);
            address.read(self.from.offset(row, plane), bytes);
        }
        Copy { from: Side { place: Place::Staged(bytes.into()), pitch: [width, width * rows] }, ..self }
    }

    /// Executes the copy.
    pub fn perform(&self, ticket: &Ticket) -> Result<(), Fault> {
        let [width, rows, planes] = self.extent;
        calls::add(self.direction(), width * rows * planes);
        for plane in 0..planes {
            for row in 0..rows {
                self.copy_row(width, self.from.offset(row, plane), self.to.offset(row, plane), ticket)?;
            }
        }
        Ok(())
    }

    /// Returns the name under which the bytes of the copy are counted.
    fn direction(&self) -> &'static str {
        match (&self.from.place, &self.to.place) {
            (Place::Device(..), Place::Device(..)) => "bytes copied on devices",
            (Place::Device(..), _) => "bytes copied to the host",
            (_, Place::Device(..)) => "bytes copied to devices",
            _ => "bytes copied on the host",
        }
    }

    fn copy_row(&self, width: u64, from: u64, to: u64, ticket: &Ticket) -> Result<(), Fault> {
        let stamp = stamp(ticket);
        if let (Place::Device(space, source), Place::Device(other, target)) = (&self.from.place, &self.to.place)
            && Arc::ptr_eq(space, other)
        {
            return space.memory.copy(source + from, target + to, width, &stamp);
        }
        let mut read = Vec::new();
        let bytes = match &self.from.place {
            Place::Staged(bytes) => &bytes[from as usize..][..width as usize],
            Place::Device(space, address) => {
                read.resize(width as usize, 0);
                space.memory.read(address + from, &mut read, &stamp)?;
                &read
            }
            Place::Host(address) => {
                read.resize(width as usize, 0);
                address.read(from, &mut read);
                &read
            }
        };
        match &self.to.place {
            Place::Device(space, address) => space.memory.write(address + to, bytes, &stamp),
            Place::Host(address) => {
                address.write(to, bytes);
                Ok(())
            }
            // No call makes a copy that writes bytes that the driver holds.
            Place::Staged(_) => Ok(()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Place::Device(_, address) => write!(f, "{address:#x} on the device"),
            Place::Host(address) => write!(f, "{:#x} on the host", address.0),
            Place::Staged(_) => f.write_str("the host"),
        }
    }
}

impl fmt::Display for Copy {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let [width, rows, planes] = self.extent;
        let (bytes, from, to) = (width * rows * planes, &self.from.place, &self.to.place);
        write!(f, "the copy of {bytes} bytes from {from} to {to}")
    }
}

/// A fill of memory with one value.
#[derive(Clone, Copy, Debug)]
pub struct Fill {
    pub address: u64,
    /// The value, of which the first `width` bytes are written.
    pub value: u32,
    /// Bytes of an element: 1, 2 or 4.
    pub width: u32,
    /// Number of elements per row, and number of rows.
    pub extent: [u64; 2],
    /// Distance in bytes from one row to the next.
    pub pitch: u64,
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let [columns, rows] = self.extent;
        write!(f, "the fill of {} bytes at {:#x}", u64::from(self.width) * columns * rows, self.address)
    }
}

impl Fill {
    /// Executes the fill.
    pub fn perform(&self, space: &Space, ticket: &Ticket) -> Result<(), Fault> {
        let bytes = self.value.to_le_bytes();
        let pattern = &bytes[..self.width as usize];
        let stamp = stamp(ticket);
        (0..self.extent[1])
            .try_for_each(|row| space.memory.fill(self.address + row * self.pitch, pattern, self.extent[0], &stamp))
    }
}
