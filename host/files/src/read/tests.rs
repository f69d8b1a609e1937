//! Tests which files are opened, and that opening does not block.

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use rustix::fs::{CWD, Mode, mkfifoat};

use super::*;

fn said(path: &Path) -> String {
    open(path, SizeLimit::default()).unwrap_err().to_string()
}

#[test]
fn regular_files_are_read_also_through_links() {
    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("f"), folder.path().join("l"));
    std::fs::write(&file, b"four").unwrap();
    symlink("f", &link).unwrap();
    for path in [&file, &link] {
        assert_eq!(read(path, SizeLimit::bytes(4)).unwrap(), b"four");
    }
    let flags = fcntl_getfl(open(&file, SizeLimit::none()).unwrap()).unwrap();
    assert!(!flags.contains(OFlags::NONBLOCK), "whoever gets the file expects an ordinary one");
}

#[test]
fn what_is_no_regular_file_is_named_and_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let (fifo, socket) = (folder.path().join("fifo"), folder.path().join("socket"));
    mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).unwrap();
    let _listener = UnixListener::bind(&socket).unwrap();
    symlink("fifo", folder.path().join("link")).unwrap();
    assert!(said(&fifo).contains("it is a FIFO") && said(&fifo).contains("`-`"), "{}", said(&fifo));
    assert!(said(&folder.path().join("link")).contains("it is a FIFO"));
    assert!(said(&socket).contains("it is a socket") && !said(&socket).contains("`-`"), "{}", said(&socket));
    assert!(said(folder.path()).contains("it is a directory"));
    assert!(said(Path::new("/dev/zero")).contains("it is a character device"));
    assert!(said(&folder.path().join("none")).contains("none: there is no such file"));
    assert!(matches!(open(&folder.path().join("fifo/x"), SizeLimit::none()), Err(ReadError::Io { .. })));
}

#[test]
fn the_limit_holds_for_files_and_streams() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("f");
    std::fs::write(&file, b"four").unwrap();
    let error = read(&file, SizeLimit::bytes(3)).unwrap_err().to_string();
    assert!(error.contains("larger than 3 bytes") && error.contains("--file-limit"), "{error}");
    assert_eq!(read_stream("<stdin>", &b"four"[..], SizeLimit::bytes(4)).unwrap(), b"four");
    let error = read_stream("<stdin>", io::repeat(0), SizeLimit::bytes(1000)).unwrap_err();
    assert!(matches!(error, ReadError::TooLarge { limit: 1000, .. }), "{error}");
}

/// Files whose metadata has size 0, as in /proc, are read too, up to the limit.
#[test]
fn a_file_that_grows_is_read_up_to_the_limit() {
    let path = Path::new("/proc/self/maps");
    assert!(!read(path, SizeLimit::none()).unwrap().is_empty());
    assert!(matches!(read(path, SizeLimit::bytes(10)), Err(ReadError::TooLarge { .. })));
}

#[test]
fn what_does_not_fit_into_memory_is_an_error() {
    let error = read_all(Path::new("f"), io::empty(), 1 << 62, SizeLimit::none()).unwrap_err();
    assert!(matches!(error, ReadError::Memory { bytes, .. } if bytes == 1 << 62), "{error}");
    assert!(matches!(
        read_all(Path::new("f"), io::empty(), u64::MAX, SizeLimit::none()),
        Err(ReadError::Memory { .. })
    ));
}

#[test]
fn a_failing_source_is_told() {
    struct FailingReader;
    impl Read for FailingReader {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }
    }
    let error = read_stream("<stdin>", FailingReader, SizeLimit::none()).unwrap_err().to_string();
    assert_eq!(error, "cannot read <stdin>: broken");
    struct OutOfMemoryReader;
    impl Read for OutOfMemoryReader {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::OutOfMemory.into())
        }
    }
    assert!(matches!(read_stream("<stdin>", OutOfMemoryReader, SizeLimit::none()), Err(ReadError::Memory { .. })));
}
