//! Why a cluster does not let this client in, out of what librdkafka notes, and what to do about it.
//! Must not be in here: a client, or a value of a property.

/// Words of librdkafka, and what a person can do.
const KNOWN: [(&str, &str); 14] = [
    (
        "certificate verify failed",
        "`ssl.ca.location` in [kafka] must name the certificate of the authority that signed the \
         brokers' certificates",
    ),
    (
        "no certificate could be",
        "`ssl.ca.location` in [kafka] must name the certificate of the authority that signed the \
         brokers' certificates",
    ),
    ("alert certificate unknown", CERTIFICATE),
    ("alert bad certificate", CERTIFICATE),
    ("alert certificate required", CERTIFICATE),
    (
        "mechanism handshake failed",
        "`sasl.mechanism` in [kafka] must be one that the brokers' listener offers",
    ),
    ("uthentication failed", "look at `sasl.username` and `sasl.password` in [kafka]"),
    ("invalid credentials", "look at `sasl.username` and `sasl.password` in [kafka]"),
    ("SSL listener", PROTOCOL),
    ("incorrect security.protocol", PROTOCOL),
    ("wrong version number", PROTOCOL),
    ("SSL handshake failed: Disconnected", PROTOCOL),
    // A listener that wants SASL ends the connection of a client that begins without.
    ("SSL connection closed by peer", PROTOCOL),
    // The connection ended before the first answer: at a port with TLS, no request is understood.
    ("in state APIVERSION_QUERY", PROTOCOL),
];

const CERTIFICATE: &str = "`ssl.certificate.location` in [kafka] must name a certificate of this \
                           client that the brokers trust, `ssl.key.location` its key";

const PROTOCOL: &str = "`security.protocol` in [kafka] must be that of the brokers' listener: \
                        plaintext, ssl, sasl_plaintext or sasl_ssl";

/// The note that tells most: a refusal, else the last one that is more than that brokers are down.
/// "[thrd:...]: " before a note says which of the client's threads wrote it.
pub fn telling(noted: &[String]) -> Option<&str> {
    let last = |tells: &dyn Fn(&str) -> bool| noted.iter().rev().find(|text| tells(text));
    let reason = last(&is_denial)
        .or_else(|| last(&|text| advice(text).is_some()))
        .or_else(|| last(&|text| !text.contains("brokers are down")))
        .or(noted.last())?;
    Some(reason.split_once("]: ").map_or(reason.as_str(), |(_, reason)| reason))
}

/// A note with what to do, where something is known.
pub fn with_advice(reason: &str) -> String {
    match advice(reason) {
        Some(advice) => format!("{reason}; {advice}"),
        None => reason.to_owned(),
    }
}

fn advice(reason: &str) -> Option<&'static str> {
    KNOWN.iter().find(|(words, _)| reason.contains(words)).map(|(_, advice)| *advice)
}

/// Whether a broker said no, and would say so again. A connection that ended in the middle may
/// have been a broker's restart.
pub fn is_denial(reason: &str) -> bool {
    let refused = ["Authentication failed", "mechanism handshake failed", "SSL handshake failed"];
    let ended = ["isconnected", "closed by peer", "reset by peer", "timed out"];
    let says = |words: &[&str]| words.iter().any(|word| reason.contains(word));
    says(&refused) && !says(&ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_from_a_connection_that_ended() {
        let denials = [
            "SASL authentication error: Authentication failed: Invalid username or password",
            "SASL PLAIN mechanism handshake failed: Broker: Unsupported SASL mechanism",
            "SSL handshake failed: certificate verify failed",
        ];
        let others = [
            "SSL handshake failed: Disconnected: SSL connection closed by peer",
            "Connect to ipv4#127.0.0.1:1 failed: Connection refused",
        ];
        assert!(denials.into_iter().all(is_denial));
        assert!(!others.into_iter().any(is_denial));
    }

    #[test]
    fn a_refusal_tells_more_than_what_follows_from_it() {
        let noted =
            |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let denied = "[thrd:b]: b: SASL authentication error: Authentication failed";
        let down = "[thrd:main]: 1/1 brokers are down";
        let refused = "[thrd:b]: b: Connect to ipv4#127.0.0.1:1 failed: Connection refused";
        assert_eq!(telling(&[]), None);
        assert_eq!(telling(&noted(&[denied, refused, down])), denied.get(10..));
        assert_eq!(telling(&noted(&[refused, down])), refused.get(10..));
        assert_eq!(telling(&noted(&[down])), Some("1/1 brokers are down"));
        assert!(with_advice(denied).ends_with("`sasl.password` in [kafka]"));
        assert_eq!(with_advice(refused), refused);
    }
}
