//! The plugin's side of the boundary between host and plugin. The plugin's side decodes a request
//! from bytes, encodes the answer as bytes, and catches panics of emitters.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Once;

use prost::Message;

use super::convert::{
    WireError, decode_fusion, decode_plan, encode_bid, encode_descriptor, encode_kernel, encode_plan,
};
use super::schema::{self, Fault, Question, Request, Response};
use crate::emitter::{Candidate, Configuration, EmitError, Emitter, Fusion};

/// Answers one request. Never unwinds: a panic of an emitter becomes a failure in the answer.
pub fn serve(emitters: impl Fn() -> Vec<Box<dyn Emitter>>, request: &[u8]) -> Vec<u8> {
    remember_places_of_panics();
    let response = catch_unwind(AssertUnwindSafe(|| answer(&emitters(), request)))
        .unwrap_or_else(|payload| failure(Fault::Panicked, message_of(payload), None));
    response.encode_to_vec()
}

fn answer(emitters: &[Box<dyn Emitter>], request: &[u8]) -> Response {
    match try_answer(emitters, request) {
        Ok(response) => response,
        Err(Trouble::Refused(error)) => failure(Fault::Refused, error.message, error.instruction),
        Err(Trouble::Malformed(error)) => failure(Fault::Malformed, error.0, None),
    }
}

enum Trouble {
    Refused(EmitError),
    Malformed(WireError),
}

impl From<EmitError> for Trouble {
    fn from(error: EmitError) -> Self {
        Trouble::Refused(error)
    }
}

impl<E: Into<WireError>> From<E> for Trouble {
    fn from(error: E) -> Self {
        Trouble::Malformed(error.into())
    }
}

fn try_answer(emitters: &[Box<dyn Emitter>], request: &[u8]) -> Result<Response, Trouble> {
    let request = Request::decode(request)?;
    let question = request.question();
    if question == Question::Describe {
        let emitters = emitters.iter().map(|emitter| encode_descriptor(&**emitter)).collect();
        return Ok(Response { emitters, ..Response::default() });
    }
    let missing = || WireError(format!("there is no emitter {}", request.emitter));
    let emitter = emitters.get(request.emitter as usize).ok_or_else(missing)?;
    let fusion = fusion_of(&request.fusion)?;
    let device = request.device.map(Into::into).ok_or_else(|| WireError("no device is given".into()))?;
    match question {
        Question::Consider => {
            let verdict = emitter.consider(&fusion, &device);
            Ok(Response { verdict: Some((&verdict).into()), ..Response::default() })
        }
        Question::Plan => {
            let configuration: Configuration = request.configuration.unwrap_or_default().into();
            let plan = emitter.plan(&fusion, &device, &configuration)?;
            Ok(Response { plan: Some(encode_plan(&plan, &fusion)), ..Response::default() })
        }
        Question::Emit => {
            let plan = decode_plan(request.plan.ok_or_else(|| WireError("no plan is given".into()))?, &fusion)?;
            let kernel = emitter.emit(&fusion, &device, &plan)?;
            Ok(Response { kernel: Some(encode_kernel(&kernel, &fusion)), ..Response::default() })
        }
        Question::Bid => {
            let bid = emitter.bid(&candidate(&fusion, &request.anchor)?, &device);
            Ok(Response { bid: Some(encode_bid(&bid, &fusion)), ..Response::default() })
        }
        Question::Claim => {
            let claim = emitter.claim(&candidate(&fusion, &request.anchor)?, &device);
            Ok(Response { claim: claim.map(Into::into), ..Response::default() })
        }
        Question::Unknown | Question::Describe => {
            Err(WireError("the plugin does not know this question; build it against a newer fusebox-core".into())
                .into())
        }
    }
}

fn candidate(region: &Fusion, anchor: &str) -> Result<Candidate, WireError> {
    let id = region.computation().find(anchor);
    let anchor = id.ok_or_else(|| WireError(format!("the region has no anchor {anchor}")))?;
    Ok(Candidate { region: region.clone(), anchor })
}

/// Decodes a fusion. Caches the last fusion, because the host sends the same bytes for the
/// questions consider, plan and emit.
fn fusion_of(bytes: &[u8]) -> Result<Rc<Fusion>, WireError> {
    thread_local! {
        static LAST: RefCell<Option<(Vec<u8>, Rc<Fusion>)>> = const { RefCell::new(None) };
    }
    LAST.with_borrow_mut(|last| match last {
        Some((known, fusion)) if known == bytes => Ok(fusion.clone()),
        _ => {
            let fusion = Rc::new(decode_fusion(bytes)?);
            *last = Some((bytes.to_vec(), fusion.clone()));
            Ok(fusion)
        }
    })
}

fn failure(fault: Fault, message: String, instruction: Option<String>) -> Response {
    let failure = schema::Failure { fault: fault.into(), message, instruction };
    Response { failure: Some(failure), ..Response::default() }
}

thread_local! {
    static PLACE: Cell<Option<String>> = const { Cell::new(None) };
}

/// Installs a panic hook that stores the location of a panic for the failure message and prints
/// nothing. The default hook of the standard library would print the panic to stderr and forget the
/// location. A plugin library has its own copy of the standard library, so this installation does
/// not change the host's panic hook.
fn remember_places_of_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|info| PLACE.set(info.location().map(ToString::to_string))));
    });
}

fn message_of(payload: Box<dyn Any + Send>) -> String {
    let text = match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "a value that is no text".to_owned(),
    };
    // Dropping an unknown payload may panic again.
    std::mem::forget(payload);
    match PLACE.take() {
        Some(place) => format!("{text} (at {place})"),
        None => text,
    }
}
