//! Shapes: which names an object has, and their order.
//!
//! Documents of one sender look alike, so the names of the last object in the same place are
//! expected first. An expectation is taken only where it proves right byte for byte, so what is
//! kept here has no influence on any answer, only on how soon it is there. An object of a known
//! shape has its members sorted, and no name twice, without looking at them again.

use super::tape::{Member, compare_names, name_in};
use std::cmp::Ordering;

/// A name stands twice in an object.
pub(super) struct Repeated;

/// How many shapes are kept, and of how many members each at most.
const KEPT: usize = 64;
const WIDTH: usize = 32;

/// The shapes that objects had of late.
#[derive(Debug)]
pub(crate) struct Shapes {
    kept: Vec<Shape>,
    /// How many objects of the document have begun.
    objects: usize,
    next_id: u32,
    /// Grows when the ids begin anew.
    pub epoch: u32,
}

/// The names of an object, as they stand in the document.
#[derive(Debug, Default)]
struct Shape {
    /// Never 0 for a shape that is kept.
    id: u32,
    names: Vec<Name>,
    /// For each place among the sorted members, the place in the document.
    order: Vec<u8>,
}

#[derive(Debug)]
struct Name {
    /// With both quotes.
    text: Vec<u8>,
    /// The first sixteen bytes, and which of them count.
    head: u128,
    mask: u128,
    prefix: u64,
}

/// The object that is being read: where its shape is kept, and whether it has followed it so far.
#[derive(Clone, Copy)]
pub(super) struct Expected {
    slot: usize,
    /// The shape that was kept there when the object began: an object within may have put its
    /// own in its place.
    id: u32,
    follows: bool,
}

impl Default for Shapes {
    fn default() -> Self {
        let kept = (0..KEPT).map(|_| Shape::default()).collect();
        Shapes { kept, objects: 0, next_id: 1, epoch: 0 }
    }
}

impl Shapes {
    /// A new document begins.
    pub fn begin(&mut self) {
        self.objects = 0;
        if self.next_id == u32::MAX {
            // Between documents only: within one, an id must stand for one shape.
            *self = Shapes { epoch: self.epoch.wrapping_add(1), ..Shapes::default() };
        }
    }

    /// A new object begins.
    #[inline]
    pub fn object(&mut self) -> Expected {
        self.objects += 1;
        let slot = self.objects % KEPT;
        let id = self.kept[slot].id;
        Expected { slot, id, follows: id != 0 }
    }

    /// If the expected name stands here, quotes and all: its length with them, and its prefix.
    /// Both are right whatever shape the name is of; whether all names were of one is judged when
    /// the object ends.
    #[inline]
    pub fn name_here(
        &self,
        expected: &mut Expected,
        place: usize,
        bytes: &[u8],
        at: usize,
    ) -> Option<(usize, u64)> {
        if !expected.follows {
            return None;
        }
        let found = self.kept[expected.slot].names.get(place).filter(|name| {
            let rest = bytes.get(at..).unwrap_or_default();
            match rest.first_chunk::<16>() {
                Some(head) if name.text.len() <= 16 => {
                    u128::from_le_bytes(*head) & name.mask == name.head
                }
                _ => rest.starts_with(&name.text),
            }
        });
        expected.follows = found.is_some();
        found.map(|name| (name.text.len(), name.prefix))
    }

    /// Appends the members of the object that ends, in the order of their names; the id of its
    /// shape, or 0. `texts`: the payload and the decoded bytes, where the names lie.
    pub fn append_sorted(
        &mut self,
        expected: Expected,
        texts: (&[u8], &[u8]),
        open: &mut [Member],
        sorted: &mut Vec<Member>,
    ) -> Result<u32, Repeated> {
        let shape = &self.kept[expected.slot];
        if expected.follows && shape.id == expected.id && shape.names.len() == open.len() {
            sorted.extend(shape.order.iter().map(|place| open[usize::from(*place)]));
            return Ok(shape.id);
        }
        for (place, member) in open.iter_mut().enumerate() {
            member.place = place as u16;
        }
        sort(texts, open);
        if open.windows(2).any(|pair| compare(texts, &pair[0], &pair[1]).is_eq()) {
            return Err(Repeated);
        }
        sorted.extend_from_slice(open);
        Ok(self.keep(expected.slot, texts.0, open))
    }

    /// Keeps the shape of sorted members, if it can be: its id, or 0.
    #[cold]
    fn keep(&mut self, slot: usize, payload: &[u8], sorted: &[Member]) -> u32 {
        let fits = |m: &Member| !m.decoded && m.end - m.start < 64;
        let exhausted = self.next_id == u32::MAX;
        if exhausted || sorted.is_empty() || sorted.len() > WIDTH || !sorted.iter().all(fits) {
            return 0;
        }
        let shape = &mut self.kept[slot];
        shape.id = self.next_id;
        self.next_id += 1;
        shape.order.clear();
        shape.order.extend(sorted.iter().map(|member| member.place as u8));
        shape.names.resize_with(sorted.len(), Name::default);
        for member in sorted {
            // Without escapes, a quote stands on either side of a name.
            let text = &payload[member.start as usize - 1..member.end as usize + 1];
            shape.names[usize::from(member.place)].set(text, member.prefix);
        }
        shape.id
    }
}

impl Default for Name {
    fn default() -> Self {
        Name { text: Vec::with_capacity(WIDTH), head: 0, mask: 0, prefix: 0 }
    }
}

impl Name {
    fn set(&mut self, text: &[u8], prefix: u64) {
        self.text.clear();
        self.text.extend_from_slice(text);
        self.prefix = prefix;
        let (mut head, mut mask) = ([0; 16], [0; 16]);
        for ((head, mask), byte) in head.iter_mut().zip(&mut mask).zip(text) {
            (*head, *mask) = (*byte, 0xFF);
        }
        (self.head, self.mask) = (u128::from_le_bytes(head), u128::from_le_bytes(mask));
    }
}

/// A plain insertion sort is the fastest for the few members that most objects have.
fn sort(texts: (&[u8], &[u8]), members: &mut [Member]) {
    if members.len() > WIDTH {
        members.sort_unstable_by(|a, b| compare(texts, a, b));
        return;
    }
    for sorted in 1..members.len() {
        let mut hole = sorted;
        while hole > 0 && compare(texts, &members[hole], &members[hole - 1]).is_lt() {
            members.swap(hole, hole - 1);
            hole -= 1;
        }
    }
}

#[inline]
fn compare((payload, decoded): (&[u8], &[u8]), a: &Member, b: &Member) -> Ordering {
    let name = |member| name_in(decoded, payload, member);
    compare_names((a.prefix, name(a)), (b.prefix, name(b)))
}
