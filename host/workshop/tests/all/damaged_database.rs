//! Checks a tuning database that another program has changed. Fusebox must always report the
//! database as damaged, whatever the database library does.

use std::path::Path;

use fusebox_core::random::SplitMix64;
use fusebox_workshop::tune::{Choices, Database, DatabaseError, StoredChoice};

const DEVICE: &str = "cpu: 2 threads, 01234567";

fn choices(count: u32) -> Choices {
    let chosen = StoredChoice {
        fusion: "fused_transpose_of_a_long_name".into(),
        spec: "tiled-transpose@0.3.0{edge=64}".into(),
        instead_of: "vector-loop@0.1.0".into(),
    };
    let question = |number: u32| (format!("{number:032x}").parse().unwrap(), chosen.clone());
    Choices::from([(DEVICE.to_owned(), (0..count).map(question).collect())])
}

/// Opens and reads the file in both ways. Returns the result or the error of each way.
fn outcomes(path: &Path, bytes: &[u8]) -> [Result<usize, DatabaseError>; 2] {
    let read = |open: fn(&Path) -> Result<Database, DatabaseError>| {
        std::fs::write(path, bytes).unwrap();
        let database = open(path)?;
        database.import(&choices(1))?;
        let known = |(question, _): &(_, _)| database.find(DEVICE, *question).map(|found| usize::from(found.is_some()));
        choices(300)[DEVICE].clone().into_iter().map(|it| known(&it)).sum()
    };
    [read(Database::copy), read(Database::open)]
}

#[test]
fn a_damaged_file_is_an_error_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.redb");
    Database::open(&path).unwrap().import(&choices(300)).unwrap();
    let whole = std::fs::read(&path).unwrap();
    assert!(outcomes(&path, &whole).into_iter().all(|it| it.unwrap() == 300));
    let mut random = SplitMix64(7);
    let mut below = |most: usize| (random.bits() % most as u64) as usize;
    let (mut told, mut kept) = (0, 0);
    for number in 0..120 {
        let mut bytes = whole.clone();
        let at = below(bytes.len());
        match number % 4 {
            // Flip a bit, fill a page with zeros, overwrite a page with another page, or truncate
            // the file.
            0 => bytes[at] ^= 1 << below(8),
            1 => bytes[at & !0xfff..][..0x1000].fill(0),
            2 => {
                let (from, to) = (at & !0xfff, below(bytes.len()) & !0xfff);
                bytes.copy_within(from..from + 0x1000, to);
            }
            _ => bytes.truncate(at),
        }
        for outcome in outcomes(&path, &bytes) {
            match outcome {
                Ok(_) => kept += 1,
                Err(error) => {
                    let words = error.to_string();
                    assert!(words.contains(path.to_str().unwrap()) && words.contains("--no-tuned"), "{words}");
                    told += usize::from(matches!(error, DatabaseError::Damaged { .. }));
                }
            }
        }
    }
    assert!(told > 20 && kept > 20, "{told} told as damaged, {kept} still read");
}
