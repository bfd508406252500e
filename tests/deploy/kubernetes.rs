//! The Kubernetes manifests: every name has its counterpart, and oncegate takes what it is told.

use super::yaml::{document, documents, list, text, texts};
use super::{at, command, run_args, settings, shutdown_s};
use oncegate::cli::{Command, TopicsCommand};
use oncegate::settings::Settings;
use serde_json::Value;
use std::collections::BTreeSet;

const FOLDER: &str = "deploy/kubernetes";
const POD: &str = "/spec/template/spec";

fn manifest(name: &str) -> Value {
    document(&format!("{FOLDER}/{name}.yaml"))
}

/// The settings in the config map, as the product's loader takes them: what the image and the
/// cluster hold stands in this project under other paths, or not at all.
fn embedded_settings() -> Settings {
    let map = manifest("configmap");
    let recipes = at("config/recipes").display().to_string();
    let text = text(&map, "/data/oncegate.toml")
        .replace("/usr/share/oncegate/recipes", &recipes)
        .replace("/etc/oncegate/tls/ca.crt", "probe")
        .replace("${ONCEGATE_KAFKA_PASSWORD}", "not-a-password");
    assert!(text.contains(&recipes) && text.contains("probe"), "mend the replacements");
    assert!(!text.contains("${"), "a variable that no pod has");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("oncegate.toml");
    std::fs::write(&path, text).unwrap();
    settings(&path)
}

/// The workloads with their one container.
fn workloads() -> [Value; 2] {
    [manifest("statefulset"), manifest("topics-job")]
}

fn container(workload: &Value) -> &Value {
    let pod = workload.pointer(POD).expect("a pod");
    assert_eq!(list(pod, "/containers").count(), 1);
    &pod["containers"][0]
}

#[test]
fn the_list_of_manifests_is_whole() {
    let listed: BTreeSet<String> =
        texts(&manifest("kustomization"), "/resources").into_iter().collect();
    let mut there = BTreeSet::new();
    for entry in std::fs::read_dir(at(FOLDER)).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.ends_with(".yaml") {
            for document in documents(&format!("{FOLDER}/{name}")) {
                assert!(
                    document["apiVersion"].is_string() && document["kind"].is_string(),
                    "{name}"
                );
                assert!(document["kind"] != "Secret", "no secret, not even a sample");
            }
            there.insert(name);
        }
    }
    for apart in ["kustomization.yaml", "topics-job.yaml"] {
        assert!(there.remove(apart), "{apart}");
    }
    assert_eq!(listed, there);
}

#[test]
fn oncegate_takes_its_settings_and_its_command_lines() {
    let settings = embedded_settings();
    let stateful = manifest("statefulset");
    let words: Vec<String> = texts(container(&stateful), "/args")
        .into_iter()
        .map(|word| word.replace("$(POD_NAME)", "oncegate-0"))
        .collect();
    let args = run_args(&words);
    assert_eq!(args.instance.as_deref(), Some("oncegate-0"), "the pod's name is the member's");
    let pod = stateful.pointer(POD).unwrap();
    let grace_s = pod["terminationGracePeriodSeconds"].as_f64().expect("a grace period");
    assert!(grace_s > shutdown_s(&settings));
    let limit = text(container(&stateful), "/resources/limits/memory");
    let limit_bytes = limit.strip_suffix("Gi").unwrap().parse::<usize>().unwrap() << 30;
    assert!(settings.store_memory_bytes * 2 < limit_bytes);
    let state = args.state_dir.expect("a state directory");
    let mounts = texts_at(container(&stateful), "/volumeMounts", "mountPath");
    assert!(mounts.iter().any(|mount| state.starts_with(mount)));
    let apply = command(&texts(container(&manifest("topics-job")), "/args"));
    assert!(matches!(apply, Command::Topics { command: TopicsCommand::Apply(_) }));
}

/// One member of each element of a list.
fn texts_at(value: &Value, pointer: &str, member: &str) -> Vec<String> {
    list(value, pointer).map(|one| text(one, &format!("/{member}")).to_owned()).collect()
}

#[test]
fn every_mount_has_its_volume_and_every_key_its_source() {
    let map = manifest("configmap");
    let config = text(&map, "/data/oncegate.toml");
    for workload in workloads() {
        let pod = workload.pointer(POD).unwrap();
        let mut volumes = texts_at(pod, "/volumes", "name");
        volumes.extend(
            list(&workload, "/spec/volumeClaimTemplates")
                .map(|claim| text(claim, "/metadata/name").to_owned()),
        );
        let mut unused: BTreeSet<&String> = volumes.iter().collect();
        for mount in list(container(&workload), "/volumeMounts") {
            let name = text(mount, "/name").to_owned();
            assert!(volumes.contains(&name), "{name} is mounted and not there");
            unused.remove(&name);
            if let Some(key) = mount.get("subPath").and_then(Value::as_str) {
                assert!(map["data"].get(key).is_some(), "{key} is not in the config map");
            }
        }
        assert!(unused.is_empty(), "{unused:?} are mounted nowhere");
        let of_map = list(pod, "/volumes").filter_map(|one| one.pointer("/configMap/name"));
        assert_eq!(of_map.collect::<Vec<_>>(), [&map["metadata"]["name"]]);
        // The one secret, by file and by variable.
        let secret = list(pod, "/volumes").find_map(|one| one.get("secret")).expect("a secret");
        assert_eq!(texts_at(secret, "/items", "path"), ["ca.crt"]);
        assert!(config.contains("/etc/oncegate/tls/ca.crt"));
        let variables = texts_at(container(&workload), "/env", "name");
        let asked = config.split("${").skip(1).map(|rest| rest.split_once('}').unwrap().0);
        for variable in asked {
            assert!(variables.iter().any(|one| one == variable), "{variable} is not set");
        }
        let mut refs = list(container(&workload), "/env")
            .filter_map(|one| one.pointer("/valueFrom/secretKeyRef/name"));
        assert!(refs.all(|name| *name == secret["secretName"]));
    }
}

#[test]
fn ports_and_labels_agree() {
    let stateful = manifest("statefulset");
    let container = container(&stateful);
    let port = &container["ports"][0];
    let number = run_args(&texts(container, "/args")).listen.expect("an address").port();
    assert_eq!(port["containerPort"], number);
    for probe in ["startupProbe", "livenessProbe", "readinessProbe"] {
        assert_eq!(container[probe]["httpGet"]["port"], port["name"], "{probe}");
    }
    assert_eq!(container["livenessProbe"]["httpGet"]["path"], "/livez");
    assert_eq!(container["readinessProbe"]["httpGet"]["path"], "/readyz");
    let service = manifest("service");
    assert_eq!(service["metadata"]["annotations"]["prometheus.io/port"], number.to_string());
    assert_eq!(service["spec"]["ports"][0]["targetPort"], port["name"]);
    assert_eq!(service["metadata"]["name"], stateful["spec"]["serviceName"]);
    let policy = manifest("networkpolicy");
    assert_eq!(policy["spec"]["ingress"][0]["ports"][0]["port"], port["name"]);

    let labels = &stateful["spec"]["template"]["metadata"]["labels"];
    let budget = manifest("poddisruptionbudget");
    for selector in [
        &stateful["spec"]["selector"]["matchLabels"],
        &service["spec"]["selector"],
        &budget["spec"]["selector"]["matchLabels"],
    ] {
        assert_eq!(selector, labels);
    }
    let job = manifest("topics-job");
    assert_ne!(&job["spec"]["template"]["metadata"]["labels"], labels);

    // Out to Kafka, on the port that the settings name.
    let settings = embedded_settings();
    let bootstrap = settings.kafka.get("bootstrap.servers").unwrap();
    let kafka_port = bootstrap.rsplit_once(':').unwrap().1.parse::<u16>().unwrap();
    let egress = list(&policy, "/spec/egress").last().expect("a way out");
    assert_eq!(egress["ports"][0]["port"], kafka_port);
}

#[test]
fn nothing_runs_with_more_rights_than_it_needs() {
    for workload in workloads() {
        let pod = workload.pointer(POD).unwrap();
        assert_eq!(pod["automountServiceAccountToken"], false);
        assert_eq!(pod["serviceAccountName"], manifest("serviceaccount")["metadata"]["name"]);
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(pod["securityContext"]["runAsUser"], 10_001, "the user of the image");
        let container = container(&workload);
        assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
        assert_eq!(container["securityContext"]["allowPrivilegeEscalation"], false);
        assert_eq!(container["securityContext"]["capabilities"]["drop"][0], "ALL");
        let image = format!("oncegate:{}", env!("CARGO_PKG_VERSION"));
        assert_eq!(container["image"], image, "the version of these manifests");
    }
}
