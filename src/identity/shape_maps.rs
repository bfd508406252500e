//! Where the steps of a plan's node lie in objects of one shape.
//!
//! Objects of one shape have the same names in the same order, so what was found by comparing
//! names once holds for all of them. Nothing here is looked at unless node and shape are the same.

use super::recipe::NodeId;

/// How many are kept; the id of a shape says where.
const KEPT: usize = 128;

#[derive(Debug, Default)]
pub(crate) struct Maps {
    kept: Vec<Map>,
    epoch: u32,
    /// Pairs of the nodes that are being gone along, the innermost last.
    pending: Vec<(u32, u32)>,
}

/// Pairs of a node that is led to and a member, in the order of the names.
#[derive(Debug, Default)]
struct Map {
    node: NodeId,
    /// 0: nothing is kept here.
    shape: u32,
    pairs: Vec<(u32, u32)>,
}

impl Maps {
    #[inline]
    fn slot(shape: u32) -> usize {
        shape as usize % KEPT
    }

    /// Whether objects of this shape were gone along before, from this node.
    #[inline]
    pub fn knows(&self, node: NodeId, shape: u32, epoch: u32) -> bool {
        let same = |map: &Map| map.shape == shape && map.node == node && self.epoch == epoch;
        self.kept.get(Self::slot(shape)).is_some_and(same)
    }

    /// Begins to note what is found; what is given back says where the notes begin.
    pub fn begin(&mut self) -> usize {
        self.pending.len()
    }

    /// A node that is led to, and the member that it speaks of.
    pub fn note(&mut self, to: NodeId, member: u32) {
        self.pending.push((to as u32, member));
    }

    /// All has been noted without a fault: the notes are kept, if the shape has an id.
    pub fn finish(&mut self, begun: usize, node: NodeId, shape: u32, epoch: u32) {
        if self.epoch != epoch || self.kept.is_empty() {
            self.kept.clear();
            self.kept.resize_with(KEPT, Map::default);
            self.epoch = epoch;
        }
        if shape != 0 {
            let map = &mut self.kept[Self::slot(shape)];
            (map.node, map.shape) = (node, shape);
            map.pairs.clear();
            map.pairs.extend_from_slice(&self.pending[begun..]);
        }
        self.pending.truncate(begun);
    }

    /// A document ended, perhaps with a fault.
    pub fn clear(&mut self) {
        self.pending.clear();
    }

    /// Begins to follow what is kept of a known shape: the notes from here on are its pairs. They
    /// are copied, since a nested object may take the place of the shape.
    #[inline]
    pub fn recall(&mut self, shape: u32) -> usize {
        let begun = self.pending.len();
        self.pending.extend_from_slice(&self.kept[Self::slot(shape)].pairs);
        begun
    }

    /// The pair at a place of the notes: a node that is led to, and a member.
    #[inline]
    pub fn noted(&self, at: usize) -> Option<(NodeId, usize)> {
        self.pending.get(at).map(|(to, member)| (*to as NodeId, *member as usize))
    }

    /// The notes from here on have served.
    pub fn forget(&mut self, begun: usize) {
        self.pending.truncate(begun);
    }
}
