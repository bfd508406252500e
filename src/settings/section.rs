//! A table of a configuration, read key by key: each reader notes the fault that it finds.
//! Must not be in here: what any key means, or a message with a value in it.

use super::document::Document;
use super::quantity::{
    DURATION_FORM, SIZE_FORM, duration_text, parse_duration, parse_size, size_text,
};
use super::suggest::{did_you_mean, list_of};
use std::ops::{Range, RangeInclusive};
use std::time::Duration;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A table of the file. It remembers which keys were asked for; the others are unknown.
pub struct Section<'d, 't> {
    document: &'d Document<'t>,
    table: &'d DeTable<'t>,
    span: Range<usize>,
    name: String,
    known: Vec<&'static str>,
}

impl<'d, 't> Section<'d, 't> {
    /// The keys outside of any section.
    pub fn root(document: &'d Document<'t>, table: &'d DeTable<'t>) -> Section<'d, 't> {
        Section { document, table, span: 0..0, name: String::new(), known: Vec::new() }
    }

    /// Where the section begins.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The place of a value; of the section, where there is none.
    pub fn span_of(&self, key: &str) -> Range<usize> {
        self.table.get(key).map_or(self.span(), Spanned::span)
    }

    /// The files that it is in.
    pub fn document(&self) -> &'d Document<'t> {
        self.document
    }

    fn get(&mut self, key: &'static str) -> Option<&'d Spanned<DeValue<'t>>> {
        self.known.push(key);
        self.table.get(key)
    }

    fn wrong(&self, at: Range<usize>, key: &str, what: &str, meant: impl Into<String>) {
        self.document.fault(at, format!("`{key}`{} {what}", self.of()), meant);
    }

    fn of(&self) -> String {
        if self.name.is_empty() { String::new() } else { format!(" of {}", self.name) }
    }

    /// A text.
    pub fn text(&mut self, key: &'static str) -> Option<Spanned<&'d str>> {
        let value = self.get(key)?;
        let text = value.get_ref().as_str();
        if text.is_none() {
            self.wrong(value.span(), key, "must be a text", "write it between quotes");
        }
        Some(Spanned::new(value.span(), text?))
    }

    /// A text that must be there.
    pub fn required_text(&mut self, key: &'static str) -> Option<Spanned<&'d str>> {
        self.require(key);
        self.text(key)
    }

    /// Notes a fault if a key without a default is not there.
    pub fn require(&self, key: &str) {
        if !self.table.contains_key(key) {
            self.wrong(self.span(), key, "is missing", "it has no default");
        }
    }

    /// A whole number within bounds.
    pub fn count(&mut self, key: &'static str, bounds: RangeInclusive<i64>) -> Option<i64> {
        let value = self.get(key)?;
        let number = value
            .get_ref()
            .as_integer()
            .and_then(|integer| i64::from_str_radix(integer.as_str(), integer.radix()).ok());
        match number {
            Some(number) if bounds.contains(&number) => Some(number),
            _ => {
                let meant = format!("a whole number from {} to {}", bounds.start(), bounds.end());
                self.wrong(value.span(), key, "is not what it may be", meant);
                None
            }
        }
    }

    /// A yes or no.
    pub fn flag(&mut self, key: &'static str) -> Option<bool> {
        let value = self.get(key)?;
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            self.wrong(value.span(), key, "must be `true` or `false`", "");
        }
        flag
    }

    /// A whole number within bounds, or `None` for the one word that stands for none.
    pub fn count_or(
        &mut self,
        key: &'static str,
        bounds: RangeInclusive<i64>,
        word: &str,
    ) -> Option<i64> {
        let value = self.get(key)?;
        match value.get_ref().as_str() {
            None => self.count(key, bounds),
            Some(text) => {
                if text != word {
                    let [from, to] = [bounds.start(), bounds.end()];
                    let meant = format!("it may be \"{word}\" or a number from {from} to {to}");
                    self.wrong(value.span(), key, "has an unknown value", meant);
                }
                None
            }
        }
    }

    /// A duration within bounds.
    pub fn duration(
        &mut self,
        key: &'static str,
        bounds: RangeInclusive<Duration>,
    ) -> Option<Spanned<Duration>> {
        let value = self.get(key)?;
        let Some(duration) = value.get_ref().as_str().and_then(parse_duration) else {
            self.wrong(value.span(), key, "is not a duration", DURATION_FORM);
            return None;
        };
        if !bounds.contains(&duration) {
            let [from, to] = [bounds.start(), bounds.end()].map(|bound| duration_text(*bound));
            self.wrong(value.span(), key, "is out of bounds", format!("from {from} to {to}"));
            return None;
        }
        Some(Spanned::new(value.span(), duration))
    }

    /// A size within bounds.
    pub fn size(&mut self, key: &'static str, bounds: RangeInclusive<u64>) -> Option<u64> {
        let value = self.get(key)?;
        let Some(size) = value.get_ref().as_str().and_then(parse_size) else {
            self.wrong(value.span(), key, "is not a size", SIZE_FORM);
            return None;
        };
        if !bounds.contains(&size) {
            let [from, to] = [bounds.start(), bounds.end()].map(|bound| size_text(*bound));
            self.wrong(value.span(), key, "is out of bounds", format!("from {from} to {to}"));
            return None;
        }
        Some(size)
    }

    /// One of a closed list of texts.
    pub fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&'static str, T)],
    ) -> Option<Spanned<T>> {
        let text = self.text(key)?;
        let known = || choices.iter().map(|(name, _)| *name);
        let found = choices.iter().find(|(name, _)| name == text.get_ref());
        if found.is_none() {
            let meant = did_you_mean(text.get_ref(), known());
            let meant = meant.unwrap_or_else(|| format!("it may be {}", list_of(known())));
            self.wrong(text.span(), key, "has an unknown value", meant);
        }
        Some(Spanned::new(text.span(), found?.1))
    }

    /// A section of this one.
    pub fn section(&mut self, key: &'static str) -> Option<Section<'d, 't>> {
        let value = self.get(key)?;
        let section = self.named(value, format!("[{key}]"));
        if section.is_none() {
            self.wrong(value.span(), key, "must be a section", format!("begin it with [{key}]"));
        }
        section
    }

    /// A list of sections, each begun with `[[key]]`.
    pub fn sections(&mut self, key: &'static str) -> Vec<Section<'d, 't>> {
        let Some(value) = self.get(key) else {
            return Vec::new();
        };
        let elements = value.get_ref().as_array().map(|array| array.iter()).into_iter().flatten();
        let sections: Vec<_> =
            elements.filter_map(|element| self.named(element, format!("[[{key}]]"))).collect();
        if sections.is_empty() {
            let meant = format!("begin each with [[{key}]]");
            self.wrong(value.span(), key, "must be a list of sections", meant);
        }
        sections
    }

    fn named(&self, value: &'d Spanned<DeValue<'t>>, name: String) -> Option<Section<'d, 't>> {
        let table = value.get_ref().as_table()?;
        let (document, span) = (self.document, value.span());
        Some(Section { document, table, span, name, known: Vec::new() })
    }

    /// Calls the section by another name in messages.
    pub fn rename(&mut self, name: String) {
        self.name = name;
    }

    /// Every key with its value, in the file's order, for sections whose keys are not ours. Keys with dots in them may
    /// be written with or without quotes: both read the same.
    pub fn pairs(self) -> Vec<(String, Spanned<&'d DeValue<'t>>)> {
        let mut pairs = Vec::new();
        flatten(self.table, "", &mut pairs);
        pairs.sort_by_key(|(_, value)| value.span().start);
        pairs
    }

    /// Notes every key that was not asked for.
    pub fn finish(self) {
        for (key, _) in self.table {
            let name: &str = key.get_ref();
            if !self.known.contains(&name) {
                let known = || self.known.iter().copied();
                let meant = did_you_mean(name, known());
                let meant = meant.unwrap_or_else(|| format!("known are {}", list_of(known())));
                let what = format!("unknown key `{name}`{}", self.in_section());
                self.document.fault(key.span(), what, meant);
            }
        }
    }

    fn in_section(&self) -> String {
        if self.name.is_empty() { String::new() } else { format!(" in {}", self.name) }
    }
}

fn flatten<'d, 't>(
    table: &'d DeTable<'t>,
    prefix: &str,
    pairs: &mut Vec<(String, Spanned<&'d DeValue<'t>>)>,
) {
    for (key, value) in table {
        let name = format!("{prefix}{}", key.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) => flatten(inner, &format!("{name}."), pairs),
            plain => pairs.push((name, Spanned::new(key.span(), plain))),
        }
    }
}
