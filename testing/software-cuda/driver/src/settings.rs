//! The settings, which the driver reads from environment variables.

use std::path::PathBuf;

/// The settings of the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The architecture of all devices, for example `sm_90`.
    pub device: String,
    /// The number of devices.
    pub count: u32,
    /// The bytes of memory of each device.
    pub memory: u64,
    /// The version of CUDA that the driver reports, as `1000 * major + 10 * minor`. Functions that
    /// are newer than this version return `CUDA_ERROR_NOT_SUPPORTED`.
    pub version: i32,
    /// The seed from which the engine draws the order of concurrent work. Without a seed, the
    /// engine executes work in the order of issue.
    pub seed: Option<u64>,
    /// The seed from which the interpreter draws the errors of approximate instructions. Without a
    /// seed, approximate instructions return the rounded results.
    pub approximations: Option<u64>,
    /// The number of threads that execute the blocks of a kernel; 0 means one thread per processor
    /// core.
    pub threads: usize,
    /// The file to which counts per kernel are written.
    pub counts: Option<PathBuf>,
    /// The file to which the driver writes the number of calls of each of its functions.
    pub calls: Option<PathBuf>,
    /// The file to which reports are appended. The driver also writes all reports to standard
    /// error.
    pub report: Option<PathBuf>,
}

/// The most devices of one machine.
const MOST_DEVICES: u32 = 8;

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            device: "sm_90".into(),
            count: 1,
            memory: 16 << 30,
            version: 13_000,
            seed: None,
            approximations: None,
            threads: 0,
            counts: None,
            calls: None,
            report: None,
        }
    }
}

impl Settings {
    /// Reads the settings. `variable` returns the value of an environment variable.
    ///
    /// # Errors
    /// If the value of a variable is wrong. The error is a sentence that names the variable.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Settings, String> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let number = |name: &str| {
            let value = variable(name);
            let parse = |value: String| value.parse::<u64>().map_err(|_| format!("{name}={value} is no number"));
            value.map(parse).transpose()
        };
        let default = Settings::default();
        let count = number("SOFTWARE_CUDA_COUNT")?.unwrap_or(1);
        let count = u32::try_from(count)
            .ok()
            .filter(|count| *count <= MOST_DEVICES)
            .ok_or_else(|| format!("SOFTWARE_CUDA_COUNT={count} is too large: at most {MOST_DEVICES} devices"))?;
        let memory = match variable("SOFTWARE_CUDA_MEMORY") {
            Some(text) => bytes(&text)
                .ok_or_else(|| format!("SOFTWARE_CUDA_MEMORY={text} is no size: write, for example, 4GiB"))?,
            None => default.memory,
        };
        let version = match variable("SOFTWARE_CUDA_VERSION") {
            Some(text) => version(&text)
                .ok_or_else(|| format!("SOFTWARE_CUDA_VERSION={text} is no version: write, for example, 12.3"))?,
            None => default.version,
        };
        Ok(Settings {
            device: variable("SOFTWARE_CUDA_DEVICE").unwrap_or(default.device),
            count,
            memory,
            version,
            seed: number("SOFTWARE_CUDA_SEED")?,
            approximations: number("SOFTWARE_CUDA_APPROXIMATIONS")?,
            threads: number("SOFTWARE_CUDA_THREADS")?.unwrap_or(0) as usize,
            counts: variable("SOFTWARE_CUDA_COUNTS").map(PathBuf::from),
            calls: variable("SOFTWARE_CUDA_CALLS").map(PathBuf::from),
            report: variable("SOFTWARE_CUDA_REPORT").map(PathBuf::from),
        })
    }
}

/// Reads a version of CUDA from 11.0 on.
fn version(text: &str) -> Option<i32> {
    let (major, minor) = text.split_once('.')?;
    let (major, minor) = (major.parse::<u16>().ok()?, minor.parse::<u16>().ok()?);
    ((11..100).contains(&major) && minor < 100).then(|| 1000 * i32::from(major) + 10 * i32::from(minor))
}

/// Reads a number of bytes, with or without the unit KiB, MiB or GiB.
fn bytes(text: &str) -> Option<u64> {
    let (number, shift) = [("KiB", 10), ("MiB", 20), ("GiB", 30)]
        .into_iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)))
        .unwrap_or((text, 0));
    number.trim().parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Settings, String> {
        let find = |name: &str| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| value.to_string());
        Settings::read(find)
    }

    #[test]
    fn without_variables_the_settings_are_the_defaults() {
        assert_eq!(read(&[]), Ok(Settings::default()));
        assert_eq!(read(&[("SOFTWARE_CUDA_SEED", "")]), Ok(Settings::default()));
    }

    #[test]
    fn variables_set_devices_memory_and_seed() {
        let variables = [
            ("SOFTWARE_CUDA_DEVICE", "sm_80"),
            ("SOFTWARE_CUDA_COUNT", "8"),
            ("SOFTWARE_CUDA_MEMORY", "3MiB"),
            ("SOFTWARE_CUDA_SEED", "7"),
            ("SOFTWARE_CUDA_APPROXIMATIONS", "8"),
            ("SOFTWARE_CUDA_VERSION", "12.3"),
        ];
        let settings = read(&variables).unwrap();
        assert_eq!((settings.device.as_str(), settings.count, settings.memory), ("sm_80", 8, 3 << 20));
        assert_eq!((settings.seed, settings.approximations, settings.version), (Some(7), Some(8), 12_030));
    }

    #[test]
    fn a_wrong_value_is_an_error_that_names_its_variable() {
        for (name, value) in [
            ("SOFTWARE_CUDA_COUNT", "9"),
            ("SOFTWARE_CUDA_MEMORY", "4 apples"),
            ("SOFTWARE_CUDA_SEED", "x"),
            ("SOFTWARE_CUDA_VERSION", "12"),
            ("SOFTWARE_CUDA_VERSION", "9.2"),
        ] {
            assert!(read(&[(name, value)]).unwrap_err().contains(name));
        }
    }
}
