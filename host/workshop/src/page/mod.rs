//! Writes reports as pages for a browser. A page loads no other files, and follows the light or
//! dark mode of the reader's system.
//!
//! ```text
//! style.css   the style of all pages
//! comparison  two sides of `fusebox ab`
//! profile     the times of a program's steps
//! program     a program as a graph in which each fusion can be opened
//! ```

mod comparison;
mod profile;
mod program;

use maud::{DOCTYPE, Markup, PreEscaped, html};

pub use comparison::of_comparison;
pub use profile::of_profile;
pub use program::of_program;

/// Returns a page. `style` is added to the style that all pages have in common.
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
