//! Who asks for a change: its tenant, whether its client is still there, and what the journal says of it.

use gatehouse_core::event::Origin;
use gatehouse_vault::HashCaller;

/// Who asks for a change.
#[derive(Clone, Copy)]
pub struct Requester<'a> {
    /// The tenant, and the client's disconnection.
    pub hash_caller: HashCaller<'a>,
    /// Where the change comes from.
    pub origin: &'a Origin,
}

#[cfg(test)]
pub(crate) mod testing {
    use gatehouse_core::event::Cause;
    use gatehouse_store::Audited;

    use super::{HashCaller, Origin, Requester};

    /// Where the changes of tests come from.
    pub(crate) static ORIGIN: Origin =
        Origin { cause: Cause::Server, correlation_id: String::new(), peer: String::new() };

    /// How the setup of tests comes into the audit.
    pub(crate) fn audited<T: std::fmt::Debug>() -> Audited<T> {
        Audited { origin: ORIGIN.clone(), record: |it| format!("{it:?}") }
    }

    impl<'a> Requester<'a> {
        /// Who asks for a change in a test.
        pub(crate) fn in_test(hash_caller: HashCaller<'a>) -> Self {
            Self { hash_caller, origin: &ORIGIN }
        }
    }
}
