#!/usr/bin/env bash
# Proves Dockerfile and docker-compose.yml on a machine that can pull no image: makes the base
# images from packages, under the names that the two files ask for, on a Docker engine of its own;
# brings everything up with one command; and looks whether records pass, Prometheus sees them, and
# all of it goes on after `down` and `up`. Where images can be pulled, `docker compose up` is proof
# enough, and this refuses to put its stand-ins among the real images.
#   scripts/compose-proof.sh                  # as root, on Debian; after `make build`
#   scripts/compose-proof.sh COMMAND ...      # also runs this while everything is up, with the
#                                             # address of Prometheus in PROMETHEUS_URL
# What it does not prove: that the image compiles the programs (its `cargo` hands over those that
# `make build` made), the real base images, and Grafana, which is not a package.
# Must not be in here: the address of a package mirror, which apt knows.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

cache=${ONCEGATE_PROOF_DIR:-$HOME/.cache/oncegate/compose-proof}
programs=${CARGO_TARGET_DIR:-$PWD/target}/release
compose=${COMPOSE:-docker-compose}
project=oncegate-proof
services="kafka raw-topics topics oncegate traffic prometheus"
routes="lab epcis inventory dispense"
image_of() { sed -n "s/.*\(ONCEGATE_$1_IMAGE:-\|ARG $1_IMAGE=\)\([^}]*\)}\{0,1\}\$/\2/p" "$2" | head -n 1; }
base_image=$(image_of BASE Dockerfile)
rust_image=$(image_of RUST Dockerfile)
kafka_image=$(image_of KAFKA docker-compose.yml)
prometheus_image=$(image_of PROMETHEUS docker-compose.yml)
export DOCKER_BUILDKIT=0 COMPOSE_PROJECT_NAME=$project COMPOSE_INTERACTIVE_NO_CLI=1
unset COMPOSE_FILE ONCEGATE_BOOTSTRAP

say() { echo "compose-proof: $*" >&2; }
fail() {
    say "$*"
    exit 1
}

# --- what it needs -------------------------------------------------------------------------------

[ "$(id -u)" -eq 0 ] || fail "only root may start a Docker engine"
command -v apt-get >/dev/null || fail "needs Debian's packages"
for program in oncegate traffic; do
    [ -x "$programs/$program" ] || fail "$programs/$program is not there: make build"
done
if env -u DOCKER_HOST docker info >/dev/null 2>&1; then
    fail "a Docker engine runs here already; if it can pull images: docker compose up"
fi
missing=
need() { command -v "$1" >/dev/null || missing="$missing $2"; }
need dockerd docker.io
need "${compose%% *}" docker-compose
need debootstrap debootstrap
need curl curl
need mvn maven
if [ -n "$missing" ]; then
    say "installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || true
    # shellcheck disable=SC2086 # a list of words
    apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi

# --- a Docker engine of its own ------------------------------------------------------------------

mkdir -p "$cache"
exec 9>"$cache/lock"
flock -n 9 || fail "another one runs already"
work=$(mktemp -d)
export DOCKER_HOST=unix://$work/docker.sock
dockerd --host "$DOCKER_HOST" --data-root "$cache/docker" --exec-root "$work/exec" \
    --pidfile "$work/pid" --log-level warn >"$work/dockerd.log" 2>&1 9>&- &
engine=$!

end() {
    status=$?
    trap - EXIT
    if [ "$status" -ne 0 ]; then
        say "FAILED; the ends of the logs:"
        $compose logs --no-color --tail=25 >&2 2>/dev/null || true
        tail -n 5 "$work/dockerd.log" >&2 || true
    fi
    $compose down -v --remove-orphans >/dev/null 2>&1 || true
    kill "$engine" 2>/dev/null || true
    wait "$engine" 2>/dev/null || true
    rm -rf "$work"
    exit "$status"
}
trap end EXIT
trap 'exit 130' INT TERM

# Waits until a command holds: how long, what for, the command.
until_holds() {
    local until=$((SECONDS + $1)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$until" ] || fail "waited in vain: $what"
        sleep 0.5
    done
}
until_holds 30 "the Docker engine answers" docker info

# Says nothing but where it fails.
quietly() {
    "$@" >"$work/said" 2>&1 || fail "$1 $2: $(tail -n 30 "$work/said")"
}

# --- base images, kept in the engine -------------------------------------------------------------

has_image() { docker image inspect "$1" >/dev/null 2>&1; }

if ! has_image "$base_image"; then
    release=${base_image##*:}
    release=${release%-slim}
    # shellcheck disable=SC2016 # apt's own variable
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
        "Codename: $release" | head -n 1)
    [ -n "$mirror" ] || fail "apt knows no mirror of $release, which $base_image is made of"
    say "making $base_image (about a minute)"
    debootstrap --variant=minbase --include=ca-certificates "$release" "$work/root" "$mirror" \
        >"$work/debootstrap.log" || fail "debootstrap: $(tail -n 3 "$work/debootstrap.log")"
    tar -C "$work/root" -c . | docker import - "$base_image" >/dev/null
    rm -rf "$work/root"
fi

say "making $kafka_image"
kafka=$cache/kafka-${kafka_image##*:}
if ! [ -d "$kafka" ]; then
    mkdir -p "$work/jars"
    cat >"$work/jars/pom.xml" <<END
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>oncegate</groupId><artifactId>image</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId>
      <version>${kafka_image##*:}</version></dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId>
      <version>1.7.36</version></dependency>
  </dependencies>
</project>
END
    quietly mvn -q -B -f "$work/jars/pom.xml" \
        org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies \
        -DincludeScope=runtime "-DoutputDirectory=$work/jars/libs"
    mkdir -p "$kafka.part"
    mv "$work/jars/libs" "$kafka.part/"
    mv "$kafka.part" "$kafka"
fi
# As the real image does it: the wrapper turns KAFKA_... variables into a file and formats the folder
# where that was not done yet, which is no fault; then the broker starts.
cat >"$kafka/run" <<'END'
#!/bin/sh
set -e
said=$(java -Xmx128m -cp '/opt/kafka/libs/*' kafka.docker.KafkaDockerWrapper setup \
    --default-configs-dir /etc/kafka/docker --mounted-configs-dir /mnt/shared/config \
    --final-configs-dir /opt/kafka/config 2>&1) ||
    echo "$said" | grep -i 'already formatted' ||
    {
        echo "$said"
        exit 1
    }
exec java -Xmx512m -cp '/opt/kafka/libs/*' kafka.Kafka /opt/kafka/config/server.properties
END
chmod 0755 "$kafka/run"
cat >"$kafka/Dockerfile" <<END
FROM $base_image
RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless \
    && rm -rf /var/lib/apt/lists/*
COPY libs /opt/kafka/libs
COPY run /etc/kafka/docker/run
RUN useradd --uid 1000 --create-home --shell /bin/bash appuser \
    && mkdir -p /opt/kafka/config /mnt/shared/config /var/lib/kafka/data \
    && touch /etc/kafka/docker/server.properties /etc/kafka/docker/log4j2.yaml \
        /etc/kafka/docker/tools-log4j2.yaml \
    && chown -R appuser /opt/kafka/config /mnt/shared/config /var/lib/kafka /etc/kafka
USER appuser
VOLUME ["/var/lib/kafka/data"]
CMD ["/etc/kafka/docker/run"]
END
quietly docker build -t "$kafka_image" "$kafka"

# The real image has busybox's wget, which the health check asks with.
say "making $prometheus_image, which holds Debian's Prometheus"
quietly docker build -t "$prometheus_image" - <<END
FROM $base_image
RUN apt-get update \
    && apt-get install -y --no-install-recommends prometheus wget \
    && rm -rf /var/lib/apt/lists/* \
    && install -d -o nobody -g nogroup /prometheus
USER nobody
VOLUME ["/prometheus"]
ENTRYPOINT ["/bin/prometheus"]
END

# Each time, for the programs are those of this build; layers that did not change are kept.
say "making $rust_image, whose cargo hands over the programs in $programs"
mkdir -p "$work/rust"
cp "$programs/oncegate" "$programs/traffic" "$work/rust/"
cat >"$work/rust/cargo" <<'END'
#!/bin/sh
# Stands in for the compiler, where the Dockerfile asks for what it should and the sources are here.
set -e
[ "$*" = "build --release --workspace --locked" ]
[ -f Cargo.lock ] && [ -f src/main.rs ] && [ -f src/journal/journal.proto ]
[ -f tests/kit/Cargo.toml ] && [ -d config/recipes ] && [ ! -e .git ] && [ ! -e target ]
mkdir -p "$CARGO_TARGET_DIR/release"
cp /prebuilt/oncegate /prebuilt/traffic "$CARGO_TARGET_DIR/release/"
END
chmod 0755 "$work/rust/cargo"
cat >"$work/rust/Dockerfile" <<END
FROM $base_image
RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ libclang-dev libssl-dev make pkg-config zlib1g-dev
COPY cargo /usr/local/bin/cargo
COPY oncegate traffic /prebuilt/
END
quietly docker build -t "$rust_image" "$work/rust"

# --- the proof -----------------------------------------------------------------------------------

oncegate_url=http://127.0.0.1:9464
export PROMETHEUS_URL=http://127.0.0.1:9090

# shellcheck disable=SC2086 # lists of words, here and below
up() { quietly $compose up -d $1 $services; }
ready() { [ "$(curl -fsS --max-time 3 $oncegate_url/readyz)" = ready ]; }
# The value of a query, without its decimals; nothing where it has none.
query() {
    curl -fsS --max-time 5 -G "$PROMETHEUS_URL/api/v1/query" --data-urlencode "query=$1" |
        sed -n 's/.*"value":\[[0-9.]*,"\([0-9]*\).*/\1/p'
}
above() {
    local value
    value=$(query "$1")
    [ "${value:-0}" -gt "$2" ]
}
container() { docker inspect --format "$2" "$($compose ps -a -q "$1")"; }
is_healthy() { [ "$(container "$1" '{{.State.Health.Status}}')" = healthy ]; }

say "$compose up, which builds oncegate's images"
started=$SECONDS
up --build
until_holds 120 "oncegate is ready" ready
say "ready $((SECONDS - started)) s after the command"
for service in raw-topics topics; do
    [ "$(container $service '{{.State.ExitCode}}')" = 0 ] || fail "$service ended with a fault"
done
until_holds 60 "Prometheus scrapes oncegate" above 'up{job="oncegate"}' 0
until_holds 60 "every route lets events through" \
    above 'count(sum by (route) (oncegate_events_total{verdict="first"}) > 0)' 3
until_holds 60 "duplicates are absorbed" above 'sum(oncegate_events_total{verdict="duplicate"})' 0
before=$(query 'sum(oncegate_events_total)')
until_holds 60 "the count goes on" above 'sum(oncegate_events_total)' $((before + 300))
for service in kafka oncegate prometheus; do
    until_holds 60 "$service is healthy" is_healthy "$service"
done

say "users and ports"
for service in oncegate traffic; do
    user=$(container $service '{{.Config.User}}')
    case $user in
    "" | 0 | 0:* | root*) fail "$service runs as '$user'" ;;
    esac
done
docker ps --format '{{.Ports}}' | tr ',' '\n' | grep -- '->' | grep -v '^ *127\.0\.0\.1:' &&
    fail "a port is published to others than this machine"

if [ $# -gt 0 ]; then
    say "running $*"
    "$@"
fi

say "down and up again: records and state are kept"
first=$(query 'sum(oncegate_events_total{verdict="first"})')
$compose down >/dev/null 2>&1
up ''
until_holds 120 "oncegate is ready again" ready
$compose stop traffic >/dev/null 2>&1
settled() {
    # In each route the last record that was sent is decided.
    for route in $routes; do
        $compose exec -T oncegate oncegate reconcile "$route" --config /srv/config/oncegate.toml ||
            return 1
    done
}
until_holds 60 "every record is in exactly one count" settled
for route in $routes; do
    # shellcheck disable=SC2086 # perhaps two words
    quietly $compose exec -T oncegate oncegate verify "$route" --config /srv/config/oncegate.toml
    say "$(tail -n 1 "$work/said")"
done

$compose stop oncegate >/dev/null 2>&1
[ "$(container oncegate '{{.State.ExitCode}}')" = 0 ] || fail "oncegate did not end in order"
size() { echo $(($(docker image inspect --format '{{.Size}}' "$1") / 1000000)); }
say "images: oncegate $(size oncegate:dev) MB, on a base of $(size "$base_image") MB"
say "passed in $SECONDS s; $first events had passed before the restart"
