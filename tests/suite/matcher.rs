//! What may come next, and what must: places in grammars, hostile ones too.

use chatparse::grammar::{Dialect, Recogniser, Start, from_json_schema};
use chatparse::{ChatTemplate, EndedBy, ErrorKind, Matcher, Request, Stream};
use serde_json::{Value, json};

fn of(grammar: &str) -> Matcher {
    Recogniser::new(grammar).unwrap().matcher()
}

fn forced(matcher: &Matcher) -> String {
    String::from_utf8(matcher.forced()).unwrap()
}

#[test]
fn a_place_in_a_grammar() {
    let mut matcher = of("root ::= \"say \" (\"yes\" | \"yellow\" | [é-ë]) \"!\"?");
    assert_eq!(forced(&matcher), "say ");
    assert_eq!(matcher.feed(b"say "), Ok(4));
    assert_eq!(
        (forced(&matcher), matcher.allowed().iter().collect()),
        (String::new(), vec![b'y', 0xC3])
    );
    let checkpoint = matcher.clone();
    assert_eq!(matcher.feed(b"yex"), Ok(2), "the rest is not taken");
    assert_eq!(
        (matcher.feed(b"l"), forced(&matcher)),
        (Ok(1), "low".to_owned())
    );
    assert!(matcher.can(b"low!") && !matcher.can(b"low!!") && !matcher.may_end());
    assert_eq!(matcher.feed(b"low"), Ok(3));
    assert!(matcher.may_end() && !matcher.ended() && forced(&matcher).is_empty());
    assert_eq!(matcher.feed(b"!"), Ok(1));
    assert!(matcher.ended() && matcher.feed(b"!") == Ok(0));
    let mut matcher = checkpoint;
    assert_eq!(matcher.feed(b"\xC3"), Ok(1));
    assert_eq!(
        matcher.allowed().iter().collect::<Vec<_>>(),
        [0xA9, 0xAA, 0xAB]
    );
    assert_eq!(matcher.feed(b"\xAA"), Ok(1));
    assert!(matcher.may_end());
}

#[test]
fn what_leads_nowhere_is_not_allowed() {
    let matcher = of("root ::= \"a\" (\"b\" no | \"c\")\nno ::= \"x\" no");
    assert_eq!(forced(&matcher), "ac");
    assert_eq!(of("root ::= \"x\" root").allowed().iter().count(), 0);
}

#[test]
fn requests() {
    let request = |more: &Value| {
        let mut body =
            json!({"messages": [{"role": "user", "content": "Rain?"}], "enable_thinking": false});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        ChatTemplate::builtin("qwen3-coder")
            .unwrap()
            .params(&Request::from_json(&body).unwrap())
            .unwrap()
    };
    let parameters =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let tools =
        json!([{"type": "function", "function": {"name": "weather", "parameters": parameters}}]);
    let free = request(&json!({})).matcher().unwrap();
    assert!(
        free.can("Any text, <tool_call>, \u{e9}".as_bytes())
            && free.may_end()
            && free.forced().is_empty()
    );
    let mut lazy = request(&json!({"tools": tools})).matcher().unwrap();
    assert!(lazy.may_end() && lazy.feed(b"It is <tool, or so. <tool_call>\n") == Ok(32));
    assert_eq!(forced(&lazy), "<function=weather>\n<parameter=city>\n");
    assert!(!lazy.may_end());
    let strict = request(&json!({"tools": tools, "tool_choice": "required"}))
        .matcher()
        .unwrap();
    assert_eq!(forced(&strict), "<");
    for (opener, next) in [
        ("<tool_c", "all>\n<function=weather>\n<parameter=city>\n"),
        ("<f", "unction=weather>\n<parameter=city>\n"),
    ] {
        let mut strict = strict.clone();
        assert_eq!(
            (strict.feed(opener.as_bytes()), forced(&strict)),
            (Ok(opener.len()), next.to_owned())
        );
    }
    let schema =
        json!({"type": "json_schema", "json_schema": {"schema": {"const": {"a": [1, null]}}}});
    let schema = request(&json!({"response_format": schema}))
        .matcher()
        .unwrap();
    assert!(schema.can(br#"{"a": [1, null]}"#) && !schema.can(br#"{"a": [1, nul]}"#));
}

#[test]
fn a_grammar_begins_behind_what_the_prompt_has() {
    let grammar = from_json_schema(&json!({"enum": ["one", "other"]})).unwrap();
    assert_eq!(
        forced(&grammar.matcher(Start::AfterPrefix("\"on")).unwrap()),
        "e\""
    );
    assert_eq!(
        grammar
            .matcher(Start::AfterPrefix("\"x"))
            .unwrap_err()
            .kind(),
        ErrorKind::InvalidArgument
    );
}

/// Bytes cost the same wherever they stand, and what is found out does not grow with the output.
#[test]
fn repetitions_of_an_output_are_known_places() {
    let any = from_json_schema(&json!({})).unwrap();
    let text = "root ::= s0\ns0 ::= | [^<] s0 | \"<\" s1\ns1 ::= | [^<e] s0 | \"<\" s1";
    let list = "root ::= item*\nitem ::= e \"<\" (\"b\"? e)* \" x\"? \">\"?\ne ::= \" \"? \"y\"?";
    for (grammar, begin, piece) in [
        (
            &*any.text,
            "[",
            "{\"a\": [1, \"two\", {}], \"b\\n\": 3.5e7}, ",
        ),
        (text, "", "text <b "),
        (list, "", " <bby y bb x>"),
        ("root ::= (\"a\"? \"b\"?)+", "", "abba"),
        ("root ::= (.{0,3} [a-z]{2,})*", "", "x.yz"),
    ] {
        let mut matcher = of(grammar);
        let feed = |matcher: &mut Matcher, count: usize| {
            (0..count).for_each(|_| {
                assert_eq!(matcher.feed(piece.as_bytes()), Ok(piece.len()), "{grammar}")
            });
            matcher.bytes()
        };
        matcher.feed(begin.as_bytes()).unwrap();
        let (few, many) = (feed(&mut matcher, 20), feed(&mut matcher, 20_000));
        assert_eq!(few, many, "{grammar}");
    }
}

#[test]
fn hostile_grammars_reach_a_limit_that_is_named_or_stay_bounded() {
    let deep = "root ::= \"a\" root \"b\" | \"c\"";
    let palindromes =
        "root ::= \"a\" root \"a\" | \"a\" | root2\nroot2 ::= \"b\" root2 \"b\" | \"b\"";
    let ambiguous = "root ::= \"a\" root root | \"a\" root | \"a\"";
    let empty = format!(
        "root ::= \"a\" ({} \"a\")*\ne ::= \"x\"? | e2\ne2 ::= \"y\"?",
        "e e2 ".repeat(200)
    );
    let circle = "root ::= e root \"a\" | \"a\"\ne ::= \"x\"?";
    for (grammar, limited) in [
        (deep, true),
        (palindromes, true),
        (ambiguous, true),
        (&*empty, false),
        (circle, false),
    ] {
        let mut matcher = of(grammar);
        let output = "a".repeat(500_000);
        let began = std::time::Instant::now();
        match matcher.feed(output.as_bytes()) {
            Ok(taken) => assert_eq!((taken, limited), (output.len(), false), "{grammar}"),
            Err(error) => {
                assert!(
                    limited
                        && error.kind() == ErrorKind::Limit
                        && error.message().starts_with("matcher: "),
                    "{error}"
                );
                assert!(matcher.can(b"a"), "it stands where it stood");
            }
        }
        println!(
            "{:?} for {}, {} bytes",
            began.elapsed(),
            &grammar[..40.min(grammar.len())],
            matcher.bytes()
        );
        assert!(matcher.bytes() < 40 << 20, "{}", matcher.bytes());
    }
}

#[test]
fn what_is_forced_is_bounded() {
    let parts = "a ".repeat(2_000);
    let matcher = of(&format!("root ::= {parts}\na ::= \"{}\"", "x".repeat(100)));
    assert_eq!(matcher.forced().len(), 64 << 10);
}

/// Forced texts and checks take bounded memory and work, and say so where they end for that.
#[test]
fn what_costs_too_much_is_not_refused() {
    let ones = |count: usize| {
        format!(
            "root ::= {}\ns ::= \"a\" | \"aa\"",
            "s{1000} ".repeat(count)
        )
    };
    let text = "a".repeat(20_000);
    let mut forced = Vec::new();
    for count in [4, 8, 16] {
        let matcher = of(&ones(count));
        let known = matcher.bytes();
        forced.push(matcher.forced().len());
        assert!(
            matcher.bytes() - known < 17 << 20,
            "{} bytes for {count} parts",
            matcher.bytes() - known
        );
    }
    assert!(
        forced[0] > 100 && forced[2] <= forced[0],
        "work that grows with the text, not with the grammar: {forced:?}"
    );
    for grammar in [&*ones(16), "root ::= \"a\" root root | \"a\""] {
        let recogniser = Recogniser::new(grammar).unwrap();
        let error = recogniser.reach(&text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Limit, "{error}");
        assert!(
            error.message().contains("too many ways") || error.message().contains("what is open"),
            "{error}"
        );
        assert!(!recogniser.accepts(&text) && recogniser.reach("aab").unwrap() == 2);
    }
}

/// What a grammar has left at each byte takes the rest of an output, and nothing else; a text that
/// ends the output does.
#[test]
fn what_is_left_is_a_grammar() {
    let json = from_json_schema(
        &json!({"type": "object", "properties": {"a": {"type": "array", "items": {"enum": [1, "xy"]}, "maxItems": 4},
        "b": {"type": "string", "pattern": "^[a-c]{2,5}(\u{e9}|z)$"}}, "required": ["b"]}),
    )
    .unwrap();
    for (grammar, output) in [
        (&*json.text, "{\"a\": [1, \"xy\", 1], \"b\": \"abc\u{e9}\"}"),
        (
            "root ::= (\"ab\"? \"c\"){2,3} [x-z]+ (\"!\" | \"?\" root)?",
            "abccxyz?cabcz!",
        ),
        (
            "root ::= a \"x\" | b \"y\"\na ::= \"k\" a | \"k\"\nb ::= \"k\" b | \"k\"",
            "kkky",
        ),
        (
            "root ::= (\"a\" | \"b\" (\"c\" | \"d\" | \"\")){0,2} (\"ef\"{3,}) \"g\" | \"\"",
            "bdaefefefefg",
        ),
        ("root ::= \"x\" | \"a\" (no | \"c\")\nno ::= \"q\" no", "ac"),
    ] {
        let mut matcher = of(grammar);
        for (at, c) in output.char_indices().chain([(output.len(), ' ')]) {
            let rest = matcher.grammar(Dialect::PortableGbnf).unwrap().text;
            let recogniser =
                Recogniser::new(&rest).unwrap_or_else(|error| panic!("{error}: {rest}"));
            assert!(
                recogniser.accepts(&output[at..]),
                "{:?} of {grammar}: {rest}",
                &output[at..]
            );
            for other in [
                "", "a", "c", "\"", "]", "}", "xy", "k", "kx", "efg", ", ", "1",
            ] {
                let mut whole = matcher.clone();
                let allowed = whole.feed(other.as_bytes()) == Ok(other.len()) && whole.may_end();
                assert_eq!(
                    recogniser.accepts(other),
                    allowed,
                    "{other:?} behind {:?} of {grammar}: {rest}",
                    &output[..at]
                );
            }
            for closing in matcher.closings() {
                let mut whole = matcher.clone();
                assert!(
                    whole.feed(&closing) == Ok(closing.len()) && whole.may_end(),
                    "{grammar}: {closing:?}"
                );
            }
            if at < output.len() {
                matcher.feed(c.to_string().as_bytes()).unwrap();
            }
        }
    }
    let mut matcher = of("root ::= [\u{e9}-\u{eb}]");
    matcher.feed(b"\xC3").unwrap();
    assert_eq!(
        matcher.grammar(Dialect::Lark).unwrap_err().kind(),
        ErrorKind::InvalidArgument
    );
    assert!(of("root ::= \"x\" root").closings().is_empty());
}

#[test]
fn a_second_try_of_a_call() {
    let template = ChatTemplate::builtin("json-call").unwrap();
    let parameters = json!({"type": "object", "properties": {"days": {"type": "integer"}}, "required": ["days"]});
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": parameters}});
    let body = json!({"messages": [{"role": "user", "content": "Rain?"}], "enable_thinking": false, "tools": [tool("weather"), tool("sun")]});
    let request = Request::from_json(&body).unwrap();
    let parser = template.params(&request).unwrap().parser;
    let retry = |name: &str, arguments: &str| {
        let output = format!(
            "<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>"
        );
        let ended = parser.read(output.as_bytes(), EndedBy::Model);
        template.retry(&request, &ended, 0).unwrap()
    };
    assert!(retry("weather", r#"{"days": 2}"#).is_none());
    let again = retry("weather", r#"{"days": "two"}"#).unwrap();
    assert!(
        again.tell.contains(r#""weather""#)
            && again.tell.contains(r#""/days" must be a whole number"#),
        "{}",
        again.tell
    );
    let matcher = again.params.matcher().unwrap();
    assert!(
        matcher.can(b"<tool_call>\n{\"name\": \"weather\", ")
            && !matcher.can(b"<tool_call>\n{\"name\": \"s")
    );
    let again = retry("wether", r#"{"days": 2}"#).unwrap();
    assert!(
        again.tell.contains(r#"no tool has the name "wether""#),
        "{}",
        again.tell
    );
    assert!(
        again
            .params
            .matcher()
            .unwrap()
            .can(b"<tool_call>\n{\"name\": \"s")
    );
}

#[test]
fn the_schema_of_what_is_written() {
    let place =
        json!({"type": "object", "properties": {"name": {"type": "string", "pattern": "^[A-Z]"}}});
    let properties = json!({"a\"/b": {"enum": ["x", "y"]}, "at": {"type": "array", "items": {"$ref": "#/$defs/place"}}});
    let parameters = json!({"type": "object", "properties": properties, "$defs": {"place": place}});
    let tools =
        json!([{"type": "function", "function": {"name": "trip", "parameters": parameters}}]);
    let body = json!({"messages": [{"role": "user", "content": "Go!"}], "tools": tools});
    let params = ChatTemplate::builtin("json-call")
        .unwrap()
        .params(&Request::from_json(&body).unwrap())
        .unwrap();
    let output = "Now <tool_call>\n{\"name\": \"trip\", \"arguments\": {\"a\\\"/b\": \"x\", \"at\": [{\"name\": \"Oslo\"}, {}]}}\n</tool_call> And \
        <tool_call>\n{\"name\": \"fly\", \"arguments\": {\"to\": 1";
    let mut stream = Stream::new(&params.parser);
    let mut found = Vec::new();
    for byte in output.bytes() {
        let _ = stream.feed(&[byte]);
        found.push((stream.state().pointer, stream.schema()));
    }
    found.dedup();
    let (list, name) = (&properties["at"], &place["properties"]["name"]);
    let expected = [
        ("", None),
        ("", Some(&parameters)),
        ("/a\"~1b", Some(&properties["a\"/b"])),
        ("", Some(&parameters)),
        ("/at", Some(list)),
        ("/at/0", Some(&place)),
        ("/at/0/name", Some(name)),
        ("/at/0", Some(&place)),
        ("/at", Some(list)),
        ("/at/1", Some(&place)),
        ("/at", Some(list)),
        ("", Some(&parameters)),
        ("", None),
        ("/to", None),
    ];
    assert_eq!(
        found,
        expected.map(|(pointer, schema)| (pointer.to_owned(), schema.cloned()))
    );
}
