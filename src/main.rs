//! The binary: hands the command line to the commands.

use oncegate::commands::run::Service;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn main() {
    oncegate::ops::logging::start();
    let args: Vec<String> = std::env::args().collect();
    let overrides = oncegate::settings::Overrides {
        state_dir: args.get(5).map(Into::into),
        instance: None,
        http_listen: args.get(7).map(|x| x.parse().unwrap()),
        bootstrap: std::env::var("ONCEGATE_BOOTSTRAP").ok(),
    };
    let settings = match oncegate::settings::Settings::load(args[3].as_ref(), &overrides) {
        Ok(s) => s,
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(2);
        }
    };
    let stop = Arc::new(AtomicBool::new(false));
    let service = Service::new(settings, stop).unwrap();
    if let Err(e) = service.run() {
        eprintln!("{e}");
        std::process::exit(1);
    }
}
