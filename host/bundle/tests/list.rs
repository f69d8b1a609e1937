//! Checks that the bundle links exactly the emitters that `ORDER` names.

#[test]
fn bundled_emitters_are_those_of_the_list() {
    let names: Vec<String> = fusebox_bundle::emitters().iter().map(|e| e.descriptor().name).collect();
    assert_eq!(names, fusebox_bundle::ORDER);
}

#[test]
fn descriptors_are_well_formed() {
    for emitter in fusebox_bundle::emitters() {
        let descriptor = emitter.descriptor();
        let parts: Vec<&str> = descriptor.version.split('.').collect();
        assert!(parts.len() == 3 && parts.iter().all(|part| part.parse::<u32>().is_ok()), "{descriptor:?}");
        assert!(descriptor.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{descriptor:?}");
    }
}
