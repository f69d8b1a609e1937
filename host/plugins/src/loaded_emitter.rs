//! An emitter that is linked into this program, loaded into this process, or isolated in a separate
//! process.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::{
    Bid, Candidate, Claim, Configuration, Descriptor, EmitError, Emitter, Fusion, Kernel, Plan, Verdict,
};
use fusebox_core::hlo::Opcode;
use fusebox_core::plugin::convert::{
    WireError, decode_bid, decode_kernel, decode_opcodes, decode_plan, encode_fusion, encode_plan,
};
use fusebox_core::plugin::limits;
use fusebox_core::plugin::schema::{self, Fault, Question, Request, Response};
use prost::Message;

use crate::answer_check::{
    check_descriptions, check_kernel_size, check_plan_size, checked_bid, checked_claim, shortened, shortened_error,
    shortened_verdict,
};
use crate::description::EmitterDescription;
use crate::failure::{Failure, FailureKind, Stage};
use crate::library::PluginLibrary;
use crate::origin::Origin;
use crate::process::PluginProcess;

/// An emitter of the registry.
#[derive(Clone)]
pub struct LoadedEmitter {
    description: EmitterDescription,
    origin: Origin,
    sha256: Option<Arc<str>>,
    transport: EmitterTransport,
}

#[derive(Clone)]
enum EmitterTransport {
    Linked(Arc<dyn Emitter>),
    Bytes { bytes: ByteTransport, number: u32 },
}

/// Sends requests to a plugin and receives the answers.
#[derive(Clone)]
pub(crate) enum ByteTransport {
    Library(PluginLibrary),
    Process(Arc<PluginProcess>),
    Answers(Answers),
}

/// A plugin as a function from the bytes of a request to the bytes of an answer.
pub type Answers = Arc<dyn Fn(&[u8]) -> Vec<u8> + Send + Sync>;

impl ByteTransport {
    fn ask(&self, request: &Request) -> Result<Response, FailureKind> {
        let most = match request.question() {
            Question::Emit => limits::MOST_KERNEL_BYTES,
            _ => limits::MOST_ANSWER_BYTES,
        };
        let request = request.encode_to_vec();
        let answer = match self {
            ByteTransport::Library(library) => library.call(&request),
            ByteTransport::Process(process) => process.call(&request, most)?,
            ByteTransport::Answers(answers) => answers(&request),
        };
        if answer.len() > most {
            let (found, most) = (answer.len() as u64, most as u64);
            return Err(FailureKind::Limit { what: "the bytes of its answer", found, most });
        }
        let response = Response::decode(&*answer).map_err(|error| FailureKind::Malformed(error.to_string()))?;
        match response.failure {
            None => Ok(response),
            Some(failure) => Err(match failure.fault() {
                Fault::Panicked => FailureKind::Panicked(shortened(failure.message)),
                Fault::Malformed => FailureKind::NotUnderstood(shortened(failure.message)),
                Fault::Refused => FailureKind::Refused(shortened_error(EmitError {
                    message: failure.message,
                    instruction: failure.instruction,
                })),
            }),
        }
    }

    /// Asks for the descriptions of the plugin's emitters.
    pub(crate) fn describe(&self) -> Result<Vec<EmitterDescription>, FailureKind> {
        let response = self.ask(&Request { question: Question::Describe.into(), ..Request::default() })?;
        let described = response.emitters.into_iter().map(|emitter| EmitterDescription {
            anchors: decode_opcodes(&emitter.anchors),
            heroes: decode_opcodes(&emitter.heroes),
            descriptor: emitter.into(),
        });
        let described: Vec<EmitterDescription> = described.collect();
        check_descriptions(&described)?;
        Ok(described)
    }
}

impl LoadedEmitter {
    /// Creates an emitter that is linked into this program.
    pub(crate) fn linked(emitter: Box<dyn Emitter>) -> Result<Self, Failure> {
        let describe = || EmitterDescription {
            descriptor: emitter.descriptor(),
            anchors: emitter.anchors(),
            heroes: emitter.heroes(),
        };
        let description = catch(describe).map_err(|kind| Failure {
            emitter: "linked into this program".into(),
            stage: Stage::Describe,
            fusion: String::new(),
            kind,
        })?;
        Ok(LoadedEmitter {
            description,
            origin: Origin::Linked,
            sha256: None,
            transport: EmitterTransport::Linked(emitter.into()),
        })
    }

    /// Creates the emitter that has the number `number` in a plugin.
    pub(crate) fn carried(
        description: EmitterDescription,
        origin: Origin,
        sha256: Option<Arc<str>>,
        bytes: ByteTransport,
        number: u32,
    ) -> Self {
        LoadedEmitter { description, origin, sha256, transport: EmitterTransport::Bytes { bytes, number } }
    }

    /// Returns the emitter's kind, name and version.
    pub fn descriptor(&self) -> &Descriptor {
        &self.description.descriptor
    }

    /// Returns the operations around which the emitter makes bids.
    pub fn anchors(&self) -> &[Opcode] {
        &self.description.anchors
    }

    /// Returns the operations that can be heroes of the emitter's kernels.
    pub fn heroes(&self) -> &[Opcode] {
        &self.description.heroes
    }

    /// Returns the origin of the emitter.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// Whether the emitter is linked into this program and not loaded.
    pub fn is_linked(&self) -> bool {
        self.origin.path().is_none()
    }

    /// Returns the SHA-256 of the loaded library, as hexadecimal digits. Returns `None` if the
    /// emitter is not from a library.
    pub fn sha256(&self) -> Option<&str> {
        self.sha256.as_deref()
    }

    /// Returns the emitter's name, version and origin as text for messages and cache keys.
    pub fn identity(&self) -> String {
        let Descriptor { name, version, .. } = self.descriptor();
        format!("{name} {version} ({})", self.origin)
    }

    /// Asks for the emitter's claim for an operation.
    ///
    /// # Errors
    /// If the emitter gives no usable answer.
    pub fn claim(&self, hero: &Candidate, device: &DeviceDescription) -> Result<Option<Claim>, Failure> {
        let claim = match &self.transport {
            EmitterTransport::Linked(emitter) => catch(|| emitter.claim(hero, device)),
            EmitterTransport::Bytes { bytes, number } => {
                let asked = bytes.ask(&anchored(Question::Claim, *number, hero, device));
                asked.map(|response| response.claim.map(Into::into))
            }
        };
        let claim = claim.and_then(|claim| claim.map(|claim| checked_claim(claim, hero)).transpose());
        claim.map_err(|kind| self.failure(Stage::Claim, &hero.region, kind))
    }

    /// Asks for the emitter's bid on a candidate. Checks only the bid's size.
    ///
    /// # Errors
    /// If the emitter gives no usable answer.
    pub fn bid(&self, candidate: &Candidate, device: &DeviceDescription) -> Result<Bid, Failure> {
        let region = &candidate.region;
        let bid = match &self.transport {
            EmitterTransport::Linked(emitter) => catch(|| emitter.bid(candidate, device)),
            EmitterTransport::Bytes { bytes, number } => {
                bytes.ask(&anchored(Question::Bid, *number, candidate, device)).and_then(|response| {
                    let bid = response.bid.ok_or_else(|| lacks("bid"))?;
                    decode_bid(bid, region).map_err(malformed)
                })
            }
        };
        let bid = bid.and_then(|bid| checked_bid(bid, region));
        bid.map_err(|kind| self.failure(Stage::Bid, region, kind))
    }

    /// Asks whether the emitter accepts the fusion.
    ///
    /// # Errors
    /// If the emitter gives no usable answer.
    pub fn consider(&self, fusion: &Fusion, device: &DeviceDescription) -> Result<Verdict, Failure> {
        let verdict = match &self.transport {
            EmitterTransport::Linked(emitter) => catch(|| emitter.consider(fusion, device)),
            EmitterTransport::Bytes { bytes, number } => {
                let response = bytes.ask(&request(Question::Consider, *number, fusion, device));
                response.and_then(|response| response.verdict.map(Into::into).ok_or_else(|| lacks("verdict")))
            }
        };
        verdict.map(shortened_verdict).map_err(|kind| self.failure(Stage::Consider, fusion, kind))
    }

    /// Asks for a plan. Checks only the plan's size; [`produce`](crate::produce) checks the rest.
    ///
    /// # Errors
    /// If the emitter refuses, or gives no usable answer.
    pub fn plan(
        &self,
        fusion: &Fusion,
        device: &DeviceDescription,
        configuration: &Configuration,
    ) -> Result<Plan, Failure> {
        let plan = match &self.transport {
            EmitterTransport::Linked(emitter) => catch_result(|| emitter.plan(fusion, device, configuration)),
            EmitterTransport::Bytes { bytes, number } => {
                let request = Request {
                    configuration: Some(configuration.into()),
                    ..request(Question::Plan, *number, fusion, device)
                };
                bytes.ask(&request).and_then(|response| {
                    let plan = response.plan.ok_or_else(|| lacks("plan"))?;
                    decode_plan(plan, fusion).map_err(malformed)
                })
            }
        };
        let plan = plan.and_then(|plan| check_plan_size(&plan).map(|()| plan));
        plan.map_err(|kind| self.failure(Stage::Plan, fusion, kind))
    }

    /// Asks for the kernel of a plan.
    ///
    /// # Errors
    /// If the emitter refuses, or gives no usable answer.
    pub fn emit(&self, fusion: &Fusion, device: &DeviceDescription, plan: &Plan) -> Result<Kernel, Failure> {
        let kernel = match &self.transport {
            EmitterTransport::Linked(emitter) => catch_result(|| emitter.emit(fusion, device, plan)),
            EmitterTransport::Bytes { bytes, number } => {
                let request = Request {
                    plan: Some(encode_plan(plan, fusion)),
                    ..request(Question::Emit, *number, fusion, device)
                };
                bytes.ask(&request).and_then(|response| {
                    let kernel: schema::Kernel = response.kernel.ok_or_else(|| lacks("kernel"))?;
                    decode_kernel(kernel, fusion).map_err(malformed)
                })
            }
        };
        let kernel = kernel.and_then(|kernel| check_kernel_size(&kernel, fusion).map(|()| kernel));
        kernel.map_err(|kind| self.failure(Stage::Emit, fusion, kind))
    }

    /// Creates a failure of this emitter.
    pub(crate) fn failure(&self, stage: Stage, fusion: &Fusion, kind: FailureKind) -> Failure {
        Failure { emitter: self.identity(), stage, fusion: fusion.name.clone(), kind }
    }
}

fn request(question: Question, emitter: u32, fusion: &Fusion, device: &DeviceDescription) -> Request {
    Request {
        question: question.into(),
        emitter,
        fusion: encode_fusion(fusion),
        device: Some(device.into()),
        ..Request::default()
    }
}

fn anchored(question: Question, emitter: u32, candidate: &Candidate, device: &DeviceDescription) -> Request {
    let anchor = candidate.region.computation().instruction(candidate.anchor).name.clone();
    Request { anchor, ..request(question, emitter, &candidate.region, device) }
}

fn lacks(what: &str) -> FailureKind {
    FailureKind::Malformed(format!("it has no {what}"))
}

fn malformed(error: WireError) -> FailureKind {
    FailureKind::Malformed(shortened(error.0))
}

fn catch_result<T>(ask: impl FnOnce() -> Result<T, EmitError>) -> Result<T, FailureKind> {
    catch(ask)?.map_err(|error| FailureKind::Refused(shortened_error(error)))
}

/// Calls a linked emitter and catches its panics, which would otherwise unwind into the host.
fn catch<T>(ask: impl FnOnce() -> T) -> Result<T, FailureKind> {
    catch_unwind(AssertUnwindSafe(ask)).map_err(|payload| FailureKind::Panicked(shortened(text_of(&*payload))))
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (None, Some(text)) => text.clone(),
        (None, None) => "a value that is no text".to_owned(),
    }
}
