//! The format of GPT-OSS ("harmony") and its dialects: a turn is a list of messages, each on a
//! channel.

use crate::rules::channels::{
    BARE_TEXT, CALL_HEADER, CHANNEL_TOKEN, FINAL_HEADER, OTHER_MESSAGE, START_OF_MESSAGE, STARTED,
    THOUGHT_END, TOKEN,
};
use crate::rules::thought::THOUGHT_BEGIN;

use super::builder::FormatBuilder;
use super::channels::{CALL, CHANNEL, CONSTRAIN, END, Harmony, MESSAGE, RETURN, START};
use super::coverage;
use super::late::{Late, Want};
use super::tag::Tag;
use super::{Begun, Delimiter, Format, FormatSpec, Thinking};
use chatparse_base::sort;
use chatparse_grammar::Trigger;
use chatparse_learn::{Dialect, Tolerances};
use chatparse_message::{CallsInReasoning, Tool};
use chatparse_peg::{Arena, ExprId, Spacing};

/// A builder for a dialect.
fn builder(tolerances: &Tolerances, spec: &FormatSpec, want: Want) -> FormatBuilder {
    let mut p = FormatBuilder::writing(tolerances, spec);
    p.late = Late::of_tools(spec.tools(), want);
    p.set_spacing(spec.spacing(Spacing::Free));
    p
}

/// The calls of a dialect, for their parts or rules.
pub fn build_calls(
    tolerances: &Tolerances,
    spec: &FormatSpec,
    want: Want,
    dialect: Dialect,
) -> (Arena, Vec<(u32, ExprId)>) {
    let p = builder(tolerances, spec, want);
    let root = Harmony {
        p: &p,
        spec,
        dialect,
    }
    .any_call();
    (p.finish(root), p.late.built())
}

/// The format of a dialect, for one request.
pub fn build(tolerances: &Tolerances, spec: &FormatSpec, want: Want, dialect: Dialect) -> Format {
    let p = builder(tolerances, spec, want);
    let turns = [
        ("assistant", "<|start|>assistant"),
        ("user", "<|start|>user"),
        ("system", "<|start|>developer"),
        ("system", "<|start|>system"),
        ("tool", "<|start|>functions"),
    ];
    Format {
        output: Harmony {
            p: &p,
            spec,
            dialect,
        }
        .output(),
        constraint: spec.constraint(spec.response_object().is_some(), triggers(spec, dialect)),
        preserved_tokens: [CHANNEL, CONSTRAIN, MESSAGE, START, END]
            .map(str::to_owned)
            .into(),
        thinking: Some(Thinking::new(&format!("{CHANNEL}analysis{MESSAGE}"), [END])),
        delimiters: Delimiter::list(turns),
        parts: p.late.parts(),
        ..Format::default()
    }
}

/// A recipient in the header of the first message of the turn or of a later one, before or after
/// the channel.
fn triggers(spec: &FormatSpec, dialect: Dialect) -> [Trigger; 4] {
    let spaces = spec
        .tools()
        .iter()
        .filter_map(|tool| Some(tool.name.split_once('.')?.0));
    let spaces: Vec<String> = sort::set(spaces.chain(["functions"]))
        .into_iter()
        .map(quoted)
        .collect();
    let spaces = if spaces.len() > 1 {
        format!("(?:{})", spaces.join("|"))
    } else {
        spaces.concat()
    };
    let gap = if dialect == Dialect::LlmJp {
        r"\s*"
    } else {
        ""
    };
    let channel = format!(r"<\|channel\|>{gap}(?:commentary|analysis)\s+to");
    let later = format!(r"<\|start\|>{gap}assistant");
    [
        r"^\s+to$".to_owned(),
        format!("^{channel}={spaces}$"),
        format!(r"{later}(\s+to)"),
        format!("{later}({channel})"),
    ]
    .map(Trigger::pattern)
}

/// A pattern of this text.
fn quoted(text: &str) -> String {
    let mut pattern = String::new();
    for c in text.chars() {
        if !c.is_alphanumeric() && c != '_' {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

impl Harmony<'_> {
    fn output(&self) -> Arena {
        let (p, spec) = (self.p, self.spec);
        // A space, or none, as in the prompt, which has the first one. The model writes more of
        // them.
        let shown = spec
            .opening
            .text
            .rsplit_once(START)
            .is_some_and(|(_, role)| role.starts_with(' '));
        let space = if shown { p.marker(" ") } else { p.empty() };
        let more = p.between(TOKEN, |way| way(self));
        let start = self.start("start", p.sequence([p.marker(START), space, more]));
        let next = match self.dialect {
            Dialect::GptOss => start,
            Dialect::LlmJp => self.start("next", self.token(START)),
        };
        let analysis = p.rule("analysis", self.analysis());
        let commentary = p.sequence([self.token(CHANNEL), p.marker("commentary"), self.message()]);
        let preamble = p.rule(
            "preamble",
            p.sequence([commentary, p.closed(Tag::Content, END, &[START])]),
        );
        let preamble = p.only_read(spec.calls_only(), preamble);
        let other = p.choice(p.ways(OTHER_MESSAGE, |way| way(self)));
        let any = [preamble, analysis];

        let response = spec.response_object().map(|schema| {
            let value = p.response_value(schema);
            // As in learnt formats, what opens an answer may be missing.
            let bare = spec.is_own().then(|| p.empty());
            let header = p.choice([Some(self.final_header()), bare]);
            self.ended(
                p.rule("response-format", p.sequence([header, value])),
                &[END],
            )
        });
        let must = response.is_some() || spec.call_required() && !spec.tools().is_empty();
        let (first, last) = match response {
            Some(response) if !spec.call_or_response() => (analysis, response),
            None if spec.tools().is_empty() => {
                let unsolicited = (self.dialect == Dialect::GptOss).then(|| self.unsolicited());
                (
                    p.rule(
                        "any",
                        p.choice(any.into_iter().chain(unsolicited).chain([other])),
                    ),
                    self.final_message(),
                )
            }
            response => {
                let call = self.any_call();
                let calls = [
                    p.between(CALL_HEADER, |way| way(self)),
                    self.calls(next, call),
                    self.behind_calls(next, any, call),
                ];
                let calls = self.ended(p.sequence(calls), &[CALL, END]);
                // No text is before a structured response.
                let [preamble, analysis] = any;
                let preamble = p.only_read(response.is_some(), preamble);
                let first = [preamble, analysis, other];
                let answer = response.or_else(|| (!must).then(|| self.final_message()));
                (
                    p.rule("any", p.choice(first)),
                    p.choice([Some(calls), answer]),
                )
            }
        };
        let rest = self.messages(start, first, last, must);
        let rest = match self.dialect {
            Dialect::GptOss => rest,
            Dialect::LlmJp => p.choice([
                p.sequence([start, first, self.messages(next, first, last, must)]),
                rest,
            ]),
        };
        p.finish(
            spec.opening
                .begun
                .map_or(rest, |begun| self.continued(begun, rest, must)),
        )
    }

    /// What begins a message, after this sign.
    fn start(&self, name: &str, sign: ExprId) -> ExprId {
        let p = self.p;
        let role = p.sequence([sign, p.marker("assistant")]);
        let header = p.and(p.choice([p.marker(CHANNEL), self.recipient()]));
        let nearly = p.sequence([p.any_of([START, "assistant"]), header]);
        let written = p.sequence([role, p.between(STARTED, |way| way(p, nearly))]);
        p.rule(name, p.or(written, START_OF_MESSAGE, |way| way(p, nearly)))
    }

    /// Messages up to the last one, each after `start`.
    fn messages(&self, start: ExprId, message: ExprId, last: ExprId, must: bool) -> ExprId {
        let p = self.p;
        let last = p.sequence([start, last]);
        // If neither a call nor a structured response is required, any message may end the turn.
        let last = p.choice([Some(last), (!must).then(|| p.end())]);
        let text = p.between(BARE_TEXT, |way| Some(p.optional(way(self, start)?)));
        // Text without a header may be after the end of a message.
        let message = p.or(p.sequence([start, message]), BARE_TEXT, |way| {
            way(self, p.not(start))
        });
        p.sequence([text, p.many(message), last])
    }

    /// A recipient in a header that is no function.
    pub fn recipient(&self) -> ExprId {
        let p = self.p;
        let word = coverage::any_word(p);
        let ends = p.not(word);
        let offered = self
            .spec
            .tools()
            .iter()
            .map(|tool| p.sequence([p.literal(&*tool.name), ends]));
        let functions = p.choice([p.marker("functions.")].into_iter().chain(offered));
        p.sequence([p.marker(" to="), p.not(functions), word])
    }

    /// The messages of the turn that the prompt has begun, with what ends the last of them and the
    /// `rest`. `must`: there is more, or a structured response.
    fn continued(&self, begun: Begun, rest: ExprId, must: bool) -> ExprId {
        let (p, spec) = (self.p, self.spec);
        let tag = spec.thought_tag();
        let mut steps = vec![p.literal(spec.opening.front())];
        if let (Some((from, to)), Some(content)) = (begun.reasoning, begun.content) {
            steps.extend([
                p.tag(tag, p.literal(&spec.opening.prefill[from..to])),
                p.literal(&spec.opening.prefill[to..content]),
            ]);
        }
        let rest = p.choice([Some(rest), (!must).then(|| p.end())]);
        match (begun.content, spec.response_object()) {
            (Some(_), Some(schema)) => {
                steps.push(self.ended(p.response_value(schema), &[END]));
            }
            (Some(_), None) => {
                let whole = p.sequence([
                    p.content(p.until_marker([END, RETURN, START])),
                    p.optional(p.marker(RETURN)),
                ]);
                let goes_on = p.sequence([p.any_of([END]), rest]);
                let goes_on = p.or(goes_on, THOUGHT_END, |way| {
                    Some(p.sequence([way(p)?, rest]))
                });
                let end = (!must).then(|| p.sequence([p.stray_space(), p.end()]));
                steps.extend([whole, p.choice([Some(goes_on), end])]);
            }
            (None, _) => steps.extend([p.closed(tag, END, self.behind_reasoning()), rest]),
        }
        p.sequence(steps)
    }

    /// A special token, with the spaces after it.
    pub fn token(&self, token: &str) -> ExprId {
        let p = self.p;
        let sign = p.marker(token);
        if self.dialect == Dialect::GptOss {
            return sign;
        }
        // The model writes one space or two.
        let spaces = p.repeat(p.signs(" "), 0, Some(2));
        p.sequence([sign, spaces, p.between(TOKEN, |way| way(self))])
    }

    /// The end of a header.
    pub fn message(&self) -> ExprId {
        self.p.sequence([self.p.marker(MESSAGE), self.gap()])
    }

    /// The space between header and text. A second one is part of the text.
    fn gap(&self) -> ExprId {
        let p = self.p;
        if self.dialect == Dialect::GptOss {
            p.empty()
        } else {
            p.optional(p.marker(" "))
        }
    }

    /// The first of two headers.
    pub fn first_header(&self) -> ExprId {
        let p = self.p;
        if self.dialect == Dialect::LlmJp {
            return p.empty();
        }
        p.optional(p.sequence([
            p.marker("<|channel|>commentary"),
            p.optional(p.marker(" to=assistant")),
        ]))
    }

    /// The type of what follows, as in `commentary json` or `commentary <|constrain|>json`.
    pub fn content_type(&self) -> ExprId {
        let p = self.p;
        let word = coverage::name(p);
        let blank = p.one_of(&[(' ', ' '), ('\t', '\r')]);
        let sign = self.token(CONSTRAIN);
        // A separator is required, because the name before it could continue.
        let between = p.choice([p.spaced([blank, p.optional(sign)]), sign]);
        p.optional(p.sequence([between, word]))
    }

    /// Reasoning; together with its markers if it is not extracted from the content.
    fn analysis(&self) -> ExprId {
        let p = self.p;
        let header = p.sequence([
            self.first_header(),
            self.token(CHANNEL),
            p.marker("analysis"),
            self.message(),
        ]);
        if self.spec.extract_reasoning() {
            let line = p.between(THOUGHT_BEGIN, |way| way(p, p.marker(END)));
            return p.sequence([
                header,
                line,
                p.closed(Tag::Reasoning, END, self.behind_reasoning()),
            ]);
        }
        // The header is captured once it is certain that it is not the header of a call.
        let text = p.content(p.until_marker([END, START]));
        let close = p.or(p.content(p.marker(END)), THOUGHT_END, |way| way(p));
        let body = p.sequence([text, p.choice([close, p.end()])]);
        let body = p.excluding_all(body, [END], vec![START.into()]);
        p.sequence([p.atomic(p.content(header)), body])
    }

    /// What ends reasoning besides its own end: any other message, or any but a call, which waits
    /// for the end of the output.
    fn behind_reasoning(&self) -> &'static [&'static str] {
        if self.spec.options.leniency.calls_in_reasoning == CallsInReasoning::LlamaCpp {
            return &[START];
        }
        &[
            "<|start|>assistant<|channel|>final",
            "<|start|>assistant<|channel|>analysis<|message|>",
            "<|start|>assistant<|channel|>commentary<|message|>",
            "<|start|>assistant<|message|>",
        ]
    }

    fn final_header(&self) -> ExprId {
        let p = self.p;
        p.sequence([
            self.token(CHANNEL),
            p.marker("final"),
            self.content_type(),
            self.message(),
        ])
    }

    fn final_message(&self) -> ExprId {
        self.ended(self.p.rule("final", self.answer()), &[END, RETURN])
    }

    fn answer(&self) -> ExprId {
        let p = self.p;
        let header = p.or(self.final_header(), FINAL_HEADER, |way| way(self));
        p.sequence([
            self.first_header(),
            header,
            p.answer(self.p.until_marker([END, RETURN])),
        ])
    }

    /// The turn's last message, with or without its end.
    fn ended(&self, message: ExprId, ends: &[&str]) -> ExprId {
        let p = self.p;
        let end = p.any_of(ends.iter().copied());
        p.spaced([message, p.only_read(true, p.optional(end)), p.end()])
    }

    /// A call of a tool that is not in the request, e.g. one from the model's training: text.
    fn unsolicited(&self) -> ExprId {
        let p = self.p;
        let close = p.choice([p.marker(END), p.end()]);
        // The recipient `assistant` is the first of two headers.
        let recipient = p.sequence([p.marker(" to="), p.not(p.marker("assistant<|channel|>"))]);
        let message = p.sequence([
            p.optional(self.work_channel()),
            recipient,
            p.until_marker([END]),
        ]);
        p.rule("unsolicited", p.sequence([p.content(message), close]))
    }

    /// A channel that has calls.
    fn work_channel(&self) -> ExprId {
        let p = self.p;
        let token = p.or(self.token(CHANNEL), CHANNEL_TOKEN, |way| way(p));
        p.sequence([token, p.any_of(["commentary", "analysis"])])
    }

    /// One call, or several in separate messages.
    fn calls(&self, start: ExprId, call: ExprId) -> ExprId {
        let p = self.p;
        let end = p.any_of([END, CALL]);
        let next = p.sequence([
            p.space(),
            end,
            start,
            p.between(CALL_HEADER, |way| way(self)),
            call,
        ]);
        let more = p.only_read(self.dialect == Dialect::GptOss, p.many(next));
        p.trigger_rule(
            "tool-call",
            if self.spec.parallel() {
                p.sequence([call, more])
            } else {
                call
            },
        )
    }

    /// If the host does not stop the model after its calls, it goes on to think, call and answer
    /// in the same output.
    fn behind_calls(&self, start: ExprId, any: [ExprId; 2], call: ExprId) -> ExprId {
        let p = self.p;
        let end = || p.after_space(p.any_of([END, CALL]));
        let again = self.spec.parallel();
        let again = again.then(|| {
            p.sequence([
                p.between(CALL_HEADER, |way| way(self)),
                call,
                p.optional(end()),
            ])
        });
        let more = p.many(p.sequence([start, p.choice(any.into_iter().chain(again))]));
        let answer = p.optional(p.sequence([start, self.answer()]));
        p.only_read(true, p.optional(p.sequence([end(), more, answer])))
    }

    /// One call.
    fn any_call(&self) -> ExprId {
        self.p.any_tool(self.spec, &|tool| self.call(tool))
    }

    /// The recipient is before or after the channel.
    fn call(&self, tool: &Tool) -> ExprId {
        let p = self.p;
        let more = p.one_of(coverage::WORD);
        let to =
            |before: &str| p.sequence([p.marker(before), p.tool_name(&tool.name), p.not(more)]);
        // A name with a namespace is a recipient.
        let known = tool.name != FormatBuilder::ANY;
        let bare = known.then(|| p.only_read(!tool.name.contains('.'), to(" to=")));
        let to = p.choice([Some(to(" to=functions.")), bare]);
        let channel = self.work_channel();
        let recipient = p.choice([p.sequence([to, channel]), p.sequence([channel, to])]);
        let header = p.tool_open(p.sequence([recipient, self.content_type(), p.marker(MESSAGE)]));
        let arguments = p.late(|| Some(p.json_args(tool)));
        let (gap, space, close) = (self.gap(), p.stray_space(), p.tool_close(p.empty()));
        p.sequence([Some(header), Some(gap), Some(space), arguments, Some(close)])
    }
}
