//! Flags that select events.

use clap::Args;
use clap::builder::PossibleValuesParser;
use gatehouse_core::AccessId;
use gatehouse_core::event::EventType;

use crate::client::filter::encoded;
use crate::failure::Failure;

/// Events to show; a flag that is missing selects all.
#[derive(Args)]
#[command(next_help_heading = "Filters")]
pub(super) struct Conditions {
    /// Events of this type. Give it once for each type
    #[arg(long = "type", value_name = "TYPE", ignore_case = true,
          value_parser = PossibleValuesParser::new(EventType::CHANGES.map(EventType::as_str)))]
    types: Vec<String>,
    /// Events of the access with this ID
    #[arg(long, value_name = "ID")]
    access: Option<String>,
    /// Events of accesses of this contract
    #[arg(long, value_name = "ID")]
    contract: Option<String>,
    /// Events of this batch, and those that it caused
    #[arg(long, value_name = "TASK")]
    task: Option<String>,
    /// Of this time or later
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// From before this time
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
}

impl Conditions {
    /// The access, if it is the only condition: then its history has the events, and finds them faster.
    pub(super) fn only_access(&self) -> Result<Option<AccessId>, Failure> {
        let is_alone = self.types.is_empty()
            && [&self.contract, &self.task, &self.from, &self.before].iter().all(|it| it.is_none());
        Ok(self.access()?.filter(|_| is_alone))
    }

    /// The conditions as parameters of a query.
    pub(super) fn parameters(&self) -> Result<Vec<String>, Failure> {
        let access = self.access()?.map(|it| it.shown().as_str().to_owned());
        let values = [
            ("eventType", Some(self.types().join(",")).filter(|it| !it.is_empty())),
            ("accessId", access),
            ("contractId", self.contract.clone()),
            ("taskId", self.task.clone()),
            ("from", self.from.clone()),
            ("before", self.before.clone()),
        ];
        let given = values.iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
        Ok(given.map(|(name, value)| format!("{name}={}", encoded(value))).collect())
    }

    /// The types as the API writes them.
    fn types(&self) -> Vec<&'static str> {
        self.types.iter().filter_map(|word| event_type(word)).map(EventType::as_str).collect()
    }

    fn access(&self) -> Result<Option<AccessId>, Failure> {
        self.access.as_deref().map(access_id).transpose()
    }
}

/// The type of events with this name, in any case.
pub(in crate::commands) fn event_type(name: &str) -> Option<EventType> {
    EventType::CHANGES.into_iter().find(|it| it.as_str().eq_ignore_ascii_case(name))
}

/// Parses the value of `--access`.
pub(in crate::commands) fn access_id(given: &str) -> Result<AccessId, Failure> {
    given.to_ascii_lowercase().parse().map_err(|_| {
        Failure::input(format!("--access must be the ID of an access, not `{given}`"))
            .advise("`gatehouse access show` finds the ID by the username or the name")
    })
}
