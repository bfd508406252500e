//! TOML with its lines: a small reader that knows where each value stands.
//!
//! It hands out typed values and refuses the rest with the line and what was due. It must never
//! quote a value, and it must not know what the keys of a recipe mean.

use super::RecipeError;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The whole text, for turning places into lines.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

impl<'a> Source<'a> {
    pub fn error(&self, at: usize, message: impl Into<String>) -> RecipeError {
        let before = self.text.as_bytes().iter().take(at);
        let line = Some(1 + before.filter(|b| **b == b'\n').count());
        RecipeError { file: self.file.to_owned(), line, message: message.into() }
    }

    /// Parses the text as TOML.
    pub fn parse(&self) -> Result<Spanned<DeTable<'a>>, RecipeError> {
        DeTable::parse(self.text).map_err(|e| {
            let at = e.span().map_or(0, |span| span.start);
            // A fault of syntax is described by what was due; the text itself is not in it.
            self.error(at, format!("this is not TOML: {}", e.message()))
        })
    }
}

/// One table, of which every key must be asked for.
pub(super) struct Section<'a, 't> {
    pub source: Source<'a>,
    table: &'t DeTable<'a>,
    /// What messages call the table, such as `[[field]]`.
    title: &'static str,
    /// Where the table begins.
    pub at: usize,
    asked: Vec<&'static str>,
}

/// A text and where it stands.
type Placed<'t> = (&'t str, usize);

type Got<T> = Result<T, RecipeError>;

impl<'a, 't> Section<'a, 't> {
    pub fn new(source: Source<'a>, table: &'t DeTable<'a>, title: &'static str, at: usize) -> Self {
        Section { source, table, title, at, asked: Vec::new() }
    }

    pub fn error<T>(&self, at: usize, message: impl Into<String>) -> Got<T> {
        Err(self.source.error(at, message))
    }

    /// The value of a key and where it stands.
    fn value(&mut self, key: &'static str) -> Option<(&'t DeValue<'a>, usize)> {
        self.asked.push(key);
        let (_, value) = self.table.iter().find(|(k, _)| k.get_ref() == key)?;
        Some((value.get_ref(), value.span().start))
    }

    fn typed<T>(
        &mut self,
        key: &'static str,
        due: &str,
        read: impl Fn(&'t DeValue<'a>) -> Option<T>,
    ) -> Got<Option<(T, usize)>> {
        let Some((value, at)) = self.value(key) else {
            return Ok(None);
        };
        match read(value) {
            Some(read) => Ok(Some((read, at))),
            None => self.error(at, format!("`{key}` in {} must be {due}", self.title)),
        }
    }

    /// What a missing key is refused with.
    pub fn missing<T>(&self, key: &str) -> Got<T> {
        self.error(self.at, format!("{} needs `{key}`", self.title))
    }

    pub fn text(&mut self, key: &'static str) -> Got<Option<(&'t str, usize)>> {
        self.typed(key, "a text", |v| v.as_str())
    }

    pub fn needed_text(&mut self, key: &'static str) -> Got<(&'t str, usize)> {
        match self.text(key)? {
            Some(found) => Ok(found),
            None => self.missing(key),
        }
    }

    pub fn flag(&mut self, key: &'static str) -> Got<Option<bool>> {
        Ok(self.typed(key, "true or false", |v| v.as_bool())?.map(|(flag, _)| flag))
    }

    /// A whole number from `least` to `most`.
    pub fn number(&mut self, key: &'static str, least: u32, most: u32) -> Got<Option<u32>> {
        let due = format!("a whole number from {least} to {most}");
        let read = |v: &DeValue<'_>| {
            let integer = v.as_integer()?;
            let number = u32::from_str_radix(integer.as_str(), integer.radix()).ok()?;
            (least..=most).contains(&number).then_some(number)
        };
        Ok(self.typed(key, &due, read)?.map(|(number, _)| number))
    }

    /// One word of a closed list; `default` where the key is absent.
    pub fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&str, T)],
        default: T,
    ) -> Got<T> {
        let Some((word, at)) = self.text(key)? else {
            return Ok(default);
        };
        if let Some((_, choice)) = words.iter().find(|(known, _)| *known == word) {
            return Ok(*choice);
        }
        let known: Vec<&str> = words.iter().map(|(known, _)| *known).collect();
        self.error(
            at,
            format!("`{key}` in {} must be {}{}", self.title, listed(&known), meant(word, &known)),
        )
    }

    pub fn texts(&mut self, key: &'static str) -> Got<Option<Vec<Placed<'t>>>> {
        let read = |v: &'t DeValue<'a>| {
            let each = |v: &'t Spanned<DeValue<'a>>| Some((v.get_ref().as_str()?, v.span().start));
            v.as_array()?.iter().map(each).collect::<Option<Vec<_>>>()
        };
        Ok(self.typed(key, "a list of texts", read)?.map(|(texts, _)| texts))
    }

    /// One text, or a list of them.
    pub fn text_or_texts(&mut self, key: &'static str) -> Got<Vec<Placed<'t>>> {
        if let Some((value, at)) = self.value(key)
            && let Some(text) = value.as_str()
        {
            return Ok(vec![(text, at)]);
        }
        Ok(self.texts(key)?.unwrap_or_default())
    }

    pub fn table(
        &mut self,
        key: &'static str,
        title: &'static str,
    ) -> Got<Option<Section<'a, 't>>> {
        let found = self.typed(key, "a table", |v| v.as_table())?;
        Ok(found.map(|(table, at)| Section::new(self.source, table, title, at)))
    }

    pub fn tables(&mut self, key: &'static str, title: &'static str) -> Got<Vec<Section<'a, 't>>> {
        let read = |v: &'t DeValue<'a>| {
            let each =
                |v: &'t Spanned<DeValue<'a>>| Some((v.get_ref().as_table()?, v.span().start));
            v.as_array()?.iter().map(each).collect::<Option<Vec<_>>>()
        };
        let due = format!("tables of their own, each under {title}");
        let found = self.typed(key, &due, read)?.map(|(tables, _)| tables).unwrap_or_default();
        let section = |(table, at)| Section::new(self.source, table, title, at);
        Ok(found.into_iter().map(section).collect())
    }

    /// Every key with its list of texts, whatever the keys are.
    pub fn lists(&mut self) -> Got<Vec<(Placed<'t>, Vec<Placed<'t>>)>> {
        let mut lists = Vec::new();
        for (key, value) in self.table.iter() {
            let each = |v: &'t Spanned<DeValue<'a>>| Some((v.get_ref().as_str()?, v.span().start));
            let texts = value.get_ref().as_array().and_then(|list| list.iter().map(each).collect());
            match texts {
                Some(texts) => lists.push(((key.get_ref().as_ref(), key.span().start), texts)),
                None => {
                    let message = format!("each key in {} must have a list of texts", self.title);
                    return self.error(value.span().start, message);
                }
            }
        }
        Ok(lists)
    }

    /// Every key with its text, whatever the keys are, sorted by key.
    pub fn all_texts(self) -> Got<Vec<(String, String)>> {
        let mut texts = Vec::new();
        for (key, value) in self.table.iter() {
            match value.get_ref().as_str() {
                Some(text) => texts.push((key.get_ref().to_string(), text.to_owned())),
                None => {
                    let message = format!("each key in {} must have a text", self.title);
                    return self.error(value.span().start, message);
                }
            }
        }
        texts.sort();
        Ok(texts)
    }

    /// Refuses keys that nobody asked for.
    pub fn finish(self) -> Got<()> {
        let stray =
            self.table.iter().find(|(key, _)| !self.asked.contains(&key.get_ref().as_ref()));
        match stray {
            None => Ok(()),
            Some((key, _)) => {
                let mut known = self.asked.clone();
                known.sort_unstable();
                known.dedup();
                let meant = meant(key.get_ref(), &known);
                let known = listed(&known);
                self.error(
                    key.span().start,
                    format!("a key that {} does not have here{meant}; it has {known}", self.title),
                )
            }
        }
    }
}

fn listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}

/// A guess at what was meant, from the words that are allowed.
fn meant(word: &str, known: &[&str]) -> String {
    let nearest = known.iter().map(|k| (distance(word, k), *k)).min();
    match nearest {
        Some((steps, near)) if steps <= 2 && steps < near.len() => {
            format!(" (was `{near}` meant?)")
        }
        _ => String::new(),
    }
}

/// Levenshtein distance; recipes are small.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let step = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = step.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
