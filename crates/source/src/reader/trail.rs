//! The way to a value, turned into a [`Place`] only where there is something to report.

use std::rc::Rc;

use crate::Place;

#[derive(Debug, Clone, Default)]
pub struct Trail<'a>(Option<Rc<Link<'a>>>);

#[derive(Debug)]
struct Link<'a> {
    parent: Trail<'a>,
    step: Step<'a>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'a> {
    Name(&'a str),
    Index(usize),
}

impl<'a> Trail<'a> {
    /// The whole document.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn name(&self, name: &'a str) -> Self {
        self.step(Step::Name(name))
    }

    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.step(Step::Index(index))
    }

    fn step(&self, step: Step<'a>) -> Self {
        Self(Some(Rc::new(Link { parent: self.clone(), step })))
    }

    #[must_use]
    pub fn place(&self) -> Place {
        let Some(link) = &self.0 else { return Place::root() };
        let around = link.parent.place();
        match link.step {
            Step::Name(name) => around.field(name),
            Step::Index(index) => around.index(index),
        }
    }
}
