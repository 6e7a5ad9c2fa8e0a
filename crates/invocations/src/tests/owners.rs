//! Two engines on one store, and a store that fails.

use super::harness::{Harness, fails, fixed, holds, locked, settings};
use crate::{Error, Filter};

#[test]
fn an_engine_whose_shards_were_taken_over_gives_up() {
    let mut old = Harness::new();
    old.script.set("f", settings("f", fixed(3, 0)), holds());
    let id = old.accept("f", "{}");
    old.settle();
    let waits = old.watch(id);
    let mut new = Harness::on(old.store.clone());
    new.open();
    new.script.set("f", settings("f", fixed(3, 0)), fails(0));
    new.settle();
    assert_eq!(new.stands(id), ("Succeeded", 1), "it was interrupted and repeated");
    old.script.set("f", settings("f", fixed(3, 0)), fails(0));
    old.script.answer_all();
    while old.handle_one() {}
    let notes = locked(&old.notes.0).clone();
    assert!(notes.len() == 1 && notes[0].starts_with("failed: the store: "), "{notes:?}");
    old.settle();
    assert!(matches!(waits.try_recv(), Ok(Err(Error::Failed(_)))), "the caller gets the error");
    let acceptance = old.acceptance("f", "{}");
    assert!(matches!(old.send(acceptance).try_recv(), Ok(Err(Error::Failed(_)))));
    assert_eq!(new.stands(id), ("Succeeded", 1), "and nothing of it counts");
    assert_eq!(new.all(&Filter::default()).len(), 1);
}
