//! What a hostile document costs: time and memory grow with its bytes, and what would not is refused.
//!
//! Counts and sizes, never a clock: what is compared is how much work grows.

mod support;

use oncegate::identity::{Deriver, Reason, explain};
use std::fmt::Write;
use support::{Answer, answers, recipe};

fn event(extensions: &str) -> String {
    format!(
        r#"{{"type":"ObjectEvent","eventTime":"2026-07-01T10:00:00Z","action":"OBSERVE","epcList":["urn:epc:id:sgtin:030093.0005801.SN1"]{extensions}}}"#
    )
}

fn document(context: &str, events: &[String]) -> String {
    let events = events.join(",");
    format!(
        r#"{{"@context":{context},"type":"EPCISDocument","epcisBody":{{"eventList":[{events}]}}}}"#
    )
}

fn derive(document: &str) -> Vec<Answer> {
    answers(&mut Deriver::new(recipe("epcis-document")), document.as_bytes())
}

/// Each of a thousand names writes its namespace anew: 4 GB for a record of half a megabyte, and
/// then spans that no longer fitted into 32 bits.
#[test]
fn a_namespace_has_a_length_at_which_it_can_be_written_for_every_name() {
    let members = |n: usize| (0..n).map(|i| format!(",\"p:{i}\":1")).collect::<String>();
    let context = |length: usize| {
        let namespace = format!("http://{}", "a".repeat(length - 7));
        format!("{{\"p\":\"{namespace}\",\"q\":{{\"@id\":\"{namespace}\"}}}}")
    };
    let long = document(&context(513), &[event(""), event(&members(2)), event(",\"q:a\":{}")]);
    let answers = derive(&long);
    assert!(answers[0].is_ok(), "a namespace that no name uses does no harm");
    let rejection = answers[1].clone().unwrap_err();
    assert_eq!((rejection.reason, rejection.pointer()), (Reason::Json, "/epcisBody/eventList/1"));
    assert!(rejection.rule().contains("namespace"));
    assert!(answers[2].is_err());
    assert!(derive(&document(&context(512), &[event(&members(2))]))[0].is_ok());
    // The document of the report.
    let poison = document(&context(440_000), &[event(&members(10_000))]);
    assert_eq!(derive(&poison)[0].clone().unwrap_err().reason, Reason::Json);
    // What all names of one event come to is limited too, the same in every document.
    let wide = event(&members(33_000));
    let answers = derive(&document(&context(512), &[event(&members(32_000)), wide, event("")]));
    assert!(answers[0].is_ok() && answers[2].is_ok());
    assert_eq!(answers[1].clone().unwrap_err().reason, Reason::Json);
}

/// Names looked for one by one in a list of all bindings: four times the time for twice the names.
#[test]
fn many_prefixes_cost_little_each() {
    let n = 100_000;
    let (mut context, mut members) = (String::from("{"), String::new());
    for i in 0..n {
        let comma = if i == 0 { "" } else { "," };
        write!(context, "{comma}\"p{i:06}\":\"http://a.example/{i}/\"").unwrap();
        write!(members, ",\"p{i:06}:a\":1").unwrap();
    }
    context.push('}');
    // Ten thousand million comparisons of names if each were compared with all.
    assert!(derive(&document(&context, &[event(&members)]))[0].is_ok());
}

#[test]
fn the_innermost_and_latest_binding_holds() {
    let key = |context: &str, extensions: &str| {
        derive(&document(context, &[event(extensions)]))[0].clone().unwrap().0
    };
    let one = key(r#"{"p":"http://one/"}"#, r#","p:a":1"#);
    for context in [
        r#"[{"p":"http://two/"},{"z":"http://z/","p":"http://one/","a":"http://a/"}]"#,
        r#"[{"p":"http://two/"},{"p":{"@id":"http://one/"}}]"#,
        r#"[{"p":"http://one/"},{"p":null},{"p":{"@type":"http://two/"}}]"#,
        r#"["https://ref.gs1.org/context",{"p":"http://one/"}]"#,
    ] {
        assert_eq!(key(context, r#","p:a":1"#), one, "{context}");
    }
    let two = r#"{"p":"http://two/"}"#;
    assert_ne!(key(two, r#","p:a":1"#), one);
    assert_eq!(key(two, r#","@context":{"p":"http://one/"},"p:a":1"#), one);
    assert_eq!(key(two, r#","@context":{"x":"http://one/"},"x:a":1"#), one);
    // The bindings of an item end with it.
    let with = event(r#","@context":{"p":"http://one/"},"p:a":1"#);
    let answers = derive(&document(two, &[with, event(r#","p:a":1"#)]));
    assert_eq!(answers[0].clone().unwrap().0, one);
    assert_eq!(answers[1].clone().unwrap().0, key(two, r#","p:a":1"#));
    let explained =
        explain(recipe("epcis-document"), document(two, &[event(r#","p:a":1"#)]).as_bytes());
    assert!(explained.unwrap()[0].as_ref().unwrap().preimage.contains(r#""http://two/a":1"#));
}
