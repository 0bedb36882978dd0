//! The subject of an event: `gatehouse.{tenant}.access.{type}`.

use gatehouse_core::TenantName;
use gatehouse_store::{Event, EventSubject};

/// The subject that an event is published to.
pub(super) fn subject_of(tenant: &TenantName, event: &Event) -> String {
    let kind = match &event.subject {
        EventSubject::Access { .. } => "access",
        EventSubject::Task(_) => "task",
        _ => "journal",
    };
    format!("gatehouse.{tenant}.{kind}.{}", event.event_type.as_str())
}
