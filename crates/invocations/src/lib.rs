//! Durable invocations of functions: attempts, retries, destinations, dead letters.
