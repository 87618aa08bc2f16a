//! Features without a contract in this crate. A crate adds its own, for the method group that serves it.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// Features by their type, at most one of each.
#[derive(Clone, Default)]
pub struct Features(HashMap<TypeId, Arc<dyn Any + Send + Sync>>);

impl Features {
    /// Adds a feature, or replaces the feature of its type.
    #[must_use]
    pub fn with<T: Any + Send + Sync>(mut self, feature: T) -> Self {
        self.0.insert(TypeId::of::<T>(), Arc::new(feature));
        self
    }

    /// Returns the feature of this type.
    pub fn get<T: Any>(&self) -> Option<&T> {
        self.0.get(&TypeId::of::<T>())?.downcast_ref()
    }
}

impl fmt::Debug for Features {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Features").finish_non_exhaustive()
    }
}
