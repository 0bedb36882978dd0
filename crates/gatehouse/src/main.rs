//! The binary: the server, and the commands around it.

mod api;
mod apply;
mod backup;
mod beside;
mod client;
mod connector;
mod demo;
mod doctor;
mod failure;
mod key;
mod log_queue;
mod logging;
mod migrate;
mod output;
mod profile;
mod screen;
mod serve;
mod session;
mod simulate;
mod token;
mod traces;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use failure::{Failure, Kind};

/// Answers are made of many small pieces, on several threads at once.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Who may connect, and what is connected, on whose network.
#[derive(Parser)]
#[command(name = "gatehouse", version, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server
    Serve(serve::Serve),
    /// Make a token of the built-in issuer
    Token(token::Token),
    /// Make, list and delete clients: machines that get tokens at /-/oauth2/token
    Client(client::ClientCommand),
    /// Make tenants, contracts and accounts as an estate file says
    Apply(apply::Apply),
    /// Copy the embedded store and its keys to another directory, also while a server uses them
    Backup(backup::Backup),
    /// Check settings, keys, store, clock and issuers, and say what to do about what is wrong
    Doctor(doctor::Doctor),
    /// Move an estate from the embedded store to PostgreSQL
    Migrate(migrate::Migrate),
    /// Change the master key and the token key, and see what each still has
    Key(key::KeyCommand),
    /// List, show, check and try connectors: platforms as files
    Connector(connector::ConnectorCommand),
    /// Run simulated platforms, to test clients and accounts with
    Simulate(simulate::Simulate),
}

fn main() -> ExitCode {
    end_quietly_with_the_reader();
    let outcome = match CommandLine::parse().command {
        Command::Serve(serve) => serve.run().map_err(Failure::from),
        Command::Token(token) => token.run().map_err(Failure::from),
        Command::Client(client) => client.run().map_err(Failure::from),
        Command::Apply(apply) => apply.run(),
        Command::Backup(backup) => backup.run().map_err(Failure::from),
        Command::Doctor(doctor) => doctor.run().map_err(Failure::from),
        Command::Migrate(migrate) => migrate.run().map_err(Failure::from),
        Command::Key(key) => key.run().map_err(Failure::from),
        Command::Connector(connector) => connector.run().map_err(Failure::from),
        Command::Simulate(simulate) => simulate.run().map_err(Failure::from),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            if why.kind != Kind::NoReader {
                eprintln!("gatehouse: {why}");
            }
            ExitCode::from(why.exit_code())
        }
    }
}

/// Whoever reads what we print may have seen enough, as `head` does. That is their end of it, and no bug of ours to
/// report.
fn end_quietly_with_the_reader() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let said = panic.payload_as_str().unwrap_or_default();
        if said.starts_with("failed printing to stdout") && said.contains("Broken pipe") {
            std::process::exit(Kind::NoReader as i32);
        }
        report(panic);
    }));
}
