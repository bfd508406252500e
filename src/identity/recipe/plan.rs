//! The plan: a recipe's pointers as one tree, so that a document is gone through once.
//!
//! A node stands for a place in the document; it says what is done there and which members lead
//! on. Building the tree finds pointers that contradict each other. It holds no values.

use super::scope::{Items, Pointer, Scope, Shape};
use crate::identity::json::{Mark, index_of, prefix_of};

pub(crate) type NodeId = usize;

/// What is done with the value at a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Only a place on the way to others.
    Pass,
    /// The value of one field, by index, and how the content shows it.
    Field(usize, Mark),
    /// The value of several fields.
    Fields(Vec<usize>, Mark),
    /// Left out of the content digest.
    Ignore,
    /// The list of items, by the index of its pointer.
    Items(usize),
    /// Normalized where it stands, by index.
    InPlace(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub action: Action,
    /// What the content shows of the value, unless the action says otherwise.
    pub mark: Mark,
    /// The pointer of an object whose other members need a namespace.
    pub qualified: Option<Box<str>>,
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
    pub item: NodeId,
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

    pub(super) fn new(record: &Scope, items: Option<&Items>) -> Result<Plan, Clash> {
        let mut plan = Plan { nodes: Vec::new(), record: 0, item: 0 };
        plan.record = plan.push();
        plan.item = plan.push();
        if let Some(items) = items {
            for (index, pointer) in items.pointers.iter().enumerate() {
                plan.place(plan.record, pointer, Action::Items(index))?;
            }
            plan.add_tree(plan.item, &items.scope)?;
        }
        plan.add_tree(plan.record, record)?;
        for node in &mut plan.nodes {
            node.members.sort_by(|a, b| a.name.cmp(&b.name));
        }
        Ok(plan)
    }

    fn push(&mut self) -> NodeId {
        let (action, mark) = (Action::Pass, Mark::Literal);
        self.nodes.push(Node { action, mark, qualified: None, members: Vec::new(), each: None });
        self.nodes.len() - 1
    }

    fn add_tree(&mut self, root: NodeId, scope: &Scope) -> Result<(), Clash> {
        for (index, field) in scope.fields.iter().enumerate() {
            let mark = match &field.shape {
                Shape::Pick(_) => Mark::Unordered,
                Shape::Group(group) if group.open && group.unordered => Mark::Unordered,
                Shape::Group(group) if group.open => Mark::Literal,
                _ => Mark::LeftOut,
            };
            self.place(root, &field.pointer, Action::Field(index, mark))?;
        }
        for pointer in &scope.content.ignore {
            self.place(root, pointer, Action::Ignore)?;
        }
        for (index, member) in scope.content.in_place.iter().enumerate() {
            self.place(root, &member.pointer, Action::InPlace(index))?;
        }
        for (pointers, mark) in
            [(&scope.content.unordered, Mark::Unordered), (&scope.content.aside, Mark::Aside)]
        {
            for pointer in pointers {
                let node = self.reach(root, pointer)?;
                let node = &mut self.nodes[node];
                if node.action != Action::Pass || node.mark != Mark::Literal {
                    return Err(clash(
                        pointer,
                        "this member has another part in the recipe already",
                    ));
                }
                node.mark = mark;
            }
        }
        for pointer in &scope.content.qualified {
            let node = self.reach(root, pointer)?;
            self.nodes[node].qualified = Some(pointer.text.as_str().into());
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
        let step =
            Step { prefix: prefix_of(name), name: name.into(), index: index_of(segment), to };
        self.nodes[at].members.push(step);
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
            (Action::Fields(known, mark), Action::Field(more, same)) if *mark == same => {
                known.push(more)
            }
            (Action::Field(known, mark), Action::Field(more, same)) if *mark == same => {
                node.action = Action::Fields(vec![*known, more], same);
            }
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
