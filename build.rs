//! Generates the journal's messages from `src/journal/journal.proto`, without needing `protoc`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const PROTO: &str = "src/journal/journal.proto";
    println!("cargo:rerun-if-changed={PROTO}");
    let descriptors = protox::compile([PROTO], ["src/journal"])?;
    prost_build::Config::new().btree_map(["."]).compile_fds(descriptors)?;
    Ok(())
}
