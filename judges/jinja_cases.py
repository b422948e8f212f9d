"""The cases of jinja.py: small templates, many of them products of operations and values.

Where we render what Python refuses, on purpose (values of two kinds compared, none as an empty list, ...), a few cases say so
by name in corpus/jinja/exceptions.txt; the products leave such pairs out.
"""

import itertools

VARIABLES = {
    "word": "héllo Wörld",
    "lines": "one two  three\n\nfour\tfive\r\nsix",
    "html": "<p class=\"x\">Tom & 'Jerry'</p> <!-- gone --> &amp; &lt;b&gt;",
    "odd": "nbsp\u00a0 zwj\u200d ls\u2028 nel\u0085 emoji \U0001f469\u200d\U0001f4bb soft\u00ad bom\ufeff private\ue000 \u0378 \U000e0001 é",
    "numbers": [3, 1, 2, 2, 10],
    "mixed": [1, True, 1.0, 0, False, None, "1"],
    "names": ["bob", "Alice", "carol", "Bob", "dave"],
    "users": [
        {"name": "Ann", "role": "user", "age": 30, "tags": ["a", "b"]},
        {"name": "bob", "role": "tool", "age": 25, "tags": []},
        {"name": "Cid", "role": "user", "age": 25, "tags": ["c"]},
    ],
    "map": {"b": 1, "A": 2, "c": {"d": [1, {"e": None}]}},
    "empty": {"s": "", "l": [], "d": {}},
    "seconds": 1234.5,
}

TEXTS = ["''", "'a'", "'Hello World'", "word", "'a,b,,c'", "'  x y  '", "'12'", "'-3.5'", "'ß²½٣'", "'it\\'s \"q\"'"]
NUMBERS = ["0", "1", "-7", "42", "2.5", "-0.5", "1e22", "1e-7", "true", "false", "9223372036854775807"]
LISTS = ["[]", "numbers", "names", "mixed", "(1, 'a')", "[[1, 2], [3]]", "('z',)", "users"]
MAPS = ["{}", "map", "{'x': 1, 'y': [2]}"]
VALUES = TEXTS + NUMBERS + LISTS + MAPS + ["none"]

FILTERS = """abs capitalize count default('d') default('d',true) e escape first float float(1.5) format indent indent(2,true) int
int(7) int(3,16) join join('-') last length list lower max min replace('l','L') replace('l','L',1) reverse|list round round(1)
round(1,'floor') round(0,'ceil') safe slice(2)|list sort sort(reverse=true) string sum title tojson tojson(indent=2)
tojson(separators=(',',':')) tojson(sort_keys=true) trim trim('x ') truncate(5) truncate(5,true) truncate(5,true,'')
truncate(7,false,'..',0) unique|list upper wordcount batch(2)|list batch(2,'-')|list dictsort items|list map('upper')|list
select|list reject|list select('number')|list select('odd')|list map('string')|list tojson|length""".split()

TESTS = """boolean callable defined divisibleby(3) eq(1) eq('a') escaped even false filter float ge(1) gt(0) in([1,'a']) integer
iterable le(1) lower lt(5) mapping ne(1) none number odd sameas(true) sameas(none) sequence string test true undefined upper""".split()

METHODS = """upper() lower() casefold() capitalize() title() swapcase() strip() lstrip() rstrip() strip('x ') isalpha() isdigit()
isdecimal() isnumeric() isalnum() isspace() isupper() islower() istitle() isidentifier() isprintable() isascii() split() split(',')
split(',',1) rsplit(',',1) rsplit(none,1) splitlines() splitlines(true) partition(',') rpartition(',') find('o') find('o',5) find('l',-3)
find('l',2,4) rfind('o') rfind('o',0,6) index('o') rindex('o') count('l') count('l',3) count('') startswith('H') startswith('W',6)
startswith(('a','H')) startswith('',99) endswith('d') endswith('o',0,5) replace('o','0') replace('o','0',1) replace('','-') zfill(8)
ljust(14,'.') rjust(14) center(14,'*') center(15,'*') expandtabs() expandtabs(4) removeprefix('He') removesuffix('ld') join(['x','y'])
format(1) translate({97:'b',108:none}) find('') nothing() strip.x""".split()

BINARY = ["+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", ">=", "~", "in", "and", "or"]
OPERANDS = ["0", "3", "-2", "2.5", "true", "'ab'", "'%s'", "[1, 2]", "(1, 2)", "{'a': 1}", "{1: 2}"]


def kind(value):
    if value[0] in "'" or value == "word":
        return "text"
    if value[0] in "[({" or value in ("map", "numbers", "names", "mixed", "users"):
        return {"(": "tuple", "{": "map", "m": "map"}.get(value[0], "list") if value != "mixed" else "list"
    return value if value in ("none", "missing") else "number"


def lenient(value, operation, other=None):
    """Whether we render what Python refuses by design."""
    name = operation.split("(")[0].split("|")[0]
    if other is not None:
        kinds = {kind(value), kind(other)}
        if operation in ("<", ">="):
            return len(kinds) > 1 or kinds == {"map"}
        if operation == "+":
            return len(kinds) > 1 and "text" in kinds or kinds == {"list", "tuple"}
        return operation == "in" and kind(other) == "map" and kind(value) in ("map", "list")
    if name in ("ge", "gt", "le", "lt"):
        return kind(value) != "number"
    if name in ("filter", "test"):
        return kind(value) in ("list", "tuple", "map")
    if name == "indent":
        return kind(value) != "text"
    if name in ("max", "min", "sort", "unique") and value in ("mixed", "users", "(1, 'a')", "[[1, 2], [3]]"):
        return (value, name) != ("mixed", "unique")
    return value == "none" and name in (
        "first join last list max min reverse slice sort sum unique batch items".split()
    )


def products():
    for value, name in itertools.product(VALUES, FILTERS):
        if lenient(value, name):
            continue
        yield "{{ %s|%s }}" % (("(%s)" % value) if value.startswith("-") else value, name)
    for value, name in itertools.product(VALUES + ["missing"], TESTS):
        if lenient(value, name):
            continue
        yield "{{ %s is %s }}" % (("(%s)" % value) if value.startswith("-") else value, name)
    for value, call in itertools.product(TEXTS, METHODS):
        yield "{{ %s.%s }}" % (value, call)
    for left, sign, right in itertools.product(OPERANDS, BINARY, OPERANDS):
        if lenient(left, sign, right):
            continue
        yield "{{ %s %s %s }}" % (left, sign, right)
    for value, subscript in itertools.product(
        ["'hello'", "numbers", "(1, 2, 3)", "map", "5", "true", "none"],
        ["[0]", "[-1]", "[9]", "[1:]", "[:-1]", "[::2]", "[::-1]", "[3:0:-1]", "['b']", "[true]", ".b", "[]", "[:]", "[-99:99]"],
    ):
        yield "{{ %s%s }}|{{ (%s%s) is defined }}" % (value, subscript, value, subscript)
    for value in VALUES:
        yield "{{ %s }}" % value
        yield "{{ [%s] }}" % value
        yield "{{ {'k': %s} }}" % value
        yield "{{ -(%s) }}|" % value
        yield "{{ +(%s) }}|" % value
        yield "{%% for x in %s %%}{{ loop.index }}{{ x }};{%% else %%}none{%% endfor %%}" % value
        yield "{%% if %s %%}yes{%% else %%}no{%% endif %%}" % value


FORMATS = """%s|x %s|1 %s|none %s|[1] %d|42 %d|-42 %d|3.9 %d|true %d|'x' %i|7 %u|7 %5d|42 %-5d|42 %05d|42 %+d|42 %+05d|42 %x|255 %X|255
%#x|255 %o|8 %#o|8 %c|65 %c|'z' %c|128512 %c|'ab' %f|1.5 %.2f|3.14159 %05.2f|2.5 %8.3f|3.14159 %-8.1f|2.25 %e|12345.678 %.2E|0.00012
%g|0.0001 %g|1000000 %g|1e-05 %.3g|1234.5 %G|1e20 %r|'it' %r|[1,'a'] %a|'é' %s|word %10s|'ab' %-10s|'ab' %.2s|'abcdef' %5.1s|'abc' %%|() %|1 %y|1
%s|(1,2) %d|9223372036854775807 %x|-255 %+.1e|5 %#.0f|3 %.0f|2.5 %.0f|3.5""".split()

EXPRESSIONS = r"""
'%s is %d' % ('x', 3)
'%(a)s-%(b)05.1f' % {'a': 'x', 'b': 2.25}
'%s %s' % ('x',)
'%s' % ('x', 'y')
'%s' % ('x',)
'%s' % {'a': 1}
'x' % {}
'x' % ()
'x' % 1
'%*d' % (5, 42)
'%-*d|' % (5, 42)
'%.*f' % (2, 3.14159)
'%%' % ()
'100%%' % ()
'%(a)s' % {'b': 1}
'%s and %s'|format('x', 'y')
'%(x)s'|format(x=1)
'%d items'|format(3)
'%r'|format('a')
'%s'|format
'{} {}'.format(1, 'a')
'{0} {1} {0}'.format('a', 'b')
'{a:>5}|{b:<5}|{a:^7}'.format(a='x', b=2)
'{:05d} {:.2f} {:x} {:,}'.format(42, 3.14159, 255, 1234567)
'{!r} {!s}'.format('a', 'b')
'{{}}'.format()
'{a[k]} {a.x}'.format(a={'k': 1})
'{a}'.format_map({'a': 5})
'{} {1}'.format(1, 2)
'{:>{w}}'.format('x', w=4)
'{:+d} {:e} {:%}'.format(3, 12345.678, 0.5)
'{:#x} {:#b} {:o}'.format(255, 5, 8)
'{:*^9}'.format('mid')
'{:.3}'.format('abcdef')
'{:_}'.format(1234567)
'{:10}|'.format('a') ~ '{:10}|'.format(1)
12345678901234567890123
12345678901234567890123 + 1
9223372036854775807 + 1
9223372036854775807 * 9223372036854775807
2 ** 100
2 ** 100 - 2 ** 99
-(2 ** 63) - 1
10 ** 30 // 7
10 ** 30 % 7
(10 ** 30)|tojson
10 ** 25 > 10 ** 24
10 ** 25 == 10 ** 25
10 ** 25|string|length
18446744073709551616 / 2
1e22|int
1e30|int
1e15|int
'12345678901234567890123'|int
'-0x1F'|int(0, 16)
'0b101'|int(0, 2)
'1_000'|int
'12_'|int
'٣'|int
' 42 '|int
'1e3'|int
'1e3'|float
'inf'|float
'nan'|float
'1_0.5'|float
'infinity'|float
2 ** -1
7 // -2
-7 // 2
7 % -3
-7 % 3
7.5 // 2
-7.5 % 2
1 / 3
6 / 2
0.1 + 0.2
1e16
1e15
123456789.123
1e-5
0.0001
-0.0
1.0 * 3
3 * 1.0
true + true
true * 3
-true
+true
+5
+(-5)
- -5
+'a'
-'a'
not 1
true >= 1
true < 2
false == 0
true == 1.0
1 < 2 < 3
3 > 2 > 2
1 == 1.0
1 == '1'
'a' < 'b'
'B' < 'a'
[1, 2] < [1, 3]
(1, 2) < (1, 3)
[1] < [true, 0]
(1, 2) == [1, 2]
(1, 2) == (1, 2)
[1, 2] == [1.0, 2]
{'a': 1} == {'a': 1.0}
{0: 'x', true: 'y'} == {false: 'x', 1: 'y'}
{1: 'a', true: 'b'}
{true: 'a', 1: 'b', 1.0: 'c'}
{(1, 2): 'x'}[(1, 2)]
{(1, 2): 'x', 'a': 1}
(1, 2) in {(1, 2): 'x'}
{(1, (2, 3)): 4}
{[1]: 2}
{1: 'a'}[true]
{1: 'a'}[1.0]
{'1': 'a'}[1]
{none: 1}
{none: 1}[none]
{'a': 1, 'a': 2}
{1: 2}|tojson
{none: 1, true: 2, 1.5: 3}|tojson
{(1, 2): 3}|tojson
(1, 2) * 2
2 * (1, 2)
[1] * 3
'ab' * 2
3 * 'ab'
'ab' * -1
(1, 2) + (3,)
[1] + [2]
[1] + (2,)
(1, 2)[0]
(1, 2)[1:]
1 in [1.0]
true in [1]
'a' in 'abc'
1 in '123'
'a' in ['a']
'a' not in ['a']
none in [none]
1 in {1: 2}
[1, true, 1.0, 2]|unique|list
['a', 'A', 'b']|unique|list
['a', 'A', 'b']|unique(true)|list
users|unique(attribute='role')|map(attribute='name')|list
true|float
true|abs
true|int
-true|abs
true|round
2.5|round
3.5|round
-2.5|round
2.675|round(2)
1234.5678|round(-2)
1234|round(-2)
5|round
2.1|round(0, 'ceil')
-2.1|round(0, 'floor')
2.55|round(1, 'ceil')
2.5 is even
3.0 is odd
4 is divisibleby 2
5.5 is divisibleby 2
1 is number
true is number
true is integer
1 is boolean
1.0 is float
'a' is string
range(3) is iterable
range(3) is sequence
range(3)
range(1, 4)
range(0, 10, 3)
range(3)|list
range(5, 0, -2)|list
range(3)|string
[range(2)]
range(10)[2]
range(10)[-1]
range(10)|length
range(10)|sum
range(3)|join(',')
2 in range(3)
range(0)
range('a')
range(1, 2, 0)
range(2.5)
users|groupby('role')
users|groupby('role')|list
(users|groupby('role'))[0].grouper
(users|groupby('role'))[0].list|map(attribute='name')|list
(users|groupby('role'))[0][0]
(users|groupby('age'))|map(attribute='grouper')|list
(users|groupby('age'))|map('first')|list
users|groupby('missing', default='none')|map('first')|list
users|groupby('name', case_sensitive=true)|map('first')|list
names|groupby(0)|map('first')|list
users|sort(attribute='age,name')|map(attribute='name')|list
users|sort(attribute='role,age')|map(attribute='name')|list
users|sort(attribute='age', reverse=true)|map(attribute='name')|list
users|sort(attribute='name', case_sensitive=true)|map(attribute='name')|list
users|sort(attribute='tags.0')|map(attribute='name')|list
users|map(attribute='tags.0')|list
users|map(attribute='tags.0', default='-')|list
users|map(attribute='missing', default=5)|list
users|map(attribute='name')|map('upper')|join(',')
users|map('tojson')|list
users|selectattr('age', 'gt', 26)|map(attribute='name')|list
users|selectattr('tags')|map(attribute='name')|list
users|rejectattr('tags')|map(attribute='name')|list
users|selectattr('role', 'equalto', 'tool')|list
users|selectattr('name', 'in', ['Ann'])|list|length
users|rejectattr('missing')|list|length
users|sum(attribute='age')
users|max(attribute='age')
users|min(attribute='age')
users|join(', ', attribute='name')
names|sort
names|sort(case_sensitive=true)
names|sort(true, true)
names|max
names|min
names|min(true)
names|max(case_sensitive=true)
numbers|sort|join
numbers|sum(start=10)
[[1], [2]]|sum(start=[])
numbers|max
[]|max
[]|first
[]|last
[]|sum
'abc'|first
'abc'|last
'abc'|reverse
numbers|reverse|list
'abc'|list
map|list
map|first
map|length
map|items|list
map|dictsort
map|dictsort(true)
map|dictsort(false, 'value')
map|dictsort(reverse=true)
{'a': 2, 'b': 1}|dictsort(by='value')
{'a': 2, 'b': 1}|dictsort(by='other')
numbers|slice(2)|list
numbers|slice(3, 'x')|list
numbers|batch(3)|list
numbers|batch(3, 0)|list
[1, 2, 3]|slice(3)|list
'abcdefg'|batch(3)|list
numbers|select('gt', 2)|list
numbers|reject('even')|list
numbers|select('divisibleby', 2)|list
['', 'a', none]|select|list
numbers|map('abs')|list
numbers|map('default', 1)|list
numbers|map('nothing')|list
numbers|select('nothing')|list
'a b'|attr('upper')
map|attr('b')
word|urlencode
html|e
html|escape|string
'hello big world'|truncate(11)
'hello big world'|truncate(9)
'hello big world'|truncate(9, true)
'hello big world'|truncate(9, false, '')
'hello big world'|truncate(12, leeway=0)
'hello big world'|truncate(12)
'hello big world'|truncate(length=13, leeway=0, end='!')
'hello'|truncate(2)
'abc'|center
'ab'.center(5)
'a'.center(4)
'abc'.center(2)
'see http://example.com/a?b=c now'|urlize
'www.example.com.'|urlize
'(https://example.org/x)'|urlize(15)
'mail me@example.com'|urlize
'http://a.bc'|urlize(nofollow=true)
'http://a.bc'|urlize(target='_blank')
'http://a.bc'|urlize(rel='x')
'ftp://a.bc'|urlize
html|wordcount
'one two'|wordcount
"it's a-b"|wordcount
'a\nb'|indent
'a\n\nb'|indent(2)
'a\n\nb'|indent(2, blank=true)
'a\nb'|indent('> ', true)
'a\nb\n'|indent(2)
'hello wORLD foo-bar (baz) it\'s'|title
"they're bill's".title()
'ab12cd ef'.title()
'hELLO'|capitalize
'ß'.casefold()
'ŉ'.casefold()
'ΑΣ'.lower()
'ß'.upper()
'ǆ'.title()
'²'.isdecimal()
'²'.isdigit()
'²'.isnumeric()
'½'.isdigit()
'½'.isnumeric()
'٣'.isdecimal()
'一'.isnumeric()
'a1'.isalnum()
'Ab Cd'.istitle()
'Ab cd'.istitle()
'a_1'.isidentifier()
'1a'.isidentifier()
'a\u200bb'.isprintable()
'é'.isprintable()
''.isprintable()
'a\tb'.expandtabs()
'a\tbc\td'.expandtabs(4)
'é'.encode()
'aBc'.swapcase()
'abc'.translate({97: 'x', 98: none, 99: 100})
(5).bit_length()
(255).bit_length()
2.0.is_integer()
(2.5).is_integer()
(0.5).as_integer_ratio()
{}.fromkeys(['a', 'b'], 1)
map.fromkeys(['a'])
map.keys()|list
map.values()|list
map.items()|list
map.get('zz')
map.get('zz', 3)
map.get('b')
map.copy()
'b' in map.keys()
map.items()|length
map.nothing
map.nothing is defined
map['nothing'] is defined
''.strip is callable
''.strip is defined
map.keys is defined
map.keys is callable
map.items is callable
numbers.append is callable
numbers.index(2)
numbers.index(2, 3)
numbers.index(99)
numbers.count(2)
'a'.nothing is defined
5 .real
1.5.real
dict(a=1, b=2)
dict([('a', 1)])
dict({'a': 1}, b=2)
dict()
odd
[odd]
{odd: odd}
[odd]|string
['\x00\x1b\x7f\x80\x9f\xa0\xad']
['tab\t nl\n cr\r bs\\']
['it\'s', 'say "x"', 'both \' and "']
['\u0100\u0378\u2028\ud7ff\ue000\uffff']
['\U0001F600\U000E0100\U0010FFFF\U00020000']
['\u061c\u200e\u2066\u3000\u2000\u1680']
odd|tojson
odd|tojson(ensure_ascii=true)
map|tojson(indent='\t')
map|tojson(indent='--')
map|tojson(indent=0)
map|tojson(indent=2, separators=(',', ': '))
map|tojson(indent=1, sort_keys=true)
[]|tojson(indent=2)
{}|tojson(indent=2)
[[], {}]|tojson(indent=2)
(1, 2)|tojson
missing|tojson
range(2)|tojson
1e22|tojson
1e16|tojson
'inf'|float|tojson
'</script>\'"'|tojson
strftime_now('%Y-%m-%d')
strftime_now('%d %b %Y %H:%M:%S')
strftime_now('%A %B %j %U %w')
strftime_now('%Z|%z|%%')
strftime_now('%f')
strftime_now('%I:%M %p %y')
strftime_now('%-d %-m')
strftime_now('%c')
strftime_now('%x %X')
strftime_now('%D %T %F %R')
strftime_now('%e %k %l %s')
strftime_now('%G-%V-%u')
cycler is defined
namespace(a=1).a
namespace().x is defined
range is defined
dict is callable
undefined_thing is defined
undefined_thing|default('x')
undefined_thing
none
none|string
none|default('x')
none|default('x', true)
'a' if false
('a' if false) is defined
'a' if true else 'b'
1 if 0 else 2 if 0 else 3
[1, 2,]
{'a': 1,}
(1,)
()
(1)
[(1, 2), (3, 4)]
'a' 'b'
'a' ~ 1 ~ none ~ true ~ 1.5
1 ~ 2
'\u00e9\x41\101\n'|length
'a\
b'
"\"'"
'\N'
1_000
0x1F
0b101
0o17
1e3
1.5e-3
1_0.2_5
[1, 2, 3][1]
[1, 2, 3].1
{'a': {'b': 1}}.a.b
{'a': [{'b': 2}]}.a[0].b
word[1]
word[-1]
word[99]
word[99] is defined
word.x is defined
numbers[99] is defined
numbers['a'] is defined
numbers.x is defined
map.b
map['b']
map.c.d[1].e
'a' is in ['a']
1 is eq 1
1 is == 1
1 is sameas 1
'x' is upper
'X' is upper
'upper' is filter
'nothing' is filter
'truncate' is filter
'odd' is test
'nothing' is test
'a'|e is escaped
'a'|safe is escaped
'a' is escaped
not true
not none
true and 'x'
'' or 'y'
0 and 1
none or false
1 is not none
x is not defined
(1 + 2) * 3 - 4 / 2 ** 2
-2 ** 2
2 ** 3 ** 2
2 * 3 % 4
1 + 2 ~ 3 + 4
1 - 2 - 3
100 // 7 // 2
-5|abs
'a' ~ 'b'|upper
not 1 == 2
1 in [1] and 2 in [2]
1 not in [1] or true
none is none
[none, true, false]
{'a': none}
1 == true
'1' == 1
[] == ()
[] == []
{} == {}
none == false
none == none
missing == none
missing is none
""".strip("\n")

BLOCKS = [
    "{% for a, b in [(1, 2), (3, 4)] %}{{ a }}-{{ b }};{% endfor %}",
    "{% for k, v in map.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k in map %}{{ k }};{% endfor %}",
    "{% for x in numbers if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% endfor %}",
    "{% for x in numbers %}{{ loop.first }}{{ loop.last }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.index0 }},{% endfor %}",
    "{% for x in numbers %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {% endfor %}",
    "{% for x in numbers %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% for x in numbers %}{{ loop.changed(x) }} {% endfor %}",
    "{% for x in numbers %}{% if x == 2 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in numbers %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in [] %}x{% else %}none{% endfor %}",
    "{% for x in [[1, [2]], [3]] recursive %}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}{% endif %}{% endfor %}",
    "{% for x in [1, 2] %}{% for y in [3, 4] %}{{ loop.index }}{{ x }}{{ y }} {% endfor %}{% endfor %}",
    "{% for x in [1, 2] recursive %}{{ loop.depth }}{{ loop.depth0 }}{% endfor %}",
    "{% for x in 'abc' %}{{ x }}{{ loop.last }}{% endfor %}",
    "{% for x in 5 %}{{ x }}{% endfor %}",
    "{% for x in none %}{{ x }}{% endfor %}",
    "{% for x in missing %}{{ x }}{% else %}e{% endfor %}",
    "{% for x in numbers %}{% set y = x %}{% endfor %}{{ y }}",
    "{% set y = 1 %}{% for x in numbers %}{% set y = x %}{{ y }}{% endfor %}{{ y }}",
    "{% set ns = namespace(n=0) %}{% for x in numbers %}{% set ns.n = ns.n + x %}{% endfor %}{{ ns.n }}",
    "{% set ns = namespace() %}{% set ns.a = 1 %}{{ ns.a }}{{ ns.b }}",
    "{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a }}{{ ns.b }}{{ ns['a'] }}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}",
    "{% set a, b = (1, 2) %}{{ b }}{{ a }}",
    "{% set a = 1, 2 %}{{ a }}",
    "{% set x %}block {{ 1 }}{% endset %}{{ x }}|{{ x is string }}",
    "{% set x | upper %}block{% endset %}{{ x }}",
    "{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}",
    "{% set x = 1 %}{% with %}{% set x = 2 %}{{ x }}{% endwith %}{{ x }}",
    "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "{% with a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{% endwith %}",
    "{% if 1 %}a{% elif 2 %}b{% else %}c{% endif %}",
    "{% if 0 %}a{% elif 2 %}b{% else %}c{% endif %}",
    "{% macro m(x, y=2) %}[{{ x }},{{ y }}]{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(y=4, x=5) }}{{ m() }}",
    "{% macro m(x, y=x) %}{{ y }}{% endmacro %}{{ m(3) }}",
    "{% macro m(x, y=x + 1, z=y * 2) %}{{ x }} {{ y }} {{ z }}{% endmacro %}{{ m(3) }}|{{ m(3, 1) }}|{{ m(3, z=1) }}",
    "{% macro m(x) %}{{ x }}{{ varargs }}{% endmacro %}{{ m(1, 2, 3) }}|{{ m(1) }}",
    "{% macro m(x) %}{{ x }}{{ kwargs }}{% endmacro %}{{ m(1, a=2, b=3) }}|{{ m(1) }}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, a=2) }}",
    "{% macro m(a, b='d') %}{{ a }}{{ b }}{% for v in varargs %}<{{ v }}>{% endfor %}{% for k, v in kwargs.items() %}{{ k }}={{ v }}{% endfor %}{% endmacro %}{{ m(1) }} {{ m(1, 2, 3, k=4) }} {{ m(a=1, z=2) }}",
    "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(z=2) }}",
    "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(1, x=2) }}",
    "{% macro m(x) %}{{ x }}{% endmacro %}{{ m.name }}{{ m.arguments }}",
    "{% macro m(x) %}{{ x }}{% endmacro %}{{ m.name }}{{ m.catch_kwargs }}{{ m.catch_varargs }}{{ m.caller }}",
    "{% macro m(x) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m.name }}{{ m.arguments }}{{ m.catch_kwargs }}{{ m.catch_varargs }}{{ m.caller }}",
    "{% macro m(n) %}{{ n }}{% if n > 0 %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(3) }}",
    "{% macro m(n) %}{{ n }}{{ varargs }}{% if n > 0 %}{{ m(n - 1, n) }}{% endif %}{% endmacro %}{{ m(2) }}",
    "{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}in{% endcall %}",
    "{% macro m(x) %}<{{ caller(x, 2) }}>{% endmacro %}{% call(a, b) m(1) %}{{ a }}{{ b }}{% endcall %}",
    "{% macro m(x) %}{{ varargs }}<{{ caller() }}>{% endmacro %}{% call m(1, 2) %}in{% endcall %}",
    "{% macro m() %}{{ caller is defined }}{% if caller %}{{ caller() }}{% endif %}{% endmacro %}{{ m() }}",
    "{% macro m() -%}  a  {%- endmacro %}[{{ m() }}]",
    "{% macro m() %}\n  x\n{% endmacro %}\n[{{ m() }}]",
    "{% macro m(a, b=1) %}\n{{ varargs }}{{ b }}\n{% endmacro %}\n[{{ m(1) }}]",
    "{% set y = 5 %}{% macro m(x=y) %}{{ x }}{% endmacro %}{{ m() }}",
    "{% macro m(x=none) %}{{ x is none }}{% endmacro %}{{ m() }}{{ m(missing) }}",
    "{% macro m(x) %}{{ x is defined }}{% endmacro %}{{ m() }}",
    "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}b{% endmacro %}{{ a() }}",
    "{% filter upper %}abc {{ 'd' }}{% endfilter %}",
    "{% filter replace('a', 'b')|upper %}banana{% endfilter %}",
    "{% raw %}{{ x }}{% endraw %}",
    "{% raw -%}  {{ x }}  {%- endraw %}",
    "{# a comment #}x{#- another -#} y",
    "a\n{# comment #}\nb",
    "  {% if true %}\n  x\n  {% endif %}\ny",
    "  {%+ if true %}x{% endif %}",
    "{% if true +%}\nx{% endif %}",
    "a {{- 1 -}} b",
    "a\n{{ 1 }}\nb\n",
    "{{ 1 }}\n",
    "{{ 1 }}\n\n",
    "{% set x = 1 -%}   \n y",
    "{% generation %}a{% set x = 1 %}{{ x }}{% endgeneration %}|{{ x }}",
    "{% set x = 1 %}{% generation %}{% set x = 2 %}{{ x }}{% endgeneration %}|{{ x }}",
    "{% set ns = namespace(x=1) %}{% generation %}{% set ns.x = 2 %}{% endgeneration %}{{ ns.x }}",
    "a  {%- generation -%}  b  {%- endgeneration -%}  c",
    "a\n{% generation %}\nb\n{% endgeneration %}\nc",
    "{% for x in numbers %}{% generation %}{{ loop.index }}{{ x }}{% endgeneration %}{% endfor %}",
    "{% autoescape true %}{{ '<' }}{% endautoescape %}",
    "{% autoescape false %}{{ '<' }}{% endautoescape %}",
    "{{ raise_exception('no') }}",
    "{% if false %}{{ raise_exception('no') }}{% endif %}ok",
    "{% set d = {} %}{% set d.a = 1 %}{{ d }}",
    "{% do numbers.append(1) %}{{ numbers }}",
    "{{ 'a' }}{% set x = 'b' %}{{ x }}{% set x = x ~ 'c' %}{{ x }}",
    "{% set l = [1, 2] %}{% set m = l + [3] %}{{ l }}{{ m }}",
    "{% set x = namespace(l=[]) %}{% for i in range(3) %}{% set x.l = x.l + [i] %}{% endfor %}{{ x.l }}",
    "{{ users|selectattr('role', 'eq', 'user')|map(attribute='name')|join(', ') }}",
    "{% for role, group in users|groupby('role') %}{{ role }}:{% for u in group %}{{ u.name }},{% endfor %};{% endfor %}",
    "{% for g in users|groupby('role') %}{{ g.grouper }}:{{ g.list|length }};{% endfor %}",
    "{% set x = 1 if true else 2 %}{{ x }}",
    "{{ {'a': 1}.items()|list }}{{ {'items': 5}.items }}",
    "{{ {'items': 5}['items'] }}{{ {'get': 1}.get }}",
    "{% set items = [1] %}{{ items[0] }}",
    "{{ self }}" if False else "{{ loop is defined }}",
    "{% block b %}x{% endblock %}",
    "{% block b %}{{ word }}{% endblock %}{{ self.b() }}",
    "{% for x in numbers|batch(2) %}{{ x|join }};{% endfor %}",
    "{% for x in numbers|slice(2) %}{{ x }};{% endfor %}",
    "{{ 1 }}}}",
    "{ {{ 1 }} }",
    "{{ '{{' }}{{ '}}' }}",
    "{{ {'a': {'b': 1}}}}",
    "{% if %}x{% endif %}",
    "{% nothing %}",
    "{{ 1 + }}",
    "{{ ) }}",
    "{% for x in y %}",
    "{{ 'a }}",
    "{{ nothing() }}",
    "{{ 'a'|nothing }}",
    "{{ 'a' is nothing }}",
    "{{ missing.x }}",
    "{{ missing.x.y }}",
    "{{ missing[0] }}",
    "{{ map.missing.x }}",
    "{{ missing + 1 }}",
    "{{ missing|length }}{{ missing|list }}{{ missing|join }}{{ missing|upper }}",
    "{{ 'a' + 1 }}",
    "{{ 1 + 'a' }}",
    "{{ [1] + (2,) }}",
    "{{ 'a' is lt(5) }}",
    "{{ {'a': 1} < {'b': 1} }}",
    "{{ [1] in {'a': 1} }}",
    "{{ [] is filter }}",
    "{{ 1|indent }}",
    "{{ none|join }}",
    "{{ none|list }}",
    "{{ [[1], [1]]|unique|list }}",
    "{{ none < 1 }}",
    "{{ [1, 'a']|sort }}",
    "{{ range(200000)|length }}",
    "{{ numbers.append(4) }}{{ numbers }}",
    "{{ map.update({'q': 1}) }}{{ map }}",
    "{{ map.pop('b') }}",
    "{{ 1 / 0 }}",
    "{{ 1 // 0 }}",
    "{{ 1 % 0 }}",
    "{{ 0 ** -1 }}",
    "{{ [][0] }}",
    "{{ ''.join([1]) }}",
    "{{ 'abc'.index('z') }}",
]


def all_cases():
    for line in EXPRESSIONS.replace("\\\n", "\\\x00").split("\n"):
        yield "{{ %s }}" % line.replace("\x00", "\n")
    for item in FORMATS:
        form, value = item.split("|", 1)
        yield "{{ '%s' %% %s }}" % (form, "'x'" if value == "x" else value)
    for form, value in itertools.product(
        [">6", "<6", "^7", "*^7", "06", "+", " ", "#x", "x", "b", "c", "d", "e", ".2e", "f", ".1f", "g", ".3g", "n", "%", ",", "_", "s", ".1", "=+6", "z"],
        ["42", "-7", "2.5", "'ab'", "true", "none"],
    ):
        yield "{{ '[{:%s}]'.format(%s) }}" % (form, value)
    yield from BLOCKS
    yield from products()
