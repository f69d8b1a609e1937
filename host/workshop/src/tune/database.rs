//! What was chosen and measured, in a file that several processes use at once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use redb::backends::InMemoryBackend;
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

/// What was chosen, and what is known of all contenders in the fixed order: nothing if the choice was imported.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What was chosen.
    pub chosen: Chosen,
    /// Of all contenders.
    pub figures: Vec<Figures>,
}

/// What gives way to what was found. What was decided among other contenders always does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivesWay {
    /// Nothing.
    None,
    /// What has won by itself and was not yet tried in a program.
    Untried,
    /// Whatever stands.
    All,
}

/// Why the file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The file contradicts itself: another program has changed it, or a disk.
    #[error("{} is damaged: {reason}; --no-tuned does without it, and without the file tuning begins anew", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The contradiction.
        reason: String,
    },
    /// It is something else, or the system refuses.
    #[error("{}: {reason}; --no-tuned does without it, and without the file tuning begins anew", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        reason: Box<redb::Error>,
    },
}

/// The file, open.
pub struct Database {
    path: PathBuf,
    /// There until it is closed.
    file: Option<redb::Database>,
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

impl Decision {
    /// Whether it was made among exactly these, or was imported, and stands whoever there is.
    pub(super) fn is_about(&self, names: &[String]) -> bool {
        let is_among = |figures: &Figures| names.contains(&figures.contender);
        self.figures.is_empty() || (self.figures.len() == names.len() && self.figures.iter().all(is_among))
    }

    /// Whether it won by itself and was not yet tried in a program.
    pub(super) fn is_untried(&self) -> bool {
        let winner = self.figures.iter().find(|figures| figures.contender == self.chosen.spec);
        matches!(winner.map(|it| &it.outcome), Some(Outcome::Final { in_program: None, .. }))
    }

    fn gives_way(&self, what: GivesWay) -> bool {
        match what {
            GivesWay::None => false,
            GivesWay::Untried => self.is_untried(),
            GivesWay::All => true,
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
    /// Opens a file, or makes it. All of it is looked at, so that damage is found before any work is done.
    ///
    /// # Errors
    /// If it is damaged, or something else, or the system refuses.
    pub fn open(path: &Path) -> Result<Database, DatabaseError> {
        let failed = |reason| DatabaseError::of(path, reason);
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.map_err(|error| failed(error.into()))?;
        let file = contained(|| Ok(builder().create(path)?)).map_err(failed)?;
        let mut database = Database { path: path.into(), file: Some(file) };
        database.check()?;
        Ok(database)
    }

    /// A copy in memory of the file, if it is there: writing to the copy leaves the file as it is.
    ///
    /// # Errors
    /// As [`open`](Self::open).
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

    /// What was decided on a device.
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

    /// Keeps what was found, and gives what is to be gone by: that, or what another process has found meanwhile and what does not
    /// give way.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn keep(
        &self,
        device: &str,
        question: Question,
        found: &Decision,
        gives_way: GivesWay,
    ) -> Result<Decision, DatabaseError> {
        let names: Vec<String> = found.figures.iter().map(|figures| figures.contender.clone()).collect();
        let key = question.to_string();
        self.done(|file| {
            let write = file.begin_write()?;
            let standing = {
                let mut chosen = write.open_table(CHOSEN)?;
                let mut measured = write.open_table(MEASURED)?;
                match decision(&chosen, &measured, device, &key)? {
                    Some(known) if known.is_about(&names) && !known.gives_way(gives_way) => known,
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

    /// Keeps what others have found; it counts whoever there is.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn import(&self, choices: &Choices) -> Result<(), DatabaseError> {
        for (device, choices) in choices {
            for (question, chosen) in choices {
                let imported = Decision { chosen: chosen.clone(), figures: Vec::new() };
                self.keep(device, *question, &imported, GivesWay::All)?;
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
    /// Closing reads and writes too.
    fn drop(&mut self) {
        close(self.file.take());
    }
}

/// Work on a file. Of damage that the library does not foresee it panics, and what is damaged is the file, not fusebox.
fn contained<T>(work: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, redb::Error> {
    let outcome = fusebox_compiler::ask(|| catch_unwind(AssertUnwindSafe(work)));
    outcome.unwrap_or_else(|_| Err(redb::Error::Corrupted("what is in it contradicts itself".into())))
}

/// Whether a file holds a database. An empty one was made this moment by a process that has yet to
/// write to it.
pub fn is_there(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| !found.is_file() || found.len() > 0)
}

/// All that was chosen on a device.
///
/// # Errors
/// If the file is damaged or something else, or cannot be read.
pub fn all(path: &Path, device: &str) -> Result<Vec<(Question, Chosen)>, DatabaseError> {
    read_only(path, |read| of_device(read, device))
}

fn read_only<T>(
    path: &Path,
    work: impl FnOnce(&ReadTransaction) -> Result<T, redb::Error>,
) -> Result<T, DatabaseError> {
    let read = || match contained(|| Ok(builder().open_read_only(path)))? {
        Ok(file) => read_and_close(file, work),
        // A process that was killed leaves a file to be repaired, for which it has to be open for
        // writing.
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

/// Closing reads and writes too. All writes were confirmed; damage that is found now is reported
/// when the file is opened next.
fn close<F>(file: F) {
    let _ = contained(|| {
        drop(file);
        Ok(())
    });
}

/// Entries of both tables, as they stand there.
#[derive(Default)]
struct Contents {
    chosen: Vec<([String; 2], String)>,
    measured: Vec<([String; 3], (u64, String))>,
}

fn contents(read: &ReadTransaction) -> Result<Contents, redb::Error> {
    let mut contents = Contents::default();
    if let Some(table) = opened(read.open_table(CHOSEN))? {
        for entry in table.iter()? {
            let (key, value) = entry?;
            let (device, question) = key.value();
            from_json::<Chosen>(value.value())?;
            contents.chosen.push(([device.into(), question.into()], value.value().into()));
        }
    }
    if let Some(table) = opened(read.open_table(MEASURED))? {
        for entry in table.iter()? {
            let (key, value) = entry?;
            let ((device, question, contender), (place, figures)) = (key.value(), value.value());
            from_json::<Figures>(figures)?;
            contents.measured.push(([device.into(), question.into(), contender.into()], (place, figures.into())));
        }
    }
    Ok(contents)
}

fn put(file: &redb::Database, contents: &Contents) -> Result<(), redb::Error> {
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

/// What the tables have of a question.
fn decision(
    chosen: &impl ReadableTable<(&'static str, &'static str), &'static str>,
    measured: &impl ReadableTable<(&'static str, &'static str, &'static str), (u64, &'static str)>,
    device: &str,
    question: &str,
) -> Result<Option<Decision>, redb::Error> {
    let Some(text) = chosen.get((device, question))? else { return Ok(None) };
    Ok(Some(Decision { chosen: from_json(text.value())?, figures: of_question(measured, device, question)? }))
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
