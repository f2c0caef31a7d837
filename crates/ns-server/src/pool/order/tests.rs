//! Simulates threads that take pieces in the order of [`Clients::choose`], with a clock of its own.

use super::*;

/// Someone who sends a request as soon as the request before has its answer.
struct Sender {
    client: Arc<str>,
    /// Number of pieces of a request, which run one after the other, and the time of a piece.
    pieces: (usize, Duration),
    done: usize,
    since: Instant,
    recent: Recent,
    running: bool,
    times: Vec<Duration>,
}

impl Sender {
    fn new(client: &str, pieces: usize, ms: u64, now: Instant) -> Self {
        let pieces = (pieces, Duration::from_millis(ms));
        let (client, recent) = (client.into(), Recent::of_request());
        Self { client, pieces, done: 0, since: now, recent, running: false, times: Vec::new() }
    }
}

/// Runs the requests of `senders` on `threads` threads for some seconds.
fn simulate(senders: &mut [Sender], threads: usize, start: Instant, seconds: u64) {
    let mut clients = Clients::default();
    // The pieces that run: the end of each, and the index of its sender.
    let mut running: Vec<(Instant, usize)> = Vec::new();
    let mut now = start;
    while now < start + Duration::from_secs(seconds) {
        while running.len() < threads {
            let waiting = senders.iter().enumerate().filter(|(_, sender)| !sender.running);
            let candidates = waiting.map(|(index, sender)| Candidate {
                index,
                client: &sender.client,
                age: now - sender.since,
                used: sender.recent.seconds(now),
                expected: Some(sender.pieces.1),
            });
            let Some(chosen) = clients.choose(candidates, now) else { break };
            senders[chosen].running = true;
            running.push((now + senders[chosen].pieces.1, chosen));
        }
        let Some(next) = (0..running.len()).min_by_key(|i| running[*i].0) else { return };
        let (end, index) = running.swap_remove(next);
        now = end;
        let sender = &mut senders[index];
        clients.charge(&sender.client, sender.pieces.1, now);
        sender.recent.add(sender.pieces.1, now);
        (sender.running, sender.done) = (false, sender.done + 1);
        if sender.done.is_multiple_of(sender.pieces.0) {
            sender.times.push(now - sender.since);
            (sender.since, sender.recent) = (now, Recent::of_request());
        }
    }
}

/// Returns the longest time of a request of five pieces of 14 ms beside `n` senders of single fits of `ms`.
fn longest(n: usize, ms: u64, name: impl Fn(usize) -> String) -> f64 {
    let start = Instant::now();
    let mut senders = vec![Sender::new(&name(0), 5, 14, start)];
    senders.extend((0..n).map(|i| Sender::new(&name(i + 1), 1, ms, start)));
    simulate(&mut senders, 2, start, 60);
    assert!(senders.iter().all(|sender| sender.times.len() > 50));
    senders[0].times.iter().max().map_or(f64::INFINITY, Duration::as_secs_f64)
}

#[test]
fn a_request_of_a_few_fits_takes_at_most_ten_times_its_own_time_beside_single_fits() {
    for (n, ms) in [(12, 5), (12, 20), (32, 5), (32, 20)] {
        let each = longest(n, ms, |i| format!("client {i}"));
        let same = longest(n, ms, |_| "all".to_owned());
        assert!(
            each < 0.7 && same < 0.7,
            "beside {n} of {ms} ms: {each} s as clients, {same} s as one client"
        );
    }
}

#[test]
fn a_single_fit_is_hardly_delayed_by_studies() {
    let start = Instant::now();
    let mut senders = vec![Sender::new("ana", 1, 5, start)];
    // Four pieces of a study wait at the same time.
    senders.extend((0..8).map(|i| Sender::new(["bo", "cy"][i / 4], 1_000_000, 35, start)));
    simulate(&mut senders, 2, start, 60);
    let mut times = senders[0].times.clone();
    times.sort();
    assert!(times[times.len() * 99 / 100] < Duration::from_millis(120), "{:?}", times.last());
}

#[test]
fn clients_share_the_time_whatever_the_number_of_their_requests() {
    let start = Instant::now();
    let client = |i| if i < 2 { "ana" } else { "bo" };
    let mut senders: Vec<Sender> = (0..22).map(|i| Sender::new(client(i), 1_000_000, 35, start)).collect();
    simulate(&mut senders, 2, start, 120);
    let of =
        |client: &str| senders.iter().filter(|s| *s.client == *client).map(|s| s.done).sum::<usize>() as f64;
    let share = of("ana") / (of("ana") + of("bo"));
    assert!((share - 0.5).abs() < 0.05, "{share}");
}

#[test]
fn a_study_that_had_the_machine_goes_on_beside_single_fits() {
    let start = Instant::now();
    let mut senders: Vec<Sender> = (0..2).map(|_| Sender::new("all", 1_000_000, 35, start)).collect();
    simulate(&mut senders, 2, start, 3600);
    let (before, now) = (senders[0].done + senders[1].done, start + Duration::from_secs(3600));
    senders.iter_mut().for_each(|sender| sender.running = false);
    senders.extend((0..12).map(|_| Sender::new("all", 1, 5, now)));
    simulate(&mut senders, 2, now, 120);
    let share = (senders[0].done + senders[1].done - before) as f64 * 0.035 / 240.0;
    assert!(share > 0.05, "the study has {share} of the time");
}
