//! Reports as pages for a browser: nothing is fetched, light and dark as the reader's system is.
//!
//! ```text
//! style.css   how all pages look
//! comparison  two sides of `fusebox ab`
//! program     a program as a graph in which every fusion opens
//! ```

mod comparison;
mod program;

use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use comparison::of_comparison;
pub use program::of_program;

/// A page, with what only it has of style and script.
fn framed(title: &str, style: &str, body: &Markup, script: &str) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(include_str!("style.css"))) (PreEscaped(style)) }
            }
            body { (body) script { (PreEscaped(script)) } }
        }
    };
    page.into_string()
}
