//! Mocked responses: the configuration file of AWS Step Functions Local (`SFN_MOCK_CONFIG`).
//!
//! Which response a call gets follows Step Functions Local: one count for each state and
//! execution, moved on by every call, whether a retry, another item of a Map or another turn of a
//! loop. A call without a response is an error of the file.

use std::collections::{BTreeMap, HashMap};

use everstep_asl::document::{self, Member, Node};
use everstep_asl::model::Kind;
use everstep_asl::{Machine, Source, Span};
use everstep_interpreter::Failure;
use everstep_source::nearest;
use everstep_source::words::{choices, count};
use serde_json::Value;

use crate::Error;
use everstep_analysis::explain::each;

#[derive(Debug, Clone, PartialEq)]
pub enum Response {
    Return(Value),
    Throw(Failure),
}

/// The responses of one test case.
#[derive(Debug)]
pub struct Mocks {
    file: String,
    case: String,
    states: HashMap<String, Mocked>,
}

#[derive(Debug)]
struct Mocked {
    response: String,
    steps: Steps,
    calls: u64,
}

/// By the call they end with.
type Steps = BTreeMap<u64, Response>;

/// Which of the machines and test cases of a file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Choice<'c> {
    pub machine: Option<&'c str>,
    pub test_case: Option<&'c str>,
    /// The machine's own name, used if the file has several and `machine` is not set.
    pub own_name: &'c str,
}

impl Mocks {
    pub fn read(source: &Source, choice: Choice<'_>, definition: &Machine) -> Result<Self, Error> {
        let reader = Reader { source };
        let root = document::read(source.text(), source.format()).map_err(|error| {
            reader.error(error.span, &format!("not a mock file: {}", error.message))
        })?;
        reader.mocks(&root, choice, definition)
    }

    /// Whether every test case of a file is right, as far as that can be known without the definitions.
    pub fn check(source: &Source) -> Result<(), Error> {
        let reader = Reader { source };
        let root = document::read(source.text(), source.format()).map_err(|error| {
            reader.error(error.span, &format!("not a mock file: {}", error.message))
        })?;
        reader.check(&root)
    }

    pub fn case(&self) -> &str {
        &self.case
    }

    pub fn file(&self) -> &str {
        &self.file
    }

    pub fn has(&self, state: &str) -> bool {
        self.states.contains_key(state)
    }

    /// What the next call of a state gets; none if the test case does not name the state.
    pub fn next(&mut self, state: &str) -> Result<Option<Response>, Error> {
        let Some(mocked) = self.states.get_mut(state) else { return Ok(None) };
        let call = mocked.calls;
        mocked.calls += 1;
        if let Some((_, response)) = mocked.steps.range(call..).next() {
            return Ok(Some(response.clone()));
        }
        let response = &mocked.response;
        let known = usize::try_from(call).unwrap_or(usize::MAX);
        Err(Error::new(format!(
            "state `{state}` is called more often than `{response}` in {} answers ({}, including retries \
             and items of a Map); add \"{call}\" to it, or make its last entry a range such as \
             \"{}-{}\"",
            self.file,
            count(known, "call"),
            call - 1,
            call + 8,
        )))
    }
}

struct Reader<'s> {
    source: &'s Source,
}

impl Reader<'_> {
    fn error(&self, span: Span, message: &str) -> Error {
        let position = self.source.position(span.start);
        Error::new(format!(
            "{}:{}:{}: {message}",
            self.source.name(),
            position.line,
            position.column
        ))
    }

    fn object<'n>(&self, node: &'n Node, what: &str) -> Result<&'n [Member], Error> {
        node.as_object().ok_or_else(|| {
            self.error(node.span, &format!("{what} is {}, not an object", node.type_name()))
        })
    }

    /// The value of a field among those that may stand there.
    fn fields<'n>(
        &self,
        node: &'n Node,
        what: &str,
        known: &[&str],
    ) -> Result<HashMap<&'n str, &'n Member>, Error> {
        let mut found = HashMap::new();
        for member in self.object(node, what)? {
            if !known.contains(&member.name.as_str()) {
                let meant = nearest(&member.name, known.iter().copied());
                let hint = meant.map_or_else(
                    || format!("it has {}", choices(known.iter().copied())),
                    |near| format!("did you mean `{near}`?"),
                );
                let message = format!("{what} has no field `{}`; {hint}", member.name);
                return Err(self.error(member.name_span, &message));
            }
            if found.insert(member.name.as_str(), member).is_some() {
                let message = format!("duplicate field `{}` in {what}", member.name);
                return Err(self.error(member.name_span, &message));
            }
        }
        Ok(found)
    }

    fn check(&self, root: &Node) -> Result<(), Error> {
        let (machines, responses) = self.parts(root)?;
        for machine in self.object(machines, "`StateMachines`")? {
            for case in self.cases(machine)?.1 {
                let what = format!("test case `{}`", case.name);
                for state in self.object(&case.value, &what)? {
                    self.chosen(state, &responses)?;
                }
            }
        }
        Ok(())
    }

    /// The machines, and the responses.
    fn parts<'n>(&self, root: &'n Node) -> Result<(&'n Node, BTreeMap<&'n str, Steps>), Error> {
        let fields = self.fields(root, "a mock file", &["StateMachines", "MockedResponses"])?;
        let required = |name: &str| {
            fields.get(name).map(|member| &member.value).ok_or_else(|| {
                self.error(root.span, &format!("a mock file needs the field `{name}`"))
            })
        };
        let responses = self.responses(required("MockedResponses")?)?;
        Ok((required("StateMachines")?, responses))
    }

    fn mocks(&self, root: &Node, choice: Choice<'_>, definition: &Machine) -> Result<Mocks, Error> {
        let (machines, responses) = self.parts(root)?;
        let machine = self.machine(machines, choice)?;
        let case = self.case(machine, choice)?;
        let mut states = HashMap::new();
        for member in self.object(&case.value, &format!("test case `{}`", case.name))? {
            self.known_state(member, definition)?;
            let (response, steps) = self.chosen(member, &responses)?;
            states.insert(member.name.clone(), Mocked { response, steps, calls: 0 });
        }
        Ok(Mocks { file: self.source.name().to_owned(), case: case.name.clone(), states })
    }

    fn machine<'n>(&self, node: &'n Node, choice: Choice<'_>) -> Result<&'n Member, Error> {
        let machines = self.object(node, "`StateMachines`")?;
        self.pick(node.span, machines, choice.machine, "state machine", "--machine").or_else(
            |error| {
                let own = machines.iter().find(|member| member.name == choice.own_name);
                own.filter(|_| choice.machine.is_none()).ok_or(error)
            },
        )
    }

    fn case<'n>(&self, machine: &'n Member, choice: Choice<'_>) -> Result<&'n Member, Error> {
        let (span, cases) = self.cases(machine)?;
        self.pick(span, cases, choice.test_case, "test case", "--test-case")
    }

    /// All of a machine, and where they stand.
    fn cases<'n>(&self, machine: &'n Member) -> Result<(Span, &'n [Member]), Error> {
        let what = format!("state machine `{}`", machine.name);
        let fields = self.fields(&machine.value, &what, &["TestCases"])?;
        let cases = fields.get("TestCases").ok_or_else(|| {
            self.error(machine.value.span, &format!("{what} needs the field `TestCases`"))
        })?;
        Ok((cases.value.span, self.object(&cases.value, "`TestCases`")?))
    }

    /// The one with this name; without a name, the only one.
    fn pick<'n>(
        &self,
        span: Span,
        members: &'n [Member],
        asked: Option<&str>,
        noun: &str,
        option: &str,
    ) -> Result<&'n Member, Error> {
        let names = || members.iter().map(|member| member.name.as_str());
        match (asked, members) {
            (_, []) => Err(self.error(span, &format!("it has no {noun}"))),
            (None, [only]) => Ok(only),
            (None, _) => {
                let message = format!("choose a {noun} with `{option}`: {}", choices(names()));
                Err(self.error(span, &message))
            }
            (Some(name), _) => members.iter().find(|member| member.name == name).ok_or_else(|| {
                let hint = nearest(name, names()).map_or_else(
                    || format!("it has {}", choices(names())),
                    |near| format!("did you mean `{near}`?"),
                );
                self.error(span, &format!("unknown {noun} `{name}`; {hint}"))
            }),
        }
    }

    fn known_state(&self, member: &Member, definition: &Machine) -> Result<(), Error> {
        let states = each(definition);
        let name = &member.name;
        let message = match states.iter().find(|found| *found.state.name == **name) {
            Some(found) if matches!(found.state.kind, Kind::Task(_)) => return Ok(()),
            Some(found) => format!(
                "`{name}` is a {} state; only Task states call something that can be mocked",
                found.state.kind.name()
            ),
            None => match nearest(name, states.iter().map(|found| &*found.state.name)) {
                Some(near) => {
                    format!("the definition has no state `{name}`; did you mean `{near}`?")
                }
                None => format!("the definition has no state `{name}`"),
            },
        };
        Err(self.error(member.name_span, &message))
    }

    fn chosen(
        &self,
        member: &Member,
        responses: &BTreeMap<&str, Steps>,
    ) -> Result<(String, Steps), Error> {
        let name = member.value.as_str().ok_or_else(|| {
            let found = member.value.type_name();
            let message = format!("`{}` is {found}, not the name of a response", member.name);
            self.error(member.value.span, &message)
        })?;
        let steps = responses.get(name).ok_or_else(|| {
            let hint = nearest(name, responses.keys().copied())
                .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let message =
                format!("unknown response `{name}`: `MockedResponses` does not have it{hint}");
            self.error(member.value.span, &message)
        })?;
        Ok((name.to_owned(), steps.clone()))
    }

    fn responses<'n>(&self, node: &'n Node) -> Result<BTreeMap<&'n str, Steps>, Error> {
        let members = self.object(node, "`MockedResponses`")?;
        members.iter().map(|member| Ok((member.name.as_str(), self.steps(member)?))).collect()
    }

    fn steps(&self, response: &Member) -> Result<Steps, Error> {
        let what = format!("response `{}`", response.name);
        let mut steps = Vec::new();
        for member in self.object(&response.value, &what)? {
            let (first, last) = range(&member.name).ok_or_else(|| {
                let message = format!(
                    "`{}` in {what} is neither a call such as \"0\" nor a range such as \"1-2\"",
                    member.name
                );
                self.error(member.name_span, &message)
            })?;
            let step = format!("call \"{}\" of {what}", member.name);
            steps.push((first, last, member.name_span, self.response(&member.value, &step)?));
        }
        if steps.is_empty() {
            return Err(self.error(response.value.span, &format!("{what} answers no call")));
        }
        self.in_sequence(steps, &what)
    }

    /// From the first call on, without a gap and without two for one call.
    fn in_sequence(
        &self,
        mut steps: Vec<(u64, u64, Span, Response)>,
        what: &str,
    ) -> Result<Steps, Error> {
        steps.sort_by_key(|(first, ..)| *first);
        let (mut sequence, mut next) = (Steps::new(), 0);
        for (first, last, span, response) in steps {
            if first > next {
                let message =
                    format!("{what} has nothing for call \"{next}\"; calls count from \"0\"");
                return Err(self.error(span, &message));
            }
            if first < next {
                let message = format!("{what} has two answers for call \"{first}\"");
                return Err(self.error(span, &message));
            }
            next = last.saturating_add(1);
            sequence.insert(last, response);
        }
        Ok(sequence)
    }

    fn response(&self, node: &Node, what: &str) -> Result<Response, Error> {
        let fields = self.fields(node, what, &["Return", "Throw"])?;
        match (fields.get("Return"), fields.get("Throw")) {
            (Some(output), None) => Ok(Response::Return(output.value.to_value())),
            (None, Some(thrown)) => self.failure(&thrown.value, what).map(Response::Throw),
            (None, None) => {
                Err(self.error(node.span, &format!("{what} has neither `Return` nor `Throw`")))
            }
            (Some(_), Some(thrown)) => {
                let message = format!("{what} has both `Return` and `Throw`; keep one");
                Err(self.error(thrown.name_span, &message))
            }
        }
    }

    fn failure(&self, node: &Node, what: &str) -> Result<Failure, Error> {
        let fields = self.fields(node, &format!("`Throw` of {what}"), &["Error", "Cause"])?;
        let text = |name: &str| match fields.get(name) {
            None => Ok(None),
            Some(member) => member.value.as_str().map(|text| Some(text.into())).ok_or_else(|| {
                let found = member.value.type_name();
                self.error(member.value.span, &format!("`{name}` is {found}, not a string"))
            }),
        };
        let error = text("Error")?.ok_or_else(|| {
            self.error(node.span, &format!("`Throw` of {what} needs the field `Error`"))
        })?;
        Ok(Failure { error: Some(error), cause: text("Cause")? })
    }
}

/// `"3"` or `"1-2"`.
fn range(text: &str) -> Option<(u64, u64)> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u64>().ok()).flatten()
    };
    match text.split_once('-') {
        None => number(text).map(|call| (call, call)),
        Some((first, last)) => {
            let (first, last) = (number(first)?, number(last)?);
            (first <= last).then_some((first, last))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        for (text, expected) in [
            ("0", Some((0, 0))),
            ("1-2", Some((1, 2))),
            ("3-3", Some((3, 3))),
            ("2-1", None),
            ("-1", None),
            ("+1", None),
            ("1-", None),
            ("", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(range(text), expected, "{text}");
        }
    }
}
