//! Kinds.

use longshore::{KindRow, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::PauseView;

/// All kinds that nodes have told of.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct KindsView {
    /// By name.
    pub kinds: Vec<KindView>,
}

/// A kind.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct KindView {
    /// Its name.
    pub name: String,
    /// The greatest version of a payload that a node decoded; null: any, or not known.
    pub version: Option<u32>,
    /// What payloads look like, as a JSON Schema, where the program tells.
    #[schema(value_type = Option<Object>)]
    pub schema: Option<Box<RawValue>>,
    /// When a node told of it last.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub seen_at: Option<Timestamp>,
    /// Live nodes that can run it.
    pub nodes: u32,
    /// Its pause, if it is paused.
    pub paused: Option<PauseView>,
}

impl From<Vec<KindRow>> for KindsView {
    fn from(kinds: Vec<KindRow>) -> KindsView {
        KindsView { kinds: kinds.into_iter().map(KindView::from).collect() }
    }
}

impl From<KindRow> for KindView {
    fn from(kind: KindRow) -> KindView {
        KindView {
            name: kind.name,
            version: kind.version,
            // What is no JSON is no schema.
            schema: kind.schema.and_then(|text| RawValue::from_string(text).ok()),
            seen_at: kind.seen_at,
            nodes: kind.nodes,
            paused: kind.pause.map(PauseView::from),
        }
    }
}
