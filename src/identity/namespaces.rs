//! Names of the form `prefix:local`, by the bindings of a JSON-LD context.
//!
//! One prefix can stand for two namespaces in two documents, and two prefixes for one, so a name
//! is only itself once it is expanded (JSON-LD 1.1, section 3.2). Contexts that are only named by
//! their address are not fetched: the recipe states what they bind.
//!
//! Bindings are sorted by prefix, so that many names cost little. Nothing is written here.

use super::json::{Kind, Tape, Token};
use super::recipe::Namespaces;

/// The bindings of a document, then those of the item at hand, which go before them.
#[derive(Debug, Default)]
pub(crate) struct Bindings {
    /// Two runs, each sorted by prefix, no prefix twice in one.
    bound: Vec<Bound>,
    /// Where the item's begin.
    outer: usize,
}

#[derive(Clone, Copy, Debug)]
struct Bound {
    /// Index of the member that binds.
    member: u32,
    /// The token of the namespace, which is a text.
    namespace: u32,
}

impl Bindings {
    pub fn clear(&mut self) {
        self.bound.clear();
        self.outer = 0;
    }

    /// Takes up what the context of the record binds.
    pub fn enter_record(&mut self, tape: &Tape, payload: &[u8], namespaces: &Namespaces) {
        self.clear();
        self.add(tape, payload, 0, namespaces);
        self.outer = self.bound.len();
    }

    /// Takes up what the context of an item binds, in the place of the item before.
    pub fn enter_item(&mut self, tape: &Tape, payload: &[u8], item: u32, namespaces: &Namespaces) {
        self.bound.truncate(self.outer);
        self.add(tape, payload, item, namespaces);
    }

    /// Takes up what a context, or a list of them, binds; of two bindings of a prefix the later
    /// holds.
    fn add(&mut self, tape: &Tape, payload: &[u8], root: u32, namespaces: &Namespaces) {
        let Some(context) = tape.at(payload, root, &namespaces.pointer.segments) else {
            return;
        };
        let begin = self.bound.len();
        let token = tape.token(context);
        match token.kind {
            Kind::Object => self.add_object(tape, payload, token),
            Kind::Array => {
                for element in tape.elements_of(token) {
                    self.add_object(tape, payload, tape.token(*element));
                }
            }
            _ => {}
        }
        let prefix = |bound: &Bound| tape.name(payload, &tape.members[bound.member as usize]);
        // Members of an object that stands later have higher indices.
        self.bound[begin..].sort_unstable_by(|a, b| {
            prefix(a).cmp(prefix(b)).then_with(|| a.member.cmp(&b.member))
        });
        let mut kept = begin;
        for at in begin..self.bound.len() {
            let bound = self.bound[at];
            match kept > begin && prefix(&self.bound[kept - 1]) == prefix(&bound) {
                true => self.bound[kept - 1] = bound,
                false => {
                    self.bound[kept] = bound;
                    kept += 1;
                }
            }
        }
        self.bound.truncate(kept);
    }

    fn add_object(&mut self, tape: &Tape, payload: &[u8], object: Token) {
        for (place, member) in tape.members_of(object).iter().enumerate() {
            let value = tape.token(member.value);
            let namespace = match value.kind {
                Kind::Object => tape.find(payload, value, super::json::prefix_of(b"@id"), b"@id"),
                _ => Some(member.value),
            };
            let is_text =
                |token: &u32| matches!(tape.token(*token).kind, Kind::Text | Kind::Decoded);
            if let Some(namespace) = namespace.filter(is_text) {
                self.bound.push(Bound { member: object.first + place as u32, namespace });
            }
        }
    }

    /// The namespace and the local part of a name whose prefix is bound.
    pub fn expand<'a>(
        &self,
        tape: &'a Tape,
        payload: &'a [u8],
        known: &'a [(String, String)],
        name: &'a [u8],
    ) -> Option<(&'a [u8], &'a [u8])> {
        let colon = name.iter().position(|b| *b == b':')?;
        let (prefix, local) = (&name[..colon], &name[colon + 1..]);
        // `scheme://…` is a whole name (section 3.2 again).
        if local.starts_with(b"//") {
            return None;
        }
        let (outer, inner) = self.bound.split_at(self.outer);
        let bound = [inner, outer].into_iter().find_map(|bound| {
            let member = |bound: &Bound| &tape.members[bound.member as usize];
            let at = bound.binary_search_by(|b| tape.name(payload, member(b)).cmp(prefix)).ok()?;
            Some(tape.text(payload, tape.token(bound[at].namespace)))
        });
        let known = || {
            let at = known.binary_search_by(|(known, _)| known.as_bytes().cmp(prefix)).ok()?;
            Some(known[at].1.as_bytes())
        };
        Some((bound.or_else(known)?, local))
    }
}
