//! What the parts of the recipe language do, each in a small recipe of its own.

mod support;

use oncegate::identity::{Deriver, Reason, Recipe, explain};
use std::sync::Arc;
use support::{Answer, answers};

fn parse(text: &str) -> Arc<Recipe> {
    Arc::new(Recipe::parse("recipe", text).unwrap_or_else(|e| panic!("{e}\n{text}")))
}

/// A recipe of granularity `record` in JSON, with these fields and a digest section.
fn record(fields: &str) -> Arc<Recipe> {
    parse(&format!(
        "name = \"r\"\nversion = 1\ngranularity = \"record\"\nencoding = \"json\"\n{fields}"
    ))
}

fn items(fields: &str) -> Arc<Recipe> {
    parse(&format!(
        "name = \"r\"\nversion = 1\ngranularity = \"items\"\nencoding = \"json\"\n{fields}"
    ))
}

fn one(recipe: &Arc<Recipe>, document: &str) -> Answer {
    all(recipe, document).remove(0)
}

fn all(recipe: &Arc<Recipe>, document: &str) -> Vec<Answer> {
    answers(&mut Deriver::new(recipe.clone()), document.as_bytes())
}

/// The identities of a document, as the bytes that are hashed.
fn preimages(recipe: &Arc<Recipe>, document: &str) -> Vec<String> {
    let explained = explain(recipe.clone(), document.as_bytes()).unwrap_or_else(|r| panic!("{r}"));
    explained.into_iter().map(|event| event.unwrap_or_else(|r| panic!("{r}")).preimage).collect()
}

fn reason(answer: Answer) -> Reason {
    answer.expect_err("a rejection is due").reason
}

const A: &str = "[[field]]\nname = \"a\"\npointer = \"/a\"\nnormalize = \"text\"\n";

#[test]
fn an_optional_member_leaves_no_trace() {
    let recipe = record(&format!("{A}optional = true\n"));
    assert_eq!(preimages(&recipe, "{}"), ["{}"]);
    assert_eq!(preimages(&recipe, r#"{"a":"x"}"#), [r#"{"a":"x"}"#]);
    assert_eq!(reason(one(&recipe, r#"{"a":null}"#)), Reason::NotText);
    assert_eq!(reason(one(&recipe, r#"{"a":""}"#)), Reason::Empty);
    let recipe = record(&format!("{A}optional = true\nempty_is_absent = true\n"));
    for empty in ["{}", r#"{"a":null}"#, r#"{"a":""}"#, r#"{"a":[]}"#, r#"{"a":{}}"#] {
        assert_eq!(one(&recipe, empty), one(&recipe, "{}"), "{empty}");
    }
    assert_eq!(reason(one(&recipe, r#"{"a":0}"#)), Reason::NotText);
}

#[test]
fn a_pointer_is_absent_from_its_first_member_on() {
    let field = A.replace("/a\"", "/x/y\"");
    let recipe = record(&format!("{field}optional = true\n"));
    assert!(one(&recipe, "{}").is_ok());
    assert_eq!(reason(one(&recipe, r#"{"x":{}}"#)), Reason::NotText);
    assert_eq!(reason(one(&recipe, r#"{"x":null}"#)), Reason::NotText);
    assert_eq!(reason(one(&recipe, r#"{"x":5}"#)), Reason::NotText);
    let recipe = record(&format!("{field}optional = true\nabsent_within = true\n"));
    assert!(one(&recipe, r#"{"x":{"z":1}}"#).is_ok());
}

#[test]
fn pointers_reach_into_arrays_and_odd_names() {
    let recipe = record(&A.replace("/a\"", "/x/1/a~1b~0c\""));
    assert_eq!(preimages(&recipe, r#"{"x":[0,{"a/b~c":"v"},2]}"#), [r#"{"a":"v"}"#]);
    assert_eq!(preimages(&recipe, r#"{"x":{"1":{"a/b~c":"v"}}}"#), [r#"{"a":"v"}"#]);
    assert_eq!(reason(one(&recipe, r#"{"x":[{"a/b~c":"v"}]}"#)), Reason::NotText);
}

#[test]
fn two_fields_can_read_one_member() {
    let field = |name: &str, part: &str| {
        format!(
            "[[field]]\nname = \"{name}\"\npointer = \"/epc\"\nnormalize = \"epc\"\npart = \"{part}\"\n"
        )
    };
    let recipe = record(&format!("{}{}", field("gtin", "gtin"), field("serial", "serial")));
    let identity = [r#"{"gtin":"00300930058011","serial":"SN1"}"#];
    assert_eq!(preimages(&recipe, r#"{"epc":"(01)00300930058011(21)SN1"}"#), identity);
}

#[test]
fn lists_are_sorted_or_kept() {
    let list = |kind: &str| record(&format!("{A}list = \"{kind}\"\n"));
    assert_eq!(preimages(&list("unordered"), r#"{"a":["b","a","b"]}"#), [r#"{"a":["a","b","b"]}"#]);
    assert_eq!(preimages(&list("ordered"), r#"{"a":["b","a"]}"#), [r#"{"a":["b","a"]}"#]);
    assert_eq!(reason(one(&list("ordered"), r#"{"a":[]}"#)), Reason::Empty);
    assert_eq!(reason(one(&list("ordered"), "{}")), Reason::Empty);
    assert_eq!(reason(one(&list("ordered"), r#"{"a":"b"}"#)), Reason::Json);
    let rejection = one(&list("ordered"), r#"{"a":["b",1]}"#).unwrap_err();
    assert_eq!((rejection.reason, rejection.pointer()), (Reason::NotText, "/a/1"));
    let single = record(&format!("{A}list = \"unordered\"\nor_single = true\n"));
    assert_eq!(one(&single, r#"{"a":"b"}"#), one(&single, r#"{"a":["b"]}"#));
}

/// A list of one text is not that text, and no join is ambiguous.
#[test]
fn values_of_two_kinds_do_not_meet() {
    let text = record(A);
    let list = record(&format!("{A}list = \"ordered\"\n"));
    assert_ne!(preimages(&text, r#"{"a":"[\"b\"]"}"#), preimages(&list, r#"{"a":["b"]}"#));
    assert_ne!(one(&list, r#"{"a":["b\",\"c"]}"#), one(&list, r#"{"a":["b","c"]}"#));
}

const GROUP: &str =
    "[[field]]\nname = \"a\"\npointer = \"/a\"\nnormalize = \"group\"\nlist = \"unordered\"\n";
const MEMBERS: &str = "[[field.member]]\nname = \"n\"\npointer = \"/n\"\nnormalize = \"decimal\"\nscale = 1\n\
    [[field.member]]\nname = \"b\"\npointer = \"/t\"\nnormalize = \"text\"\noptional = true\n";

#[test]
fn a_group_is_closed_or_open() {
    let closed = record(&format!("{GROUP}{MEMBERS}"));
    let document = r#"{"a":[{"n":2},{"t":"x","n":"1.0"}]}"#;
    assert_eq!(preimages(&closed, document), [r#"{"a":[{"b":"x","n":"1.0"},{"n":"2.0"}]}"#]);
    let rejection = one(&closed, r#"{"a":[{"n":1},{"n":1,"z":0}]}"#).unwrap_err();
    assert_eq!((rejection.reason, rejection.pointer()), (Reason::Json, "/a/1"));
    let rejection = one(&closed, r#"{"a":[{"n":"x"}]}"#).unwrap_err();
    assert_eq!((rejection.reason, rejection.pointer()), (Reason::NotNumber, "/a/0/n"));
    let open = record(&format!("{GROUP}others = \"keep\"\n{MEMBERS}"));
    let first = one(&open, r#"{"a":[{"n":1,"z":0},{"n":2,"z":1}]}"#).unwrap();
    let same = one(&open, r#"{"a":[{"z":1,"n":"2.0"},{"z":0,"n":1e0}]}"#).unwrap();
    assert_eq!(first, same);
    // The other members stay with their own element.
    let swapped = one(&open, r#"{"a":[{"n":1,"z":1},{"n":2,"z":0}]}"#).unwrap();
    assert!(first.0 == swapped.0 && first.1 != swapped.1);
}

#[test]
fn what_is_picked_is_normalized_in_the_content_too() {
    let recipe = record(
        "[[field]]\nname = \"a\"\npointer = \"/a\"\nnormalize = \"loinc\"\n\
         pick = { whose = \"/s\", is = \"L\", take = \"/c\" }\n",
    );
    let plain = one(&recipe, r#"{"a":[{"s":"L","c":"2823-3"},{"s":"K","c":"k"}]}"#).unwrap();
    assert_eq!(
        one(&recipe, r#"{"a":[{"s":"K","c":"k"},{"s":"L","c":" 2823-3 "}]}"#).unwrap(),
        plain
    );
    let other = one(&recipe, r#"{"a":[{"s":"L","c":"2823-3"},{"s":"K","c":"q"}]}"#).unwrap();
    assert!(other.0 == plain.0 && other.1 != plain.1);
    let twice = r#"{"a":[{"s":"L","c":"2823-3"},{"s":"L","c":"2823-3"}]}"#;
    assert_eq!(one(&recipe, twice).unwrap().0, plain.0);
    for (document, expected) in [
        (r#"{"a":[{"s":"L","c":"2823-3"},{"s":"L","c":"2951-2"}]}"#, Reason::Coding),
        (r#"{"a":[{"s":"K","c":"k"}]}"#, Reason::Coding),
        (r#"{"a":["L"]}"#, Reason::Coding),
        (r#"{"a":[{"s":"L"}]}"#, Reason::NotText),
        (r#"{"a":[]}"#, Reason::Empty),
        (r#"{"a":{}}"#, Reason::Json),
    ] {
        assert_eq!(reason(one(&recipe, document)), expected, "{document}");
    }
}

#[test]
fn a_field_can_stand_for_another() {
    let recipe = record(
        "[[rule]]\nneeds_any = [\"/a\", \"/m/b\"]\n\
         [[field]]\nname = \"a\"\npointer = \"/a\"\nnormalize = \"text\"\noptional = true\n\
         [[field]]\nname = \"b\"\npointer = \"/m/b\"\nnormalize = \"text\"\noptional = true\nunless = \"a\"\n",
    );
    assert_eq!(preimages(&recipe, r#"{"a":"x","m":{"b":"y"}}"#), [r#"{"a":"x"}"#]);
    assert_eq!(preimages(&recipe, r#"{"m":{"b":"y"}}"#), [r#"{"b":"y"}"#]);
    assert_eq!(one(&recipe, r#"{"a":"x","m":{"b":"y"}}"#), one(&recipe, r#"{"a":"x"}"#));
    assert_eq!(reason(one(&recipe, "{}")), Reason::Empty);
}

#[test]
fn content_is_literal_but_for_what_the_recipe_says() {
    let recipe = record(&format!(
        "[digest]\nignore = [\"/i\", \"/l/*/i\"]\nunordered = [\"/u\", \"/l\"]\n\
         [[digest.normalize]]\npointer = \"/w/*/q\"\nnormalize = \"decimal\"\nscale = 2\n{A}"
    ));
    let plain =
        one(&recipe, r#"{"a":"x","u":[1,[2,3]],"l":[{"k":1},{"k":2}],"w":[{"q":1}],"o":[1,2]}"#)
            .unwrap();
    for same in [
        r#"{"o":[1,2],"w":[{"q":"1.00"}],"l":[{"k":2,"i":9},{"i":8,"k":1}],"u":[[2,3],1],"i":0,"a":" x "}"#,
        r#"{"a":"x","u":[[2,3],1],"l":[{"k":1},{"k":2}],"w":[{"q":1.0}],"o":[1,2],"i":{"deep":[1]}}"#,
    ] {
        assert_eq!(one(&recipe, same).unwrap(), plain, "{same}");
    }
    for other in [
        r#"{"a":"x","u":[1,[3,2]],"l":[{"k":1},{"k":2}],"w":[{"q":1}],"o":[1,2]}"#,
        r#"{"a":"x","u":[1,[2,3]],"l":[{"k":1},{"k":2}],"w":[{"q":1}],"o":[2,1]}"#,
        r#"{"a":"x","u":[1.0,[2,3]],"l":[{"k":1},{"k":2}],"w":[{"q":1}],"o":[1,2]}"#,
        r#"{"a":"x","u":[1,[2,3]],"l":[{"k":1},{"k":2}],"w":[{"q":2}],"o":[1,2]}"#,
        r#"{"a":"x","u":[1,[2,3]],"l":[{"k":1},{"k":2}],"w":[{"q":1}],"o":[1,2],"n":null}"#,
        r#"{"a":"x","u":[1,[2,3]],"l":[{"k":1},{"k":2}],"w":[{"q":1}],"o":["1",2]}"#,
        r#"{"a":"x","u":[1,[2,3]],"l":[{"k":1}],"w":[{"q":1}],"o":[1,2]}"#,
    ] {
        let other_event = one(&recipe, other).unwrap();
        assert!(other_event.0 == plain.0 && other_event.1 != plain.1, "{other}");
    }
    assert_eq!(reason(one(&recipe, r#"{"a":"x","w":[{"q":"1.005"}]}"#)), Reason::Scale);
}

/// The order of the document among items that a recipe's order leaves open is in the key of such
/// a recipe, but the content does not depend on it more than the key does.
#[test]
fn items_are_sorted_by_meaning() {
    let recipe = record(&format!(
        "{A}[items]\nname = \"i\"\npointer = \"/i\"\nsort = [\"k\", \"q\"]\nunordered = [\"/u\"]\n\
         [[items.field]]\nname = \"k\"\npointer = \"/k\"\nnormalize = \"text\"\noptional = true\n\
         empty = \"allow\"\n[[items.field]]\nname = \"q\"\npointer = \"/q\"\nnormalize = \"decimal\"\nscale = 0\n"
    ));
    let document = |items: &str| format!("{{\"a\":\"x\",\"i\":[{items}]}}");
    let plain = r#"{"q":1},{"k":"","q":1},{"k":"","q":2,"u":[1,2]},{"k":"b","q":1,"z":1},{"k":"b","q":1,"z":2}"#;
    let mixed = r#"{"z":2,"q":1,"k":"b"},{"u":[2,1],"k":"","q":2},{"z":1,"k":"b","q":"1"},{"k":" ","q":1},{"q":1}"#;
    assert_eq!(one(&recipe, &document(plain)), one(&recipe, &document(mixed)));
    let identity = r#"{"a":"x","i":[{"q":"1"},{"k":"","q":"1"},{"k":"","q":"2"},{"k":"b","q":"1"},{"k":"b","q":"1"}]}"#;
    assert_eq!(preimages(&recipe, &document(mixed)), [identity]);
    // What stands beside an item stays with it.
    let swapped = plain.replace(r#"{"q":1},"#, r#"{"q":1,"w":0},"#);
    let other = plain.replace(r#"{"k":"","q":1},"#, r#"{"k":"","q":1,"w":0},"#);
    let [swapped, other] = [swapped, other].map(|items| one(&recipe, &document(&items)).unwrap());
    assert!(swapped.0 == other.0 && swapped.1 != other.1);
}

const ITEM: &str = "[[items.field]]\nname = \"k\"\npointer = \"/k\"\nnormalize = \"text\"\n";

#[test]
fn an_item_is_found_again_in_its_reduced_document() {
    let recipe = items(&format!("{A}[items]\npointer = [\"/l/i\", \"/i\"]\n{ITEM}"));
    let document = r#"{"a":"x", "l": {"i": [ {"k":"1"}, {"k":2}, {"k":"3","o":[1]} ]}}"#;
    let mut deriver = Deriver::new(recipe.clone());
    let events = deriver.derive(document.as_bytes()).unwrap();
    assert_eq!(events.len(), 3);
    for event in events.iter().filter_map(Result::ok) {
        let span = event.item.clone().unwrap();
        let array = span.array;
        assert_eq!(&document[array.start..array.start + 1], "[");
        assert_eq!(&document[array.end - 1..array.end], "]");
        let reduced = format!(
            "{}[{}]{}",
            &document[..array.start],
            &document[span.element],
            &document[array.end..]
        );
        let again = one(&recipe, &reduced).unwrap();
        assert_eq!((again.0, again.1), (event.key, event.digest));
    }
    let rejection = all(&recipe, document).remove(1).unwrap_err();
    assert_eq!((rejection.reason, rejection.pointer()), (Reason::NotText, "/l/i/1/k"));
    assert_eq!(reason(one(&recipe, r#"{"a":"x","i":[],"l":{}}"#)), Reason::Empty);
    assert_eq!(reason(one(&recipe, r#"{"a":"x"}"#)), Reason::Empty);
    assert_eq!(reason(one(&recipe, r#"{"a":"x","i":{}}"#)), Reason::Json);
    assert_eq!(
        reason(one(&recipe, r#"{"a":"x","i":[{"k":"1"}],"l":{"i":[{"k":"1"}]}}"#)),
        Reason::Json
    );
    assert_eq!(reason(one(&recipe, r#"{"a":1,"i":[{"k":"1"}]}"#)), Reason::NotText);
    assert_eq!(reason(one(&recipe, r#"{"a":"x","i":[7]}"#)), Reason::Json);
}

/// The record around an item is no content of it, and its identity members are.
#[test]
fn the_content_of_an_item_is_its_own() {
    let recipe = items(&format!("{A}[items]\npointer = \"/i\"\nignore = [\"/r\"]\n{ITEM}"));
    let plain = one(&recipe, r#"{"a":"x","i":[{"k":"1","v":1}]}"#).unwrap();
    assert_eq!(
        one(&recipe, r#"{"a":"x","o":1,"i":[{"k":"1","v":1,"r":2},{"k":"2"}]}"#).unwrap(),
        plain
    );
    let other = one(&recipe, r#"{"a":"x","i":[{"k":"1","v":2}]}"#).unwrap();
    assert!(other.0 == plain.0 && other.1 != plain.1);
    let other = one(&recipe, r#"{"a":"y","i":[{"k":"1","v":1}]}"#).unwrap();
    assert!(other.0 != plain.0 && other.1 != plain.1);
}

#[test]
fn equal_items_are_numbered_by_their_content() {
    let recipe = items(&format!(
        "{A}[items]\npointer = \"/i\"\noccurrence = \"n\"\nrest = \"rest\"\naside = [\"/v\"]\n\
         [[items.normalize]]\npointer = \"/w\"\nnormalize = \"decimal\"\nscale = 1\n\
         [items.namespaces]\npointer = \"/c\"\n{ITEM}"
    ));
    let document = |items: &str| format!(r#"{{"a":"x","c":{{"p":"urn:p:"}},"i":[{items}]}}"#);
    let plain = r#"{"k":"1","v":"b","w":1,"p:z":0},{"k":"1","v":"a","w":1,"p:z":0},{"k":"1","v":"a","w":1,"p:z":1},{"k":"1","v":"a","w":1,"p:z":0}"#;
    let identity = |n: usize, z: usize| {
        format!(r#"{{"a":"x","k":"1","n":"{n}","rest":{{"urn:p:z":{z},"w":"1.0"}}}}"#)
    };
    let mut found = preimages(&recipe, &document(plain));
    assert_eq!(found[2], identity(1, 1));
    found.remove(2);
    found.sort();
    assert_eq!(found, [identity(1, 0), identity(2, 0), identity(3, 0)]);
    let respelled = r#"{"w":"1.0","k":"1","v":"a","c":{"q":"urn:p:"},"q:z":1},{"k":"1","v":"a","w":1,"urn:p:z":0.0},{"k":"1","w":1.0,"v":"b","p:z":0},{"k":" 1","v":"a","w":1,"p:z":0e1}"#;
    let sorted = |document: &str| {
        let mut events: Vec<_> = all(&recipe, document).into_iter().map(Result::unwrap).collect();
        events.sort();
        events
    };
    // A context of an item is a part of it like any other, unless the recipe ignores it.
    let text = sorted(&document(&respelled.replace(r#""c":{"q":"urn:p:"},"q:z""#, r#""p:z""#)));
    assert_eq!(text, sorted(&document(plain)));
}

#[test]
fn prefix_and_time_come_from_record_and_item() {
    let recipe = parse(
        "name = \"r\"\nversion = 1\ngranularity = \"items\"\nencoding = \"tuple\"\n\
         prefix = \"x:{k}/{a}:\"\nevent_time = [\"late\", \"at\"]\n\
         [[field]]\nname = \"a\"\npointer = \"/a\"\nnormalize = \"text\"\n\
         [[field]]\nname = \"late\"\npointer = \"/late\"\nnormalize = \"timestamp\"\noptional = true\n\
         [items]\npointer = \"/i\"\noccurrence = \"n\"\n\
         [[items.field]]\nname = \"k\"\npointer = \"/k\"\nnormalize = \"text\"\n\
         [[items.field]]\nname = \"at\"\npointer = \"/at\"\nnormalize = \"timestamp\"\n",
    );
    let items =
        r#""i":[{"k":"1","at":"1970-01-01T00:00:01Z"},{"k":"é","at":"1970-01-01T00:00:02Z"}]"#;
    let events: Vec<_> =
        all(&recipe, &format!("{{\"a\":\"x\",{items}}}")).into_iter().map(Result::unwrap).collect();
    assert_eq!((events[0].2, events[0].3.as_str()), (Some(1_000_000), "x:1/x:"));
    assert_eq!((events[1].2, events[1].3.as_str()), (Some(2_000_000), "x:é/x:"));
    let late = format!("{{\"a\":\"x\",\"late\":\"1970-01-01T00:00:09Z\",{items}}}");
    assert_eq!(one(&recipe, &late).unwrap().2, Some(9_000_000));
    let identity = "x|1|1970-01-01T00:00:01Z|late=1970-01-01T00:00:09Z|n=1";
    assert_eq!(preimages(&recipe, &late)[0], identity);
    assert_eq!(reason(one(&recipe, &late.replace("\"x\"", "\"x|y\""))), Reason::Separator);
    assert_eq!(reason(all(&recipe, &late.replace("\"1\"", "\"1|\"")).remove(0)), Reason::Separator);
}

#[test]
fn a_text_is_escaped_as_python_does() {
    let recipe = record(&format!("{A}characters = \"any\"\ntrim = \"none\"\nform = \"as-sent\"\n"));
    let document = "{\"a\":\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u007f\\u00e9\u{1F489}\"}";
    let identity = "{\"a\":\"\\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u007f\\u00e9\\ud83d\\udc89\"}";
    assert_eq!(preimages(&recipe, document), [identity]);
}

/// What says nothing counts as absent where the recipe says so, in the content and in a rest.
#[test]
fn an_empty_member_is_absent_from_the_content_where_the_recipe_says_so() {
    let plain = r#"{"a":"x","s":1}"#;
    let empties = [
        r#"{"a":"x","s":1,"q":null}"#,
        r#"{"a":"x","s":1,"q":""}"#,
        r#"{"a":"x","s":1,"q":[]}"#,
        r#"{"a":"x","s":1,"q":{"r":{"s":["",{"t":null}]}}}"#,
        r#"{"a":"x","s":1,"u":[{},""]}"#,
        r#"{"a":"x","s":1,"w":""}"#,
        r#"{"a":"x","s":1,"n":{"i":2}}"#,
        r#"{"a":"x","s":1,"as":{}}"#,
        r#"{"a":"x","s":1,"as":[{"z":""}]}"#,
    ];
    let digest = |more: &str| {
        record(&format!(
            "[digest]\nignore = [\"/n/i\"]\nunordered = [\"/u\"]\n{more}\
             [[digest.normalize]]\npointer = \"/w\"\nnormalize = \"decimal\"\nscale = 2\n{A}"
        ))
    };
    for more in ["", "rest = \"rest\"\naside = [\"/as\"]\n"] {
        let recipe = digest(&format!("empty_is_absent = true\n{more}"));
        for empty in empties {
            assert_eq!(one(&recipe, empty), one(&recipe, plain), "{empty}");
        }
        for full in [r#""q":0"#, r#""q":false"#, r#""q":[0,""]"#, r#""q":["",0]"#, r#""as":" ""#] {
            let full = format!("{{\"a\":\"x\",\"s\":1,{full}}}");
            assert_ne!(one(&recipe, &full).unwrap(), one(&recipe, plain).unwrap(), "{full}");
        }
    }
    let literal = digest("");
    let differs = |empty: &&&str| !empty.contains(r#""n":"#) && !empty.contains(r#""w":"#);
    for empty in empties.iter().filter(differs) {
        assert_ne!(one(&literal, empty).unwrap().1, one(&literal, plain).unwrap().1, "{empty}");
    }
}

/// Numbers of a rest stand by their value, whatever zeros their powers are written with.
#[test]
fn a_number_of_a_rest_stands_by_its_value() {
    let recipe = record(&format!("[digest]\nrest = \"rest\"\n{A}"));
    let key = |number: &str| one(&recipe, &format!(r#"{{"a":"x","q":{number}}}"#)).unwrap().0;
    for (number, same) in [
        (
            "1e9",
            &["1e0000000000009", "1E+00000000000000000009", "10e8", "0.1e0000000000000000010"][..],
        ),
        ("1e-9", &["1e-0000000000000009", "0.000000001"]),
        ("0", &["0e99999999999999999999", "-0.0e-99999999999999999999", "0e0"]),
        ("1e12345678901", &["10e12345678900", "0.1e12345678902"]),
        ("1e-99999999999999999", &["1e-000099999999999999999"]),
    ] {
        for other in same {
            assert_eq!(key(other), key(number), "{other}");
        }
    }
    let others =
        ["1e9", "1e90", "1e99999999999999999", "1e99999999999999998", "1e999999999999999999"];
    let keys: std::collections::BTreeSet<_> = others.iter().map(|other| key(other)).collect();
    assert_eq!(keys.len(), others.len());
}
