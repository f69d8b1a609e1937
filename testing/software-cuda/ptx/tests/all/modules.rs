//! Rules for the text of modules.

use fusebox_ptx::DeviceKind;

use crate::harness::{Card, kernel};

fn error(text: &str) -> String {
    Card::new().load(text).map(|_| ()).unwrap_err().to_string()
}

#[test]
fn headers() {
    let of = |version: &str, target: &str| {
        format!(".version {version}\n.target {target}\n.address_size 64\n.entry k()\n{{\nret;\n}}\n")
    };
    assert!(Card::new().load(&of("7.8", "sm_90")).is_ok());
    assert!(Card::new().load(&of("7.0", "sm_80")).is_ok());
    assert_eq!(error(&of("7.0", "sm_90")), "line 2: the target sm_90 needs PTX 7.8");
    assert_eq!(error(&of("7.8", "sm_90a")), "line 2: the target sm_90a needs PTX 8.0");
    assert_eq!(error(&of("8.6", "sm_100")), "line 2: code for sm_100 does not run on sm_90");
    assert_eq!(error(&of("9.9", "sm_90")), "line 1: PTX 9.9 is newer than the driver, which reads up to 9.0");
    assert_eq!(error(&of("7.8", "gfx942")), "line 2: gfx942 is not a target such as sm_90");
    let mut card = Card::new();
    card.kind = DeviceKind::named("sm_100").unwrap();
    assert!(card.load(&of("7.8", "sm_90")).is_ok());
    assert!(card.load(&of("8.0", "sm_90a")).is_err());
    assert_eq!(DeviceKind::named("sm_12345"), None);
}

#[test]
fn parameters() {
    let with = |version: &str, count: usize| {
        let list: Vec<String> = (0..count).map(|number| format!(".param .u64 p{number}")).collect();
        format!(".version {version}\n.target sm_90\n.address_size 64\n.entry k({})\n{{\nret;\n}}\n", list.join(", "))
    };
    assert!(Card::new().load(&with("7.8", 544)).is_ok());
    assert_eq!(error(&with("7.8", 545)), "line 4: the parameters of k have more than 4352 bytes");
    assert!(Card::new().load(&with("8.1", 545)).is_ok());
    assert!(error(&with("8.1", 4096)).contains("more than 32764 bytes"));
    let text = kernel(0, "", "").replace("k()", "k(.param .u8 a, .param .align 16 .b8 b[20], .param .f64 c)");
    let module = Card::new().load(&text).unwrap();
    let offsets: Vec<u32> = module.kernels()[0].parameters.iter().map(|parameter| parameter.offset).collect();
    assert_eq!((offsets, module.kernels()[0].parameter_bytes()), (vec![0, 16, 40], 48));
    assert!(error(&kernel(1, ".reg .b64 %l;", "ld.param.u64 %l, [p0+8];")).contains("beyond the parameters"));
}

#[test]
fn parameters_are_read_by_their_types() {
    let body = "ld.param.s8 %a, [small]; st.global.b32 [%p0], %a; ld.param.v2.b32 {%a, %b}, [pair];\n\
                st.global.v2.b32 [%p0+8], {%b, %a};";
    let text = kernel(1, ".reg .b32 %a, %b;", body)
        .replace("(.param .u64 p0", "(.param .u64 p0, .param .u64 pair, .param .u64 small");
    let mut card = Card::new();
    let to = card.array(&[0; 16]);
    card.run(&text, 1, 1, &[to, 0x0000_0005_0000_0006, 0xff]).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(card.words(to, 4), [u32::MAX, 0, 5, 6]);
}

#[test]
fn kernels_state_their_limits() {
    let text = |directive: &str| {
        kernel(0, ".shared .align 8 .b8 a[10]; .shared .f64 b;", "").replace(")\n{", &format!(")\n{directive}\n{{"))
    };
    let card = Card::new();
    let module = card.load(&text(".reqntid 64, 2\n.minnctapersm 2")).unwrap();
    let found = module.kernel("k").unwrap();
    assert_eq!((found.max_threads, found.required_threads, found.shared_bytes), (128, Some([64, 2, 1]), 24));
    let module = card.load(&text(".maxntid 256")).unwrap();
    assert_eq!((module.kernels()[0].max_threads, module.kernels()[0].required_threads), (256, None));
    assert!(error(&text(".maxntid 2048")).contains("a block of 2048 threads is stated; 1 to 1024 are allowed"));
    assert!(error(&kernel(0, ".shared .b8 a[50000];", "")).contains("at most 49152 are allowed"));
    assert!(error(&text(".sideways 3")).contains("the directive .sideways is not supported"));
}

#[test]
fn names_and_types_are_checked() {
    let of = |registers: &str, body: &str| error(&kernel(1, registers, body));
    assert!(of(".reg .b32 %a;", "mov.b32 %a, %b;").contains("%b is not declared"));
    assert!(of(".reg .b32 %a<2>;", "mov.b32 %a2, 0;").contains("%a2 is not a declared register"));
    assert!(of(".reg .b32 %a; .reg .b64 %a;", "").contains("%a is declared twice"));
    assert!(of(".reg .f32 %a;", "add.s32 %a, %a, %a;").contains("%a is declared as F(32), which does not fit S(32)"));
    assert!(of(".reg .b32 %a;", "add.s32 %a, %a;").contains("add has 2 operands, expected 3"));
    assert!(of(".reg .b32 %a;", "add.s31 %a, %a, %a;").contains("expected a type in add, found .s31"));
    assert!(of(".reg .b32 %a;", "ld.global.b64 %a, [%p0];").contains("does not fit B(64)"));
    assert!(
        of(".reg .b32 %a; .shared .b32 tile;", "ld.global.b32 %a, [tile];")
            .contains("a variable in shared memory is accessed as global memory")
    );
    assert!(of(".reg .b32 %a;", "ld.global.v2.b32 %a, [%p0];").contains("the access has 2 elements and 1 registers"));
    assert!(of(".reg .b16 %a;", "ld.shared.nc.b16 %a, [%p0];").contains("is not supported"));
    assert!(of(".reg .b32 %a", "").contains("expected `;`"));
    assert!(of("", "add.s32 %a, %a, @;").contains("expected an operand, found @"));
}

/// Checks that names of an inner scope hide those outside, and end with the scope.
#[test]
fn scopes_hide_names() {
    let body = "mov.b32 %a, 5; { .reg .b32 %a; mov.b32 %a, 6; } st.global.b32 [%p0], %a;";
    let mut card = Card::new();
    let to = card.unwritten(4);
    card.run(&kernel(1, ".reg .b32 %a;", body), 1, 1, &[to]).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(card.words(to, 1), [5]);
    assert!(error(&kernel(1, "", "{ .reg .b32 %a; } mov.b32 %a, 1;")).contains("not a declared register"));
}
