//! Goes through a document along the plan: finds the fields and marks what the content shows.
//!
//! One walk for the record and one for each item; both sides are sorted by name, so each object
//! is gone along once. Nothing is normalized here.

use super::json::{Kind, Mark, Member, Tape, Token, compare_names};
use super::recipe::{Action, Node, NodeId, Plan};
use super::reject::{Fault, Reason, fault};
use super::shape_maps::Maps;
use std::cmp::Ordering;

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
    pub maps: &'a mut Maps,
    pub list: Option<Found>,
    /// Two lists were found.
    pub second_list: bool,
}

const QUALIFIED: &str = "a member that the recipe does not know has a namespace";

/// A fault at a place of the plan, named by its pointer.
pub(crate) type Misplaced<'p> = Box<(&'p str, Fault)>;

impl<'a> Resolver<'a> {
    pub fn visit(&mut self, id: NodeId, index: u32) -> Result<(), Misplaced<'a>> {
        let node = self.plan.node(id);
        if self.take(node, index) {
            return Ok(());
        }
        if node.mark != Mark::Literal {
            self.tape.set_mark(index, node.mark);
        }
        match self.tape.token(index).kind {
            Kind::Object => self.members(id, index),
            Kind::Array => self.elements(node, index),
            _ => Ok(()),
        }
    }

    /// Does what the node says about a value that is taken whole. Whether it was one.
    #[inline(always)]
    fn take(&mut self, node: &Node, index: u32) -> bool {
        match &node.action {
            Action::Pass => return false,
            Action::Field(field, mark) => {
                self.slots[*field] = index;
                self.tape.set_mark(index, *mark);
            }
            Action::Fields(fields, mark) => {
                fields.iter().for_each(|field| self.slots[*field] = index);
                self.tape.set_mark(index, *mark);
            }
            Action::Ignore => self.tape.set_mark(index, Mark::LeftOut),
            Action::Items(pointer) => {
                self.second_list |= self.list.is_some();
                self.list = Some(Found { token: index, pointer: *pointer });
            }
            Action::InPlace(normalizer) => self.in_place.push((index, *normalizer)),
        }
        true
    }

    fn members(&mut self, node: NodeId, index: u32) -> Result<(), Misplaced<'a>> {
        let token = self.tape.token(index);
        if token.shape != 0 && self.maps.knows(node, token.shape, self.tape.epoch()) {
            return self.follow(token);
        }
        let begun = self.maps.begin();
        let steps = &self.plan.node(node).members;
        let (mut step, mut member) = (0, 0);
        while member < token.count {
            let m = self.tape.members[(token.first + member) as usize];
            let order = match steps.get(step) {
                None => Ordering::Greater,
                Some(s) => {
                    let name = self.tape.name(self.payload, &m);
                    compare_names((s.prefix, &s.name), (m.prefix, name))
                }
            };
            if order.is_eq() {
                self.maps.note(steps[step].to, member);
                self.step(steps[step].to, m.value)?;
            } else if order.is_gt() {
                self.check_namespace(node, &m)?;
            }
            step += usize::from(order.is_le());
            member += u32::from(order.is_ge());
        }
        self.maps.finish(begun, node, token.shape, self.tape.epoch());
        Ok(())
    }

    /// The same for an object whose shape was gone along before.
    fn follow(&mut self, token: Token) -> Result<(), Misplaced<'a>> {
        let begun = self.maps.recall(token.shape);
        let mut at = begun;
        while let Some((to, member)) = self.maps.noted(at) {
            let value = self.tape.members[token.first as usize + member].value;
            self.step(to, value)?;
            at += 1;
        }
        self.maps.forget(begun);
        Ok(())
    }

    #[inline]
    fn step(&mut self, to: NodeId, value: u32) -> Result<(), Misplaced<'a>> {
        match self.take(self.plan.node(to), value) {
            true => Ok(()),
            false => self.visit(to, value),
        }
    }

    fn check_namespace(&self, node: NodeId, member: &Member) -> Result<(), Misplaced<'a>> {
        match &self.plan.node(node).qualified {
            Some(pointer) if !self.tape.name(self.payload, member).contains(&b':') => {
                Err(Box::new((pointer.as_ref(), fault!(Reason::Json, QUALIFIED))))
            }
            _ => Ok(()),
        }
    }

    fn elements(&mut self, node: &'a Node, index: u32) -> Result<(), Misplaced<'a>> {
        let token = self.tape.token(index);
        for step in &node.members {
            if let Some(element) =
                step.index.and_then(|at| self.tape.elements_of(token).get(at).copied())
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
