//! The formats of JSON Schema as regular expressions.

/// How exact a pattern is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The pattern is exact.
    Exactly,
    /// The pattern allows more.
    Wider,
    /// The pattern allows leap seconds at midnight UTC only.
    Narrower,
}

/// The pattern of a standard format, as one or several branches without anchors; `None` for other
/// names.
pub fn pattern(name: &str) -> Option<(String, Known)> {
    let (pattern, known) = match name {
        "date" => (date(), Known::Exactly),
        "time" => (TIME.to_owned(), Known::Narrower),
        "date-time" => (format!("({})[tT]({TIME})", date()), Known::Narrower),
        "duration" => (DURATION.to_owned(), Known::Exactly),
        "uuid" | "uuid1" | "uuid2" | "uuid3" | "uuid4" | "uuid5" => {
            (UUID.to_owned(), Known::Exactly)
        }
        "ipv4" => (ipv4(), Known::Exactly),
        "ipv6" => (ipv6(), Known::Exactly),
        "json-pointer" => (POINTER.to_owned(), Known::Exactly),
        "relative-json-pointer" => (format!("(0|[1-9][0-9]*)(#|{POINTER})"), Known::Exactly),
        _ => (wider(name)?, Known::Wider),
    };
    Some((format!("^({pattern})$"), known))
}

/// The patterns of formats of which a grammar allows more texts.
fn wider(name: &str) -> Option<String> {
    let hostname = format!("{LABEL}(\\.{LABEL})*");
    Some(match name {
        // The limit of 253 characters is not expressed.
        "hostname" => hostname,
        "idn-hostname" => format!("{IDN_LABEL}([.\u{3002}\u{ff0e}\u{ff61}]{IDN_LABEL})*"),
        "email" => format!("{}@{}", mailbox(""), domain(&hostname)),
        "idn-email" => format!("{}@[^\\x00-\\x20@]+", mailbox("\\u0080-\\uFFFF")),
        "uri" => uri(""),
        "uri-reference" => format!("{}|{}", uri(""), relative("")),
        "iri" => uri(BEYOND),
        "iri-reference" => format!("{}|{}", uri(BEYOND), relative(BEYOND)),
        "uri-template" => URI_TEMPLATE.to_owned(),
        "regex" => "[^]*".to_owned(),
        _ => return None,
    })
}

const TIME: &str = "(([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]+)?([zZ]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])\
                    |23:59:60(\\.[0-9]+)?([zZ]|[+-]00:00))";
const DURATION: &str = "P([0-9]+W|([0-9]+D|[0-9]+M([0-9]+D)?|[0-9]+Y([0-9]+M([0-9]+D)?)?)\
                        (T([0-9]+H([0-9]+M([0-9]+S)?)?|[0-9]+M([0-9]+S)?|[0-9]+S))?\
                        |T([0-9]+H([0-9]+M([0-9]+S)?)?|[0-9]+M([0-9]+S)?|[0-9]+S))";
const UUID: &str = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";
const LABEL: &str = "[0-9A-Za-z]([0-9A-Za-z-]{0,61}[0-9A-Za-z])?";
const IDN_LABEL: &str =
    "[0-9A-Za-z\\u0080-\\uFFFF]([0-9A-Za-z\\u0080-\\uFFFF-]{0,61}[0-9A-Za-z\\u0080-\\uFFFF])?";
const ATEXT: &str = "A-Za-z0-9!#$%&'*+/=?^_`{|}~";
const POINTER: &str = "(/([^/~]|~[01])*)*";
/// Non-ASCII characters that an IRI may have.
const BEYOND: &str = "\\u00A0-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFEF\\u{10000}-\\u{10FFFD}";
const URI_TEMPLATE: &str = "([^\\x00-\\x20\"'<>%\\\\^`{|}]|%[0-9A-Fa-f]{2}|\\{[+#./;?&=,!@|]?\
                            [A-Za-z0-9_.%]+(:[1-9][0-9]{0,3}|\\*)?(,[A-Za-z0-9_.%]+(:[1-9][0-9]{0,3}|\\*)?)*\\})*";

/// A date with the right number of days for each month.
fn date() -> String {
    let year = "[0-9]{4}";
    let leap = "([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)";
    format!(
        "{year}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))\
         |{leap}-02-29"
    )
}

fn ipv4() -> String {
    let octet = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])";
    format!("{octet}(\\.{octet}){{3}}")
}

fn ipv6() -> String {
    let group = "[0-9a-fA-F]{1,4}";
    let last = format!("({group}:{group}|{})", ipv4());
    let mut forms = vec![format!("({group}:){{6}}{last}")];
    // `::` stands for one group or more; up to seven groups may precede it, less the groups after
    // it.
    forms.push(format!("::({group}:){{5}}{last}"));
    for behind in (0..=4).rev() {
        let before = 4 - behind;
        let lead = format!("(({group}:){{0,{before}}}{group})?");
        forms.push(match behind {
            0 => format!("{lead}::{last}"),
            behind => format!("{lead}::({group}:){{{behind}}}{last}"),
        });
    }
    forms.push(format!("(({group}:){{0,5}}{group})?::{group}"));
    forms.push(format!("(({group}:){{0,6}}{group})?::"));
    forms.join("|")
}

/// The part before the `@`, which may also have the characters `more`.
fn mailbox(more: &str) -> String {
    let atext = format!("[{ATEXT}{more}-]");
    format!("({atext}+(\\.{atext}+)*|\"([^\"\\\\\\x00-\\x1F\\x7F]|\\\\[\\x20-\\x7E])*\")")
}

fn domain(hostname: &str) -> String {
    format!("({hostname}|\\[({}|IPv6:({}))\\])", ipv4(), ipv6())
}

/// A URI that may also have the characters `more`.
fn uri(more: &str) -> String {
    format!(
        "[A-Za-z][A-Za-z0-9+.-]*:({}){}",
        hierarchy(more, ":@"),
        tail(more)
    )
}

fn relative(more: &str) -> String {
    format!("({}){}", hierarchy(more, "@"), tail(more))
}

/// An authority and a path, whose first segment may also have the characters `first`.
fn hierarchy(more: &str, first: &str) -> String {
    let (segment, first) = (pchar(more, ":@"), pchar(more, first));
    format!(
        "{}(/{segment}*)*|/({segment}+(/{segment}*)*)?|{first}+(/{segment}*)*|",
        authority(more)
    )
}

fn authority(more: &str) -> String {
    let host = pchar(more, "");
    let user = pchar(more, ":");
    format!(
        "//({user}*@)?(\\[({}|[vV][0-9a-fA-F]+\\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\\]|{host}*)(:[0-9]*)?",
        ipv6()
    )
}

fn tail(more: &str) -> String {
    let query = pchar(more, ":@/?");
    format!("(\\?{query}*)?(#{query}*)?")
}

/// A character of a path, or a percent-encoded byte.
fn pchar(more: &str, also: &str) -> String {
    format!("([A-Za-z0-9._~!$&'()*+,;={also}{more}-]|%[0-9A-Fa-f]{{2}})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regular::{Pattern, StateBudget, automaton};

    #[test]
    fn formats() {
        for (name, yes, no) in [
            (
                "date",
                &["2024-02-29", "1999-12-31", "2000-02-29"][..],
                &["2023-02-29", "1900-02-29", "2022-04-31", "2022-1-1"][..],
            ),
            (
                "time",
                &["12:00:00Z", "23:59:60Z", "08:30:06.283185+01:00"],
                &["12:00:00", "24:00:00Z", "12:00:60Z"],
            ),
            (
                "date-time",
                &["1963-06-19T08:30:06.283185Z", "2020-01-01t00:00:00z"],
                &["1963-06-19", "1990-02-31T15:59:59-08:00"],
            ),
            (
                "duration",
                &["P4DT12H30M5S", "P1W", "PT36H", "P1Y2M"],
                &["P", "PT", "P1S", "P1YT", "P1Y2W", "4DT"],
            ),
            (
                "ipv4",
                &["0.0.0.0", "255.255.255.255"],
                &["256.0.0.1", "1.2.3", "01.2.3.4"],
            ),
            (
                "ipv6",
                &[
                    "::",
                    "::1",
                    "1::",
                    "1:2:3:4:5:6:7:8",
                    "::ffff:1.2.3.4",
                    "1:2::7:8",
                    "1:2:3:4:5:6:7::",
                    "::2:3:4:5:6:7:8",
                ],
                &[
                    "1",
                    "1:2:3:4:5:6:7:8:9",
                    "1::2::3",
                    "12345::",
                    ":1",
                    "1:2:3:4:5:6:7",
                    "::1.2.3",
                ],
            ),
            (
                "hostname",
                &["www.example.com", "a", "xn--4gbwdl.xn--wgbh1c"],
                &["-a", "a-", "a..b", "a_b", ""],
            ),
            (
                "email",
                &[
                    "joe.bloggs@example.com",
                    "~te~st@x.org",
                    "\"a b\"@x.org",
                    "joe@[127.0.0.1]",
                ],
                &["2962", ".a@b", "a..b@c", "a@"],
            ),
            (
                "uri",
                &[
                    "http://foo.bar/?baz=qux#quux",
                    "urn:oasis:names",
                    "mailto:a@b.c",
                    "ldap://[2001:db8::7]/c?d",
                ],
                &[
                    "//foo.bar",
                    "\\\\WIN",
                    "abc",
                    "http:// x",
                    "bar,//x",
                    "http://a b",
                ],
            ),
            (
                "uri-reference",
                &["/abc", "abc", "#frag", "//foo", "", "http://a"],
                &["\\\\WIN", "#a b"],
            ),
            (
                "json-pointer",
                &["", "/foo/0", "/a~1b"],
                &["foo", "/~2", "/~"],
            ),
            (
                "relative-json-pointer",
                &["1", "0/foo", "2#"],
                &["/foo", "-1", "01"],
            ),
            (
                "uuid",
                &["2EB8AA08-AA98-11EA-B4AA-73B441D16380"],
                &["2eb8aa08-aa98-11ea-b4aa73b441d16380"],
            ),
            (
                "uri-template",
                &["http://x/{term:1}/{term}"],
                &["http://x/{term:1}/{term"],
            ),
        ] {
            let (source, _) = pattern(name).unwrap();
            let dfa = automaton(
                &Pattern::parse(&source).unwrap(),
                &StateBudget::of_states(20_000),
            )
            .expect(name);
            yes.iter()
                .for_each(|text| assert!(dfa.accepts(text), "{name} {text}"));
            no.iter()
                .for_each(|text| assert!(!dfa.accepts(text), "{name} {text}"));
        }
        for name in ["idn-hostname", "idn-email", "iri", "iri-reference", "regex"] {
            assert!(Pattern::parse(&pattern(name).unwrap().0).is_ok(), "{name}");
        }
        assert!(pattern("color").is_none());
    }
}
