//! Properties of what models write in the way of each template next to the repository, and nearly
//! so. `CHATPARSE_CASES` says how many outputs of each kind a template has, `CHATPARSE_SEED` which.

mod again;
mod alike;
mod answered;
mod begun;
mod broken;
#[path = "../properties/cases/choices.rs"]
#[allow(dead_code, reason = "the properties of random input use the rest")]
mod choices;
mod closed;
mod cut;
mod declared;
mod drafted;
mod ends;
mod fitting;
mod held;
mod linked;
mod many;
mod marked;
mod mutated;
mod named;
mod nearly;
mod opened;
mod parts;
mod quoted;
mod roles;
mod said;
#[path = "../support/shown.rs"]
mod shown;
mod space;
mod stored;
mod thought;
mod varied;
mod written;

use std::env;

use chatparse::ChatTemplate;
use choices::Choices;
use written::{Loaded, Written, all};

fn number(variable: &str, default: u64) -> u64 {
    match env::var(variable) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{variable} must be a whole number, not {text:?}")),
        Err(_) => default,
    }
}

/// How many outputs of each kind a template has.
const CASES: u64 = 24;

/// How many of the templates write calls that are read back.
const CALLING: usize = 90;

fn run(check: impl Fn(&Loaded, &Written, usize) -> (Vec<String>, usize)) {
    let cases = number("CHATPARSE_CASES", CASES) as usize;
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for loaded in all() {
        let Some(written) = &loaded.written else {
            continue;
        };
        let (found, count) = check(loaded, written, cases);
        wrong.extend(
            found
                .into_iter()
                .map(|found| format!("{}: {found}", loaded.name)),
        );
        looked += count;
    }
    println!("{looked} outputs");
    let calling = all()
        .iter()
        .filter(|loaded| loaded.written.is_some())
        .count();
    assert!(
        all().is_empty() || calling >= CALLING,
        "only {calling} templates write calls that are read"
    );
    assert!(
        wrong.is_empty(),
        "{} of {looked} outputs:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The same for requests, with our own templates.
fn each(check: impl Fn(&ChatTemplate) -> (Vec<String>, usize)) {
    let builtin = chatparse::builtin::names()
        .filter_map(|name| Some((name.to_owned(), ChatTemplate::builtin(name)?)));
    let beside = all()
        .iter()
        .map(|loaded| (loaded.name.clone(), loaded.template.clone()));
    let (mut wrong, mut looked) = (Vec::new(), 0);
    for (name, template) in builtin.chain(beside) {
        let (found, count) = check(&template);
        wrong.extend(found.into_iter().map(|found| format!("{name}: {found}")));
        looked += count;
    }
    assert!(
        wrong.is_empty(),
        "{} of {looked} requests:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The same for outputs that are made by chance, so many of each template.
fn run_seeds(
    count: impl Fn(u64) -> u64,
    check: impl Fn(&Written, &mut Choices) -> Result<(), String>,
) {
    let first = number("CHATPARSE_SEED", 1);
    run(|_, written, cases| {
        let seeds = first..first + count(cases as u64);
        let look = |seed| check(written, &mut Choices::new(&bytes(seed))).err();
        let wrong = seeds
            .clone()
            .filter_map(|seed| Some(format!("seed {seed}: {}", look(seed)?)));
        (wrong.collect(), seeds.count())
    });
}

/// Bytes to choose by.
fn bytes(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = std::iter::from_fn(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        Some((state >> 32) as u8)
    });
    next.take(32).collect()
}

#[test]
fn tools_that_are_sent_again_are_rendered_as_before() {
    each(again::check);
}

#[test]
fn grammars_of_many_tools_are_linked() {
    each(linked::check);
}

#[test]
fn white_space_at_markers_is_free_or_named() {
    run(|loaded, written, cases| space::check(&loaded.name, written, cases));
}

#[test]
fn what_is_said_is_in_the_prompt_or_has_a_note() {
    each(said::check);
}

#[test]
fn the_end_of_a_turn_is_no_part_of_the_message() {
    each(ends::check);
    run(|_, written, _| ends::check_calls(written));
}

#[test]
fn nothing_of_a_broken_call_is_text() {
    run_seeds(|cases| cases, broken::check);
}

#[test]
fn damaged_outputs_do_not_depend_on_their_pieces() {
    run_seeds(|cases| 2 * cases + 2, mutated::check);
}

#[test]
fn markers_of_other_formats_behind_calls_are_kept_or_call() {
    run(|loaded, written, _| mutated::check_behind(loaded.template.source(), written));
}

#[test]
fn no_text_of_a_name_is_lost() {
    run(|_, written, _| named::check(written));
}

#[test]
fn no_byte_is_in_two_fields() {
    each(named::check_thinking);
}

#[test]
fn what_is_quoted_is_no_call() {
    run(|_, written, cases| quoted::check(written, cases));
}

/// [`run`], with our own templates as well.
fn run_with_builtin(check: impl Fn(&Written) -> (Vec<String>, usize)) {
    run(|_, written, _| check(written));
    for name in chatparse::builtin::names() {
        let template = ChatTemplate::builtin(name).expect("it has a name");
        let Some(written) = written::written(&template) else {
            continue;
        };
        assert_eq!(check(&written).0, Vec::<String>::new(), "{name}");
    }
}

#[test]
fn calls_in_reasoning_wait_for_its_end() {
    run_with_builtin(thought::check);
}

#[test]
fn arguments_that_are_nearly_json_are_read() {
    run_with_builtin(nearly::check);
}

#[test]
fn arguments_that_are_not_mended_are_as_written() {
    run_with_builtin(nearly::check_unmended);
}

#[test]
fn what_begins_alike_is_told_apart() {
    // Each is rendered with its own request, which takes longer.
    run(|loaded, written, cases| alike::check(&loaded.template, written, cases.div_ceil(5)));
}

#[test]
fn a_call_or_what_the_schema_asks_for() {
    run(|loaded, written, _| answered::check(&loaded.template, written));
}

#[test]
fn prompts_of_hosts_are_read_as_ours() {
    each(opened::check);
}

#[test]
fn a_continued_message_is_a_beginning_of_the_whole() {
    each(begun::check);
}

#[test]
fn a_value_is_read_however_it_is_declared() {
    run(|loaded, _, _| declared::check(&loaded.template));
}

#[test]
fn a_grammar_holds_calls_to_their_schemas() {
    run(|loaded, _, _| fitting::check(&loaded.template));
}

#[test]
fn what_must_come_next_is_what_is_written() {
    let shares = std::sync::Mutex::new(Vec::new());
    run(|_, written, _| {
        let (wrong, bytes, forced) = drafted::check(written);
        shares
            .lock()
            .expect("no test panics in it")
            .push(100 * forced / bytes.max(1));
        (wrong, bytes)
    });
    let mut shares = shares.into_inner().expect("no test panics in it");
    shares.sort_unstable();
    if let Some(median) = shares.get(shares.len() / 2) {
        println!(
            "forced bytes of calls: {median} % in the median template, {:?}",
            shares
        );
        // The calls of this test have short values, and each argument may be left out.
        assert!(*median >= 50, "{shares:?}");
    }
}

#[test]
fn one_of_many_tools_is_called_as_one_of_few() {
    let late = std::sync::atomic::AtomicUsize::new(0);
    each(|template| many::check(template, &late));
    let late = late.into_inner();
    assert!(
        late > 3 * CALLING || all().is_empty(),
        "{late} programs are compiled late"
    );
}

#[test]
fn an_output_that_is_cut_is_closed_or_the_reason_is_told() {
    let counts = std::sync::Mutex::new([0; 5]);
    run_with_builtin(|written| {
        let (wrong, found) = closed::check(written);
        let mut counts = counts.lock().expect("no test panics in it");
        counts
            .iter_mut()
            .zip(found)
            .for_each(|(all, one)| *all += one);
        (wrong, found[0])
    });
    let [all, closed, outside, inside, told] = counts.into_inner().expect("no test panics in it");
    println!(
        "{closed} of {all} cuts are closed; {outside} are no beginnings of what the grammar allows"
    );
    println!("{told} of {inside} cuts in names and values are told to be in one");
    assert!(100 * outside <= 3 * all && 10 * told >= 9 * inside);
}

#[test]
fn the_grammar_of_the_rest_takes_the_rest() {
    run_with_builtin(|written| {
        let (wrong, counts) = closed::check_rest(written);
        (wrong, counts[0])
    });
}

#[test]
fn a_text_part_is_rendered_as_the_text() {
    each(parts::check);
}

#[test]
fn media_have_a_place_in_the_prompt() {
    each(parts::check_media);
}

#[test]
fn a_stored_template_answers_as_the_one_that_learnt() {
    each(stored::check);
}

#[test]
fn what_a_template_raises_on_is_fitted() {
    each(roles::check);
}

#[test]
fn calls_are_read_as_variables_have_them_written() {
    each(varied::check);
}

#[test]
fn what_is_marked_as_text_is_text() {
    run(|_, written, cases| {
        let (wrong, looked, _) = marked::check(written, 4 * cases);
        (wrong, looked)
    });
}
