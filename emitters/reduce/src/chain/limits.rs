//! Which rows are worth a chain, on devices of one thread per block and of many.

use fusebox_core::analysis::RowSpace;
use fusebox_core::device::DeviceDescription;

/// Bytes of the values that elements of rows usually have.
const VALUE: i64 = 4;
/// Bytes of a core's cache for each element of a row that is to stay there: some arrays, and what else is going on.
const CACHED: i64 = 8 * VALUE;
/// Rows per core of one thread that keep all cores busy.
const ROWS_PER_CORE: i64 = 4;

/// The rows that a device takes in chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Elements of a row below which walks over rows are too short to pay.
    shortest: i64,
    /// Most elements of a row.
    longest: i64,
    /// Rows that keep all cores busy.
    rows: i64,
    /// Elements that fewer rows may have.
    few: Few,
}

/// What is small enough that not all cores need to have work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Few {
    /// Elements of all rows.
    InAll(i64),
    /// Elements of each row.
    OfARow(i64),
}

impl Limits {
    /// Where a block is one thread: a row is walked while it stays in the core's cache.
    pub fn of_single_threads(device: &DeviceDescription) -> Limits {
        let cached = device.core_cache_bytes as i64 / CACHED;
        Limits {
            shortest: i64::from(device.vector_bytes) / VALUE,
            longest: cached,
            rows: i64::from(device.core_count) * ROWS_PER_CORE,
            few: Few::InAll(cached),
        }
    }

    /// Where threads share a row. A row that no core's cache holds is read once per phase, as the kernels of single
    /// phases would read it; they too have a block for a row, but write elements with the whole device, which wins
    /// where rows are long and few.
    pub fn of_many_threads(device: &DeviceDescription) -> Limits {
        Limits {
            shortest: 2,
            longest: i64::MAX,
            rows: i64::from(device.core_count),
            few: Few::OfARow(device.core_cache_bytes as i64 / VALUE),
        }
    }

    /// Why rows are not worth it, if they are not.
    pub fn refusal(&self, space: RowSpace) -> Option<String> {
        if !(self.shortest..=self.longest).contains(&space.length) {
            return Some(format!("rows of {} elements are too short or too long", space.length));
        }
        let is_small = match self.few {
            Few::InAll(elements) => space.element_count() <= elements,
            Few::OfARow(elements) => space.length <= elements,
        };
        (space.rows < self.rows && !is_small).then(|| format!("{} rows do not keep all cores busy", space.rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_neither_tiny_nor_long_and_few() {
        let refused = |limits: Limits, rows, length| limits.refusal(RowSpace { rows, length }).is_some();
        let cpu = Limits::of_single_threads(&DeviceDescription::cpu(2));
        assert_eq!([7, 8, 65_536, 65_537].map(|length| refused(cpu, 8, length)), [true, false, false, true]);
        assert_eq!([7, 8].map(|rows| refused(cpu, rows, 10_000)), [true, false]);
        assert!(!refused(cpu, 1, 65_536));
        let gpu = Limits::of_many_threads(&DeviceDescription::sm(90));
        assert_eq!([1, 2, 1 << 20].map(|length| refused(gpu, 132, length)), [true, false, false]);
        assert_eq!([65_536, 65_537].map(|length| refused(gpu, 1, length)), [false, true]);
    }
}
