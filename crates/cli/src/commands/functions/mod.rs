//! `everstep functions`: the functions of a server.

mod list;

super::group::group! {
    /// List functions, their retry policies and what they are doing
    Functions {
        List(list::List),
    }
    AFTER_HELP
}

const AFTER_HELP: &str = "\
Examples:
  everstep functions list
  everstep functions list --json | jq '.functions[] | select(.waiting > 0).name'
  aws lambda list-functions --endpoint-url http://127.0.0.1:8083

The functions are those of the everstep.yaml that the server was started with,
by `everstep dev` or `everstep serve --functions PATH`. To see the delay of
every retry, run `everstep explain NAME`.

Exit codes:
  0  success
  2  invalid arguments, no connection, or the server rejected the request";
