//! Identity: from the bytes of a record to its event keys. (Placeholder until the room is merged.)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EventKey([u8; 32]);
impl EventKey {
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ContentDigest([u8; 16]);
impl ContentDigest {
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    Json,
}
impl Reason {
    pub fn as_str(&self) -> &'static str {
        "json"
    }
}
#[derive(Clone, Debug)]
pub struct Rejection {
    pub reason: Reason,
}
impl std::fmt::Display for Rejection {
    fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}
pub struct ItemSpan {
    pub element: std::ops::Range<usize>,
    pub array: std::ops::Range<usize>,
}
pub struct Event<'d> {
    pub key: EventKey,
    pub digest: ContentDigest,
    pub event_time_micros: Option<i64>,
    pub prefix: &'d str,
    pub item: Option<ItemSpan>,
}
pub struct Events<'d>(&'d ());
impl Events<'_> {
    pub fn iter(&self) -> impl Iterator<Item = Result<Event<'_>, &Rejection>> {
        std::iter::empty()
    }
}
pub struct Recipe;
impl Recipe {
    pub fn fingerprint(&self) -> [u8; 32] {
        [0; 32]
    }
    pub fn name(&self) -> &str {
        ""
    }
    pub fn version(&self) -> u32 {
        1
    }
    pub fn event_time_field(&self) -> Option<&str> {
        None
    }
    pub fn parse(_s: &str, _t: &str) -> Result<Recipe, RecipeError> {
        Ok(Recipe)
    }
}
pub struct RecipeError {
    pub line: Option<usize>,
    pub message: String,
}
pub struct Deriver;
impl Deriver {
    pub fn new(_r: std::sync::Arc<Recipe>) -> Self {
        Deriver
    }
    pub fn derive<'d>(&'d mut self, _p: &[u8]) -> Result<Events<'d>, Rejection> {
        Ok(Events(&()))
    }
}
