//! Checks the plugin boundary. Messages must arrive unchanged, and invalid messages must do no
//! harm.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use fusebox_core::device::DeviceDescription;
use fusebox_core::emitter::*;
use fusebox_core::hlo::{InstrId, parse_module};
use fusebox_core::indexing::IndexingMap;
use fusebox_core::plugin::convert::{
    decode_fusion, decode_kernel, decode_plan, encode_fusion, encode_kernel, encode_plan,
};
use fusebox_core::plugin::schema::{self, Fault, Question, Request, Response};
use fusebox_core::plugin::serve;
use proptest::prelude::*;
use prost::Message;

const TEXT: &str = "HloModule m

add {
  x = f32[] parameter(0)
  y = f32[] parameter(1)
  ROOT z = f32[] add(x, y)
}

ENTRY fused {
  late = f32[8,4] parameter(1), metadata={op_name=\"jit(f)/secret\"}
  p = f32[] parameter(0)
  c = f32[2] constant({nan, -0.1})
  ROOT r.1-x = f32[8] reduce(late, p), dimensions={1}, to_apply=add
}
";

fn fusion() -> Fusion {
    Fusion::new("kernel_1", parse_module(TEXT, "test").unwrap()).unwrap()
}

struct Echo;

/// Beginning of the message about the panic of `Echo`.
const NO_KERNEL: &str = "no kernel (at ";

impl Emitter for Echo {
    fn descriptor(&self) -> Descriptor {
        Descriptor { kind: KernelKind("loop".into()), name: "echo".into(), version: "1.2.3".into() }
    }
    fn consider(&self, fusion: &Fusion, device: &DeviceDescription) -> Verdict {
        let reason = format!("{} on {device:?}", fusion.name);
        Verdict::Decline(Decline { reason, instruction: Some("p".into()) })
    }
    fn plan(&self, _: &Fusion, _: &DeviceDescription, _: &Configuration) -> Result<Plan, EmitError> {
        Err(EmitError { message: "no plan".into(), instruction: None })
    }
    fn emit(&self, _: &Fusion, _: &DeviceDescription, _: &Plan) -> Result<Kernel, EmitError> {
        panic!("no kernel")
    }
}

fn ask(request: &Request) -> Response {
    Response::decode(&*serve(|| vec![Box::new(Echo)], &request.encode_to_vec())).unwrap()
}

fn question(question: Question) -> Request {
    Request {
        question: question.into(),
        fusion: encode_fusion(&fusion()),
        device: Some((&DeviceDescription::sm(90)).into()),
        plan: Some(encode_plan(&plan(), &fusion())),
        ..Request::default()
    }
}

fn plan() -> Plan {
    let map: IndexingMap = "(th, bl)[s0]{rt0} -> (th * 4 + s0, bl mod 3), domain: th in [0, 31], bl in [0, 7], \
                            s0 in [0, 3], rt0 in [0, 9], th + s0 in [0, 30]"
        .parse()
        .unwrap();
    let knobs = |value| Configuration([("lanes".to_owned(), value)].into());
    Plan {
        launch: LaunchDimensions { blocks: 8, threads_per_block: 32 },
        shared_bytes: 17,
        outputs: vec![OutputPlan::updates(map.clone(), 1), OutputPlan::in_place(map.clone(), 0)],
        vector_lanes: 4,
        configuration: knobs(-1),
        alternatives: vec![knobs(i64::MAX), Configuration::default()],
        notes: vec!["a note".into()],
        visits: vec![Visit { map: map.clone(), values: vec![InstrId(1)], given: vec![InstrId(0), InstrId(2)] }],
        work: Work { additions: 1.5, tile_bytes: 2.0, waits: 3.0, atomics: 4.0, past_caches: true, unordered: true },
    }
}

#[test]
fn a_fusion_arrives_without_metadata_and_with_everything_else() {
    let sent = fusion();
    let arrived = decode_fusion(&encode_fusion(&sent)).unwrap();
    assert_eq!(arrived.name, sent.name);
    assert_eq!(arrived.roots, sent.roots);
    let text = arrived.module.to_string();
    assert!(!text.contains("secret") && text.contains("constant({nan, -0.1})"), "{text}");
    let names = |fusion: &Fusion| -> Vec<String> {
        fusion.computation().instructions.iter().map(|instruction| instruction.name.clone()).collect()
    };
    assert_eq!(names(&arrived), names(&sent));
}

#[test]
fn a_plan_arrives_whole() {
    let fusion = fusion();
    let mut message = schema::Plan::decode(&*encode_plan(&plan(), &fusion).encode_to_vec()).unwrap();
    assert_eq!(decode_plan(message.clone(), &fusion).unwrap(), plan());
    message.visits[0].given = vec!["nobody".into()];
    assert_eq!(decode_plan(message, &fusion).unwrap_err().to_string(), "it visits nobody, which the fusion lacks");
}

/// Checks that absent fields get their defaults.
#[test]
fn what_older_libraries_leave_out_reads_as_unsaid() {
    let verdict = |verdict: &Verdict| Verdict::from(schema::Verdict::from(verdict));
    let all = [Verdict::Accept, Verdict::OnRequest, Verdict::Decline(Decline::new("no"))];
    assert!(all.iter().all(|said| verdict(said) == *said));
    assert_eq!(Verdict::from(schema::Verdict::default()), Verdict::Accept);
    let message = schema::Plan { visits: Vec::new(), work: None, ..encode_plan(&plan(), &fusion()) };
    let read = decode_plan(message, &fusion()).unwrap();
    assert_eq!((read.visits, read.work), (Vec::new(), Work::default()));
}

#[test]
fn a_kernel_arrives_whole_and_unknown_instructions_do_not() {
    let fusion = fusion();
    let call = |symbol: &str, kind| SubgraphCall { symbol: symbol.into(), kind };
    let kernel = Kernel {
        code: KernelCode::Text("text".into()),
        calls: vec![
            call("a", SubgraphKind::Values { instructions: vec![InstrId(1), InstrId(0)] }),
            call("b", SubgraphKind::Epilogue { roots: fusion.roots.clone(), heroes: vec![InstrId(3)] }),
            call("c", SubgraphKind::Combiner { instruction: InstrId(3) }),
        ],
    };
    let mut message = encode_kernel(&kernel, &fusion);
    assert_eq!(decode_kernel(message.clone(), &fusion).unwrap(), kernel);
    message.calls[1].heroes = vec!["nobody".into()];
    let error = decode_kernel(message, &fusion).unwrap_err().to_string();
    assert_eq!(error, "function b: the fusion has no instruction nobody");
}

#[test]
fn answers_and_failures() {
    let emitters = ask(&question(Question::Describe)).emitters;
    assert_eq!((emitters.len(), emitters[0].name.as_str()), (1, "echo"));
    let verdict: Verdict = ask(&question(Question::Consider)).verdict.unwrap().into();
    assert_eq!(verdict, Echo.consider(&fusion(), &DeviceDescription::sm(90)));
    let failure = |request: &Request| {
        let failure = ask(request).failure.unwrap();
        (failure.fault(), failure.message)
    };
    assert_eq!(failure(&question(Question::Plan)), (Fault::Refused, "no plan".into()));
    let (fault, message) = failure(&question(Question::Emit));
    assert_eq!(fault, Fault::Panicked);
    assert!(message.starts_with(NO_KERNEL) && message.contains("plugin.rs:"), "{message}");
    let cases = [
        (Request { question: 99, ..question(Question::Plan) }, "the plugin does not know this question"),
        (Request { emitter: 1, ..question(Question::Plan) }, "there is no emitter 1"),
        (Request { device: None, ..question(Question::Plan) }, "no device is given"),
        (Request { plan: None, ..question(Question::Emit) }, "no plan is given"),
        (Request { fusion: b"\xff".to_vec(), ..question(Question::Plan) }, "not a message of this interface"),
    ];
    for (request, expected) in cases {
        let (fault, message) = failure(&request);
        assert_eq!(fault, Fault::Malformed);
        assert!(message.contains(expected), "{message}");
    }
}

proptest! {
    /// Checks that a library answers arbitrary bytes without a panic.
    #[test]
    fn anything_is_answered(bytes in prop::collection::vec(any::<u8>(), 0..64), at in 0usize..400, value: u8) {
        Response::decode(&*serve(|| vec![Box::new(Echo)], &bytes)).unwrap();
        let mut request = question(Question::Consider).encode_to_vec();
        let at = at % request.len();
        request[at] = value;
        let response = Response::decode(&*serve(|| vec![Box::new(Echo)], &request)).unwrap();
        if let Some(failure) = response.failure {
            // The changed byte may ask `Echo` for a kernel, which panics as it should.
            let is_of_echo = failure.message.starts_with(NO_KERNEL);
            prop_assert!(is_of_echo || failure.fault() != Fault::Panicked, "{}", failure.message);
        }
    }
}
