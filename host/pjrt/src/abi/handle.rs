//! Handles: pointers to objects that the library hands out.
//!
//! The safety of all handles rests on one rule of the interface: a handle that a caller passes is
//! null, or the library has handed it out and the caller has not destroyed it.

use std::sync::Arc;

use crate::error::{Answer, Error};

/// A handle with a reference to its object. The caller gives the reference back when it destroys
/// the handle.
#[repr(transparent)]
#[derive(Debug)]
pub struct Handle<T>(*const T);

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T> Handle<T> {
    /// No object.
    pub const NULL: Handle<T> = Handle(std::ptr::null());

    /// Hands a reference over to the caller.
    pub fn of(object: Arc<T>) -> Handle<T> {
        Handle(Arc::into_raw(object))
    }

    /// Lends an object to the caller, for as long as another object keeps a reference to it.
    pub fn lent(object: &Arc<T>) -> Handle<T> {
        Handle(Arc::as_ptr(object))
    }

    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns the object.
    pub fn get(&self) -> Answer<&T> {
        // SAFETY: the rule of all handles.
        unsafe { self.0.as_ref() }.ok_or_else(null)
    }

    /// Returns a further reference to the object.
    pub fn shared(self) -> Answer<Arc<T>> {
        self.get()?;
        // SAFETY: the rule of all handles; the pointer comes from an `Arc`.
        Ok(unsafe {
            Arc::increment_strong_count(self.0);
            Arc::from_raw(self.0)
        })
    }

    /// Takes the caller's reference back. Has no effect on null.
    pub fn destroy(self) {
        if !self.is_null() {
            // SAFETY: the rule of all handles; the caller destroys a handle once.
            drop(unsafe { Arc::from_raw(self.0) });
        }
    }
}

/// A handle of an object that another object owns.
#[repr(transparent)]
#[derive(Debug)]
pub struct Reference<T>(*const T);

impl<T> Clone for Reference<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Reference<T> {}

// SAFETY: a reference gives only shared access to its object.
unsafe impl<T: Sync> Send for Reference<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Reference<T> {}

impl<T> Reference<T> {
    /// No object.
    pub const NULL: Reference<T> = Reference(std::ptr::null());

    pub fn to(object: &T) -> Reference<T> {
        Reference(object)
    }

    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Returns the object.
    pub fn get(&self) -> Answer<&T> {
        // SAFETY: the rule of all handles.
        unsafe { self.0.as_ref() }.ok_or_else(null)
    }
}

fn null() -> Error {
    Error::misuse("a handle is null")
}
