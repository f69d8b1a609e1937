//! Converts measured runs to a trace in Chrome's JSON format, which Perfetto (ui.perfetto.dev)
//! opens.

use serde_json::{Value, json};

use super::report::{Execution, Profile, Slice};

/// Returns the steps of a profile as events. In the profile of one run, the steps are adjacent: the
/// waiting time between two steps is omitted.
pub fn trace(program: &str, profile: &Profile) -> Value {
    let mut events = vec![
        json!({"ph": "M", "name": "process_name", "pid": 1, "tid": 1, "args": {"name": program}}),
        json!({"ph": "M", "name": "thread_name", "pid": 1, "tid": 1, "args": {"name": "steps"}}),
    ];
    // Perfetto draws the steps of a run below the run, because they are within its time.
    for Execution { program, begin_us, us } in &profile.executions {
        events.push(json!({"ph": "X", "name": program, "cat": "run", "pid": 1, "tid": 1, "ts": begin_us, "dur": us}));
    }
    for &Slice { row, begin_us, us } in &profile.steps {
        let row = &profile.rows[row];
        let mut event = json!({
            "ph": "X", "name": row.name, "cat": row.by, "pid": 1, "tid": 1, "ts": begin_us, "dur": us,
            "args": {"by": row.by, "bytes": row.work.bytes, "share of the roof": row.of_roof}
        });
        if !row.lines.is_empty() {
            event["args"]["line"] = row.lines.to_string().into();
        }
        events.push(event);
    }
    json!({"traceEvents": events, "displayTimeUnit": "ns"})
}
