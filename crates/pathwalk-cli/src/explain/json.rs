//! The report as JSON: everything that the text says, and the numbers behind it.
//!
//! Names are strings. A name that is not text is escaped as in `\xff`. Its bytes are beside it,
//! under the same key with `_bytes`.

use pathwalk::permission::{AclEntry, AclTag};
use pathwalk::{Errno, FileType};
use serde_json::{Map, Value, json};

use super::advice::{self, Advice};
use super::bytes::shown;
use super::mounts::Mount;
use super::rule::{List, Node, Rule};
use super::text::{errno_name, mode};
use super::told::{Doubt, Ending, Failure, Found, Line, May, Told};
use super::words::{Voice, doing, letters, short};

/// Returns the whole report.
pub(crate) fn render(voice: Voice<'_>, told: &Told, path: &[u8]) -> Value {
    let mut value = Map::new();
    put(&mut value, "path", path);
    put(&mut value, "root", voice.root.as_os_str().as_encoded_bytes());
    let who = voice.who;
    value.insert(
        "as".into(),
        json!({ "user": voice.user(), "uid": who.uid, "gid": who.gid, "groups": who.groups, "assumed": who.assumed }),
    );
    value.insert("steps".into(), told.lines.iter().map(|line| step(voice, line)).collect());
    value.insert("certain".into(), told.is_certain().into());
    let doubts: Vec<String> = told.doubts.iter().map(|doubt: &Doubt| voice.doubt(doubt)).collect();
    value.insert("doubts".into(), doubts.into());
    match &told.ending {
        Ending::Reached(node, may) => {
            value.insert("answer".into(), "reached".into());
            if let Some(wanted) = told.wanted {
                let mut want = may_json(voice, node, wanted);
                want["access"] = short(wanted.want).into();
                value.insert("want".into(), want);
            }
            let may = may.iter().map(|may| (name_of(*may), may_json(voice, node, *may)));
            value.insert("may".into(), Value::Object(may.collect()));
            value.insert("node".into(), Value::Object(node_json(voice, node)));
        }
        Ending::Failed(failure) => failed(voice, failure, path, &mut value),
    }
    Value::Object(value)
}

fn failed(voice: Voice<'_>, failure: &Failure, path: &[u8], value: &mut Map<String, Value>) {
    let is_known = failure.rule != Rule::NotVisible;
    value.insert("answer".into(), if is_known { "failed" } else { "unknown" }.into());
    if is_known {
        value.insert("errno".into(), errno(failure.errno));
    }
    value.insert("rule".into(), failure.rule.code().into());
    value.insert("why".into(), voice.failure(failure, path).into());
    value.insert("advice".into(), advised(&advice::about_failure(voice, failure, path)));
    if let Some(node) = &failure.node {
        value.insert("at".into(), Value::Object(node_json(voice, node)));
    }
    let near = failure.near.iter().map(|name| Value::from(shown(name)));
    value.insert("near".into(), near.collect());
}

/// Adds a name or path under this key.
pub(crate) fn put(value: &mut Map<String, Value>, key: &str, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(text) => value.insert(key.into(), text.into()),
        Err(_) => {
            value.insert(format!("{key}_bytes"), bytes.into());
            value.insert(key.into(), shown(bytes).into())
        }
    };
}

fn errno(errno: Errno) -> Value {
    json!({ "name": errno_name(errno), "number": errno.raw(), "message": errno.to_string() })
}

fn step(voice: Voice<'_>, line: &Line) -> Value {
    let mut value = Map::new();
    value.insert("depth".into(), line.depth.into());
    put(&mut value, "name", &line.name);
    match &line.found {
        Found::Node(node, rule) => {
            value.insert("found".into(), "node".into());
            value.insert("rule".into(), rule.code().into());
            value.extend(node_json(voice, node));
        }
        Found::Absent => _ = value.insert("found".into(), "nothing".into()),
        Found::NotLookedFor => _ = value.insert("found".into(), "not looked for".into()),
    }
    if let Some(body) = &line.body {
        put(&mut value, "link", body);
    }
    if let Some(mount) = &line.mount {
        value.insert("mount".into(), mount_json(mount));
    }
    if let Some((refused, _)) = line.refused {
        value.insert("errno".into(), errno(refused));
    }
    Value::Object(value)
}

fn node_json(voice: Voice<'_>, node: &Node) -> Map<String, Value> {
    let mut value = Map::new();
    if let Some(path) = &node.path {
        put(&mut value, "path", path);
    }
    let of = &node.attributes;
    value.insert("type".into(), type_name(of.kind).into());
    value.insert("mode".into(), format!("{:04o}", of.mode).into());
    value.insert("mode_text".into(), mode(of, &node.acl).into());
    value.insert("uid".into(), of.uid.into());
    value.insert("gid".into(), of.gid.into());
    value.insert("owner".into(), voice.names.user(of.uid).into());
    value.insert("group".into(), voice.names.group(of.gid).into());
    let acl = match &node.acl {
        List::Absent => Value::Null,
        List::Unknown => "unknown".into(),
        List::Present(acl) => acl.entries().iter().map(entry).collect(),
    };
    value.insert("acl".into(), acl);
    value
}

fn type_name(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "fifo",
        FileType::CharDevice => "character device",
        FileType::Directory => "directory",
        FileType::BlockDevice => "block device",
        FileType::Regular => "file",
        FileType::Symlink => "link",
        FileType::Socket => "socket",
    }
}

fn entry(entry: &AclEntry) -> Value {
    let (tag, id) = match entry.tag {
        AclTag::Owner => ("owner", None),
        AclTag::User(uid) => ("user", Some(uid)),
        AclTag::Group => ("owning group", None),
        AclTag::NamedGroup(gid) => ("group", Some(gid)),
        AclTag::Mask => ("mask", None),
        AclTag::Other => ("other", None),
    };
    json!({ "tag": tag, "id": id, "grants": letters(entry.grants) })
}

fn mount_json(mount: &Mount) -> Value {
    let mut value = Map::new();
    value.insert("id".into(), mount.id.into());
    value.insert("switches".into(), mount.switches().into());
    if let Some(line) = &mount.line {
        put(&mut value, "type", &line.kind);
        put(&mut value, "source", &line.source);
        put(&mut value, "point", &line.point);
    }
    Value::Object(value)
}

/// Returns the name of an access, the same for all types of nodes: `read`, `write`, `execute`.
fn name_of(may: May) -> String {
    doing(FileType::Regular, may.want).into()
}

fn may_json(voice: Voice<'_>, node: &Node, may: May) -> Value {
    let May { want, judged } = may;
    let advice = if judged.answer.is_err() { advice::grant(voice, node, judged.rule, want) } else { Vec::new() };
    json!({
        "granted": judged.answer.is_ok(),
        "errno": judged.answer.err().map(errno),
        "rule": judged.rule.code(),
        "why": voice.rule(node, judged.rule, want),
        "advice": advised(&advice),
    })
}

fn advised(all: &[Advice]) -> Value {
    all.iter().map(|Advice { command, says }| json!({ "command": command, "says": says })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_text_keep_their_bytes() {
        let mut value = Map::new();
        put(&mut value, "name", b"a\xff");
        put(&mut value, "link", "é".as_bytes());
        assert_eq!(Value::Object(value), json!({ "name": "a\\xff", "name_bytes": [97, 255], "link": "é" }));
    }
}
