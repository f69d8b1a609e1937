//! `fusebox.profile`: measures each step of all executions for some time.

use fusebox_workshop::{page, profile};
use serde_json::{Value, json};

use super::interface::{Request, text};
use crate::error::Answer;
use crate::recorder;

pub fn begin(_: &Request<'_>) -> Answer<Value> {
    recorder::begin()?;
    Ok(Value::Null)
}

pub fn end(_: &Request<'_>) -> Answer<Value> {
    let profile = recorder::end()?.profile();
    Ok(json!({
        "text": text(|out| profile::write(out, &profile))?,
        "html": page::of_profile("Profile", &profile),
        // The caller writes this text to a file as it is.
        "trace": profile::trace("fusebox", &profile).to_string(),
        "profile": profile,
    }))
}
