//! Case 11, the cost of products: time added to that of the platforms, and CPU of the server per product.
//!
//! The platforms are simulated in a separate process and delay every response by the same time. So durations are
//! compared with that time, with a direct call to a platform, or with one page alone, always within the same round.

mod concurrent_pages;
mod hanging_platform;
mod one_page;
mod requester;
mod search;
mod simulation;
mod usage;

use std::time::Duration;

use self::requester::{Page, Requester, call};
use self::simulation::Simulation;
use self::simulation::{N_CONNECTIONS, OWN_TOKEN, PAGE_SIZE_MAX, Paging, Platform, ROUND_TRIP};
use crate::client::Client;
use crate::cpu::CpuReading;
use crate::failure::Failure;
use crate::filled;
use crate::fixture::Setup;
use crate::quantiles::median;
use crate::result_line::ResultLine;
use crate::server::{Instance, Server};
use crate::table::with_commas;

/// Accounts of each tenant, each at its own platform.
const N_ACCOUNTS: usize = 10;

/// A tenant whose platforms use all three paging methods, and one whose platforms need no cursors.
const MIXED: &str = "mixed";
const NUMBERED: &str = "numbered";

/// Products on a page by default, and the share of each account.
const PAGE_SIZE: usize = 100;
const SHARE: u32 = (PAGE_SIZE / N_ACCOUNTS) as u32;

/// Pages per figure, requested one after the other.
const N_PAGES: u64 = 10;

pub(crate) fn measure(setup: &Setup, n_rounds: usize) -> Result<Vec<ResultLine>, Failure> {
    let Setup { options, binary, store_directory } = setup;
    let binary = binary.clone();
    let simulation = Simulation::start(&binary, &wanted_platforms())?;
    let (mixed, numbered) = simulation.platforms.split_at(N_ACCOUNTS);

    let instance =
        Instance { binary, directory: store_directory.join("products"), database_url: None };
    filled::remove(&instance.directory)?;
    instance.initialize_with(&estate(mixed, numbered, n_rounds))?;
    let server = instance.serve()?;
    let token = instance.issue_token_for("*", "product:read")?;
    let requester = Requester { address: server.address().to_owned(), token };

    let mut lines = vec![one_page::measure(&requester, mixed, n_rounds)?];
    let concurrent_pages = |tenant, platforms, how| {
        concurrent_pages::measure(&requester, &server, tenant, platforms, how, n_rounds)
    };
    lines.extend(concurrent_pages(MIXED, mixed, "three with known cursors")?);
    lines.extend(search::measure(&requester, &simulation, mixed, n_rounds)?);
    if options.quick {
        // A platform that hangs takes twenty seconds in each round, and the others some.
        eprintln!("bench: a quick run skips other pages and the platform that hangs");
    } else {
        lines.extend(concurrent_pages(NUMBERED, numbered, "page numbers")?);
        lines.push(concurrent_pages::measure_without_marks(&requester, n_rounds)?);
        lines.extend(hanging_platform::measure(&requester, mixed, n_rounds)?);
    }
    simulation.set_latency(Duration::ZERO)?;
    lines.extend(usage::measure(&requester, &server, n_rounds)?);
    server.stop()?;
    Ok(lines)
}

/// Describes the measured setup in a sentence.
pub(crate) fn about() -> String {
    let latency = ROUND_TRIP.as_millis();
    format!(
        "shared with the platforms and the clients; {N_ACCOUNTS} accounts, each at its own platform: \
         {latency} ms per answer, {} connections.",
        with_commas(N_CONNECTIONS.into())
    )
}

fn wanted_platforms() -> Vec<(String, Paging)> {
    let all = [Paging::Page, Paging::Offset, Paging::Cursor];
    let mixed = (0..N_ACCOUNTS).map(|n| (format!("MIXED{n}"), all[n % all.len()]));
    let numbered = (0..N_ACCOUNTS).map(|n| (format!("NUMBERED{n}"), all[n % 2]));
    mixed.chain(numbered).collect()
}

/// The setup file: the tenants with their accounts, and one unused tenant per round.
fn estate(mixed: &[Platform], numbered: &[Platform], n_rounds: usize) -> String {
    let mut text = "tenants:\n".to_owned() + &tenant(MIXED, mixed) + &tenant(NUMBERED, numbered);
    text.extend((0..n_rounds).map(|round| tenant(&fresh(round), mixed)));
    text
}

fn fresh(round: usize) -> String {
    format!("fresh{round}")
}

fn tenant(name: &str, platforms: &[Platform]) -> String {
    let accounts = platforms.iter().map(|Platform { name, paging, address }| {
        let (account, paging) = (name.to_lowercase(), paging.as_str());
        format!(
            r#"      - name: {account}
        platform: {name}
        connector: simulator
        platformAccount: "1"
        settings: {{ baseUrl: "http://{address}", paging: {paging}, pageSizeMax: {PAGE_SIZE_MAX} }}
        credentials: {{ token: {OWN_TOKEN} }}
"#
        )
    });
    format!("  - name: {name}\n    accounts:\n{}", accounts.collect::<String>())
}

/// CPU that the server has used so far.
fn used_by(server: &Server) -> Result<CpuReading, Failure> {
    CpuReading::of_process(server.process_id()).map_err(Failure::unreadable_usage)
}

fn page(tenant: &str, number: u64) -> Page<'_> {
    Page { tenant, number, size: PAGE_SIZE, more: "" }
}

/// Requests pages one after the other, so that accounts are open and cursors are known.
fn warm(
    requester: &Requester,
    client: &mut Client,
    tenant: &str,
    numbers: std::ops::RangeInclusive<u64>,
) -> Result<(), Failure> {
    numbers
        .into_iter()
        .try_for_each(|number| page_time(requester, client, tenant, number).map(drop))
}

/// Duration of one page: the median of a few that are warm.
fn one_page_time(requester: &Requester, client: &mut Client, tenant: &str) -> Result<f64, Failure> {
    let times = (1..=N_PAGES).map(|number| page_time(requester, client, tenant, number));
    times.collect::<Result<_, _>>().map(median)
}

fn page_time(
    requester: &Requester,
    client: &mut Client,
    tenant: &str,
    number: u64,
) -> Result<f64, Failure> {
    let page = page(tenant, number);
    call(client, &requester.page(&page), &page.full()).map(milliseconds)
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
