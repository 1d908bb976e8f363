//! Who comes in: oneself, users, sessions, tokens.

pub(super) mod me;
pub(super) mod sessions;
pub(super) mod tokens;
pub(super) mod users;

use crate::identity::Identity;
use crate::problem::{Code, Problem, Result};
use crate::rights::Grant;

/// What these words give. Refused is a word that nothing has, and more than the caller has.
fn granted(who: &Identity, role: Option<&str>, rights: &[String]) -> Result<Grant> {
    let grant = Grant::read(role, rights).map_err(|error| {
        let place = if Grant::read(role, &[]).is_err() { "/role" } else { "/rights" };
        Problem::value(place, error.to_string())
    })?;
    within(who, &grant)?;
    Ok(grant)
}

/// Nobody gives away, or takes over, more than they have.
fn within(who: &Identity, grant: &Grant) -> Result<()> {
    if who.grant().covers(grant) {
        return Ok(());
    }
    let detail = format!("this gives more rights than {} has", who.name);
    Err(Problem::new(Code::Forbidden, detail))
}
