//! Converts a measured run to a trace in Chrome's JSON format, which Perfetto (ui.perfetto.dev)
//! opens.

use serde_json::{Value, json};

use super::Profile;

/// Returns the steps of one run as adjacent events. Omits the waiting time between two steps.
pub fn trace(program: &str, profile: &Profile) -> Value {
    let mut now = 0.0;
    let mut events = vec![
        json!({"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {"name": program}}),
        json!({"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "steps"}}),
    ];
    for &(row, us) in &profile.steps {
        let row = &profile.rows[row];
        events.push(json!({
            "ph": "X", "name": row.name, "cat": row.by, "pid": 1, "tid": 1, "ts": now, "dur": us,
            "args": {"by": row.by, "bytes": row.work.bytes, "share of the roof": row.of_roof}
        }));
        now += us;
    }
    json!({"traceEvents": events, "displayTimeUnit": "ns"})
}
