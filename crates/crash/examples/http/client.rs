//! A client of the API: one connection, one request at a time.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::DEADLINE;

pub(crate) struct Client {
    stream: BufReader<TcpStream>,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> std::io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    /// The answer of an operation that succeeds.
    pub(crate) fn call(&mut self, operation: &str, body: &Value) -> Value {
        let answer = self.exchange(operation, &body.to_string());
        let (status, body) = answer.expect("the server answers");
        assert_eq!(status, 200, "{operation}: {body}");
        serde_json::from_str(&body).expect("answers are JSON")
    }

    pub(crate) fn exchange(
        &mut self,
        operation: &str,
        body: &str,
    ) -> std::io::Result<(u16, String)> {
        self.post("/", &format!("X-Amz-Target: AWSStepFunctions.{operation}"), body)
    }

    /// The answer of an operation that is not AWS's.
    pub(crate) fn call_own(&mut self, operation: &str, body: &Value) -> Value {
        let target = format!("X-Amz-Target: Everstep.{operation}");
        let (status, body) = self.post("/", &target, &body.to_string()).expect("it answers");
        assert_eq!(status, 200, "{operation}: {body}");
        serde_json::from_str(&body).expect("answers are JSON")
    }

    /// Lambda's `Invoke`.
    pub(crate) fn invoke(
        &mut self,
        function: &str,
        invocation_type: &str,
        payload: &str,
    ) -> std::io::Result<(u16, String)> {
        let path = format!("/2015-03-31/functions/{function}/invocations");
        self.post(&path, &format!("X-Amz-Invocation-Type: {invocation_type}"), payload)
    }

    fn post(&mut self, path: &str, header: &str, body: &str) -> std::io::Result<(u16, String)> {
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-amz-json-1.0\r\n\
             {header}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        self.answer()
    }

    fn answer(&mut self) -> std::io::Result<(u16, String)> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        let mut length = 0;
        loop {
            line.clear();
            self.stream.read_line(&mut line)?;
            if line.trim().is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }

    pub(crate) fn machine(&mut self, name: &str, definition: &Value) -> String {
        let body = json!({
            "name": name,
            "definition": definition.to_string(),
            "roleArn": "arn:aws:iam::123456789012:role/bench",
        });
        let created = self.call("CreateStateMachine", &body);
        created["stateMachineArn"].as_str().expect("an ARN").to_owned()
    }

    pub(crate) fn start(&mut self, machine: &str, name: &str, input: &Value) -> String {
        let body = json!({ "stateMachineArn": machine, "name": name, "input": input.to_string() });
        let started = self.call("StartExecution", &body);
        started["executionArn"].as_str().expect("an ARN").to_owned()
    }

    /// Asks until an execution has a status, with a pause between two questions: many who wait would
    /// otherwise measure little but their own questions.
    pub(crate) fn wait(&mut self, execution: &str, status: &str, pause: Duration) {
        let begun = Instant::now();
        loop {
            let described = self.call("DescribeExecution", &json!({ "executionArn": execution }));
            if described["status"] == status {
                return;
            }
            assert!(described["status"] == "RUNNING", "{described}");
            assert!(begun.elapsed() < DEADLINE, "{execution} is not {status} in time");
            if !pause.is_zero() {
                std::thread::sleep(pause);
            }
        }
    }
}
