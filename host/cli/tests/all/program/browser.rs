//! Opens pages in a real browser.

use std::path::PathBuf;
use std::process::Command;

use super::Workplace;

impl Workplace {
    /// Returns the content of the page after its script has run. Asserts that the page fetches
    /// nothing and that the browser reports no error. If no browser is installed, prints a line and
    /// returns `None`. `place` is an anchor in the page, or empty.
    pub fn opened_page(&self, file: &str, place: &str) -> Option<String> {
        let page = std::fs::read_to_string(self.path(file)).unwrap();
        for fetched in ["http://", "https://", " src=", "@import", "url("] {
            assert!(!page.contains(fetched), "the page may fetch something: {fetched}");
        }
        let Some(browser) = installed() else {
            eprintln!("skipped: no browser in PATH (Debian's package chromium)");
            return None;
        };
        let flags = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"];
        let data = format!("--user-data-dir={}", self.path("browser").display());
        let address = format!("file://{}{place}", self.path(file).display());
        let opened = Command::new(browser).args(flags).args([data, address]).output().unwrap();
        let (content, log) = (String::from_utf8_lossy(&opened.stdout), String::from_utf8_lossy(&opened.stderr));
        assert!(!log.contains("CONSOLE"), "{log}");
        Some(content.into_owned())
    }
}

/// Returns the path of a browser: the first one in a list that is installed.
fn installed() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let programs = ["chromium", "chromium-browser", "google-chrome"].into_iter();
    programs.flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|file| file.is_file())
}
