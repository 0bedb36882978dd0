use std::borrow::Cow;
use std::collections::BTreeMap;

use gatehouse_core::access::Status;
use gatehouse_core::credential::Password;
use gatehouse_core::{Access, AccessId, Labels, Timestamp};
use proptest::option;
use proptest::prelude::*;
use serde::Serialize;

use super::*;

/// The expected body, as serde_json writes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AccessBody<'a> {
    id: String,
    href: String,
    contract_id: &'a str,
    product_offering_id: &'a str,
    username: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    password: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    device_name: Option<&'a str>,
    name: &'a str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    labels: BTreeMap<&'a str, Cow<'a, str>>,
    status: &'static str,
    start_date_time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_date_time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_by: Option<String>,
    #[serde(rename = "@baseType")]
    base_type: &'static str,
    #[serde(rename = "@type")]
    r#type: &'static str,
}

impl<'a> AccessBody<'a> {
    fn new(
        address: &Address,
        tenant: &TenantName,
        access: &ShownAccess<'a>,
        password: Option<&'a OneTimePassword>,
    ) -> Self {
        Self {
            id: access.id.to_string(),
            href: address.access(tenant, access.id),
            contract_id: access.contract_id,
            product_offering_id: access.offering_id,
            username: access.username,
            password: password.map(OneTimePassword::reveal),
            device_name: access.device_name,
            name: access.name(),
            labels: access.labels.iter().collect(),
            status: access.status.as_str(),
            start_date_time: access.start.to_string(),
            end_date_time: access.end.map(|at| at.to_string()),
            created_by: access.created_by.map(|job| job.to_string()),
            base_type: "Resource",
            r#type: "RealizingResource",
        }
    }
}

fn time() -> impl Strategy<Value = Timestamp> {
    let milliseconds = Timestamp::EARLIEST.as_millisecond()..=Timestamp::LATEST.as_millisecond();
    milliseconds.prop_map(|it| Timestamp::from_millisecond(it).unwrap())
}

/// Names with characters that JSON or CSV escapes.
fn name() -> impl Strategy<Value = String> {
    "[a-zA-Z0-9 \"\\\\/<é\u{2028},'=+-]{1,40}"
}

fn labels(pairs: &BTreeMap<String, String>) -> Labels {
    let parse = |(key, value): (&String, &String)| (key.parse().unwrap(), value.parse().unwrap());
    Labels::new(&pairs.iter().map(parse).collect()).unwrap()
}

prop_compose! {
    fn access()(
        (id, task) in (any::<[u8; 16]>(), option::of(prop_oneof![Just([7; 16]), any::<[u8; 16]>()])),
        (contract, offering, username, device) in (name(), name(), name(), option::of(name())),
        status in prop::sample::select(&Status::ALL[..]),
        (start, end) in (time(), option::of(time())),
        pairs in prop::collection::btree_map("[a-z0-9._-]{1,9}", "[^\0]{1,9}", 0..4),
    ) -> Access {
        Access {
            id: AccessId::from_bytes(id),
            contract_id: contract.parse().unwrap(),
            offering_id: offering.parse().unwrap(),
            username: username.parse().unwrap(),
            device_name: device.map(|it| it.parse().unwrap()),
            status,
            start,
            end,
            created_by: task.map(TaskId::from_bytes),
            created_at: start,
            first_connected_at: None,
            termination: None,
            version: 1,
            labels: labels(&pairs),
        }
    }
}

proptest! {
    #[test]
    fn accesses_are_written_as_serde_json_writes_them(
        accesses in prop::collection::vec((access(), option::of("[ -~é]{1,20}")), 0..4),
    ) {
        let address = Address::at("https://gate.example/base", "/acme/access");
        let tenant = "acme".parse().unwrap();
        let mut writer = AccessWriter::new(&address, &tenant);
        for (access, password) in accesses {
            let password = password.map(|it| OneTimePassword::new(Password::new(it).unwrap()));
            let mut json = Json::default();
            writer.write(&mut json, &access.shown(), password.as_ref());
            let body = AccessBody::new(&address, &tenant, &access.shown(), password.as_ref());
            prop_assert_eq!(json.finish(), serde_json::to_vec(&body).unwrap());
        }
    }
}
