//! The typed model of a definition: what an interpreter runs and tools read.
//!
//! Expressions are compiled, transitions are resolved, defaults are filled in. Spans are kept only
//! where a tool points at a part after parsing.

mod choice;
mod flow;
mod map;
mod resource;
mod retry;

use everstep_source::{Place, Span};

use std::sync::Arc;

use everstep_expr::jsonata;
use everstep_expr::path::ReferencePath;
use everstep_expr::template;
use everstep_expr::timestamp::Timestamp;

pub use choice::{
    Choice, ChoiceRule, Comparand, Comparison, Condition, DataType, Relation, TypeTest,
};
pub use flow::{Assign, DataFlow, JsonPathFlow, JsonataFlow, OptionalPath, Payload, ResultPath};
pub use map::{
    ExecutionType, ItemBatcher, ItemReader, Items, Map, Mode, ReaderConfig, ResultWriter,
};
pub use resource::{Pattern, Resource, function_event, function_name};
pub use retry::{Catcher, Jitter, Retrier};

/// STANDARD or EXPRESS: decides which tasks a definition may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WorkflowType {
    #[default]
    Standard,
    Express,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QueryLanguage {
    #[default]
    JsonPath,
    Jsonata,
}

impl QueryLanguage {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::JsonPath => "JSONPath",
            Self::Jsonata => "JSONata",
        }
    }

    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::JsonPath => Self::Jsonata,
            Self::Jsonata => Self::JsonPath,
        }
    }
}

/// A scope of states: a whole state machine, a branch, or the processor of a Map.
#[derive(Debug, Clone)]
pub struct Machine {
    pub comment: Option<String>,
    /// Only on the outermost machine.
    pub timeout_seconds: Option<u64>,
    /// What states use that do not say.
    pub query_language: QueryLanguage,
    pub start_at: StateId,
    /// In the order of the definition.
    pub states: Vec<State>,
}

impl Machine {
    #[must_use]
    pub fn state(&self, id: StateId) -> &State {
        &self.states[id.0 as usize]
    }

    #[must_use]
    pub fn find(&self, name: &str) -> Option<&State> {
        self.states.iter().find(|state| &*state.name == name)
    }

    /// This machine and every one inside it, outermost first, each with its place.
    pub fn each_scope<'m>(&'m self, place: &Place, visit: &mut dyn FnMut(&'m Machine, &Place)) {
        visit(self, place);
        let states = place.field("States");
        for state in self.states.iter().filter(|state| state.has_scopes()) {
            for (inner, at) in state.scopes(&states.field(&state.name)) {
                inner.each_scope(&at, visit);
            }
        }
    }

    /// Whether all states are light, those inside others too. See [`State::is_light`].
    #[must_use]
    pub fn is_light(&self) -> bool {
        let mut is_light = true;
        self.each_state(&mut |state, _, _| is_light &= state.is_light);
        is_light
    }

    /// Every state of this machine and those inside it, each with its place.
    pub fn each_state<'m>(&'m self, visit: &mut dyn FnMut(&'m State, &'m Machine, &Place)) {
        self.each_scope(&Place::root(), &mut |machine, place| {
            let states = place.field("States");
            for state in &machine.states {
                visit(state, machine, &states.field(&state.name));
            }
        });
    }
}

/// A state by its place in its own machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateId(pub u32);

/// The state a transition leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub name: Arc<str>,
    pub id: StateId,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transition {
    Next(Target),
    End,
}

#[derive(Debug, Clone)]
pub struct State {
    pub name: Arc<str>,
    pub name_span: Span,
    pub span: Span,
    pub comment: Option<String>,
    pub query_language: QueryLanguage,
    /// Whether any of its expressions may read the context object: making one has a price.
    pub reads_context: bool,
    /// Whether they may read the execution's input there, which can be as large as a payload.
    pub reads_execution_input: bool,
    /// Whether its expressions take next to no time, whatever the data: none of them is a program, scans or filters,
    /// and there are few.
    pub is_light: bool,
    pub flow: DataFlow,
    pub assign: Option<Assign>,
    pub kind: Kind,
}

impl State {
    /// Whether there are machines inside this state.
    #[must_use]
    pub fn has_scopes(&self) -> bool {
        matches!(self.kind, Kind::Parallel(_) | Kind::Map(_))
    }

    /// The machines inside this state, each with its place; `place` is the state's own.
    pub fn scopes(&self, place: &Place) -> impl Iterator<Item = (&Machine, Place)> {
        let (branches, processor) = match &self.kind {
            Kind::Parallel(parallel) => (parallel.branches.as_slice(), None),
            Kind::Map(map) => (&[][..], Some((&*map.processor, place.field(map.processor_field)))),
            _ => (&[][..], None),
        };
        let list = place.field("Branches");
        let branches = branches.iter().enumerate().map(move |(at, b)| (&**b, list.index(at)));
        branches.chain(processor)
    }

    #[must_use]
    pub fn retry(&self) -> &[Retrier] {
        match &self.kind {
            Kind::Task(task) => &task.retry,
            Kind::Parallel(parallel) => &parallel.retry,
            Kind::Map(map) => &map.retry,
            _ => &[],
        }
    }

    #[must_use]
    pub fn catch(&self) -> &[Catcher] {
        match &self.kind {
            Kind::Task(task) => &task.catch,
            Kind::Parallel(parallel) => &parallel.catch,
            Kind::Map(map) => &map.catch,
            _ => &[],
        }
    }

    /// Where it goes when it succeeds, if that is one fixed place.
    #[must_use]
    pub fn transition(&self) -> Option<&Transition> {
        match &self.kind {
            Kind::Pass(pass) => Some(&pass.transition),
            Kind::Task(task) => Some(&task.transition),
            Kind::Wait(wait) => Some(&wait.transition),
            Kind::Parallel(parallel) => Some(&parallel.transition),
            Kind::Map(map) => Some(&map.transition),
            Kind::Choice(_) | Kind::Succeed | Kind::Fail(_) => None,
        }
    }

    /// Every state that can follow, errors included.
    pub fn successors(&self) -> impl Iterator<Item = &Target> {
        let next = match self.transition() {
            Some(Transition::Next(target)) => Some(target),
            _ => None,
        };
        let (rules, default) = match &self.kind {
            Kind::Choice(choice) => (choice.rules.as_slice(), choice.default.as_ref()),
            _ => (&[][..], None),
        };
        next.into_iter()
            .chain(rules.iter().map(|rule| &rule.next))
            .chain(default)
            .chain(self.catch().iter().map(|catcher| &catcher.next))
    }
}

#[derive(Debug, Clone)]
pub enum Kind {
    Pass(Pass),
    Task(Box<Task>),
    Choice(Choice),
    Wait(Wait),
    Succeed,
    Fail(Fail),
    Parallel(Parallel),
    Map(Box<Map>),
}

impl Kind {
    /// The value of `Type`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pass(_) => "Pass",
            Self::Task(_) => "Task",
            Self::Choice(_) => "Choice",
            Self::Wait(_) => "Wait",
            Self::Succeed => "Succeed",
            Self::Fail(_) => "Fail",
            Self::Parallel(_) => "Parallel",
            Self::Map(_) => "Map",
        }
    }
}

#[derive(Debug, Clone)]
pub struct Pass {
    pub result: Option<serde_json::Value>,
    pub transition: Transition,
}

#[derive(Debug, Clone)]
pub struct Task {
    pub resource: Arc<Resource>,
    pub timeout: Option<Operand<u64>>,
    pub heartbeat: Option<Operand<u64>>,
    pub credentials: Option<Payload>,
    pub retry: Vec<Retrier>,
    pub catch: Vec<Catcher>,
    pub transition: Transition,
}

#[derive(Debug, Clone)]
pub struct Wait {
    pub until: WaitUntil,
    pub transition: Transition,
}

#[derive(Debug, Clone)]
pub enum WaitUntil {
    Seconds(Operand<u64>),
    Timestamp(Operand<Timestamp>),
}

#[derive(Debug, Clone)]
pub struct Fail {
    pub error: Option<Text>,
    pub cause: Option<Text>,
}

#[derive(Debug, Clone)]
pub struct Parallel {
    pub branches: Vec<Arc<Machine>>,
    pub retry: Vec<Retrier>,
    pub catch: Vec<Catcher>,
    pub transition: Transition,
}

/// A setting that is fixed, or found in the data at run time.
#[derive(Debug, Clone)]
pub enum Operand<T> {
    Literal(T),
    Path(ReferencePath),
    Jsonata(jsonata::Expression),
}

/// A text that is fixed, or made at run time.
#[derive(Debug, Clone)]
pub enum Text {
    Literal(String),
    Expression(template::Expression),
    Jsonata(jsonata::Expression),
}
