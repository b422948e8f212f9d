//! OpenAI chat-completions JSON in and out: the only place that knows the wire's field names.
