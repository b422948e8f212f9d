//! Resolves URI references as in RFC 3986, without fragments.

/// The parts of a URI with their delimiters.
struct Parts<'a> {
    scheme: &'a str,
    authority: &'a str,
    path: &'a str,
    query: &'a str,
}

fn parts(uri: &str) -> Parts<'_> {
    let colon = uri.find(':').filter(|colon| is_scheme(&uri[..*colon]));
    let (scheme, rest) = uri.split_at(colon.map_or(0, |colon| colon + 1));
    let (rest, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
    let authority = rest
        .strip_prefix("//")
        .map_or(0, |rest| 2 + rest.find('/').unwrap_or(rest.len()));
    let (authority, path) = rest.split_at(authority);
    Parts {
        scheme,
        authority,
        path,
        query,
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// Resolves a reference against the URI `base`.
pub fn joined(base: &str, reference: &str) -> String {
    let (base, own) = (parts(base), parts(reference));
    if !own.scheme.is_empty() || !own.authority.is_empty() {
        let scheme = if own.scheme.is_empty() {
            base.scheme
        } else {
            own.scheme
        };
        return [scheme, own.authority, &without_dots(own.path), own.query].concat();
    }
    let folder = match base.path.rfind('/') {
        _ if own.path.starts_with('/') => "",
        Some(slash) => &base.path[..=slash],
        None if base.authority.is_empty() => "",
        None => "/",
    };
    let (path, query) = match own.path {
        "" if own.query.is_empty() => (base.path.to_owned(), base.query),
        "" => (base.path.to_owned(), own.query),
        path => (without_dots(&[folder, path].concat()), own.query),
    };
    [base.scheme, base.authority, &path, query].concat()
}

/// Removes `.` and `..` from a path.
fn without_dots(path: &str) -> String {
    let mut steps: Vec<&str> = Vec::new();
    let mut rest = path.split('/').peekable();
    while let Some(step) = rest.next() {
        let is_last = rest.peek().is_none();
        match step {
            "." | ".." => {
                // The step before the first slash stays.
                if step == ".."
                    && (steps.len() > 1 || steps.first().is_some_and(|first| !first.is_empty()))
                {
                    steps.pop();
                }
                if is_last {
                    steps.push("");
                }
            }
            step => steps.push(step),
        }
    }
    steps.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved() {
        let base = "http://a/b/c/d?q";
        for (reference, expected) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("", "http://a/b/c/d?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../../../g", "http://a/g"),
            ("/./g/../h", "http://a/h"),
            ("mini1:x", "mini1:x"),
        ] {
            assert_eq!(joined(base, reference), expected, "{reference}");
        }
        assert_eq!(joined("", "a.json"), "a.json");
        assert_eq!(joined("", "/a"), "/a");
        assert_eq!(joined("http://a", "b"), "http://a/b");
        assert_eq!(joined("urn:a:b", "urn:c"), "urn:c");
    }
}
