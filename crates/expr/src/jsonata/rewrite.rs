//! Puts the calls of [`guard`] into an expression.
//!
//! Data grows where an expression builds values and where it does so again and again. One
//! that only selects and compares is left as it is, which keeps the engine's fast paths.

use jsonata_core::ast::{AstNode, BinaryOp, PathStep, Stage};
use jsonata_core::value::with_stack;

use super::guard;

/// Rewrites `node`; `names` are the free names in it. Also whether it makes functions that it may keep.
pub(super) fn rewrite(node: AstNode, names: &[String]) -> (AstNode, bool) {
    let repeats = repeats(&node);
    let mut rewrite =
        Rewrite { names, bound: Vec::new(), repeats, handed_over: false, makes: false };
    let mut node = node;
    rewrite.node(&mut node);
    (with_stand_ins(node, names), rewrite.makes)
}

/// Functions that call back are guarded by functions written in JSONata, bound first.
fn with_stand_ins(node: AstNode, names: &[String]) -> AstNode {
    let mut block: Vec<AstNode> = names.iter().filter_map(|name| stand_in(name)).collect();
    if block.is_empty() {
        return node;
    }
    block.push(node);
    AstNode::Block(block)
}

/// `$replace := function($0, $1, $2, $3) { $check('replace', …) ? $original(…) }`
fn stand_in(name: &str) -> Option<AstNode> {
    Some(AstNode::Binary {
        op: BinaryOp::ColonEqual,
        lhs: Box::new(AstNode::Variable(name.to_owned())),
        rhs: Box::new(checked_function(name, guard::calling_back(name)?)),
    })
}

fn checked_function(name: &str, parameters: usize) -> AstNode {
    let parameters: Vec<String> =
        (0..parameters).map(|index| format!("everstep {index}")).collect();
    let variables: Vec<AstNode> =
        parameters.iter().map(|name| AstNode::Variable(name.clone())).collect();
    let context = AstNode::Variable(String::new());
    let mut checked = vec![AstNode::String(name.to_owned()), context];
    checked.extend(variables.iter().cloned());
    let mut passed = variables;
    if name == "replace" {
        // The last but for the limit; the text is left out where it is the context.
        if let Some(by) = passed.iter_mut().take(3).skip(1).last() {
            *by = charged_function(by);
        }
    }
    let body = AstNode::Conditional {
        condition: Box::new(call(guard::CHECK, checked)),
        then_branch: Box::new(call(&guard::original(name), passed)),
        else_branch: None,
    };
    AstNode::Lambda { params: parameters, body: Box::new(body), signature: None, thunk: false }
}

/// A function whose results are paid for; anything else as it is.
fn charged_function(function: &AstNode) -> AstNode {
    let argument = "everstep match".to_owned();
    let result = AstNode::Call {
        procedure: Box::new(function.clone()),
        args: vec![AstNode::Variable(argument.clone())],
    };
    AstNode::Conditional {
        condition: Box::new(AstNode::Binary {
            op: BinaryOp::Equal,
            lhs: Box::new(call(guard::TYPE, vec![function.clone()])),
            rhs: Box::new(AstNode::String("function".to_owned())),
        }),
        then_branch: Box::new(AstNode::Lambda {
            params: vec![argument],
            body: Box::new(call(guard::CHARGE, vec![result])),
            signature: None,
            thunk: false,
        }),
        else_branch: Some(Box::new(function.clone())),
    }
}

fn call(name: &str, args: Vec<AstNode>) -> AstNode {
    AstNode::Function { name: name.to_owned(), args, is_builtin: true }
}

/// More concatenations than this copy the first part too often.
const CONCATENATIONS_MAX: usize = 16;

/// Whether anything in `node` can be evaluated more than once, or be used more than once.
fn repeats(node: &AstNode) -> bool {
    let mut found = false;
    let mut concatenations = 0;
    let mut nodes = vec![node];
    while let Some(node) = nodes.pop() {
        found |= match node {
            AstNode::Lambda { .. } | AstNode::Transform { .. } => true,
            AstNode::Binary { op, .. } => {
                concatenations += usize::from(*op == BinaryOp::Concatenate);
                matches!(op, BinaryOp::ColonEqual | BinaryOp::ChainPipe)
                    || concatenations > CONCATENATIONS_MAX
            }
            AstNode::Path { steps } => steps.iter().skip(1).any(|step| builds(&step.node)),
            AstNode::ObjectTransform { .. } => true,
            _ => false,
        };
        if found {
            return true;
        }
        for_each_child(node, &mut |child| nodes.push(child));
    }
    false
}

/// Whether a step of a path does more than to select.
fn builds(node: &AstNode) -> bool {
    !matches!(node, AstNode::Name(_) | AstNode::Wildcard | AstNode::Descendant | AstNode::Parent(_))
}

fn for_each_child<'a>(node: &'a AstNode, into: &mut dyn FnMut(&'a AstNode)) {
    match node {
        AstNode::Path { steps } => steps.iter().for_each(|step| {
            into(&step.node);
            for stage in &step.stages {
                if let Stage::Filter(predicate) = stage {
                    into(predicate);
                }
            }
        }),
        AstNode::Binary { lhs, rhs, .. } => [lhs, rhs].into_iter().for_each(|side| into(side)),
        AstNode::Unary { operand, .. } => into(operand),
        AstNode::Function { args, .. } => args.iter().for_each(into),
        AstNode::Call { procedure, args } => {
            into(procedure);
            args.iter().for_each(into);
        }
        AstNode::Lambda { body, .. } => into(body),
        AstNode::Array(items) | AstNode::ArrayGroup(items) | AstNode::Block(items) => {
            items.iter().for_each(into);
        }
        AstNode::Object(pairs) => pairs.iter().for_each(|(key, value)| {
            into(key);
            into(value);
        }),
        AstNode::ObjectTransform { input, pattern } => {
            into(input);
            pattern.iter().for_each(|(key, value)| {
                into(key);
                into(value);
            });
        }
        AstNode::Conditional { condition, then_branch, else_branch } => {
            into(condition);
            into(then_branch);
            else_branch.iter().for_each(|branch| into(branch));
        }
        AstNode::FunctionApplication(inner) => into(inner),
        AstNode::Sort { input, terms } => {
            into(input);
            terms.iter().for_each(|(term, _)| into(term));
        }
        AstNode::Transform { location, update, delete } => {
            into(location);
            into(update);
            delete.iter().for_each(|delete| into(delete));
        }
        _ => {}
    }
}

struct Rewrite<'a> {
    names: &'a [String],
    /// Names that stand for something else here.
    bound: Vec<String>,
    /// Whether the growing operators need to be paid for.
    repeats: bool,
    /// Whether this node is an argument of a function that does not keep it.
    handed_over: bool,
    /// Whether anything makes functions that may be kept.
    makes: bool,
}

impl Rewrite<'_> {
    fn node(&mut self, node: &mut AstNode) {
        with_stack(|| self.visit(node));
    }

    fn visit(&mut self, node: &mut AstNode) {
        let handed_over = std::mem::take(&mut self.handed_over);
        let made = makes_function(node) && !handed_over;
        match node {
            AstNode::Path { steps } => self.path(steps),
            AstNode::Binary { op, lhs, rhs } => {
                if let (BinaryOp::ColonEqual, AstNode::Variable(name)) = (*op, &**lhs) {
                    self.bound.push(name.clone());
                }
                self.node(lhs);
                // The name by which a function calls itself; its block checks it.
                self.handed_over = handed_over && names_function(*op, rhs);
                self.right(*op, rhs);
            }
            AstNode::Unary { operand, .. } => self.node(operand),
            AstNode::Function { .. } => self.function(node, 0),
            AstNode::Call { procedure, args } => {
                self.node(procedure);
                self.nodes(args);
            }
            AstNode::Lambda { params, body, .. } => {
                let outer = self.bound.len();
                self.bound.extend(params.iter().cloned());
                if named_function(body).is_some() {
                    **body = AstNode::Block(vec![std::mem::replace(&mut **body, AstNode::Null)]);
                }
                self.node(body);
                charge_tail(body);
                self.bound.truncate(outer);
            }
            AstNode::Array(items) | AstNode::ArrayGroup(items) => {
                self.nodes(items);
                self.charge_all(items.iter_mut());
            }
            AstNode::Block(nodes) => {
                let outer = self.bound.len();
                self.block(nodes);
                self.bound.truncate(outer);
            }
            AstNode::Object(pairs) => self.pairs(pairs),
            AstNode::ObjectTransform { input, pattern } => {
                self.node(input);
                self.pairs(pattern);
            }
            AstNode::Conditional { condition, then_branch, else_branch } => {
                self.node(condition);
                self.node(then_branch);
                else_branch.iter_mut().for_each(|branch| self.node(branch));
            }
            AstNode::FunctionApplication(inner) => self.node(inner),
            AstNode::Sort { input, terms } => {
                self.node(input);
                terms.iter_mut().for_each(|(term, _)| self.node(term));
            }
            AstNode::Transform { location, update, delete } => {
                self.node(location);
                self.node(update);
                delete.iter_mut().for_each(|delete| self.node(delete));
            }
            _ => {}
        }
        self.operator(node);
        if made {
            self.makes = true;
            let function = std::mem::replace(node, AstNode::Null);
            *node = call(guard::CLOSURE, vec![function]);
        }
    }

    /// What a block names as a function is checked right after.
    fn block(&mut self, nodes: &mut Vec<AstNode>) {
        for mut node in std::mem::take(nodes) {
            let named = named_function(&node);
            self.makes |= named.is_some();
            self.handed_over = named.is_some();
            self.node(&mut node);
            nodes.push(node);
            nodes.extend(named.map(|name| call(guard::CLOSURE, vec![AstNode::Variable(name)])));
        }
    }

    fn nodes(&mut self, nodes: &mut [AstNode]) {
        nodes.iter_mut().for_each(|node| self.node(node));
    }

    fn pairs(&mut self, pairs: &mut [(AstNode, AstNode)]) {
        for (key, value) in pairs.iter_mut() {
            self.node(key);
            self.node(value);
        }
        self.charge_all(pairs.iter_mut().map(|(_, value)| value));
    }

    fn charge_all<'n>(&self, nodes: impl Iterator<Item = &'n mut AstNode>) {
        if self.repeats {
            nodes.for_each(charge);
        }
    }

    /// Behind `~>` a call has one more argument than is written.
    fn right(&mut self, op: BinaryOp, rhs: &mut AstNode) {
        if op == BinaryOp::ChainPipe && matches!(rhs, AstNode::Function { .. }) {
            self.function(rhs, 1);
        } else {
            // What is composed is checked as a whole.
            self.handed_over |= op == BinaryOp::ChainPipe;
            self.node(rhs);
        }
    }

    /// A guarded function cannot see the context, so it is handed over.
    fn function(&mut self, node: &mut AstNode, more: usize) {
        let AstNode::Function { name, args, .. } = node else {
            return;
        };
        let free = self.names.contains(name) && !self.bound.contains(name);
        let calls_back = free && more == 0 && HIGHER_ORDER.contains(&name.as_str());
        for arg in args.iter_mut() {
            self.handed_over = calls_back && matches!(arg, AstNode::Lambda { .. });
            self.node(arg);
        }
        if args.contains(&AstNode::Placeholder) || more > 0 || !free {
            return;
        }
        if args.len() < guard::required_arguments(name).unwrap_or_default() {
            args.insert(0, AstNode::Variable(String::new()));
            *name = guard::contextual(name);
        } else if guard::calling_back(name).is_some() {
            *node = AstNode::Call {
                procedure: Box::new(checked_function(name, args.len())),
                args: std::mem::take(args),
            };
        }
    }

    fn operator(&self, node: &mut AstNode) {
        let name = match node {
            AstNode::Binary { op, .. } if *op == BinaryOp::Range => guard::RANGE,
            AstNode::Binary { op, .. } if *op == BinaryOp::Concatenate && self.repeats => {
                guard::CONCATENATE
            }
            _ => return,
        };
        if let AstNode::Binary { lhs, rhs, .. } = std::mem::replace(node, AstNode::Null) {
            *node = call(name, vec![*lhs, *rhs]);
        }
    }

    fn path(&mut self, steps: &mut [PathStep]) {
        for (index, step) in steps.iter_mut().enumerate() {
            self.node(&mut step.node);
            for stage in &mut step.stages {
                if let Stage::Filter(predicate) = stage {
                    self.node(predicate);
                }
            }
            if index > 0 {
                charge_step(&mut step.node);
            }
        }
    }
}

/// Functions that call a function they are given, and do not return it.
const HIGHER_ORDER: [&str; 7] = ["each", "filter", "map", "reduce", "sift", "single", "sort"];

/// `$name := function…`
fn named_function(node: &AstNode) -> Option<String> {
    match node {
        AstNode::Binary { op, lhs, rhs } if names_function(*op, rhs) => match &**lhs {
            AstNode::Variable(name) => Some(name.clone()),
            _ => None,
        },
        _ => None,
    }
}

fn names_function(op: BinaryOp, rhs: &AstNode) -> bool {
    op == BinaryOp::ColonEqual && matches!(rhs, AstNode::Lambda { .. })
}

/// Whether a node may give a new function, which holds the values that it reads.
fn makes_function(node: &AstNode) -> bool {
    match node {
        AstNode::Lambda { .. } | AstNode::Transform { .. } => true,
        AstNode::Function { args, .. } | AstNode::Call { args, .. } => {
            args.contains(&AstNode::Placeholder)
        }
        AstNode::Binary { op, .. } => *op == BinaryOp::ChainPipe,
        _ => false,
    }
}

/// `.$name` and `.(…)` give a value of their own for each item.
fn charge_step(node: &mut AstNode) {
    match node {
        AstNode::FunctionApplication(inner) => charge_tail(inner),
        AstNode::Block(_) => charge_tail(node),
        AstNode::Variable(name) if !name.is_empty() => charge(node),
        _ => {}
    }
}

/// Charges for the value of a body. Calls of an expression's own functions are left alone:
/// they pay for themselves, and would no longer be tail calls.
fn charge_tail(body: &mut AstNode) {
    match body {
        AstNode::Conditional { then_branch, else_branch, .. } => with_stack(|| {
            charge_tail(then_branch);
            else_branch.iter_mut().for_each(|branch| charge_tail(branch));
        }),
        AstNode::Block(nodes) => {
            with_stack(|| nodes.iter_mut().last().into_iter().for_each(charge_tail));
        }
        AstNode::Variable(name) if !name.is_empty() => charge(body),
        AstNode::Path { steps } if selects_from_variable(steps) => charge(body),
        _ => {}
    }
}

fn selects_from_variable(steps: &[PathStep]) -> bool {
    steps.iter().all(|step| !step.is_tuple && step.focus.is_none() && step.index_var.is_none())
        && matches!(steps.first().map(|step| &step.node), Some(AstNode::Variable(name)) if !name.is_empty())
}

/// Wraps `node`, unless it can hold nothing that is not paid for already.
fn charge(node: &mut AstNode) {
    if matches!(
        node,
        AstNode::String(_)
            | AstNode::Name(_)
            | AstNode::Number(_)
            | AstNode::Boolean(_)
            | AstNode::Null
            | AstNode::Undefined
            | AstNode::Placeholder
            | AstNode::Lambda { .. }
            | AstNode::Array(_)
            | AstNode::ArrayGroup(_)
            | AstNode::Object(_)
    ) || matches!(node, AstNode::Function { name, .. } if name == guard::RANGE)
    {
        return;
    }
    let value = std::mem::replace(node, AstNode::Null);
    *node = call(guard::CHARGE, vec![value]);
}
