//! Making an access and changing it.

use gatehouse_core::credential::Password;
use gatehouse_core::lifecycle::{self, StateConflict, TargetStatus};
use gatehouse_core::{Access, AccessId, Contract, ContractId, DeviceName, Timestamp, Username};
use gatehouse_store::{Change, CreateRefused, IdempotentRequest, NewAccess, StoredAccess};
use gatehouse_vault::HashCaller;

use super::{App, Error};

/// What a client says about the access that it wants.
#[derive(Debug)]
pub struct AccessRequest {
    /// Under which contract.
    pub contract_id: ContractId,
    /// A username of the client's choice; else one is generated.
    pub username: Option<Username>,
    /// A password of the client's choice; else one is generated.
    pub password: Option<Password>,
    /// The device's name.
    pub device_name: Option<DeviceName>,
}

/// What a client wants changed.
#[derive(Debug)]
pub struct AccessUpdate {
    /// The status that it is to have.
    pub status: Option<TargetStatus>,
    /// The password that it is to have.
    pub password: Option<NewPassword>,
}

/// A password that takes the place of another.
#[derive(Debug)]
pub enum NewPassword {
    /// The client chose it.
    Chosen(Password),
    /// The server draws it.
    Drawn,
}

/// A password on its way to the client. Creation and update make one, and so does whoever shows once more what
/// they made: a Task, and the answer to a request that was sent again.
#[derive(Debug)]
pub struct OneTimePassword(Password);

impl OneTimePassword {
    pub(crate) fn new(password: Password) -> Self {
        Self(password)
    }

    /// Gives the password away.
    pub fn reveal(&self) -> &str {
        self.0.reveal()
    }
}

/// An access, and the password that was set with it.
#[derive(Debug)]
pub struct IssuedAccess {
    /// The access as it is now.
    pub access: Access,
    /// The password, where this operation set one.
    pub password: Option<OneTimePassword>,
}

impl App {
    /// Makes one access. What the client left out is generated. A request that is to be done `once`, and was
    /// done already, gets what it got then.
    pub async fn create_access(
        &self,
        asker: HashCaller<'_>,
        wanted: AccessRequest,
        once: Option<IdempotentRequest>,
    ) -> Result<IssuedAccess, Error> {
        let tenant = asker.tenant;
        if let Some(once) = &once
            && let Some(issued) = self.issued_before(tenant, once, self.now()).await?
        {
            return Ok(issued);
        }
        self.refuse_unreadable(wanted.username.as_ref())?;
        let (password, hash) = match wanted.password {
            Some(chosen) => {
                let hash = self.vault.hash_chosen(asker, &chosen).await?;
                (chosen, hash)
            }
            None => {
                let generated = gatehouse_vault::generate_password();
                let hash = self.vault.hash_generated(&generated);
                (generated, hash)
            }
        };
        let new = NewAccess {
            id: self.draw_access_id(),
            contract_id: wanted.contract_id.clone(),
            is_drawn: false,
            username: wanted.username.unwrap_or_else(gatehouse_vault::generate_username),
            password: hash,
            device_name: wanted.device_name,
            created_by: None,
            once: once.clone().map(|once| self.with_answer(tenant, once, &password)),
        };
        let username = new.username.clone();
        match self.store.create_access(tenant, new).await? {
            Ok(access) => Ok(IssuedAccess { access, password: Some(OneTimePassword(password)) }),
            Err(CreateRefused::NoTenant) => Err(Error::NoTenant(tenant.to_string())),
            Err(CreateRefused::NoContract) => Err(Error::UnknownContract(wanted.contract_id)),
            Err(CreateRefused::UsernameTaken) => Err(Error::UsernameTaken(username)),
            Err(CreateRefused::Refused(refusal)) => Err(Error::StateConflict(refusal)),
            Err(CreateRefused::Repeated) => {
                // Another server was quicker. By its clock the answer is kept, whatever ours says.
                let once = once.expect("only a request with a key is one that was made before");
                let issued = self.issued_before(tenant, &once, Timestamp::EPOCH).await?;
                issued.ok_or(Error::InProgress(once.key))
            }
        }
    }

    /// Refuses a username that servers of an older version could not read, as long as one may be there.
    pub(super) fn refuse_unreadable(&self, username: Option<&Username>) -> Result<(), Error> {
        match username {
            Some(it) if it.as_str().contains(':') && !self.store.reuses_usernames() => {
                Err(Error::UsernameUnreadable(it.clone()))
            }
            _ => Ok(()),
        }
    }

    /// Changes status, password or both: all of it or nothing. `allowed` says which versions of the
    /// access the client means.
    pub async fn update_access(
        &self,
        asker: HashCaller<'_>,
        id: AccessId,
        update: AccessUpdate,
        allowed: impl Fn(u64) -> bool + Clone + Send + 'static,
    ) -> Result<IssuedAccess, Error> {
        let tenant = asker.tenant;
        let (hash, password) = match update.password {
            Some(NewPassword::Chosen(chosen)) => {
                // Nobody pays for a slow hash of an access that isn't there.
                let found = self.store.access(tenant, id).await?;
                found.ok_or_else(|| Error::NotFound("access", id.to_string()))?;
                (Some(self.vault.hash_chosen(asker, &chosen).await?), Some(chosen))
            }
            Some(NewPassword::Drawn) => {
                let drawn = gatehouse_vault::generate_password();
                (Some(self.vault.hash_generated(&drawn)), Some(drawn))
            }
            None => (None, None),
        };
        let (status, now) = (update.status, self.now());
        let rule = move |stored: &StoredAccess, contract: &Contract| {
            let seen = lifecycle::at(&stored.access, now);
            if !allowed(seen.version) {
                return Err(Error::Stale(seen.version));
            }
            let access = change(seen, contract, status, hash.is_some(), now)?;
            Ok(Change { access, password: hash })
        };
        let access = self.store.change_access(tenant, id, rule).await?;
        let access = access.ok_or_else(|| Error::NotFound("access", id.to_string()))?;
        Ok(IssuedAccess { access, password: password.map(OneTimePassword) })
    }
}

/// Both changes as one, under one new version. The password comes first: an access that this very
/// request ends may still get one, one that had ended before may not.
pub(crate) fn change(
    seen: Access,
    contract: &Contract,
    status: Option<TargetStatus>,
    rotates: bool,
    now: Timestamp,
) -> Result<Access, StateConflict> {
    let mut access = seen.clone();
    if rotates {
        access = lifecycle::rotate_password(&access, now)?;
    }
    if let Some(target) = status {
        access = lifecycle::set_status(&access, contract, target, now)?;
    }
    access.version = access.version.min(seen.version + 1);
    Ok(access)
}
