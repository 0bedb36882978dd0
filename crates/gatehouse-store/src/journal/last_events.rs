//! The last numbers of many tenants' journals, read together.

use std::collections::HashMap;

use gatehouse_core::TenantName;

use crate::Store;
use crate::db::{Row, Value};
use crate::error::StoreError;

/// Tenants of one statement.
const AT_ONCE: usize = 50;

/// One text for any number of tenants, so that its plan is prepared once: the last tenant fills the other places.
const LAST_EVENTS: &str = "SELECT tenant, last FROM journal WHERE tenant IN \
     (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, \
     ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35, ?36, ?37, ?38, ?39, ?40, ?41, ?42, ?43, ?44, ?45, ?46, \
     ?47, ?48, ?49, ?50)";

impl Store {
    /// Numbers of the last events of tenants. A tenant without a journal is left out.
    pub async fn last_events(
        &self,
        tenants: &[TenantName],
    ) -> Result<HashMap<TenantName, u64>, StoreError> {
        let mut found = HashMap::with_capacity(tenants.len());
        for tenants in tenants.chunks(AT_ONCE) {
            let mut values: Vec<Value<'_>> = tenants.iter().map(|it| it.as_str().into()).collect();
            values.resize_with(AT_ONCE, || tenants[tenants.len() - 1].as_str().into());
            let read = |row: &Row<'_>| Ok((row.parsed(0)?, row.count(1)?));
            found.extend(self.db.rows(LAST_EVENTS, &values, read).await?);
        }
        Ok(found)
    }
}
