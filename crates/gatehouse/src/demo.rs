//! `--demo`: something to try at once.

use gatehouse_core::rights::Scope;
use gatehouse_server::auth::Grant;
use gatehouse_server::estate::Estate;
use gatehouse_server::serve::Server;

const DEMO_ESTATE: &str = include_str!("../demo-estate.yaml");
const LIFETIME_SECONDS: i64 = 24 * 60 * 60;

/// Adds the demo's tenants to an estate, beside what it names already.
pub(crate) fn add_to(estate: &mut Estate) {
    let demo =
        Estate::parse("demo-estate.yaml", DEMO_ESTATE).expect("a test reads the demo estate");
    for tenant in demo.tenants {
        if estate.tenants.iter().all(|it| it.tenant.name != tenant.tenant.name) {
            estate.tenants.push(tenant);
        }
    }
}

/// What to do next, with a token to do it.
pub(crate) fn invitation(server: &Server, url: &str) -> String {
    let grant = Grant {
        subject: "demo".into(),
        tenants: vec!["demo".into()],
        scopes: [Scope::AccessRead, Scope::AccessWrite, Scope::AccessVerify, Scope::Admin].into(),
        lifetime_seconds: LIFETIME_SECONDS,
    };
    let token = server.auth().issue(&grant, server.now());
    format!(
        r#"
A demo tenant is there, `demo`, with the contracts C-PAYG (pay per use) and C-PRE (prepaid, a year
from the first connection). In another terminal, with a token that is good for a day:

  export GATEHOUSE_URL={url}
  export GATEHOUSE_TOKEN={token}

  # issue an access; the password is shown only now
  curl -s $GATEHOUSE_URL/demo/access -H "Authorization: Bearer $GATEHOUSE_TOKEN" \
       -H 'Content-Type: application/json' -d '{{"contractId": "C-PAYG", "deviceName": "pump-7"}}'

  # let its device in: put in the username and password from above
  curl -s $GATEHOUSE_URL/demo/verify -H "Authorization: Bearer $GATEHOUSE_TOKEN" \
       -H 'Content-Type: application/json' -d '{{"username": "…", "password": "…"}}'

  # a hundred at once: the answer is a Task; put its id in below, and have the hundred as a table
  curl -s $GATEHOUSE_URL/demo/access/batch -H "Authorization: Bearer $GATEHOUSE_TOKEN" \
       -H 'Content-Type: application/json' -d '{{"contractId": "C-PAYG", "numberOfAccesses": 100}}'
  curl -s $GATEHOUSE_URL/demo/access/batch/… -H "Authorization: Bearer $GATEHOUSE_TOKEN" -H 'Accept: text/csv'

  # what the tenant has: its accesses, any page of any filter, and the figures
  curl -si "$GATEHOUSE_URL/demo/access?contractId=C-PAYG&pageSize=10" -H "Authorization: Bearer $GATEHOUSE_TOKEN"
  curl -s $GATEHOUSE_URL/demo/summary -H "Authorization: Bearer $GATEHOUSE_TOKEN"

To look at: {url}/-/docs (every operation, to read and to try; Authorize takes the token from above),
{url}/-/openapi.json (the same for programs), {url}/-/ready
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_demo_is_added_beside_what_is_there() {
        let mut estate = Estate { tenants: Vec::new() };
        add_to(&mut estate);
        let n_tenants = estate.tenants.len();
        assert!(n_tenants > 0);
        add_to(&mut estate);
        assert_eq!(estate.tenants.len(), n_tenants);
    }
}
