//! The functions that fusebox offers to foreign functions.
//!
//! A foreign function gets a pointer to a table of the functions that fusebox offers. The functions
//! in the table create errors and futures, store the state of a call, and run tasks on threads.

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

use super::abi::{INSTANTIATE, VERSION, Version};
use crate::abi::{Header, Text};

/// An error of a foreign function.
#[derive(Debug)]
pub struct ForeignError {
    code: i32,
    message: CString,
}

/// Names of the codes of errors, by their numbers.
const CODES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

const INVALID_ARGUMENT: i32 = 3;
const NOT_FOUND: i32 = 5;
const UNIMPLEMENTED: i32 = 12;

impl ForeignError {
    fn made(code: i32, message: &str) -> *mut c_void {
        let text: Vec<u8> = message.bytes().filter(|&byte| byte != 0).collect();
        let message = CString::new(text).unwrap_or_default();
        Box::into_raw(Box::new(ForeignError { code, message })).cast()
    }

    /// Takes the ownership of the error that a foreign function has returned. Returns `None` if the
    /// foreign function has succeeded.
    ///
    /// # Safety
    /// The pointer is null, or a function of this file has created the error and `taken` has not
    /// been called with it before.
    pub unsafe fn taken(error: *mut c_void) -> Option<ForeignError> {
        // SAFETY: the caller's promise.
        (!error.is_null()).then(|| *unsafe { Box::from_raw(error.cast::<ForeignError>()) })
    }

    /// Returns the name of the error's code, followed by the error's message.
    pub fn message(&self) -> String {
        let name = usize::try_from(self.code).ok().and_then(|code| CODES.get(code)).unwrap_or(&"UNKNOWN");
        format!("{name}: {}", self.message.to_string_lossy())
    }
}

/// The completion of a foreign function that returns before its work is complete.
#[derive(Debug, Default)]
pub struct Future {
    outcome: Mutex<Option<Result<(), String>>>,
    done: Condvar,
}

impl Future {
    /// Waits for the end of the function that has stored this future in its frame.
    ///
    /// # Safety
    /// [`future_create`] has created the future, and `wait` has not been called with it before.
    pub unsafe fn wait(future: *mut c_void) -> Result<(), String> {
        // SAFETY: the caller's promise: the reference of the waiting thread still exists.
        let future = unsafe { Arc::from_raw(future.cast::<Future>()) };
        let mut outcome = future.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        while outcome.is_none() {
            outcome = future.done.wait(outcome).unwrap_or_else(PoisonError::into_inner);
        }
        outcome.take().unwrap_or(Ok(()))
    }

    /// Sets the outcome. A foreign function sets the outcome of a future only once.
    ///
    /// # Safety
    /// [`future_create`] has created the future, and the outcome of the future has not been set
    /// before.
    unsafe fn set(future: *mut c_void, result: Result<(), String>) {
        // SAFETY: the caller's promise: the reference of the function still exists.
        let future = unsafe { Arc::from_raw(future.cast::<Future>()) };
        *future.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        future.done.notify_all();
    }
}

/// The states that a foreign function has stored, by stage. Each state is stored with the number of
/// its type.
pub type States = Mutex<HashMap<i32, (i64, State)>>;

/// One execution of a call. Each call frame of the execution contains the address of this object as
/// its context.
#[derive(Debug)]
pub struct CallContext {
    /// The states of the call, which all its executions share.
    of_call: Arc<States>,
    /// The states of this execution.
    own: States,
    run: i64,
}

/// An object that a foreign function has stored as its state.
#[derive(Debug)]
pub struct State {
    object: *mut c_void,
    deleter: Option<Deleter>,
}

// SAFETY: the interface lets any thread use and delete a state.
unsafe impl Send for State {}

impl Drop for State {
    fn drop(&mut self) {
        if let Some(deleter) = self.deleter {
            // SAFETY: the deleter belongs to the type of the object, and is called once.
            unsafe { deleter(self.object) };
        }
    }
}

impl CallContext {
    /// Creates the context of an execution, with a number that no other execution has.
    pub fn of(call: &Arc<States>) -> CallContext {
        static RUNS: AtomicI64 = AtomicI64::new(1);
        CallContext { of_call: call.clone(), own: States::default(), run: RUNS.fetch_add(1, Ordering::Relaxed) }
    }

    /// If `stage` is the first stage, which precedes all executions, returns the states of the
    /// call. Otherwise returns the states of this execution.
    fn states(&self, stage: i32) -> MutexGuard<'_, HashMap<i32, (i64, State)>> {
        let states = if stage == INSTANTIATE { &*self.of_call } else { &self.own };
        states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Deleter = unsafe extern "C" fn(*mut c_void);

/// A type that foreign functions have registered.
#[derive(Clone, Copy)]
struct Type {
    number: i64,
    deleter: Option<Deleter>,
}

static TYPES: Mutex<Vec<(String, Type)>> = Mutex::new(Vec::new());

#[repr(C)]
struct ErrorCreate {
    header: Header,
    message: *const c_char,
    code: i32,
}

#[repr(C)]
struct ErrorGetMessage {
    header: Header,
    error: *const ForeignError,
    message: *const c_char,
}

#[repr(C)]
struct OfError {
    header: Header,
    error: *mut c_void,
}

#[repr(C)]
struct TypeInfo {
    header: Header,
    deleter: Option<Deleter>,
}

#[repr(C)]
struct TypeRegister {
    header: Header,
    name: Text,
    number: *mut i64,
    info: *const TypeInfo,
}

#[repr(C)]
struct StateArguments {
    header: Header,
    context: *const CallContext,
    stage: i32,
    number: *const i64,
    state: *mut c_void,
}

#[repr(C)]
struct Schedule {
    header: Header,
    context: *const CallContext,
    task: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
}

#[repr(C)]
struct ThreadCount {
    header: Header,
    context: *const CallContext,
    count: *mut i64,
}

#[repr(C)]
struct FutureArguments {
    header: Header,
    future: *mut c_void,
    error: *mut c_void,
}

#[repr(C)]
struct RunNumber {
    header: Header,
    context: *const CallContext,
    run: i64,
}

#[repr(C)]
struct Ordinal {
    header: Header,
    context: *const CallContext,
    device: i32,
}

// SAFETY of all functions below: the interface says that a foreign function passes a pointer to the
// struct of the function that it calls, with the context and the objects that fusebox gave it.

unsafe extern "C" fn error_create(arguments: *const ErrorCreate) -> *mut c_void {
    // SAFETY: see above.
    let (message, code) = unsafe { (CStr::from_ptr((*arguments).message), (*arguments).code) };
    ForeignError::made(code, &message.to_string_lossy())
}

unsafe extern "C" fn error_get_message(arguments: *mut ErrorGetMessage) {
    // SAFETY: see above. The message lives as long as the error.
    unsafe { (*arguments).message = (*(*arguments).error).message.as_ptr() };
}

unsafe extern "C" fn error_destroy(arguments: *const OfError) {
    // SAFETY: see above. The caller destroys an error once.
    drop(unsafe { ForeignError::taken((*arguments).error) });
}

unsafe extern "C" fn type_register(arguments: *const TypeRegister) -> *mut c_void {
    // SAFETY: see above.
    let arguments = unsafe { &*arguments };
    let Ok(name) = arguments.name.text() else {
        return ForeignError::made(INVALID_ARGUMENT, "a type without a name");
    };
    // SAFETY: see above; the facts of a type are optional.
    let deleter = unsafe { arguments.info.as_ref() }.and_then(|info| info.deleter);
    let mut types = TYPES.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: see above.
    let chosen = unsafe { *arguments.number };
    let number = match types.iter().find(|(known, _)| *known == name) {
        Some((_, known)) => known.number,
        None => {
            // Small numbers are those of JAX's own client.
            let number = if chosen > 0 { chosen } else { types.len() as i64 + (1 << 32) };
            types.push((name, Type { number, deleter }));
            number
        }
    };
    // SAFETY: see above.
    unsafe { *arguments.number = number };
    std::ptr::null_mut()
}

unsafe extern "C" fn state_set(arguments: *const StateArguments) -> *mut c_void {
    // SAFETY: see above.
    let (arguments, context) = unsafe { (&*arguments, &*(*arguments).context) };
    // SAFETY: see above.
    let number = unsafe { *arguments.number };
    let types = TYPES.lock().unwrap_or_else(PoisonError::into_inner);
    // JAX registers types with its own client for cpus only. The deleter of such a type is unknown,
    // and the state lives as long as the process.
    let deleter = types.iter().find(|(_, of)| of.number == number).and_then(|(_, of)| of.deleter);
    let state = State { object: arguments.state, deleter };
    context.states(arguments.stage).insert(arguments.stage, (number, state));
    std::ptr::null_mut()
}

unsafe extern "C" fn state_get(arguments: *mut StateArguments) -> *mut c_void {
    // SAFETY: see above.
    let (arguments, context) = unsafe { (&mut *arguments, &*(*arguments).context) };
    // SAFETY: see above.
    let number = unsafe { *arguments.number };
    match context.states(arguments.stage).get(&arguments.stage) {
        Some((of, state)) if *of == number => {
            arguments.state = state.object;
            std::ptr::null_mut()
        }
        Some(_) => ForeignError::made(INVALID_ARGUMENT, "the state has another type"),
        None => ForeignError::made(NOT_FOUND, "the call has no state of this stage"),
    }
}

/// Sends tasks of foreign functions to threads that run only such tasks. The threads that run
/// kernels do not run tasks of foreign functions, because these tasks may block a thread.
static TASKS: OnceLock<Sender<Task>> = OnceLock::new();

struct Task {
    function: unsafe extern "C" fn(*mut c_void),
    data: *mut c_void,
}

// SAFETY: the interface lets any thread run a task.
unsafe impl Send for Task {}

/// Number of threads for tasks.
static THREADS: LazyLock<usize> = LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));

fn tasks() -> &'static Sender<Task> {
    TASKS.get_or_init(|| {
        let (sender, receiver) = channel::<Task>();
        let receiver = Arc::new(Mutex::new(receiver));
        for number in 0..*THREADS {
            let receiver = receiver.clone();
            let run = move || {
                loop {
                    let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(task) = next else { return };
                    // SAFETY: the foreign function has scheduled this task with this data.
                    unsafe { (task.function)(task.data) };
                }
            };
            // Without a single thread, the sender below has no receiver, and tasks are refused.
            let _ = std::thread::Builder::new().name(format!("foreign-{number}")).spawn(run);
        }
        sender
    })
}

unsafe extern "C" fn thread_pool_schedule(arguments: *const Schedule) -> *mut c_void {
    // SAFETY: see above.
    let arguments = unsafe { &*arguments };
    match tasks().send(Task { function: arguments.task, data: arguments.data }) {
        Ok(()) => std::ptr::null_mut(),
        Err(_) => ForeignError::made(UNIMPLEMENTED, "no thread for tasks could be started"),
    }
}

unsafe extern "C" fn thread_pool_threads(arguments: *const ThreadCount) -> *mut c_void {
    // SAFETY: see above.
    unsafe { *(*arguments).count = *THREADS as i64 };
    std::ptr::null_mut()
}

unsafe extern "C" fn future_create(arguments: *mut FutureArguments) -> *mut c_void {
    let future = Arc::<Future>::default();
    // One reference is for the thread that waits, one for the function that sets the outcome.
    let _ = Arc::into_raw(future.clone());
    // SAFETY: see above. The struct of this function ends behind the future.
    unsafe { (*arguments).future = Arc::into_raw(future).cast_mut().cast() };
    std::ptr::null_mut()
}

unsafe extern "C" fn future_set_available(arguments: *const FutureArguments) -> *mut c_void {
    // SAFETY: see above.
    unsafe { Future::set((*arguments).future, Ok(())) };
    std::ptr::null_mut()
}

unsafe extern "C" fn future_set_error(arguments: *const FutureArguments) -> *mut c_void {
    // SAFETY: see above; the function hands the error over.
    let error = unsafe { ForeignError::taken((*arguments).error) };
    let message = error.map_or_else(|| "unknown error".into(), |error| error.message());
    // SAFETY: see above.
    unsafe { Future::set((*arguments).future, Err(message)) };
    std::ptr::null_mut()
}

unsafe extern "C" fn run_number(arguments: *mut RunNumber) -> *mut c_void {
    // SAFETY: see above.
    unsafe { (*arguments).run = (*(*arguments).context).run };
    std::ptr::null_mut()
}

unsafe extern "C" fn device_ordinal(arguments: *mut Ordinal) -> *mut c_void {
    // SAFETY: see above.
    unsafe { (*arguments).device = 0 };
    std::ptr::null_mut()
}

/// Defines functions that only return an error: functions for GPUs, for handlers that C++ code
/// registers by itself, and for data of a caller.
macro_rules! refused {
    ($($function:ident: $name:literal)*) => {$(
        unsafe extern "C" fn $function(_: *mut c_void) -> *mut c_void {
            ForeignError::made(UNIMPLEMENTED, concat!("fusebox does not have the function ", $name))
        }
    )*};
}

refused! {
    handler_register: "XLA_FFI_Handler_Register"
    stream_get: "XLA_FFI_Stream_Get"
    context_get: "XLA_FFI_ExecutionContext_Get"
    memory_allocate: "XLA_FFI_DeviceMemory_Allocate"
    memory_free: "XLA_FFI_DeviceMemory_Free"
}

/// The table of functions.
#[repr(C)]
struct Table {
    header: Header,
    version: Version,
    internal: *const c_void,
    functions: [*const c_void; 18],
}

// SAFETY: the table is not changed, and its pointers are those of functions.
unsafe impl Sync for Table {}
// SAFETY: as above.
unsafe impl Send for Table {}

static TABLE: LazyLock<Table> = LazyLock::new(|| Table {
    header: Header::of(size_of::<Table>()),
    version: Version { header: Header::of(size_of::<Version>()), major: VERSION.0, minor: VERSION.1 },
    internal: std::ptr::null(),
    functions: [
        error_create as *const c_void,
        error_get_message as *const c_void,
        error_destroy as *const c_void,
        handler_register as *const c_void,
        stream_get as *const c_void,
        type_register as *const c_void,
        context_get as *const c_void,
        state_set as *const c_void,
        state_get as *const c_void,
        memory_allocate as *const c_void,
        memory_free as *const c_void,
        thread_pool_schedule as *const c_void,
        thread_pool_threads as *const c_void,
        future_create as *const c_void,
        future_set_available as *const c_void,
        future_set_error as *const c_void,
        run_number as *const c_void,
        device_ordinal as *const c_void,
    ],
});

/// Returns the address of the table, which lives as long as the process.
pub fn table() -> *const c_void {
    (&raw const *TABLE).cast()
}
