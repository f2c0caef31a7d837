//! Examples at the end of the help of every command.

use clap::Command;

/// The names of commands, each with two examples.
pub(crate) const EXAMPLES: [(&str, [&str; 2]); 38] = [
    ("fit", ["nextstat fit ws.json", "nextstat fit ws.json --minos mu --plot pulls.pdf -o fit.json"]),
    (
        "scan",
        [
            "nextstat scan ws.json --plot scan.pdf",
            "nextstat scan ws.json --param jes --param2 mu --points 31",
        ],
    ),
    (
        "interval",
        [
            "nextstat interval ws.json --cl 0.9",
            "nextstat interval ws.json --cl 0.9 --toys 1e4 --save toys.json --plot interval.pdf",
        ],
    ),
    (
        "region",
        [
            "nextstat region ws.json --param mu --param2 jes",
            "nextstat region ws.json --poi mu_ggH,mu_qqH --cl 0.68 --toys 2000 --save toys.json --plot region.pdf",
        ],
    ),
    (
        "sample",
        [
            "nextstat sample ws.json --cl 0.9",
            "nextstat sample ws.json --chains 8 --draws 2000 --save draws.parquet -o posterior.json",
        ],
    ),
    (
        "compatibility",
        [
            "nextstat compatibility ws.json --plot channels.pdf",
            "nextstat compatibility ws.json --toys 1e4 --leave-out",
        ],
    ),
    (
        "simplify",
        [
            "nextstat simplify ws.json --regions SR --at cr.json --save simplified.json",
            "nextstat simplify ws.json --linear --save simplified.json -o report.json",
        ],
    ),
    (
        "look-elsewhere",
        [
            "nextstat look-elsewhere ws.json --param mass --start 110 --stop 150",
            "nextstat look-elsewhere ws.json --param mass --points 121 --toys 200 --plot search.pdf",
        ],
    ),
    (
        "unfold",
        [
            "nextstat unfold ws.json --truth 'truth_*' --prediction truth.json --plot unfolded.pdf",
            "nextstat unfold ws.json --truth 'truth_*' --regularisation curvature --tau correlation --toys 1e4",
        ],
    ),
    (
        "spurious-signal",
        [
            "nextstat spurious-signal ws.json --param mass --background power=power.json",
            "nextstat spurious-signal ws.json --param mass --background a.json --background b.json --plot spurious.pdf",
        ],
    ),
    ("blue", ["nextstat blue results.toml", "nextstat blue results.toml --format latex -o combination.tex"]),
    (
        "ranking",
        ["nextstat ranking ws.json --top 20 --plot ranking.pdf", "nextstat ranking ws.json --format latex"],
    ),
    ("hypotest", ["nextstat hypotest ws.json --mu 1", "nextstat hypotest ws.json --mu 0 --test-stat q0"]),
    (
        "hypotest-toys",
        [
            "nextstat hypotest-toys ws.json --mu 1 --n-toys 1e5 --seed 1",
            "nextstat hypotest-toys ws.json --mu 1 --n-toys 1e6 --shard 1/10 --save toys1.parquet --resume",
        ],
    ),
    (
        "draw",
        [
            "nextstat draw fit.json -o pulls.pdf",
            "nextstat draw yields.json -o regions.pdf --style paper.toml --log",
        ],
    ),
    (
        "merge-toys",
        [
            "nextstat merge-toys toys*.parquet",
            "nextstat merge-toys toys*.parquet --allow-incomplete -o test.json",
        ],
    ),
    (
        "toys",
        [
            "nextstat toys ws.json --n-toys 1000 --seed 1",
            "nextstat toys ws.json --n-toys 1e4 --params mu --at init",
        ],
    ),
    (
        "upper-limit",
        [
            "nextstat upper-limit ws.json --plot limit.pdf",
            "nextstat upper-limit background.json --patchset patchset.json --save grid.json --resume --plot masses.pdf",
        ],
    ),
    ("significance", ["nextstat significance ws.json", "nextstat significance ws.json --asimov 1"]),
    ("gof", ["nextstat gof ws.json", "nextstat gof ws.json --format json -o gof.json"]),
    (
        "yields",
        [
            "nextstat yields ws.json --format latex",
            "nextstat yields ws.json --prefit --per-bin --plot 'prefit_{channel}.pdf' --axes axes.toml",
        ],
    ),
    (
        "report",
        [
            "nextstat report ws.json -o report",
            "nextstat report ws.json -o report --without limit,significance",
        ],
    ),
    (
        "build",
        [
            "nextstat build config.yml -o ws.json",
            "nextstat build config.yml -o ws.json --norm-threshold 0.005",
        ],
    ),
    ("inspect", ["nextstat inspect ws.json", "nextstat inspect archive.tar.gz:bkg.json --format json"]),
    ("validate", ["nextstat validate ws.json", "nextstat validate combination.xml --format json"]),
    (
        "patch",
        [
            "nextstat patch bkg.json --patch patchset.json:signal_700_400 -o ws.json",
            "nextstat patch bkg.json --patch change.json",
        ],
    ),
    (
        "prune",
        [
            "nextstat prune ws.json --channel CR -o sr.json",
            "nextstat prune ws.json --norm-threshold 0.005 -o less.json",
        ],
    ),
    (
        "rename",
        [
            "nextstat rename ws.json --channel SR=signal_region -o new.json",
            "nextstat rename ws.json --modifier lumi=luminosity",
        ],
    ),
    (
        "decorrelate",
        [
            "nextstat decorrelate ws.json --modifier jes --by channel -o new.json",
            "nextstat decorrelate ws.json --modifier jes --by regions.json",
        ],
    ),
    (
        "combine",
        ["nextstat combine a.json b.json -o both.json", "nextstat combine sr=sr.txt cr=cr.txt -o card.txt"],
    ),
    ("sort", ["nextstat sort ws.json -o sorted.json", "nextstat sort ws.json | sha256sum"]),
    (
        "convert",
        [
            "nextstat convert ws.json -o model.hs3.json",
            "nextstat convert combination.xml --to pyhf -o ws.json",
        ],
    ),
    ("digest", ["nextstat digest ws.json", "nextstat digest ws.json --algorithm md5"]),
    ("devices", ["nextstat devices", "nextstat devices ws.json --explain"]),
    ("selftest", ["nextstat selftest", "nextstat selftest --device cuda"]),
    ("licences", ["nextstat licences", "nextstat licences | less"]),
    (
        "completions",
        [
            "nextstat completions bash > ~/.local/share/bash-completion/completions/nextstat",
            "nextstat completions fish > ~/.config/fish/completions/nextstat.fish",
        ],
    ),
    ("man", ["nextstat man ~/.local/share/man/man1", "nextstat man . && man ./nextstat-fit.1"]),
];

/// Adds the examples to the help of a command.
pub(crate) fn add(command: Command) -> Command {
    let Some((_, examples)) = EXAMPLES.iter().find(|(name, _)| *name == command.get_name()) else {
        return command;
    };
    let before = command.get_after_help().map_or_else(String::new, |text| format!("{text}\n\n"));
    command.after_help(format!("{before}Examples:\n  {}\n  {}", examples[0], examples[1]))
}
