//! Whole definitions, and inputs for them: mostly legal, and made of what has hurt engines before.

use libfuzzer_sys::arbitrary::{Result, Unstructured};
use serde_json::{Map, Value, json};

const DEPTH_MAX: usize = 3;
const STATES_MAX: usize = 5;

const PATHS: &[&str] = &[
    "$",
    "$.a",
    "$.a.b",
    "$.items",
    "$.items[0]",
    "$.items[*].a",
    "$..*",
    "$..a",
    "$.a[?(@.b > 1)]",
    "$.items[-1:]",
    "$.n",
    "$.missing",
    "$.text",
    "$$.Execution.Id",
    "$$.State.EnteredTime",
    "$$.Map.Item.Value",
    "$v",
    "$v.a",
    "$w[0]",
    "$['a']['b']",
    "$.items.length()",
];
const REFERENCES: &[&str] =
    &["$", "$.a", "$.a.b", "$.r", "$.items", "$.items", "$.items[0]", "$.items[20]", "$.a.b.c.d"];
const INTRINSICS: &[&str] = &[
    "States.ArrayRange(0, 999, 1)",
    "States.ArrayRange(0, $.n, $.n)",
    "States.Array($, $, $)",
    "States.ArrayPartition($.items, $.n)",
    "States.ArrayUnique($.items)",
    "States.ArrayContains($.items, $.a)",
    "States.ArrayGetItem($.items, $.n)",
    "States.ArrayLength($.items)",
    "States.StringSplit($.text, 'a')",
    "States.StringToJson($.text)",
    "States.JsonToString($)",
    "States.JsonMerge($.a, $.a, false)",
    "States.Base64Encode($.text)",
    "States.Base64Decode($.text)",
    "States.Hash($.text, 'SHA-256')",
    "States.MathAdd($.n, $.n)",
    "States.MathRandom(0, $.n)",
    "States.UUID()",
    "States.Format('{}{}', $.text, $.text)",
    "States.Format('{}', States.JsonToString(States.Array($, States.UUID())))",
];
const JSONATA: &[&str] = &[
    "$states.input",
    "$states.input.a",
    "$states.context",
    "[1..500]",
    "[$states.input, $states.input]",
    "{'a': $states.input, 'items': [1, 2]}",
    "$states.input.items.{'b': $}",
    "$reduce([1..50], function($a, $v) { [$a, $v] }, [])",
    "$reduce([1..300], function($a, $v) { function() { $a } }, 1)",
    "$string($states.input)",
    "($f := function($n) { $n = 0 ? 0 : 1 + $f($n - 1) }; $f(40))",
    "$v & $v",
    "$append($v, $v)",
    "$pad($states.input.text, 300, '#')",
    "$match($states.input.text, /(a+)+/)",
    "$now()",
    "$uuid()",
    "$random() < 0.5",
    "$states.input.n > 1",
    "$exists($states.input.a)",
    "true",
    "false",
    "$states.input.n / 0",
    "$error('x')",
    "null",
    "function() { 1 }",
    "1e308 * 10",
    "-1",
    "3",
    "$v",
    "$split($states.input.text, '')",
    "$merge([$states.input, {'n': 2}])",
    "$sort($states.input.items)",
    "$states.context.Execution.Input",
    "$fromMillis(1e15)",
    "$partition([1..20], 3)",
    "$w.x",
];
/// Only where there is a result.
const RESULT: &str = "{% {'a': $states.result, 'items': [$states.result, $states.input.items]} %}";
const NUMBERS: &[i64] = &[0, 1, 2, 3, 60, 1000, 99_999_999];
const TIMES: &[&str] =
    &["0001-01-01T00:00:00Z", "2016-03-14T01:59:00Z", "9999-12-31T23:59:59.999Z"];
const ERRORS: &[&str] = &[
    "States.ALL",
    "States.TaskFailed",
    "States.Timeout",
    "States.Runtime",
    "Broken",
    "States.DataLimitExceeded",
];
const RESOURCES: &[&str] = &[
    "arn:aws:lambda:us-east-1:123456789012:function:f",
    "arn:aws:states:us-east-1:123456789012:activity:a",
    "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
    "arn:aws:states:::states:startExecution.sync:2",
];

pub struct Writer<'u, 'd> {
    from: &'u mut Unstructured<'d>,
    jsonata: bool,
    states: usize,
}

impl<'u, 'd> Writer<'u, 'd> {
    pub fn new(from: &'u mut Unstructured<'d>) -> Result<Self> {
        let jsonata = from.arbitrary()?;
        Ok(Self { from, jsonata, states: 0 })
    }

    pub fn definition(&mut self) -> Result<Value> {
        let mut machine = self.machine(0)?;
        if self.jsonata {
            machine.insert("QueryLanguage".into(), "JSONata".into());
        }
        if self.from.ratio(1, 8)? {
            machine.insert("TimeoutSeconds".into(), self.number()?);
        }
        Ok(machine.into())
    }

    pub fn input(&mut self) -> Result<Value> {
        Ok(json!({
            "a": self.value(0)?, "items": self.items()?, "n": self.number()?,
            "text": "ab".repeat(self.from.int_in_range(0..=200)?),
        }))
    }

    /// Any JSON value, as a worker may answer.
    pub fn value(&mut self, depth: usize) -> Result<Value> {
        Ok(match self.from.int_in_range(0..=if depth < 4 { 8 } else { 4 })? {
            0 => Value::Null,
            1 => self.from.arbitrary::<bool>()?.into(),
            2 => self.number()?,
            3 => self.from.arbitrary::<f64>()?.into(),
            4 => "x\u{202e}\u{0}é".repeat(self.from.int_in_range(0..=60)?).into(),
            5 => self.items()?,
            6 => json!([self.value(depth + 1)?, self.value(depth + 1)?]),
            7 => json!({"a": self.value(depth + 1)?, "b": self.value(depth + 1)?}),
            _ => json!({"items": self.items()?, "n": self.number()?}),
        })
    }

    fn items(&mut self) -> Result<Value> {
        let count = self.from.int_in_range(0..=12)?;
        Ok((0..count).map(|n| json!({"a": n, "b": [n]})).collect())
    }

    fn machine(&mut self, depth: usize) -> Result<Map<String, Value>> {
        let first = self.states;
        let count = self.from.int_in_range(1..=STATES_MAX)?;
        self.states += count;
        let names: Vec<String> = (first..first + count).map(|n| format!("S{n}")).collect();
        let mut states = Map::new();
        for (index, name) in names.iter().enumerate() {
            // The last one ends, so that there is an end.
            let next =
                (index + 1 < count).then(|| self.from.choose(&names).cloned()).transpose()?;
            // The one that follows is reached at least by one way.
            let following = names.get(index + 1).cloned();
            let state = self.state(depth, next, following, &names)?;
            states.insert(name.clone(), state.into());
        }
        let mut machine = Map::new();
        machine.insert("StartAt".into(), names[0].clone().into());
        machine.insert("States".into(), states.into());
        Ok(machine)
    }

    fn state(
        &mut self,
        depth: usize,
        next: Option<String>,
        following: Option<String>,
        names: &[String],
    ) -> Result<Map<String, Value>> {
        let mut state = Map::new();
        let nests = depth < DEPTH_MAX && self.states < 40;
        let kind = match (self.from.int_in_range(0..=9)?, &following) {
            (0 | 1, _) => "Pass",
            (2, _) => "Wait",
            (3 | 4, Some(_)) => "Choice",
            (5, None) => *self.from.choose(&["Succeed", "Fail"])?,
            (6, _) if nests => "Parallel",
            (7 | 8, _) if nests => "Map",
            _ => "Task",
        };
        state.insert("Type".into(), kind.into());
        match kind {
            "Succeed" | "Fail" => {}
            "Choice" => self.choice(&mut state, following.unwrap_or_default(), names)?,
            _ => {
                // Mostly onwards, at times back: unreachable states are refused.
                let next = if self.from.ratio(3, 4)? { following } else { next };
                match next {
                    Some(next) => state.insert("Next".into(), next.into()),
                    None => state.insert("End".into(), true.into()),
                };
            }
        }
        match kind {
            "Wait" => self.wait(&mut state)?,
            "Fail" => _ = state.insert("Error".into(), "Broken".into()),
            "Task" => self.task(&mut state)?,
            "Parallel" => {
                let count = self.from.int_in_range(1..=3)?;
                let branches: Result<Vec<Value>> =
                    (0..count).map(|_| self.machine(depth + 1).map(Value::from)).collect();
                state.insert("Branches".into(), branches?.into());
            }
            "Map" => self.map(&mut state, depth)?,
            _ => {}
        }
        if !matches!(kind, "Fail" | "Choice") {
            self.data(&mut state, kind)?;
        }
        if matches!(kind, "Task" | "Parallel" | "Map") {
            self.handlers(&mut state, names)?;
        }
        Ok(state)
    }

    fn choice(
        &mut self,
        state: &mut Map<String, Value>,
        following: String,
        names: &[String],
    ) -> Result<()> {
        let next = self.from.choose(names)?.clone();
        let rule = if self.jsonata {
            json!({"Condition": self.expression()?, "Next": next})
        } else {
            let variable = self.from.choose(PATHS)?;
            let test = match self.from.int_in_range(0..=4)? {
                0 => json!({"Variable": variable, "IsPresent": true}),
                1 => json!({"Variable": variable, "StringMatches": "*a*b*"}),
                2 => json!({"Not": {"Variable": variable, "NumericLessThan": 2}}),
                3 => {
                    json!({"And": [{"Variable": variable, "IsNull": false}, {"Variable": variable, "IsString": true}]})
                }
                _ => json!({"Variable": variable, "NumericEqualsPath": "$.n"}),
            };
            let mut rule = test.as_object().cloned().unwrap_or_default();
            rule.insert("Next".into(), next.into());
            rule.into()
        };
        state.insert("Choices".into(), json!([rule]));
        state.insert("Default".into(), following.into());
        Ok(())
    }

    fn wait(&mut self, state: &mut Map<String, Value>) -> Result<()> {
        let (field, value) = match (self.from.int_in_range(0..=2)?, self.jsonata) {
            (0, _) => ("Seconds", self.number()?),
            (1, _) => ("Timestamp", (*self.from.choose(TIMES)?).into()),
            (_, true) => ("Seconds", self.expression()?),
            (_, false) => ("SecondsPath", (*self.from.choose(REFERENCES)?).into()),
        };
        state.insert(field.into(), value);
        Ok(())
    }

    fn task(&mut self, state: &mut Map<String, Value>) -> Result<()> {
        let resource = *self.from.choose(RESOURCES)?;
        state.insert("Resource".into(), resource.into());
        let token = if self.jsonata { "{% $states.context.Task.Token %}" } else { "$$.Task.Token" };
        let key = |name: &str| if self.jsonata { name.to_owned() } else { format!("{name}.$") };
        let arguments = match resource.rsplit(':').next() {
            Some("sendMessage.waitForTaskToken") => {
                json!({"QueueUrl": "https://example.com/q", (key("MessageBody")): token})
            }
            Some("2") => {
                json!({"StateMachineArn": "arn:aws:states:us-east-1:123456789012:stateMachine:m"})
            }
            _ => return Ok(()),
        };
        state.insert(if self.jsonata { "Arguments" } else { "Parameters" }.into(), arguments);
        if self.from.ratio(1, 2)? {
            state.insert("TimeoutSeconds".into(), self.from.int_in_range(1..=1000)?.into());
        }
        Ok(())
    }

    fn map(&mut self, state: &mut Map<String, Value>, depth: usize) -> Result<()> {
        let mut processor = self.machine(depth + 1)?;
        let mode = if self.from.ratio(1, 3)? {
            json!({"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"})
        } else {
            json!({"Mode": "INLINE"})
        };
        processor.insert("ProcessorConfig".into(), mode);
        state.insert("ItemProcessor".into(), processor.into());
        let (items, value) = if self.jsonata {
            ("Items", self.expression()?)
        } else {
            ("ItemsPath", (*self.from.choose(REFERENCES)?).into())
        };
        state.insert(items.into(), value);
        if self.from.ratio(1, 2)? {
            state.insert("ItemSelector".into(), self.template()?);
        }
        state.insert("MaxConcurrency".into(), self.from.int_in_range(0..=3)?.into());
        if self.from.ratio(1, 4)? {
            state.insert("ToleratedFailureCount".into(), self.from.int_in_range(0..=3)?.into());
        }
        Ok(())
    }

    /// How data goes in and out.
    fn data(&mut self, state: &mut Map<String, Value>, kind: &str) -> Result<()> {
        let can_assign = kind != "Succeed";
        if can_assign && self.from.ratio(1, 3)? {
            let (v, w) = if self.jsonata { ("v", "w") } else { ("v.$", "w.$") };
            let assigned = json!({v: self.dynamic()?, w: self.dynamic()?});
            state.insert("Assign".into(), assigned);
        }
        if self.jsonata {
            let has_result = matches!(kind, "Task" | "Parallel" | "Map");
            if has_result && self.from.ratio(1, 3)? {
                state.insert("Output".into(), RESULT.into());
            } else if self.from.ratio(1, 2)? {
                state.insert("Output".into(), self.template()?);
            }
            return Ok(());
        }
        if self.from.ratio(1, 4)? {
            state.insert("InputPath".into(), self.path()?);
        }
        if self.from.ratio(1, 4)? {
            state.insert("OutputPath".into(), self.path()?);
        }
        if matches!(kind, "Pass" | "Task" | "Parallel" | "Map") {
            if self.from.ratio(1, 2)? {
                state.insert("ResultPath".into(), (*self.from.choose(REFERENCES)?).into());
            }
            if !state.contains_key("Parameters") && kind != "Map" && self.from.ratio(1, 2)? {
                state.insert("Parameters".into(), self.template()?);
            }
            if kind != "Pass" && self.from.ratio(1, 4)? {
                state.insert("ResultSelector".into(), self.template()?);
            }
        }
        Ok(())
    }

    fn handlers(&mut self, state: &mut Map<String, Value>, names: &[String]) -> Result<()> {
        if self.from.ratio(1, 2)? {
            let retrier = json!({
                "ErrorEquals": [self.from.choose(ERRORS)?], "IntervalSeconds": self.from.int_in_range(1..=100)?,
                "MaxAttempts": *self.from.choose(&[0, 1, 3, 99_999_999])?, "BackoffRate": self.from.int_in_range(1..=3)?,
            });
            state.insert("Retry".into(), json!([retrier]));
        }
        if self.from.ratio(1, 2)? {
            let catcher = json!({"ErrorEquals": ["States.ALL"], "Next": self.from.choose(names)?});
            state.insert("Catch".into(), json!([catcher]));
        }
        Ok(())
    }

    fn template(&mut self) -> Result<Value> {
        if self.jsonata {
            return Ok(match self.from.int_in_range(0..=1)? {
                0 => self.expression()?,
                _ => {
                    json!({"a": self.expression()?, "items": self.expression()?, "n": self.number()?, "text": "aab"})
                }
            });
        }
        Ok(
            json!({"a.$": self.dynamic()?, "items.$": self.dynamic()?, "n": self.number()?, "text": "aab"}),
        )
    }

    fn dynamic(&mut self) -> Result<Value> {
        if self.jsonata {
            return self.expression();
        }
        let all = if self.from.ratio(1, 2)? { INTRINSICS } else { PATHS };
        Ok((*self.from.choose(all)?).into())
    }

    fn path(&mut self) -> Result<Value> {
        Ok((*self.from.choose(PATHS)?).into())
    }

    fn expression(&mut self) -> Result<Value> {
        Ok(format!("{{% {} %}}", self.from.choose(JSONATA)?).into())
    }

    fn number(&mut self) -> Result<Value> {
        Ok((*self.from.choose(NUMBERS)?).into())
    }
}
