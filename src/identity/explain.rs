//! How the key of an event came about, for a person who asks: each field as sent and as
//! normalized, the bytes that were hashed, the key.
//!
//! An explanation holds values of the document. It is for the terminal of someone who has the
//! document already, and must never reach a log, a header or a metric.

use super::derive::{Deriver, Run};
use super::hash::{ContentDigest, EventKey};
use super::json::{Kind, Tape};
use super::preimage::{Form, Value};
use super::recipe::{Field, Items, Recipe, Scope};
use super::reject::Rejection;
use super::resolve::Found;
use std::sync::Arc;

/// How one event came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The fields of the record, then those of the item or items.
    pub fields: Vec<ExplainedField>,
    /// The canonical identity; the key is its SHA-256.
    pub preimage: String,
    /// The canonical content; the digest is the first half of the SHA-256 over a fixed line, the
    /// 32 bytes of the identity's hash (an item's without its occurrence), and this text.
    pub content: String,
    /// The text before the key.
    pub prefix: String,
    /// The key.
    pub key: EventKey,
    /// The content digest.
    pub digest: ContentDigest,
    /// Microseconds since 1970, where the recipe has an event time.
    pub event_time_micros: Option<i64>,
}

/// One field of an identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedField {
    /// The name in the recipe.
    pub name: String,
    /// Where it stands in the document.
    pub pointer: String,
    /// What stands there, as JSON; `None` where nothing does.
    pub sent: Option<String>,
    /// What it means; `None` where it leaves no trace in the identity.
    pub normalized: Option<String>,
}

/// Derives one record's events and tells how each came about, in the order of the document.
///
/// # Errors
///
/// As [`Deriver::derive`].
pub fn explain(
    recipe: Arc<Recipe>,
    payload: &[u8],
) -> Result<Vec<Result<Explained, Rejection>>, Rejection> {
    let mut deriver = Deriver::new(recipe);
    deriver.scratch.trace = Some(Vec::new());
    let events: Vec<_> = deriver
        .derive(payload)?
        .iter()
        .map(|event| match event {
            Ok(event) => {
                Ok((event.key, event.digest, event.event_time_micros, event.prefix.to_owned()))
            }
            Err(rejection) => Err(rejection.clone()),
        })
        .collect();
    let traces = deriver.scratch.trace.take().unwrap_or_default();
    let explained = |(event, trace): (Result<_, Rejection>, Trace)| {
        let (key, digest, event_time_micros, prefix) = event?;
        let Trace { fields, preimage, content } = trace;
        Ok(Explained { fields, preimage, content, prefix, key, digest, event_time_micros })
    };
    Ok(events.into_iter().zip(traces).map(explained).collect())
}

/// Shows a text of a document on one line: what would be no sign of its own (control and format
/// characters, line ends, turns of the direction of writing) stands as `\u{…}` or `\n`.
///
/// ```
/// use oncegate::identity::visible;
///
/// assert_eq!(visible("é \"a\\b\" \n\u{1b}[0m\u{202e}"), "é \"a\\b\" \\n\\u{1b}[0m\\u{202e}");
/// ```
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\'' | '\\' => shown.push(c),
            _ => shown.extend(c.escape_debug()),
        }
    }
    shown
}

/// What was noted while an event was derived.
#[derive(Debug, Default)]
pub(super) struct Trace {
    fields: Vec<ExplainedField>,
    preimage: String,
    content: String,
}

impl Run<'_> {
    /// Notes the record as one event.
    pub(super) fn trace_record(&mut self, items: Option<(Found, usize)>) {
        if self.s.trace.is_none() {
            return;
        }
        let mut fields = self.fields(&self.recipe.record, 0, "", &self.s.record);
        if let (Some((list, count)), Some(items)) = (items, &self.recipe.items) {
            let width = items.scope.fields.len();
            for index in 0..count {
                let at = format!("{}/{index}", items.pointers[list.pointer].text);
                let values = &self.s.items[index * width..][..width];
                fields.extend(self.fields(&items.scope, self.element(list, index), &at, values));
            }
        }
        self.note(fields);
    }

    /// Notes the item at hand.
    pub(super) fn trace_item(&mut self, items: &Items, element: u32) {
        if self.s.trace.is_none() {
            return;
        }
        let mut fields = self.fields(&self.recipe.record, 0, "", &self.s.record);
        fields.extend(self.fields(&items.scope, element, "", &self.s.items[self.s.first_value..]));
        self.note(fields);
    }

    /// Keeps the place of an item that was rejected.
    pub(super) fn trace_nothing(&mut self) {
        if let Some(trace) = &mut self.s.trace {
            trace.push(Trace::default());
        }
    }

    /// Notes the identity of an item anew, with its occurrence.
    pub(super) fn trace_occurrence(&mut self, index: usize) {
        if let Some(trace) = self.s.trace.as_mut().and_then(|trace| trace.get_mut(index)) {
            trace.preimage = String::from_utf8_lossy(&self.s.preimage).into_owned();
        }
    }

    fn note(&mut self, fields: Vec<ExplainedField>) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let preimage = text(&self.s.preimage);
        let content = text(self.s.content.get(super::derive::CONTENT_START..).unwrap_or_default());
        if let Some(trace) = &mut self.s.trace {
            trace.push(Trace { fields, preimage, content });
        }
    }

    fn fields(&self, scope: &Scope, root: u32, at: &str, values: &[Value]) -> Vec<ExplainedField> {
        let each = scope.fields.iter().zip(values);
        each.map(|(field, value)| self.explained_field(field, root, at, value)).collect()
    }

    fn explained_field(&self, field: &Field, root: u32, at: &str, value: &Value) -> ExplainedField {
        let token = self.s.tape.at(self.payload, root, &field.pointer.segments);
        let normalized = value.bytes(&self.s.output.bytes);
        ExplainedField {
            name: field.name.clone(),
            pointer: format!("{at}{}", field.pointer.text),
            sent: token.map(|token| as_sent(&self.s.tape, self.payload, token)),
            normalized: (value.form != Form::Absent)
                .then(|| String::from_utf8_lossy(normalized).into_owned()),
        }
    }
}

/// A value as it was sent, the escapes of a string undone.
fn as_sent(tape: &Tape, payload: &[u8], index: u32) -> String {
    let token = tape.token(index);
    let text = match token.kind {
        Kind::Decoded => tape.text(payload, token),
        _ => &payload[token.start as usize..token.end as usize],
    };
    let text = String::from_utf8_lossy(text);
    match token.kind {
        Kind::Text | Kind::Decoded => format!("{text:?}"),
        _ => text.into_owned(),
    }
}
