//! The plan: a recipe's pointers as one tree, so that a document is gone through once.
//!
//! A node stands for a place in the document; it says what is done there and which members lead
//! on. Building the tree finds pointers that contradict each other. It holds no values.

use super::{Content, Field, Items, Pointer};
use crate::identity::json::prefix_of;

pub(crate) type NodeId = usize;

/// What is done with the value at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Only a place on the way to others.
    Pass,
    /// The value of these fields, by index.
    Fields(Vec<usize>),
    /// Left out of the content digest.
    Ignore,
    /// The list of items.
    Items,
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub action: Action,
    /// An array whose order means nothing.
    pub unordered: bool,
    /// Members that lead on, sorted by name.
    pub members: Vec<Step>,
    /// Where every element of an array leads (`*` in a pointer).
    pub each: Option<NodeId>,
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub prefix: u64,
    pub name: Box<[u8]>,
    /// The name as the index of an array's element.
    pub index: Option<usize>,
    pub to: NodeId,
}

/// The tree of a record and, where there are items, that of one item.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    nodes: Vec<Node>,
    pub record: NodeId,
    pub item: Option<NodeId>,
}

/// A pointer that cannot be used as it is, and why.
pub(super) struct Clash {
    pub pointer: Pointer,
    pub why: &'static str,
}

impl Plan {
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }

    pub(super) fn new(
        fields: &[Field],
        items: Option<&Items>,
        content: &Content,
        item_content: &Content,
    ) -> Result<Plan, Clash> {
        let mut plan = Plan { nodes: Vec::new(), record: 0, item: None };
        plan.record = plan.push();
        plan.add_tree(plan.record, fields, content)?;
        if let Some(items) = items {
            plan.place(plan.record, &items.pointer, Action::Items)?;
            let root = plan.push();
            plan.item = Some(root);
            plan.add_tree(root, &items.fields, item_content)?;
        }
        for node in &mut plan.nodes {
            node.members.sort_by(|a, b| a.name.cmp(&b.name));
        }
        Ok(plan)
    }

    fn push(&mut self) -> NodeId {
        self.nodes.push(Node {
            action: Action::Pass,
            unordered: false,
            members: Vec::new(),
            each: None,
        });
        self.nodes.len() - 1
    }

    fn add_tree(&mut self, root: NodeId, fields: &[Field], content: &Content) -> Result<(), Clash> {
        for (index, field) in fields.iter().enumerate() {
            self.place(root, &field.pointer, Action::Fields(vec![index]))?;
        }
        for pointer in &content.ignore {
            self.place(root, pointer, Action::Ignore)?;
        }
        for pointer in &content.unordered {
            let node = self.reach(root, pointer)?;
            if self.nodes[node].action != Action::Pass {
                return Err(clash(
                    pointer,
                    "what is part of the identity, or ignored, has no order of its own",
                ));
            }
            self.nodes[node].unordered = true;
        }
        Ok(())
    }

    /// The node of a pointer, made where it is not there yet. Nothing may lie below a node that
    /// is taken whole.
    fn reach(&mut self, root: NodeId, pointer: &Pointer) -> Result<NodeId, Clash> {
        let mut at = root;
        for segment in &pointer.segments {
            if self.nodes[at].action != Action::Pass {
                return Err(clash(pointer, "it lies within a member that is taken whole"));
            }
            at = self.step(at, segment);
        }
        Ok(at)
    }

    fn step(&mut self, at: NodeId, segment: &str) -> NodeId {
        if segment == "*" {
            if let Some(each) = self.nodes[at].each {
                return each;
            }
            let to = self.push();
            self.nodes[at].each = Some(to);
            return to;
        }
        let name = segment.as_bytes();
        if let Some(step) = self.nodes[at].members.iter().find(|s| s.name.as_ref() == name) {
            return step.to;
        }
        let to = self.push();
        let canonical = segment == "0" || !segment.starts_with('0');
        let digits = segment.bytes().all(|b| b.is_ascii_digit());
        let index = if canonical && digits { segment.parse().ok() } else { None };
        self.nodes[at].members.push(Step { prefix: prefix_of(name), name: name.into(), index, to });
        to
    }

    fn place(&mut self, root: NodeId, pointer: &Pointer, action: Action) -> Result<(), Clash> {
        let at = self.reach(root, pointer)?;
        let node = &mut self.nodes[at];
        if !node.members.is_empty() || node.each.is_some() {
            return Err(clash(
                pointer,
                "another pointer lies within this member, which is taken whole",
            ));
        }
        match (&mut node.action, action) {
            (Action::Fields(known), Action::Fields(more)) => known.extend(more),
            (slot @ Action::Pass, action) => *slot = action,
            _ => {
                return Err(clash(pointer, "this member has another part in the recipe already"));
            }
        }
        Ok(())
    }
}

fn clash(pointer: &Pointer, why: &'static str) -> Clash {
    Clash { pointer: pointer.clone(), why }
}
