//! The user's options. The options come from environment variables and, for one program, from
//! `compiler_options` of JAX.

use std::path::PathBuf;

use fusebox_choices::Cubins;

use crate::error::{Answer, Error};

/// The prefix of the names of fusebox's options in `compiler_options`.
const PREFIX: &str = "fusebox.";

/// Options of compilations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserOptions {
    /// Target; empty for this machine's processor.
    pub target: String,
    /// Choices of emitters in the syntax of the command line, in order.
    pub emitters: Vec<String>,
    /// Libraries of emitters to load.
    pub load: Vec<PathBuf>,
    /// Folder for dumps.
    pub dump_to: Option<PathBuf>,
    /// Configuration file that replaces the `fusebox.toml` of the working directory.
    pub config: Option<PathBuf>,
    /// Folder of the cache.
    pub cache: Option<PathBuf>,
    /// Number of threads; 0 for one per processor.
    pub threads: usize,
    /// The programs for which the compiler calls NVIDIA's assembler, which translates PTX to
    /// machine code.
    pub cubins: Cubins,
}

/// An option: its name without the prefix, its environment variable, and the function that sets it.
struct Known {
    name: &'static str,
    variable: &'static str,
    set: fn(&mut UserOptions, &str) -> Result<(), String>,
}

const KNOWN: &[Known] = &[
    Known { name: "target", variable: "FUSEBOX_TARGET", set: |it, text| set(&mut it.target, text.to_owned()) },
    Known { name: "emitter", variable: "FUSEBOX_EMITTER", set: |it, text| add(&mut it.emitters, text, str::to_owned) },
    Known { name: "load", variable: "FUSEBOX_LOAD", set: |it, text| add(&mut it.load, text, |part| part.into()) },
    Known { name: "dump_to", variable: "FUSEBOX_DUMP_TO", set: |it, text| set(&mut it.dump_to, Some(text.into())) },
    Known { name: "config", variable: "FUSEBOX_CONFIG", set: |it, text| set(&mut it.config, Some(text.into())) },
    Known { name: "cache", variable: "FUSEBOX_CACHE", set: |it, text| set(&mut it.cache, Some(text.into())) },
    Known {
        name: "threads",
        variable: "FUSEBOX_THREADS",
        set: |it, text| set(&mut it.threads, text.parse().map_err(|_| format!("`{text}` is not a number of threads"))?),
    },
    Known {
        name: "cubins",
        variable: "FUSEBOX_CUBINS",
        set: |it, text| {
            let names = Cubins::ALL.map(Cubins::name).join(", ");
            set(&mut it.cubins, Cubins::parse(text).ok_or_else(|| format!("`{text}` is not one of {names}"))?)
        },
    },
];

fn set<T>(option: &mut T, value: T) -> Result<(), String> {
    *option = value;
    Ok(())
}

/// Adds the parts of a text to a list. Semicolons separate the parts, because no choice of an
/// emitter contains a semicolon.
fn add<T>(list: &mut Vec<T>, text: &str, part: impl Fn(&str) -> T) -> Result<(), String> {
    list.extend(text.split(';').map(str::trim).filter(|it| !it.is_empty()).map(part));
    Ok(())
}

impl UserOptions {
    /// Returns the name of the target.
    pub fn target_name(&self) -> &str {
        if self.target.is_empty() { "cpu" } else { &self.target }
    }

    /// Reads the environment variables.
    pub fn of_environment() -> Answer<UserOptions> {
        let mut options = UserOptions::default();
        for Known { variable, set, .. } in KNOWN {
            let value = std::env::var_os(variable).filter(|value| !value.is_empty());
            if let Some(value) = value {
                let fault = |reason| Error::invalid(format!("the environment variable {variable}: {reason}"));
                set(&mut options, &value.to_string_lossy()).map_err(fault)?;
            }
        }
        Ok(options)
    }

    /// Adds the options of one program: names and values.
    pub fn with(mut self, named: impl IntoIterator<Item = (String, String)>) -> Answer<UserOptions> {
        for (name, value) in named {
            let short = name.strip_prefix(PREFIX);
            let Some(known) = KNOWN.iter().find(|known| Some(known.name) == short) else { return Err(unknown(&name)) };
            let fault = |reason| Error::invalid(format!("the compiler option {name}: {reason}"));
            (known.set)(&mut self, &value).map_err(fault)?;
        }
        Ok(self)
    }
}

fn unknown(name: &str) -> Error {
    let known: Vec<String> = KNOWN.iter().map(|known| format!("{PREFIX}{}", known.name)).collect();
    // XLA's message begins with the same words, and programs of JAX look for them.
    Error::invalid(format!("No such compile option: '{name}'; fusebox has {}", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::UserOptions;
    use crate::error::Answer;
    use crate::messages::{CompileOptions, OptionKind, OptionValue};

    fn with(options: &[(&str, OptionKind)]) -> Answer<UserOptions> {
        let named: HashMap<String, OptionValue> =
            options.iter().map(|(name, kind)| (name.to_string(), OptionValue { kind: Some(kind.clone()) })).collect();
        UserOptions::default().with(CompileOptions { named, ..CompileOptions::default() }.texts())
    }

    #[test]
    fn options_of_a_program_are_read() {
        let text = |text: &str| OptionKind::Text(text.into());
        let options =
            with(&[("fusebox.emitter", text("loop=./a.so; scatter")), ("fusebox.threads", OptionKind::Integer(3))]);
        let options = options.unwrap();
        assert_eq!((options.emitters, options.threads), (vec!["loop=./a.so".to_owned(), "scatter".to_owned()], 3));
    }

    #[test]
    fn unknown_options_and_values_are_refused() {
        let error = with(&[("xla_no_such_flag", OptionKind::Bool(true))]).unwrap_err();
        let expected = "No such compile option: 'xla_no_such_flag'; fusebox has fusebox.target";
        assert!(error.message.starts_with(expected), "{error}");
        let error = with(&[("fusebox.threads", OptionKind::Text("many".into()))]).unwrap_err();
        assert_eq!(error.message, "the compiler option fusebox.threads: `many` is not a number of threads");
    }
}
