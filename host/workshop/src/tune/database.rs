//! Stores choices and measurements in a file that several processes use at once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use redb::backends::InMemoryBackend;
use redb::{Builder, ConcurrencyMode, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition, TableError};
use serde::{Deserialize, Serialize};

use super::choice::{Choices, StoredChoice};
use super::question::Question;
use crate::statistics::Interval;

/// Table of choices. The key consists of device and question, the value is the choice as JSON.
const CHOSEN: TableDefinition<(&str, &str), &str> = TableDefinition::new("chosen-1");
/// Table of figures. The key consists of device, question and contender. The value is the
/// contender's position in the fixed order, and its figures as JSON.
const MEASURED: TableDefinition<(&str, &str, &str), (u64, &str)> = TableDefinition::new("measured-1");
/// Number of bytes of memory for cached pages of the file.
const CACHE_BYTES: usize = 16 << 20;

/// Predicted and measured figures of a contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContenderFigures {
    /// Name, version and knobs of an emitter, or name of a cut.
    pub contender: String,
    /// Predicted microseconds; `None` if the contender has no program.
    pub predicted_us: Option<f64>,
    /// Outcome of the contender in the race.
    pub outcome: RaceOutcome,
}

/// Outcome of a contender in the race. Times are in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RaceOutcome {
    /// The question has only this contender, so nothing was measured.
    Alone,
    /// The contender has no program, or the result is wrong. The text states the reason.
    Refused(String),
    /// The contender was eliminated before the final.
    Slower { us: f64 },
    /// The contender is the first one with a right result. The final measured the other contenders
    /// against the first contender.
    First { us: f64 },
    /// The contender reached the final. `ratio` is the contender's time divided by the time of the
    /// first contender. `in_program` is the same ratio, measured in a whole program; `None` if the
    /// contender was not tried in a program.
    Final {
        us: f64,
        ratio: Interval,
        #[serde(default)]
        in_program: Option<Interval>,
    },
}

/// A choice, and the figures of all contenders in the fixed order.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// The choice.
    pub chosen: StoredChoice,
    /// Figures of all contenders. The list is empty if the choice was imported.
    pub figures: Vec<ContenderFigures>,
}

/// The stored decisions that a new decision replaces. If a stored decision was made among other
/// contenders, every new decision replaces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaceable {
    /// Replaces no stored decision that was made among the same contenders.
    None,
    /// Replaces the stored decisions whose winner was measured in isolation, but not yet tried in a
    /// program.
    Untried,
    /// Replaces all stored decisions.
    All,
}

/// The reason why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The content of the file is inconsistent, because another program or a disk error has changed
    /// it.
    #[error("{} is damaged: {reason}; ignore it with --no-tuned, or delete it to start tuning anew", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Description of the inconsistency.
        reason: String,
    },
    /// The file is not a database, or the system refuses access.
    #[error("{}: {reason}; ignore it with --no-tuned, or delete it to start tuning anew", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The reason.
        #[source]
        reason: Box<redb::Error>,
    },
}

/// The database: an open file, or a copy in memory.
pub struct Database {
    path: PathBuf,
    /// The open file; `None` after it is closed.
    file: Option<redb::Database>,
}

impl ContenderFigures {
    pub(super) fn of(contender: String, predicted_us: f64, outcome: RaceOutcome) -> ContenderFigures {
        ContenderFigures { contender, predicted_us: predicted_us.is_finite().then_some(predicted_us), outcome }
    }

    /// Returns the measured microseconds, if there are any.
    pub fn measured_us(&self) -> Option<f64> {
        match self.outcome {
            RaceOutcome::Alone | RaceOutcome::Refused(_) => None,
            RaceOutcome::Slower { us } | RaceOutcome::First { us } | RaceOutcome::Final { us, .. } => Some(us),
        }
    }
}

impl Decision {
    /// Whether the decision was made among exactly these contenders. Returns true for imported
    /// decisions, which are valid for all contenders.
    pub(super) fn is_about(&self, names: &[String]) -> bool {
        let is_among = |figures: &ContenderFigures| names.contains(&figures.contender);
        self.figures.is_empty() || (self.figures.len() == names.len() && self.figures.iter().all(is_among))
    }

    /// Whether the winner was measured in isolation, but not yet tried in a program.
    pub(super) fn is_untried(&self) -> bool {
        let winner = self.figures.iter().find(|figures| figures.contender == self.chosen.spec);
        matches!(winner.map(|it| &it.outcome), Some(RaceOutcome::Final { in_program: None, .. }))
    }

    fn is_replaceable(&self, what: Replaceable) -> bool {
        match what {
            Replaceable::None => false,
            Replaceable::Untried => self.is_untried(),
            Replaceable::All => true,
        }
    }
}

impl DatabaseError {
    fn of(path: &Path, reason: redb::Error) -> DatabaseError {
        let path = path.to_path_buf();
        match reason {
            redb::Error::Corrupted(reason) => DatabaseError::Damaged { path, reason },
            reason => DatabaseError::Unusable { path, reason: Box::new(reason) },
        }
    }
}

impl Database {
    /// Opens or creates a file. Reads the whole file, so that damage is found before the tuning
    /// begins.
    ///
    /// # Errors
    /// If the file is damaged or not a database, or the system refuses access.
    pub fn open(path: &Path) -> Result<Database, DatabaseError> {
        let failed = |reason| DatabaseError::of(path, reason);
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.map_err(|error| failed(error.into()))?;
        let file = contained(|| Ok(builder().create(path)?)).map_err(failed)?;
        let mut database = Database { path: path.into(), file: Some(file) };
        database.check()?;
        Ok(database)
    }

    /// Creates a database in memory. If the file exists, copies its content. The file never
    /// changes.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub fn copy(path: &Path) -> Result<Database, DatabaseError> {
        let failed = |reason| DatabaseError::of(path, reason);
        let memory = contained(|| Ok(Builder::new().create_with_backend(InMemoryBackend::new())?)).map_err(failed)?;
        let copy = Database { path: path.into(), file: Some(memory) };
        if is_there(path) {
            let entries = read_only(path, contents)?;
            copy.done(|file| put(file, &entries))?;
        }
        Ok(copy)
    }

    fn check(&mut self) -> Result<(), DatabaseError> {
        let Database { path, file } = self;
        let sound = contained(|| match file {
            Some(file) => {
                file.check_integrity()?;
                contents(&file.begin_read()?).map(drop)
            }
            None => Ok(()),
        });
        sound.map_err(|reason| DatabaseError::of(path, reason))
    }

    /// Returns the decision on a question for a device.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn find(&self, device: &str, question: Question) -> Result<Option<Decision>, DatabaseError> {
        self.done(|file| {
            let read = file.begin_read()?;
            match (opened(read.open_table(CHOSEN))?, opened(read.open_table(MEASURED))?) {
                (Some(chosen), Some(measured)) => decision(&chosen, &measured, device, &question.to_string()),
                _ => Ok(None),
            }
        })
    }

    /// Stores a decision, unless the file has a decision that the new one may not replace. Returns
    /// the decision that is then stored.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep(
        &self,
        device: &str,
        question: Question,
        found: &Decision,
        replaceable: Replaceable,
    ) -> Result<Decision, DatabaseError> {
        let names: Vec<String> = found.figures.iter().map(|figures| figures.contender.clone()).collect();
        let key = question.to_string();
        self.done(|file| {
            let write = file.begin_write()?;
            let standing = {
                let mut chosen = write.open_table(CHOSEN)?;
                let mut measured = write.open_table(MEASURED)?;
                match decision(&chosen, &measured, device, &key)? {
                    Some(known) if known.is_about(&names) && !known.is_replaceable(replaceable) => known,
                    before => {
                        for figures in before.iter().flat_map(|before| &before.figures) {
                            measured.remove((device, key.as_str(), figures.contender.as_str()))?;
                        }
                        for (place, figures) in found.figures.iter().enumerate() {
                            let name = figures.contender.as_str();
                            measured.insert((device, key.as_str(), name), (place as u64, json(figures)?.as_str()))?;
                        }
                        chosen.insert((device, key.as_str()), json(&found.chosen)?.as_str())?;
                        found.clone()
                    }
                }
            };
            write.commit()?;
            Ok(standing)
        })
    }

    /// Stores imported choices, which are valid for all contenders.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn import(&self, choices: &Choices) -> Result<(), DatabaseError> {
        for (device, choices) in choices {
            for (question, chosen) in choices {
                let imported = Decision { chosen: chosen.clone(), figures: Vec::new() };
                self.keep(device, *question, &imported, Replaceable::All)?;
            }
        }
        Ok(())
    }

    fn done<T>(&self, work: impl FnOnce(&redb::Database) -> Result<T, redb::Error>) -> Result<T, DatabaseError> {
        let closed = || redb::Error::Io(std::io::Error::other("it was closed"));
        let result = contained(|| work(self.file.as_ref().ok_or_else(closed)?));
        result.map_err(|reason| DatabaseError::of(&self.path, reason))
    }
}

impl Drop for Database {
    /// Closes the file. The database library also reads and writes the file when it closes the
    /// file.
    fn drop(&mut self) {
        close(self.file.take());
    }
}

/// Runs `work` on a file and turns panics into errors. The database library may panic if the file
/// is damaged. A panic because of a damaged file is no fault of fusebox.
fn contained<T>(work: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, redb::Error> {
    let outcome = fusebox_compiler::ask(|| catch_unwind(AssertUnwindSafe(work)));
    outcome.unwrap_or_else(|_| Err(redb::Error::Corrupted("its content is inconsistent".into())))
}

/// Whether a file contains a database. An empty file contains no database: another process has just
/// created it.
pub fn is_there(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_file() || found.len() > 0)
}

/// Returns all choices that the file contains for a device.
///
/// # Errors
/// If the file is damaged or not a database, or cannot be read.
pub fn all(path: &Path, device: &str) -> Result<Vec<(Question, StoredChoice)>, DatabaseError> {
    read_only(path, |read| of_device(read, device))
}

fn read_only<T>(
    path: &Path,
    work: impl FnOnce(&ReadTransaction) -> Result<T, redb::Error>,
) -> Result<T, DatabaseError> {
    let read = || match contained(|| Ok(builder().open_read_only(path)))? {
        Ok(file) => read_and_close(file, work),
        // If a process was killed, its file may need repair. For the repair, the file must be open
        // for writing.
        Err(redb::DatabaseError::RepairAborted) => read_and_close(contained(|| Ok(builder().open(path)?))?, work),
        Err(error) => Err(error.into()),
    };
    read().map_err(|reason| DatabaseError::of(path, reason))
}

fn read_and_close<T>(
    file: impl ReadableDatabase,
    work: impl FnOnce(&ReadTransaction) -> Result<T, redb::Error>,
) -> Result<T, redb::Error> {
    let result = contained(|| work(&file.begin_read()?));
    close(file);
    result
}

/// Closes a file. The library reads and writes the file when the library closes the file. All
/// choices are already committed, so errors are ignored. If the file is damaged, the next process
/// that opens it reports the damage.
fn close<F>(file: F) {
    let _ = contained(|| {
        drop(file);
        Ok(())
    });
}

/// The entries of both tables, as the file stores them.
#[derive(Default)]
struct StoredEntries {
    chosen: Vec<([String; 2], String)>,
    measured: Vec<([String; 3], (u64, String))>,
}

fn contents(read: &ReadTransaction) -> Result<StoredEntries, redb::Error> {
    let mut contents = StoredEntries::default();
    if let Some(table) = opened(read.open_table(CHOSEN))? {
        for entry in table.iter()? {
            let (key, value) = entry?;
            let (device, question) = key.value();
            from_json::<StoredChoice>(value.value())?;
            contents.chosen.push(([device.into(), question.into()], value.value().into()));
        }
    }
    if let Some(table) = opened(read.open_table(MEASURED))? {
        for entry in table.iter()? {
            let (key, value) = entry?;
            let ((device, question, contender), (place, figures)) = (key.value(), value.value());
            from_json::<ContenderFigures>(figures)?;
            contents.measured.push(([device.into(), question.into(), contender.into()], (place, figures.into())));
        }
    }
    Ok(contents)
}

fn put(file: &redb::Database, contents: &StoredEntries) -> Result<(), redb::Error> {
    let write = file.begin_write()?;
    {
        let mut chosen = write.open_table(CHOSEN)?;
        for ([device, question], value) in &contents.chosen {
            chosen.insert((device.as_str(), question.as_str()), value.as_str())?;
        }
        let mut measured = write.open_table(MEASURED)?;
        for ([device, question, contender], (place, figures)) in &contents.measured {
            let key = (device.as_str(), question.as_str(), contender.as_str());
            measured.insert(key, (*place, figures.as_str()))?;
        }
    }
    Ok(write.commit()?)
}

/// Reads the decision on a question from both tables.
fn decision(
    chosen: &impl ReadableTable<(&'static str, &'static str), &'static str>,
    measured: &impl ReadableTable<(&'static str, &'static str, &'static str), (u64, &'static str)>,
    device: &str,
    question: &str,
) -> Result<Option<Decision>, redb::Error> {
    let Some(text) = chosen.get((device, question))? else { return Ok(None) };
    Ok(Some(Decision { chosen: from_json(text.value())?, figures: of_question(measured, device, question)? }))
}

/// Returns the figures of a question's contenders, in the fixed order.
fn of_question(
    table: &impl ReadableTable<(&'static str, &'static str, &'static str), (u64, &'static str)>,
    device: &str,
    question: &str,
) -> Result<Vec<ContenderFigures>, redb::Error> {
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

fn of_device(read: &ReadTransaction, device: &str) -> Result<Vec<(Question, StoredChoice)>, redb::Error> {
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

/// Returns `None` if the error says that the table does not exist yet. Passes on all other errors.
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
