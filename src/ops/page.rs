//! The status page: one document with its style and its script in it, which fetches `/status`.
//! Must not be in here: what the page says; that stands in `page/`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");
const DOCUMENT: &str = include_str!("page/page.html");

/// The page, and what it allows the browser.
#[derive(Clone, Debug)]
pub struct Page {
    /// The document.
    pub html: String,
    /// Its Content-Security-Policy: this style, this script, and requests to where it came from.
    pub policy: String,
}

impl Page {
    /// Puts the page together.
    pub fn new() -> Page {
        let html = DOCUMENT.replace("/*STYLE*/", STYLE).replace("/*SCRIPT*/", SCRIPT);
        let policy = format!(
            "default-src 'none'; style-src '{}'; script-src '{}'; connect-src 'self'; img-src \
             data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            digest(STYLE),
            digest(SCRIPT)
        );
        Page { html, policy }
    }
}

impl Default for Page {
    fn default() -> Page {
        Page::new()
    }
}

/// The source that a policy names.
fn digest(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between<'t>(text: &'t str, from: &str, to: &str) -> &'t str {
        text.split_once(from).unwrap().1.split_once(to).unwrap().0
    }

    #[test]
    fn the_policy_allows_what_is_in_the_page_and_nothing_else() {
        let page = Page::new();
        for (from, to) in [("<style>", "</style>"), ("<script>", "</script>")] {
            assert_eq!(page.html.matches(from).count(), 1);
            assert!(page.policy.contains(&digest(between(&page.html, from, to))), "{from}");
        }
        assert!(!page.policy.contains("unsafe"));
    }

    #[test]
    fn data_is_never_taken_for_markup() {
        for word in ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("] {
            assert!(!SCRIPT.contains(word), "{word}");
        }
        for elsewhere in ["http:", "https:", "//cdn", "@import", "url("] {
            let found =
                [DOCUMENT, STYLE, SCRIPT].concat().replace("http://www.w3.org/2000/svg", "");
            assert!(!found.contains(elsewhere), "{elsewhere}");
        }
    }
}
