//! Python's character classes, by general category in Unicode.

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// Whether `repr` prints the character unescaped: not a control, format, private, unassigned or
/// separator character.
pub fn printable(c: char) -> bool {
    match c {
        ' '..='~' => true,
        _ if c.is_ascii() => false,
        _ => !matches!(
            c.general_category_group(),
            GeneralCategoryGroup::Other | GeneralCategoryGroup::Separator
        ),
    }
}

/// A letter.
pub fn alpha(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphabetic()
    } else {
        c.general_category_group() == GeneralCategoryGroup::Letter
    }
}

/// A decimal digit.
pub fn decimal(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_digit()
    } else {
        c.general_category() == GeneralCategory::DecimalNumber
    }
}

/// The value of a [`decimal`] digit: the digits of a script are consecutive, from 0 to 9.
pub fn value(c: char) -> u8 {
    let before = (1..=256).map(|back| char::from_u32(u32::from(c).wrapping_sub(back)));
    (before.take_while(|c| c.is_some_and(decimal)).count() % 10) as u8
}

/// A digit, raised or enclosed ones included.
pub fn digit(c: char) -> bool {
    const SPECIAL: &[std::ops::RangeInclusive<char>] = &[
        '\u{b2}'..='\u{b3}',
        '\u{b9}'..='\u{b9}',
        '\u{1369}'..='\u{1371}',
        '\u{19da}'..='\u{19da}',
        '\u{2070}'..='\u{2070}',
        '\u{2074}'..='\u{2079}',
        '\u{2080}'..='\u{2089}',
        '\u{2460}'..='\u{2468}',
        '\u{2474}'..='\u{247c}',
        '\u{2488}'..='\u{2490}',
        '\u{24ea}'..='\u{24ea}',
        '\u{24f5}'..='\u{24fd}',
        '\u{24ff}'..='\u{24ff}',
        '\u{2776}'..='\u{277e}',
        '\u{2780}'..='\u{2788}',
        '\u{278a}'..='\u{2792}',
        '\u{10a40}'..='\u{10a43}',
        '\u{10e60}'..='\u{10e68}',
        '\u{11052}'..='\u{1105a}',
        '\u{1f100}'..='\u{1f10a}',
    ];
    decimal(c) || SPECIAL.iter().any(|range| range.contains(&c))
}

/// A character with a numeric value.
pub fn numeric(c: char) -> bool {
    // Ideographs with a numeric value, which are letters by category.
    const IDEOGRAPHS: &str = "㐅㒃㠪㭍一七万三九二五亖亿什仟仨伍佰億兆兩八六十千卄卅卌叁参參叄四壱壹幺廾廿弌弍弎弐拾捌柒漆玖百肆萬貮貳贰阡陆陌陸零\u{f96b}\u{f973}\u{f978}\u{f9b2}\u{f9d1}\u{f9d3}\u{f9fd}𠀁𠁤𠃢𠄡𠤪𠦃𠦌𠦜𠫪𠫽𠬙𢎐𢦘𣬛𦉭\u{2f890}";
    if c.is_ascii() {
        return c.is_ascii_digit();
    }
    c.general_category_group() == GeneralCategoryGroup::Number || IDEOGRAPHS.contains(c)
}

/// An upper-case or title-case letter.
pub fn title(c: char) -> bool {
    c.is_uppercase() || c.general_category() == GeneralCategory::TitlecaseLetter
}

/// White space in the sense of Python's `strip` and `split`.
pub fn space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// Appends the letter in title case.
pub fn push_title(out: &mut String, c: char) {
    match c {
        // Letters whose title case is neither lower nor upper case.
        '\u{1c4}'..='\u{1c6}' => out.push('\u{1c5}'),
        '\u{1c7}'..='\u{1c9}' => out.push('\u{1c8}'),
        '\u{1ca}'..='\u{1cc}' => out.push('\u{1cb}'),
        '\u{1f1}'..='\u{1f3}' => out.push('\u{1f2}'),
        // Georgian has no title case.
        '\u{10d0}'..='\u{10ff}' => out.push(c),
        '\u{149}' => out.extend(c.to_uppercase()),
        _ => {
            // If upper case has several letters, only the first stays upper case: ß.
            let mut upper = c.to_uppercase();
            out.extend(upper.next());
            out.extend(upper.flat_map(char::to_lowercase));
        }
    }
}

/// Appends the letter in folded case, for comparisons.
pub fn push_folded(out: &mut String, c: char) {
    match c {
        '\u{131}' => out.push(c),
        _ => out.extend(c.to_uppercase().flat_map(char::to_lowercase)),
    }
}
