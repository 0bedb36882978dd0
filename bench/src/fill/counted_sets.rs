//! The counted sets of a fleet.

use std::collections::BTreeMap;
use std::fmt::Write;

use gatehouse_core::counted_set::runs::Runs;
use gatehouse_core::counted_set::{GROUP_NUMBERS, group_of, group_start, offset_of};

use crate::fleet::{Fleet, OFFERINGS, TENANT, offering_of};

/// Members of the sets in one group, by kind and name.
type Group = BTreeMap<(&'static str, String), Vec<u32>>;

/// Statements that fill the sets.
pub(super) fn script(fleet: Fleet, bytes: fn(&[u8]) -> String) -> String {
    let mut script: String = ["set_part", "set_sum"]
        .map(|table| format!("DELETE FROM {table} WHERE tenant = '{TENANT}';\n"))
        .concat();
    let (mut number, mut sets) = (0, Group::new());
    for access in fleet.accesses() {
        if group_of(access.number) != group_of(number) {
            write_group(&mut script, group_of(number), std::mem::take(&mut sets), bytes);
        }
        number = access.number;
        let mut add = |kind, name: String| {
            sets.entry((kind, name)).or_default().push(offset_of(number));
        };
        add("contract", access.contract_id().to_owned());
        add("offering", OFFERINGS[offering_of(access.contract)].to_owned());
        add("status", access.status().to_owned());
        if let Some(made_by) = access.made_by {
            add("job", format!("job-{}", fleet.job_id(made_by.job)));
        }
    }
    write_group(&mut script, group_of(number), sets, bytes);
    // Complete, so that no server builds them.
    let _ =
        writeln!(script, "UPDATE set_build SET built_to = {} WHERE tenant = '{TENANT}';", i64::MAX);
    script
}

fn write_group(script: &mut String, group: u64, sets: Group, bytes: fn(&[u8]) -> String) {
    let start = group_start(group);
    for ((kind, name), members) in sets {
        let n = members.len();
        let _ = writeln!(
            script,
            "INSERT INTO set_sum (tenant, kind, name, grp, n) \
             VALUES ('{TENANT}', '{kind}', '{name}', {group}, {n});"
        );
        let pieces = Runs::of_sorted(members).pieces(true);
        let begin_of = |piece: &Runs| piece.runs().first().map_or(0, |run| u64::from(run.start));
        let ends = pieces.iter().skip(1).map(|it| start + begin_of(it));
        let ends: Vec<u64> = ends.chain([start + GROUP_NUMBERS]).collect();
        let mut first = start;
        for (piece, until) in pieces.iter().zip(ends) {
            let (n, bits) = (piece.len(), bytes(&piece.encode()));
            let _ = writeln!(
                script,
                "INSERT INTO set_part (tenant, kind, name, first, until, n, bits) \
                 VALUES ('{TENANT}', '{kind}', '{name}', {first}, {until}, {n}, {bits});"
            );
            first = until;
        }
    }
}

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
