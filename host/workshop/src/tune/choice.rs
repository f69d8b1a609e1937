//! Choices of emitters and cuts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::question::Question;

/// The choice of an emitter for a fusion, or the choice of a cut for a region.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredChoice {
    /// Name of the fusion in the tuned program, or name of the region's anchor.
    pub fusion: String,
    /// SPEC of the emitter with version and knobs, or name of the cut.
    pub spec: String,
    /// The choice without tuning, in the same form as `spec`.
    pub instead_of: String,
}

/// The choices for each device and question.
pub type Choices = BTreeMap<String, BTreeMap<Question, StoredChoice>>;
