//! `oncegate quarantine`: what is held, why, and the ways back.
//! Must not be in here: what a held record means; that is the room `quarantine`.

mod admit;
mod desk;
mod list;
mod redrive;
mod show;

use crate::cli::{Outcome, QuarantineCommand};
use desk::Desk;

/// Does what the command line says.
pub fn quarantine(command: &QuarantineCommand) -> Outcome {
    let route = match command {
        QuarantineCommand::List(args) => &args.route,
        QuarantineCommand::Show(args) => &args.route,
        QuarantineCommand::Redrive(args) => &args.route,
        QuarantineCommand::Admit(args) => &args.route,
    };
    let desk = match Desk::open(route) {
        Ok(desk) => desk,
        Err(outcome) => return outcome,
    };
    let result = match command {
        QuarantineCommand::List(args) => list::list(desk, args),
        QuarantineCommand::Show(args) => show::show(desk, args),
        QuarantineCommand::Redrive(args) => redrive::redrive(desk, args),
        QuarantineCommand::Admit(args) => admit::admit(desk, args),
    };
    result.unwrap_or_else(|message| {
        eprintln!("quarantine: {message}");
        Outcome::Wrong
    })
}
