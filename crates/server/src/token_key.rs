//! The key of task tokens. It is created once and kept in the store: tokens outlive restarts.

use std::sync::Arc;

use everstep_interpreter::TokenKey;
use everstep_store::{Batch, Error, Shard, Space, Store};

use crate::catalog::Failed;

const KEY: &[u8] = b"token-key";

/// The key of a store. Waits until a new one is durable.
pub(crate) fn of_store(store: &Arc<dyn Store>) -> Result<TokenKey, Failed> {
    loop {
        if let Some(row) = store.get(Shard::CATALOG, Space::Catalog, KEY)? {
            let bytes = row.try_into();
            return bytes
                .map(TokenKey)
                .map_err(|_| Failed("the key of task tokens is damaged".into()));
        }
        let mut batch = Batch::new(Shard::CATALOG);
        batch.insert(Space::Catalog, KEY.to_vec(), random()?.to_vec());
        let (sender, receiver) = std::sync::mpsc::sync_channel(1);
        store.commit(batch, Box::new(move |outcome| drop(sender.send(outcome))));
        match receiver.recv() {
            // Whoever was first, the key is there now.
            Ok(Ok(()) | Err(Error::Unexpected { .. })) => {}
            Ok(Err(error)) => return Err(error.into()),
            Err(_) => return Err(Failed("the store is closed".to_owned())),
        }
    }
}

fn random() -> Result<[u8; 32], Failed> {
    let mut bytes = [0; 32];
    let system = rustls::crypto::ring::default_provider().secure_random;
    system.fill(&mut bytes).map_err(|_| Failed("the system has no random numbers".to_owned()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use everstep_store::MemoryStore;

    use super::*;

    #[test]
    fn a_store_keeps_its_key() {
        let store = || -> Arc<dyn Store> { Arc::new(MemoryStore::new(1)) };
        let first = store();
        let key = of_store(&first).expect("a key");
        assert_eq!(of_store(&first).expect("the key"), key);
        assert_ne!(of_store(&store()).expect("another key"), key);
    }
}
