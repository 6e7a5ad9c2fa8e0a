//! Keeps an evaluation from growing without bounds, where the engine has no bound of its
//! own: string concatenation, ranges, array and object constructors, and the functions that
//! return more than they were given.
//!
//! The engine cannot count, so the expression is rewritten to do it: its growing
//! parts are wrapped in calls of functions that no expression can name, because their names
//! hold a space. They charge a [`Ledger`]; when that is exhausted, the evaluation ends.

use std::cell::Cell;
use std::rc::Rc;

use jsonata_core::ast::AstNode;
use jsonata_core::evaluator::{Context, Evaluator, EvaluatorError, EvaluatorOptions, HostFnResult};
use jsonata_core::functions;
use jsonata_core::value::{JValue, with_stack};

use super::functions::{sequence, thrown};
use super::nesting::Nesting;
use super::{limits, linear};

/// `$charge(value)` is the value, once it is paid for.
pub(super) const CHARGE: &str = "everstep charge";
/// `a & b`
pub(super) const CONCATENATE: &str = "everstep concatenate";
/// `a..b`
pub(super) const RANGE: &str = "everstep range";
/// Before a function that calls back, which cannot be wrapped from outside.
pub(super) const CHECK: &str = "everstep check";
/// A function that an expression makes while it runs: it may hold others, which hold others.
pub(super) const CLOSURE: &str = "everstep closure";
/// The engine's own `$type`, whatever an expression binds to that name.
pub(super) const TYPE: &str = "everstep type";

/// What is left of one evaluation's allowance.
pub(super) struct Ledger {
    bytes_left: Cell<usize>,
    values_left: Cell<usize>,
    exhausted: Cell<bool>,
    nesting: Nesting,
}

impl Ledger {
    pub(super) fn new() -> Self {
        Self {
            bytes_left: Cell::new(limits::ALLOCATED_BYTES_MAX),
            values_left: Cell::new(limits::WALKED_VALUES_MAX),
            exhausted: Cell::new(false),
            nesting: Nesting::default(),
        }
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.exhausted.get()
    }

    pub(super) fn exhausted(&self) -> EvaluatorError {
        self.exhausted.set(true);
        thrown("memory limit exceeded")
    }

    fn charge_bytes(&self, bytes: usize) -> Result<(), EvaluatorError> {
        let left = self.bytes_left.get().checked_sub(bytes);
        self.bytes_left.set(left.ok_or_else(|| self.exhausted())?);
        Ok(())
    }

    pub(super) fn charge_items(&self, items: usize) -> Result<(), EvaluatorError> {
        self.charge_bytes(items.saturating_mul(size_of::<JValue>()))
    }

    pub(super) fn check_picture(&self, picture: Option<&JValue>) -> Result<(), EvaluatorError> {
        let length = picture.and_then(JValue::as_str).map_or(0, str::len);
        if length > limits::PICTURE_BYTES_MAX {
            return Err(self.exhausted());
        }
        Ok(())
    }

    fn charge_string(&self, bytes: usize) -> Result<(), EvaluatorError> {
        if bytes > limits::STRING_BYTES_MAX {
            return Err(self.exhausted());
        }
        self.charge_bytes(bytes)
    }

    /// Lets go of the values that it knows.
    pub(super) fn release(&self) {
        self.nesting.release();
    }

    /// Charges for looking at a value.
    pub(super) fn visit(&self) -> Result<(), EvaluatorError> {
        let left = self.values_left.get().checked_sub(1);
        self.values_left.set(left.ok_or_else(|| self.exhausted())?);
        Ok(())
    }

    /// Charges for all that `value` would be if nothing in it were shared, and says how
    /// many bytes of JSON that is, approximately.
    fn walk(&self, value: &JValue, depth: usize) -> Result<usize, EvaluatorError> {
        if depth > limits::DATA_DEPTH_MAX {
            return Err(self.exhausted());
        }
        self.visit()?;
        match value {
            JValue::String(text) => Ok(text.len() + 2),
            JValue::Lambda(_) => {
                self.nesting.check(depth + self.nesting.of(value, self)?)?;
                Ok(8)
            }
            JValue::Array(items) => with_stack(|| {
                items.iter().try_fold(2 + depth * 2, |sum, item| {
                    Ok(sum + 3 + depth * 2 + self.walk(item, depth + 1)?)
                })
            }),
            JValue::Object(fields) => with_stack(|| {
                fields.iter().try_fold(2 + depth * 2, |sum, (name, field)| {
                    Ok(sum + 6 + depth * 2 + name.len() + self.walk(field, depth + 1)?)
                })
            }),
            _ => Ok(8),
        }
    }

    fn charge(&self, value: &JValue) -> Result<(), EvaluatorError> {
        let bytes = self.walk(value, 0)?;
        match value {
            JValue::Array(items) => self.charge_items(items.len()),
            JValue::Object(fields) => self.charge_items(fields.len().saturating_mul(8)),
            _ => self.charge_string(bytes),
        }
    }
}

/// One of the engine's own functions, with arguments at hand and perhaps a context.
pub(super) fn engine_call(
    name: &str,
    args: impl IntoIterator<Item = JValue>,
    data: &JValue,
) -> HostFnResult {
    let mut context = Context::new();
    let mut parameters = Vec::new();
    for (index, arg) in args.into_iter().enumerate() {
        let parameter = format!("everstep {index}");
        context.bind(parameter.clone(), arg);
        parameters.push(AstNode::Variable(parameter));
    }
    let call = AstNode::Function { name: name.to_owned(), args: parameters, is_builtin: true };
    Evaluator::with_options(context, options()).evaluate(&call, data)
}

pub(super) fn options() -> EvaluatorOptions {
    EvaluatorOptions {
        timeout_ms: Some(limits::TIME_MS_MAX),
        cancel: None,
        max_stack_depth: Some(limits::DEPTH_MAX),
        max_sequence_length: Some(limits::SEQUENCE_LENGTH_MAX),
    }
}

/// A function of the engine that is only called once its result is paid for.
struct Guarded {
    name: &'static str,
    /// How many arguments a higher-order function hands it.
    arity: usize,
    /// How many it takes at the most.
    arity_max: usize,
    /// With fewer arguments, the first is the context.
    required: usize,
    /// Charges for the result, knowing the arguments.
    charge: fn(&Ledger, &[JValue]) -> Result<(), EvaluatorError>,
}

const fn guarded(
    name: &'static str,
    [arity, arity_max, required]: [usize; 3],
    charge: fn(&Ledger, &[JValue]) -> Result<(), EvaluatorError>,
) -> Guarded {
    Guarded { name, arity, arity_max, required, charge }
}

const GUARDED: [Guarded; 20] = [
    guarded("append", [2, 2, 0], charge_items),
    guarded("base64encode", [1, 1, 1], charge_longer),
    guarded("contains", [2, 2, 2], charge_searched),
    guarded("distinct", [1, 1, 0], charge_walked),
    guarded("encodeUrl", [1, 1, 1], charge_longer),
    guarded("encodeUrlComponent", [1, 1, 1], charge_longer),
    guarded("formatInteger", [2, 2, 2], charge_picture),
    guarded("formatNumber", [3, 3, 3], charge_picture),
    guarded("fromMillis", [3, 3, 3], charge_picture),
    guarded("join", [2, 2, 0], charge_joined),
    guarded("keys", [1, 1, 1], charge_walked),
    guarded("lookup", [2, 2, 0], charge_looked_up),
    guarded("merge", [1, usize::MAX, 0], charge_items),
    guarded("pad", [3, 3, 3], charge_padded),
    guarded("parseInteger", [2, 2, 2], charge_picture),
    guarded("reverse", [1, 1, 0], charge_items),
    guarded("split", [3, 3, 3], charge_split),
    guarded("spread", [1, 1, 1], charge_items),
    guarded("string", [1, 2, 1], charge_text),
    guarded("zip", [0, usize::MAX, 0], charge_items),
];

/// Functions that are guarded in the rewritten expression, since they call back.
const CALLING_BACK: [(&str, usize); 2] = [("match", 3), ("replace", 4)];

fn find(name: &str) -> Option<&'static Guarded> {
    GUARDED.iter().find(|guarded| guarded.name == name)
}

/// How many arguments `name` needs before it looks at the context for another one.
pub(super) fn required_arguments(name: &str) -> Option<usize> {
    find(name).map(|guarded| guarded.required)
}

/// How many parameters the function has that stands in for one that calls back.
pub(super) fn calling_back(name: &str) -> Option<usize> {
    let known = CALLING_BACK.iter().find(|(known, _)| *known == name);
    known.map(|(_, parameters)| *parameters)
}

/// The name under which the engine's own function is still known.
pub(super) fn original(name: &str) -> String {
    format!("everstep original {name}")
}

/// The name of the guarded function that is handed its context first.
pub(super) fn contextual(name: &str) -> String {
    format!("everstep contextual {name}")
}

fn stand_in(name: &str) -> String {
    format!("everstep guarded {name}")
}

/// Binds guarded functions in place of those among `names` that need it.
pub(super) fn bind(context: &mut Context, name: &str) {
    if find(name).is_some() {
        context.bind(name.to_owned(), JValue::builtin(stand_in(name)));
    } else if calling_back(name).is_some() {
        context.bind(original(name), JValue::builtin(name));
        context.bind(TYPE.to_owned(), JValue::builtin("type"));
    }
}

/// Registers what [`bind`] and the rewritten expression refer to.
pub(super) fn register(
    evaluator: &mut Evaluator,
    names: &[String],
    ledger: &Rc<Ledger>,
) -> Result<(), EvaluatorError> {
    let own = || Rc::clone(ledger);
    let (charged, concatenated, ranged, checked) = (own(), own(), own(), own());
    evaluator.register_fn(CHARGE, move |args: &[JValue]| charge(&charged, args))?;
    evaluator.register_fn(CONCATENATE, move |args: &[JValue]| concatenate(&concatenated, args))?;
    evaluator.register_fn(RANGE, move |args: &[JValue]| range(&ranged, args))?;
    evaluator.register_fn(CHECK, move |args: &[JValue]| check(&checked, args))?;
    let made = own();
    evaluator.register_fn(CLOSURE, move |args: &[JValue]| closure(&made, args))?;
    for guarded in names.iter().filter_map(|name| find(name)) {
        let ledger = own();
        evaluator.register_fn(stand_in(guarded.name), move |args: &[JValue]| {
            call_guarded(guarded, &ledger, args)
        })?;
        let ledger = own();
        evaluator.register_fn(contextual(guarded.name), move |args: &[JValue]| {
            call_contextual(guarded, &ledger, args)
        })?;
    }
    Ok(())
}

fn call_guarded(guarded: &Guarded, ledger: &Ledger, args: &[JValue]) -> HostFnResult {
    let args = if args.len() > guarded.arity_max { &args[..guarded.arity] } else { args };
    (guarded.charge)(ledger, args)?;
    match (guarded.name, args) {
        ("distinct", [JValue::Array(items)]) => return Ok(linear::distinct(items)),
        ("keys", [JValue::Array(items)]) => return Ok(linear::keys(items)),
        _ => {}
    }
    engine_call(guarded.name, args.iter().cloned(), &JValue::Undefined)
}

/// The first argument is the context, which the engine may or may not use.
fn call_contextual(guarded: &Guarded, ledger: &Ledger, args: &[JValue]) -> HostFnResult {
    (guarded.charge)(ledger, args)?;
    let (context, args) = args.split_first().unwrap_or((&JValue::Undefined, &[]));
    (guarded.charge)(ledger, args)?;
    engine_call(guarded.name, args.iter().cloned(), context)
}

fn charge(ledger: &Ledger, args: &[JValue]) -> HostFnResult {
    let value = args.first().cloned().unwrap_or(JValue::Undefined);
    ledger.charge(&value)?;
    Ok(value)
}

/// A function is released together with all that it holds, one inside the other, so that has a bound.
fn closure(ledger: &Ledger, args: &[JValue]) -> HostFnResult {
    let value = args.first().cloned().unwrap_or(JValue::Undefined);
    if matches!(value, JValue::Lambda(_)) {
        ledger.charge_bytes(limits::CLOSURE_BYTES)?;
        ledger.nesting.check(ledger.nesting.of(&value, ledger)?)?;
    }
    Ok(value)
}

fn concatenate(ledger: &Ledger, args: &[JValue]) -> HostFnResult {
    let mut text = String::new();
    for arg in args {
        match arg {
            JValue::Undefined => {}
            JValue::String(part) => {
                ledger.charge_string(text.len() + part.len())?;
                text.push_str(part);
            }
            other => {
                ledger.charge_string(text.len() + ledger.walk(other, 0)?)?;
                let part = functions::string::string(other, None)?;
                text.push_str(part.as_str().unwrap_or_default());
            }
        }
    }
    Ok(JValue::string(text))
}

fn range(ledger: &Ledger, args: &[JValue]) -> HostFnResult {
    let bound = |index: usize, code: &str, side: &str| match args.get(index) {
        None | Some(JValue::Undefined) => Ok(None),
        Some(JValue::Number(number)) if number.fract() == 0.0 => Ok(Some(*number)),
        _ => Err(thrown(format!(
            "{code}: The {side} side of the range operator (..) must evaluate to an integer"
        ))),
    };
    let (start, end) = (bound(0, "T2003", "left")?, bound(1, "T2004", "right")?);
    let (Some(start), Some(end)) = (start, end) else {
        return Ok(JValue::sequence(Vec::new()));
    };
    sequence(ledger, start, end - start + 1.0, 1.0)
}

/// `$check(name, context, arguments…)` before a function that calls back: true, or an error.
fn check(ledger: &Ledger, args: &[JValue]) -> HostFnResult {
    let Some((name, args)) = args.split_first() else {
        return Ok(JValue::Bool(true));
    };
    // Whether the context is the first argument, the engine decides.
    for args in [args, args.get(1..).unwrap_or_default()] {
        if name.as_str() == Some("match") {
            charge_matches(ledger, args)?;
        } else {
            charge_replaced(ledger, args)?;
        }
    }
    Ok(JValue::Bool(true))
}

fn charge_matches(ledger: &Ledger, args: &[JValue]) -> Result<(), EvaluatorError> {
    charge_searched(ledger, args)?;
    let matches = count_matches(args.first(), args.get(1));
    ledger.charge_bytes(matches.saturating_mul(512))
}

fn charge_replaced(ledger: &Ledger, args: &[JValue]) -> Result<(), EvaluatorError> {
    charge_searched(ledger, args)?;
    let text = args.first().and_then(JValue::as_str).unwrap_or_default();
    let by = args.get(2).and_then(JValue::as_str).unwrap_or_default();
    // `$1` stands for a part of the match, so for the whole text at the most.
    let groups = text.len().saturating_mul(by.matches('$').count());
    let replaced = count_matches(args.first(), args.get(1)).saturating_mul(by.len());
    ledger.charge_string(text.len().saturating_add(groups).saturating_add(replaced))
}

fn count_matches(text: Option<&JValue>, pattern: Option<&JValue>) -> usize {
    let Some(text) = text.and_then(JValue::as_str) else {
        return 0;
    };
    match pattern {
        Some(JValue::String(pattern)) if !pattern.is_empty() => text.matches(&**pattern).count(),
        Some(JValue::Regex { pattern, flags }) => functions::string::build_regex(pattern, flags)
            .map_or(0, |regex| regex.find_iter(text).count()),
        Some(JValue::Undefined) | None => 0,
        _ => text.len() + 1,
    }
}

fn charge_items(ledger: &Ledger, args: &[JValue]) -> Result<(), EvaluatorError> {
    for arg in args {
        match arg {
            JValue::Array(items) => {
                for item in items.iter() {
                    if let JValue::Object(fields) = item {
                        ledger.charge_items(fields.len().saturating_mul(8))?;
                    }
                }
                ledger.charge_items(items.len())?;
            }
            JValue::Object(fields) => ledger.charge_items(fields.len().saturating_mul(16))?,
            _ => {}
        }
    }
    Ok(())
}

fn charge_walked(ledger: &Ledger, args: &[JValue]) -> Result<(), EvaluatorError> {
    args.iter().try_for_each(|arg| ledger.charge(arg))
}

/// A regular expression may look at each character once for each of its own states.
fn charge_searched(ledger: &Ledger, args: &[JValue]) -> Result<(), EvaluatorError> {
    let text = args.first().and_then(JValue::as_str).unwrap_or_default();
    match args.get(1) {
        Some(JValue::Regex { pattern, .. }) => {
            let cost = text.len().saturating_mul(states_about(pattern));
            ledger.charge_bytes(cost / 4)
        }
        _ => Ok(()),
    }
}

/// About how many states a regular expression has: its length, times all its repetitions.
fn states_about(pattern: &str) -> usize {
    let repetitions = pattern.split('{').skip(1).filter_map(|repetition| {
        let (counts, _) = repetition.split_once('}')?;
        counts.rsplit(',').find_map(|count| count.trim().parse::<usize>().ok())
    });
    let states = repetitions.fold(pattern.len(), usize::saturating_mul);
    states.min(limits::REGEX_BYTES_MAX / 48)
}

fn charge_longer(ledger: &Ledger, args: &[JValue]) -> Result<(), EvaluatorError> {
    let text = args.first().and_then(JValue::as_str).unwrap_or_default();
    ledger.charge_string(text.len().saturating_mul(3))
}

/// Reading a picture takes time that grows with its square.
fn charge_picture(ledger: &Ledger, args: &[JValue]) -> Result<(), EvaluatorError> {
    let mut pictures = args.iter().skip(1).take(2);
    pictures.try_for_each(|picture| ledger.check_picture(Some(picture)))
}

fn charge_joined(ledger: &Ledger, args: &[JValue]) -> Result<(), EvaluatorError> {
    let separator = args.get(1).and_then(JValue::as_str).unwrap_or_default();
    let Some(JValue::Array(items)) = args.first() else {
        return Ok(());
    };
    let parts = items.iter().filter_map(JValue::as_str);
    let bytes = parts
        .fold(0_usize, |sum, part| sum.saturating_add(part.len()).saturating_add(separator.len()));
    ledger.charge_string(bytes)
}

fn charge_looked_up(ledger: &Ledger, args: &[JValue]) -> Result<(), EvaluatorError> {
    // A match is no larger than what it is found in.
    match args.first() {
        Some(JValue::Object(fields)) => {
            let name = args.get(1).and_then(JValue::as_str).unwrap_or_default();
            let found = fields.get(name).unwrap_or(&JValue::Undefined);
            ledger.walk(found, 0).map(drop)
        }
        Some(other) => ledger.charge(other),
        None => Ok(()),
    }
}

fn charge_padded(ledger: &Ledger, args: &[JValue]) -> Result<(), EvaluatorError> {
    let width = args.get(1).and_then(JValue::as_f64).unwrap_or_default();
    // Positive, and saturates.
    ledger.charge_string((width.abs() as usize).saturating_mul(4))
}

fn charge_split(ledger: &Ledger, args: &[JValue]) -> Result<(), EvaluatorError> {
    charge_searched(ledger, args)?;
    let pieces = match args.get(1) {
        Some(JValue::String(separator)) if separator.is_empty() => {
            args.first().and_then(JValue::as_str).map_or(0, str::len)
        }
        separator => count_matches(args.first(), separator),
    };
    ledger.charge_items(pieces.saturating_mul(3))
}

fn charge_text(ledger: &Ledger, args: &[JValue]) -> Result<(), EvaluatorError> {
    match args.first() {
        None | Some(JValue::String(_)) => Ok(()),
        Some(value) => ledger.charge_string(ledger.walk(value, 0)?),
    }
}
