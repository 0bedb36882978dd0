//! Many pages at once: the duration until all have arrived.

use std::time::Instant;

use super::requester::Requester;
use super::simulation::{OWN_TOKEN, Platform};
use super::{N_PAGES, SHARE, fresh, milliseconds, one_page_time, page, page_time, used_by, warm};
use crate::client::Client;
use crate::failure::Failure;
use crate::quantiles::median;
use crate::result_line::ResultLine;
use crate::server::Server;
use crate::table::with_commas;

/// Pages that are requested at once, and their longest duration as a multiple of one account's.
const N_PAGES_MANY: u64 = 100;
const GOAL: f64 = 1.5;

/// Few enough that the machine is not the bottleneck.
const N_PAGES_FEW: u64 = 10;

/// Many different pages at once, against one account, against sequential pages, and against their bare calls.
pub(super) fn measure(
    requester: &Requester,
    server: &Server,
    tenant: &str,
    platforms: &[Platform],
    how: &str,
    n_rounds: usize,
) -> Result<Vec<ResultLine>, Failure> {
    eprintln!("bench: {N_PAGES_MANY} pages at once, {how}");
    let mut client = requester.connect()?;
    // In order: cursors lead from each page to the next.
    warm(requester, &mut client, tenant, 1..=N_PAGES_MANY)?;
    let mut clients = ConcurrentClients::gather(requester)?;
    let mut bare = BareCalls::prepare(platforms)?;
    let mut alone = DirectCalls::connect(platforms)?;
    let look = || used_by(server);
    let (mut few, mut many, mut beside_bare) = (Vec::new(), Vec::new(), Vec::new());
    let mut cpu = Vec::new();
    // The first round opens connections, and is not counted.
    for round in 0..=n_rounds {
        let before = look()?;
        one_page_time(requester, &mut client, tenant)?;
        let between = look()?;
        let all = clients.call(requester, tenant, N_PAGES_MANY)?;
        let after = look()?;
        let some = clients.call(requester, tenant, N_PAGES_FEW)?;
        let calls = bare.make()?;
        let account = alone.call()?;
        if round > 0 {
            few.push((some, account));
            many.push((all, account));
            beside_bare.push((all, calls));
            let in_turn = milliseconds(between.since(&before)) * (N_PAGES_MANY / N_PAGES) as f64;
            cpu.push((milliseconds(after.since(&between)), in_turn));
        }
    }
    let what = |n| format!("{n} pages at once, beside an account alone: {how}");
    let n_calls = with_commas(bare.0.len() as u64);
    Ok(vec![
        ResultLine::new(&what(N_PAGES_FEW), "ms", few),
        ResultLine::new(&what(N_PAGES_MANY), "ms", many).at_most(GOAL),
        ResultLine::new(
            &format!("{how}: the same, beside {n_calls} calls alone"),
            "ms",
            beside_bare,
        ),
        ResultLine::new(&format!("{how}: the same, CPU, beside pages in turn"), "ms", cpu).cpu(),
    ])
}

/// Every account by itself, called directly for its part of a page.
struct DirectCalls(Vec<(Client, Vec<u8>)>);

impl DirectCalls {
    fn connect(platforms: &[Platform]) -> Result<Self, Failure> {
        let calls = platforms
            .iter()
            .map(|it| Ok((Client::connect(&it.address)?, it.first_page(SHARE, OWN_TOKEN))));
        calls.collect::<Result<_, _>>().map(Self)
    }

    /// Duration of one call. All accounts are equally fast, so the median is the best estimate.
    fn call(&mut self) -> Result<f64, Failure> {
        let calls = self.0.iter_mut();
        let times = calls.map(|(client, request)| client.call(request).map(|it| it.latency));
        Ok(median(times.map(|time| time.map(milliseconds)).collect::<Result<_, _>>()?))
    }
}

/// As many calls as the pages need, sent at once without the server: what the machine allows.
struct BareCalls(Vec<(Client, Vec<u8>)>);

impl BareCalls {
    fn prepare(platforms: &[Platform]) -> Result<Self, Failure> {
        let calls = platforms
            .iter()
            .flat_map(|it| (0..N_PAGES_MANY).map(move |_| it))
            .map(|it| Ok((Client::connect(&it.address)?, it.first_page(SHARE, OWN_TOKEN))));
        calls.collect::<Result<_, _>>().map(Self)
    }

    fn make(&mut self) -> Result<f64, Failure> {
        let begun = Instant::now();
        self.0.iter_mut().try_for_each(|(client, request)| client.send(request))?;
        for (client, _) in &mut self.0 {
            let answer = client.receive()?;
            if answer.status != 200 {
                let text = String::from_utf8_lossy(answer.body).into_owned();
                return Err(Failure::WrongAnswer(format!("a platform answered {text}")));
            }
        }
        Ok(milliseconds(begun.elapsed()))
    }
}

/// Many pages at once without known cursors: each round's tenant has seen the first page only.
pub(super) fn measure_without_marks(
    requester: &Requester,
    n_rounds: usize,
) -> Result<ResultLine, Failure> {
    eprintln!("bench: {N_PAGES_MANY} pages at once, without cursors");
    let mut client = requester.connect()?;
    let mut clients = ConcurrentClients::gather(requester)?;
    let mut rounds = Vec::new();
    for round in 0..n_rounds {
        let tenant = fresh(round);
        warm(requester, &mut client, &tenant, 1..=1)?;
        let one = median(
            (0..N_PAGES)
                .map(|_| page_time(requester, &mut client, &tenant, 1))
                .collect::<Result<_, _>>()?,
        );
        rounds.push((clients.call(requester, &tenant, N_PAGES_MANY)?, one));
    }
    let what = format!("{N_PAGES_MANY} pages at once, beside one: three with unknown cursors");
    Ok(ResultLine::new(&what, "ms", rounds))
}

struct ConcurrentClients(Vec<Client>);

impl ConcurrentClients {
    fn gather(requester: &Requester) -> Result<Self, Failure> {
        (0..N_PAGES_MANY).map(|_| requester.connect()).collect::<Result<_, _>>().map(Self)
    }

    /// Requests so many different pages, and returns the duration until all have arrived.
    fn call(&mut self, requester: &Requester, tenant: &str, n_pages: u64) -> Result<f64, Failure> {
        let pages = (1..=n_pages).map(|number| page(tenant, number));
        let requests: Vec<_> = pages.map(|page| requester.page(&page)).collect();
        let expected = page(tenant, 1).full();
        let (took, _) = requester.pages_at_once(&mut self.0, &requests, &expected)?;
        Ok(milliseconds(took))
    }
}
