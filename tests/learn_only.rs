//! Templates taken by what they show alone: no family.

use chatparse::{ChatTemplate, ErrorKind, Request, Stream, TemplateOptions, builtin};

fn template(source: &str, learn_only: bool) -> ChatTemplate {
    let mut options = TemplateOptions::default();
    options.learn_only = learn_only;
    ChatTemplate::with_options(source, &options).expect("the template compiles")
}

#[test]
fn no_family_reads() {
    let source = builtin::find("gpt-oss").unwrap().source;
    let content = |learn_only| {
        let request =
            Request::from_text(r#"{"messages": [{"role": "user", "content": "Hi"}], "reasoning_format": "none"}"#)
                .unwrap();
        let params = template(source, learn_only).params(&request).unwrap();
        let mut stream = Stream::new(&params.parser);
        let _ = stream.feed(b"<|channel|>final<|message|>Hello");
        stream.finish(false).message.content
    };
    assert_eq!(content(false), "Hello");
    assert_ne!(content(true), "Hello");
}

#[test]
fn options_are_read_from_json() {
    let options = TemplateOptions::from_text(r#"{"eos": "</s>", "learn_only": true}"#).unwrap();
    let mut expected = TemplateOptions::default();
    expected.eos = "</s>".into();
    expected.learn_only = true;
    assert_eq!(options, expected);
    assert_eq!(TemplateOptions::from_text("{}").unwrap(), TemplateOptions::default());
    for (wrong, part) in
        [(r#"{"learn": true}"#, "`learn`"), (r#"{"bos": 1}"#, "string"), ("x", "options"), ("[]", "options")]
    {
        let error = TemplateOptions::from_text(wrong).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(part), "{error}");
    }
}
