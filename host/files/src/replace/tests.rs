//! Tests all kinds of destinations, both kinds of drafts, and errors at each step.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use rustix::fs::{Mode, mkfifoat};
use tempfile::TempDir;

use super::*;
use crate::FileKind;

/// A function that creates a draft for a path.
type MakeDraft = fn(&Path) -> io::Result<Draft>;

/// Both kinds of drafts. The file system of a test's folder must support unnamed and named drafts.
const DRAFTS: [MakeDraft; 2] = [|place| Draft::unnamed(folder_of(place)), Draft::named];

fn replace_by(make: MakeDraft, path: &Path, fill: impl Fill<io::Error>) -> Result<(), WriteError> {
    let OutputTarget::File { path: place, old } = output_target::find(path)? else { panic!("a stream") };
    finish(path, &place, old.as_ref(), make(&place).unwrap(), fill)
}

fn names(folder: &TempDir) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn files_are_made_and_replaced_without_litter() {
    for make in DRAFTS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        for content in [&b"first, and longer"[..], b"second", b""] {
            replace_by(make, &path, |file| file.write_all(content)).unwrap();
            assert_eq!(fs::read(&path).unwrap(), content);
            assert_eq!(names(&folder), ["out"]);
        }
    }
}

#[test]
fn an_error_leaves_the_old_file_and_nothing_else() {
    for make in DRAFTS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let fails = |file: &mut File| {
            file.write_all(b"half of the n")?;
            Err(io::Error::other("no more"))
        };
        let error = replace_by(make, &path, fails).unwrap_err().to_string();
        assert!(error.contains("out: no more (writing the new file)"), "{error}");
        assert!(names(&folder).is_empty());
        fs::write(&path, b"old").unwrap();
        replace_by(make, &path, fails).unwrap_err();
        assert_eq!((fs::read(&path).unwrap(), names(&folder)), (b"old".to_vec(), vec!["out".to_string()]));
    }
}

#[test]
fn a_file_made_meanwhile_is_replaced() {
    for make in DRAFTS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        replace_by(make, &path, |file| {
            fs::write(&path, b"another's")?;
            file.write_all(b"ours")
        })
        .unwrap();
        assert_eq!((fs::read(&path).unwrap(), names(&folder)), (b"ours".to_vec(), vec!["out".to_string()]));
    }
}

#[test]
fn permissions_are_kept_or_as_the_umask_says() {
    let umask = {
        let probe = tempfile::tempdir().unwrap();
        let path = probe.path().join("probe");
        File::create(&path).unwrap();
        mode(&path)
    };
    for make in DRAFTS {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        replace_by(make, &path, |file| file.write_all(b"1")).unwrap();
        assert_eq!(mode(&path), umask, "as any program makes it");
        for kept in [0o600, 0o755, 0o664] {
            fs::set_permissions(&path, Permissions::from_mode(kept)).unwrap();
            replace_by(make, &path, |file| file.write_all(b"2")).unwrap();
            assert_eq!(mode(&path), kept);
        }
    }
}

/// Runs `work` as an unprivileged user, because tests may run as root, which has all permissions.
fn without_rights<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let drop_rights = || {
            if rustix::process::getuid().is_root() {
                let nobody = rustix::process::Uid::from_raw(65534);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            work()
        };
        scope.spawn(drop_rights).join().unwrap()
    })
}

#[test]
fn what_may_not_be_written_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    fs::write(&path, b"old").unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    let error = without_rights(|| write(&path, b"new")).unwrap_err();
    assert!(matches!(error, WriteError::Protected { .. }), "{error}");
    fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o555)).unwrap();
    let error = without_rights(|| write(&path, b"new")).unwrap_err();
    assert!(matches!(error, WriteError::Folder { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"old");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
    without_rights(|| write(&path, b"new")).unwrap();
    assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"new".to_vec(), 0o666));
}

#[test]
fn links_stay_and_what_they_point_to_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("d")).unwrap();
    symlink("d/file", at("far")).unwrap();
    symlink("far", at("link")).unwrap();
    for content in [b"dangling", b"existing"] {
        write(&at("link"), content).unwrap();
        assert_eq!(fs::read(at("d/file")).unwrap(), content);
        assert_eq!(fs::read_link(at("link")).unwrap(), Path::new("far"));
        assert_eq!(fs::read_link(at("far")).unwrap(), Path::new("d/file"));
    }
    assert_eq!(names(&folder), ["d", "far", "link"]);
    symlink("b", at("a")).unwrap();
    symlink("a", at("b")).unwrap();
    assert!(matches!(write(&at("a"), b"x"), Err(WriteError::Path { .. })));
}

#[test]
fn names_that_lead_nowhere_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), b"old").unwrap();
    symlink("none/file", at("link")).unwrap();
    assert!(matches!(write(folder.path(), b"x"), Err(WriteError::Directory { .. })));
    assert!(matches!(write(&at("new/"), b"x"), Err(WriteError::Directory { .. })));
    for name in ["none/file", "file/x", "link"] {
        let error = write(&at(name), b"x").unwrap_err();
        assert!(matches!(error, WriteError::Path { .. }), "{name}: {error}");
        assert!(error.to_string().contains(name), "{error}");
    }
    assert!(write(Path::new(""), b"x").is_err());
    assert_eq!(names(&folder), ["file", "link"]);
}

#[test]
fn long_names_are_written_too() {
    let folder = tempfile::tempdir().unwrap();
    let name = "ü".repeat(127);
    for make in DRAFTS {
        replace_by(make, &folder.path().join(&name), |file| file.write_all(b"1")).unwrap();
        assert_eq!(names(&folder), [name.as_str()]);
    }
}

#[test]
fn a_fifo_gets_the_content() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).unwrap();
    let content = vec![7; 1 << 20];
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| fs::read(&fifo).unwrap());
        write(&fifo, &content).unwrap();
        assert!(reader.join().unwrap() == content);
    });
    assert_eq!(names(&folder), ["fifo"]);
    let reader_leaves = std::thread::scope(|scope| {
        scope.spawn(|| drop(File::open(&fifo).unwrap()));
        write(&fifo, &content)
    });
    let error = reader_leaves.unwrap_err();
    assert!(matches!(error, WriteError::Stream { kind: FileKind::Fifo, .. }), "{error}");
}

#[test]
fn devices_are_written_to() {
    write(Path::new("/dev/null"), b"x").unwrap();
    let error = write(Path::new("/dev/full"), b"x").unwrap_err().to_string();
    assert!(error.contains("/dev/full, which is a character device: No space left"), "{error}");
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    let error = write(&socket, b"x").unwrap_err().to_string();
    assert!(error.contains("which is a socket"), "{error}");
}

/// Writes to the system's name for an open file, such as `/dev/stdout`, if the open file is a
/// regular file.
#[test]
fn an_open_file_is_written_to_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out");
    fs::write(&path, b"old and longer").unwrap();
    let open = File::open(&path).unwrap();
    write(&name_of_open(&open), b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert_eq!(fs::metadata(&path).unwrap().ino(), open.metadata().unwrap().ino());
}
