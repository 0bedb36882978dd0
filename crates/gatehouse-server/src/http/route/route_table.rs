//! Looks up the resource of a path.

use super::params::{Params, TENANT};
use super::resource::Resource;

pub(crate) struct RouteTable {
    resources: Vec<Resource>,
    router: matchit::Router<usize>,
}

pub(crate) struct RouteMatch<'r> {
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

    pub(crate) fn find(&self, path: &str) -> Option<RouteMatch<'_>> {
        let matched = self.router.at(path).ok()?;
        let params = Params::decode(matched.params.iter())?;
        // `-` is no tenant, so an unknown path under `/-/` is unknown to every caller.
        if params.get(TENANT) == Some("-") {
            return None;
        }
        Some(RouteMatch { resource: &self.resources[*matched.value], params })
    }
}
