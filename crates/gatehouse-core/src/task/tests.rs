use super::*;

#[test]
fn only_the_transitions_of_the_contract_are_allowed() {
    use TaskState::{Acknowledged, Done, Failed, InProgress, Rejected, Terminated};
    let transitions = [
        (Acknowledged, InProgress),
        (Acknowledged, Rejected),
        (Acknowledged, Terminated),
        (InProgress, Done),
        (InProgress, Failed),
        (InProgress, Terminated),
    ];
    for from in TaskState::ALL {
        for to in TaskState::ALL {
            assert_eq!(
                from.may_become(to),
                transitions.contains(&(from, to)),
                "{from:?} to {to:?}"
            );
        }
        let is_last = TaskState::ALL.into_iter().all(|to| !from.may_become(to));
        assert_eq!(from.is_terminal(), is_last, "{from:?}");
        assert_eq!(TaskState::from_word(from.as_str()), Some(from));
    }
}
