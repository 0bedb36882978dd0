//! Finding the resource that a path names.

use super::params::{Params, TENANT};
use super::resource::Resource;

/// The routes, found by path.
pub(crate) struct RouteTable {
    resources: Vec<Resource>,
    router: matchit::Router<usize>,
}

/// A resource that a path leads to, and what stands for its parameters.
pub(crate) struct Found<'r> {
    pub(crate) resource: &'r Resource,
    pub(crate) params: Params,
}

impl RouteTable {
    pub(crate) fn of(resources: Vec<Resource>) -> Self {
        let mut router = matchit::Router::new();
        for (n, resource) in resources.iter().enumerate() {
            router.insert(resource.path, n).expect("no two routes are the same");
        }
        Self { resources, router }
    }

    pub(crate) fn resources(&self) -> &[Resource] {
        &self.resources
    }

    pub(crate) fn find(&self, path: &str) -> Option<Found<'_>> {
        let found = self.router.at(path).ok()?;
        let params = Params::decode(found.params.iter())?;
        // `/-/…` is not a tenant's, so what is unknown there is unknown to everyone.
        if params.get(TENANT) == Some("-") {
            return None;
        }
        Some(Found { resource: &self.resources[*found.value], params })
    }
}
