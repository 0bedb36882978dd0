//! Case 15: one tenant sends ten times as many requests as the server can process, while another sends few.
//!
//! The server has one core and the clients have another, so that neither takes CPU from the other. First the server's
//! peak rate is found, with few connections. Then requests of one tenant arrive at ten times that rate, whether earlier
//! ones have been answered or not.

mod cores;
mod flood;

use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::batches::load::{self, RepeatingClient};
use crate::client::{self, Client};
use crate::database::Database;
use crate::devices::Credentials;
use crate::failure::Failure;
use crate::filled;
use crate::fixture::{Fixture, Setup};
use crate::fleet::{CONTRACTS, TENANT};
use crate::memory;
use crate::options::Options;
use crate::quantiles::Latencies;
use crate::result_line::ResultLine;
use flood::Flood;

/// The tenant that sends few requests.
const CALM_TENANT: &str = "calm";

/// Connections of that tenant, each with a pause after every response.
const N_CALM: usize = 4;
const CALM_PACE: Duration = Duration::from_millis(10);

/// Numbers of connections that are tried to find the peak rate.
const PEAK_CONNECTIONS: [usize; 3] = [4, 16, 64];

/// Most connections of the overloading tenant.
const FLOOD_CONNECTIONS: usize = 1000;

/// Arrival rate as a multiple of the peak rate.
const OVERLOAD: f64 = 10.0;

/// Least share of the peak rate under overload.
const GOAL_GOODPUT: f64 = 0.8;

/// Growth of the server's memory from the first half of an overload to its end.
const GOAL_MEMORY: f64 = 1.1;

/// Highest p99 of the other tenant, as a multiple of that without overload.
const GOAL_CALM: f64 = 4.0;

/// Kind of request that overloads the server.
struct Kind {
    name: &'static str,
    requests: Vec<Vec<u8>>,
    /// Status of a successful response.
    status: u16,
}

pub(crate) fn measure(setup: &Setup, database: &Database) -> Result<Vec<ResultLine>, Failure> {
    let options = &setup.options;
    let filled = setup.fill(database, options.usual_rows())?;
    let own = filled::copy(setup, database, &filled, "overload")?;
    own.instance.initialize_with(&format!(
        "tenants:\n  - name: {CALM_TENANT}\n    contracts:\n      - {{ id: C, productOfferingId: PO, billingModel: PAY_PER_USE }}\n"
    ))?;
    let calm_token = own.instance.issue_token_for(CALM_TENANT, "access:write access:verify")?;
    let cores = cores::two()?;
    let fixture = cores.on_first(|| Fixture::start(database, own))?;
    let lines = cores.on_second(|| {
        let calm = calm_requests(&fixture, &calm_token)?;
        let mut lines = Vec::new();
        for kind in kinds(&fixture) {
            lines.extend(measure_kind(&fixture, &kind, &calm, options)?);
        }
        Ok(lines)
    });
    fixture.stop()?;
    lines
}

fn kinds(fixture: &Fixture) -> Vec<Kind> {
    let post = |body: serde_json::Value| {
        client::post(&format!("/{TENANT}/access"), &fixture.token, &body.to_string())
    };
    let contract = CONTRACTS[0];
    vec![
        Kind {
            name: "pages of 100 accesses",
            requests: vec![client::get(&format!("/{TENANT}/access?pageSize=100"), &fixture.token)],
            status: 200,
        },
        Kind {
            name: "creations",
            requests: vec![post(json!({"contractId": contract}))],
            status: 201,
        },
        Kind {
            name: "creations with a chosen password",
            requests: vec![post(json!({"contractId": contract, "password": "a chosen password"}))],
            status: 201,
        },
    ]
}

/// Requests of the other tenant: checks of one of its devices.
fn calm_requests(fixture: &Fixture, token: &str) -> Result<Vec<Vec<u8>>, Failure> {
    let mut client = Client::connect(fixture.server.address())?;
    let make = |_| {
        let body = json!({"contractId": "C"}).to_string();
        let request = client::post(&format!("/{CALM_TENANT}/access"), token, &body);
        let made = client.call_for_json(&request, 201)?;
        let text = |name: &str| made[name].as_str().unwrap_or_default().to_owned();
        let device = Credentials { username: text("username"), password: text("password") };
        let body = json!({"username": device.username, "password": device.password}).to_string();
        Ok(client::post(&format!("/{CALM_TENANT}/verify"), token, &body))
    };
    (0..N_CALM).map(make).collect()
}

fn measure_kind(
    fixture: &Fixture,
    kind: &Kind,
    calm: &[Vec<u8>],
    options: &Options,
) -> Result<Vec<ResultLine>, Failure> {
    let period = Duration::from_secs(if options.quick { 2 } else { 8 });
    let address = fixture.server.address();
    let clients: Vec<RepeatingClient<'_>> =
        calm.iter().map(|it| RepeatingClient { address, requests: vec![it.as_slice()] }).collect();
    let with_calm_load = |work: &mut dyn FnMut() -> Result<(), Failure>| {
        let (seen, latencies, ()) =
            load::during_load_of_each(&clients, 200, Some(CALM_PACE), work)?;
        Ok::<_, Failure>(Latencies::of(latencies, seen))
    };
    let flood = |n_connections, per_second| Flood {
        address,
        requests: &kind.requests,
        status: kind.status,
        n_connections,
        per_second,
    };
    let (mut goodput, mut p99, mut grown) = (Vec::new(), Vec::new(), Vec::new());
    let (mut arrived, mut refused, mut during) = (Vec::new(), Vec::new(), Vec::new());
    let n_rounds = options.rounds(3, 2);
    for round in 0..n_rounds {
        eprintln!("bench: too many {}, round {} of {n_rounds}", kind.name, round + 1);
        let alone = with_calm_load(&mut || load::pause(period))?;
        let mut peak = 0.0_f64;
        // The other tenant's checks take a part of the server's core, at the peak as well.
        with_calm_load(&mut || {
            for n_connections in PEAK_CONNECTIONS {
                peak = peak.max(flood(n_connections, None).run(period / 2)?.good_per_second);
            }
            Ok(())
        })?;
        let overload = flood(FLOOD_CONNECTIONS, Some(peak * OVERLOAD));
        // The first part fills queues and caches; the second must not need more memory.
        let mut memory = (0.0, 0.0);
        let mut flooded = None;
        let beside = thread::scope(|scope| {
            let flooding = scope.spawn(|| overload.run(period * 2));
            let beside = with_calm_load(&mut || {
                load::pause(period)?;
                memory.0 = memory::anonymous_mib(fixture.server.process_id())?;
                load::pause(period)?;
                memory.1 = memory::anonymous_mib(fixture.server.process_id())?;
                Ok(())
            });
            let ended = flooding.join();
            flooded = Some(ended.map_err(|_| Failure::Step("a flood panicked".to_owned())));
            beside
        })?;
        let Some(flooded) = flooded.transpose()?.transpose()? else { continue };
        goodput.push((flooded.good_per_second, peak));
        p99.push((beside.p99_us, alone.p99_us));
        grown.push((memory.1, memory.0));
        arrived.push(flooded.sent_per_second / peak);
        refused.push(flooded.refused_per_second);
        during.push(beside);
    }
    let of = |what: &str| format!("{}: {what}", kind.name);
    let latencies = Latencies::median(during.into_iter());
    Ok(vec![
        ResultLine::new(&of("goodput, beside its peak"), "1/s", goodput).at_least(GOAL_GOODPUT),
        ResultLine::new(&of("p99 of another tenant, beside a calm server"), "µs", p99)
            .at_most(GOAL_CALM)
            .with_latencies(latencies),
        ResultLine::new(&of("memory at the end, beside the middle"), "MiB", grown)
            .at_most(GOAL_MEMORY),
        ResultLine::alone(&of("requests that the server took, beside its peak"), "", arrived),
        ResultLine::alone(&of("refused"), "1/s", refused),
    ])
}
