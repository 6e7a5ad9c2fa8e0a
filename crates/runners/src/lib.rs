//! Functions as processes, commands and HTTP services. Knows nothing of executions, invocations or stores.
