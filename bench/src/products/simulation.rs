//! Simulated platforms in a separate process, so that their cost is not the server's, and direct calls to them.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::client::{self, Client};
use crate::failure::Failure;

/// Delay of every platform response.
pub(crate) const ROUND_TRIP: Duration = Duration::from_millis(50);

/// Connections of each account.
pub(crate) const N_CONNECTIONS: u32 = 100_000;

/// Most connections on a page of a platform, and most identifiers in a look-up.
pub(crate) const PAGE_SIZE_MAX: u32 = 100;
const LOOK_UP_MAX: u32 = 100;

/// The program's last line, once all platforms listen.
const LAST_LINE: &str = "Ctrl-C ends them all.";

/// A token for the tenants' accounts, and one for connections that none of them has.
pub(crate) const OWN_TOKEN: &str = "bench-token";
pub(crate) const OTHER_TOKEN: &str = "somebody-else";

/// Paging method of a platform's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paging {
    Page,
    Offset,
    Cursor,
}

impl Paging {
    /// The name in settings.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Offset => "offset",
            Self::Cursor => "cursor",
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Platform {
    pub(crate) name: String,
    pub(crate) paging: Paging,
    pub(crate) address: String,
}

/// Running platforms. Dropping them stops them.
#[derive(Debug)]
pub(crate) struct Simulation {
    child: Child,
    pub(crate) platforms: Vec<Platform>,
}

impl Simulation {
    /// Starts platforms with these names and paging methods.
    pub(crate) fn start(binary: &Path, wanted: &[(String, Paging)]) -> Result<Self, Failure> {
        let mut command = Command::new(binary);
        command.args(["simulate", "--listen", "127.0.0.1:0"]);
        for (name, paging) in wanted {
            let (kind, latency) = (paging.as_str(), ROUND_TRIP.as_millis());
            command.arg("--platform").arg(format!(
                "{name},kind={kind},latency={latency}ms,connections={N_CONNECTIONS},\
                 page-size-max={PAGE_SIZE_MAX},look-up-max={LOOK_UP_MAX}"
            ));
        }
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|cause| {
                Failure::Step(format!("cannot run {}: {cause}", binary.display()))
            })?;
        let mut simulation = Self { child, platforms: Vec::new() };
        simulation.platforms = simulation.read_platforms(wanted).ok_or_else(|| {
            Failure::Step("the simulated platforms did not say where they listen".to_owned())
        })?;
        Ok(simulation)
    }

    /// Sets the delay of every platform's responses.
    pub(crate) fn set_latency(&self, latency: Duration) -> Result<(), Failure> {
        let change = format!(r#"{{"latencyMs": {}}}"#, latency.as_millis());
        self.platforms.iter().try_for_each(|platform| platform.behave(&change))
    }

    /// The first lines have each platform's name and address.
    fn read_platforms(&mut self, wanted: &[(String, Paging)]) -> Option<Vec<Platform>> {
        let text = BufReader::new(self.child.stdout.take()?).lines();
        // Reads all lines: a program whose output is not read fails.
        let text: Vec<String> =
            text.map_while(Result::ok).take_while(|line| line != LAST_LINE).collect();
        let platform = |(line, (name, paging)): (&String, &(String, Paging))| {
            let mut words = line.split_whitespace();
            let name = words.next().filter(|word| word == name)?.to_owned();
            let address = words.next()?.strip_prefix("http://")?.to_owned();
            Some(Platform { name, paging: *paging, address })
        };
        let platforms: Vec<Platform> = text.iter().zip(wanted).map_while(platform).collect();
        (platforms.len() == wanted.len()).then_some(platforms)
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Platform {
    /// Changes the platform's behaviour, by a profile in JSON.
    pub(crate) fn behave(&self, change: &str) -> Result<(), Failure> {
        let request = client::patch("/-/profile", OWN_TOKEN, change);
        self.call(&mut Client::connect(&self.address)?, &request).map(drop)
    }

    /// A request for the first connections of an account.
    pub(crate) fn first_page(&self, n_connections: u32, token: &str) -> Vec<u8> {
        let query = match self.paging {
            Paging::Page => format!("page=1&size={n_connections}"),
            Paging::Offset => format!("offset=0&limit={n_connections}"),
            Paging::Cursor => format!("limit={n_connections}"),
        };
        client::get(&format!("/v1/connections?{query}"), token)
    }

    /// The ICCIDs of the first connections of an account, page after page.
    pub(crate) fn first_iccids(&self, n: usize, token: &str) -> Result<Vec<String>, Failure> {
        let mut client = Client::connect(&self.address)?;
        let mut iccids = Vec::new();
        let mut request = self.first_page(PAGE_SIZE_MAX, token);
        while iccids.len() < n {
            let page = self.call(&mut client, &request)?;
            let connections = page["connections"].as_array().map(Vec::as_slice).unwrap_or_default();
            let found = connections.iter().filter_map(|it| it["iccid"].as_str());
            let n_before = iccids.len();
            iccids.extend(found.map(str::to_owned));
            if iccids.len() == n_before {
                return Err(Failure::WrongAnswer(format!("{} has no more ICCIDs", self.name)));
            }
            let query = match self.paging {
                Paging::Page => {
                    format!(
                        "page={}&size={PAGE_SIZE_MAX}",
                        iccids.len() / PAGE_SIZE_MAX as usize + 1
                    )
                }
                Paging::Offset => format!("offset={}&limit={PAGE_SIZE_MAX}", iccids.len()),
                Paging::Cursor => {
                    let cursor = page["next"].as_str().unwrap_or_default();
                    format!("cursor={cursor}&limit={PAGE_SIZE_MAX}")
                }
            };
            request = client::get(&format!("/v1/connections?{query}"), token);
        }
        iccids.truncate(n);
        Ok(iccids)
    }

    fn call(&self, client: &mut Client, request: &[u8]) -> Result<Value, Failure> {
        let answer = client.call(request)?;
        let body = || String::from_utf8_lossy(answer.body).into_owned();
        if answer.status != 200 {
            let text = format!("{} answered {} {}", self.name, answer.status, body());
            return Err(Failure::WrongAnswer(text));
        }
        serde_json::from_slice(answer.body).map_err(|_| Failure::WrongAnswer(body()))
    }
}
