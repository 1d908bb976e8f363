//! Values of the application that handlers share.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use super::{FromRun, Given};
use crate::job::JobError;
use crate::worker::Run;

/// A value that was given with [`crate::Worker::state`], by its type. It is cloned for each run, as a pool or
/// a client that is a handle likes it.
#[derive(Clone, Copy, Debug)]
pub struct State<T>(pub T);

impl<T> Deref for State<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Clone + Send + Sync + 'static> FromRun for State<T> {
    async fn from_run(run: &Run) -> Result<State<T>, JobError> {
        let value = run.states().get::<T>().cloned();
        value.map(State).ok_or_else(|| JobError::new(missing::<T>()))
    }

    fn check(given: &Given<'_>) -> Result<(), String> {
        if given.has_state::<T>() { Ok(()) } else { Err(missing::<T>()) }
    }
}

fn missing<T>() -> String {
    format!("no state of type `{}`; give it with `Worker::state`", type_name::<T>())
}

/// One value of each type.
#[derive(Clone, Default)]
pub(crate) struct States(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl States {
    pub fn add<T: Send + Sync + 'static>(&mut self, value: T) {
        self.0.insert(TypeId::of::<T>(), Arc::new(value));
    }

    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>()).and_then(|value| value.downcast_ref())
    }
}
