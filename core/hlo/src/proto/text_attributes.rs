//! Converts attributes that fusebox keeps as text to and from the fields of messages.

use super::sharding::{integers, iota, iota_text};
use crate::message::data;
use crate::message::{Instruction, TextAttribute, TextAttributes};
use crate::text::extra::fields;
use crate::text::lexer::Cursor;
use crate::text::pieces::{braced, joined, quoted};
use crate::{Extra, Op, Opcode};

/// Names of the API versions in HLO text. The index of a name in the list is XLA's number for this
/// name.
pub(super) const API_VERSIONS: &[&str] = &[
    "API_VERSION_UNSPECIFIED",
    "",
    "API_VERSION_STATUS_RETURNING",
    "API_VERSION_STATUS_RETURNING_UNIFIED",
    "API_VERSION_TYPED_FFI",
];

/// Names of the algorithms of a dot in HLO text. The index of a name in the list is XLA's number
/// for this name.
const ALGORITHMS: &[&str] = &[
    "",
    "dot_any_f8_any_f8_f32",
    "dot_any_f8_any_f8_f32_fast_accum",
    "dot_f16_f16_f16",
    "dot_f16_f16_f32",
    "dot_bf16_bf16_bf16",
    "dot_bf16_bf16_f32",
    "dot_bf16_bf16_f32_x3",
    "dot_bf16_bf16_f32_x6",
    "dot_tf32_tf32_f32",
    "dot_tf32_tf32_f32_x3",
    "dot_f32_f32_f32",
    "dot_f64_f64_f64",
    "dot_bf16_bf16_f32_x9",
];

/// Names of the precisions in HLO text. The index of a name in the list is XLA's number for this
/// name.
const PRECISIONS: &[&str] = &["default", "high", "highest"];

fn name_of(names: &[&str], number: i32) -> String {
    usize::try_from(number).ok().and_then(|number| names.get(number)).copied().unwrap_or_default().to_owned()
}

pub(super) fn api_version_name(number: i32) -> String {
    // A field that was not written contains zero. The call then uses the original version.
    if number == 0 { String::new() } else { name_of(API_VERSIONS, number) }
}

pub(super) fn algorithm_number(name: &str) -> i32 {
    ALGORITHMS.iter().position(|known| *known == name).unwrap_or(0) as i32
}

pub(super) fn algorithm_name(number: i32) -> String {
    name_of(ALGORITHMS, number)
}

/// Reads `{{0}: (1, {})}`.
pub(super) fn parse_aliasing(text: &str) -> Option<Vec<data::OutputOperandAliasing>> {
    let mut cursor = Cursor::new(text);
    cursor.eat(b'{').then_some(())?;
    let entry = |cursor: &mut Cursor| {
        let output_shape_index = cursor.integers("an index")?;
        cursor.expect(b':', "")?;
        cursor.expect(b'(', "")?;
        let operand_index = cursor.integer("an operand")?;
        cursor.expect(b',', "")?;
        let operand_shape_index = cursor.integers("an index")?;
        cursor.expect(b')', "")?;
        Ok(data::OutputOperandAliasing { output_shape_index, operand_index, operand_shape_index })
    };
    let entries = cursor.list(b'}', entry).ok()?;
    cursor.is_done().then_some(entries)
}

pub(super) fn aliasing_text(entries: &[data::OutputOperandAliasing]) -> String {
    if entries.is_empty() {
        return String::new();
    }
    let entry = |entry: &data::OutputOperandAliasing| {
        let (output, inner) = (braced(&entry.output_shape_index), braced(&entry.operand_shape_index));
        format!("{output}: ({}, {inner})", entry.operand_index)
    };
    format!("{{{}}}", joined(entries.iter().map(entry), ", "))
}

/// Parses the text of one attribute and sets the message's fields for this attribute, if messages
/// have fields for it.
pub(super) fn write_attribute(message: &mut Instruction, name: &str, text: &str) {
    let mut cursor = Cursor::new(text);
    let number = || text.parse::<i64>().unwrap_or_default();
    match name {
        "operand_precision" => {
            let precision = |word: &str| PRECISIONS.iter().position(|known| *known == word.trim()).unwrap_or(0) as i32;
            let list = text.trim_start_matches('{').trim_end_matches('}');
            message.precision_config.get_or_insert_default().operand_precision =
                list.split(',').map(precision).collect();
        }
        "output_to_operand_aliasing" => message.output_operand_aliasing = parse_aliasing(text).unwrap_or_default(),
        "channel_id" => message.channel_id = number(),
        "dimensions" => message.dimensions = cursor.integers("a dimension").unwrap_or_default(),
        "use_global_device_ids" => message.use_global_device_ids = text == "true",
        "constrain_layout" => message.constrain_layout = text == "true",
        "is_host_transfer" => message.is_host_transfer = text == "true",
        "is_composite" => message.is_composite = text == "true",
        "async_execution_thread" => {
            message.async_execution_thread = cursor.string("a thread").unwrap_or_default();
        }
        "infeed_config" => message.infeed_config = cursor.string("a text").unwrap_or_default().into_bytes(),
        "outfeed_config" => message.outfeed_config = cursor.string("a text").unwrap_or_default().into_bytes(),
        "cross_program_prefetch_index" => message.cross_program_prefetch_index = text.parse().ok(),
        "source_target_pairs" => {
            let pair = |pair: Vec<i64>| match pair[..] {
                [source, target] => Some(data::SourceTarget { source, target }),
                _ => None,
            };
            message.source_target_pairs = groups(text).into_iter().flatten().filter_map(pair).collect();
        }
        "replica_groups" => write_replica_groups(message, text),
        "result_accuracy" => message.result_accuracy = parse_accuracy(text),
        _ => {}
    }
}

/// Reads `{mode=highest}` or `{tolerance={atol=0.5,rtol=0.25,ulps=2}}`.
fn parse_accuracy(text: &str) -> Option<data::ResultAccuracy> {
    let mut accuracy = data::ResultAccuracy::default();
    for field in fields(&mut Cursor::new(text)).ok()? {
        match (field.name, field.raw().as_str()) {
            ("mode", "default") => accuracy.mode = Some(0),
            ("mode", "highest") => accuracy.mode = Some(1),
            ("tolerance", text) => accuracy.tolerance = Some(parse_tolerance(text)?),
            _ => return None,
        }
    }
    Some(accuracy)
}

fn parse_tolerance(text: &str) -> Option<data::Tolerance> {
    let mut tolerance = data::Tolerance::default();
    for field in fields(&mut Cursor::new(text)).ok()? {
        let value = field.raw();
        match field.name {
            "atol" => tolerance.atol = value.parse().ok()?,
            "rtol" => tolerance.rtol = value.parse().ok()?,
            "ulps" => tolerance.ulps = value.parse().ok()?,
            _ => return None,
        }
    }
    Some(tolerance)
}

fn accuracy_text(accuracy: &data::ResultAccuracy) -> Option<String> {
    match (&accuracy.tolerance, accuracy.mode) {
        (Some(data::Tolerance { atol, rtol, ulps }), _) => {
            Some(format!("{{tolerance={{atol={atol},rtol={rtol},ulps={ulps}}}}}"))
        }
        (None, Some(1)) => Some("{mode=highest}".to_owned()),
        _ => None,
    }
}

/// Reads `{{0,1},{2,3}}`.
fn groups(text: &str) -> Option<Vec<Vec<i64>>> {
    let mut cursor = Cursor::new(text);
    cursor.eat(b'{').then_some(())?;
    let groups = cursor.list(b'}', |cursor| cursor.integers("a device")).ok()?;
    cursor.is_done().then_some(groups)
}

fn write_replica_groups(message: &mut Instruction, text: &str) {
    if let Some(groups) = groups(text) {
        message.replica_groups = groups.into_iter().map(|replica_ids| data::ReplicaGroup { replica_ids }).collect();
    } else {
        message.iota_collective_device_list = iota_groups(text);
    }
}

/// Reads `[2,4]<=[8]T(1,0)`.
fn iota_groups(text: &str) -> Option<data::IotaReplicaGroups> {
    let mut cursor = Cursor::new(text);
    cursor.eat(b'[').then_some(())?;
    let sizes = integers(&mut cursor, b']')?;
    let &[num_replica_groups, num_devices_per_group] = &sizes[..] else { return None };
    let (iota_reshape_dims, iota_transpose_perm) = iota(&mut cursor)?;
    Some(data::IotaReplicaGroups { num_replica_groups, num_devices_per_group, iota_reshape_dims, iota_transpose_perm })
}

fn replica_groups_text(message: &Instruction) -> Option<String> {
    let lists = message.collective_device_list.iter().flat_map(|list| &list.replica_groups);
    let groups = joined(message.replica_groups.iter().chain(lists).map(|group| braced(&group.replica_ids)), ",");
    if !groups.is_empty() {
        return Some(format!("{{{groups}}}"));
    }
    let iota = message.iota_collective_device_list.as_ref()?;
    let numbers = iota_text(&iota.iota_reshape_dims, &iota.iota_transpose_perm);
    Some(format!("[{},{}]{numbers}", iota.num_replica_groups, iota.num_devices_per_group))
}

/// Returns the attributes of an operation that fusebox stores as `Op::Other`. This variant keeps
/// attributes verbatim.
pub(super) fn other_attributes(message: &Instruction) -> Vec<(String, String)> {
    let mut list: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: Option<String>| list.extend(value.map(|value| (name.to_owned(), value)));
    let quoted = |bytes: &[u8]| (!bytes.is_empty()).then(|| quoted(&String::from_utf8_lossy(bytes)));
    add("channel_id", (message.channel_id > 0).then(|| message.channel_id.to_string()));
    add("replica_groups", replica_groups_text(message));
    let pair = |pair: &data::SourceTarget| format!("{{{},{}}}", pair.source, pair.target);
    let pairs = joined(message.source_target_pairs.iter().map(pair), ",");
    add("source_target_pairs", (!pairs.is_empty()).then(|| format!("{{{pairs}}}")));
    for (name, flag) in [
        ("use_global_device_ids", message.use_global_device_ids),
        ("constrain_layout", message.constrain_layout),
        ("is_host_transfer", message.is_host_transfer),
    ] {
        add(name, flag.then(|| "true".to_owned()));
    }
    add("dimensions", (!message.dimensions.is_empty()).then(|| braced(&message.dimensions)));
    add("infeed_config", quoted(&message.infeed_config));
    add("outfeed_config", quoted(&message.outfeed_config));
    add("async_execution_thread", quoted(message.async_execution_thread.as_bytes()));
    add("cross_program_prefetch_index", message.cross_program_prefetch_index.map(|index| index.to_string()));
    list
}

/// For an operation that fusebox does not store as `Op::Other`, returns the attributes that the
/// operation's `Op` does not contain.
pub(super) fn kept_attributes(message: &Instruction, opcode: Opcode) -> Vec<(String, String)> {
    let mut list = Vec::new();
    let precisions = message.precision_config.as_ref().map_or(&[][..], |config| &config.operand_precision);
    if precisions.iter().any(|&precision| precision != 0) {
        let names = joined(precisions.iter().map(|&precision| name_of(PRECISIONS, precision)), ",");
        list.push(("operand_precision".to_owned(), format!("{{{names}}}")));
    }
    if let Some(text) = message.result_accuracy.as_ref().and_then(accuracy_text) {
        list.push(("result_accuracy".to_owned(), text));
    }
    if matches!(opcode, Opcode::Fusion | Opcode::Call) && !message.output_operand_aliasing.is_empty() {
        list.push(("output_to_operand_aliasing".to_owned(), aliasing_text(&message.output_operand_aliasing)));
    }
    if message.is_composite {
        list.push(("is_composite".to_owned(), "true".to_owned()));
    }
    list
}

/// Returns all attributes that fusebox keeps as text for an instruction.
pub(super) fn all_text(op: &Op, extra: Option<&Extra>) -> TextAttributes {
    let mut list = Vec::new();
    let mut add = |name: String, value: &str| list.push(TextAttribute { name, value: value.to_owned() });
    match op {
        Op::Other { called, attributes, .. } => {
            for (name, ids) in called {
                add(format!("called.{name}"), &ids.len().to_string());
            }
            attributes.iter().for_each(|(name, value)| add(format!("op.{name}"), value));
        }
        Op::CustomCall(attrs) => {
            add("op.api_version".to_owned(), &attrs.api_version);
            add("op.output_to_operand_aliasing".to_owned(), &attrs.output_to_operand_aliasing);
        }
        Op::Dot(dims) | Op::ScaledDot(dims) | Op::RaggedDot { dims, .. } => {
            add("op.algorithm".to_owned(), &dims.algorithm);
        }
        _ => {}
    }
    if let Some(extra) = extra {
        extra.other.iter().for_each(|(name, value)| add(format!("other.{name}"), value));
        extra.sharding.iter().for_each(|value| add("sharding".to_owned(), value));
        let fields = extra.metadata.iter().flat_map(|metadata| &metadata.other);
        fields.for_each(|(name, value)| add(format!("metadata.{name}"), value));
    }
    TextAttributes { list }
}

/// Restores the text attributes of an instruction. The text attributes replace the values that were
/// decoded from the instruction's fields.
pub(super) fn apply_text(text: &TextAttributes, op: &mut Op, extra: &mut Extra) {
    if let Op::Other { called, attributes, .. } = op {
        attributes.clear();
        let mut ids = called.drain(..).flat_map(|(_, ids)| ids).collect::<Vec<_>>().into_iter();
        for TextAttribute { name, value } in &text.list {
            if let Some(name) = name.strip_prefix("called.") {
                let count = value.parse().unwrap_or(0);
                called.push((name.to_owned(), ids.by_ref().take(count).collect()));
            }
        }
    }
    extra.other.clear();
    extra.sharding = None;
    extra.metadata.iter_mut().for_each(|metadata| metadata.other.clear());
    for TextAttribute { name, value } in &text.list {
        let (kind, name) = name.split_once('.').unwrap_or((name, ""));
        match kind {
            "op" => apply_op_text(op, name, value),
            "other" => extra.other.push((name.to_owned(), value.clone())),
            "sharding" => extra.sharding = Some(value.clone()),
            "metadata" => {
                extra.metadata.get_or_insert_default().other.push((name.to_owned(), value.clone()));
            }
            _ => {}
        }
    }
}

fn apply_op_text(op: &mut Op, name: &str, value: &str) {
    match (op, name) {
        (Op::Other { attributes, .. }, _) => attributes.push((name.to_owned(), value.to_owned())),
        (Op::CustomCall(attrs), "api_version") => attrs.api_version = value.to_owned(),
        (Op::CustomCall(attrs), "output_to_operand_aliasing") => attrs.output_to_operand_aliasing = value.to_owned(),
        (Op::Dot(dims) | Op::ScaledDot(dims) | Op::RaggedDot { dims, .. }, "algorithm") => {
            dims.algorithm = value.to_owned();
        }
        _ => {}
    }
}
