//! Several files as one tree: tables are laid together, lists of tables go on.
//! Must not be in here: what a key means.

use super::document::Document;
use toml::de::{DeArray, DeTable, DeValue};

/// Lays `more` into `whole`. A setting that both have is a fault that names both places.
pub fn merge<'t>(document: &Document<'t>, whole: &mut DeTable<'t>, more: DeTable<'t>) {
    for (key, value) in more {
        let Some(before) = whole.get_mut(&**key.get_ref()) else {
            whole.insert(key, value);
            continue;
        };
        let (at, before_at) = (value.span(), before.span());
        match (before.get_mut(), value.into_inner()) {
            (DeValue::Table(before), DeValue::Table(more)) => merge(document, before, more),
            (DeValue::Array(before), DeValue::Array(more))
                if is_list_of_tables(before) && is_list_of_tables(&more) =>
            {
                more.into_iter().for_each(|element| before.push(element));
            }
            _ => {
                let what = format!("`{}` is set in two files", key.get_ref());
                let meant =
                    format!("the other is {}", document.seen_from(before_at.start, at.start));
                document.fault(at, what, meant);
            }
        }
    }
}

fn is_list_of_tables(list: &DeArray<'_>) -> bool {
    list.iter().all(|element| element.get_ref().as_table().is_some())
}
