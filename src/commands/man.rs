//! `oncegate man`: the manual page, one section a subcommand, made from the command line itself.
//! Must not be in here: a text that `--help` does not show.

use crate::cli::{Cli, Outcome};
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::io::{self, Write};

/// Prints the manual page.
pub fn man() -> Outcome {
    let mut page = Vec::new();
    let printed = render(&mut page).and_then(|()| io::stdout().lock().write_all(&page));
    match printed {
        Ok(()) => Outcome::Fine,
        Err(error) => {
            eprintln!("man: {error}");
            Outcome::Wrong
        }
    }
}

fn render(page: &mut dyn Write) -> io::Result<()> {
    let mut command = Cli::command().disable_help_subcommand(true);
    // Gives each subcommand its full name.
    command.build();
    let man = Man::new(command.clone());
    man.render_title(page)?;
    man.render_name_section(page)?;
    man.render_synopsis_section(page)?;
    man.render_description_section(page)?;
    man.render_options_section(page)?;
    writeln!(page, ".SH COMMANDS")?;
    subcommands(&command, page)?;
    let mut notes = Vec::new();
    man.render_extra_section(&mut notes)?;
    page.write_all(&with_heading(&notes, b".SH NOTES\n"))?;
    man.render_version_section(page)
}

/// Every command with its options, those below others as well.
fn subcommands(of: &Command, page: &mut dyn Write) -> io::Result<()> {
    for command in of.get_subcommands().filter(|command| !command.is_hide_set()) {
        if command.has_subcommands() {
            subcommands(command, page)?;
            continue;
        }
        let name = command.get_bin_name().unwrap_or(command.get_name());
        writeln!(page, ".SS \"{}\"", name.replace('-', "\\-"))?;
        let man = Man::new(command.clone());
        let mut section = Vec::new();
        man.render_synopsis_section(&mut section)?;
        man.render_description_section(&mut section)?;
        if command.get_arguments().any(|argument| !argument.is_hide_set()) {
            man.render_options_section(&mut section)?;
        }
        page.write_all(&with_heading(&section, b".PP\n"))?;
    }
    Ok(())
}

/// Every heading of a section replaced by this line: the page has one heading for each command,
/// not one for each part of a command.
fn with_heading(section: &[u8], heading: &[u8]) -> Vec<u8> {
    let lines = section.split_inclusive(|byte| *byte == b'\n');
    let replaced = lines.map(|line| if line.starts_with(b".SH ") { heading } else { line });
    replaced.collect::<Vec<_>>().concat()
}
