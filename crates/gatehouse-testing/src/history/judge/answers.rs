//! Every response is a success, a refusal that fits the request, or 503 with `Retry-After`.

use super::super::call::{Answer, Call, Request};

pub(super) fn judge(history: &[Call]) -> Vec<String> {
    let is_proper = |call: &&Call| match &call.answer {
        Answer::Done(_) | Answer::Lost => true,
        Answer::Refused { title, .. } => match &call.request {
            Request::Create { key, .. } | Request::Batch { key, .. } => {
                key.is_some() && title == "Request under way"
            }
            Request::Check { .. } => title == "Credentials refused",
            Request::Stop { .. } => title == "Task over",
            Request::Change { .. } | Request::Read { .. } | Request::Count => false,
            Request::Look { .. } => false,
        },
        Answer::Unavailable { retry_after } => retry_after.is_some(),
        Answer::Late | Answer::Wrong(_) => false,
    };
    let wrong = history.iter().filter(|it| !is_proper(it));
    wrong.map(|it| format!("a response that no client should get: {it:?}")).collect()
}
