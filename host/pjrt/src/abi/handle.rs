//! Handles of objects, and pointers to parts of objects.
//!
//! A handle is a number, not an address. The number contains the index of an entry in the table of
//! handles, and a count of how often the table has used the entry. If a caller passes a handle that
//! the library has never returned, or that the caller has destroyed, the library detects this and
//! returns an error.
//!
//! The library cannot check one rule of the interface: a caller must not destroy a handle while
//! another thread uses the handle.

use std::marker::PhantomData;
use std::sync::Arc;

use super::handle_table::TABLE;
use crate::error::{Answer, Error};

/// A type of objects that have handles.
pub trait Object: Send + Sync + 'static {
    /// Kind of the object, which each handle of the object contains.
    const KIND: Kind;
}

/// Types of objects. The number of each type is from 1 to 15.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Client = 1,
    Topology,
    Buffer,
    Event,
    Executable,
    ExecuteContext,
}

impl Kind {
    fn text(self) -> &'static str {
        match self {
            Kind::Client => "client",
            Kind::Topology => "topology",
            Kind::Buffer => "buffer",
            Kind::Event => "event",
            Kind::Executable => "executable",
            Kind::ExecuteContext => "execute context",
        }
    }
}

/// A handle with a reference to its object. The library drops the reference when the caller
/// destroys the handle.
#[repr(transparent)]
#[derive(Debug)]
pub struct Handle<T>(u64, PhantomData<fn() -> T>);

impl<T> Clone for Handle<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Handle<T> {}

impl<T> Handle<T> {
    /// No object.
    pub const NULL: Handle<T> = Handle(0, PhantomData);

    pub fn is_null(self) -> bool {
        self.0 == 0
    }
}

impl<T: Object> Handle<T> {
    /// Creates a handle, through which the caller owns the reference `object`.
    ///
    /// # Errors
    /// If the table of handles is full.
    pub fn of(object: Arc<T>) -> Answer<Handle<T>> {
        let object = Arc::into_raw(object);
        match TABLE.insert(T::KIND as u8, object.cast_mut().cast()) {
            Some(number) => Ok(Handle(number, PhantomData)),
            None => {
                // SAFETY: the pointer is that of the line above, and no handle has it.
                drop(unsafe { Arc::from_raw(object) });
                Err(Error::exhausted("the caller has too many handles"))
            }
        }
    }

    fn pointer(self) -> Answer<*const T> {
        TABLE.get(T::KIND as u8, self.0).map(|object| object.cast_const().cast()).ok_or_else(|| self.unknown())
    }

    #[cold]
    fn unknown(self) -> Error {
        if self.is_null() {
            return Error::misuse("a handle is null");
        }
        Error::misuse(format!("a handle is no {} of fusebox, or has been destroyed", T::KIND.text()))
    }

    /// Returns the object.
    pub fn get(&self) -> Answer<&T> {
        let object = self.pointer()?;
        // SAFETY: the table has the pointer from `of` for this type, with a reference to the
        // object. The caller does not give the reference back during this call.
        Ok(unsafe { &*object })
    }

    /// Returns a further reference to the object.
    pub fn shared(self) -> Answer<Arc<T>> {
        let object = self.pointer()?;
        // SAFETY: as above; the pointer comes from an `Arc`.
        Ok(unsafe {
            Arc::increment_strong_count(object);
            Arc::from_raw(object)
        })
    }

    /// Destroys the handle, and drops its reference to the object. Has no effect on a null handle.
    ///
    /// # Errors
    /// If this is no handle of an object of type `T`, or if the caller has destroyed it already.
    pub fn destroy(self) -> Answer {
        if self.is_null() {
            return Ok(());
        }
        let object = TABLE.remove(T::KIND as u8, self.0).ok_or_else(|| self.unknown())?;
        // SAFETY: the pointer comes from `of` for this type, and the table gives it back once.
        drop(unsafe { Arc::from_raw(object.cast_const().cast::<T>()) });
        Ok(())
    }
}

/// A handle that callers may use but must not destroy. Dropping this value destroys the handle.
pub struct Lent<T: Object>(Handle<T>);

impl<T: Object> Lent<T> {
    /// # Errors
    /// The errors of [`Handle::of`].
    pub fn of(object: Arc<T>) -> Answer<Lent<T>> {
        Handle::of(object).map(Lent)
    }

    pub fn handle(&self) -> Handle<T> {
        self.0
    }
}

impl<T: Object> Drop for Lent<T> {
    fn drop(&mut self) {
        // This fails if the caller has destroyed the handle, although it was not the caller's.
        _ = self.0.destroy();
    }
}

/// A pointer to an object that another object owns. The pointer is null, or the library has
/// returned it and the caller has not destroyed the owner of the object.
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
        // SAFETY: the rule of all references.
        unsafe { self.0.as_ref() }.ok_or_else(|| Error::misuse("a handle is null"))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Handle, Kind, Lent, Object};

    #[derive(Debug)]
    struct Number(u32);
    impl Object for Number {
        const KIND: Kind = Kind::Topology;
    }
    #[derive(Debug)]
    struct Other;
    impl Object for Other {
        const KIND: Kind = Kind::ExecuteContext;
    }

    #[test]
    fn a_destroyed_handle_is_refused() {
        let object = Arc::new(Number(7));
        let handle = Handle::of(Arc::clone(&object)).unwrap();
        assert_eq!((handle.get().unwrap().0, Arc::strong_count(&object)), (7, 2));
        assert_eq!(Arc::strong_count(&handle.shared().unwrap()), 3);
        handle.destroy().unwrap();
        assert_eq!(Arc::strong_count(&object), 1);
        for error in [handle.get().unwrap_err(), handle.shared().unwrap_err(), handle.destroy().unwrap_err()] {
            assert!(error.message.ends_with("is no topology of fusebox, or has been destroyed"), "{error}");
        }
        // A later object may get the entry, but not the handle.
        let later: Vec<Handle<Number>> = (0..100).map(|_| Handle::of(Arc::new(Number(8))).unwrap()).collect();
        assert!(handle.get().is_err() && handle.destroy().is_err());
        later.into_iter().for_each(|handle| handle.destroy().unwrap());
    }

    #[test]
    fn null_and_handles_of_other_types_are_refused() {
        let null = Handle::<Number>::NULL;
        assert_eq!(null.get().unwrap_err().message, "a handle is null");
        null.destroy().unwrap();
        let handle = Handle::of(Arc::new(Other)).unwrap();
        let wrong = Handle::<Number>(handle.0, std::marker::PhantomData);
        assert!(wrong.get().is_err() && wrong.destroy().is_err() && handle.get().is_ok());
        for bits in 0..64 {
            let wrong = Handle::<Other>(handle.0 ^ (1 << bits), std::marker::PhantomData);
            assert!(wrong.get().is_err(), "bit {bits}");
        }
        handle.destroy().unwrap();
    }

    #[test]
    fn a_lent_handle_ends_with_its_owner() {
        let lent = Lent::of(Arc::new(Number(9))).unwrap();
        let handle = lent.handle();
        assert_eq!(handle.get().unwrap().0, 9);
        drop(lent);
        assert!(handle.get().is_err());
    }
}
