//! The wire of Amazon SQS: what each operation accepts, how answers and errors are written, the digests that clients
//! check, and the addresses of queues.
//!
//! The protocol is AWS JSON 1.0 with the error codes of the older query protocol in a header, as current SDKs speak it;
//! and that query protocol itself. Functions over values: what an operation does is not known here.
//!
//! Names and messages are the service's own as far as recordings show them.

mod address;
mod answer;
mod attribute;
mod batch;
mod digest;
mod error;
mod input;
mod message;
mod operation;
mod query;

pub use address::{arn, name_of_arn, name_of_url, url};
pub use answer::Answer;
pub use attribute::{
    Attribute, AttributeName, READ_ONLY, RedriveAllow, RedrivePolicy, read_attributes,
};
pub use batch::{ENTRIES_MAX, Failed, check_batch};
pub use digest::{md5, md5_of_attributes};
pub use error::{Error, Name};
pub use input::*;
pub use message::{
    MessageAttribute, Value as AttributeValue, check_body, check_group, check_id, check_tags,
    read_message_attributes, read_trace_header, wanted,
};
pub use operation::{Operation, TARGET};
pub use query::{QueryRequest, is_query, query_error, query_refusal, query_success, read_query};

/// The largest message, and the largest batch of messages, in bytes.
pub const MESSAGE_BYTES_MAX: usize = 1 << 20;
