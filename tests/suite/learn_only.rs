//! Templates taken by what they show alone: no family.

use chatparse::{ChatTemplate, ErrorKind, TemplateOptions, builtin};

fn template(source: &str, learn_only: bool) -> ChatTemplate {
    let mut options = TemplateOptions::default();
    options.learn_only = learn_only;
    ChatTemplate::with_options(source, &options).expect("the template compiles")
}

#[test]
fn no_family_reads() {
    let source = builtin::find("gpt-oss").unwrap().source;
    assert_eq!(template(source, false).reader(), "gpt-oss");
    assert_eq!(template(source, true).reader(), "turn");
}

#[test]
fn options_are_read_from_json() {
    let options = TemplateOptions::from_text(r#"{"eos": "</s>", "learn_only": true}"#).unwrap();
    let mut expected = TemplateOptions::default();
    expected.eos = "</s>".into();
    expected.learn_only = true;
    assert_eq!(options, expected);
    assert_eq!(
        TemplateOptions::from_text("{}").unwrap(),
        TemplateOptions::default()
    );
    for (wrong, part) in [
        (r#"{"learn": true}"#, "`learn`"),
        (r#"{"eos": "", "bos": 1}"#, "options.bos: must be a string"),
        ("x", "options"),
        ("[]", "options"),
    ] {
        let error = TemplateOptions::from_text(wrong).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains(part), "{error}");
    }
}
