//! Events.

use std::ffi::c_void;

use crate::abi::{Call, ErrorObject, Handle, Text, arguments};
use crate::error::{Answer, Code, Error};
use crate::event::Event;

/// A function of the caller. The function becomes the owner of the error that fusebox passes to it.
/// The error is null if the operation has succeeded.
pub type OnReady = unsafe extern "C" fn(*mut ErrorObject, *mut c_void);

arguments! {
    EventDestroy("PJRT_Event_Destroy") { event: Handle<Event>, }
    EventIsReady("PJRT_Event_IsReady") { event: Handle<Event>, is_ready: u8, }
    EventError("PJRT_Event_Error") { event: Handle<Event>, }
    EventAwait("PJRT_Event_Await") { event: Handle<Event>, }
    EventOnReady("PJRT_Event_OnReady") {
        event: Handle<Event>,
        callback: Option<OnReady>,
        user_argument: *mut c_void,
    }
    EventCreate("PJRT_Event_Create") { event: Handle<Event>, }
    EventSet("PJRT_Event_Set") { event: Handle<Event>, code: i32, message: Text, }
}

impl Call for EventDestroy {
    fn call(&mut self) -> Answer {
        self.event.destroy()
    }
}

impl Call for EventIsReady {
    fn call(&mut self) -> Answer {
        self.is_ready = self.event.get()?.outcome().is_some().into();
        Ok(())
    }
}

impl Call for EventError {
    fn call(&mut self) -> Answer {
        let outcome = self.event.get()?.outcome();
        outcome.unwrap_or_else(|| Err(Error::precondition("the operation is not complete")))
    }
}

impl Call for EventAwait {
    fn call(&mut self) -> Answer {
        self.event.shared()?.wait()
    }
}

/// An argument that the caller chooses and that fusebox passes to the caller's callback.
struct UserArgument(*mut c_void);

// SAFETY: the caller allows its callback to run on any thread.
unsafe impl Send for UserArgument {}

impl Call for EventOnReady {
    /// The callback may destroy the event's handle, so this function keeps its own reference to the
    /// event.
    fn call(&mut self) -> Answer {
        let event = self.event.shared()?;
        let callback = self.callback.ok_or_else(|| Error::misuse("the callback is null"))?;
        let argument = UserArgument(self.user_argument);
        event.when_done(move |outcome| {
            let UserArgument(argument) = { argument };
            let error = outcome.map_or_else(ErrorObject::of, |()| std::ptr::null_mut());
            // SAFETY: the caller registers a function for this argument, which is called once.
            unsafe { callback(error, argument) };
        });
        Ok(())
    }
}

impl Call for EventCreate {
    fn call(&mut self) -> Answer {
        self.event = Handle::of(Event::pending())?;
        Ok(())
    }
}

impl Call for EventSet {
    fn call(&mut self) -> Answer {
        let outcome = match self.code {
            0 => Ok(()),
            code => Err(Error::new(Code(code), self.message.text()?)),
        };
        let is_new = self.event.shared()?.complete(outcome);
        if is_new { Ok(()) } else { Err(Error::precondition("the event is set already")) }
    }
}
