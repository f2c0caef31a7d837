//! Reads texts with markup.

use super::Node;
use super::symbols::{ACCENTS, FUNCTIONS, UPRIGHT, relation, symbol};

/// Largest number of braces in braces.
const DEEPEST: usize = 8;
pub(super) const THIN: char = '\u{2009}';

/// How characters are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// As they are, outside of dollars.
    Text,
    /// As mathematics: spaces have no meaning, and signs have spaces around them.
    Mathematics,
    /// As they are, but scripts need no braces.
    Upright,
}

/// Reads characters. Returns what they mean, and whether any of them is not drawn as it is written. `dollars` says whether
/// dollars begin and end mathematics.
pub(super) fn read(characters: Vec<char>, dollars: bool) -> (Vec<Node>, bool) {
    let last_brace = characters.iter().rposition(|c| *c == '}');
    let mut parser = Parser { characters, last_brace, at: 0, depth: 0, dollars, marked: dollars };
    let nodes = parser.nodes(Mode::Text, false);
    (nodes, parser.marked)
}

struct Parser {
    characters: Vec<char>,
    /// Position of the last closing brace.
    last_brace: Option<usize>,
    at: usize,
    depth: usize,
    /// Whether dollars begin and end mathematics.
    dollars: bool,
    /// Whether anything was read that is not drawn as it is written.
    marked: bool,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let found = self.peek();
        self.at += usize::from(found.is_some());
        found
    }

    /// Reads up to the end of the text, or up to the brace that ends a group.
    fn nodes(&mut self, mode: Mode, in_group: bool) -> Vec<Node> {
        let mut nodes = Vec::new();
        let mut mode = mode;
        while let Some(character) = self.peek() {
            if character == '}' && in_group {
                self.at += 1;
                break;
            }
            if character == '$' && self.dollars && !in_group {
                self.at += 1;
                mode = if mode == Mode::Text { Mode::Mathematics } else { Mode::Text };
                continue;
            }
            self.one(mode, &mut nodes);
        }
        nodes
    }

    /// Reads a character, a command, a group or a script.
    fn one(&mut self, mode: Mode, nodes: &mut Vec<Node>) {
        let Some(character) = self.next() else { return };
        match character {
            '\\' => self.command(mode, nodes, '\\'),
            '#' if mode == Mode::Text => self.command(mode, nodes, '#'),
            '_' | '^' if self.is_script(mode) => {
                self.marked = true;
                let script = self.argument(if mode == Mode::Text { Mode::Upright } else { mode });
                attach(nodes, script, character == '^');
            }
            '{' if mode != Mode::Text && self.depth < DEEPEST => append(nodes, self.group(mode)),
            '~' if mode != Mode::Text || self.dollars => push(nodes, "\u{a0}"),
            ' ' if mode == Mode::Mathematics => {}
            '-' if mode == Mode::Mathematics => self.sign(nodes, "−"),
            '\'' if mode == Mode::Mathematics => push(nodes, "′"),
            '=' | '<' | '>' | '+' if mode == Mode::Mathematics => {
                self.sign(nodes, character.encode_utf8(&mut [0; 4]));
            }
            other => push(nodes, other.encode_utf8(&mut [0; 4])),
        }
    }

    /// Whether an underscore or a circumflex begins a script.
    fn is_script(&self, mode: Mode) -> bool {
        match (mode, self.peek()) {
            (_, None) => false,
            (Mode::Text, Some(next)) => {
                next == '{' && self.depth < DEEPEST && self.last_brace.is_some_and(|last| last >= self.at)
            }
            _ => self.depth < DEEPEST,
        }
    }

    /// Reads a group whose opening brace was read.
    fn group(&mut self, mode: Mode) -> Vec<Node> {
        self.depth += 1;
        let nodes = self.nodes(mode, true);
        self.depth -= 1;
        nodes
    }

    /// Reads the argument of a command or a script: a group, a command or a character.
    fn argument(&mut self, mode: Mode) -> Vec<Node> {
        while self.peek() == Some(' ') {
            self.at += 1;
        }
        if self.peek() == Some('{') && self.depth < DEEPEST {
            self.at += 1;
            return self.group(mode);
        }
        let mut nodes = Vec::new();
        self.depth += 1;
        if self.depth <= DEEPEST {
            self.one(mode, &mut nodes);
        }
        self.depth -= 1;
        nodes
    }

    /// Adds a sign with spaces around it, except at the start of a text and in scripts.
    fn sign(&self, nodes: &mut Vec<Node>, sign: &str) {
        if nodes.is_empty() || self.depth > 0 {
            push(nodes, sign);
        } else {
            push(nodes, &format!("{THIN}{sign}{THIN}"));
        }
    }

    /// Reads a command. Its first character, `lead`, was read. A command that is not known is drawn as it is written.
    fn command(&mut self, mode: Mode, nodes: &mut Vec<Node>, lead: char) {
        let letters = self.characters.iter().skip(self.at).take_while(|c| c.is_ascii_alphabetic());
        let name: String = letters.collect();
        let begin = self.at;
        self.at += name.len();
        if name.is_empty() {
            let spaced = match self.peek() {
                Some(c @ ('%' | '_' | '&' | '#' | '$' | '{' | '}')) if lead == '\\' => Some(c.to_string()),
                Some(',' | ':' | ';') if lead == '\\' => Some(THIN.to_string()),
                Some(' ') if lead == '\\' => Some(" ".to_owned()),
                Some('!') if lead == '\\' => Some(String::new()),
                _ => None,
            };
            if let Some(text) = spaced {
                (self.at, self.marked) = (self.at + 1, true);
                push(nodes, &text);
            } else {
                push(nodes, lead.encode_utf8(&mut [0; 4]));
            }
            return;
        }
        if let Some(sign) = symbol(&name) {
            self.marked = true;
            if relation(sign) && mode != Mode::Text { self.sign(nodes, sign) } else { push(nodes, sign) }
        } else if let Some((_, mark)) = ACCENTS.iter().find(|(known, _)| *known == name) {
            self.marked = true;
            let mut inner = self.argument(inside(mode));
            accent(&mut inner, *mark);
            append(nodes, inner);
        } else if UPRIGHT.contains(&name.as_str()) {
            self.marked = true;
            append(nodes, self.argument(Mode::Upright));
        } else if FUNCTIONS.contains(&name.as_str()) && lead == '\\' {
            self.marked = true;
            push(nodes, &name);
            if mode == Mode::Mathematics {
                push(nodes, THIN.encode_utf8(&mut [0; 4]));
            }
        } else {
            match name.as_str() {
                "sqrt" => {
                    self.marked = true;
                    let inner = self.argument(inside(mode));
                    push(nodes, "√");
                    wrap(nodes, inner);
                }
                "frac" => {
                    self.marked = true;
                    let above = self.argument(inside(mode));
                    let below = self.argument(inside(mode));
                    wrap(nodes, above);
                    push(nodes, "/");
                    wrap(nodes, below);
                }
                // Brackets have the size of the text.
                "left" | "right" if mode == Mode::Mathematics => {}
                _ => {
                    self.at = begin;
                    push(nodes, lead.encode_utf8(&mut [0; 4]));
                    // An unknown command is drawn as it is written.
                    push(nodes, &name);
                    self.at += name.len();
                }
            }
        }
    }
}

/// How the argument of a command is read.
fn inside(mode: Mode) -> Mode {
    if mode == Mode::Text { Mode::Upright } else { mode }
}

fn push(nodes: &mut Vec<Node>, text: &str) {
    match nodes.last_mut() {
        Some(Node::Text(last)) => last.push_str(text),
        _ => nodes.push(Node::Text(text.to_owned())),
    }
}

/// Adds nodes. Text joins the text before it.
fn append(nodes: &mut Vec<Node>, inner: Vec<Node>) {
    for node in inner {
        match node {
            Node::Text(text) => push(nodes, &text),
            scripts @ Node::Scripts { .. } => nodes.push(scripts),
        }
    }
}

/// Adds nodes, in brackets if they are more than one character with its scripts.
fn wrap(nodes: &mut Vec<Node>, inner: Vec<Node>) {
    let short = match inner.as_slice() {
        [] | [Node::Scripts { .. }, ..] => true,
        [Node::Text(text), rest @ ..] => {
            text.chars().filter(|c| !is_mark(*c)).count() <= 1
                && rest.iter().all(|node| matches!(node, Node::Scripts { .. }))
        }
    };
    if short {
        append(nodes, inner);
    } else {
        push(nodes, "(");
        append(nodes, inner);
        push(nodes, ")");
    }
}

/// Adds a script to the text before it. A subscript and a superscript of the same text stand one above the other.
fn attach(nodes: &mut Vec<Node>, script: Vec<Node>, raised: bool) {
    if let Some(Node::Scripts { below, above }) = nodes.last_mut() {
        let place = if raised { above } else { below };
        if place.is_empty() {
            *place = script;
            return;
        }
    }
    let (below, above) = if raised { (Vec::new(), script) } else { (script, Vec::new()) };
    nodes.push(Node::Scripts { below, above });
}

fn is_mark(character: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&character)
}

/// Puts a mark above every character on the line.
fn accent(nodes: &mut [Node], mark: char) {
    for node in nodes {
        if let Node::Text(text) = node {
            let mut marked = String::with_capacity(2 * text.len());
            let mut characters = text.chars().peekable();
            while let Some(character) = characters.next() {
                marked.push(character);
                // Marks of one letter stand one above the other, so the new one is the last.
                let last = !characters.peek().is_some_and(|next| is_mark(*next));
                if last && !character.is_whitespace() {
                    marked.push(mark);
                }
            }
            *text = marked;
        }
    }
}
