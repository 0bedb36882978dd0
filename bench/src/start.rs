//! Case 14: from the start of a server to its first response.

use std::time::Instant;

use crate::client::{self, Client};
use crate::database::Database;
use crate::failure::Failure;
use crate::filled;
use crate::fixture::Setup;
use crate::fleet::TENANT;
use crate::result_line::ResultLine;
use crate::server::Instance;

/// Most additional seconds with all accesses against none.
const GOAL_SECONDS: f64 = 0.1;

/// Starts servers on a filled store and on an empty one, alternating.
pub(crate) fn measure(
    setup: &Setup,
    database: &Database,
    n_rounds: usize,
) -> Result<Vec<ResultLine>, Failure> {
    let full = setup.fill(database, setup.options.large_rows)?.instance;
    let empty = filled::empty(setup, database)?;
    let (mut both, mut longer) = (Vec::new(), Vec::new());
    // The first round warms the page cache, and is not counted.
    for round in 0..=n_rounds {
        eprintln!("bench: starting servers, round {round} of {n_rounds}");
        let (with, without) = match round % 2 {
            0 => (time(&full)?, time(&empty)?),
            _ => {
                let without = time(&empty)?;
                (time(&full)?, without)
            }
        };
        if round > 0 {
            both.push((with * 1e3, without * 1e3));
            longer.push(with - without);
        }
    }
    Ok(vec![
        ResultLine::alone("longer than on an empty store", "s", longer).at_most(GOAL_SECONDS),
        ResultLine::new("from the start to the first answer", "ms", both),
    ])
}

/// Seconds until a newly started server has responded.
fn time(instance: &Instance) -> Result<f64, Failure> {
    let token = instance.issue_token("access:read")?;
    let request = client::get(&format!("/{TENANT}/access?pageSize=1"), &token);
    let begun = Instant::now();
    let server = instance.serve()?;
    let answer = Client::connect(server.address())?.call(&request)?.status;
    let took = begun.elapsed();
    server.stop()?;
    match answer {
        200 => Ok(took.as_secs_f64()),
        status => Err(Failure::WrongAnswer(format!("{status} from a server that just started"))),
    }
}
