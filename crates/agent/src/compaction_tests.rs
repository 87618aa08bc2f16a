//! Where conversations are cut, and what the summarizing model reads.

use bobbin_model::InputPart;
use proptest::prelude::*;

use super::*;
use bobbin_agent_api::model::Call;

fn user(text: &str) -> Message {
    Message::User {
        parts: vec![InputPart::Text { text: text.into() }],
    }
}

fn agent(calls: usize) -> Message {
    let call = |id: usize| Call {
        id: id.to_string(),
        tool: "t".into(),
        arguments: None,
        provider_state: None,
    };
    Message::Agent {
        text: "a".into(),
        calls: (0..calls).map(call).collect(),
    }
}

fn result(text: &str) -> Message {
    Message::Result {
        call_id: "0".into(),
        text: text.into(),
        success: true,
    }
}

fn at_places(messages: Vec<Message>) -> Vec<Placed> {
    let places = (1..).map(|item| (TurnId(1), ItemId(item)));
    places
        .zip(messages)
        .map(|(at, message)| Placed { at, message })
        .collect()
}

fn words(count: usize) -> String {
    "tea ".repeat(count)
}

#[test]
fn the_newest_messages_are_kept_and_a_group_stays_whole() {
    let long = words(1000);
    let all = at_places(vec![
        user(&long),
        agent(1),
        result(&long),
        agent(2),
        result("r"),
        result("r"),
    ]);
    assert_eq!(cut(&all, 100, TurnId(0)), Some((3, (TurnId(1), ItemId(4)))));
    // The newest group stays, however small the room.
    assert_eq!(cut(&all, 0, TurnId(0)), Some((3, (TurnId(1), ItemId(4)))));
    // Only the request would be left out, and a request in the middle is repeated.
    assert_eq!(cut(&all, 1_100, TurnId(0)), None);
    assert_eq!(cut(&all, 10_000, TurnId(0)), None);
}

#[test]
fn turns_that_cannot_stay_are_summed_up_however_little_they_say() {
    let messages = vec![user("u"), agent(0), user("v"), agent(0), user("w")];
    let mut all = at_places(messages);
    for (turn, placed) in [1, 1, 2, 2, 3].into_iter().zip(&mut all) {
        placed.at.0 = TurnId(turn);
    }
    assert_eq!(cut(&all, 1_000, TurnId(0)), None);
    assert_eq!(cut(&all, 1_000, TurnId(2)), Some((2, (TurnId(2), ItemId(3)))));
    assert_eq!(cut(&all, 1_000, TurnId(3)), Some((4, (TurnId(3), ItemId(5)))));
}

#[test]
fn a_summary_of_next_to_nothing_is_not_made() {
    assert_eq!(cut(&[], 10, TurnId(0)), None);
    assert_eq!(cut(&at_places(vec![user("u")]), 0, TurnId(0)), None);
    let all = at_places(vec![user("u"), agent(1), result(&words(1000))]);
    assert_eq!(cut(&all, 100, TurnId(0)), None);
}

#[test]
fn the_oldest_steps_are_left_out_but_for_the_first() {
    let mut messages = vec![user("Make tea.")];
    messages.extend((0..50).flat_map(|_| [agent(1), result(&words(100))]));
    let (text, left_out) = transcript(&at_places(messages), 1_000);
    assert!(text.starts_with("[user]\nMake tea.\n\n["), "{text}");
    assert!(left_out > 50, "{left_out}");
    assert!(text.contains(&format!("[{left_out} older steps are left out]")));
    assert!(tokens::of_text(&text) <= 1_050, "{}", tokens::of_text(&text));
    assert!(text.trim_end().ends_with("tea"));
}

#[test]
fn one_long_step_is_cut_in_its_middle() {
    let (text, left_out) = transcript(&at_places(vec![user("u"), result(&words(10_000))]), 1_000_000);
    assert_eq!(left_out, 0);
    assert!(
        text.contains("bytes left out]") && text.len() < MAX_STEP_BYTES + 200,
        "{}",
        text.len()
    );
}

proptest! {
    #[test]
    fn what_is_kept_never_begins_with_a_result(shape in prop::collection::vec((0..3usize, 0..400usize), 0..30), room in 0..2_000u64) {
        let messages = shape.into_iter().flat_map(|(calls, size)| {
            let text = words(size);
            let results = (0..calls).map(|_| result(&text)).collect::<Vec<_>>();
            [user(&text), agent(calls)].into_iter().chain(results)
        });
        let all = at_places(messages.collect());
        if let Some((cut, from)) = cut(&all, room, TurnId(0)) {
            prop_assert!(cut > 0 && cut < all.len());
            prop_assert_eq!(all[cut].at, from);
            let begins_with_a_result = matches!(all[cut].message, Message::Result { .. });
            prop_assert!(!begins_with_a_result);
        }
    }
}
