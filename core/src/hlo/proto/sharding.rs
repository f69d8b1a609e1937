//! Sharding, between its text and its message.

use super::data;
use crate::hlo::text::lexer::Cursor;

const REPLICATED: i32 = 0;
const MAXIMAL: i32 = 1;
const TUPLE: i32 = 2;
const OTHER: i32 = 3;
const MANUAL: i32 = 4;
const UNKNOWN: i32 = 5;
const UNREDUCED: i32 = 6;

/// Kinds that are a word.
const WORDS: &[(&str, i32)] =
    &[("replicated", REPLICATED), ("manual", MANUAL), ("unknown", UNKNOWN), ("unreduced", UNREDUCED)];

/// The message of a sharding's text, if it is one of the forms messages have fields for.
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

/// `[2,1]0,1` or `[2,1]<=[2]` or `[2,4]<=[2,4]T(1,0)`, then what the last dimensions are.
fn tiles(cursor: &mut Cursor, result: &mut data::Sharding) -> Option<()> {
    let integers = |cursor: &mut Cursor, close| cursor.list(close, |cursor| cursor.integer("a number")).ok();
    cursor.eat(b'[').then_some(())?;
    result.tile_assignment_dimensions = integers(cursor, b']')?;
    if cursor.eat_symbol("<=[") {
        result.iota_reshape_dims = integers(cursor, b']')?;
        result.iota_transpose_perm = match cursor.eat_symbol("T(") {
            true => integers(cursor, b')')?.into_iter().map(|dim| dim as i32).collect(),
            false => (0..result.iota_reshape_dims.len() as i32).collect(),
        };
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

/// The text of a sharding's message.
pub(super) fn sharding_text(sharding: &data::Sharding) -> String {
    let joined = |numbers: &[i64]| numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    let content = match sharding.kind {
        MAXIMAL => format!("maximal device={}", sharding.tile_assignment_devices.first().unwrap_or(&0)),
        TUPLE => sharding.tuple_shardings.iter().map(sharding_text).collect::<Vec<_>>().join(", "),
        OTHER => {
            let mut text = format!("devices=[{}]", joined(&sharding.tile_assignment_dimensions));
            if sharding.iota_reshape_dims.is_empty() {
                text += &joined(&sharding.tile_assignment_devices);
            } else {
                text += &format!("<=[{}]", joined(&sharding.iota_reshape_dims));
                let permutation: Vec<i64> = sharding.iota_transpose_perm.iter().map(|&dim| dim.into()).collect();
                if !permutation.is_sorted() {
                    text += &format!("T({})", joined(&permutation));
                }
            }
            if sharding.replicate_on_last_tile_dim {
                text += " last_tile_dim_replicate";
            }
            if !sharding.last_tile_dims.is_empty() {
                let names: Vec<&str> = sharding.last_tile_dims.iter().map(|&kind| word(kind)).collect();
                text += &format!(" last_tile_dims={{{}}}", names.join(", "));
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
