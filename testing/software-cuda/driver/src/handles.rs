//! Handles: numbers by which callers name objects of the driver.
//!
//! A handle is not a pointer. So the driver recognises handles of destroyed objects, and handles of
//! objects of another kind, instead of dereferencing them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::status::{Answer, Status};

/// A table from handles to the objects of one kind.
#[derive(Debug)]
pub struct Handles<T> {
    objects: Mutex<(usize, HashMap<usize, Arc<T>>)>,
}

/// The distance between two handles, so that a handle looks like a pointer.
const DISTANCE: usize = 16;

impl<T> Handles<T> {
    /// Returns an empty table. Tables with different numbers `kind` have no handle in common.
    pub fn new(kind: u16) -> Handles<T> {
        Handles { objects: Mutex::new(((usize::from(kind) + 1) << 32, HashMap::new())) }
    }

    /// Adds an object and returns its handle, which no other object ever had.
    pub fn add(&self, object: Arc<T>) -> usize {
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        objects.0 += DISTANCE;
        let handle = objects.0;
        objects.1.insert(handle, object);
        handle
    }

    /// Returns the object of a handle.
    pub fn get(&self, handle: usize) -> Answer<Arc<T>> {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        objects.1.get(&handle).cloned().ok_or(Status::INVALID_HANDLE)
    }

    /// Removes an object. The handle of the removed object is invalid from now on.
    pub fn remove(&self, handle: usize) -> Answer<Arc<T>> {
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        objects.1.remove(&handle).ok_or(Status::INVALID_HANDLE)
    }

    /// Removes all objects for which the function returns true.
    pub fn remove_if(&self, mut remove: impl FnMut(&T) -> bool) {
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        objects.1.retain(|_, object| !remove(object));
    }

    /// Returns all handles and objects, in the order of their handles.
    pub fn all(&self) -> Vec<(usize, Arc<T>)> {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = objects.1.iter().map(|(handle, object)| (*handle, object.clone())).collect();
        all.sort_unstable_by_key(|(handle, _)| *handle);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_or_foreign_handle_is_invalid() {
        let (numbers, texts) = (Handles::new(0), Handles::new(1));
        let number = numbers.add(Arc::new(7));
        let text = texts.add(Arc::new("seven"));
        assert_eq!(*numbers.get(number).unwrap(), 7);
        assert_eq!(numbers.get(text), Err(Status::INVALID_HANDLE));
        numbers.remove(number).unwrap();
        assert_eq!(numbers.get(number), Err(Status::INVALID_HANDLE));
        assert_ne!(numbers.add(Arc::new(8)), number);
    }
}
