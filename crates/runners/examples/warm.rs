//! What a call costs: `cargo run --release -p everstep-runners --example warm`.
//!
//! A Python handler that does nothing is called by the host, with one process and with eight, and by a bare
//! loop around the same client: a server that knows nothing but the two requests of a call. The difference
//! is what the host costs.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use everstep_runners::{Call, Function, Host, Options, Outcome, shim};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

const CALLS: usize = 5_000;
const SHIM: &str = "worker-shim";

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1).peekable();
    if args.next_if(|arg| arg == SHIM).is_some() {
        return shim::main(args);
    }
    let runtime = tokio::runtime::Runtime::new().expect("the machine has threads");
    runtime.block_on(measure());
    ExitCode::SUCCESS
}

async fn measure() {
    let directory = std::env::temp_dir().join(format!("everstep-warm-{}", std::process::id()));
    let code = directory.join("code");
    std::fs::create_dir_all(&code).expect("a directory can be made");
    let text = "def handler(event, context):\n    return event\n";
    std::fs::write(code.join("app.py"), text).expect("a file can be written");
    let shim: Vec<OsString> = vec![std::env::current_exe().expect("it runs").into(), SHIM.into()];
    let host = Arc::new(Host::open(Options::new(&directory, shim)).expect("a host can be opened"));

    println!("{}", host.limits().describe());
    let program = std::env::args().nth(1).unwrap_or_else(|| "python3".to_owned());
    let deploy = |concurrency| {
        let mut function = Function::python("f", "app.handler", &code);
        function.runtime = everstep_runners::Runtime::Python {
            handler: "app.handler".to_owned(),
            program: program.clone(),
        };
        function.concurrency_max = Some(concurrency);
        function.timeout_ms = 60_000;
        host.deploy(vec![function]);
    };
    deploy(1);
    let begun = Instant::now();
    call(&host, 0).await;
    println!("cold start: {:?}", begun.elapsed());

    let bare = bare(&directory, &code, &program).await;
    show("bare loop, one process", &bare);
    let hosted = sequence(&host, CALLS).await;
    show("host, one process", &hosted);
    let overhead = median(&hosted).saturating_sub(median(&bare));
    println!("overhead of the host at the median: {overhead:?}");

    deploy(8);
    parallel(&host, 8, 400).await;
    let begun = Instant::now();
    let times = parallel(&host, 8, CALLS).await;
    let rate = times.len() as f64 / begun.elapsed().as_secs_f64();
    show("host, eight processes", &times);
    println!("eight callers, eight processes: {rate:.0} calls/s");
    host.shut_down(Duration::ZERO).await;
    let _ = std::fs::remove_dir_all(&directory);
}

async fn call(host: &Host, number: usize) -> Duration {
    let call = Call {
        request_id: format!("r-{number}"),
        payload: r#"{"a":1}"#.into(),
        attempt: 1,
        ..Call::default()
    };
    let begun = Instant::now();
    let outcome = host.invoke("f", call).await.outcome;
    assert!(matches!(outcome, Outcome::Succeeded { .. }), "{outcome:?}");
    begun.elapsed()
}

async fn sequence(host: &Host, calls: usize) -> Vec<Duration> {
    let mut times = Vec::with_capacity(calls);
    for number in 0..calls {
        times.push(call(host, number).await);
    }
    times
}

async fn parallel(host: &Arc<Host>, callers: usize, calls: usize) -> Vec<Duration> {
    let mut running = JoinSet::new();
    for _ in 0..callers {
        let host = host.clone();
        running.spawn(async move { sequence(&host, calls / callers).await });
    }
    running.join_all().await.concat()
}

/// The same client against a server that can do nothing else: from an event handed over to its answer.
async fn bare(directory: &Path, code: &Path, program: &str) -> Vec<Duration> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it is bound").to_string();
    let mut client = client(directory, code, program, &address);
    let (mut stream, _) = listener.accept().await.expect("it connects");
    stream.set_nodelay(true).expect("it is a socket");
    let event = "HTTP/1.1 200 OK\r\nLambda-Runtime-Aws-Request-Id: r-1\r\n\
                 Lambda-Runtime-Deadline-Ms: 1\r\nContent-Length: 7\r\n\r\n{\"a\":1}";
    let accepted = "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        read(&mut stream).await;
        let begun = Instant::now();
        stream.write_all(event.as_bytes()).await.expect("it listens");
        read(&mut stream).await;
        times.push(begun.elapsed());
        stream.write_all(accepted.as_bytes()).await.expect("it listens");
    }
    client.kill().expect("it runs");
    let _ = client.wait();
    times
}

fn client(directory: &Path, code: &Path, program: &str, address: &str) -> Child {
    Command::new(program)
        .arg(directory.join("bootstrap.py"))
        .env("AWS_LAMBDA_RUNTIME_API", address)
        .env("_HANDLER", "app.handler")
        .env("LAMBDA_TASK_ROOT", code)
        .stdout(Stdio::null())
        .spawn()
        .expect("Python is there")
}

/// One request: its head, and a body that is a small JSON if it is a POST.
async fn read(stream: &mut TcpStream) {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        let length = stream.read(&mut buffer).await.expect("it speaks");
        assert!(length > 0, "the client has gone");
        request.extend_from_slice(&buffer[..length]);
        let end = request.windows(4).position(|window| window == b"\r\n\r\n");
        let whole = end
            .is_some_and(|end| request.starts_with(b"GET") || request[end + 4..].ends_with(b"}"));
        if whole {
            return;
        }
    }
}

fn sorted(times: &[Duration]) -> Vec<Duration> {
    let mut times = times.to_vec();
    times.sort_unstable();
    times
}

fn median(times: &[Duration]) -> Duration {
    sorted(times)[times.len() / 2]
}

fn show(what: &str, times: &[Duration]) {
    let sorted = sorted(times);
    let (p50, p99) = (sorted[sorted.len() / 2], sorted[sorted.len() * 99 / 100]);
    let rate = sorted.len() as f64 / sorted.iter().sum::<Duration>().as_secs_f64();
    println!("{what}: p50 {p50:?}, p99 {p99:?}, {rate:.0} calls/s one after the other");
}
