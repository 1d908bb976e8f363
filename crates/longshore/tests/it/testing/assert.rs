//! Assertions of what was enqueued, and what they say.

use longshore::testing::TestStore;

use super::*;

on_both! {
    what_was_enqueued_is_found,
    what_was_not_is_refuted,
    jobs_that_ended_are_found_when_asked_for,
    all_are_decoded_oldest_first,
    a_miss_shows_what_waits_and_the_nearest,
    a_miss_of_a_kind_shows_the_others,
    a_miss_of_everything_says_so,
    a_miss_of_what_ran_says_where_it_is,
    too_many_are_marked,
    too_few_show_the_nearest,
    a_refuted_job_is_shown,
    a_payload_of_another_shape_is_told,
    a_long_list_is_cut,
    words_of_others_are_harmless,
}

async fn some_mail(store: &TestStore) {
    store.enqueue(mail("ada@example.org")).await.expect("it is enqueued");
    let later = mail("bob@example.org").new_job().priority(2).run_in(HOUR).tag("signup");
    store.enqueue(later).await.expect("it is enqueued");
    store.enqueue(Invite { friend: 7 }).await.expect("it is enqueued");
}

pub async fn what_was_enqueued_is_found(store: TestStore) {
    some_mail(&store).await;
    let wanted = String::from("ada@example.org");
    store.assert_enqueued::<SendMail>().with(|mail| mail.to == wanted).once().await;
    store.assert_enqueued::<SendMail>().times(2).await;
    store.assert_enqueued::<SendMail>().queue("mail").priority(2).tag("signup").once().await;
    store.assert_enqueued::<SendMail>().within(Duration::ZERO).once().await;
    store.assert_enqueued::<SendMail>().within(HOUR).times(2).await;
    store.assert_enqueued::<Invite>().with(|invite| invite.friend == 7).await;
    store.enqueue(NewJob::new("mailer").json(&mail("cy"))).await.expect("under its old name");
    store.assert_enqueued::<SendMail>().with(|mail| mail.to == "cy").once().await;
    assert_eq!(wanted.len(), 15, "what a condition borrows is still there");
}

pub async fn what_was_not_is_refuted(store: TestStore) {
    store.refute_enqueued::<SendMail>().await;
    some_mail(&store).await;
    store.refute_enqueued::<SendMail>().with(|mail| mail.to == "eve").await;
    store.refute_enqueued::<SendMail>().queue("default").await;
    store.refute_enqueued::<SendMail>().tag("signup").within(MINUTE).await;
    failure(store.refute_enqueued::<SendMail>()).await;
    failure(store.refute_enqueued::<SendMail>().within(Duration::ZERO)).await;
}

pub async fn jobs_that_ended_are_found_when_asked_for(store: TestStore) {
    some_mail(&store).await;
    store.drain(app(&store)).await;
    store.assert_enqueued::<SendMail>().once().await;
    store.assert_enqueued::<SendMail>().ever().times(2).await;
    store.refute_enqueued::<Invite>().await;
    failure(store.refute_enqueued::<Invite>().ever()).await;
}

pub async fn all_are_decoded_oldest_first(store: TestStore) {
    some_mail(&store).await;
    let all = store.all_enqueued::<SendMail>().await;
    assert_eq!(all, [mail("ada@example.org"), mail("bob@example.org")]);
    assert_eq!(store.all_enqueued::<Invite>().await, [Invite { friend: 7 }]);
}

pub async fn a_miss_shows_what_waits_and_the_nearest(store: TestStore) {
    some_mail(&store).await;
    let miss = store.assert_enqueued::<SendMail>();
    let miss = miss.with(|mail| mail.to == "bob@example.org").queue("mail").within(5 * MINUTE);
    assert_shows("nearest", &failure(miss.priority(0).tag("welcome").once()).await);
}

pub async fn a_miss_of_a_kind_shows_the_others(store: TestStore) {
    store.enqueue(mail("ada@example.org")).await.expect("it is enqueued");
    assert_shows("other-kind", &failure(store.assert_enqueued::<Invite>().queue("mail")).await);
}

pub async fn a_miss_of_everything_says_so(store: TestStore) {
    assert_shows("nothing", &failure(store.assert_enqueued::<Invite>()).await);
}

pub async fn a_miss_of_what_ran_says_where_it_is(store: TestStore) {
    store.enqueue(mail("ada@example.org")).await.expect("it is enqueued");
    store.enqueue(mail("nobody")).await.expect("it is enqueued");
    store.drain(app(&store)).await;
    assert_shows("ran-already", &failure(store.assert_enqueued::<SendMail>()).await);
}

pub async fn too_many_are_marked(store: TestStore) {
    some_mail(&store).await;
    assert_shows("too-many", &failure(store.assert_enqueued::<SendMail>().once()).await);
}

pub async fn too_few_show_the_nearest(store: TestStore) {
    some_mail(&store).await;
    let few = store.assert_enqueued::<SendMail>().within(MINUTE).times(2);
    assert_shows("too-few", &failure(few).await);
}

pub async fn a_refuted_job_is_shown(store: TestStore) {
    some_mail(&store).await;
    let unwanted = store.refute_enqueued::<SendMail>().with(|mail| mail.to.starts_with("bob"));
    assert_shows("refuted", &failure(unwanted).await);
}

pub async fn a_payload_of_another_shape_is_told(store: TestStore) {
    store.enqueue(NewJob::new("send_mail").payload("[1]")).await.expect("it is enqueued");
    let text = failure(store.assert_enqueued::<SendMail>()).await;
    assert_shows("another-shape", &text);
    let text = failure(store.all_enqueued::<SendMail>()).await;
    assert!(text.contains(": the payload is no `") && text.contains("SendMail`"), "{text}");
}

pub async fn a_long_list_is_cut(store: TestStore) {
    let many = (0..250).map(|friend| Invite { friend });
    store.enqueue_many(many).await.expect("they are enqueued");
    store.assert_enqueued::<Invite>().times(250).await;
    let text = failure(store.assert_enqueued::<Invite>().priority(1)).await;
    assert!(text.contains("all that wait:") && text.contains("… and 220 more"), "{text}");
    assert!(text.lines().count() < 45, "{text}");
}

pub async fn words_of_others_are_harmless(store: TestStore) {
    let nasty = NewJob::new("k\u{e9}")
        .payload("\"\u{202e}line\\nfeed\u{1b}[31m\"".replace('\u{1b}', "\\u001b"));
    store.enqueue(nasty.json(&format!("\u{202e}{}", "x".repeat(500)))).await.expect("enqueued");
    let text = failure(store.assert_enqueued::<Invite>()).await;
    assert!(text.contains(r"\u{202e}") && !text.contains('\u{202e}'), "{text}");
    assert!(text.lines().all(|line| line.chars().count() < 250), "{text}");
}
