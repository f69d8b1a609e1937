//! Tests the guarantees of a store.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use super::*;

fn store(limit: SizeLimit) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("a/b"), limit).unwrap();
    (folder, store)
}

fn key(name: &str) -> Key {
    Key::of("test").and(name)
}

fn files(store: &Store) -> Vec<PathBuf> {
    fs::read_dir(&store.folder).unwrap().map(|file| file.unwrap().path()).collect()
}

/// Sets the time of a file's last use to `seconds` seconds ago.
fn age(path: &Path, seconds: u64) {
    let then = SystemTime::now() - Duration::from_secs(seconds);
    fs::File::open(path).unwrap().set_modified(then).unwrap();
}

#[test]
fn an_entry_is_found_by_its_whole_key() {
    let (_folder, store) = store(SizeLimit::none());
    let full = Key::of("program").and("ab").and("c");
    store.keep(&[(full.clone(), b"content".to_vec())]).unwrap();
    assert_eq!(store.get(&full).as_deref(), Some(&b"content"[..]));
    let others = [
        Key::of("kernel").and("ab").and("c"),
        Key::of("program").and("a").and("bc"),
        Key::of("program").and("abc"),
        Key::of("program").and("c").and("ab"),
        Key::of("program").and("ab").and("c").and(""),
    ];
    assert!(others.iter().all(|other| store.get(other).is_none()));
    store.keep(&[(full.clone(), Vec::new())]).unwrap();
    assert_eq!(store.get(&full).as_deref(), Some(&b""[..]), "what is kept again replaces what was there");
}

#[test]
fn damage_is_a_miss_until_the_entry_is_kept_again() {
    let (_folder, store) = store(SizeLimit::none());
    let entry = (key("a"), b"content".to_vec());
    store.keep(std::slice::from_ref(&entry)).unwrap();
    let [path] = &files(&store)[..] else { panic!("one entry is one file") };
    let whole = fs::read(path).unwrap();
    let cut = (0..whole.len()).map(|length| whole[..length].to_vec());
    let changed = (0..whole.len()).map(|at| {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        changed
    });
    let longer = [&whole[..], b"x"].concat();
    for damaged in cut.chain(changed).chain([longer]) {
        fs::write(path, &damaged).unwrap();
        assert_eq!(store.get(&entry.0), None, "{damaged:?}");
    }
    store.keep(std::slice::from_ref(&entry)).unwrap();
    assert_eq!(store.get(&entry.0), Some(entry.1));
    // The content is undamaged, but it belongs to another entry.
    fs::copy(path, store.path(&key("b"))).unwrap();
    assert_eq!(store.get(&key("b")), None);
}

#[test]
fn what_was_not_used_for_longest_goes() {
    let (_folder, store) = store(SizeLimit::bytes(3 * 100));
    let content = vec![7; 100 - DIGEST];
    for (number, name) in ["a", "b", "c"].into_iter().enumerate() {
        store.keep(&[(key(name), content.clone())]).unwrap();
        age(&store.path(&key(name)), 100 - number as u64);
    }
    fs::write(store.folder.join("of somebody else"), [0; 1000]).unwrap();
    assert!(store.get(&key("a")).is_some());
    store.keep(&[(key("d"), content.clone())]).unwrap();
    let there = ["a", "b", "c", "d"].map(|name| store.get(&key(name)).is_some());
    assert_eq!(there, [true, false, true, true], "b was not used since it was kept");
    assert!(store.folder.join("of somebody else").exists());
    let error = store.keep(&[(key("e"), vec![0; 300])]).unwrap_err().to_string();
    assert!(error.contains("332 bytes") && error.contains("more than 300"), "{error}");
}

#[test]
fn drafts_that_killed_processes_left_count_and_go() {
    let (_folder, store) = store(SizeLimit::bytes(100));
    let draft = store.folder.join(format!(".{}.Xy12.partial", store.path(&key("a")).file_name().unwrap().display()));
    fs::write(&draft, [0; 90]).unwrap();
    age(&draft, 1000);
    store.keep(&[(key("b"), vec![0; 50])]).unwrap();
    assert!(!draft.exists() && store.get(&key("b")).is_some());
}

#[test]
fn several_at_once_see_whole_entries_or_none() {
    let (_folder, store) = store(SizeLimit::bytes(2000));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = &store;
            scope.spawn(move || {
                for turn in 0..100u8 {
                    let name = (turn % 8).to_string();
                    store.keep(&[(key(&name), vec![turn % 8; 500])]).unwrap();
                    let found = store.get(&key(&((turn + thread) % 8).to_string()));
                    assert!(found.is_none_or(|found| found == vec![(turn + thread) % 8; 500]));
                }
            });
        }
    });
    let bytes: u64 = files(&store).iter().map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes <= 2000, "{bytes}");
}

#[test]
fn the_folder_is_this_users_alone() {
    let (folder, store) = store(SizeLimit::none());
    assert_eq!(store.folder.metadata().unwrap().mode() & 0o777, 0o700);
    fs::set_permissions(&store.folder, fs::Permissions::from_mode(0o775)).unwrap();
    let error = Store::open(&store.folder, SizeLimit::none()).unwrap_err().to_string();
    assert!(error.contains("chmod go-w"), "{error}");
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(Store::open(&file, SizeLimit::none()), Err(StoreError::Folder { .. })));
}
