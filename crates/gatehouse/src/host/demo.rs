//! `--demo`: a tenant and platforms to try out.

use std::net::{Ipv4Addr, SocketAddr};

use gatehouse_connectors::{Network, simulator};
use gatehouse_core::rights::Scope;
use gatehouse_server::auth::Grant;
use gatehouse_server::estate::Estate;
use gatehouse_server::serve::Server;

const DEMO_ESTATE: &str = include_str!("../../demo-estate.yaml");
const LIFETIME_SECONDS: i64 = 24 * 60 * 60;

const DEMO: &str = "demo";

/// The simulated platforms of the demo's tenant.
pub(crate) struct Demo {
    platforms: Vec<simulator::Server>,
}

impl Demo {
    /// Starts the demo's platforms and adds its tenant to an estate. A tenant of that name in the estate is left as it
    /// is, and gets no platforms.
    pub(crate) fn add_to(estate: &mut Estate) -> Result<Self, String> {
        if estate.tenants.iter().any(|it| it.tenant.name.as_str() == DEMO) {
            return Ok(Self { platforms: Vec::new() });
        }
        let mut text = DEMO_ESTATE.to_owned();
        let mut platforms = Vec::new();
        for platform in simulator::Platform::default_set() {
            let here = (Ipv4Addr::LOCALHOST, 0).into();
            let placeholder = format!("http://{}", platform.name);
            let server = simulator::Server::start(platform, here)
                .map_err(|cause| format!("the demo's platforms can't listen on a port: {cause}"))?;
            text = text.replace(&placeholder, &server.url());
            platforms.push(server);
        }
        let demo = Estate::parse("demo-estate.yaml", &text).expect("a test reads the demo estate");
        estate.tenants.extend(demo.tenants);
        Ok(Self { platforms })
    }

    pub(crate) fn platforms(&self) -> impl Iterator<Item = SocketAddr> {
        self.platforms.iter().map(simulator::Server::address)
    }

    pub(crate) async fn stop(self) {
        for platform in self.platforms {
            platform.stop().await;
        }
    }

    /// The network in which subscribers of the demo's events may be: this machine's own.
    pub(crate) fn callback_network() -> Network {
        "127.0.0.0/8".parse().expect("loopback is a network")
    }

    /// The rights of the demo's tokens.
    pub(crate) fn grant() -> Grant {
        Grant {
            subject: "demo".into(),
            tenants: vec![DEMO.into()],
            scopes: [
                Scope::AccessRead,
                Scope::AccessWrite,
                Scope::AccessVerify,
                Scope::ProductRead,
                Scope::EventRead,
                Scope::EventWrite,
                Scope::Admin,
            ]
            .into(),
            lifetime_seconds: LIFETIME_SECONDS,
        }
    }

    /// The text that invites to the next steps, with a token.
    pub(crate) fn invitation(&self, server: &Server, url: &str) -> String {
        let token = server.issue(&Self::grant());
        let products = self.platforms_section();
        let path = path_line();
        format!(
            r#"
A demo tenant is there, `demo`, with the contracts C-PAYG (pay per use) and C-PRE (prepaid, a year
from the first connection). In another terminal, with a token that is good for a day:

{path}  export GATEHOUSE_URL={url}
  export GATEHOUSE_TENANT={DEMO}
  export GATEHOUSE_TOKEN={token}

  # issue an access, which shows its password once; a thousand, into a file; what is there now
  gatehouse access create --contract C-PAYG --device-name pump-1
  gatehouse batch create --contract C-PAYG --count 1000 --wait --to fleet.csv
  gatehouse access list

  # pump-1 is stolen: keep it out
  gatehouse access suspend pump-1

  # the same without the command line: every command is a request, and --verbose shows it
  curl -s $GATEHOUSE_URL/demo/access -H "Authorization: Bearer $GATEHOUSE_TOKEN" \
       -H 'Content-Type: application/json' -d '{{"contractId": "C-PAYG", "deviceName": "pump-2"}}'

  # let its device in: put in the username and password from above
  curl -s $GATEHOUSE_URL/demo/verify -H "Authorization: Bearer $GATEHOUSE_TOKEN" \
       -H 'Content-Type: application/json' -d '{{"username": "…", "password": "…"}}'
{products}
To look at: {url}/-/console/ (all of this in a browser: it opens signed in here, and from another machine
you sign in with the token from above), {url}/-/docs (every operation, to read and to try; Authorize takes
that token, too), {url}/-/openapi.json (the same for programs), {url}/-/ready
"#
        )
    }

    /// The part about the platforms.
    fn platforms_section(&self) -> String {
        let [_, beta, _] = &self.platforms[..] else { return String::new() };
        let broken = beta.url();
        format!(
            r#"
It also has accounts at three simulated platforms, ALPHA, BETA and GAMMA:

  # what is connected, on whose network: one page over four accounts; then some by their numbers
  gatehouse product list --page-size 8
  gatehouse product find 8948692690826143258 SL-DF-3043766-98743-73 BETA-nowhere

  # one platform goes down: the others still answer, and what is missing is named
  curl -s -X PATCH {broken}/-/profile -d '{{"fault": "reset"}}'
  gatehouse product list --page-size 8

  # it is back; after some seconds in which it is left alone, it is asked again
  curl -s -X PUT {broken}/-/profile -d '{{}}'
"#
        )
    }
}

/// A line that adds this program to the shell's `PATH`, where it is missing.
fn path_line() -> String {
    let here = std::env::current_exe().ok();
    let Some(dir) = here.as_deref().and_then(std::path::Path::parent) else { return String::new() };
    let path = std::env::var_os("PATH").unwrap_or_default();
    if std::env::split_paths(&path).any(|it| it == dir) {
        return String::new();
    }
    format!("  export PATH=\"{}:$PATH\"\n", dir.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_demo_is_added_to_an_estate() {
        let mut estate = Estate { tenants: Vec::new() };
        let demo = Demo::add_to(&mut estate).unwrap();
        assert_eq!((estate.tenants.len(), demo.platforms.len()), (1, 3));
        // A tenant of that name is left as it is.
        let before = estate.clone();
        let again = Demo::add_to(&mut estate).unwrap();
        assert_eq!(estate, before);
        assert!(again.platforms.is_empty() && again.platforms_section().is_empty());
        demo.stop().await;
    }
}
