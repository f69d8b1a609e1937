//! Mutates bytes and texts.

use crate::random::Random;

/// Changes a few bytes, words, numbers and lines of a text. Bytes are copied from the texts in
/// `pool`. `pieces` are words of the language of the text.
pub fn pieces(random: &mut Random, input: &mut Vec<u8>, pool: &[Vec<u8>], pieces: &[&str]) {
    for _ in 0..=random.below(4) {
        match random.below(8) {
            0..3 => {
                let other = random.pick(pool).map_or(&[][..], Vec::as_slice);
                bytes(random, input, other);
            }
            3..6 => {
                let at = random.below(input.len() + 1);
                let end = (at + random.below(8)).min(input.len());
                let piece = random.pick(pieces).copied().unwrap_or_default();
                input.splice(at..end, piece.bytes());
            }
            6 => change_number(input, random),
            _ => change_lines(input, random),
        }
    }
}

/// Replaces a number at a random position by another number.
fn change_number(input: &mut Vec<u8>, random: &mut Random) {
    let start = random.below(input.len());
    let Some(from) = input[start..].iter().position(u8::is_ascii_digit).map(|at| start + at) else { return };
    let digits = input[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    input.splice(from..from + digits, random.number().to_string().bytes());
}

/// Makes one change: swaps two lines, overwrites a line with another line, duplicates a line, or
/// drops a line.
fn change_lines(input: &mut Vec<u8>, random: &mut Random) {
    let mut lines: Vec<Vec<u8>> = input.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    let (from, to) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(4) {
        0 => lines.swap(from, to),
        1 => lines[from] = lines[to].clone(),
        2 => lines.insert(from, lines[to].clone()),
        _ => drop(lines.remove(from)),
    }
    *input = lines.join(&b'\n');
}

/// Flips, cuts, repeats, overwrites and inserts a few bytes. Inserted bytes may come from `other`.
pub fn bytes(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..=random.below(4) {
        let (at, length) = (random.below(bytes.len()), 1 + random.below(16));
        let end = (at + length).min(bytes.len());
        match random.below(7) {
            _ if bytes.is_empty() => bytes.push(random.bits() as u8),
            0 | 1 => bytes[at] ^= 1 << random.below(8),
            2 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff, b'(', b'"'][random.below(7)],
            3 => bytes.truncate(at),
            4 => drop(bytes.drain(at..end)),
            5 => {
                let copy = bytes[at..end].to_vec();
                let place = random.below(bytes.len());
                bytes.splice(place..place, copy);
            }
            _ => {
                let from = random.below(other.len());
                let part = &other[from..(from + random.below(64)).min(other.len())];
                bytes.splice(at..end, part.iter().copied());
            }
        }
    }
}

/// Changes a few lines, values, operations and words of IR. Lines are copied from the text `other`.
/// `words` are possible replacements.
pub fn ir(random: &mut Random, text: &str, other: &str, words: &[&str]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    // Often make only a single change. A text with a single change more often passes the first
    // checks, and so reaches the last checks.
    for _ in 0..1 + random.below(6) / 4 {
        let (at, to) = (random.below(lines.len()), random.below(lines.len()));
        match random.below(24) {
            _ if lines.is_empty() => lines.push(other.lines().next().unwrap_or_default().to_owned()),
            0 => lines.insert(to, lines[at].clone()),
            1 => drop(lines.remove(at)),
            2 => lines.swap(at, to),
            3 => {
                let count = other.lines().count();
                let line = other.lines().nth(random.below(count)).unwrap_or_default().to_owned();
                lines.insert(at, line);
            }
            4..11 => lines[at] = another_value(random, &lines[at]),
            11..15 => lines[at] = another_operation(random, &lines[at], words),
            15..20 => lines[at] = another_number(random, &lines[at]),
            _ => lines[at] = line(random, &lines[at], &lines[to].clone(), words),
        }
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// Replaces a use of a value by another value. The other value occurs in the same line or has a
/// similar number.
fn another_value(random: &mut Random, line: &str) -> String {
    let parts: Vec<&str> = line.split('%').collect();
    let digits = |part: &str| part.bytes().take_while(u8::is_ascii_digit).count();
    let at = 1 + random.below(parts.len().saturating_sub(1));
    let changed = parts.iter().enumerate().map(|(i, part)| {
        let number = &part[..digits(part)];
        let other = random.pick(&parts[1..]).map_or("", |other| &other[..digits(other)]);
        let near = number
            .parse::<i64>()
            .map_or_else(|_| other.to_owned(), |n| (n - 3 + random.below(5) as i64).max(0).to_string());
        if i == at {
            format!("{}{}", if random.chance(2) { other } else { &near }, &part[number.len()..])
        } else {
            (*part).to_owned()
        }
    });
    changed.collect::<Vec<_>>().join("%")
}

/// Replaces a number by another number. Numbers in names of values, like `%3`, stay unchanged.
fn another_number(random: &mut Random, line: &str) -> String {
    let mut parts = split(line);
    let is_number =
        |at: usize| parts[at].starts_with(|c: char| c.is_ascii_digit()) && (at == 0 || parts[at - 1] != "%");
    let numbers: Vec<usize> = (0..parts.len()).filter(|&at| is_number(at)).collect();
    if let Some(&place) = random.pick(&numbers) {
        parts[place] = random.number().to_string();
    }
    parts.concat()
}

/// Replaces the first operation of a line by another one of the same dialect.
fn another_operation(random: &mut Random, line: &str, words: &[&str]) -> String {
    let Some((before, name, after)) = line.find('"').and_then(|start| {
        let end = start + 1 + line[start + 1..].find('"')? + 1;
        Some((&line[..start], &line[start..end], &line[end..]))
    }) else {
        return line.to_owned();
    };
    let dialect = name.split('.').next().unwrap_or(name);
    let like: Vec<&&str> = words.iter().filter(|word| word.starts_with(dialect)).collect();
    let other = random.pick(&like).map_or(name, |word| word);
    format!("{before}{other}{after}")
}

/// Removes, copies, swaps or replaces a word of a line, or nests it in brackets.
fn line(random: &mut Random, line: &str, other: &str, words: &[&str]) -> String {
    let mut parts = split(line);
    let others = split(other);
    let at = random.below(parts.len());
    let to = random.below(parts.len());
    match random.below(9) {
        _ if parts.is_empty() => {}
        0 => drop(parts.remove(at)),
        1 => parts.insert(to, parts[at].clone()),
        2 => parts.swap(at, to),
        3 => parts[at] = random.pick(&others).cloned().unwrap_or_default(),
        4 | 5 => parts[at] = random.pick(words).map(|word| (*word).to_owned()).unwrap_or_default(),
        6 | 7 => {
            let is_number = |part: &String| part.starts_with(|c: char| c.is_ascii_digit());
            let numbers: Vec<usize> = (0..parts.len()).filter(|&i| is_number(&parts[i])).collect();
            let place = random.pick(&numbers).copied().unwrap_or(at);
            parts[place] = random.number().to_string();
        }
        _ => parts[at] = nested(random, &parts[at]),
    }
    parts.concat()
}

/// Returns a word inside up to 4096 nested brackets, or a word with up to 4096 prefixes.
fn nested(random: &mut Random, word: &str) -> String {
    let depth = 1 << random.below(13);
    let (open, close) =
        [("(", ")"), ("[", "]"), ("{", "}"), ("tensor<", ">"), ("-", ""), ("d0 + ", ""), ("(-", ")")][random.below(7)];
    format!("{}{word}{}", open.repeat(depth), close.repeat(depth))
}

/// Splits a line into words, numbers, and single characters between them.
fn split(line: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut inside = false;
    for c in line.chars() {
        let is_word = c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
        // Dimensions are numbers separated by `x`.
        let digit_after_x = c.is_ascii_digit() && parts.last().is_some_and(|part| part.ends_with('x'));
        match parts.last_mut() {
            Some(part) if is_word && inside && !digit_after_x => part.push(c),
            _ => parts.push(c.into()),
        }
        inside = is_word;
    }
    parts
}
