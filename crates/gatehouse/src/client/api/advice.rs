//! What to do about a problem, in terms of the command line.

/// What to do about an answer of this status and title, where there is something to say that its detail doesn't.
pub(in crate::client::api) fn on(status: u16, title: &str) -> Option<&'static str> {
    Some(match (status, title) {
        (401, _) => {
            "the token is not good, or no longer: sign in with `gatehouse login`, or set a new GATEHOUSE_TOKEN"
        }
        (403, _) => {
            "use a token that covers this tenant and this operation (`gatehouse login`, or `gatehouse token --tenant … --scope …`), and see that --tenant is right"
        }
        (404, "Unknown path") => {
            "is --url the address of a gatehouse, with its base path if it has one?"
        }
        (404, "Unknown tenant") => "see that --tenant is right",
        (422, _) => "`gatehouse contract list` shows the contracts that there are",
        (409, "Username taken") => "choose another username, or leave it out: then one is made up",
        (409, "Quota reached") => {
            "end accesses that are no longer needed, or have the contract's maxAccesses raised"
        }
        (409, "Contract suspended" | "Contract ended" | "Contract not started") => {
            "`gatehouse contract show` says how the contract is; `gatehouse contract list` shows others"
        }
        (409, "Access terminated") => "ended accesses stay ended: create a new one",
        (409, "Task over") => "`gatehouse batch show` says what came of it",
        (409, "Task not ready") => "wait for it with `gatehouse batch wait`",
        (409, "Request under way") => {
            "the first one is still being worked on: try again in a moment"
        }
        (412, _) => "somebody else changed it meanwhile: look at it again, then decide",
        (413, _) => "send it in smaller parts",
        (429, _) => "wait a moment, and send less at a time",
        (503, _) => "try again in a moment",
        (500, _) => "tell whoever runs the server, with the correlation ID",
        _ => return None,
    })
}
