# Images of oncegate and of the traffic that shows it:
#   docker build --target oncegate -t oncegate .
#   docker build --target traffic -t oncegate-traffic .
# The first build compiles RocksDB and librdkafka: about 30 minutes on two cores. The base images
# are arguments, so that others of the same Debian release can take their place.
# Must not be in here: a second way to compile, a setting, or a secret.
ARG RUST_IMAGE=rust:1-bookworm
ARG BASE_IMAGE=debian:bookworm-slim

FROM ${RUST_IMAGE} AS build
# bindgen loads libclang; the image has the compiler, OpenSSL and zlib already.
RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ libclang-dev libssl-dev make pkg-config zlib1g-dev \
    && apt-get clean && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
ENV CARGO_TARGET_DIR=/target CARGO_INCREMENTAL=0
RUN cargo build --release --workspace --locked \
    && mkdir /out \
    && strip -o /out/oncegate /target/release/oncegate \
    && strip -o /out/traffic /target/release/traffic

FROM ${BASE_IMAGE} AS base
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libssl3 libstdc++6 zlib1g \
    && apt-get clean && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin oncegate

FROM base AS traffic
COPY --from=build /out/traffic /usr/local/bin/traffic
USER 10001:10001
ENTRYPOINT ["traffic"]
CMD ["send"]

FROM base AS oncegate
COPY --from=build /out/oncegate /usr/local/bin/oncegate
# A configuration at /etc/oncegate/oncegate.toml finds the shipped recipes without naming them.
COPY config/recipes /usr/share/oncegate/recipes
RUN mkdir -p /etc/oncegate \
    && ln -s /usr/share/oncegate/recipes /etc/oncegate/recipes \
    && install -d -o oncegate -g oncegate -m 0700 /var/lib/oncegate
USER 10001:10001
# The state directory is the process's name in its group: keep it over restarts.
VOLUME ["/var/lib/oncegate"]
EXPOSE 9464
# Inside a container the loopback is the container's own; what is published is said by who runs it.
ENTRYPOINT ["oncegate"]
CMD ["run", "--config", "/etc/oncegate/oncegate.toml", "--state-dir", "/var/lib/oncegate", "--listen", "0.0.0.0:9464"]
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["oncegate", "status", "--url=http://127.0.0.1:9464", "--timeout=3s"]
