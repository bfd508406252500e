//! TLS and SASL for a local cluster: certificates that openssl makes, users, and the properties of
//! the listener. Who may do what is said elsewhere (`topics::Admin`).

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use tempfile::TempDir;

use crate::broker::tools;
use crate::error::{Doing, KitError, Result};

/// Days for which a certificate holds.
const DAYS: &str = "2";

/// Somebody who may log in, by PLAIN and SCRAM.
#[derive(Clone, Debug)]
pub struct User {
    /// Name.
    pub name: String,
    /// Password.
    pub password: String,
}

/// Certificates and users of a cluster.
#[derive(Clone, Debug)]
pub struct Security {
    users: Vec<User>,
    folder: Arc<TempDir>,
    /// Whether clients log in by their certificates, and not by SASL.
    certified: bool,
}

impl Security {
    /// Makes two certificate authorities, of which the first signs the brokers' certificate.
    pub fn new(users: &[(&str, &str)]) -> Result<Security> {
        let folder = tempfile::Builder::new()
            .prefix("oncegate-tls-")
            .tempdir()
            .doing(|| "cannot make a folder for certificates".to_owned())?;
        let user = |(name, password): &(&str, &str)| User {
            name: (*name).to_owned(),
            password: (*password).to_owned(),
        };
        let users = users.iter().map(user).collect();
        let security = Security { users, folder: Arc::new(folder), certified: false };
        security.make_certificates()?;
        Ok(security)
    }

    /// For a listener without SASL, whose clients must show a certificate that is trusted.
    pub fn by_certificate() -> Result<Security> {
        Ok(Security { certified: true, ..Security::new(&[])? })
    }

    /// What the listener speaks.
    pub(super) fn protocol(&self) -> &'static str {
        if self.certified { "SSL" } else { "SASL_SSL" }
    }

    /// The certificate that clients have to trust.
    pub fn ca(&self) -> PathBuf {
        self.file("ca.pem")
    }

    /// One that has signed nothing here.
    pub fn other_ca(&self) -> PathBuf {
        self.file("other-ca.pem")
    }

    /// Lines of `[kafka]` with the certificate and key of a client: signed by the authority that the
    /// brokers trust, or by one that is nobody's.
    pub fn client_lines(&self, trusted: bool) -> String {
        let name = if trusted { "client" } else { "other-client" };
        let file = |ending: &str| self.file(&format!("{name}.{ending}")).display().to_string();
        format!(
            "\"ssl.certificate.location\" = {:?}\n\"ssl.key.location\" = {:?}\n",
            file("crt"),
            file("key")
        )
    }

    /// Where further files of a test may stand.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn make_certificates(&self) -> Result<()> {
        const KEY: [&str; 5] =
            ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
        for (name, subject) in [("ca", "/CN=oncegate test"), ("other-ca", "/CN=somebody else")] {
            let (key, pem) = (format!("{name}.key"), format!("{name}.pem"));
            let own =
                ["req", "-x509", "-subj", subject, "-days", DAYS, "-keyout", &key, "-out", &pem];
            self.openssl(&[&own[..], &KEY].concat())?;
        }
        let names = self.file("names");
        std::fs::write(&names, "subjectAltName=DNS:localhost,IP:127.0.0.1\n")
            .doing(|| format!("cannot write {}", names.display()))?;
        for (name, ca) in [("node", "ca"), ("client", "ca"), ("other-client", "other-ca")] {
            let file = |ending: &str| format!("{name}.{ending}");
            let (key, request, signed) = (file("key"), file("csr"), file("crt"));
            let own = ["req", "-subj", "/CN=localhost", "-keyout", &key, "-out", &request];
            self.openssl(&[&own[..], &KEY].concat())?;
            let (pem, ca_key) = (format!("{ca}.pem"), format!("{ca}.key"));
            let sign = ["x509", "-req", "-in", &request, "-CA", &pem, "-CAkey", &ca_key];
            let out = ["-CAcreateserial", "-days", DAYS, "-extfile", "names", "-out", &signed];
            self.openssl(&[&sign[..], &out].concat())?;
        }
        // Kafka wants the key and the certificate in one file.
        let read = |name: &str| {
            std::fs::read_to_string(self.file(name)).doing(|| format!("openssl made no {name}"))
        };
        let pem = read("node.key")? + &read("node.crt")?;
        std::fs::write(self.file("node.pem"), pem).doing(|| "cannot write node.pem".to_owned())
    }

    fn openssl(&self, arguments: &[&str]) -> Result<()> {
        let openssl = tools::in_path("openssl").ok_or_else(|| {
            KitError::new("`openssl` is not in PATH; run: sudo apt-get install -y openssl")
        })?;
        let output = Command::new(openssl)
            .args(arguments)
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .output()
            .doing(|| "cannot run openssl".to_owned())?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(KitError::new(format!("openssl {} failed: {said}", arguments.join(" "))))
    }

    /// Properties of each node beside its addresses.
    pub(super) fn properties(&self) -> Vec<(String, String)> {
        const JAAS: &str = "org.apache.kafka.common.security";
        let plain: String = (self.users.iter())
            .map(|User { name, password }| format!(" user_{name}=\"{password}\""))
            .collect();
        let listener = |name: &str| format!("listener.name.secure.{name}");
        let scram = format!("{JAAS}.scram.ScramLoginModule required;");
        let mut all = vec![
            ("ssl.keystore.type".to_owned(), "PEM".to_owned()),
            ("ssl.keystore.location".to_owned(), self.file("node.pem").display().to_string()),
            (
                listener("sasl.enabled.mechanisms"),
                "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER".to_owned(),
            ),
            (
                listener("plain.sasl.jaas.config"),
                format!("{JAAS}.plain.PlainLoginModule required{plain};"),
            ),
            (listener("scram-sha-256.sasl.jaas.config"), scram.clone()),
            (listener("scram-sha-512.sasl.jaas.config"), scram),
            // Takes tokens that nobody signed: for tests only.
            (
                listener("oauthbearer.sasl.jaas.config"),
                format!(
                    "{JAAS}.oauthbearer.OAuthBearerLoginModule required \
                     unsecuredLoginStringClaim_sub=\"broker\";"
                ),
            ),
        ];
        if self.certified {
            let ca = self.ca().display().to_string();
            all.push((listener("ssl.client.auth"), "required".to_owned()));
            all.push(("ssl.truststore.type".to_owned(), "PEM".to_owned()));
            all.push(("ssl.truststore.location".to_owned(), ca));
        }
        for (name, value) in [
            ("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
            // The clients of the kit and the nodes among themselves.
            ("super.users", "User:ANONYMOUS"),
            ("allow.everyone.if.no.acl.found", "false"),
        ] {
            all.push((name.to_owned(), value.to_owned()));
        }
        all
    }

    /// Arguments of Kafka's format tool that make the users known to SCRAM.
    pub(super) fn format_arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        for User { name, password } in &self.users {
            for mechanism in ["SCRAM-SHA-256", "SCRAM-SHA-512"] {
                arguments.push("--add-scram".to_owned());
                arguments.push(format!("{mechanism}=[name={name},password={password}]"));
            }
        }
        arguments
    }
}
