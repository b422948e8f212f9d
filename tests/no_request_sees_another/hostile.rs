//! Templates that try to write a request's text for another one, or that an analysis of their
//! source would misread.

/// The messages, and the opening of a turn. Elsewhere, `TEXT` is a text of the request, and `TOOL`
/// a tool.
const MESSAGES: &str = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}";
const OPENING: &str = "{% if add_generation_prompt %}<|assistant|>{% endif %}";

/// Calls `f` for each tool.
const LOOP: &str = "{% for tool in tools %}{{ f(tool) }}{% endfor %}";

/// Macros of these names are functions of ours, of Jinja, or variables otherwise.
const NAMES: [&str; 12] = [
    "dict",
    "namespace",
    "range",
    "raise_exception",
    "strftime_now",
    "joiner",
    "tool_text",
    "op_text",
    "op_tool",
    "op_block",
    "op_caller",
    "memo",
];

/// What hides a part of a source from whoever does not read it as Jinja does: before the part, and
/// after it.
const HIDERS: [(&str, &str); 9] = [
    ("{% raw %}{#{% endraw %}", "{% raw %}#}{% endraw %}"),
    ("{%- raw -%}{#{%- endraw -%}", "{%+ raw +%}#}{%+ endraw +%}"),
    ("{{ '{#' }}", "{{ '#}' }}"),
    ("{% set x = '{% raw %}' %}", "{% set x = '{% endraw %}' %}"),
    ("{# {% raw %} #}", "{# {% endraw %} #}"),
    (
        "{% raw %}{% macro f(t) %}{% endraw %}",
        "{% raw %}{% endmacro %}{% endraw %}",
    ),
    ("{% set x = \"\\\"{#\" %}", "{% set x = '#}' %}"),
    ("{# {# #}", "{# #}"),
    ("{% if true %}", "{% endif %}"),
];

/// Changes of a tool by a text of the request.
const CHANGES: [&str; 9] = [
    "{% set _ = TOOL.update({'secret': TEXT}) %}",
    "{% set _ = TOOL.function.update({'description': TEXT}) %}",
    "{% set _ = TOOL.function.parameters.update({'title': TEXT}) %}",
    "{% set _ = TOOL.function.parameters.properties.x.update({'const': TEXT}) %}",
    "{% set _ = TOOL.function.parameters.required.append(TEXT) %}",
    "{% set _ = TOOL.function.parameters.properties.pop('x') if TEXT == 'hello' else 0 %}",
    "{% set _ = TOOL.function.setdefault('more', [TEXT]) %}",
    "{% set TOOL.secret = TEXT %}",
    "{% do TOOL.function.parameters.properties.x.setdefault('enum', []).append(TEXT) %}",
];

/// Ways to print a tool.
const PRINTS: [&str; 6] = [
    "{{ TOOL | tojson }}",
    "{{ TOOL.function | tojson(indent=2) }}",
    "{{ [TOOL.function.parameters] | tojson(sort_keys=true) }}",
    "{{ TOOL }}",
    "{% for key, value in TOOL.function.items() %}{{ key }}{{ value | tojson(separators=(',', ':')) }}{% endfor %}",
    "{{ TOOL | string | upper }}{{ tools | tojson }}",
];

/// Bodies of a loop over the tools whose text has more of the request than the tool.
const BODIES: [&str; 16] = [
    "{{ loop.index }}{{ loop.revindex }}{{ loop.length }}{{ tool.function.name }}",
    "{{ loop.cycle('a', TEXT) }}{{ loop.changed(TEXT) }}{{ loop.first }}{{ loop.last }}",
    "{{ loop.previtem }}{{ loop.nextitem | tojson }}{{ loop.depth }}",
    "{% set ns = namespace(tool=tool) %}{% set ns.text = TEXT %}{{ ns.text }}",
    "{% filter replace('f', TEXT) %}{{ tool.function.name }}{% endfilter %}",
    "{% set text %}{{ tool.function.name }}{{ TEXT }}{% endset %}{{ text }}",
    "{% for tool in messages %}{{ tool.content }}{% endfor %}",
    "{% for m in messages %}{{ m.content }}{% else %}{{ tool }}{% endfor %}",
    "{% with tool = messages[-1] %}{{ tool.content }}{% endwith %}",
    "{% set tool = messages[-1] %}{{ tool.content }}",
    "{% call(x) f(tool) %}{{ x }}{{ TEXT }}{% endcall %}",
    "{% if TEXT == 'hello' %}{{ tool.function.name }}{% elif loop.last %}{{ TEXT }}{% endif %}",
    "{% if loop.first %}{% set first = TEXT %}{% endif %}{{ first }}",
    "{% if TEXT == 'hello' %}{% break %}{% endif %}{{ tool | tojson }}",
    "{{ (tool.function.name, messages | length) | string }}{{ varargs }}",
    "{{ raise_exception(TEXT) if TEXT == 'hello' else tool.function.name }}",
];

/// Loops over other tools, that call other macros, or in other places.
const OTHERS: [&str; 12] = [
    "{% set tools = messages %}{% for tool in tools %}{{ tool.content }}{% endfor %}",
    "{% for tools in [tools] %}{% for tool in tools %}{{ tool | tojson }}{{ TEXT }}{% endfor %}{% endfor %}",
    "{% set range = messages %}{% for tool in tools %}{{ range | length }}{% endfor %}",
    "{% for tool in tools if TEXT != 'hello' %}{{ tool | tojson }}{% else %}none{% endfor %}",
    "{% for tool in tools | reverse %}{{ tool | tojson }}{% endfor %}\
        {{ tools | map(attribute='function') | list | tojson }}",
    "{% if TEXT == 'hello' %}{% macro f(t) %}{{ t.function.name }}{% endmacro %}{% endif %}LOOP",
    "{% if TEXT != 'hello' %}{% macro f(t) %}{{ t.function.name }}{% endmacro %}{% endif %}LOOP",
    "{% macro f(t, s=TEXT) %}{{ t.function.name }}{{ s }}{% endmacro %}LOOP",
    "{% macro f(t) %}{{ kwargs }}{{ varargs }}{% endmacro %}{% for tool in tools %}\
        {{ f(tool, TEXT, s=TEXT) }}{% endfor %}",
    "{% macro f(t) %}{{ m.content }}{% endmacro %}{% for m in messages %}LOOP{% endfor %}",
    "{% macro f(t) %}{{ caller() }}{% endmacro %}{% for tool in tools %}\
        {% call f(tool) %}{{ TEXT }}{% endcall %}{% endfor %}",
    "{% for m in messages %}{% for tool in tools %}{% set _ = tool.update({'n': loop.index}) %}\
        {{ tool | tojson }}{% endfor %}{% endfor %}",
];

/// Filters of ours, called by name.
const INTERNAL: [&str; 12] = [
    "{{ tools[0] | op.memo(0, 0, 0) }}{{ tools[0] | op.memo(7, 0, 0) }}",
    "{% filter op.keep(tools[0], 7, 0, 0) %}{{ TEXT }}{% endfilter %}",
    "{% set x | op.keep(tools[0], 7, 0, 0) %}{{ TEXT }}{% endset %}",
    "{{ tools | map('op.memo', 7, 0, 0) | join }}",
    "{{ tools | map('op' ~ '.memo', 7, 0, 0) | list }}{{ [TEXT] | map('op.keep', tools[0], 7, 0, 0) | list }}",
    "{{ [TEXT] | select('op.keep') | list }}{{ [TEXT] | reject('op.memo') | list }}",
    "{{ tools | selectattr('function', 'op.memo') | list }}",
    "{{ TEXT is op.memo }}",
    "{{ TEXT | op . keep(tools[0], 7, 0, 0) }}",
    "{{ TEXT | upper | op.spend }}",
    "{{ messages | op.catch(1, 1, 'x') }}",
    "{{ op_text }}{{ op_tool }}{{ op_block }}{{ op_caller }}{{ range }}{{ ''.upper }}",
];

/// Whole templates: openings of a turn that depend on the messages, and renders that reach limits.
const WHOLE: [&str; 10] = [
    "MESSAGES{% if add_generation_prompt %}<|assistant|>{% else %}{{ TEXT }}{% endif %}",
    "MESSAGES{% if add_generation_prompt and TEXT != 'hello' or TEXT == '<|' %}<|assistant|>{% endif %}",
    "MESSAGES{% set add_generation_prompt = TEXT != 'hello' %}OPENING",
    "{% set ask = add_generation_prompt %}MESSAGES{{ '<|assistant|>' if ask else TEXT }}",
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\
        {% if loop.last and not add_generation_prompt %}<|end|>{% endif %}{% endfor %}OPENING",
    "{% if not inner %}{% set inner = true %}{% include 'template' %}{% endif %}MESSAGESOPENING",
    "{% for i in range((level or 0) * 10000) %}{% endfor %}\
        {% for m in messages %}<|{{ m.role }}|>{% if m.content is string %}{{ m.content }}\
        {% else %}{% for part in m.content %}{{ part.text }}{% endfor %}{% endif %}{% endfor %}OPENING",
    "{% for m in messages %}{% for i in range(200000 if m.role == 'tool' else 1) %}{% endfor %}{% endfor %}MESSAGES\
        {{ tools | tojson if tools }}OPENING",
    "{% for i in range(200000 if messages[0].content is string and tools else 1) %}{% endfor %}MESSAGESOPENING",
    "{% set t = tools[0] if tools else {} %}{{ t | tojson }}{% if TEXT == 'hello' %}\
        {% set _ = messages[0].update({'content': t}) %}{% endif %}{{ t | tojson }}MESSAGESOPENING",
];

/// Conditions under which calls are written otherwise, which no literal of the source shows.
const CONDITIONS: [&str; 5] = [
    "way | length > 6",
    "level > 9",
    "(level or 0) * 2 > 100",
    "custom == 'x' ~ ''",
    "way is defined and way < 'b'",
];

/// A template that writes calls in two ways.
const CALLS: &str = "{{ tools | tojson if tools }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\
    {% for c in m.tool_calls %}{% if CONDITION %}<call name=\"{{ c.function.name }}\">\
    {% for k, v in c.function.arguments.items() %}<arg {{ k }}>{{ v }}</arg>{% endfor %}</call>\
    {% else %}<tool_call>{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}\
    </tool_call>{% endif %}{% endfor %}<|end|>{% endfor %}OPENING";

/// All of them, each with its kind.
pub fn all() -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    let mut add = |kind: &str, source: String| {
        let number = all.len();
        all.push((
            format!("{kind} {number}"),
            source.replace("TEXT", "messages[-1].content"),
        ));
    };
    let rest = &[MESSAGES, OPENING].concat();
    for name in NAMES {
        let own = format!(
            "{{% macro {name}(t) %}}{{{{ t.function.name }}}} for {{{{ TEXT }}}}{{% endmacro %}}"
        );
        add(
            name,
            format!("{own}{}{rest}", LOOP.replace("f(", &format!("{name}("))),
        );
    }
    let first = "{% macro f(t) %}{{ t.function.name }}{% endmacro %}";
    let second = first.replace("{{", "{{ TEXT }}{{");
    for (before, behind) in HIDERS {
        add(
            "hidden",
            format!("{first}{before}{second}{behind}{LOOP}{rest}"),
        );
    }
    for (index, change) in CHANGES.iter().enumerate() {
        let [each, other, later] = [0, 1, 2].map(|at| PRINTS[(index + at) % PRINTS.len()]);
        let of = |text: &str, tool: &str| text.replace("TOOL", tool);
        let for_each = |text: &str| {
            format!(
                "{{% for tool in tools %}}{}{{% endfor %}}",
                of(text, "tool")
            )
        };
        let of_first =
            |text: &str| format!("{{% if tools %}}{}{{% endif %}}", of(text, "tools[0]"));
        add(
            "changed before",
            format!("{}{}{rest}", of_first(change), for_each(each)),
        );
        add(
            "changed in",
            format!("{}{rest}", for_each(&[other, change, other].concat())),
        );
        let (each, later) = (for_each(each), of_first(&[change, later].concat()));
        add("changed after", format!("{each}{later}{each}{rest}"));
    }
    for body in BODIES {
        add(
            "body",
            format!("{first}{{% for tool in tools %}}{body}{{% endfor %}}{rest}"),
        );
    }
    OTHERS
        .iter()
        .for_each(|other| add("other", other.replace("LOOP", LOOP) + rest));
    INTERNAL
        .iter()
        .for_each(|internal| add("internal", format!("{internal}{rest}")));
    let calls = CONDITIONS.map(|condition| CALLS.replace("CONDITION", condition));
    for whole in WHOLE.map(str::to_owned).into_iter().chain(calls) {
        add(
            "whole",
            whole
                .replace("MESSAGES", MESSAGES)
                .replace("OPENING", OPENING),
        );
    }
    all
}
