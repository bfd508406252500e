//! Names of the form `prefix:local`, by the bindings of a JSON-LD context.
//!
//! One prefix can stand for two namespaces in two documents, and two prefixes for one, so a name
//! is only itself once it is expanded (JSON-LD 1.1, section 3.2). Contexts that are only named by
//! their address are not fetched: the recipe states what they bind.

use super::json::{Kind, Tape, Token};
use super::recipe::Namespaces;

/// The bindings of a document and of the item at hand, the innermost last.
#[derive(Debug, Default)]
pub(crate) struct Bindings {
    /// Index of the member that binds, and the token of the namespace.
    bound: Vec<(u32, u32)>,
}

impl Bindings {
    pub fn clear(&mut self) {
        self.bound.clear();
    }

    pub fn len(&self) -> usize {
        self.bound.len()
    }

    pub fn truncate(&mut self, len: usize) {
        self.bound.truncate(len);
    }

    /// Takes up what a context, or a list of them, binds.
    pub fn add(&mut self, tape: &Tape, payload: &[u8], root: u32, namespaces: &Namespaces) {
        let Some(context) = tape.at(payload, root, &namespaces.pointer.segments) else {
            return;
        };
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
    }

    fn add_object(&mut self, tape: &Tape, payload: &[u8], object: Token) {
        for (place, member) in tape.members_of(object).iter().enumerate() {
            let value = tape.token(member.value);
            let namespace = match value.kind {
                Kind::Text | Kind::Decoded => Some(member.value),
                Kind::Object => tape.find(payload, value, super::json::prefix_of(b"@id"), b"@id"),
                _ => None,
            };
            if let Some(namespace) = namespace {
                self.bound.push((object.first + place as u32, namespace));
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
        let bound = self.bound.iter().rev().find_map(|(member, namespace)| {
            let binds = tape.name(payload, &tape.members[*member as usize]) == prefix;
            let namespace = tape.token(*namespace);
            let text = matches!(namespace.kind, Kind::Text | Kind::Decoded);
            (binds && text).then(|| tape.text(payload, namespace))
        });
        let known = || {
            let at = known.binary_search_by(|(known, _)| known.as_bytes().cmp(prefix)).ok()?;
            Some(known[at].1.as_bytes())
        };
        Some((bound.or_else(known)?, local))
    }
}
