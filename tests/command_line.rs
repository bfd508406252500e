//! The completions and the manual page: made from the command line, so they tell all of it.
#![cfg(feature = "service")]

use clap::CommandFactory;
use oncegate::cli::Cli;
use std::process::{Command, Output};

fn oncegate(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oncegate")).args(words).output().expect("the program runs")
}

fn printed(words: &[&str]) -> String {
    let output = oncegate(words);
    assert!(output.status.success(), "{words:?}: {output:?}");
    assert!(output.stderr.is_empty(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// The full names of all commands that do something, such as `topics apply`.
fn commands() -> Vec<String> {
    fn collect(command: &clap::Command, before: &str, names: &mut Vec<String>) {
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            let name = format!("{before} {}", sub.get_name());
            match sub.has_subcommands() {
                true => collect(sub, &name, names),
                false => names.push(name.trim().to_owned()),
            }
        }
    }
    let mut names = Vec::new();
    collect(&Cli::command(), "", &mut names);
    names
}

#[test]
fn every_shell_gets_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = printed(&["completions", shell]);
        for name in commands() {
            let last = name.rsplit(' ').next().unwrap();
            assert!(script.contains(last), "{shell}: {name}");
        }
        assert!(script.contains("state-dir"), "{shell} has no options");
    }
    assert_eq!(oncegate(&["completions", "cobol"]).status.code(), Some(2));
}

#[test]
fn the_manual_page_has_every_command_with_its_options() {
    let page = printed(&["man"]);
    assert!(page.contains(".TH oncegate 1"), "{}", &page[..page.len().min(400)]);
    let plain = page.replace("\\-", "-");
    let names = commands();
    assert!(names.len() > 15 && names.contains(&"topics apply".to_owned()), "{names:?}");
    for name in &names {
        assert!(plain.contains(&format!(".SS \"oncegate {name}\"")), "{name}");
    }
    for said in ["--state-dir", "ONCEGATE_BOOTSTRAP", "Exit status"] {
        assert!(plain.contains(said), "{said}");
    }
    // One heading a part of the page, not one a part of a command.
    let headings = page.lines().filter(|line| line.starts_with(".SH ")).count();
    assert!(headings < 12, "{headings}");
}

/// The settings of the allocator stand in a symbol that it looks for by name: were the name wrong, it
/// would say nothing and keep its own.
#[test]
#[cfg(target_os = "linux")]
fn the_allocator_takes_its_settings() {
    let output = Command::new(env!("CARGO_BIN_EXE_oncegate"))
        .arg("--version")
        .env("MALLOC_CONF", "stats_print:true")
        .output()
        .expect("the program runs");
    let told = String::from_utf8_lossy(&output.stderr);
    for setting in ["opt.narenas: 4", "opt.dirty_decay_ms: 1000", "opt.muzzy_decay_ms: 0"] {
        assert!(told.lines().any(|line| line.trim().starts_with(setting)), "{setting} in {told}");
    }
}
