//! The order in which toys of several series are made.

use std::collections::VecDeque;
use std::ops::Range;

/// Number of toys of a series before the next series has its turn. The number doubles with each turn.
const FIRST_TURN: u64 = 64;

/// Cuts ranges of toys such that the series take turns. A run that is stopped early then has toys of all series. The
/// toys are the same, because each depends on its index alone.
pub(super) fn in_turns<S: Copy + PartialEq>(ranges: Vec<(S, Range<u64>)>) -> Vec<(S, Range<u64>)> {
    let mut series: Vec<(S, VecDeque<Range<u64>>)> = Vec::new();
    for (one, range) in ranges {
        match series.iter_mut().find(|(known, _)| *known == one) {
            Some((_, list)) => list.push_back(range),
            None => series.push((one, VecDeque::from([range]))),
        }
    }
    let (mut turns, mut most) = (Vec::new(), FIRST_TURN);
    while series.iter().any(|(_, list)| !list.is_empty()) {
        for (one, list) in &mut series {
            let mut left = most;
            while let Some(range) = list.front_mut().filter(|_| left > 0) {
                let end = range.start.saturating_add(left).min(range.end);
                left -= end.saturating_sub(range.start).min(left);
                turns.push((*one, range.start..end));
                range.start = end;
                if range.is_empty() {
                    list.pop_front();
                }
            }
        }
        most = most.saturating_mul(2);
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_take_turns_and_no_toy_is_lost() {
        let turns = in_turns(vec![('b', 0..100), ('b', 300..400), ('s', 0..500)]);
        let wanted =
            [('b', 0..64), ('s', 0..64), ('b', 64..100), ('b', 300..392), ('s', 64..192), ('b', 392..400)];
        assert_eq!(turns[..6], wanted);
        assert_eq!(turns[6..], [('s', 192..448), ('s', 448..500)]);
        assert_eq!(in_turns(Vec::<(char, Range<u64>)>::new()), []);
        assert_eq!(in_turns(vec![('b', 3..3)]), [('b', 3..3)]);
        // A range without end is cut a few times only.
        assert!(in_turns(vec![('b', 0..u64::MAX), ('s', 0..u64::MAX)]).len() < 150);
    }
}
