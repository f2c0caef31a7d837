//! Lines that concern several parameters or whole channels: `group` and `autoMCStats`.

use crate::datacard::document::{Group, McStatsLine};
use crate::datacard::lines::{Line, number};
use crate::datacard::pattern::{has_wildcard, wildcard};
use crate::pyhf::names::{list, nearest, quoted};

use super::Reader;

impl Reader<'_> {
    pub(super) fn group(&mut self, line: &Line<'_>) {
        let name = line.key();
        let members: Vec<String> = line.rest(3).iter().map(|&word| word.to_owned()).collect();
        let known = self.groups.get(name).and_then(|at| self.document.groups.get_mut(*at));
        let problem = match (line.words.get(2).copied(), known) {
            (Some("="), None) => {
                let place = line.place.clone();
                self.groups.insert(name.to_owned(), self.document.groups.len());
                self.document.groups.push(Group { name: name.to_owned(), members, place });
                None
            }
            (Some("+="), Some(group)) => {
                group.members.extend(members);
                None
            }
            (Some("="), Some(group)) => Some((
                format!("The group {} is already defined in line {}.", quoted(name), group.place.line),
                "Write += to add to it.",
            )),
            (Some("+="), None) => Some((
                format!("The group {} is not defined yet.", quoted(name)),
                "Write = for its first line.",
            )),
            _ => Some((
                format!("The group {} has no = or += after 'group'.", quoted(name)),
                "Write 'NAME group = PARAMETER PARAMETER'.",
            )),
        };
        if let Some((message, remedy)) = problem {
            self.error(line, message, remedy);
        }
    }

    pub(super) fn mc_stats(&mut self, line: &Line<'_>) {
        let words = line.rest(2);
        let threshold = words.first().and_then(|word| number(word));
        let flag =
            |at: usize, default: i64| words.get(at).map_or(Some(default), |word| word.parse::<i64>().ok());
        let (Some(threshold), Some(signal), Some(mode @ 1..=2), true) =
            (threshold, flag(1, 0), flag(2, 1), words.len() <= 3)
        else {
            self.error(
                line,
                "The autoMCStats line cannot be read.",
                "Write 'CHANNEL autoMCStats THRESHOLD [INCLUDE_SIGNAL] [HISTOGRAM_MODE]', with the mode 1 or 2.",
            );
            return;
        };
        let found = McStatsLine {
            place: line.place.clone(),
            threshold,
            include_signal: signal != 0,
            keep_integrals: mode == 2,
        };
        let pattern = line.key();
        if !self.spend(line, self.document.channels.len()) {
            return;
        }
        let mut any = false;
        for channel in &mut self.document.channels {
            if channel.name == pattern || (has_wildcard(pattern) && wildcard(pattern, &channel.name)) {
                channel.mc_stats = Some(found.clone());
                any = true;
            }
        }
        if !any {
            let names: Vec<String> = self.document.channels.iter().map(|c| c.name.clone()).collect();
            let message = format!(
                "autoMCStats is given for channel {}. {}",
                quoted(pattern),
                list("The channels are", &names)
            );
            self.error(line, message, "Correct the name.");
        }
    }

    /// Reports members of groups that are no parameters.
    pub(super) fn check_groups(&mut self) {
        let names = self.document.parameter_names();
        for group in &self.document.groups {
            for member in group.members.iter().filter(|member| !names.contains(member.as_str())) {
                let near = nearest(member, names.iter().copied());
                let near = near.map_or_else(String::new, |near| format!(" Did you mean {}?", quoted(near)));
                self.report.error(
                    group.place.to_string(),
                    format!(
                        "The group {} has the member {}, which is no parameter.{near}",
                        quoted(&group.name),
                        quoted(member)
                    ),
                    "Correct the name, or remove it.",
                );
            }
        }
    }
}
