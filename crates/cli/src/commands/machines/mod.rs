//! `everstep machines`: the state machines of a server.

mod create;
mod delete;
mod list;
mod show;
mod update;

super::group::group! {
    /// List, show, create, update and delete state machines
    Machines {
        List(list::List),
        Show(show::Show),
        Create(create::Create),
        Update(update::Update),
        Delete(delete::Delete),
    }
    AFTER_HELP
}

const AFTER_HELP: &str = "\
Examples:
  everstep machines list
  everstep machines create order.asl.json         creates `order`
  everstep machines update order order.asl.json
  everstep machines show order
  everstep machines show order --definition | everstep explain -
  everstep machines delete order

Requests are signed if EVERSTEP_ACCESS_KEYS=ID:SECRET is set, or
AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.

Exit codes:
  0  success
  1  the definition has errors
  2  invalid arguments, unreadable file, no connection, or the server rejected
     the request";
