//! Goes through a document along the plan: finds the fields and marks what the content shows.
//!
//! One walk for the record and one for each item; both sides are sorted by name, so each object
//! is gone along once. Nothing is normalized here.

use super::json::{Kind, Mark, Member, Tape};
use super::recipe::{Action, Node, NodeId, Plan};
use super::reject::{Fault, Reason};

/// No token.
pub(crate) const NONE: u32 = u32::MAX;

/// The list of items, where one was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found {
    pub token: u32,
    /// The index of its pointer.
    pub pointer: usize,
}

/// What a walk fills in.
pub(crate) struct Resolver<'a> {
    pub tape: &'a mut Tape,
    pub payload: &'a [u8],
    pub plan: &'a Plan,
    /// The token of each field; `NONE` where absent.
    pub slots: &'a mut [u32],
    /// Tokens to be normalized where they stand, and by which normalizer.
    pub in_place: &'a mut Vec<(u32, usize)>,
    pub list: Option<Found>,
    /// Two lists were found.
    pub second_list: bool,
}

const QUALIFIED: &str = "a member that the recipe does not know has a namespace";

/// A fault at a place of the plan, named by its pointer.
pub(crate) type Misplaced<'p> = (&'p str, Fault);

impl<'a> Resolver<'a> {
    pub fn visit(&mut self, node: NodeId, index: u32) -> Result<(), Misplaced<'a>> {
        let node = self.plan.node(node);
        let token = self.tape.token(index);
        match &node.action {
            Action::Pass => {}
            Action::Fields(fields, mark) => {
                fields.iter().for_each(|field| self.slots[*field] = index);
                self.tape.set_mark(index, *mark);
                return Ok(());
            }
            Action::Ignore => {
                self.tape.set_mark(index, Mark::LeftOut);
                return Ok(());
            }
            Action::Items(pointer) => {
                self.second_list |= self.list.is_some();
                self.list = Some(Found {
                    token: index,
                    pointer: *pointer,
                });
                return Ok(());
            }
            Action::InPlace(normalizer) => {
                self.in_place.push((index, *normalizer));
                return Ok(());
            }
        }
        if node.mark != Mark::Literal {
            self.tape.set_mark(index, node.mark);
        }
        match token.kind {
            Kind::Object => self.members(node, index),
            Kind::Array => self.elements(node, index),
            _ => Ok(()),
        }
    }

    fn members(&mut self, node: &'a Node, index: u32) -> Result<(), Misplaced<'a>> {
        let token = self.tape.token(index);
        let (mut step, mut member) = (0, 0);
        while member < token.count {
            let m = self.tape.members[(token.first + member) as usize];
            let Some(s) = node.members.get(step) else {
                if node.qualified.is_none() {
                    break;
                }
                self.check_namespace(node, &m)?;
                member += 1;
                continue;
            };
            let name = || s.name.as_ref().cmp(self.tape.name(self.payload, &m));
            let order = s.prefix.cmp(&m.prefix).then_with(name);
            if order.is_eq() {
                self.visit(s.to, m.value)?;
            } else if order.is_gt() {
                self.check_namespace(node, &m)?;
            }
            step += usize::from(order.is_le());
            member += u32::from(order.is_ge());
        }
        Ok(())
    }

    fn check_namespace(&self, node: &'a Node, member: &Member) -> Result<(), Misplaced<'a>> {
        match &node.qualified {
            Some(pointer) if !self.tape.name(self.payload, member).contains(&b':') => {
                Err((pointer, Fault::new(Reason::Json, QUALIFIED)))
            }
            _ => Ok(()),
        }
    }

    fn elements(&mut self, node: &'a Node, index: u32) -> Result<(), Misplaced<'a>> {
        let token = self.tape.token(index);
        for step in &node.members {
            if let Some(element) = step
                .index
                .and_then(|at| self.tape.elements_of(token).get(at).copied())
            {
                self.visit(step.to, element)?;
            }
        }
        if let Some(each) = node.each {
            for at in 0..token.count {
                let element = self.tape.elements[(token.first + at) as usize];
                self.visit(each, element)?;
            }
        }
        Ok(())
    }
}
