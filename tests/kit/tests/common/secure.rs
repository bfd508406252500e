//! A broker with TLS, SASL and ACLs, its users, and scenes whose gate logs in there.

use std::sync::OnceLock;

use oncegate_testkit::broker::{Broker, BrokerOptions, Security};
use oncegate_testkit::scene::{Scene, SceneOptions};

use super::unique;

/// The configuration with which a scene's gate logs in.
pub const CONFIG: &str = "secure.toml";
const USERS: [(&str, &str); 6] = [
    ("tls", "password-of-tls"),
    ("gate", "password-of-gate"),
    ("maker", "password-of-maker"),
    ("auditor", "password-of-auditor"),
    ("redriver", "password-of-redriver"),
    ("secret", "MARK-4410-PASSWORD"),
];

/// A broker with TLS, SASL and ACLs, and what its users have.
pub struct Secure {
    pub broker: Broker,
    pub security: Security,
}

/// The one of this test binary.
pub fn secure() -> &'static Secure {
    static SECURE: OnceLock<Secure> = OnceLock::new();
    SECURE.get_or_init(|| {
        let security = Security::new(&USERS).expect("certificates");
        for (user, password) in USERS {
            let file = security.folder().join(format!("{user}.password"));
            std::fs::write(file, format!("{password}\n")).expect("written");
        }
        let options =
            BrokerOptions { security: Some(security.clone()), ..BrokerOptions::default() };
        Secure { broker: Broker::start(options).expect("a broker with TLS"), security }
    })
}

/// Lines of `[kafka]` with which a user logs in; the password stands in a file of its own.
pub fn login(user: &str, mechanism: &str) -> String {
    let Secure { security, .. } = secure();
    format!(
        "\"security.protocol\" = \"sasl_ssl\"\n\"ssl.ca.location\" = {:?}\n\
         \"sasl.mechanism\" = \"{mechanism}\"\n\"sasl.username\" = \"{user}\"\n\
         \"sasl.password\" = \"${{file:{}/{user}.password}}\"\n",
        security.ca().display().to_string(),
        security.folder().display(),
    )
}

/// A scene whose topics the kit makes, and whose gate logs in with these lines.
pub fn scene(name: &str, kafka_lines: String) -> Scene {
    let scene = Scene::new(&secure().broker, &unique(name), SceneOptions::default());
    let scene = scene.expect("a scene");
    write_config(&scene, CONFIG, kafka_lines);
    scene
}

/// Writes a configuration of the scene that reaches the port with TLS.
pub fn write_config(scene: &Scene, file: &str, kafka_lines: String) {
    let bootstrap = Some(secure().broker.secure_bootstrap().expect("a port with TLS"));
    let options = SceneOptions { bootstrap, kafka_lines, ..scene.options.clone() };
    scene.write_config(file, &options).expect("written");
}
