//! [`Timestamp`] as `timestamptz`: microseconds since 2000 on the wire, since 1970 with us.

use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{
    PgArgumentBuffer, PgHasArrayType, PgTypeInfo, PgValueFormat, PgValueRef, Postgres,
};
use sqlx::{Decode, Encode, Type};

use crate::time::Timestamp;

const TIMESTAMPTZ: Oid = Oid(1184);
const TIMESTAMPTZ_ARRAY: Oid = Oid(1185);
/// 2000-01-01T00:00:00Z, in microseconds after 1970.
const EPOCH: i64 = 946_684_800_000_000;

impl Type<Postgres> for Timestamp {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(TIMESTAMPTZ)
    }

    fn compatible(found: &PgTypeInfo) -> bool {
        found.oid() == Some(TIMESTAMPTZ)
    }
}

impl PgHasArrayType for Timestamp {
    fn array_type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(TIMESTAMPTZ_ARRAY)
    }
}

impl Encode<'_, Postgres> for Timestamp {
    fn encode_by_ref(&self, buf: &mut PgArgumentBuffer) -> Result<IsNull, BoxDynError> {
        buf.extend_from_slice(&to_wire(self.as_micros()).to_be_bytes());
        Ok(IsNull::No)
    }
}

impl Decode<'_, Postgres> for Timestamp {
    fn decode(value: PgValueRef<'_>) -> Result<Self, BoxDynError> {
        match value.format() {
            PgValueFormat::Binary => {
                let wire = i64::from_be_bytes(value.as_bytes()?.try_into()?);
                Ok(Timestamp::from_micros(from_wire(wire)))
            }
            PgValueFormat::Text => Err("a timestamptz is read in binary only".into()),
        }
    }
}

/// The ends of `i64` are the database's ±infinity, and stay the ends of `i64`.
pub(super) fn to_wire(micros: i64) -> i64 {
    if micros == i64::MAX { i64::MAX } else { micros.saturating_sub(EPOCH) }
}

fn from_wire(wire: i64) -> i64 {
    if wire == i64::MIN { i64::MIN } else { wire.saturating_add(EPOCH) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinities_and_ends_survive() {
        for micros in
            [i64::MIN, i64::MAX, 0, Timestamp::MIN.as_micros(), Timestamp::MAX.as_micros()]
        {
            assert_eq!(from_wire(to_wire(micros)), micros);
        }
        assert_eq!((to_wire(i64::MIN), to_wire(i64::MAX)), (i64::MIN, i64::MAX));
        assert_eq!(to_wire(EPOCH), 0);
        // The database's latest time lies beyond what microseconds after 1970 can say.
        assert_eq!(from_wire(9_223_371_331_200_000_000), i64::MAX);
    }
}
