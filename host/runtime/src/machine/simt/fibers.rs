//! Runs GPU threads in coroutines, and reuses the stacks of the coroutines.

use std::cell::RefCell;

use corosensei::Coroutine;
use corosensei::stack::{DefaultStack, Stack, StackPointer};

/// Size in bytes of the stack of a coroutine. The system allocates only the pages that are used.
const STACK_BYTES: usize = 256 << 10;
/// Maximum number of stacks that are kept for the next launch.
const MOST_KEPT: usize = 1024;

/// The handle with which a coroutine suspends itself.
pub type Yielder = corosensei::Yielder<(), ()>;
type Fiber = Coroutine<(), (), (), StaggeredStack>;

thread_local! {
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// A stack that starts some bytes below the end of its memory. The stacks of a warp start at
/// different distances from the end of their memory. If all stacks started at the same offset in a
/// page, they would evict each other from the cache.
struct StaggeredStack {
    stack: DefaultStack,
    bytes: usize,
}

// SAFETY: the memory from `limit` to `base` is a part of a valid stack, and `base` is a multiple of
// 64, as for that stack.
unsafe impl Stack for StaggeredStack {
    fn base(&self) -> StackPointer {
        let base = self.stack.base();
        StackPointer::new(base.get() - self.bytes).unwrap_or(base)
    }

    fn limit(&self) -> StackPointer {
        self.stack.limit()
    }
}

/// A set of coroutines that all run the same function. The common function runs one GPU thread
/// after another.
pub struct Fibers {
    all: Vec<Fiber>,
    /// Numbers of the coroutines that run no thread at this time.
    idle: Vec<usize>,
    body: fn(*const (), &Yielder),
    context: *const (),
}

impl Fibers {
    /// Creates an empty set of coroutines. Every coroutine that is added later calls `body(context,
    /// yielder)`, which never returns.
    pub fn new(context: *const (), body: fn(*const (), &Yielder)) -> Fibers {
        Fibers { all: Vec::new(), idle: Vec::new(), body, context }
    }

    /// Returns the number of a coroutine that runs no thread. Creates a coroutine if none is idle,
    /// and fails if memory for its stack is short.
    pub fn take_idle(&mut self) -> std::io::Result<usize> {
        if let Some(fiber) = self.idle.pop() {
            return Ok(fiber);
        }
        let stack = match STACKS.with_borrow_mut(Vec::pop) {
            Some(stack) => stack,
            None => DefaultStack::new(STACK_BYTES)?,
        };
        let stack = StaggeredStack { stack, bytes: self.all.len() % 32 * 128 };
        let (context, body) = (self.context, self.body);
        self.all.push(Coroutine::with_stack(stack, move |yielder, ()| body(context, yielder)));
        Ok(self.all.len() - 1)
    }

    /// Runs a coroutine until it suspends itself.
    pub fn resume(&mut self, fiber: usize) {
        self.all[fiber].resume(());
    }

    /// Marks a coroutine as idle, after its thread has ended.
    pub fn put_idle(&mut self, fiber: usize) {
        self.idle.push(fiber);
    }
}

impl Drop for Fibers {
    fn drop(&mut self) {
        for mut fiber in self.all.drain(..) {
            // SAFETY: the stack frames that remain belong to the kernel, to functions that the
            // kernel calls, and to `body`. The frames own no resources, so they can be discarded.
            // The frames could not be unwound, because kernels have no unwind tables.
            unsafe { fiber.force_reset() };
            STACKS.with_borrow_mut(|stacks| {
                if stacks.len() < MOST_KEPT {
                    stacks.push(fiber.into_stack().stack);
                }
            });
        }
    }
}
