//! Coroutines that GPU threads run on, and their stacks.

use std::cell::RefCell;

use corosensei::Coroutine;
use corosensei::stack::{DefaultStack, Stack, StackPointer};

/// Stack of one GPU thread. Pages that are not touched cost nothing.
const STACK_BYTES: usize = 256 << 10;
/// Stacks kept for the next launch.
const MOST_KEPT: usize = 1024;

/// The way out of a coroutine.
pub type Yielder = corosensei::Yielder<(), ()>;
type Fiber = Coroutine<(), (), (), Staggered>;

thread_local! {
    static STACKS: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// A stack that starts some bytes below its page's end. If all started at the same place of a page, those of a warp
/// would drive each other out of the cache.
struct Staggered {
    stack: DefaultStack,
    bytes: usize,
}

// SAFETY: a part of a stack, as large as promised, whose end stays aligned to 64 bytes.
unsafe impl Stack for Staggered {
    fn base(&self) -> StackPointer {
        let base = self.stack.base();
        StackPointer::new(base.get() - self.bytes).unwrap_or(base)
    }

    fn limit(&self) -> StackPointer {
        self.stack.limit()
    }
}

/// Coroutines that all do the same: one GPU thread after another.
pub struct Fibers {
    all: Vec<Fiber>,
    /// Those that have no thread.
    idle: Vec<usize>,
    body: fn(*const (), &Yielder),
    context: *const (),
}

impl Fibers {
    /// None yet. Each will run `body(context)`, which never returns.
    pub fn new(context: *const (), body: fn(*const (), &Yielder)) -> Fibers {
        Fibers { all: Vec::new(), idle: Vec::new(), body, context }
    }

    /// A coroutine without thread; its number. Fails if there is no memory for a stack.
    pub fn take_idle(&mut self) -> std::io::Result<usize> {
        if let Some(fiber) = self.idle.pop() {
            return Ok(fiber);
        }
        let stack = match STACKS.with_borrow_mut(Vec::pop) {
            Some(stack) => stack,
            None => DefaultStack::new(STACK_BYTES)?,
        };
        let stack = Staggered { stack, bytes: self.all.len() % 32 * 128 };
        let (context, body) = (self.context, self.body);
        self.all.push(Coroutine::with_stack(stack, move |yielder, ()| body(context, yielder)));
        Ok(self.all.len() - 1)
    }

    /// Lets a coroutine run until it waits.
    pub fn resume(&mut self, fiber: usize) {
        self.all[fiber].resume(());
    }

    /// Says that a coroutine's thread has ended.
    pub fn put_idle(&mut self, fiber: usize) {
        self.idle.push(fiber);
    }
}

impl Drop for Fibers {
    fn drop(&mut self) {
        for mut fiber in self.all.drain(..) {
            // SAFETY: the frames left are the kernel's, its calls' and the body's; they own nothing. Unwinding them
            // is not possible, kernels have no unwind tables.
            unsafe { fiber.force_reset() };
            STACKS.with_borrow_mut(|stacks| {
                if stacks.len() < MOST_KEPT {
                    stacks.push(fiber.into_stack().stack);
                }
            });
        }
    }
}
