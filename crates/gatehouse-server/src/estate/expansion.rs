//! Expands `${env:NAME}` and `${file:path}` in the credentials and settings of an estate file's accounts.
//! `$${` stands for `${` itself.
//!
//! The process that reads the file expands them. Request bodies aren't expanded: a client must not learn the files and
//! variables of a server.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use crate::reader::{Faults, Json, shortened};

/// Most bytes of a referenced file.
pub const NAMED_FILE_BYTES_MAX: u64 = 64 * 1024;

/// Start of a reference.
const BEGIN: &str = "${";

/// Sources of referenced values.
pub struct ExpansionContext<'s> {
    /// Base of relative paths: the directory of the estate file.
    pub directory: PathBuf,
    /// Looks up an environment variable.
    pub variable: &'s dyn Fn(&str) -> Option<OsString>,
}

impl ExpansionContext<'static> {
    /// This process's variables, and paths relative to the directory of `file`.
    pub fn of(file: &Path) -> Self {
        let directory = file.parent().unwrap_or(Path::new("")).to_owned();
        Self { directory, variable: &|name| std::env::var_os(name) }
    }
}

/// Expands the credentials and settings of an account; `path` is the account's path in the file.
pub(super) fn expand_account(
    account: &mut Json,
    path: &str,
    context: &ExpansionContext<'_>,
    faults: &mut Faults,
) {
    let Json::Object(fields) = account else { return };
    for (name, value) in fields {
        if matches!(name.as_str(), "credentials" | "settings") {
            expand(value, &format!("{path}.{name}"), context, faults);
        }
    }
}

fn expand(json: &mut Json, path: &str, context: &ExpansionContext<'_>, faults: &mut Faults) {
    match json {
        Json::Text(text) if text.contains(BEGIN) => match context.expand(text) {
            Ok(expanded) => *text = expanded,
            Err(reason) => faults.add(path, reason),
        },
        Json::List(items) => {
            for (n, item) in items.iter_mut().enumerate() {
                expand(item, &format!("{path}[{n}]"), context, faults);
            }
        }
        Json::Object(fields) => {
            for (name, value) in fields {
                expand(value, &format!("{path}.{}", shortened(name)), context, faults);
            }
        }
        Json::Text(_) | Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

impl ExpansionContext<'_> {
    /// Expands the references in a text once; expanded values aren't expanded again. The reason repeats the reference,
    /// and nothing else of the text.
    pub fn expand(&self, text: &str) -> Result<String, String> {
        let mut expanded = String::new();
        let mut rest = text;
        while let Some((before, behind)) = rest.split_once(BEGIN) {
            if let Some(before) = before.strip_suffix('$') {
                expanded += before;
                expanded += BEGIN;
                rest = behind;
                continue;
            }
            let reference = behind.split_once('}').and_then(|(reference, behind)| {
                let (kind, name) = reference.split_once(':')?;
                Some((kind, name, behind))
            });
            let value = match reference {
                Some(("env", name, _)) if is_variable(name) => self.read_variable(name)?,
                Some(("file", path, _)) if !path.is_empty() => self.read_file(path)?,
                _ => {
                    let expected = "must hold references of the form `${env:NAME}` or `${file:path}`; \
                                    `$${` stands for `${` itself";
                    return Err(expected.into());
                }
            };
            expanded += before;
            expanded += &value;
            rest = reference.map_or("", |(_, _, behind)| behind);
        }
        expanded += rest;
        Ok(expanded)
    }

    fn read_variable(&self, name: &str) -> Result<Zeroizing<String>, String> {
        let value = (self.variable)(name);
        let value = value.ok_or_else(|| format!("needs the variable {name}, which is not set"))?;
        let value = value.into_string();
        let value = value.map_err(|_| format!("needs the variable {name}, which is not UTF-8"))?;
        Ok(Zeroizing::new(value))
    }

    fn read_file(&self, path: &str) -> Result<Zeroizing<String>, String> {
        let needs = |why: String| format!("needs the file `{}`, which {why}", shortened(path));
        let mut bytes = Zeroizing::new(Vec::new());
        let read = File::open(self.directory.join(path))
            .and_then(|file| file.take(NAMED_FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
        let n_bytes = read.map_err(|cause| needs(format!("can't be read: {cause}")))?;
        if n_bytes as u64 > NAMED_FILE_BYTES_MAX {
            return Err(needs(format!("has more than {NAMED_FILE_BYTES_MAX} bytes")));
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| needs("is not UTF-8".into()))?;
        let line = text.strip_suffix('\n').map(|it| it.strip_suffix('\r').unwrap_or(it));
        Ok(Zeroizing::new(line.unwrap_or(text).to_owned()))
    }
}

/// Whether a shell could set a variable of this name. Errors don't repeat other names: they may be secrets.
fn is_variable(name: &str) -> bool {
    let is_letter = |b: u8| b.is_ascii_alphabetic() || b == b'_';
    name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|b| is_letter(b) || b.is_ascii_digit())
}

#[cfg(test)]
mod tests;
