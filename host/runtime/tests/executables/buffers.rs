//! Checks buffers without any executable: their bytes, states and memory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use fusebox_core::hlo::{ArrayLiteral, ElementType};
use fusebox_runtime::{Buffer, BufferState, Device, ForeignMemory, Options, RunError, Target};

fn device() -> Device {
    Device::open(Target::Cpu, &Options { threads: 1, ..Options::default() }).unwrap()
}

/// Memory with the alignment that kernels assume. Counts how many of these values are dropped.
#[repr(C, align(64))]
struct Owned([u8; 64], Arc<AtomicUsize>);

impl Drop for Owned {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn bytes_are_copied_in_and_read_where_they_are() {
    let array = ArrayLiteral::new(ElementType::S32, vec![2, 3], (0..24).collect::<Vec<u8>>()).unwrap();
    let buffer = Buffer::from_literal(&device(), &array).unwrap();
    assert_eq!((buffer.dims().unwrap(), buffer.byte_size(), buffer.element_type()), (vec![2, 3], 24, ElementType::S32));
    let [one, other] = [(); 2].map(|()| buffer.bytes().unwrap());
    assert_eq!((&one[..], one.as_ptr()), (&array.data[..], other.as_ptr()));
    assert_eq!(buffer.to_literal().unwrap(), array);
    let error = Buffer::from_bytes(&device(), ElementType::S32, &[2], &[0; 7]).unwrap_err();
    assert_eq!(error, RunError::ByteCount { shape: "s32[2]".into(), expected: 8, found: 7 });
}

#[test]
fn narrow_integers_are_extended_in_literals() {
    let buffer = Buffer::from_bytes(&device(), ElementType::S4, &[2], &[0x7f, 0x08]).unwrap();
    assert_eq!(buffer.to_literal().unwrap().data[..], [0xff, 0xf8]);
}

#[test]
fn foreign_memory_is_used_itself_and_released_by_its_last_user() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let owner = Box::new(Owned([7; 64], dropped.clone()));
    let address = owner.0.as_ptr();
    // SAFETY: the memory belongs to the owner, and nothing writes to it.
    let memory = unsafe { ForeignMemory::read_only(address, 64, owner) };
    let buffer = Buffer::from_foreign(&device(), ElementType::U8, &[64], memory).unwrap();
    let clone = buffer.clone();
    let bytes = buffer.bytes().unwrap();
    assert_eq!((bytes.as_ptr(), &bytes[..]), (address, &[7; 64][..]));
    buffer.delete();
    drop(buffer);
    assert!(clone.is_deleted() && clone.state() == BufferState::Deleted);
    assert_eq!((clone.bytes().unwrap_err(), clone.wait().unwrap_err()), (RunError::Deleted, RunError::Deleted));
    assert_eq!(dropped.load(Ordering::Relaxed), 0, "the bytes are still borrowed");
    drop(bytes);
    assert_eq!(dropped.load(Ordering::Relaxed), 1);
}

#[test]
fn foreign_memory_must_be_aligned_and_of_the_right_size() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let foreign = |offset: usize, bytes: usize| {
        let owner = Box::new(Owned([0; 64], dropped.clone()));
        // SAFETY: the memory belongs to the owner, and nothing writes to it.
        unsafe { ForeignMemory::read_only(owner.0.as_ptr().wrapping_add(offset), bytes, owner) }
    };
    let buffer = |memory| Buffer::from_foreign(&device(), ElementType::U8, &[32], memory);
    assert_eq!(buffer(foreign(16, 32)).unwrap_err(), RunError::Alignment { alignment: 64 });
    assert!(matches!(buffer(foreign(0, 16)), Err(RunError::ByteCount { expected: 32, found: 16, .. })));
    assert_eq!(dropped.load(Ordering::Relaxed), 2, "refused memory is released");
    // SAFETY: no byte is ever accessed.
    let empty = unsafe { ForeignMemory::read_only(std::ptr::null(), 0, ()) };
    assert_eq!(Buffer::from_foreign(&device(), ElementType::F32, &[0], empty).unwrap().bytes().unwrap().len(), 0);
}

#[test]
fn a_promise_completes_its_buffer_once_and_calls_who_waits() {
    let (sender, receiver) = mpsc::channel();
    let told = |sender: &mpsc::Sender<_>| {
        let sender = sender.clone();
        move |outcome| sender.send(outcome).unwrap()
    };
    let (buffer, promise) = Buffer::pending(&device(), ElementType::U8, &[3]);
    buffer.on_ready(told(&sender));
    assert!(!buffer.is_ready() && buffer.state() == BufferState::Pending && receiver.try_recv().is_err());
    let waiting = buffer.clone();
    let waiter = std::thread::spawn(move || waiting.bytes().map(|bytes| bytes.to_vec()));
    promise.set(&[1, 2, 3]).unwrap();
    assert_eq!(waiter.join().unwrap(), Ok(vec![1, 2, 3]));
    assert_eq!((buffer.state(), receiver.try_recv()), (BufferState::Ready, Ok(Ok(()))));
    buffer.on_ready(told(&sender));
    assert_eq!(receiver.try_recv(), Ok(Ok(())));
    assert!(receiver.try_recv().is_err(), "each function is called once");
}

#[test]
fn broken_promises_are_failures_that_say_why() {
    let failure = RunError::Device("the line is cut".into());
    let pending = || Buffer::pending(&device(), ElementType::U8, &[3]);
    let (buffer, promise) = pending();
    promise.fail(failure.clone());
    assert_eq!((buffer.wait(), buffer.state()), (Err(failure.clone()), BufferState::Failed(failure)));
    let (buffer, promise) = pending();
    drop(promise);
    assert_eq!(buffer.to_literal(), Err(RunError::Abandoned));
    let (buffer, promise) = pending();
    let error = promise.set(&[1]).unwrap_err();
    assert_eq!((buffer.state(), error.to_string().contains("u8[3] has 3 bytes")), (BufferState::Failed(error), true));
}

#[test]
fn functions_are_called_for_buffers_that_are_gone() {
    let (sender, receiver) = mpsc::channel();
    let (buffer, promise) = Buffer::pending(&device(), ElementType::U8, &[1]);
    let other = sender.clone();
    buffer.on_ready(|_| panic!("this must not keep others from being called"));
    buffer.on_ready(move |outcome| sender.send(outcome).unwrap());
    buffer.delete();
    buffer.on_ready(move |outcome| other.send(outcome).unwrap());
    assert_eq!(receiver.try_recv(), Ok(Err(RunError::Deleted)));
    drop(buffer);
    promise.set(&[1]).unwrap();
    assert_eq!(receiver.try_recv(), Ok(Ok(())));
}

#[test]
fn shared_buffers_are_deleted_separately() {
    let device = device();
    let (buffer, promise) = Buffer::pending(&device, ElementType::U8, &[2]);
    let other = buffer.share();
    buffer.delete();
    assert!(buffer.is_deleted() && !other.is_same(&buffer) && !other.is_ready());
    promise.set(&[1, 2]).unwrap();
    assert_eq!(other.bytes().unwrap()[..], [1, 2]);
    let third = other.share();
    assert_eq!(third.bytes().unwrap().as_ptr(), other.bytes().unwrap().as_ptr());
}
