//! What payloads look like, as JSON Schema.

/// The JSON Schema of a type's payloads, for [`crate::Job::schema`].
#[cfg(feature = "schema")]
pub fn schema_of<J: schemars::JsonSchema>() -> String {
    schemars::schema_for!(J).as_value().to_string()
}

/// Needs the feature `schema`.
#[cfg(not(feature = "schema"))]
#[doc(hidden)]
pub fn schema_of<J: Missing>() -> String {
    unreachable!("no type is `Missing`")
}

/// Implemented by no type: without the feature there is no schema.
#[cfg(not(feature = "schema"))]
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`schema` needs a feature of longshore",
    label = "the feature `schema` is off",
    note = "write `longshore = {{ …, features = [\"schema\"] }}` in Cargo.toml"
)]
pub trait Missing {}
