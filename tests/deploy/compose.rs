//! docker-compose.yml, and what Prometheus and Grafana are told by files that it mounts.

use super::yaml::{document, list, text, texts};
use super::{at, command, run_args, seconds, shipped_settings, shutdown_s};
use oncegate::cli::{Command, TopicsCommand};
use serde_json::Value;

const ONE_SHOTS: [&str; 2] = ["raw-topics", "topics"];

fn compose() -> Value {
    document("docker-compose.yml")
}

fn services(compose: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let services = compose["services"].as_object().expect("services");
    services.iter().map(|(name, service)| (name.as_str(), service))
}

#[test]
fn every_port_is_for_this_machine_alone() {
    let compose = compose();
    let mut ports = 0;
    for (name, service) in services(&compose) {
        for port in texts(service, "/ports") {
            assert!(port.starts_with("127.0.0.1:"), "{name} publishes {port}");
            ports += 1;
        }
        assert!(service.get("network_mode").is_none(), "{name} has a network of its own kind");
        assert_eq!(texts(service, "/security_opt"), ["no-new-privileges:true"], "{name}");
    }
    assert_eq!(ports, 4);
}

#[test]
fn what_ends_is_not_restarted_and_what_runs_is_watched() {
    let compose = compose();
    for (name, service) in services(&compose) {
        let restart = text(service, "/restart");
        if ONE_SHOTS.contains(&name) {
            assert_eq!(restart, "no", "{name}");
            continue;
        }
        assert_eq!(restart, "unless-stopped", "{name}");
        // The generator ends where it cannot send.
        assert!(name == "traffic" || service.pointer("/healthcheck/test").is_some(), "{name}");
    }
}

#[test]
fn everything_waits_for_services_that_there_are() {
    let compose = compose();
    for (name, service) in services(&compose) {
        let needs = service.get("depends_on").and_then(Value::as_object).into_iter().flatten();
        for (needed, how) in needs {
            let needed_service = &compose["services"][needed];
            assert!(needed_service.is_object(), "{name} waits for {needed}");
            match text(how, "/condition") {
                "service_healthy" => assert!(needed_service.get("healthcheck").is_some()),
                "service_completed_successfully" => assert!(ONE_SHOTS.contains(&needed.as_str())),
                "service_started" => {}
                other => panic!("{name} waits for {needed}: {other}"),
            }
        }
    }
}

#[test]
fn every_mount_is_of_a_volume_or_of_a_folder_here() {
    let compose = compose();
    for (name, service) in services(&compose) {
        for volume in texts(service, "/volumes") {
            let (source, _) = volume.split_once(':').expect("source:target");
            if let Some(folder) = source.strip_prefix("./") {
                assert!(at(folder).is_dir(), "{name} mounts {folder}");
                assert!(volume.ends_with(":ro"), "{name} can write to {folder}");
            } else {
                assert!(compose["volumes"].get(source).is_some(), "{name} mounts {source}");
            }
        }
    }
}

#[test]
fn oncegate_is_told_what_it_takes() {
    let compose = compose();
    let oncegate = &compose["services"]["oncegate"];
    let args = run_args(&texts(oncegate, "/command"));
    let listen = args.listen.expect("an address");
    assert!(listen.ip().is_unspecified(), "others in the network ask for metrics");
    assert_eq!(texts(oncegate, "/ports"), [format!("127.0.0.1:{0}:{0}", listen.port())]);
    assert_eq!(args.config.config, [std::path::Path::new("/srv/config/oncegate.toml")]);
    let state = args.state_dir.expect("a state directory");
    let state_volume = format!("oncegate-state:{}", state.display());
    let mounts = texts(oncegate, "/volumes");
    for mount in ["./config:/srv/config:ro", "./topics:/srv/topics:ro", &state_volume] {
        assert!(mounts.iter().any(|one| one == mount), "{mount} is not in {mounts:?}");
    }
    let grace_s = seconds(text(oncegate, "/stop_grace_period"));
    assert!(grace_s > shutdown_s(&shipped_settings()));
    let apply = command(&texts(&compose["services"]["topics"], "/command"));
    assert!(matches!(apply, Command::Topics { command: TopicsCommand::Apply(_) }));
}

#[test]
fn clients_in_the_network_use_the_listener_that_is_for_them() {
    let compose = compose();
    let advertised = text(&compose, "/services/kafka/environment/KAFKA_ADVERTISED_LISTENERS");
    for name in ["raw-topics", "topics", "oncegate", "traffic"] {
        let service = &compose["services"][name];
        let bootstrap = text(service, "/environment/ONCEGATE_BOOTSTRAP");
        assert!(
            advertised.split(',').any(|one| one.ends_with(&format!("//{bootstrap}"))),
            "{name}"
        );
    }
    assert!(advertised.contains("CLIENT://127.0.0.1:9092"));
}

#[test]
fn prometheus_asks_oncegate_and_reads_rules_that_are_mounted() {
    let compose = compose();
    let file = document("config/prometheus/prometheus.yml");
    let job = &file["scrape_configs"][0];
    assert_eq!(text(job, "/job_name"), "oncegate");
    let port =
        run_args(&texts(&compose["services"]["oncegate"], "/command")).listen.unwrap().port();
    assert_eq!(texts(job, "/static_configs/0/targets"), [format!("oncegate:{port}")]);
    let prometheus = &compose["services"]["prometheus"];
    assert!(
        texts(prometheus, "/volumes").contains(&"./config/prometheus:/etc/prometheus:ro".into())
    );
    for flag in ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]
    {
        assert!(texts(prometheus, "/command").iter().any(|one| one == flag), "{flag}");
    }
    assert_eq!(texts(&file, "/rule_files"), ["alerts.yml"]);
}

#[test]
fn grafana_is_given_its_source_and_its_dashboards() {
    let compose = compose();
    let grafana = &compose["services"]["grafana"];
    let mounts = texts(grafana, "/volumes");
    let provider = document("config/grafana/provisioning/dashboards/oncegate.yml");
    let folder = text(&provider, "/providers/0/options/path");
    assert!(mounts.contains(&format!("./config/grafana/dashboards:{folder}:ro")));
    assert!(
        mounts.contains(&"./config/grafana/provisioning:/etc/grafana/provisioning:ro".to_owned())
    );
    let home = text(grafana, "/environment/GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH");
    assert_eq!(home, format!("{folder}/oncegate.json"));

    let sources = document("config/grafana/provisioning/datasources/prometheus.yml");
    let source = list(&sources, "/datasources").next().expect("a source");
    assert_eq!(text(source, "/type"), "prometheus");
    assert_eq!(source["isDefault"], true);
    assert_eq!(text(source, "/url"), "http://prometheus:9090");
    assert!(compose["services"]["prometheus"].is_object());
}
