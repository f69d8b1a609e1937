//! Coroutines that run GPU threads, and their stacks.

use std::cell::RefCell;

use corosensei::Coroutine;
use corosensei::stack::{DefaultStack, Stack, StackPointer};

/// Stack size of one GPU thread in bytes. Unused pages cost nothing.
const STACK_BYTES: usize = 256 << 10;
/// Maximum number of stacks kept for the next launch.
const MOST_KEPT: usize = 1024;

/// Handle by which a coroutine suspends.
pub type Yielder = corosensei::Yielder<(), ()>;
type Fiber = Coroutine<(), (), (), StaggeredStack>;

thread_local! {
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// A stack that starts some bytes below its page's end. If all stacks started at the same offset in
/// a page, the stacks of a warp would evict each other from the cache.
struct StaggeredStack {
    stack: DefaultStack,
    bytes: usize,
}

// SAFETY: the memory is a part of a valid stack between `limit` and `base`, and `base` remains
// aligned to 64 bytes.
unsafe impl Stack for StaggeredStack {
    fn base(&self) -> StackPointer {
        let base = self.stack.base();
        StackPointer::new(base.get() - self.bytes).unwrap_or(base)
    }

    fn limit(&self) -> StackPointer {
        self.stack.limit()
    }
}

/// Coroutines that all run the same body: one GPU thread after another.
pub struct Fibers {
    all: Vec<Fiber>,
    /// Coroutines without a thread.
    idle: Vec<usize>,
    body: fn(*const (), &Yielder),
    context: *const (),
}

impl Fibers {
    /// Returns an empty set of coroutines. Each coroutine will run `body(context)`, which never
    /// returns.
    pub fn new(context: *const (), body: fn(*const (), &Yielder)) -> Fibers {
        Fibers { all: Vec::new(), idle: Vec::new(), body, context }
    }

    /// Returns the number of a coroutine without a thread. Fails if memory for a stack is short.
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

    /// Runs a coroutine until it waits.
    pub fn resume(&mut self, fiber: usize) {
        self.all[fiber].resume(());
    }

    /// Marks a coroutine as idle because its thread has ended.
    pub fn put_idle(&mut self, fiber: usize) {
        self.idle.push(fiber);
    }
}

impl Drop for Fibers {
    fn drop(&mut self) {
        for mut fiber in self.all.drain(..) {
            // SAFETY: the remaining frames belong to the kernel, to functions that it calls, and to
            // the body. They own no resources. They cannot be unwound because kernels have no
            // unwind tables.
            unsafe { fiber.force_reset() };
            STACKS.with_borrow_mut(|stacks| {
                if stacks.len() < MOST_KEPT {
                    stacks.push(fiber.into_stack().stack);
                }
            });
        }
    }
}
