//! Where two deliveries of one event differ: JSON pointers, never a value.
//!
//! What a recipe normalizes, sorts or ignores is no difference, as in the content digest. For a
//! person who has to judge a conflict; no record is keyed here.

use super::explain::explain;
use super::json::{Kind, Tape, Token};
use super::recipe::Recipe;
use std::sync::Arc;

/// One delivery of an event.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// The record's value.
    pub payload: &'a [u8],
    /// Index of the event within the record; 0 in granularity `record`.
    pub item: usize,
}

/// Pointers of the members in which the canonical contents of two deliveries differ, in order;
/// none where their digests agree. In granularity `items` the pointers begin at the item, and in
/// a list whose order means nothing the index is that of the sorted list.
///
/// `None` where one of the two is rejected by the recipe or has no such item.
pub fn differing_members(
    recipe: &Arc<Recipe>,
    first: Delivery<'_>,
    second: Delivery<'_>,
) -> Option<Vec<String>> {
    let contents = [content(recipe, first)?, content(recipe, second)?];
    let mut tapes = [Tape::default(), Tape::default()];
    for (tape, content) in tapes.iter_mut().zip(&contents) {
        tape.read(content.as_bytes()).ok()?;
    }
    let [a, b] = [0, 1].map(|n| Side { tape: &tapes[n], text: contents[n].as_bytes() });
    let mut differing = Vec::new();
    compare(&a, &b, a.tape.token(0), b.tape.token(0), "", &mut differing);
    Some(differing)
}

/// The canonical content of one event. An event of which nothing is left has none.
fn content(recipe: &Arc<Recipe>, delivery: Delivery<'_>) -> Option<String> {
    let events = explain(recipe.clone(), delivery.payload).ok()?;
    let event = events.into_iter().nth(delivery.item)?.ok()?;
    Some(if event.content.is_empty() { "{}".to_owned() } else { event.content })
}

struct Side<'a> {
    tape: &'a Tape,
    text: &'a [u8],
}

fn compare(a: &Side<'_>, b: &Side<'_>, at: Token, bt: Token, path: &str, out: &mut Vec<String>) {
    match (at.kind, bt.kind) {
        (Kind::Object, Kind::Object) => objects(a, b, at, bt, path, out),
        (Kind::Array, Kind::Array) if at.count == bt.count => {
            let pairs = a.tape.elements_of(at).iter().zip(b.tape.elements_of(bt));
            for (nth, (one, other)) in pairs.enumerate() {
                let (one, other) = (a.tape.token(*one), b.tape.token(*other));
                compare(a, b, one, other, &format!("{path}/{nth}"), out);
            }
        }
        (Kind::Null, Kind::Null) | (Kind::True, Kind::True) | (Kind::False, Kind::False) => {}
        (Kind::Number, Kind::Number) | (Kind::Text | Kind::Decoded, Kind::Text | Kind::Decoded)
            if a.tape.text(a.text, at) == b.tape.text(b.text, bt) => {}
        _ => out.push(path.to_owned()),
    }
}

fn objects(a: &Side<'_>, b: &Side<'_>, at: Token, bt: Token, path: &str, out: &mut Vec<String>) {
    let names = |side: &Side<'_>, token| -> Vec<(String, Token)> {
        let members = side.tape.members_of(token).iter();
        members
            .map(|member| {
                let name = side.tape.name(side.text, member);
                (String::from_utf8_lossy(name).into_owned(), side.tape.token(member.value))
            })
            .collect()
    };
    let (mine, theirs) = (names(a, at), names(b, bt));
    let (mut mine, mut theirs) = (mine.into_iter().peekable(), theirs.into_iter().peekable());
    loop {
        let order = match (mine.peek(), theirs.peek()) {
            (None, None) => return,
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some((one, _)), Some((other, _))) => one.cmp(other),
        };
        let one = if order.is_le() { mine.next() } else { None };
        let other = if order.is_ge() { theirs.next() } else { None };
        match (one, other) {
            (Some((name, one)), Some((_, other))) => {
                compare(a, b, one, other, &below(path, &name), out);
            }
            (Some((name, _)), None) | (None, Some((name, _))) => out.push(below(path, &name)),
            (None, None) => return,
        }
    }
}

/// A pointer one member further (RFC 6901, section 3).
fn below(path: &str, name: &str) -> String {
    format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"))
}
