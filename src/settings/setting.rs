//! What a setting is: its key, what it may be, what holds without it, and what it means, so that the
//! reader, `config show` and the reference page speak of the same.
//! Must not be in here: any single setting; they stand in `catalogue`.

use super::quantity::{duration_text, size_text};
use super::section::Section;
use std::time::Duration;
use toml::Spanned;

/// A number, size or duration. `D` says what holds without it.
pub struct Quantity<T, D = T> {
    /// The section, as `route.batch`; empty for keys outside of any.
    pub section: &'static str,
    /// The key.
    pub key: &'static str,
    /// What holds without it.
    pub default: D,
    /// Another key of the section without which this one counts for nothing.
    pub only_with: Option<&'static str>,
    /// The least that it may be.
    pub min: T,
    /// The most.
    pub max: T,
    /// What it means, in a sentence.
    pub meaning: &'static str,
}

/// One of a closed list.
pub struct Choice<T: 'static> {
    /// As in [`Quantity`].
    pub section: &'static str,
    /// As in [`Quantity`].
    pub key: &'static str,
    /// Names and what they stand for; the first is the default.
    pub choices: &'static [(&'static str, T)],
    /// As in [`Quantity`].
    pub meaning: &'static str,
}

/// A name, path or address.
pub struct Text {
    /// As in [`Quantity`].
    pub section: &'static str,
    /// As in [`Quantity`].
    pub key: &'static str,
    /// What is written: a name, a path, an address.
    pub form: &'static str,
    /// What holds without it.
    pub default: TextDefault,
    /// As in [`Quantity`].
    pub meaning: &'static str,
}

/// What holds without a text.
#[derive(Clone, Copy)]
pub enum TextDefault {
    /// Nothing: it must be there.
    Required,
    /// This text.
    Is(&'static str),
    /// A text that is made, as this says.
    Made(&'static str),
    /// No text; this says what then.
    Absent(&'static str),
}

/// There is no value without one that is set; this says what then.
pub struct Absent(pub &'static str);

/// A setting in words.
pub struct Row {
    /// Its section.
    pub section: &'static str,
    /// Its key.
    pub key: &'static str,
    /// What kind of value it has.
    pub kind: &'static str,
    /// What holds without it.
    pub default: RowDefault,
    /// Another key of the section without which this one counts for nothing.
    pub only_with: Option<&'static str>,
    /// What it may be.
    pub range: String,
    /// What it means.
    pub meaning: &'static str,
}

/// What holds without a setting, in words.
pub enum RowDefault {
    /// It must be there.
    Required,
    /// A value, as TOML.
    Value(String),
    /// A value that is made, as this says.
    Made(&'static str),
    /// No value; this says what then.
    Absent(&'static str),
}

/// Any setting.
pub trait Setting: Sync {
    /// It in words.
    fn row(&self) -> Row;
}

/// What can be counted.
pub trait Unit: Copy {
    /// What such values are called.
    const KIND: &'static str;
    /// As TOML.
    fn written(self) -> String;
    /// As people say it in a range.
    fn said(self) -> String;
    /// Reads one within bounds.
    fn read(section: &mut Section<'_, '_>, key: &'static str, min: Self, max: Self)
    -> Option<Self>;
}

impl Unit for i64 {
    const KIND: &'static str = "number";

    fn written(self) -> String {
        self.to_string()
    }

    fn said(self) -> String {
        self.to_string()
    }

    fn read(section: &mut Section<'_, '_>, key: &'static str, min: i64, max: i64) -> Option<i64> {
        section.count(key, min..=max)
    }
}

impl Unit for u64 {
    const KIND: &'static str = "size";

    fn written(self) -> String {
        format!("\"{}\"", size_text(self))
    }

    fn said(self) -> String {
        size_text(self)
    }

    fn read(section: &mut Section<'_, '_>, key: &'static str, min: u64, max: u64) -> Option<u64> {
        section.size(key, min..=max)
    }
}

impl Unit for Duration {
    const KIND: &'static str = "duration";

    fn written(self) -> String {
        format!("\"{}\"", duration_text(self))
    }

    fn said(self) -> String {
        duration_text(self)
    }

    fn read(
        section: &mut Section<'_, '_>,
        key: &'static str,
        min: Duration,
        max: Duration,
    ) -> Option<Duration> {
        section.duration(key, min..=max).map(Spanned::into_inner)
    }
}

impl<T: Unit, D> Quantity<T, D> {
    /// The value that is set, with its place.
    pub fn given(&self, section: &mut Section<'_, '_>) -> Option<Spanned<T>> {
        let value = T::read(section, self.key, self.min, self.max)?;
        Some(Spanned::new(section.span_of(self.key), value))
    }

    fn in_words(&self, default: RowDefault) -> Row {
        Row {
            section: self.section,
            key: self.key,
            kind: T::KIND,
            default,
            only_with: self.only_with,
            range: format!("{} to {}", self.min.said(), self.max.said()),
            meaning: self.meaning,
        }
    }
}

impl<T: Unit> Quantity<T> {
    /// The value that is set, or the default.
    pub fn read(&self, section: Option<&mut Section<'_, '_>>) -> T {
        section
            .and_then(|section| T::read(section, self.key, self.min, self.max))
            .unwrap_or(self.default)
    }
}

impl<T: Copy> Choice<T> {
    /// The choice that is made, or the default.
    pub fn read(&self, section: &mut Section<'_, '_>) -> T {
        let chosen = section.choice(self.key, self.choices).map(Spanned::into_inner);
        chosen.unwrap_or(self.choices[0].1)
    }
}

impl<T: Unit + Sync> Setting for Quantity<T> {
    fn row(&self) -> Row {
        self.in_words(RowDefault::Value(self.default.written()))
    }
}

impl<T: Unit + Sync> Setting for Quantity<T, Absent> {
    fn row(&self) -> Row {
        self.in_words(RowDefault::Absent(self.default.0))
    }
}

impl<T: Sync> Setting for Choice<T> {
    fn row(&self) -> Row {
        let names: Vec<String> =
            self.choices.iter().map(|(name, _)| format!("`\"{name}\"`")).collect();
        Row {
            section: self.section,
            key: self.key,
            kind: "choice",
            default: RowDefault::Value(format!("\"{}\"", self.choices[0].0)),
            only_with: None,
            range: names.join(", "),
            meaning: self.meaning,
        }
    }
}

impl Text {
    /// The text that holds without one that is set, where there is such a text.
    pub fn default_text(&self) -> &'static str {
        match self.default {
            TextDefault::Is(text) => text,
            TextDefault::Required | TextDefault::Made(_) | TextDefault::Absent(_) => "",
        }
    }
}

impl Setting for Text {
    fn row(&self) -> Row {
        Row {
            section: self.section,
            key: self.key,
            kind: "text",
            default: match self.default {
                TextDefault::Required => RowDefault::Required,
                TextDefault::Is(text) => RowDefault::Value(format!("\"{text}\"")),
                TextDefault::Made(how) => RowDefault::Made(how),
                TextDefault::Absent(then) => RowDefault::Absent(then),
            },
            only_with: None,
            range: self.form.to_owned(),
            meaning: self.meaning,
        }
    }
}
