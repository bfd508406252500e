//! The binary: hands the command line to the commands.

fn main() {}
