//! Templates that work on large operands: operations, sizes and nesting. They end with a prompt or
//! an error.

use chatparse::{ChatTemplate, ErrorKind, Request};
use serde_json::json;

use super::choices::Choices;

/// Makes expressions whose parts are expressions.
struct Maker<'a> {
    choices: Choices<'a>,
    /// How deep they may be nested.
    depth: usize,
}

impl Maker<'_> {
    /// Writes one of `forms`: `T` stands for a text, `L` for a list, `M` for a map, `B` for a
    /// condition, `N` for a number.
    fn fill(&mut self, forms: &[&str]) -> String {
        let form = self.choices.pick(forms);
        let mut out = String::new();
        for c in form.chars() {
            match c {
                'T' => out += &self.text(),
                'L' => out += &self.list(),
                'M' => out += &self.map(),
                'B' => out += &self.condition(),
                'N' => out += &self.choices.size().to_string(),
                c => out.push(c),
            }
        }
        out
    }

    fn nested(&mut self, simple: &[&str], forms: &[&str]) -> String {
        if self.depth == 0 || self.choices.below(3) == 0 {
            return format!("({})", self.fill(simple));
        }
        self.depth -= 1;
        let made = self.fill(forms);
        self.depth += 1;
        format!("({made})")
    }

    fn text(&mut self) -> String {
        const FORMS: &[&str] = &[
            "T ~ T",
            "T ~ L",
            "T + T",
            "T * N",
            "T|upper",
            "T|lower",
            "T|title",
            "T|capitalize",
            "T|trim",
            "T|trim(T)",
            "T|replace('a', 'bc')",
            "T.replace('b', T)",
            "T.replace('', ' ')",
            "T[N:]",
            "T[:-1]",
            "T[::-1]",
            "T[::2]",
            "T|reverse",
            "T.join(L)",
            "L|join(T)",
            "L|join",
            "T|tojson",
            "L|tojson(indent=N)",
            "M|tojson(sort_keys=true)",
            "L|string",
            "M|string",
            "'%s%s' % (T, T)",
            "'%Nd' % 1",
            "'%r' % L",
            "'%.3s' % T",
            "'{}{!r}'.format(T, L)",
            "'{:>N}'.format(T)",
            "T|indent(N)",
            "T|indent(T)",
            "T|truncate(N)",
            "T|e",
            "T.strip(T)",
            "T.lstrip()",
            "T.rstrip('h')",
            "T.title()",
            "T.swapcase()",
            "T.casefold()",
            "T.expandtabs(N)",
            "T.translate({97: T})",
            "T.zfill(N)",
            "T.ljust(N)",
            "T.encode().decode()",
            "T.removeprefix(T)",
            "T.partition(T)|first",
            "L|first|string",
            "L|last|string",
            "T|default(T)",
            "M.get(T, T)",
            "L[N]|string",
            "T[-N]",
            "L|max|string",
            "T if B else T",
        ];
        self.nested(
            &[
                "ns.s",
                "ns.u",
                "'ab'",
                "'\\té '",
                "'7' * N",
                "messages[0].content",
            ],
            FORMS,
        )
    }

    fn list(&mut self) -> String {
        const FORMS: &[&str] = &[
            "L + L",
            "L * N",
            "T|list",
            "T.split('a')",
            "T.split()",
            "T.rsplit(None, N)",
            "T.split(T)",
            "T.splitlines()",
            "L|sort",
            "L|sort(reverse=true)",
            "L|map('string')|sort",
            "L|reverse|list",
            "L[::-1]",
            "L[N:]",
            "L|unique|list",
            "L|map('string')|list",
            "L|map('upper')|list",
            "L|select('odd')|list",
            "L|reject('in', L)|list",
            "L|select('eq', T)|list",
            "L|batch(N)|list",
            "L|batch(N, 'x')|list",
            "L|slice(N)|list",
            "L|slice(N, T)|list",
            "M|items|list",
            "M|dictsort",
            "M|dictsort(by='value')",
            "M.items()",
            "M.keys()",
            "M.values()",
            "M|list",
            "[L, L]",
            "[T, T, L]",
            "(L, T)",
            "L|groupby(0)",
            "[M]|map(attribute='k')|list",
            "L.copy()",
            "range(N)|list",
        ];
        self.nested(
            &["ns.l", "ns.m", "range(N)|list", "[1, 'a', none]", "[]"],
            FORMS,
        )
    }

    fn map(&mut self) -> String {
        const FORMS: &[&str] = &[
            "{T: L}",
            "{'k': L, 'j': M}",
            "{(1, 2): T, N: M}",
            "dict(k=T)",
            "M.copy()",
            "{}.fromkeys(L, T)",
            "{}.fromkeys(T)",
            "dict(M, j=L)",
            "dict(L|batch(2))",
            "{L|join: 1}",
        ];
        self.nested(&["ns.d", "{'k': 1}"], FORMS)
    }

    fn condition(&mut self) -> String {
        const FORMS: &[&str] = &[
            "T == T",
            "T != T",
            "T < T",
            "T == T == T",
            "T in T",
            "T in T in L",
            "T in L",
            "L in L",
            "N in L",
            "T in M",
            "L == L",
            "L < L",
            "L == L == L",
            "M == M",
            "T is upper",
            "T is eq(T)",
            "L is eq(L)",
            "L is in([L])",
            "T.startswith(T)",
            "T.endswith((T, T))",
            "T.count('h') == N",
            "T.count(T) == 1",
            "T.find(T) == 1",
            "T.rfind('z', N) == 1",
            "T.isalnum()",
            "T.istitle()",
            "T.isprintable()",
            "T|length == N",
            "L|length == N",
            "L|sum == N",
            "[L, L]|sum(start=[]) == L",
            "T|wordcount == N",
            "T|int == N",
            "T|float == N",
            "L.count(T) == 1",
            "L.count(N) == 1",
            "M[T] == T",
            "loop.changed(T)",
            "loop.changed(L, M)",
            "not T",
            "L is sameas(L)",
        ];
        self.nested(&["true", "loop.first"], FORMS)
    }

    fn statement(&mut self) -> String {
        self.fill(&[
            "{% if B %}{% set ns.n = ns.n + 1 %}{% endif %}",
            "{% if B %}x{% endif %}",
            "{% set ns.u = T %}",
            "{% set ns.m = L %}",
            "{% set ns.d = M %}",
            "{% set _ = ns.l.append(T) %}",
            "{% set _ = ns.l.append(L) %}",
            "{% set _ = ns.l.extend(L) %}",
            "{% set _ = ns.l.insert(0, T) %}",
            "{% if ns.l %}{% set _ = ns.l.pop(0) %}{% endif %}",
            "{% set _ = ns.l.reverse() %}",
            "{% set _ = ns.d.update({T: L}) %}",
            "{% set _ = ns.d.setdefault(T, L) %}",
            "{% set _ = ns.d.pop(T, none) %}",
            "{% set ns.d.k = L %}",
            "{{ T }}",
            "{{ L }}",
            "{% set c %}{{ T }}{{ L }}{% endset %}{% set ns.u = c %}",
            "{% filter upper %}{{ T }}{% endfilter %}",
            "{% for a in L %}{% for b in T %}{% if B %}{% endif %}{% endfor %}{% endfor %}",
            "{% for a, b in M|items %}{{ b|length }}{% endfor %}",
            "{% for a in L recursive %}{% if loop.depth < 5 %}{{ loop(L) }}{% endif %}{% endfor %}",
            "{{ deep(T, L) }}",
            "{% call deep(T, L) %}{{ T }}{% endcall %}",
        ])
    }
}

/// A template that these choices make.
pub fn template(bytes: &[u8]) -> String {
    let mut maker = Maker {
        choices: Choices::new(bytes),
        depth: 3,
    };
    let doublings = [4, 10, 16, 20, 22][maker.choices.below(5)];
    let items = [10, 1_000, 50_000, 500_000][maker.choices.below(4)];
    let rounds = [3, 100, 10_000, 1_000_000][maker.choices.below(4)];
    let statements: String = (0..=maker.choices.below(3))
        .map(|_| maker.statement())
        .collect();
    format!(
        "{{% macro deep(t, l) %}}{{{{ t }}}}{{{{ caller() if caller }}}}{{% if l %}}{{{{ deep(t, l[1:]) }}}}{{% endif %}}{{% endmacro %}}\
         {{% set ns = namespace(s='abc defgh', u='abc', n=0, l=[], m=[], d={{'k': 1}}) %}}\
         {{% for i in range({doublings}) %}}{{% set ns.s = ns.s ~ ns.s %}}{{% endfor %}}{{% set ns.u = ns.s ~ 'x' %}}\
         {{% set ns.l = range({items})|list %}}{{% set ns.m = range({items})|list %}}\
         {{% for i in range({rounds}) %}}{statements}{{% endfor %}}{{{{ ns.n }}}}"
    )
}

pub fn case(bytes: &[u8]) {
    let source = template(bytes);
    let request = Request::from_json(&json!({"messages": [{"role": "user", "content": "Hi"}]}))
        .expect("it is one");
    let prompt =
        ChatTemplate::new(&source, "", "").and_then(|template| template.prompt(&request).map(drop));
    if let Err(error) = prompt {
        assert!(
            matches!(error.kind(), ErrorKind::Template | ErrorKind::Limit),
            "{source}: {error}"
        );
    }
}
