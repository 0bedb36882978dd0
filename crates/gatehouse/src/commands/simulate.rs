//! `gatehouse simulate`: simulated platforms alone, to test a client or an account with.

use std::fmt::Write;
use std::net::SocketAddr;

use clap::Args;
use gatehouse_connectors::simulator::{PagingKind, Platform, Server};
use gatehouse_core::PlatformName;
use gatehouse_core::product::Connectivity;
use gatehouse_server::config::Duration;
use gatehouse_server::serve::raise_open_files;
use tokio::task::JoinSet;

use crate::commands::serve::stop_signal;

/// Most platforms of one run.
const PLATFORMS_MAX: usize = 64;

/// Options of a platform, after its name.
const OPTIONS: &str =
    "kind, connections, latency, connectivity, page-size-max, look-up-max, check-digit, seed";

/// Run simulated platforms, to test clients and accounts with
#[derive(Args)]
pub(crate) struct Simulate {
    /// Address of the first platform; the others use the following ports. With port 0, each picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9700")]
    listen: SocketAddr,
    /// Seed of all connections; the same seed gives the same connections [default: 1]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Connections in each account, up to 1000000 [default: 1000]
    #[arg(long, value_name = "NUMBER")]
    connections: Option<u32>,
    /// Delay of every response, such as 50ms [default: 0ms]
    #[arg(long, value_name = "DURATION")]
    latency: Option<String>,
    /// A platform, repeat for each: its name, then separated by commas any of kind=page|offset|cursor, connections=N,
    /// latency=50ms, connectivity=cellular|satellite, page-size-max=N, look-up-max=N, check-digit=yes|no, seed=N
    /// [default: ALPHA, BETA and GAMMA, one of each kind]
    #[arg(long, value_name = "NAME,…")]
    platform: Vec<String>,
}

impl Simulate {
    pub(crate) fn run(self) -> Result<(), String> {
        let platforms = self.platforms()?;
        let addresses = addresses(self.listen, platforms.len())?;
        raise_open_files();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        raise_open_files();
        let runtime = runtime.map_err(|cause| format!("no threads to run on: {cause}"))?;
        runtime.block_on(simulate(platforms, &addresses))
    }

    /// The requested platforms, with their options.
    fn platforms(&self) -> Result<Vec<Platform>, String> {
        if self.platform.len() > PLATFORMS_MAX {
            let n = self.platform.len();
            return Err(format!("--platform: at most {PLATFORMS_MAX} can be run, not {n}"));
        }
        let mut platforms: Vec<Platform> = Vec::new();
        if self.platform.is_empty() {
            for mut platform in Platform::default_set() {
                self.apply_to(&mut platform)?;
                platforms.push(platform);
            }
        }
        for text in &self.platform {
            let mut platform = Platform::default();
            self.apply_to(&mut platform)?;
            read_platform(text, &mut platform).map_err(|why| format!("--platform {why}"))?;
            if platforms.iter().any(|other| other.name == platform.name) {
                return Err(format!("--platform {}: is there more than once", platform.name));
            }
            platforms.push(platform);
        }
        for platform in &platforms {
            platform.check().map_err(|why| format!("{}: {why}", platform.name))?;
        }
        Ok(platforms)
    }

    /// Applies the options for all platforms.
    fn apply_to(&self, platform: &mut Platform) -> Result<(), String> {
        platform.seed = self.seed.unwrap_or(platform.seed);
        platform.n_connections = self.connections.unwrap_or(platform.n_connections);
        if let Some(text) = &self.latency {
            platform.profile.latency_ms =
                milliseconds(text).map_err(|why| format!("--latency: {why}"))?;
        }
        Ok(())
    }
}

/// Parses a platform's name and options.
fn read_platform(text: &str, platform: &mut Platform) -> Result<(), String> {
    let mut parts = text.split(',');
    let name = parts.next().unwrap_or_default();
    platform.name =
        name.parse::<PlatformName>().map_err(|why| format!("`{name}`: the name {why}"))?;
    for part in parts {
        let (option, value) = part.split_once('=').ok_or_else(|| {
            format!("{name}: `{part}` must be an option and its value, such as kind=offset")
        })?;
        let read = match option {
            "kind" => parse_choice(value, PagingKind::ALL.map(|it| (it.as_str(), it)))
                .map(|it| platform.paging = it),
            "connectivity" => {
                let known =
                    [("cellular", Connectivity::Cellular), ("satellite", Connectivity::Satellite)];
                parse_choice(value, known).map(|it| platform.connectivity = it)
            }
            "check-digit" => parse_choice(value, [("yes", true), ("no", false)])
                .map(|it| platform.shows_check_digit = it),
            "latency" => milliseconds(value).map(|it| platform.profile.latency_ms = it),
            "connections" => number(value).map(|it| platform.n_connections = it),
            "page-size-max" => number(value).map(|it| platform.page_size_max = it),
            "look-up-max" => number(value).map(|it| platform.look_up_max = it),
            "seed" => number(value).map(|it| platform.seed = it),
            _ => return Err(format!("{name}: `{option}` is not an option; there are {OPTIONS}")),
        };
        read.map_err(|why| format!("{name}: {option} {why}"))?;
    }
    Ok(())
}

/// The value that a text stands for.
fn parse_choice<T: Copy, const N: usize>(text: &str, known: [(&str, T); N]) -> Result<T, String> {
    let found =
        known.iter().find(|(parse_choice, _)| *parse_choice == text).map(|(_, meaning)| *meaning);
    found.ok_or_else(|| {
        format!(
            "must be one of {}, not `{text}`",
            known.map(|(parse_choice, _)| parse_choice).join(", ")
        )
    })
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("must be a whole number, not `{text}`"))
}

fn milliseconds(text: &str) -> Result<u32, String> {
    let duration: Duration = text.parse().map_err(|why| format!("{why}"))?;
    // A larger value exceeds the bound that is checked later.
    Ok(u32::try_from(duration.get().as_millis()).unwrap_or(u32::MAX))
}

/// An address for each platform, on consecutive ports.
fn addresses(first: SocketAddr, n: usize) -> Result<Vec<SocketAddr>, String> {
    let nth = |n: usize| {
        let port = match first.port() {
            0 => Some(0),
            port => u16::try_from(n).ok().and_then(|n| port.checked_add(n)),
        };
        port.map(|port| SocketAddr::new(first.ip(), port))
    };
    let addresses: Option<Vec<_>> = (0..n).map(nth).collect();
    addresses.ok_or_else(|| {
        let highest = usize::from(u16::MAX) - (n - 1);
        format!("--listen: {n} platforms need as many ports, so the first can be {highest} at most")
    })
}

/// Runs the platforms until the process is asked to end.
async fn simulate(platforms: Vec<Platform>, addresses: &[SocketAddr]) -> Result<(), String> {
    // Before the first response: an early signal must not be lost.
    let stop = stop_signal().map_err(|cause| format!("signals can't be caught: {cause}"))?;
    let mut servers = Vec::new();
    for (platform, address) in platforms.into_iter().zip(addresses) {
        let server = Server::start(platform, *address).map_err(|cause| {
            format!("can't listen on {address} ({cause}): give another address with --listen")
        })?;
        servers.push(server);
    }
    println!("{}", invitation(&servers));
    stop.await;
    let mut stopping: JoinSet<()> = servers.into_iter().map(Server::stop).collect();
    while stopping.join_next().await.is_some() {}
    Ok(())
}

/// The list of platforms, with instructions.
fn invitation(servers: &[Server]) -> String {
    let mut text = String::new();
    let width = servers.iter().map(|it| it.platform().name.as_str().len()).max().unwrap_or(0);
    let url_width = servers.iter().map(|it| it.url().len()).max().unwrap_or(0);
    for server in servers {
        let Platform { name, paging, n_connections, .. } = server.platform();
        let (name, url, kind) = (name.as_str(), server.url(), paging.as_str());
        let _ = writeln!(text, "{name:width$}  {url:url_width$}  {kind:6}  {n_connections}");
    }
    text += "\nAny token is accepted, and each shows its own connections. As the accounts of a tenant, in \
             an estate:\n\ntenants:\n  - name: demo\n    accounts:\n";
    for (n, server) in servers.iter().enumerate() {
        text += &account(server, n);
    }
    if let Some(server) = servers.first() {
        let (url, token) = (server.url(), token(server));
        let first = match server.platform().paging {
            PagingKind::Page => "page=1&size=3",
            PagingKind::Offset => "offset=0&limit=3",
            PagingKind::Cursor => "limit=3",
        };
        let _ = write!(
            text,
            r#"
list:
  curl -s -H 'Authorization: Bearer {token}' '{url}/v1/connections?{first}'
make it fail:
  curl -s -X PATCH {url}/-/profile -d '{{"fault": "hang"}}'
make it slow, and let one request in five fail:
  curl -s -X PATCH {url}/-/profile -d '{{"fault": "none", "latencyMs": 300, "errorPercent": 20}}'
make it healthy again:
  curl -s -X PUT {url}/-/profile -d '{{}}'

Ctrl-C ends them all."#
        );
    }
    text
}

/// An estate's account for a platform.
fn account(server: &Server, n: usize) -> String {
    let Platform { name, paging, page_size_max, look_up_max, .. } = server.platform();
    let (url, kind) = (server.url(), paging.as_str());
    format!(
        r#"      - name: {}
        platform: {}
        connector: simulator
        platformAccount: "{}"
        settings: {{ baseUrl: "{url}", paging: {kind}, pageSizeMax: {page_size_max}, lookUpMax: {look_up_max} }}
        credentials: {{ token: {} }}
"#,
        yaml(&name.as_str().to_lowercase()),
        yaml(name.as_str()),
        100_001 + n,
        yaml(&token(server)),
    )
}

fn token(server: &Server) -> String {
    format!("{}-token", server.platform().name.as_str().to_lowercase())
}

/// A quoted YAML string.
fn yaml(text: &str) -> String {
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(platforms: &[&str]) -> Simulate {
        Simulate {
            listen: ([127, 0, 0, 1], 9700).into(),
            seed: Some(7),
            connections: Some(20),
            latency: Some("50ms".into()),
            platform: platforms.iter().map(|&it| it.to_owned()).collect(),
        }
    }

    #[test]
    fn a_platforms_own_options_precede_the_common_ones() {
        let options = "X_1,kind=cursor,connections=5,latency=2s,connectivity=satellite,\
                       page-size-max=7,look-up-max=9,check-digit=yes,seed=3";
        let platforms = with(&[options, "Y"]).platforms().unwrap();
        let [x, y] = &platforms[..] else { panic!("{platforms:?}") };
        assert_eq!((x.name.as_str(), x.paging), ("X_1", PagingKind::Cursor));
        assert_eq!((x.n_connections, x.page_size_max, x.look_up_max), (5, 7, 9));
        assert_eq!((x.seed, x.profile.latency_ms), (3, 2000));
        assert_eq!((x.connectivity, x.shows_check_digit), (Connectivity::Satellite, true));
        assert_eq!((y.name.as_str(), y.paging), ("Y", PagingKind::Page));
        assert_eq!((y.n_connections, y.seed, y.profile.latency_ms), (20, 7, 50));
    }

    #[test]
    fn without_a_platform_there_is_one_of_each_kind() {
        let platforms = with(&[]).platforms().unwrap();
        assert_eq!(platforms.iter().map(|it| it.paging).collect::<Vec<_>>(), PagingKind::ALL);
        assert!(platforms.iter().all(|it| it.n_connections == 20 && it.seed == 7));
    }

    #[test]
    fn faults_of_a_platform_are_reported() {
        for (platform, expected) in [
            ("alpha", "--platform `alpha`: the name must begin with an upper-case letter"),
            ("", "the name must begin"),
            ("A,fast", "`fast` must be an option and its value, such as kind=offset"),
            ("A,colour=red", "`colour` is not an option; there are kind, connections"),
            ("A,kind=pages", "A: kind must be one of page, offset, cursor, not `pages`"),
            ("A,connectivity=x", "must be one of cellular, satellite, not `x`"),
            ("A,check-digit=1", "must be one of yes, no, not `1`"),
            ("A,connections=-1", "A: connections must be a whole number, not `-1`"),
            ("A,connections=1000001", "A: connections must be 0 to 1000000, not 1000001"),
            ("A,page-size-max=1001", "A: page-size-max must be 1 to 1000, not 1001"),
            ("A,look-up-max=0", "A: look-up-max must be 1 to 100, not 0"),
            ("A,latency=50", "A: latency must be a whole number and one of the units"),
            ("A,latency=11m", "A: latency in milliseconds must be 0 to 600000, not 660000"),
            ("A,latency=365d", "A: latency in milliseconds must be 0 to 600000"),
        ] {
            let why = with(&[platform]).platforms().unwrap_err();
            assert!(why.contains(expected), "{platform}: {why}");
        }
        let why = with(&["A", "B", "A,kind=offset"]).platforms().unwrap_err();
        assert_eq!(why, "--platform A: is there more than once");
        let many: Vec<String> = (0..=PLATFORMS_MAX).map(|n| format!("P{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(with(&many[1..]).platforms().is_ok());
        assert_eq!(
            with(&many).platforms().unwrap_err(),
            "--platform: at most 64 can be run, not 65"
        );
    }

    #[test]
    fn ports_are_consecutive_and_limited() {
        let ports = |first: u16, n| {
            let addresses = addresses(([127, 0, 0, 1], first).into(), n)?;
            Ok::<_, String>(addresses.iter().map(SocketAddr::port).collect::<Vec<_>>())
        };
        assert_eq!(ports(9700, 3), Ok(vec![9700, 9701, 9702]));
        assert_eq!(ports(0, 3), Ok(vec![0, 0, 0]));
        assert_eq!(ports(65_533, 3), Ok(vec![65_533, 65_534, 65_535]));
        assert!(ports(65_534, 3).unwrap_err().contains("the first can be 65533 at most"));
    }
}
