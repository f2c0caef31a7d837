//! The commands that names may have.

/// Signs by the names of their commands.
const SYMBOLS: [(&str, &str); 90] = [
    ("alpha", "α"),
    ("beta", "β"),
    ("gamma", "γ"),
    ("delta", "δ"),
    ("epsilon", "ϵ"),
    ("varepsilon", "ε"),
    ("zeta", "ζ"),
    ("eta", "η"),
    ("theta", "θ"),
    ("vartheta", "ϑ"),
    ("iota", "ι"),
    ("kappa", "κ"),
    ("lambda", "λ"),
    ("mu", "μ"),
    ("nu", "ν"),
    ("xi", "ξ"),
    ("omicron", "ο"),
    ("pi", "π"),
    ("varpi", "ϖ"),
    ("rho", "ρ"),
    ("varrho", "ϱ"),
    ("sigma", "σ"),
    ("varsigma", "ς"),
    ("tau", "τ"),
    ("upsilon", "υ"),
    ("phi", "ϕ"),
    ("varphi", "φ"),
    ("chi", "χ"),
    ("psi", "ψ"),
    ("omega", "ω"),
    ("Gamma", "Γ"),
    ("Delta", "Δ"),
    ("Theta", "Θ"),
    ("Lambda", "Λ"),
    ("Xi", "Ξ"),
    ("Pi", "Π"),
    ("Sigma", "Σ"),
    ("Upsilon", "Υ"),
    ("Phi", "Φ"),
    ("Psi", "Ψ"),
    ("Omega", "Ω"),
    ("to", "→"),
    ("rightarrow", "→"),
    ("leftarrow", "←"),
    ("leftrightarrow", "↔"),
    ("Rightarrow", "⇒"),
    ("pm", "±"),
    ("mp", "∓"),
    ("times", "×"),
    ("cdot", "·"),
    ("le", "≤"),
    ("leq", "≤"),
    ("ge", "≥"),
    ("geq", "≥"),
    ("ll", "≪"),
    ("gg", "≫"),
    ("ne", "≠"),
    ("neq", "≠"),
    ("approx", "≈"),
    ("sim", "∼"),
    ("simeq", "≃"),
    ("equiv", "≡"),
    ("propto", "∝"),
    ("in", "∈"),
    ("otimes", "⊗"),
    ("oplus", "⊕"),
    ("infty", "∞"),
    ("ell", "ℓ"),
    ("hbar", "ℏ"),
    ("partial", "∂"),
    ("nabla", "∇"),
    ("sum", "∑"),
    ("prod", "∏"),
    ("int", "∫"),
    ("prime", "′"),
    ("dagger", "†"),
    ("ast", "∗"),
    ("star", "⋆"),
    ("circ", "°"),
    ("degree", "°"),
    ("ldots", "…"),
    ("dots", "…"),
    ("langle", "⟨"),
    ("rangle", "⟩"),
    ("mid", "|"),
    ("vert", "|"),
    ("lbrace", "{"),
    ("rbrace", "}"),
    ("slash", "/"),
    ("quad", "\u{2003}"),
];

/// Marks above a letter by the names of their commands.
pub(super) const ACCENTS: [(&str, char); 9] = [
    ("bar", '\u{304}'),
    ("overline", '\u{304}'),
    ("hat", '\u{302}'),
    ("widehat", '\u{302}'),
    ("tilde", '\u{303}'),
    ("widetilde", '\u{303}'),
    ("dot", '\u{307}'),
    ("ddot", '\u{308}'),
    ("check", '\u{30c}'),
];

/// Commands whose argument is drawn as it is. The pictures have one font.
pub(super) const UPRIGHT: [&str; 14] = [
    "mathrm",
    "text",
    "textrm",
    "textit",
    "textbf",
    "textsf",
    "mathit",
    "mathbf",
    "mathsf",
    "mathcal",
    "boldsymbol",
    "operatorname",
    "mbox",
    "rm",
];

/// Names of functions, which are drawn as they are.
pub(super) const FUNCTIONS: [&str; 9] = ["log", "ln", "exp", "sin", "cos", "tan", "min", "max", "sinh"];

/// Returns the sign of a command.
pub(super) fn symbol(name: &str) -> Option<&'static str> {
    SYMBOLS.iter().find(|(known, _)| *known == name).map(|(_, sign)| *sign)
}

/// Whether a sign has spaces around it.
pub(super) fn relation(sign: &str) -> bool {
    matches!(
        sign,
        "→" | "←"
            | "↔"
            | "⇒"
            | "±"
            | "∓"
            | "×"
            | "≤"
            | "≥"
            | "≪"
            | "≫"
            | "≠"
            | "≈"
            | "∼"
            | "≃"
            | "≡"
            | "∝"
            | "∈"
            | "⊗"
            | "⊕"
    )
}

/// All signs and marks, for a test of the font.
#[cfg(test)]
pub(crate) fn signs() -> String {
    let signs: String = SYMBOLS.iter().map(|(_, sign)| *sign).collect();
    signs + &ACCENTS.iter().map(|(_, mark)| *mark).collect::<String>()
}
