//! What was chosen and measured, in a file that several processes use at once.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use redb::{Builder, ConcurrencyMode, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition, TableError};
use serde::{Deserialize, Serialize};

use super::lock::Choices;
use super::question::Question;
use crate::statistics::Interval;

/// By device and question: what was chosen, as JSON.
const CHOSEN: TableDefinition<(&str, &str), &str> = TableDefinition::new("chosen-1");
/// By device, question and contender: its place in the fixed order, and its figures as JSON.
const MEASURED: TableDefinition<(&str, &str, &str), (u64, &str)> = TableDefinition::new("measured-1");
/// Memory for pages of the file.
const CACHE_BYTES: usize = 16 << 20;

/// What was chosen for a fusion, or for a region that can be cut in several ways.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chosen {
    /// What the fusion was called where it was tuned, or the instruction around which the region lies.
    pub fusion: String,
    /// Name, version and knobs of the emitter, or the way to cut.
    pub spec: String,
    /// Which it would be untuned.
    pub instead_of: String,
}

/// What is known of a contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Name, version and knobs, or the way to cut.
    pub contender: String,
    /// Microseconds that it is predicted to take; none if it has no program.
    pub predicted_us: Option<f64>,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a contender; times in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// There is nobody else, and nothing was measured.
    Alone,
    /// It has no program, or its result is wrong: why.
    Refused(String),
    /// It left the race.
    Slower { us: f64 },
    /// It is the first that is right: the others were measured against it.
    First { us: f64 },
    /// It came into the final, and took this much of the first's time; and in a whole program, if it was tried in one.
    Final {
        us: f64,
        ratio: Interval,
        #[serde(default)]
        in_program: Option<Interval>,
    },
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {reason}; --no-tuned does without it, and without the file tuning begins anew", path.display())]
pub struct DatabaseError {
    path: PathBuf,
    #[source]
    reason: Box<redb::Error>,
}

/// The file, open.
pub struct Database {
    path: PathBuf,
    file: redb::Database,
}

impl Figures {
    pub(super) fn of(contender: String, predicted_us: f64, outcome: Outcome) -> Figures {
        Figures { contender, predicted_us: predicted_us.is_finite().then_some(predicted_us), outcome }
    }

    /// Microseconds that it took, if it was measured.
    pub fn measured_us(&self) -> Option<f64> {
        match self.outcome {
            Outcome::Alone | Outcome::Refused(_) => None,
            Outcome::Slower { us } | Outcome::First { us } | Outcome::Final { us, .. } => Some(us),
        }
    }
}

impl Database {
    /// Opens a file, or makes it.
    ///
    /// # Errors
    /// If it is something else, or the system refuses.
    pub fn open(path: &Path) -> Result<Database, DatabaseError> {
        let failed = |reason: redb::Error| DatabaseError { path: path.into(), reason: Box::new(reason) };
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.map_err(|error| failed(error.into()))?;
        let file = builder().create(path).map_err(|error| failed(error.into()))?;
        Ok(Database { path: path.into(), file })
    }

    /// What was chosen on a device.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn find(&self, device: &str, question: Question) -> Result<Option<Chosen>, DatabaseError> {
        self.done(self.file.begin_read().map_err(Into::into).and_then(|read| {
            let Some(table) = opened(read.open_table(CHOSEN))? else { return Ok(None) };
            let found = table.get((device, question.to_string().as_str()))?;
            found.map(|text| from_json(text.value())).transpose()
        }))
    }

    /// What was measured on a device, in the fixed order; nothing where the choice was imported.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn figures(&self, device: &str, question: Question) -> Result<Vec<Figures>, DatabaseError> {
        self.done(self.file.begin_read().map_err(Into::into).and_then(|read| {
            let Some(table) = opened(read.open_table(MEASURED))? else { return Ok(Vec::new()) };
            of_question(&table, device, &question.to_string())
        }))
    }

    /// Whether a choice was made among exactly these, or was imported, and stands whoever there is.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn is_about(&self, device: &str, question: Question, names: &[String]) -> Result<bool, DatabaseError> {
        let known = self.figures(device, question)?;
        Ok(known.is_empty() || are_about(&known, names))
    }

    /// Keeps what was found, and gives what is to be gone by: that, or what another process has found meanwhile about the same
    /// contenders, unless that is to be replaced.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep(
        &self,
        device: &str,
        question: Question,
        chosen: &Chosen,
        figures: &[Figures],
        replace: bool,
    ) -> Result<Chosen, DatabaseError> {
        let names: Vec<String> = figures.iter().map(|figures| figures.contender.clone()).collect();
        let key = question.to_string();
        let write = || -> Result<Chosen, redb::Error> {
            let write = self.file.begin_write()?;
            let standing = {
                let mut table = write.open_table(CHOSEN)?;
                let mut measured = write.open_table(MEASURED)?;
                let known: Option<Chosen> =
                    table.get((device, key.as_str()))?.map(|text| from_json(text.value())).transpose()?;
                let before = of_question(&measured, device, &key)?;
                let is_same = are_about(&before, &names);
                match known.filter(|_| is_same && !replace) {
                    Some(known) => known,
                    None => {
                        for figures in &before {
                            measured.remove((device, key.as_str(), figures.contender.as_str()))?;
                        }
                        for (place, figures) in figures.iter().enumerate() {
                            let name = figures.contender.as_str();
                            measured.insert((device, key.as_str(), name), (place as u64, json(figures)?.as_str()))?;
                        }
                        table.insert((device, key.as_str()), json(chosen)?.as_str())?;
                        chosen.clone()
                    }
                }
            };
            write.commit()?;
            Ok(standing)
        };
        self.done(write())
    }

    /// Keeps what others have found; it counts whoever there is.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn import(&self, choices: &Choices) -> Result<(), DatabaseError> {
        for (device, choices) in choices {
            for (question, chosen) in choices {
                self.keep(device, *question, chosen, &[], true)?;
            }
        }
        Ok(())
    }

    fn done<T>(&self, result: Result<T, redb::Error>) -> Result<T, DatabaseError> {
        result.map_err(|reason| DatabaseError { path: self.path.clone(), reason: Box::new(reason) })
    }
}

/// All that was chosen on a device.
///
/// # Errors
/// If the file is something else, or cannot be read.
pub fn all(path: &Path, device: &str) -> Result<Vec<(Question, Chosen)>, DatabaseError> {
    let read = || -> Result<Vec<(Question, Chosen)>, redb::Error> {
        match builder().open_read_only(path) {
            Ok(file) => of_device(&file.begin_read()?, device),
            // One that a process was killed over has to be mended, which only who may write can.
            Err(redb::DatabaseError::RepairAborted) => {
                let file = builder().open(path)?;
                of_device(&file.begin_read()?, device)
            }
            Err(error) => Err(error.into()),
        }
    };
    read().map_err(|reason| DatabaseError { path: path.into(), reason: Box::new(reason) })
}

/// Figures of exactly these contenders.
fn are_about(figures: &[Figures], names: &[String]) -> bool {
    figures.len() == names.len() && figures.iter().all(|figures| names.contains(&figures.contender))
}

/// What a table has of a question, in the fixed order.
fn of_question(
    table: &impl ReadableTable<(&'static str, &'static str, &'static str), (u64, &'static str)>,
    device: &str,
    question: &str,
) -> Result<Vec<Figures>, redb::Error> {
    let mut found = Vec::new();
    for entry in table.range((device, question, "")..)? {
        let (key, value) = entry?;
        if (key.value().0, key.value().1) != (device, question) {
            break;
        }
        let (place, text) = value.value();
        found.push((place, from_json(text)?));
    }
    found.sort_by_key(|(place, _)| *place);
    Ok(found.into_iter().map(|(_, figures)| figures).collect())
}

fn of_device(read: &ReadTransaction, device: &str) -> Result<Vec<(Question, Chosen)>, redb::Error> {
    let Some(table) = opened(read.open_table(CHOSEN))? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in table.range((device, "")..)? {
        let (key, value) = entry?;
        if key.value().0 != device {
            break;
        }
        let question = Question::from_str(key.value().1).map_err(redb::Error::Corrupted)?;
        found.push((question, from_json(value.value())?));
    }
    Ok(found)
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_concurrency_mode(ConcurrencyMode::MultiWriter).set_cache_size(CACHE_BYTES);
    builder
}

/// A table that nobody has written yet is empty.
fn opened<T>(table: Result<T, TableError>) -> Result<Option<T>, redb::Error> {
    match table {
        Ok(table) => Ok(Some(table)),
        Err(TableError::TableDoesNotExist(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn json(value: &impl Serialize) -> Result<String, redb::Error> {
    serde_json::to_string(value).map_err(|error| redb::Error::Corrupted(error.to_string()))
}

fn from_json<T: for<'a> Deserialize<'a>>(text: &str) -> Result<T, redb::Error> {
    serde_json::from_str(text).map_err(|error| redb::Error::Corrupted(error.to_string()))
}
