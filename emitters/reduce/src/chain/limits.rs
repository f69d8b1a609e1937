//! Limits on the number and length of rows. Within these limits, one kernel for a chain is faster
//! than separate kernels. Blocks of one thread and blocks of many threads have different limits.

use fusebox_core::analysis::RowSpace;
use fusebox_core::device::DeviceDescription;

/// Usual number of bytes of a row's element.
const VALUE: i64 = 4;
/// Bytes of a core's cache that the kernel needs for each element of a row. These cache bytes hold
/// the row element's values in several arrays, and unrelated data.
const CACHED: i64 = 8 * VALUE;
/// Number of rows per core that keeps all cores busy, for blocks of one thread.
const ROWS_PER_CORE: i64 = 4;

/// Limits on the rows of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowLimits {
    /// Minimum number of elements of a row. A loop over the elements of a shorter row is not
    /// worthwhile.
    shortest: i64,
    /// Maximum number of elements of a row.
    longest: i64,
    /// Minimum number of rows that keeps all cores busy.
    rows: i64,
    /// Up to this size, one kernel is faster than separate kernels even if there are fewer than
    /// `rows` rows.
    few: IdleCoresLimit,
}

/// Largest number of elements for which a chain may leave some cores idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IdleCoresLimit {
    /// Total number of elements of all rows.
    InAll(i64),
    /// Number of elements of each row.
    OfARow(i64),
}

impl RowLimits {
    /// Returns the limits for blocks of one thread. Each phase must find the row in the core's
    /// cache.
    pub fn of_single_threads(device: &DeviceDescription) -> RowLimits {
        let cached = device.core_cache_bytes as i64 / CACHED;
        RowLimits {
            shortest: i64::from(device.vector_bytes) / VALUE,
            longest: cached,
            rows: i64::from(device.core_count) * ROWS_PER_CORE,
            few: IdleCoresLimit::InAll(cached),
        }
    }

    /// Returns the limits for blocks of many threads. If a row does not fit in a core's cache, the
    /// kernel reads the row once per phase, like separate kernels for the phases. Separate kernels
    /// also reduce each row in one block, but use the whole device to write elements. So separate
    /// kernels are faster than one kernel if rows are long and few.
    pub fn of_many_threads(device: &DeviceDescription) -> RowLimits {
        RowLimits {
            shortest: 2,
            longest: i64::MAX,
            rows: i64::from(device.core_count),
            few: IdleCoresLimit::OfARow(device.core_cache_bytes as i64 / VALUE),
        }
    }

    /// Returns the reason why one kernel for a chain over the rows `space` is not worthwhile, or
    /// `None` if one kernel is worthwhile.
    pub fn refusal(&self, space: RowSpace) -> Option<String> {
        if !(self.shortest..=self.longest).contains(&space.length) {
            return Some(format!("rows of {} elements are too short or too long", space.length));
        }
        let is_small = match self.few {
            IdleCoresLimit::InAll(elements) => space.element_count() <= elements,
            IdleCoresLimit::OfARow(elements) => space.length <= elements,
        };
        (space.rows < self.rows && !is_small).then(|| format!("{} rows do not keep all cores busy", space.rows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_neither_tiny_nor_long_and_few() {
        let refused = |limits: RowLimits, rows, length| limits.refusal(RowSpace { rows, length }).is_some();
        let cpu = RowLimits::of_single_threads(&DeviceDescription::cpu(2));
        assert_eq!([7, 8, 65_536, 65_537].map(|length| refused(cpu, 8, length)), [true, false, false, true]);
        assert_eq!([7, 8].map(|rows| refused(cpu, rows, 10_000)), [true, false]);
        assert!(!refused(cpu, 1, 65_536));
        let gpu = RowLimits::of_many_threads(&DeviceDescription::sm(90));
        assert_eq!([1, 2, 1 << 20].map(|length| refused(gpu, 132, length)), [true, false, false]);
        assert_eq!([65_536, 65_537].map(|length| refused(gpu, 1, length)), [false, true]);
    }
}
