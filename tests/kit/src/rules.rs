//! The rules that a document tells, as a table and as commands of `kafka-acls.sh`, so that a test
//! can hold the document to its word. Talks to no cluster.

use std::collections::BTreeMap;

use crate::error::{KitError, Result};
use crate::topics::{Acl, Operation, Resource};

/// The rules by what they are for.
pub type Rules = BTreeMap<String, Vec<Acl>>;

/// Reads every line `acls ...` below a heading `### NAME`, as `NAME`.
pub fn of_commands(document: &str, principal: &str) -> Result<Rules> {
    let mut rules = Rules::new();
    let mut heading = String::new();
    for line in document.lines() {
        if let Some(name) = line.strip_prefix("### ") {
            heading = name.to_owned();
        }
        if let Some(arguments) = line.strip_prefix("acls ") {
            let acls = of_command(arguments, principal)?;
            rules.entry(heading.clone()).or_default().extend(acls);
        }
    }
    Ok(rules)
}

/// `--operation A --operation B --topic T --topic U` gives four rules.
fn of_command(arguments: &str, principal: &str) -> Result<Vec<Acl>> {
    let unknown = |word: &str| KitError::new(format!("{word:?} in: acls {arguments}"));
    let (mut operations, mut resources, mut prefixed) = (Vec::new(), Vec::new(), false);
    let mut words = arguments.split_whitespace();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| unknown(word));
        match word {
            "--operation" => operations.push(operation(value()?).ok_or_else(|| unknown(word))?),
            "--topic" => resources.push((Resource::Topic, value()?)),
            "--group" => resources.push((Resource::Group, value()?)),
            "--transactional-id" => resources.push((Resource::TransactionalId, value()?)),
            "--cluster" => resources.push((Resource::Cluster, "")),
            "--resource-pattern-type" => prefixed = value()? == "prefixed",
            other => return Err(unknown(other)),
        }
    }
    let mut acls = Vec::new();
    for (resource, name) in resources {
        for operation in &operations {
            acls.push(Acl {
                principal: principal.to_owned(),
                resource,
                name: name.to_owned(),
                prefixed,
                operation: *operation,
            });
        }
    }
    Ok(acls)
}

/// Reads the table whose first column is headed `right to`: one column a purpose, one row a
/// resource as `topic lab.raw`, with `prefix` before a name that is the beginning of names.
pub fn of_table(document: &str, principal: &str) -> Result<Rules> {
    let mut rows = document
        .lines()
        .skip_while(|line| !line.starts_with("| right to |"))
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>());
    let purposes = rows.next().ok_or_else(|| KitError::new("there is no table of rights"))?;
    let mut rules = Rules::new();
    for row in rows.skip(1) {
        let words: Vec<&str> = row[0].split(' ').map(|word| word.trim_matches('`')).collect();
        let (resource, name, prefixed) = match words[..] {
            ["topic", name] => (Resource::Topic, name, false),
            ["group", name] => (Resource::Group, name, false),
            ["transactional", "id", name] => (Resource::TransactionalId, name, false),
            ["transactional", "id", "prefix", name] => (Resource::TransactionalId, name, true),
            ["cluster"] => (Resource::Cluster, "", false),
            _ => return Err(KitError::new(format!("unknown resource: {}", row[0]))),
        };
        for (purpose, cell) in purposes.iter().zip(&row).skip(1) {
            for right in cell.split(", ").filter(|right| !right.is_empty()) {
                let operation = operation(right)
                    .ok_or_else(|| KitError::new(format!("unknown right: {right}")))?;
                rules.entry((*purpose).to_owned()).or_default().push(Acl {
                    principal: principal.to_owned(),
                    resource,
                    name: name.to_owned(),
                    prefixed,
                    operation,
                });
            }
        }
    }
    Ok(rules)
}

fn operation(name: &str) -> Option<Operation> {
    Operation::ALL.into_iter().find(|operation| format!("{operation:?}") == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_and_commands_say_the_same() {
        let document = "| right to | run | read |\n| --- | --- | --- |\n\
                        | topic `a.raw` | Read, Write | Read |\n\
                        | transactional id prefix `a-` | Write | |\n\
                        | cluster | DescribeConfigs | |\n\n\
                        ### run\nacls --operation Read --operation Write --topic a.raw\n\
                        acls --operation Write --transactional-id a- --resource-pattern-type prefixed\n\
                        acls --operation DescribeConfigs --cluster\n\
                        ### read\nacls --operation Read --topic a.raw\n";
        let table = of_table(document, "User:x").unwrap();
        assert_eq!(table, of_commands(document, "User:x").unwrap());
        assert_eq!((table["run"].len(), table["read"].len()), (4, 1));
        assert!(table["run"][2].prefixed);
        assert!(of_commands("acls --operation Fly --topic x", "User:x").is_err());
    }
}
