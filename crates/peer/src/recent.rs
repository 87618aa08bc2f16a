//! A table with its latest entry outside the map: most requests and calls end before the next one starts, and then
//! need no hashing. Plain data, bounded by its users.

use std::hash::Hash;

use foldhash::{HashMap, HashMapExt};

#[derive(Debug)]
pub(crate) struct Recent<K, V> {
    latest: Option<(K, V)>,
    rest: HashMap<K, V>,
}

impl<K: Eq + Hash, V> Recent<K, V> {
    pub(crate) fn new() -> Self {
        Self {
            latest: None,
            rest: HashMap::new(),
        }
    }

    /// Adds an entry; its key must have none.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if let Some((key, value)) = self.latest.replace((key, value)) {
            self.rest.insert(key, value);
        }
    }

    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        match &self.latest {
            Some((latest, value)) if latest == key => Some(value),
            Some(_) | None => self.rest.get(key),
        }
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        match &mut self.latest {
            Some((latest, value)) if latest == key => Some(value),
            Some(_) | None => self.rest.get_mut(key),
        }
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        match self.latest.take_if(|(latest, _)| latest == key) {
            Some((_, value)) => Some(value),
            None => self.rest.remove(key),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let latest = self.latest.as_ref().map(|(key, value)| (key, value));
        self.rest.iter().chain(latest)
    }

    /// Removes every entry, in no order.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = (K, V)> {
        self.rest.drain().chain(self.latest.take())
    }

    pub(crate) fn len(&self) -> usize {
        self.rest.len() + usize::from(self.latest.is_some())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::Recent;

    proptest! {
        #[test]
        fn it_holds_what_a_plain_table_holds(steps in prop::collection::vec((0_u8..3, 0_u8..6), 0..60)) {
            let (mut recent, mut plain) = (Recent::new(), HashMap::new());
            for (at, (step, key)) in steps.into_iter().enumerate() {
                match step {
                    0 if recent.get(&key).is_none() => {
                        recent.insert(key, at);
                        plain.insert(key, at);
                    }
                    1 => prop_assert_eq!(recent.remove(&key), plain.remove(&key)),
                    _ => {
                        if let Some(value) = recent.get_mut(&key) {
                            *value += 100;
                        }
                        plain.entry(key).and_modify(|value| *value += 100);
                    }
                }
                prop_assert_eq!(recent.len(), plain.len());
                prop_assert_eq!(recent.get(&key), plain.get(&key));
            }
            let all: HashMap<_, _> = recent.iter().map(|(&key, &value)| (key, value)).collect();
            prop_assert_eq!(&all, &plain);
            prop_assert_eq!(recent.drain().collect::<HashMap<_, _>>(), plain);
            prop_assert_eq!(recent.len(), 0);
        }
    }
}
