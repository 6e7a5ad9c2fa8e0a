//! `everstep activities`: the activities of a server.

mod create;
mod delete;
mod list;

super::group::group! {
    /// List, create and delete activities
    Activities {
        List(list::List),
        Create(create::Create),
        Delete(delete::Delete),
    }
    AFTER_HELP
}

const AFTER_HELP: &str = "\
Examples:
  everstep activities create approve
  everstep activities list
  everstep activities delete approve

An activity is a queue of tasks for workers that run anywhere. A worker calls
GetActivityTask to get a task, and SendTaskSuccess or SendTaskFailure to end it.

Exit codes:
  0  success
  2  invalid arguments, no connection, or the server rejected the request";
