//! Batches and Tasks, field by field.

use serde_json::{Value, json};

use super::{
    UUID, constant, count, described, device_name, made, name, object, password, reference,
    shown_time, username,
};
use crate::config::Limits;

/// The schemas, by name.
pub(super) fn schemas(limits: &Limits) -> Value {
    let mut all = requests(limits.batch_items);
    for (name, schema) in answers().as_object().cloned().unwrap_or_default() {
        all[name] = schema;
    }
    all
}

fn requests(items_max: u64) -> Value {
    let contract = || described(name(), "The contract that all of them belong to");
    let ids = || {
        json!({
            "type": "array", "minItems": 1, "maxItems": items_max, "items": {"type": "string"},
            "description": "Identifiers of accesses; one that is repeated counts once",
        })
    };
    let absent = || json!({"type": "null", "description": "Left out"});
    let change = ["operationType", "accessesIdList", "operationBody"];
    json!({
        "NewBatch": {
            "description": "Accesses to be made: so many, or these",
            "anyOf": [reference("NewBatchByNumber"), reference("NewBatchByList")],
        },
        "NewBatchByNumber": described(made(&["contractId", "numberOfAccesses"], json!({
            "contractId": contract(),
            "accesses": absent(),
            "numberOfAccesses": {
                "type": "integer", "minimum": 1, "maximum": items_max, "description": "How many",
            },
        })), "So many accesses, with everything generated"),
        "NewBatchByList": described(made(&["contractId", "accesses"], json!({
            "contractId": contract(),
            "numberOfAccesses": absent(),
            "accesses": {
                "type": "array", "minItems": 1, "maxItems": items_max, "items": reference("NewItem"),
                "description": "Which",
            },
        })), "Accesses one by one; what is left out of one is generated"),
        "NewItem": described(made(&[], json!({
            "username": described(username(), "Left out: `u-` and 16 characters of `a-z2-7`"),
            "password": password("Left out: 24 letters and digits that nobody can guess."),
            "deviceName": described(device_name(), "A name for people"),
        })), "An access to be made. A value out of bounds fails this one alone."),
        "BatchUpdate": {
            "description": "Accesses to be changed, all of them in the same way",
            "anyOf": [reference("BatchChange"), reference("BatchTermination")],
        },
        "BatchChange": described(object(&change, json!({
            "operationType": constant("update"),
            "accessesIdList": ids(),
            "operationBody": reference("BatchedUpdate"),
        })), "Another status, another password, or both"),
        "BatchTermination": described(object(&change, json!({
            "operationType": constant("terminate"),
            "accessesIdList": ids(),
            "operationBody": described(object(&[], json!({})), "Nothing"),
        })), "They end with the month"),
    })
}

fn answers() -> Value {
    let task = || {
        json!({
            "id": {
                "type": "string", "pattern": format!("^job-{UUID}$"),
                "description": "Its identifier; the accesses that it makes have it as `createdBy`",
            },
            "state": reference("TaskState"),
            "@baseType": constant("task"),
            "@type": {
                "type": "string", "enum": ["batchCreation", "batchUpdate", "batchTerminate"],
                "description": "What it does",
            },
        })
    };
    let required = ["id", "state", "@baseType", "@type"];
    let mut listed = task();
    listed["x-progress"] = reference("Progress");
    let mut outcome = task();
    outcome["accesses"] = json!({
        "type": "array", "items": reference("UpdatedAccess"),
        "description": "DONE and FAILED: the accesses of items that succeeded, in request order and as \
            they are now; for a token with `access:write`, with a password that the Task gave them, while that is \
            kept and still theirs",
    });
    outcome["errors"] = json!({
        "type": "array", "items": reference("TaskError"),
        "description": "FAILED: the items that failed, in request order. REJECTED: why.",
    });
    json!({
        "TaskState": {
            "type": "string",
            "enum": ["ACKNOWLEDGED", "IN_PROGRESS", "DONE", "FAILED", "REJECTED", "TERMINATED"],
            "description": "`ACKNOWLEDGED` and `IN_PROGRESS` are worked on; the others are final: all \
                items succeeded, some failed, nothing was done, it was stopped",
        },
        "Task": described(object(&required, task()), "A batch that was accepted"),
        "ListedTask": described(
            object(&[&required[..], &["x-progress"]].concat(), listed),
            "A batch that was accepted, and how far it has come",
        ),
        "TaskOutcome": described(object(&required, outcome), "A Task, and what came of it"),
        "TaskError": {
            "$ref": "#/components/schemas/Problem",
            "description": "What went wrong with an item, or with the Task as a whole",
            "properties": {
                "index": described(count(), "The item's position in the request, from 0"),
                "accessId": {"type": "string", "description": "The access that was named"},
                "username": {"type": "string", "description": "The username that was asked for"},
                "deviceName": {"type": "string", "description": "The device's name that was asked for"},
            },
        },
        "Progress": described(object(&["total", "succeeded", "failed", "acceptedAt"], json!({
            "total": described(count(), "How many items the Task has"),
            "succeeded": described(count(), "How many have succeeded so far"),
            "failed": described(count(), "How many have failed so far"),
            "acceptedAt": described(shown_time(), "An extension: when it was accepted"),
            "startedAt": described(shown_time(), "An extension: when it was begun, where it was"),
            "endedAt": described(shown_time(), "An extension: when it was over, where it is"),
            "change": reference("TaskChange"),
        })), "How far a Task has come"),
        "TaskChange": described(object(&["operationType"], json!({
            "operationType": {
                "type": "string", "enum": ["update", "terminate"], "description": "What is done to the accesses",
            },
            "status": {
                "type": "string", "enum": ["ACTIVE", "SUSPENDED", "TERMINATED"],
                "description": "The status that they get, where they get one",
            },
            "rotatesPassword": {
                "type": "boolean", "description": "Whether they get another password, which is never shown here",
            },
        })), "An extension: what a Task that changes accesses does to them"),
        "ItemResult": described(object(&["index", "state"], json!({
            "index": described(count(), "The item's position in the request, from 0"),
            "state": {
                "type": "string", "enum": ["succeeded", "failed"], "description": "How it went",
            },
            "access": reference("UpdatedAccess"),
            "error": reference("TaskError"),
        })), "What came of an item: an access, or an error"),
        "AccessTable": {
            "type": "string",
            "description": "Lines of comma-separated values (RFC 4180), the names of the columns first",
        },
    })
}
