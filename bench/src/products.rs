//! What products cost: how much is added to the time that the platforms take, and what the server does for
//! each product.
//!
//! The platforms are simulated in a process of their own and hold every answer back for the same time. So
//! times are compared with that time, with a platform that is asked directly, or with one page alone,
//! always within the same round.

mod asking;
mod simulation;

use std::thread;
use std::time::{Duration, Instant};

use self::asking::{Asker, Expected, Page, ask};
use self::simulation::{N_CONNECTIONS, OTHER_TOKEN, OWN_TOKEN, Paging, Platform, ROUND_TRIP};
use self::simulation::{PAGE_SIZE_MAX, Simulation};
use crate::client::Client;
use crate::cpu::CpuReading;
use crate::failure::Failure;
use crate::filled;
use crate::lines::Line;
use crate::options::Options;
use crate::report::with_commas;
use crate::server::{Place, Server};
use crate::summary::median;

/// Accounts of each tenant, each at a platform of its own.
const N_ACCOUNTS: usize = 10;

/// A tenant whose platforms page in all three ways, and one whose platforms need no marks.
const MIXED: &str = "mixed";
const NUMBERED: &str = "numbered";

/// Products on a page, where it isn't said: ten of each account.
const PAGE_SIZE: usize = 100;

/// How many times longer a page may take than the slowest account alone.
const GOAL_PAGE: f64 = 1.15;

/// Pages that are asked for at once, and how many times longer than one they may take together.
const N_AT_ONCE: u64 = 100;
const N_AT_ONCE_FEW: u64 = 10;
const GOAL_AT_ONCE: f64 = 1.5;

/// Cards that are looked for at once, and how many round trips that may take. Every second one is there.
const N_WANTED: usize = 1000;
const GOAL_ROUND_TRIPS: f64 = 2.0;

/// CPU of the server that a product may cost, in microseconds.
const GOAL_CPU_US: f64 = 20.0;

/// Products on a page, and pages in a round, where CPU is looked at.
const PAGE_SIZE_FOR_CPU: usize = 1000;
const N_PAGES_FOR_CPU: u64 = 10;

/// As long as a page waits for platforms, unless the configuration says otherwise.
const DEADLINE: Duration = Duration::from_secs(10);

/// How many times longer than that a page may take; and than one with all platforms up, once the server
/// leaves the one that hangs alone.
const GOAL_DEADLINE: f64 = 1.05;
const GOAL_WITHOUT_ONE: f64 = 1.15;

/// Failed calls after which the server leaves a platform alone.
const N_FAILURES: u64 = 5;

/// Rounds in which a platform hangs: each takes twenty seconds.
const HANGING_ROUNDS_MAX: usize = 3;

/// Pages that are asked for one after the other, for one figure.
const N_PAGES: u64 = 10;

/// Measures everything.
pub(crate) fn run(options: Options) -> Result<Vec<Line>, Failure> {
    let (binary, shelf) = crate::find_binary_and_shelf()?;
    let simulation = Simulation::start(&binary, &wanted_platforms())?;
    let (mixed, numbered) = simulation.platforms.split_at(N_ACCOUNTS);

    let place = Place { binary, directory: shelf.join("products"), database_url: None };
    filled::remove(&place.directory)?;
    place.found_with(&estate(mixed, numbered, options.n_rounds))?;
    let server = place.serve()?;
    let token = place.issue_token_for("*", "product:read")?;
    let asker = Asker { address: server.address().to_owned(), token };

    let mut lines = Vec::new();
    lines.push(one_page(&asker, mixed, options.n_rounds)?);
    for (tenant, platforms, how) in
        [(NUMBERED, numbered, "page numbers"), (MIXED, mixed, "three with known marks")]
    {
        lines.extend(at_once(&asker, &server, tenant, platforms, how, options.n_rounds)?);
    }
    lines.push(at_once_without_marks(&asker, options.n_rounds)?);
    lines.extend(find(&asker, &simulation, mixed, options.n_rounds)?);
    lines.extend(one_hangs(&asker, mixed, options.n_rounds.min(HANGING_ROUNDS_MAX))?);
    simulation.set_latency(Duration::ZERO)?;
    lines.extend(cpu(&asker, &server, options.n_rounds)?);
    server.stop()?;
    Ok(lines)
}

/// What was measured on, in a sentence.
pub(crate) fn about(options: Options) -> String {
    let n_cores = thread::available_parallelism().map_or(1, usize::from);
    let (n_rounds, latency) = (options.n_rounds, ROUND_TRIP.as_millis());
    format!(
        "SQLite {}, {n_cores} cores for the server, the platforms and the client; {N_ACCOUNTS} accounts at as \
         many platforms that take {latency} ms for every answer, {} connections each; medians of {n_rounds} \
         rounds.",
        rusqlite::version(),
        with_commas(N_CONNECTIONS.into())
    )
}

/// The platforms of the two tenants.
fn wanted_platforms() -> Vec<(String, Paging)> {
    let all = [Paging::Page, Paging::Offset, Paging::Cursor];
    let mixed = (0..N_ACCOUNTS).map(|n| (format!("MIXED{n}"), all[n % all.len()]));
    let numbered = (0..N_ACCOUNTS).map(|n| (format!("NUMBERED{n}"), all[n % 2]));
    mixed.chain(numbered).collect()
}

/// The tenants with their accounts, and one for each round that has never been asked for.
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

/// A page of all accounts, in turns with every account alone, asked directly.
fn one_page(asker: &Asker, platforms: &[Platform], n_rounds: usize) -> Result<Line, Failure> {
    eprintln!("bench: a page beside each account alone");
    let mut client = asker.connect()?;
    let share = (PAGE_SIZE / N_ACCOUNTS) as u32;
    let direct = platforms.iter().map(|it| {
        Ok::<_, Failure>((Client::connect(&it.address)?, it.first_page(share, OWN_TOKEN)))
    });
    let mut direct = direct.collect::<Result<Vec<_>, _>>()?;
    let (mut pages, mut alone) = (Vec::new(), vec![Vec::new(); platforms.len()]);
    warm(asker, &mut client, MIXED, 1..=N_ACCOUNTS as u64)?;
    for _ in 0..n_rounds {
        let mut of_round = Vec::new();
        for (n, (direct, request)) in direct.iter_mut().enumerate() {
            of_round.push(page_time(asker, &mut client, MIXED, n as u64 + 1)?);
            alone[n].push(milliseconds(direct.ask(request)?.latency));
        }
        pages.push(median(of_round));
    }
    // The account that is slowest over all rounds, not whichever was disturbed most in one.
    let slowest = alone
        .into_iter()
        .max_by(|one, other| f64::total_cmp(&median(one.clone()), &median(other.clone())));
    let rounds = pages.into_iter().zip(slowest.unwrap_or_default()).collect();
    Ok(Line::new("a page, beside the slowest account alone", "ms", rounds, Some(GOAL_PAGE)))
}

/// Many different pages at once, beside one, beside as many in turn, and beside their calls alone.
fn at_once(
    asker: &Asker,
    server: &Server,
    tenant: &str,
    platforms: &[Platform],
    how: &str,
    n_rounds: usize,
) -> Result<Vec<Line>, Failure> {
    eprintln!("bench: {N_AT_ONCE} pages at once, {how}");
    let mut client = asker.connect()?;
    // In order: marks lead from each page to the next.
    warm(asker, &mut client, tenant, 1..=N_AT_ONCE)?;
    let mut crowd = Crowd::gather(asker)?;
    let mut bare = BareCalls::prepare(platforms)?;
    let look = || CpuReading::of_process(server.process_id()).map_err(unreadable);
    let (mut few, mut many, mut beside_bare) = (Vec::new(), Vec::new(), Vec::new());
    let mut cpu = Vec::new();
    // The first round is for connections to come about, and is not counted.
    for round in 0..=n_rounds {
        let before = look()?;
        let one = one_page_time(asker, &mut client, tenant)?;
        let between = look()?;
        let all = crowd.ask(asker, tenant, N_AT_ONCE)?;
        let after = look()?;
        let some = crowd.ask(asker, tenant, N_AT_ONCE_FEW)?;
        let calls = bare.make()?;
        if round > 0 {
            few.push((some, one));
            many.push((all, one));
            beside_bare.push((all, calls));
            let in_turn = milliseconds(between.since(&before)) * (N_AT_ONCE / N_PAGES) as f64;
            cpu.push((milliseconds(after.since(&between)), in_turn));
        }
    }
    let what = |n| format!("{n} pages at once, beside one: {how}");
    let n_calls = with_commas(bare.0.len() as u64);
    Ok(vec![
        Line::new(&what(N_AT_ONCE_FEW), "ms", few, None),
        Line::new(&what(N_AT_ONCE), "ms", many, Some(GOAL_AT_ONCE)),
        Line::new(&format!("the same, beside {n_calls} calls alone"), "ms", beside_bare, None),
        Line::new("the same, CPU of the server, beside pages in turn", "ms", cpu, None),
    ])
}

/// As many calls as the pages of a crowd need, made at once without a server between: what the machine allows.
struct BareCalls(Vec<(Client, Vec<u8>)>);

impl BareCalls {
    fn prepare(platforms: &[Platform]) -> Result<Self, Failure> {
        let share = (PAGE_SIZE / N_ACCOUNTS) as u32;
        let calls = platforms
            .iter()
            .flat_map(|it| (0..N_AT_ONCE).map(move |_| it))
            .map(|it| Ok((Client::connect(&it.address)?, it.first_page(share, OWN_TOKEN))));
        calls.collect::<Result<_, _>>().map(Self)
    }

    fn make(&mut self) -> Result<f64, Failure> {
        let begun = Instant::now();
        self.0.iter_mut().try_for_each(|(client, request)| client.send(request))?;
        for (client, _) in &mut self.0 {
            let answer = client.receive()?;
            if answer.status != 200 {
                let said = String::from_utf8_lossy(answer.body).into_owned();
                return Err(Failure::WrongAnswer(format!("a platform answered {said}")));
            }
        }
        Ok(milliseconds(begun.elapsed()))
    }
}

/// The same where the way to the pages is not known: each round's tenant has seen the first page only.
fn at_once_without_marks(asker: &Asker, n_rounds: usize) -> Result<Line, Failure> {
    eprintln!("bench: {N_AT_ONCE} pages at once, without marks");
    let mut client = asker.connect()?;
    let mut crowd = Crowd::gather(asker)?;
    let mut rounds = Vec::new();
    for round in 0..n_rounds {
        let tenant = fresh(round);
        warm(asker, &mut client, &tenant, 1..=1)?;
        let one = median(
            (0..N_PAGES)
                .map(|_| page_time(asker, &mut client, &tenant, 1))
                .collect::<Result<_, _>>()?,
        );
        rounds.push((crowd.ask(asker, &tenant, N_AT_ONCE)?, one));
    }
    let what = format!("{N_AT_ONCE} pages at once, beside one: three with unknown marks");
    Ok(Line::new(&what, "ms", rounds, None))
}

/// Clients that ask at once.
struct Crowd(Vec<Client>);

impl Crowd {
    fn gather(asker: &Asker) -> Result<Self, Failure> {
        (0..N_AT_ONCE).map(|_| asker.connect()).collect::<Result<_, _>>().map(Self)
    }

    /// Asks for so many different pages, and tells how long it took until all were there.
    fn ask(&mut self, asker: &Asker, tenant: &str, n_pages: u64) -> Result<f64, Failure> {
        let pages = (1..=n_pages).map(|number| page(tenant, number));
        let requests: Vec<_> = pages.map(|page| asker.page(&page)).collect();
        let expected = page(tenant, 1).full();
        let (took, _) = asker.pages_at_once(&mut self.0, &requests, &expected)?;
        Ok(milliseconds(took))
    }
}

/// Looks for many cards over all accounts: those that were never seen, and the same again.
fn find(
    asker: &Asker,
    simulation: &Simulation,
    platforms: &[Platform],
    n_rounds: usize,
) -> Result<Vec<Line>, Failure> {
    eprintln!("bench: {N_WANTED} cards");
    let n_there = N_WANTED / 2 / platforms.len();
    simulation.set_latency(Duration::ZERO)?;
    let iccids = |token| {
        let of_each = platforms.iter().map(|it| it.first_iccids(n_rounds * n_there, token));
        of_each.collect::<Result<Vec<_>, Failure>>()
    };
    // The others are cards of the same platforms that another customer has.
    let (own, others) = (iccids(OWN_TOKEN)?, iccids(OTHER_TOKEN)?);
    simulation.set_latency(ROUND_TRIP)?;

    let mut client = asker.connect()?;
    warm(asker, &mut client, MIXED, 1..=1)?;
    let expected =
        Expected { status: 200, n_products: N_WANTED / 2, errors: &[(404, N_WANTED / 2)] };
    let (mut cold, mut warm) = (Vec::new(), Vec::new());
    for round in 0..n_rounds {
        let of_round = round * n_there..(round + 1) * n_there;
        let both = own.iter().chain(&others);
        let wanted: Vec<&str> =
            both.flat_map(|it| &it[of_round.clone()]).map(String::as_str).collect();
        let request = asker.find(MIXED, &wanted);
        for times in [&mut cold, &mut warm] {
            let took = ask(&mut client, &request, &expected)?;
            times.push((milliseconds(took), milliseconds(ROUND_TRIP)));
        }
    }
    let line = |how, rounds| {
        let n_wanted = with_commas(N_WANTED as u64);
        let what = format!("{n_wanted} cards, half of them there, in round trips: {how}");
        Line::new(&what, "ms", rounds, Some(GOAL_ROUND_TRIPS))
    };
    Ok(vec![line("never seen", cold), line("seen before", warm)])
}

/// Pages while one platform hangs: at first, and once it is left alone.
fn one_hangs(asker: &Asker, platforms: &[Platform], n_rounds: usize) -> Result<Vec<Line>, Failure> {
    let Some(hanging) = platforms.first() else { return Ok(Vec::new()) };
    let mut client = asker.connect()?;
    let (mut first, mut left_alone) = (Vec::new(), Vec::new());
    let n_products = PAGE_SIZE - PAGE_SIZE / N_ACCOUNTS;
    let late = Expected { status: 206, n_products, errors: &[(504, 1)] };
    let shut = Expected { errors: &[(503, 1)], ..late };
    for round in 0..n_rounds {
        eprintln!("bench: a platform hangs, round {} of {n_rounds}", round + 1);
        warm(asker, &mut client, MIXED, 1..=N_PAGES)?;
        let all_up = one_page_time(asker, &mut client, MIXED)?;

        hanging.behave(r#"{"fault": "hang"}"#)?;
        let requests: Vec<_> =
            (1..=N_FAILURES).map(|number| asker.page(&page(MIXED, number))).collect();
        let clients = (0..N_FAILURES).map(|_| asker.connect()).collect::<Result<Vec<_>, _>>();
        let (_, times) = asker.pages_at_once(&mut clients?, &requests, &late)?;
        let times = times.into_iter().map(|it| it.as_secs_f64()).collect();
        first.push((median(times), DEADLINE.as_secs_f64()));

        let pages = (1..=N_PAGES).map(|number| {
            let request = asker.page(&page(MIXED, number));
            ask(&mut client, &request, &shut).map(milliseconds)
        });
        left_alone.push((median(pages.collect::<Result<_, _>>()?), all_up));

        hanging.behave(r#"{"fault": "none"}"#)?;
        wait_until_up(asker, &mut client)?;
    }
    Ok(vec![
        Line::new("a page while one hangs, beside the deadline", "s", first, Some(GOAL_DEADLINE)),
        Line::new(
            "a page once it is left alone, beside one with all up",
            "ms",
            left_alone,
            Some(GOAL_WITHOUT_ONE),
        ),
    ])
}

/// Asks until the server has tried the platform again that it left alone. Each page takes its time, so nothing
/// is asked too often.
fn wait_until_up(asker: &Asker, client: &mut Client) -> Result<(), Failure> {
    const N_TRIES_MAX: u32 = 2000;
    let request = asker.page(&page(MIXED, 1));
    for _ in 0..N_TRIES_MAX {
        if ask(client, &request, &page(MIXED, 1).full()).is_ok() {
            return Ok(());
        }
    }
    Err(Failure::WrongAnswer("a platform that is up again is not asked again".to_owned()))
}

/// What the server uses for a product on large pages; the platforms answer at once.
fn cpu(asker: &Asker, server: &Server, n_rounds: usize) -> Result<Vec<Line>, Failure> {
    eprintln!("bench: CPU for each product");
    let large = |number, more| Page { tenant: MIXED, number, size: PAGE_SIZE_FOR_CPU, more };
    let kinds: [(&str, &str, usize); 3] = [
        ("CPU of the server for a product, pages of 1,000", "", PAGE_SIZE_FOR_CPU),
        ("the same with fields=none", "&fields=none", PAGE_SIZE_FOR_CPU),
        ("the same on pages of 100, a call for ten products", "", PAGE_SIZE),
    ];
    let mut client = asker.connect()?;
    let mut figures = vec![Vec::new(); kinds.len()];
    // The first round finds the marks, and is not counted.
    for round in 0..=n_rounds {
        for ((_, more, size), figures) in kinds.iter().zip(&mut figures) {
            let before = CpuReading::of_process(server.process_id()).map_err(unreadable)?;
            for number in 1..=N_PAGES_FOR_CPU {
                let page = Page { size: *size, ..large(number, more) };
                ask(&mut client, &asker.page(&page), &page.full())?;
            }
            let after = CpuReading::of_process(server.process_id()).map_err(unreadable)?;
            let n_products = N_PAGES_FOR_CPU as usize * size;
            if round > 0 {
                figures.push(after.since(&before).as_secs_f64() * 1e6 / n_products as f64);
            }
        }
    }
    let lines = kinds.iter().zip(figures).map(|((what, _, size), figures)| {
        let goal = (*size == PAGE_SIZE_FOR_CPU).then_some(GOAL_CPU_US);
        Line::alone(what, "µs", figures, goal)
    });
    Ok(lines.collect())
}

fn unreadable(cause: std::io::Error) -> Failure {
    Failure::Trouble(format!("no account of the CPU used: {cause}"))
}

fn page(tenant: &str, number: u64) -> Page<'_> {
    Page { tenant, number, size: PAGE_SIZE, more: "" }
}

/// Asks for pages one after the other, so that accounts are open and marks are known.
fn warm(
    asker: &Asker,
    client: &mut Client,
    tenant: &str,
    numbers: std::ops::RangeInclusive<u64>,
) -> Result<(), Failure> {
    numbers.into_iter().try_for_each(|number| page_time(asker, client, tenant, number).map(drop))
}

/// How long one page takes: the median of a few that are known.
fn one_page_time(asker: &Asker, client: &mut Client, tenant: &str) -> Result<f64, Failure> {
    let times = (1..=N_PAGES).map(|number| page_time(asker, client, tenant, number));
    times.collect::<Result<_, _>>().map(median)
}

fn page_time(
    asker: &Asker,
    client: &mut Client,
    tenant: &str,
    number: u64,
) -> Result<f64, Failure> {
    let page = page(tenant, number);
    ask(client, &asker.page(&page), &page.full()).map(milliseconds)
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
