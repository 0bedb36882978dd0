//! All manifests: the shipped ones, and the operator's own.

mod custom;
pub(super) mod summary;

pub use custom::{BadManifest, BadManifests, CustomManifest, MANIFEST_BYTES_MAX};

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use crate::manifest::{Manifest, ManifestFaults};

include!(concat!(env!("OUT_DIR"), "/shipped.rs"));

/// Manifests by name.
#[derive(Clone)]
pub struct Manifests(BTreeMap<String, LoadedManifest>);

#[derive(Clone)]
struct LoadedManifest {
    manifest: Arc<Manifest>,
    text: Arc<str>,
}

pub(crate) fn shipped_recording(connector: &str) -> Option<&'static str> {
    let of_it = |file: &str| file.strip_suffix(".json") == Some(connector);
    RECORDINGS.iter().find(|(file, _)| of_it(file)).map(|(_, text)| *text)
}

impl Manifests {
    /// The shipped manifests.
    pub fn shipped() -> Self {
        static ALL: LazyLock<Manifests> = LazyLock::new(Manifests::read_shipped);
        ALL.clone()
    }

    fn read_shipped() -> Self {
        let loaded = MANIFESTS.iter().map(|(file, text)| {
            let manifest =
                Manifest::parse(file, text).expect("a test reads every shipped manifest");
            let loaded = LoadedManifest { manifest: Arc::new(manifest), text: (*text).into() };
            (loaded.manifest.name().to_string(), loaded)
        });
        Self(loaded.collect())
    }

    /// A single manifest, without its text.
    pub(crate) fn only(manifest: Arc<Manifest>) -> Self {
        let name = manifest.name().to_string();
        Self(BTreeMap::from([(name, LoadedManifest { manifest, text: "".into() })]))
    }

    /// Adds a manifest, in place of a shipped one of the same name.
    pub fn add(&mut self, file: &str, text: &str) -> Result<Arc<Manifest>, ManifestFaults> {
        let manifest = Arc::new(Manifest::parse(file, text)?);
        let loaded = LoadedManifest { manifest: Arc::clone(&manifest), text: text.into() };
        self.0.insert(manifest.name().to_string(), loaded);
        Ok(manifest)
    }

    /// Whether a shipped manifest has this name.
    pub fn is_shipped(name: &str) -> bool {
        MANIFESTS.iter().any(|(file, _)| file.strip_suffix(".yaml") == Some(name))
    }

    /// The manifest with this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Manifest>> {
        self.0.get(name).map(|it| &it.manifest)
    }

    /// Source text of the manifest with this name.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|it| &*it.text)
    }

    /// All manifests, by name.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Manifest>> {
        self.0.values().map(|it| &it.manifest)
    }
}

impl Default for Manifests {
    fn default() -> Self {
        Self::shipped()
    }
}

#[cfg(test)]
mod tests;
