//! Advice on problems, in terms of the command line.

/// Advice on a response with this status and title; `None` where the detail says enough.
pub(in crate::client::api) fn on(status: u16, title: &str) -> Option<&'static str> {
    Some(match (status, title) {
        (401, _) => {
            "the token is invalid or has expired: sign in with `gatehouse login`, or set a new GATEHOUSE_TOKEN"
        }
        (403, _) => {
            "use a token that covers this tenant and this operation (`gatehouse login`, or `gatehouse token --tenant … --scope …`), and see that --tenant is right"
        }
        (404, "Unknown path") => {
            "check that --url is the address of a gatehouse, with its base path if it has one"
        }
        (404, "Unknown tenant") => "see that --tenant is right",
        (422, "Unknown contract") => "`gatehouse contract list` shows the contracts that there are",
        (409, "Username taken") => {
            "choose another username, or leave it out: then the server generates one"
        }
        (409, "Quota reached") => {
            "terminate accesses that are no longer needed, or have the contract's maxAccesses raised"
        }
        (409, "Contract suspended" | "Contract ended" | "Contract not started") => {
            "`gatehouse contract show` shows its state; `gatehouse contract list` shows other contracts"
        }
        (409, "Too many hubs") => {
            "`gatehouse hub list` shows the hubs, `gatehouse hub delete` ends one"
        }
        (409, "Access terminated") => "a terminated access stays terminated: create a new one",
        (409, "No such event") => {
            "see that --tenant and --url are right; `gatehouse event tail` begins now"
        }
        (410, "Events deleted") => "`--after 0` begins at the oldest event that is kept",
        (409, "Task over") => "`gatehouse batch show` shows its result",
        (409, "Task not ready") => "wait for it with `gatehouse batch wait`",
        (409, "Request under way") => {
            "the first request is still in progress: try again in a moment"
        }
        (412, _) => "another client changed it meanwhile: look at it again, then decide",
        (413, _) => "send it in smaller parts",
        (429, "Too many streams") => "end another follower, or try again later",
        (429, _) => "wait a moment, and send less at a time",
        (503, _) => "try again in a moment",
        (500, _) => "report it to the server's operator, with the correlation ID",
        _ => return None,
    })
}
