//! Tests with files that have numpy's format, and with damaged files.

use std::io::{Seek, Write};
use std::path::PathBuf;

use fusebox_core::hlo::{ArrayLiteral, ArrayShape, ElementType, Literal, Shape};
use tempfile::TempDir;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::{NpzFault, read_inputs, write_archive, write_outputs};

/// Returns a header of version 1 of the `.npy` format, with the text `dict`.
fn header(dict: &str) -> Vec<u8> {
    let text = format!("{dict}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes
}

fn array(descriptor: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let dict = format!("{{'descr': '{descriptor}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    [header(&dict), data.to_vec()].concat()
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Folder(TempDir::new().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("x.npz")
    }

    /// Writes an archive of members with the names `arr_0.npy`, `arr_1.npy` and so on.
    fn file(&self, members: &[Vec<u8>], method: CompressionMethod) -> PathBuf {
        let mut archive = ZipWriter::new(std::fs::File::create(self.path()).unwrap());
        for (k, bytes) in members.iter().enumerate() {
            let options = SimpleFileOptions::default().compression_method(method);
            archive.start_file(format!("arr_{k}.npy"), options).unwrap();
            archive.write_all(bytes).unwrap();
        }
        archive.finish().unwrap();
        self.path()
    }
}

fn read_one(member: Vec<u8>, shape: Shape) -> Result<Literal, NpzFault> {
    let folder = Folder::new();
    let path = folder.file(&[member], CompressionMethod::Stored);
    let result = read_inputs(&path, &[shape]).map_err(|error| *error.fault);
    Ok(result?.remove(0))
}

fn literal(ty: ElementType, dims: &[i64], data: &[u8]) -> Literal {
    Literal::Array(ArrayLiteral::new(ty, dims.to_vec(), data).unwrap())
}

#[test]
fn every_type_survives_the_way_through_a_file() {
    let folder = Folder::new();
    for &ty in ElementType::ALL {
        // Narrow signed integers are stored sign-extended.
        let one = if ty.bits() < 8 && ty.is_signed_integer() { 0xff } else { 1 };
        let data: Vec<u8> = (0..6 * ty.byte_size()).map(|i| (i % 2) as u8 * one).collect();
        let value = literal(ty, &[2, 3], &data);
        write_outputs(&folder.path(), &value).unwrap();
        assert_eq!(read_inputs(&folder.path(), &[Shape::array(ty, [2, 3])]).unwrap(), [value], "{ty}");
    }
}

/// Checks that a full disk results in the error `StorageFull`, for every write that may fail. The
/// crate zip must not fail in another way.
#[test]
fn a_full_disk_is_told_wherever_it_is_full() {
    struct Full {
        file: std::io::Cursor<Vec<u8>>,
        room: usize,
    }
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if self.file.position() as usize + bytes.len() > self.room {
                return Err(std::io::ErrorKind::StorageFull.into());
            }
            self.file.write(bytes)
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    impl Seek for Full {
        fn seek(&mut self, to: std::io::SeekFrom) -> std::io::Result<u64> {
            self.file.seek(to)
        }
    }
    let two = Literal::Tuple(vec![literal(ElementType::U8, &[100], &[7; 100]); 2]);
    let mut whole = std::io::Cursor::new(Vec::new());
    write_archive(&mut whole, &two).unwrap();
    for room in 0..whole.get_ref().len() {
        let error = std::io::Error::from(write_archive(Full { file: Default::default(), room }, &two).unwrap_err());
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull, "room for {room} bytes: {error}");
    }
}

#[test]
fn tuples_are_flattened_and_put_together_again() {
    let folder = Folder::new();
    let leaf = |x: u8| literal(ElementType::U8, &[], &[x]);
    let nested = Literal::Tuple(vec![leaf(1), Literal::Tuple(vec![leaf(2), Literal::Token]), Literal::Tuple(vec![])]);
    let both = Literal::Tuple(vec![nested.clone(), leaf(3)]);
    write_outputs(&folder.path(), &both).unwrap();
    let read = read_inputs(&folder.path(), &[nested.shape(), Shape::array(ElementType::U8, [])]).unwrap();
    assert_eq!(read, [nested, leaf(3)]);
}

#[test]
fn nothing_is_an_empty_file() {
    let folder = Folder::new();
    write_outputs(&folder.path(), &Literal::Tuple(vec![])).unwrap();
    assert_eq!(read_inputs(&folder.path(), &[]).unwrap(), []);
}

#[test]
fn compressed_and_column_major_members_are_read() {
    let folder = Folder::new();
    // The array [[1, 2, 3], [4, 5, 6]] in column-major order.
    let member = array("<u2", "True", "(2, 3)", &[1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6, 0]);
    let path = folder.file(&[member], CompressionMethod::Deflated);
    let wanted = literal(ElementType::U16, &[2, 3], &[1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]);
    assert_eq!(read_inputs(&path, &[Shape::array(ElementType::U16, [2, 3])]).unwrap(), [wanted]);
}

#[test]
fn bytes_are_brought_into_the_form_of_literals() {
    let read = |ty, bytes: &[u8]| read_one(array("|V1", "False", "(3,)", bytes), Shape::array(ty, [3])).unwrap();
    assert_eq!(read(ElementType::S4, &[0x0f, 0xff, 7]), literal(ElementType::S4, &[3], &[0xff, 0xff, 7]));
    assert_eq!(read(ElementType::U4, &[0x1f, 0xff, 7]), literal(ElementType::U4, &[3], &[15, 15, 7]));
    let truth = read_one(array("|b1", "False", "(2,)", &[0, 2]), Shape::array(ElementType::Pred, [2])).unwrap();
    assert_eq!(truth, literal(ElementType::Pred, &[2], &[0, 1]));
}

#[test]
fn a_dynamic_dimension_may_be_smaller() {
    let mut shape = ArrayShape::new(ElementType::U8, [2, 3]);
    shape.set_dynamic(1);
    let read = |dims: &str, bytes: &[u8]| read_one(array("|u1", "False", dims, bytes), Shape::Array(shape.clone()));
    assert_eq!(read("(2,3)", &[1, 2, 3, 4, 5, 6]).unwrap(), literal(ElementType::U8, &[2, 3], &[1, 2, 3, 4, 5, 6]));
    assert_eq!(read("(2,1)", &[1, 2]).unwrap(), literal(ElementType::U8, &[2, 1], &[1, 2]));
    assert_eq!(read("(2,0)", &[]).unwrap(), literal(ElementType::U8, &[2, 0], &[]));
    for (dims, bytes) in [("(2,4)", &[0; 8][..]), ("(1,3)", &[0; 3])] {
        let fault = read(dims, bytes).unwrap_err().to_string();
        assert!(fault.contains("needs shape [2, <=3]"), "{fault}");
    }
}

#[test]
fn wrong_types_and_shapes_are_named() {
    let shape = || Shape::array(ElementType::F32, [2]);
    let fault = |member| read_one(member, shape()).unwrap_err();
    let big = fault(array(">f4", "False", "(2,)", &[0; 8]));
    assert!(matches!(&big, NpzFault::Type { .. }) && big.to_string().contains("little-endian"), "{big}");
    assert!(matches!(fault(array("<f8", "False", "(2,)", &[0; 16])), NpzFault::Type { .. }));
    assert!(matches!(fault(array("<i4", "False", "(2,)", &[0; 8])), NpzFault::Type { .. }));
    assert!(matches!(fault(array("|O", "False", "(2,)", &[0; 8])), NpzFault::Type { .. }));
    assert!(matches!(fault(array("<f4", "False", "(3,)", &[0; 12])), NpzFault::Dimensions { .. }));
    assert!(matches!(fault(array("<f4", "False", "()", &[0; 4])), NpzFault::Dimensions { .. }));
    let huge = fault(array("<f4", "False", "(18446744073709551615,)", &[0; 4]));
    assert!(matches!(huge, NpzFault::Dimensions { .. }));
    let raw = read_one(array("<u2", "False", "(1,)", &[0; 2]), Shape::array(ElementType::BF16, [1])).unwrap_err();
    assert!(raw.to_string().contains("V2"), "{raw}");
}

#[test]
fn missing_and_surplus_data_are_noticed() {
    let shape = || Shape::array(ElementType::F32, [2]);
    let short = read_one(array("<f4", "False", "(2,)", &[0; 7]), shape()).unwrap_err();
    assert!(matches!(short, NpzFault::Truncated { found: 7, wanted: 8 }), "{short}");
    assert!(matches!(read_one(array("<f4", "False", "(2,)", &[0; 9]), shape()), Err(NpzFault::TooLong { wanted: 8 })));
}

#[test]
fn absurd_sizes_cost_no_memory() {
    // Module and file both state a size of 2^62 bytes, but the file has only four bytes of data.
    let member = array("<f4", "False", "(1152921504606846976,)", &[0; 4]);
    let fault = read_one(member, Shape::array(ElementType::F32, [1 << 60])).unwrap_err();
    assert!(matches!(fault, NpzFault::Truncated { found: 4, .. }), "{fault}");
    let fault =
        read_one(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{".to_vec(), Shape::array(ElementType::F32, [1])).unwrap_err();
    assert!(matches!(fault, NpzFault::Header(_)), "{fault}");
}

#[test]
fn the_number_and_names_of_arrays_must_fit() {
    let folder = Folder::new();
    let member = array("|u1", "False", "()", &[1]);
    let path = folder.file(&[member.clone(), member.clone()], CompressionMethod::Stored);
    let shape = Shape::array(ElementType::U8, []);
    let fault = |shapes: &[Shape]| read_inputs(&path, shapes).unwrap_err().fault;
    assert!(matches!(*fault(&[]), NpzFault::Count { found: 2, wanted: 0 }));
    assert!(matches!(*fault(&[shape.clone(), shape.clone(), shape.clone()]), NpzFault::Count { found: 2, wanted: 3 }));
    let mut archive = ZipWriter::new(std::fs::File::create(folder.path()).unwrap());
    archive.start_file("weights.npy", SimpleFileOptions::default()).unwrap();
    archive.write_all(&member).unwrap();
    archive.finish().unwrap();
    let fault = read_inputs(&folder.path(), &[shape]).unwrap_err();
    assert!(matches!(*fault.fault, NpzFault::Missing { number: 0, wanted: 1 }), "{fault}");
}

#[test]
fn damaged_headers_are_errors() {
    let shape = || Shape::array(ElementType::U8, [1]);
    for dict in [
        "",
        "{",
        "{'descr': '|u1'}",
        "{'descr': '|u1', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1",
        "{'descr': [('a', '|u1')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '|u1, 'fortran_order': False, 'shape': (1,)}",
        "{'colour': 'red'}",
    ] {
        let fault = read_one([header(dict), vec![1]].concat(), shape()).unwrap_err();
        assert!(matches!(fault, NpzFault::Header(_)), "{dict}: {fault}");
    }
    assert!(matches!(read_one(vec![], shape()), Err(NpzFault::Header(_))));
    assert!(matches!(read_one(b"not an array".to_vec(), shape()), Err(NpzFault::Header(_))));
    assert!(matches!(read_one(b"\x93NUMPY\x09\x00".to_vec(), shape()), Err(NpzFault::Header(_))));
}

#[test]
fn broken_containers_are_errors_wherever_they_break() {
    let folder = Folder::new();
    let shape = Shape::array(ElementType::F32, [8]);
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        let data: Vec<u8> = (0..32).collect();
        let path = folder.file(&[array("<f4", "False", "(8,)", &data)], method);
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(read_inputs(&path, std::slice::from_ref(&shape)).is_err(), "cut at {length}");
        }
        // Invert each byte of the file in turn. The reader may accept the file if the byte does not
        // matter, but must never panic.
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            std::fs::write(&path, &damaged).unwrap();
            let _ = read_inputs(&path, std::slice::from_ref(&shape));
        }
    }
    let error = read_inputs(&folder.0.path().join("absent.npz"), &[shape]).unwrap_err();
    assert!(matches!(*error.fault, NpzFault::Read(_)) && error.to_string().contains("absent.npz"));
}
