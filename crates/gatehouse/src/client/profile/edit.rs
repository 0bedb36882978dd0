//! Changes to the profiles file that keep the rest as it was written.

use std::fs::File;
use std::path::{Path, PathBuf};

use toml_edit::{DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::{ProfileName, Profiles, directory, file, no_home};
use crate::client::home_file;
use crate::failure::Failure;

/// A change to the profiles file, under a lock.
pub(crate) struct ProfilesEdit {
    path: PathBuf,
    document: DocumentMut,
    /// Held until the change is written. Where a directory can't be locked, the last writer wins.
    _lock: Option<File>,
}

impl ProfilesEdit {
    pub(crate) fn begin() -> Result<Self, Failure> {
        let (Some(directory), Some(path)) = (directory(), file()) else { return Err(no_home()) };
        home_file::make_directory(&directory).map_err(|why| {
            Failure::from(format!("{} can't be made: {why}", directory.display()))
        })?;
        let lock = File::open(&directory).and_then(|it| it.lock().map(|()| it)).ok();
        // A file with faults is not changed.
        Profiles::load()?;
        // A symbolic link stays one.
        let path = std::fs::canonicalize(&path).unwrap_or(path);
        let text = match std::fs::read_to_string(&path) {
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
            read => read,
        };
        let text =
            text.map_err(|why| Failure::input(format!("{} can't be read: {why}", path.display())))?;
        let document = text.parse::<DocumentMut>().map_err(|bad| {
            let bad = bad.to_string();
            Failure::input(format!("{} has a fault: {}", path.display(), bad.trim_end()))
        })?;
        Ok(Self { path, document, _lock: lock })
    }

    /// Sets these fields of a profile, and keeps its others.
    pub(crate) fn set_profile(&mut self, name: &ProfileName, fields: &[(&str, &str)]) {
        set_profile(&mut self.document, name, fields);
    }

    /// Sets the default profile.
    pub(crate) fn set_default(&mut self, name: &ProfileName) {
        set(self.document.as_table_mut(), "default", name.as_str());
    }

    /// Writes the file; returns its path.
    pub(crate) fn finish(self) -> Result<PathBuf, Failure> {
        home_file::write(&self.path, self.document.to_string().as_bytes())?;
        Ok(self.path)
    }
}

pub(crate) fn set_profile(document: &mut DocumentMut, name: &ProfileName, fields: &[(&str, &str)]) {
    let profiles = document.entry("profiles").or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    // The file has been parsed: both are tables.
    let is_inline = profiles.is_inline_table();
    let Some(profiles) = profiles.as_table_like_mut() else { return };
    // Inside of an inline table the library can only write inline tables.
    let profile = profiles.entry(name.as_str()).or_insert_with(|| match is_inline {
        true => Item::Value(InlineTable::new().into()),
        false => Item::Table(Table::new()),
    });
    let Some(profile) = profile.as_table_like_mut() else { return };
    for (field, value) in fields {
        set(profile, field, value);
    }
}

/// Sets a value, and keeps the comments around it.
fn set(table: &mut dyn TableLike, name: &str, text: &str) {
    let mut value = Value::from(text);
    match table.get_mut(name).and_then(Item::as_value_mut) {
        Some(earlier) => {
            *value.decor_mut() = earlier.decor().clone();
            *earlier = value;
        }
        None => {
            table.insert(name, Item::Value(value));
        }
    }
}

/// The file's path, for messages.
pub(crate) fn shown_path() -> String {
    file().as_deref().unwrap_or(Path::new("config.toml")).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, name: &str) -> String {
        let mut document: DocumentMut = text.parse().unwrap();
        let fields = [("url", "https://new"), ("tenant", "acme")];
        set_profile(&mut document, &name.parse().unwrap(), &fields);
        let edited = document.to_string();
        let profiles: Profiles = toml::from_str(&edited).unwrap();
        let profile = profiles.profile(name).unwrap();
        assert_eq!(profile.url.as_deref(), Some("https://new"), "{edited}");
        assert_eq!(profile.tenant.as_deref(), Some("acme"), "{edited}");
        edited
    }

    #[test]
    fn the_rest_of_the_file_stays() {
        let text = "# mine\ndefault = 'lab' # for now\n\n[profiles.lab]\n\
                    url = 'https://old' # the old one\noutput = 'json'\n\n# the end\n";
        assert_eq!(
            edited(text, "lab"),
            "# mine\ndefault = 'lab' # for now\n\n[profiles.lab]\n\
             url = \"https://new\" # the old one\noutput = 'json'\ntenant = \"acme\"\n\n# the end\n"
        );
        let more = edited(text, "eu.prod");
        assert!(more.starts_with("# mine\ndefault = 'lab' # for now\n"), "{more}");
        assert!(more.contains("url = 'https://old' # the old one"), "{more}");
        assert!(more.contains("[profiles.\"eu.prod\"]"), "{more}");
    }

    #[test]
    fn a_profile_is_added_to_every_kind_of_table() {
        assert_eq!(
            edited("", "a"),
            "[profiles.a]\nurl = \"https://new\"\ntenant = \"acme\"\n",
            "nothing was there"
        );
        edited("[profiles]\na = { url = 'https://old' }\n", "a");
        edited("profiles = { a = { url = 'https://old' } }\n", "b");
        edited("profiles = { a = { url = 'https://old' }, }\n", "b");
        edited("profiles.a.url = 'https://old'\n", "a");
    }

    #[test]
    fn the_default_is_written_above_the_tables() {
        for text in ["[profiles.a]\nurl = 'x'\n", "default = 'b' # was b\n[profiles.a]\n", ""] {
            let mut document: DocumentMut = text.parse().unwrap();
            set(document.as_table_mut(), "default", "a");
            let edited = document.to_string();
            let profiles: Profiles = toml::from_str(&edited).unwrap();
            assert_eq!(profiles.default.as_deref(), Some("a"), "{edited}");
            assert_eq!(edited.contains("# was b"), text.contains("# was b"), "{edited}");
        }
    }
}
