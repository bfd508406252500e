//! The section `[kafka]`: properties that pass through to librdkafka, once they are known to keep
//! the promise. Must not be in here: a message with a value in it, for any of them may be a secret.

use super::document::Document;
use super::model::Overrides;
use super::properties::ClientProperties;
use super::property_lists::{canonical, passed_through, refusal};
use super::references::{ExpansionFault, expand};
use super::section::Section;
use super::suggest::{did_you_mean, list_of};
use crate::kafka::property::{PropertyFault, client_fault, property_fault};
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::DeValue;

/// Values of properties that are mistyped most, for suggestions.
const CHOICES: &[(&[&str], &[&str])] = &[
    (&["security.protocol"], &["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"]),
    (
        &["sasl.mechanism", "sasl.mechanisms"],
        &["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER"],
    ),
    (&["compression.type", "compression.codec"], &["none", "gzip", "snappy", "lz4", "zstd"]),
    (&["ssl.endpoint.identification.algorithm"], &["https", "none"]),
    (&["broker.address.family"], &["any", "v4", "v6"]),
];

/// Properties that name a file: of one that is not there librdkafka says little.
const FILES: [&str; 7] = [
    "https.ca.location",
    "sasl.kerberos.keytab",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.crl.location",
    "ssl.key.location",
    "ssl.keystore.location",
];
/// Asks librdkafka to look for the system's certificates.
const PROBE: &str = "probe";

/// Reads the section; its faults are noted in the document.
pub fn read(
    section: Option<Section<'_, '_>>,
    document: &Document<'_>,
    overrides: &Overrides,
) -> ClientProperties {
    let mut properties = ClientProperties::default();
    let mut at = 0..0;
    let mut faulty = false;
    let mut places: HashMap<String, usize> = HashMap::new();
    if let Some(section) = section {
        at = section.span();
        for (name, value) in section.pairs() {
            let place = value.span().start;
            let name = canonical(&name);
            if let Some(before) = places.insert(name.to_owned(), place) {
                let what = format!("`{name}` is set twice, once under another name");
                let meant = format!("see {}", document.seen_from(before, place));
                document.fault(value.span(), what, meant);
            }
            match property(name, &value, document) {
                Some(text) => properties.set(name, text, Some(place)),
                None => faulty = true,
            }
        }
    }
    if let Some(bootstrap) = &overrides.bootstrap {
        properties.set("bootstrap.servers", bootstrap, None);
    }
    if properties.get("bootstrap.servers").is_none_or(str::is_empty) {
        let what = "the brokers to ask first are missing";
        let meant = "set `\"bootstrap.servers\"` in [kafka], or ONCEGATE_BOOTSTRAP";
        document.fault(at, what, meant);
        return properties;
    }
    if !faulty && mechanism(&properties, document) {
        together(&properties, document, at);
    }
    properties
}

/// One property by itself.
fn property(name: &str, value: &Spanned<&DeValue<'_>>, document: &Document<'_>) -> Option<String> {
    let fault = |what: String, meant: String| {
        document.fault(value.span(), what, meant);
        None
    };
    if let Some(reason) = refusal(name) {
        return fault(format!("`{name}` may not be set"), reason.to_owned());
    }
    if !passed_through().any(|known| known == name) {
        let meant = did_you_mean(name, passed_through());
        let meant = meant.unwrap_or_else(|| "see librdkafka's CONFIGURATION.md".to_owned());
        return fault(format!("unknown librdkafka property `{name}`"), meant);
    }
    let text = match value.get_ref() {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(integer) => integer.to_string(),
        DeValue::Float(float) => float.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        _ => {
            let what = format!("`{name}` must be a text, a number or a yes or no");
            return fault(what, "librdkafka's properties are single values".to_owned());
        }
    };
    let dir = document.dir(value.span().start);
    let text = match expand(&text, dir, &|variable| std::env::var_os(variable)) {
        Ok(text) => text,
        Err(unfulfilled) => {
            let (what, meant) = reference_told(name, unfulfilled);
            return fault(what, meant);
        }
    };
    match property_fault(name, &text) {
        None if FILES.contains(&name) && text != PROBE && !Path::new(&text).exists() => {
            let meant = "a relative path begins at the working directory";
            fault(format!("`{name}` names a file that is not there"), meant.to_owned())
        }
        None => Some(text),
        Some(found) => {
            let (what, meant) = told(name, &text, found);
            fault(what, meant)
        }
    }
}

/// A reference that could not be followed, without any value.
fn reference_told(name: &str, fault: ExpansionFault) -> (String, String) {
    match fault {
        ExpansionFault::Missing(variable) => (
            format!("`{name}` asks for the environment variable {variable}"),
            "it is not set".to_owned(),
        ),
        ExpansionFault::NotText(variable) => (
            format!("`{name}` asks for the environment variable {variable}"),
            "it is not UTF-8".to_owned(),
        ),
        ExpansionFault::File { path, why } => {
            (format!("`{name}` asks for the content of the file {path}"), why)
        }
        ExpansionFault::Malformed => (
            format!(
                "`{name}` has a `${{` without a variable's name, or `file:` and a path, and `}}`"
            ),
            "write `$${` for the text itself".to_owned(),
        ),
    }
}

/// A fault of a value, without the value.
fn told(name: &str, value: &str, fault: PropertyFault) -> (String, String) {
    match fault {
        PropertyFault::Unknown => (
            format!("unknown librdkafka property `{name}`"),
            "this build of librdkafka does not have it".to_owned(),
        ),
        PropertyFault::NotBuiltIn => (
            format!("this build of librdkafka cannot do what `{name}` asks for"),
            "it is built with TLS, SASL (PLAIN, SCRAM, OAUTHBEARER without OIDC), gzip, snappy, \
             lz4 and zstd"
                .to_owned(),
        ),
        PropertyFault::OutOfRange(range) => {
            (format!("`{name}` is out of range"), format!("it may be {range}"))
        }
        PropertyFault::Invalid => {
            let choices = CHOICES.iter().find(|(names, _)| names.contains(&name));
            let meant = choices.map(|(_, choices)| {
                let choices = || choices.iter().copied();
                did_you_mean(value, choices())
                    .unwrap_or_else(|| format!("it may be {}", list_of(choices())))
            });
            let meant = meant.unwrap_or_else(|| "see librdkafka's CONFIGURATION.md".to_owned());
            (format!("librdkafka does not take the value of `{name}`"), meant)
        }
    }
}

/// Whether the client can log in by the mechanism that is asked for, if one is. It would say itself
/// that it knows none of that name, but with the value; and one that this build has no way to get
/// tokens for would be waited for without end.
fn mechanism(properties: &ClientProperties, document: &Document<'_>) -> bool {
    const MECHANISM: &str = "sasl.mechanism";
    const BUILT_IN: [&str; 3] = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"];
    const UNSIGNED: &str = "enable.sasl.oauthbearer.unsecure.jwt";
    let (Some(at), Some(asked)) = (properties.at(MECHANISM), properties.get(MECHANISM)) else {
        return true;
    };
    if BUILT_IN.contains(&asked) {
        return true;
    }
    let by_token = asked == "OAUTHBEARER";
    if by_token && properties.get(UNSIGNED) == Some("true") {
        return true;
    }
    let what = match by_token {
        true => format!("`{MECHANISM}` is one that this build cannot get tokens for"),
        false => format!("`{MECHANISM}` is none that this build has"),
    };
    let meant = "it is built without OIDC; `PLAIN`, `SCRAM-SHA-256` and `SCRAM-SHA-512` work";
    document.fault(at..at, what, meant);
    by_token
}

/// All properties together: files that are not there, properties that exclude each other.
fn together(properties: &ClientProperties, document: &Document<'_>, section: Range<usize>) {
    let Some(message) = client_fault(properties) else {
        return;
    };
    let named = properties.names().filter(|name| message.contains(*name));
    let at = named.max_by_key(|name| name.len()).and_then(|name| properties.at(name));
    let what = format!("librdkafka refuses these properties: {}", properties.scrub(&message));
    document.fault(at.map_or(section, |at| at..at), what, "");
}
