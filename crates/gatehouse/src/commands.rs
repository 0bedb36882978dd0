//! The command line: every command, one file each, and the process's exit code.

/// Defines a command whose subcommands work on one tenant, each with its own `run`.
macro_rules! tenant_command {
    ($(#[$about:meta])* $name:ident { $($verb:ident($args:ty)),+ $(,)? }) => {
        $(#[$about])*
        #[derive(clap::Args)]
        #[command(arg_required_else_help = true)]
        pub(crate) struct $name {
            #[command(subcommand)]
            verb: Verb,
            #[command(flatten)]
            tenant_args: crate::client::api::TenantArgs,
        }

        #[derive(clap::Subcommand)]
        enum Verb {
            $($verb($args),)+
        }

        impl $name {
            pub(crate) fn run(self) -> Result<(), crate::failure::Failure> {
                let Self { verb, tenant_args } = self;
                crate::runtime::run(async move {
                    match verb {
                        $(Verb::$verb(args) => args.run(&tenant_args).await,)+
                    }
                })
            }
        }
    };
}

pub(super) mod access;
pub(super) mod apply;
mod audit;
pub(super) mod backup;
pub(super) mod batch;
pub(super) mod client;
pub(super) mod completions;
pub(super) mod connector;
pub(super) mod contract;
pub(super) mod doctor;
pub(super) mod event;
pub(super) mod hook;
pub(super) mod hub;
pub(super) mod key;
pub(super) mod login;
pub(super) mod logout;
pub(super) mod migrate;
pub(super) mod product;
pub(crate) mod profile;
pub(super) mod restore;
pub(super) mod serve;
pub(super) mod simulate;
pub(super) mod token;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::failure::{Failure, FailureKind};
use crate::terminal::screen::print_notice;

/// Who may connect, and what is connected, on whose network.
#[derive(Parser)]
#[command(name = "gatehouse", version, arg_required_else_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Access(access::AccessCommand),
    Batch(batch::BatchCommand),
    Product(product::ProductCommand),
    Contract(contract::ContractCommand),
    Event(event::EventCommand),
    Hub(hub::HubCommand),
    Hook(hook::HookCommand),
    Login(login::Login),
    Logout(logout::Logout),
    Profile(profile::ProfileCommand),
    Serve(serve::Serve),
    Token(token::Token),
    Client(client::ClientCommand),
    Apply(apply::Apply),
    Backup(backup::Backup),
    Restore(restore::Restore),
    Doctor(doctor::Doctor),
    Migrate(migrate::Migrate),
    Key(key::KeyCommand),
    Audit(audit::AuditCommand),
    Connector(connector::ConnectorCommand),
    Simulate(simulate::Simulate),
    Completions(completions::Completions),
    Man(completions::Man),
}

/// Runs the command of this process's command line; returns the exit code.
pub fn run() -> ExitCode {
    exit_on_closed_stdout();
    let outcome = match CommandLine::parse().command {
        Command::Access(access) => access.run(),
        Command::Batch(batch) => batch.run(),
        Command::Product(product) => product.run(),
        Command::Contract(contract) => contract.run(),
        Command::Event(event) => event.run(),
        Command::Hub(hub) => hub.run(),
        Command::Hook(hook) => hook.run(),
        Command::Login(login) => login.run(),
        Command::Logout(logout) => logout.run(),
        Command::Profile(profile) => profile.run(),
        Command::Serve(serve) => serve.run(),
        Command::Token(token) => token.run().map_err(Failure::from),
        Command::Client(client) => client.run().map_err(Failure::from),
        Command::Apply(apply) => apply.run(),
        Command::Backup(backup) => backup.run().map_err(Failure::from),
        Command::Restore(restore) => restore.run().map_err(Failure::from),
        Command::Doctor(doctor) => doctor.run().map_err(Failure::from),
        Command::Migrate(migrate) => migrate.run().map_err(Failure::from),
        Command::Key(key) => key.run().map_err(Failure::from),
        Command::Audit(audit) => audit.run(),
        Command::Connector(connector) => connector.run().map_err(Failure::from),
        Command::Simulate(simulate) => simulate.run().map_err(Failure::from),
        Command::Completions(completions) => completions.run(CommandLine::command()),
        Command::Man(man) => man.run(CommandLine::command()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            if why.kind != FailureKind::NoReader {
                print_notice(&format!("gatehouse: {why}"));
            }
            ExitCode::from(why.exit_code())
        }
    }
}

/// Ends the process without a message when the reader closes standard output, as `head` does.
fn exit_on_closed_stdout() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let message = panic.payload_as_str().unwrap_or_default();
        if message.starts_with("failed printing to stdout") && message.contains("Broken pipe") {
            std::process::exit(FailureKind::NoReader as i32);
        }
        report(panic);
    }));
}
