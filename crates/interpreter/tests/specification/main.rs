//! The specification and the error-handling guide, sentence by sentence: each file is a section,
//! each test a sentence. All run in the `spec` dialect unless they say otherwise.

mod random;
mod world;

mod aws_context;
mod aws_redrive;
mod aws_variables;
mod engine_error_matching;
mod engine_inputs;
mod engine_limits;
mod engine_nesting;
mod engine_turns;
mod guide_error_names;
mod guide_examples;
mod guide_retries;
mod properties;
mod recorded_journals;
mod spec_choice;
mod spec_complex_retry;
mod spec_data;
mod spec_errors;
mod spec_fallback_states;
mod spec_input_output;
mod spec_intrinsics;
mod spec_map;
mod spec_parallel;
mod spec_pass_succeed_fail;
mod spec_payload_template;
mod spec_retrying_after_error;
mod spec_task;
mod spec_wait;
