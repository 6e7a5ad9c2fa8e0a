//! What is run: state machines drawn by the seed, small ones that together use everything that waits,
//! fails, repeats or branches.

use serde_json::{Map, Value, json};

use crate::dice::Dice;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Errors that tasks fail with.
pub(crate) const ERRORS: [&str; 5] = ["Flaky", "Busy", "Broken", "Fatal", "Lambda.Unknown"];

pub(crate) struct Drawn {
    pub(crate) definition: Value,
    pub(crate) express: bool,
    pub(crate) aws: bool,
    /// Its failures are notified.
    pub(crate) notifies: bool,
    /// No task in it: its executions may have their names used again.
    pub(crate) plain: bool,
    /// Hundreds of steps, each soon.
    pub(crate) long: bool,
}

/// A state machine.
pub(crate) fn draw(dice: &mut Dice) -> Drawn {
    let (aws, notifies) = (dice.percent(40), dice.percent(60));
    if dice.percent(1) {
        return Drawn {
            definition: long(),
            express: false,
            aws,
            notifies,
            plain: false,
            long: true,
        };
    }
    if dice.percent(25) {
        return parent(dice, aws, notifies);
    }
    let express = dice.percent(12);
    let plain = !express && dice.percent(15);
    let mut scope = Scope { dice, express, plain, states: 0, child: false };
    let mut definition = scope.machine(0);
    if dice.percent(20) {
        let seconds = dice.pick(&[5, 60, 15 * MINUTE, DAY]);
        definition["TimeoutSeconds"] = json!(seconds);
    }
    Drawn { definition, express, aws, notifies, plain, long: false }
}

/// One that starts executions: a distributed Map, or a task that waits for what it starts, among others.
fn parent(dice: &mut Dice, aws: bool, notifies: bool) -> Drawn {
    let mut scope = Scope { dice, express: false, plain: false, states: 0, child: false };
    let mut definition = scope.machine(0);
    let mut state = if scope.dice.percent(75) {
        scope.map_run("Handler")
    } else {
        let mut state = scope.nested();
        scope.handle(&mut state, "Handler");
        state
    };
    state["Next"] = definition["StartAt"].clone();
    definition["States"]["Handler"] = json!({"Type": "Pass", "End": true});
    definition["States"]["Parent"] = state;
    definition["StartAt"] = json!("Parent");
    Drawn { definition, express: false, aws, notifies, plain: false, long: false }
}

/// The state machine that records of invocations are sent to. It fails never, so nothing follows from it.
pub(crate) fn sink() -> Drawn {
    let definition = json!({"StartAt": "W", "States": {
        "W": {"Type": "Wait", "Seconds": 5, "End": true}}});
    Drawn { definition, express: false, aws: false, notifies: false, plain: true, long: false }
}

/// The state machine that tasks start.
pub(crate) fn nested(dice: &mut Dice) -> Drawn {
    let mut scope = Scope { dice, express: false, plain: false, states: 0, child: true };
    let definition = scope.machine(1);
    Drawn { definition, express: false, aws: false, notifies: false, plain: false, long: false }
}

/// An input that all of them take.
pub(crate) fn input(dice: &mut Dice, variant: u64) -> Value {
    let item = |n: usize| json!({"n": n, "items": []});
    let items: Vec<Value> = (0..dice.below(5)).map(item).collect();
    json!({"n": dice.below(4), "items": items, "variant": variant})
}

fn long() -> Value {
    json!({"StartAt": "T", "States": {
        "T": {"Type": "Task", "Resource": function(), "ResultPath": null, "Next": "Count",
              "Retry": [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 50, "IntervalSeconds": 1,
                         "MaxDelaySeconds": 2}]},
        "Count": {"Type": "Pass", "Parameters": {"n.$": "States.MathAdd($.n, 1)"}, "Next": "More"},
        "More": {"Type": "Choice", "Default": "Done",
                 "Choices": [{"Variable": "$.n", "NumericLessThan": 505, "Next": "T"}]},
        "Done": {"Type": "Succeed"},
    }})
}

fn function() -> &'static str {
    "arn:aws:lambda:us-east-1:000000000000:function:f"
}

struct Scope<'d> {
    dice: &'d mut Dice,
    express: bool,
    plain: bool,
    /// Within what a Map Run or a task starts: it starts nothing itself.
    child: bool,
    /// States so far: names must differ in the whole machine.
    states: usize,
}

impl Scope<'_> {
    fn machine(&mut self, depth: usize) -> Value {
        let count = 1 + self.dice.below(if depth == 0 { 5 } else { 2 });
        let names: Vec<String> = (0..count).map(|_| self.name()).collect();
        let handler = self.name();
        let mut states = Map::new();
        for (index, name) in names.iter().enumerate() {
            let next = names.get(index + 1);
            let mut state = self.state(depth, next, &handler);
            if state["Type"] != "Choice" && state["Type"] != "Fail" {
                match next {
                    Some(next) => state["Next"] = json!(next),
                    None => state["End"] = json!(true),
                }
            }
            states.insert(name.clone(), state);
        }
        let ends = if self.dice.percent(20) {
            json!({"Type": "Fail", "Error": "Handled"})
        } else {
            json!({"Type": "Pass", "End": true})
        };
        states.insert(handler, ends);
        json!({"StartAt": names[0], "States": states})
    }

    fn name(&mut self) -> String {
        self.states += 1;
        format!("S{}", self.states)
    }

    fn state(&mut self, depth: usize, next: Option<&String>, handler: &str) -> Value {
        match self.dice.below(if depth < 2 { 12 } else { 9 }) {
            0 => json!({"Type": "Pass"}),
            1 => self.choice(next, handler),
            2 | 3 => json!({"Type": "Wait", "Seconds": self.wait()}),
            4..=8 if self.plain => json!({"Type": "Wait", "Seconds": self.wait()}),
            4..=8 => self.task(handler),
            9 | 10 => self.parallel(depth, handler),
            _ if self.is_parent() && self.dice.percent(70) => self.map_run(handler),
            _ => self.map(depth, handler),
        }
    }

    /// Whether it may start executions of its own.
    fn is_parent(&self) -> bool {
        !self.express && !self.plain && !self.child
    }

    fn choice(&mut self, next: Option<&String>, handler: &str) -> Value {
        let other = next.map_or(handler, String::as_str);
        let below = self.dice.below(4);
        json!({"Type": "Choice", "Default": other, "Choices": [
            {"Variable": "$.n", "NumericLessThan": below, "Next": handler}]})
    }

    /// Short ones, some around the horizon of the timers in memory, and long ones.
    fn wait(&mut self) -> i64 {
        if self.express {
            return self.dice.between(1, 20);
        }
        match self.dice.below(8) {
            0..=2 => self.dice.between(1, 10),
            3 | 4 => self.dice.between(MINUTE, 20 * MINUTE),
            5 => self.dice.between(HOUR, 3 * HOUR),
            6 => self.dice.between(DAY, 30 * DAY),
            _ => 365 * DAY,
        }
    }

    fn task(&mut self, handler: &str) -> Value {
        let kinds = match (self.express, self.is_parent()) {
            (true, _) => 3,
            (_, true) => 7,
            _ => 6,
        };
        let mut state = match self.dice.below(kinds) {
            0..=2 => json!({"Type": "Task", "Resource": function()}),
            3 => json!({"Type": "Task",
                "Resource": "arn:aws:states:us-east-1:000000000000:activity:a"}),
            6 => self.nested(),
            _ => {
                json!({"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
                "Parameters": {"QueueUrl": "https://example.com/q",
                               "MessageBody": {"token.$": "$$.Task.Token"}}})
            }
        };
        state["ResultPath"] = json!("$.r");
        let timeout = self.dice.pick(&[0, 0, 30, 5 * MINUTE, 20 * MINUTE, DAY]);
        if timeout > 0 {
            state["TimeoutSeconds"] = json!(timeout);
        }
        if self.dice.percent(25) {
            state["HeartbeatSeconds"] = json!(self.dice.pick(&[10, 25]));
        }
        self.handle(&mut state, handler);
        state
    }

    /// A task that starts an execution and waits for it.
    fn nested(&mut self) -> Value {
        json!({"Type": "Task", "Resource": "arn:aws:states:::states:startExecution.sync:2",
            "ResultPath": "$.r", "Parameters": {"StateMachineArn":
                "arn:aws:states:us-east-1:000000000000:stateMachine:nested"}})
    }

    fn handle(&mut self, state: &mut Value, handler: &str) {
        if self.dice.percent(65) {
            let retriers: Vec<Value> = (0..=self.dice.below(3)).map(|n| self.retrier(n)).collect();
            state["Retry"] = json!(retriers);
        }
        if self.dice.percent(50) {
            let errors = self.dice.pick(&[
                &["Broken", "Busy"][..],
                &["States.ALL"],
                &["States.Timeout"],
                &["States.TaskFailed"],
            ]);
            state["Catch"] =
                json!([{"ErrorEquals": errors, "ResultPath": "$.error", "Next": handler}]);
        }
    }

    fn retrier(&mut self, index: usize) -> Value {
        let errors = [
            &["Flaky"][..],
            &["Busy", "States.Timeout"],
            &["States.TaskFailed", "States.HeartbeatTimeout"],
        ][index % 3];
        let mut retrier = json!({
            "ErrorEquals": errors,
            "IntervalSeconds": self.dice.between(1, 20),
            "MaxAttempts": self.dice.between(0, 4),
            "BackoffRate": self.dice.pick(&[1.0, 1.5, 2.0]),
        });
        if self.dice.percent(30) {
            retrier["MaxDelaySeconds"] = json!(self.dice.between(21, 40));
        }
        if self.dice.percent(30) {
            retrier["JitterStrategy"] = json!("FULL");
        }
        retrier
    }

    fn parallel(&mut self, depth: usize, handler: &str) -> Value {
        let branches: Vec<Value> =
            (0..=self.dice.below(3)).map(|_| self.machine(depth + 1)).collect();
        let mut state = json!({"Type": "Parallel", "Branches": branches, "ResultPath": "$.p"});
        self.handle(&mut state, handler);
        state
    }

    fn map(&mut self, depth: usize, handler: &str) -> Value {
        let mut state = json!({
            "Type": "Map", "ItemsPath": "$.items", "ResultPath": "$.m",
            "MaxConcurrency": self.dice.below(4),
            "ItemProcessor": self.machine(depth + 1),
        });
        self.handle(&mut state, handler);
        state
    }

    /// A distributed Map: each item, or batch of them, is an execution.
    fn map_run(&mut self, handler: &str) -> Value {
        let express = self.dice.percent(35);
        let kind = if express { "EXPRESS" } else { "STANDARD" };
        let mut child = Scope {
            dice: &mut *self.dice,
            express,
            plain: false,
            child: true,
            states: self.states,
        };
        let mut processor = child.machine(1);
        self.states = child.states;
        processor["ProcessorConfig"] = json!({"Mode": "DISTRIBUTED", "ExecutionType": kind});
        let mut state = json!({
            "Type": "Map", "ItemsPath": "$.items", "ResultPath": "$.m",
            "MaxConcurrency": self.dice.below(4),
            "ItemProcessor": processor,
        });
        match self.dice.below(4) {
            0 => state["ToleratedFailureCount"] = json!(self.dice.below(4)),
            1 => state["ToleratedFailurePercentage"] = json!(self.dice.pick(&[10, 50, 100])),
            _ => {}
        }
        if self.dice.percent(25) {
            state["ItemBatcher"] = json!({"MaxItemsPerBatch": 2});
        }
        self.handle(&mut state, handler);
        state
    }
}
