//! Rules between routes: no two of one name, no topic in two roles.
//! Must not be in here: rules within one route.

use super::document::Document;
use super::model::{RouteSettings, TopicRole};
use super::route::ReadRoute;
use std::collections::HashMap;

/// The routes of a file, and what their names and topics are taken for.
pub struct Roles<'a, 't> {
    document: &'a Document<'t>,
    names: HashMap<String, usize>,
    topics: HashMap<String, Taken>,
    routes: Vec<RouteSettings>,
}

#[derive(Clone)]
struct Taken {
    role: TopicRole,
    route: String,
    at: usize,
}

impl<'a, 't> Roles<'a, 't> {
    /// No routes yet.
    pub fn new(document: &'a Document<'t>) -> Roles<'a, 't> {
        let (names, topics, routes) = (HashMap::new(), HashMap::new(), Vec::new());
        Roles { document, names, topics, routes }
    }

    /// Adds a route.
    pub fn add(&mut self, route: ReadRoute) {
        if let Some(name) = &route.name {
            let at = name.span().start;
            if let Some(before) = self.names.insert(name.get_ref().clone(), at) {
                let what = format!("there are two routes `{}`", name.get_ref());
                let before = self.document.seen_from(before, at);
                let meant = format!("the other is named in {before}");
                self.document.fault(name.span(), what, meant);
                return;
            }
        }
        let route_name = route.name.map_or_else(String::new, toml::Spanned::into_inner);
        for (role, topic) in &route.topics {
            let at = topic.span().start;
            let taken = Taken { role: *role, route: route_name.clone(), at };
            let Some(before) = self.topics.get(topic.get_ref()) else {
                self.topics.insert(topic.get_ref().clone(), taken);
                continue;
            };
            if before.role == TopicRole::Raw && *role == TopicRole::Raw {
                continue;
            }
            let what = match (before.role, *role) {
                (TopicRole::Clean, TopicRole::Clean) => {
                    format!("two routes into one clean topic, `{}`", topic.get_ref())
                }
                (one, other) if one == other => {
                    format!("two routes share the {other} topic `{}`", topic.get_ref())
                }
                (_, other) => {
                    format!("the {other} topic `{}` has another role already", topic.get_ref())
                }
            };
            let (role, route) = (before.role, &before.route);
            let before = self.document.seen_from(before.at, at);
            let meant = format!("it is the {role} topic of route `{route}` ({before})");
            self.document.fault(topic.span(), what, meant);
        }
        self.routes.extend(route.settings);
    }

    /// The routes without faults.
    pub fn finish(self) -> Vec<RouteSettings> {
        self.routes
    }
}
