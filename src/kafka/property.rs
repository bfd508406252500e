//! Whether librdkafka takes a property, tried on a client that never speaks to a broker.
//! Must not be in here: which properties oncegate allows; or a message with a value in it.

use crate::settings::{ClientKind, ClientProperties};
use rdkafka::ClientConfig;
use rdkafka::client::{Client, DefaultClientContext};
use rdkafka::error::KafkaError;
use rdkafka::types::{RDKafkaConfRes, RDKafkaType};

/// Why librdkafka does not take a property. Holds no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PropertyFault {
    /// It has no such property.
    Unknown,
    /// This build lacks what the value asks for.
    NotBuiltIn,
    /// The number is outside of this range.
    OutOfRange(String),
    /// Anything else about the value.
    Invalid,
}

/// Tries one property.
pub fn property_fault(name: &str, value: &str) -> Option<PropertyFault> {
    if value.contains('\0') || name.contains('\0') {
        return Some(PropertyFault::Invalid);
    }
    let mut config = ClientConfig::new();
    config.set(name, value);
    match config.create_native_config() {
        Ok(_) => None,
        Err(KafkaError::ClientConfig(RDKafkaConfRes::RD_KAFKA_CONF_UNKNOWN, ..)) => {
            Some(PropertyFault::Unknown)
        }
        Err(KafkaError::ClientConfig(_, message, ..)) => Some(classify(&message)),
        Err(_) => Some(PropertyFault::Invalid),
    }
}

/// librdkafka's messages quote values; of them only what it may be is kept.
fn classify(message: &str) -> PropertyFault {
    if let Some((_, range)) = message.rsplit_once(" is outside allowed range ") {
        return PropertyFault::OutOfRange(range.trim().replace("..", " to "));
    }
    if message.contains("not supported in this build") || message.starts_with("Unsupported value") {
        return PropertyFault::NotBuiltIn;
    }
    PropertyFault::Invalid
}

/// Tries all properties together, as a producer and as a consumer would have them. The message is
/// librdkafka's own and may quote values.
pub fn client_fault(properties: &ClientProperties) -> Option<String> {
    let kinds = [
        (ClientKind::Producer, RDKafkaType::RD_KAFKA_PRODUCER),
        (ClientKind::Consumer, RDKafkaType::RD_KAFKA_CONSUMER),
    ];
    kinds.into_iter().find_map(|(kind, native)| {
        let mut config = ClientConfig::new();
        for (name, value) in properties.for_client(kind) {
            config.set(name, value);
        }
        // Without brokers the client stays silent; everything else is read and tried.
        config.remove("bootstrap.servers");
        let made = config
            .create_native_config()
            .and_then(|made| Client::new(&config, made, native, DefaultClientContext));
        match made {
            Ok(_) => None,
            Err(KafkaError::ClientCreation(message)) => Some(message),
            Err(KafkaError::ClientConfig(_, message, ..)) => Some(message),
            Err(other) => Some(other.to_string()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_has_its_kind() {
        assert_eq!(property_fault("linger.ms", "5"), None);
        assert_eq!(property_fault("linger.msx", "5"), Some(PropertyFault::Unknown));
        let range = PropertyFault::OutOfRange("0 to 900000".to_owned());
        assert_eq!(property_fault("linger.ms", "9000000"), Some(range));
        assert_eq!(property_fault("linger.ms", "soon"), Some(PropertyFault::Invalid));
        assert_eq!(property_fault("compression.type", "lz5"), Some(PropertyFault::Invalid));
        let keytab = property_fault("sasl.oauthbearer.method", "oidc");
        assert_eq!(keytab, Some(PropertyFault::NotBuiltIn));
        for codec in ["gzip", "snappy", "lz4", "zstd"] {
            assert_eq!(property_fault("compression.type", codec), None, "{codec}");
        }
    }

    #[test]
    fn properties_are_tried_together() {
        let mut properties = ClientProperties::default();
        properties.set("bootstrap.servers", "localhost:1", None);
        properties.set("fetch.min.bytes", "1", None);
        properties.set("linger.ms", "1", None);
        assert_eq!(client_fault(&properties), None);
        properties.set("security.protocol", "ssl", None);
        properties.set("ssl.ca.location", "no/such/file.pem", None);
        let message = client_fault(&properties).unwrap();
        assert!(message.contains("ssl.ca.location"), "{message}");
    }
}
