//! Whether a Docker engine runs here and has the Kafka image, or can pull it. Gives up within
//! seconds, with the reason; starts no container.

use std::fmt;
use std::time::Duration;

use futures::StreamExt;
use testcontainers::bollard::Docker;
use testcontainers::bollard::query_parameters::CreateImageOptionsBuilder;

use crate::broker::jars::KAFKA_VERSION;
use crate::error::{Doing, KitError, Result};

/// Names another image than `apache/kafka` of the kit's version.
const IMAGE_VARIABLE: &str = "ONCEGATE_KAFKA_IMAGE";

const PING_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a pull may say nothing.
const PULL_SILENCE: Duration = Duration::from_secs(10);
const PULL_TIMEOUT: Duration = Duration::from_secs(300);

/// Name and tag of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::broker) struct ImageName {
    pub name: String,
    pub tag: String,
}

impl ImageName {
    fn wanted() -> ImageName {
        let set = std::env::var(IMAGE_VARIABLE).ok().filter(|set| !set.is_empty());
        ImageName::parse(&set.unwrap_or_else(|| format!("apache/kafka:{KAFKA_VERSION}")))
    }

    fn parse(text: &str) -> ImageName {
        // A colon before a slash belongs to a port.
        match text.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => {
                ImageName { name: name.to_owned(), tag: tag.to_owned() }
            }
            _ => ImageName { name: text.to_owned(), tag: "latest".to_owned() },
        }
    }
}

impl fmt::Display for ImageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.tag)
    }
}

/// The Kafka image, present on an engine of this machine.
pub(super) fn present() -> Result<ImageName> {
    let host = std::env::var("DOCKER_HOST").unwrap_or_default();
    if !host.is_empty() && !host.starts_with("unix://") {
        return Err(KitError::new(format!(
            "DOCKER_HOST is {host}, and Kafka's ports are published on the engine's loopback"
        )));
    }
    let image = ImageName::wanted();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .doing(|| "cannot make a runtime".to_owned())?;
    runtime.block_on(async {
        let docker = Docker::connect_with_defaults().doing(|| "no Docker engine".to_owned())?;
        match tokio::time::timeout(PING_TIMEOUT, docker.ping()).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Err(KitError::new(format!("no Docker engine runs: {error}"))),
            Err(_) => return Err(KitError::new("the Docker engine does not answer")),
        }
        if docker.inspect_image(&image.to_string()).await.is_err() {
            let pulled = tokio::time::timeout(PULL_TIMEOUT, pull(&docker, &image)).await;
            pulled.unwrap_or_else(|_| {
                Err(KitError::new(format!("pulling {image} takes too long")))
            })?;
        }
        Ok(image)
    })
}

async fn pull(docker: &Docker, image: &ImageName) -> Result<()> {
    eprintln!("testkit: pulling {image}");
    let options =
        CreateImageOptionsBuilder::default().from_image(&image.name).tag(&image.tag).build();
    let mut progress = Box::pin(docker.create_image(Some(options), None, None));
    loop {
        match tokio::time::timeout(PULL_SILENCE, progress.next()).await {
            Ok(Some(Ok(_))) => {}
            Ok(None) => return Ok(()),
            Ok(Some(Err(error))) => {
                return Err(KitError::new(format!("cannot pull {image}: {error}")));
            }
            Err(_) => {
                return Err(KitError::new(format!(
                    "cannot pull {image}: nothing came for {} s",
                    PULL_SILENCE.as_secs()
                )));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_names() {
        let parsed = |text: &str| {
            let image = ImageName::parse(text);
            (image.name, image.tag)
        };
        let pair = |name: &str, tag: &str| (name.to_owned(), tag.to_owned());
        assert_eq!(parsed("apache/kafka:4.4.0"), pair("apache/kafka", "4.4.0"));
        assert_eq!(parsed("mirror:5000/apache/kafka"), pair("mirror:5000/apache/kafka", "latest"));
    }
}
