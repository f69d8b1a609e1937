//! Allocations, copies and fills.

use crate::cuda::*;

#[test]
fn bytes_come_back_as_they_were_written() {
    let _context = Context::new();
    let address = allocate(1000);
    let bytes: Vec<u8> = (0..1000).map(|byte| (byte % 251) as u8).collect();
    cuMemcpyHtoD_v2(address, bytes.as_ptr(), 1000).unwrap();
    let mut read = vec![0u8; 700];
    cuMemcpyDtoH_v2(read.as_mut_ptr(), address + 300, 700).unwrap();
    assert_eq!(read, bytes[300..]);
}

#[test]
fn pageable_memory_is_read_by_the_call_and_pinned_memory_later() {
    let _context = Context::new();
    let (address, stream) = (allocate(8), stream());
    let mut pageable = [1u8; 4];
    cuMemcpyHtoDAsync_v2(address, pageable.as_ptr(), 4, stream).unwrap();
    pageable.fill(9);
    let mut pinned = std::ptr::null_mut();
    cuMemHostAlloc(&mut pinned, 4, 0).unwrap();
    // SAFETY: the driver has allocated four bytes, which no copy reads before the call that waits.
    let four = unsafe { std::slice::from_raw_parts_mut(pinned, 4) };
    four.fill(1);
    cuMemcpyHtoDAsync_v2(address + 4, pinned, 4, stream).unwrap();
    four.fill(9);
    cuStreamSynchronize(stream).unwrap();
    assert_eq!(words(address, 2), Ok(vec![0x0101_0101, 0x0909_0909]));
    cuMemFreeHost(pinned).unwrap();
    assert_eq!(cuMemFreeHost(pinned), Err(INVALID_VALUE));
}

#[test]
fn a_copy_to_pinned_memory_waits_for_a_call_that_waits() {
    let _context = Context::new();
    let (address, stream) = (allocate(4), stream());
    fill(address, 7, 1, stream).unwrap();
    let mut pinned = std::ptr::null_mut();
    cuMemHostAlloc(&mut pinned, 4, 0).unwrap();
    cuMemcpyDtoHAsync_v2(pinned, address, 4, stream).unwrap();
    // SAFETY: the driver has allocated four bytes, and no copy is running in another thread.
    let word = || unsafe { pinned.cast::<u32>().read() };
    assert_eq!(word(), 0);
    cuStreamSynchronize(stream).unwrap();
    assert_eq!(word(), 7);
    cuMemFreeHost(pinned).unwrap();
}

#[test]
fn memory_ends_where_the_setting_says() {
    let _context = Context::new();
    let free = || {
        let mut sizes = [0, 0];
        let [free, total] = &mut sizes;
        cuMemGetInfo_v2(free, total).unwrap();
        sizes
    };
    let [before, total] = free();
    assert_eq!(before, total);
    assert_eq!(made(|address| cuMemAlloc_v2(address, total + 1)), Err(OUT_OF_MEMORY));
    assert_eq!(made(|address| cuMemAlloc_v2(address, 0)), Err(INVALID_VALUE));
    let address = allocate(total / 2 + 1);
    assert_eq!(made(|address| cuMemAlloc_v2(address, total / 2 + 1)), Err(OUT_OF_MEMORY));
    cuMemFree_v2(address).unwrap();
    assert_eq!(free()[0], before);
}

#[test]
fn bytes_that_were_never_written_are_not_read() {
    let _context = Context::new();
    let address = allocate(8);
    fill(address, 1, 1, 0).unwrap();
    assert_eq!(words(address, 1), Ok(vec![1]));
    assert_eq!(words(address, 2), Err(LAUNCH_FAILED));
}

#[test]
fn a_copy_of_freed_memory_fails() {
    let _context = Context::new();
    let (address, other, stream) = (allocate(4), allocate(4), stream());
    fill(address, 1, 1, stream).unwrap();
    cuMemFreeAsync(address, stream).unwrap();
    cuMemcpyDtoDAsync_v2(other, address, 4, stream).unwrap();
    assert_eq!(cuStreamSynchronize(stream), Err(ILLEGAL_ADDRESS));
}

#[test]
fn memory_is_freed_once_and_at_its_start() {
    let _context = Context::new();
    let address = allocate(16);
    assert_eq!(cuMemFree_v2(address + 4), Err(INVALID_VALUE));
    cuMemFree_v2(address).unwrap();
    assert_eq!(cuMemFree_v2(address), Err(INVALID_VALUE));
    cuMemFree_v2(0).unwrap();
}

#[test]
fn a_rectangle_is_copied_row_by_row() {
    let _context = Context::new();
    let address = allocate(64);
    cuMemsetD8Async(address, 0, 64, 0).unwrap();
    let rows: Vec<u8> = (1..=12).collect();
    let copy = Copy2d {
        from: [1, 0, 1, rows.as_ptr() as usize, 0, 0, 4],
        to: [8, 1, 2, 0, address as usize, 0, 16],
        width: 3,
        height: 3,
    };
    cuMemcpy2D_v2(&copy).unwrap();
    let mut read = [0u8; 64];
    cuMemcpyDtoH_v2(read.as_mut_ptr(), address, 64).unwrap();
    for (row, expected) in [(1, [2, 3, 4]), (2, [6, 7, 8]), (3, [10, 11, 12])] {
        assert_eq!(read[16 * row + 8..][..3], expected);
    }
    assert_eq!(read.iter().filter(|byte| **byte != 0).count(), 9);
}

#[test]
fn an_address_of_a_device_is_none_of_the_host() {
    let _context = Context::new();
    let (address, other) = (allocate(4), allocate(4));
    assert_eq!(cuMemcpyHtoD_v2(address, other as *const u8, 4), Err(INVALID_VALUE));
    assert_eq!(cuMemcpyHtoD_v2(address, std::ptr::null(), 4), Err(INVALID_VALUE));
}

#[test]
fn memory_of_an_asynchronous_allocation_serves_its_stream() {
    let _context = Context::new();
    let stream = stream();
    let address = made(|address| cuMemAllocAsync(address, 4, stream)).unwrap();
    fill(address, 5, 1, stream).unwrap();
    cuStreamSynchronize(stream).unwrap();
    assert_eq!(words(address, 1), Ok(vec![5]));
    cuMemFreeAsync(address, stream).unwrap();
    cuStreamSynchronize(stream).unwrap();
}
