//! Converts sharding to and from messages.

use crate::message::data;
use crate::text::lexer::Cursor;
use crate::text::pieces::joined;

const REPLICATED: i32 = 0;
const MAXIMAL: i32 = 1;
const TUPLE: i32 = 2;
const OTHER: i32 = 3;
const MANUAL: i32 = 4;
const UNKNOWN: i32 = 5;
const UNREDUCED: i32 = 6;

/// Kinds of sharding that text writes as one word, with their numbers in messages.
const WORDS: &[(&str, i32)] =
    &[("replicated", REPLICATED), ("manual", MANUAL), ("unknown", UNKNOWN), ("unreduced", UNREDUCED)];

/// Parses a sharding's text. Returns `None` if messages cannot represent the sharding.
pub(super) fn parse_sharding(text: &str) -> Option<data::Sharding> {
    let mut cursor = Cursor::new(text);
    let sharding = sharding(&mut cursor, 0)?;
    cursor.is_done().then_some(sharding)
}

fn sharding(cursor: &mut Cursor, depth: usize) -> Option<data::Sharding> {
    cursor.eat(b'{').then_some(())?;
    if cursor.peek() == Some(b'{') && depth == 0 {
        let elements = cursor.list(b'}', |cursor| sharding(cursor, 1).ok_or_else(|| cursor.unexpected("a sharding")));
        return Some(data::Sharding { kind: TUPLE, tuple_shardings: elements.ok()?, ..Default::default() });
    }
    let mut result = data::Sharding::default();
    let word = cursor.word()?;
    match word {
        "maximal" => {
            result.kind = MAXIMAL;
            (cursor.eat_word("device") && cursor.eat(b'=')).then_some(())?;
            result.tile_assignment_dimensions = vec![1];
            result.tile_assignment_devices = vec![cursor.integer("a device").ok()?];
        }
        "devices" => {
            result.kind = OTHER;
            cursor.eat(b'=').then_some(())?;
            tiles(cursor, &mut result)?;
        }
        _ => result.kind = WORDS.iter().find(|(known, _)| *known == word)?.1,
    }
    cursor.eat(b'}').then_some(result)
}

/// Parses `[2,1]0,1` or `[2,1]<=[2]` or `[2,4]<=[2,4]T(1,0)`, followed by the sharding kinds of the
/// last tile dimensions.
fn tiles(cursor: &mut Cursor, result: &mut data::Sharding) -> Option<()> {
    cursor.eat(b'[').then_some(())?;
    result.tile_assignment_dimensions = integers(cursor, b']')?;
    if cursor.looks_at("<=[") {
        (result.iota_reshape_dims, result.iota_transpose_perm) = iota(cursor)?;
    } else {
        loop {
            result.tile_assignment_devices.push(cursor.integer("a device").ok()?);
            if !cursor.eat(b',') {
                break;
            }
        }
    }
    if cursor.eat_word("last_tile_dim_replicate") {
        result.replicate_on_last_tile_dim = true;
    }
    if cursor.eat_word("last_tile_dims") {
        (cursor.eat(b'=') && cursor.eat(b'{')).then_some(())?;
        let kind = |cursor: &mut Cursor| {
            let word = cursor.expect_word("a kind")?;
            let known = WORDS.iter().find(|(known, _)| *known == word);
            known.map(|&(_, kind)| kind).ok_or_else(|| cursor.unexpected("a kind"))
        };
        result.last_tile_dims = cursor.list(b'}', kind).ok()?;
    }
    Some(())
}

/// Reads numbers up to a closing bracket.
pub(super) fn integers(cursor: &mut Cursor, close: u8) -> Option<Vec<i64>> {
    cursor.list(close, |cursor| cursor.integer("a number")).ok()
}

/// Reads `<=[2,4]T(1,0)`, which describes a transposed array of the numbers 0, 1, 2, …. Returns the
/// array's dimensions before the transposition, and the permutation after `T`.
pub(super) fn iota(cursor: &mut Cursor) -> Option<(Vec<i64>, Vec<i32>)> {
    cursor.eat_symbol("<=[").then_some(())?;
    let dims = integers(cursor, b']')?;
    let order = if cursor.eat_symbol("T(") {
        integers(cursor, b')')?.into_iter().map(|dim| dim as i32).collect()
    } else {
        (0..dims.len() as i32).collect()
    };
    Some((dims, order))
}

/// Returns the text that [`iota`] reads.
pub(super) fn iota_text(dims: &[i64], order: &[i32]) -> String {
    let order = if order.is_sorted() { String::new() } else { format!("T({})", joined(order, ",")) };
    format!("<=[{}]{order}", joined(dims, ","))
}

/// Returns the text of a sharding.
pub(super) fn sharding_text(sharding: &data::Sharding) -> String {
    let content = match sharding.kind {
        MAXIMAL => format!("maximal device={}", sharding.tile_assignment_devices.first().unwrap_or(&0)),
        TUPLE => joined(sharding.tuple_shardings.iter().map(sharding_text), ", "),
        OTHER => {
            let mut text = format!("devices=[{}]", joined(&sharding.tile_assignment_dimensions, ","));
            text += &if sharding.iota_reshape_dims.is_empty() {
                joined(&sharding.tile_assignment_devices, ",")
            } else {
                iota_text(&sharding.iota_reshape_dims, &sharding.iota_transpose_perm)
            };
            if sharding.replicate_on_last_tile_dim {
                text += " last_tile_dim_replicate";
            }
            if !sharding.last_tile_dims.is_empty() {
                let names = joined(sharding.last_tile_dims.iter().map(|&kind| word(kind)), ", ");
                text += &format!(" last_tile_dims={{{names}}}");
            }
            text
        }
        kind => word(kind).to_owned(),
    };
    format!("{{{content}}}")
}

fn word(kind: i32) -> &'static str {
    WORDS.iter().find(|&&(_, known)| known == kind).map_or("unknown", |&(word, _)| word)
}
