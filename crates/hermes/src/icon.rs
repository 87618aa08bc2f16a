//! Makes the icons of buttons safe for a browser. Pure.
//!
//! An icon is SVG that an extension wrote. Only listed elements and attributes pass, so scripts, event handlers, styles and
//! references to other documents do not.

use html5gum::{Token, Tokenizer};

/// Longest icon, in bytes.
const MAX_ICON: usize = 64 << 10;

/// Elements that draw, as SVG spells them.
const ELEMENTS: &[&str] = &[
    "svg",
    "g",
    "path",
    "circle",
    "ellipse",
    "line",
    "polyline",
    "polygon",
    "rect",
    "text",
    "tspan",
    "title",
    "desc",
    "defs",
    "linearGradient",
    "radialGradient",
    "stop",
    "clipPath",
];

/// Attributes that describe a shape, as SVG spells them.
const ATTRIBUTES: &[&str] = &[
    "xmlns",
    "viewBox",
    "width",
    "height",
    "x",
    "y",
    "x1",
    "y1",
    "x2",
    "y2",
    "cx",
    "cy",
    "r",
    "rx",
    "ry",
    "fx",
    "fy",
    "dx",
    "dy",
    "d",
    "points",
    "transform",
    "pathLength",
    "preserveAspectRatio",
    "fill",
    "fill-rule",
    "fill-opacity",
    "stroke",
    "stroke-width",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-miterlimit",
    "stroke-dasharray",
    "stroke-dashoffset",
    "stroke-opacity",
    "opacity",
    "color",
    "clip-rule",
    "clip-path",
    "vector-effect",
    "offset",
    "stop-color",
    "stop-opacity",
    "gradientUnits",
    "gradientTransform",
    "text-anchor",
    "font-size",
    "font-weight",
    "font-family",
    "dominant-baseline",
    "id",
    "role",
    "aria-hidden",
    "aria-label",
];

/// The namespace of SVG.
const NAMESPACE: &str = "http://www.w3.org/2000/svg";

/// Returns an icon without scripts and external references, or `None` if it is no SVG.
pub(crate) fn clean(svg: &str) -> Option<String> {
    if svg.len() > MAX_ICON {
        return None;
    }
    let mut out = String::with_capacity(svg.len());
    // Open elements of the output, and open elements that are left out with all their content.
    let (mut open, mut hidden): (Vec<&str>, Vec<String>) = (Vec::new(), Vec::new());
    let mut tokens = Tokenizer::new(svg);
    while let Some(Ok(token)) = tokens.next() {
        match token {
            Token::StartTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name).into_owned();
                let known = spelled(ELEMENTS, &name).filter(|name| open.is_empty() == (*name == "svg"));
                let Some(known) = known.filter(|_| hidden.is_empty()) else {
                    if !tag.self_closing {
                        hidden.push(name);
                    }
                    continue;
                };
                out.push('<');
                out.push_str(known);
                for (name, value) in &tag.attributes {
                    let (name, value) = (String::from_utf8_lossy(name), String::from_utf8_lossy(value));
                    if let Some(name) = spelled(ATTRIBUTES, &name).filter(|name| is_harmless(name, &value)) {
                        out.push(' ');
                        out.push_str(name);
                        out.push_str("=\"");
                        escape(&mut out, &value);
                        out.push('"');
                    }
                }
                if tag.self_closing {
                    out.push_str("/>");
                } else {
                    out.push('>');
                    open.push(known);
                }
            }
            Token::EndTag(tag) => {
                let name = String::from_utf8_lossy(&tag.name);
                if let Some(at) = hidden.iter().rposition(|hidden| *hidden == name) {
                    hidden.truncate(at);
                } else if hidden.is_empty()
                    && let Some(at) = open.iter().rposition(|open| open.eq_ignore_ascii_case(&name))
                {
                    close(&mut out, &mut open, at);
                    if open.is_empty() {
                        break;
                    }
                }
            }
            Token::String(text) if hidden.is_empty() && !open.is_empty() => {
                escape(&mut out, &String::from_utf8_lossy(&text));
            }
            Token::String(_) | Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    close(&mut out, &mut open, 0);
    (!out.is_empty()).then_some(out)
}

fn close(out: &mut String, open: &mut Vec<&str>, at: usize) {
    for name in open.drain(at..).rev() {
        out.push_str("</");
        out.push_str(name);
        out.push('>');
    }
}

/// Returns a listed name in SVG's spelling, since the tokenizer gives names in lower case.
fn spelled(names: &[&'static str], name: &str) -> Option<&'static str> {
    names
        .iter()
        .copied()
        .find(|known| known.eq_ignore_ascii_case(name))
}

/// Whether a value has no reference outside of the icon.
fn is_harmless(name: &str, value: &str) -> bool {
    if name == "xmlns" {
        return value == NAMESPACE;
    }
    let value = value.to_ascii_lowercase();
    let urls = value.matches("url(").count();
    urls == value.matches("url(#").count() && !value.contains('\\') && !value.contains("javascript:")
}

fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_stays_as_it_is() {
        let svg =
            r#"<svg fill="none" stroke="currentColor" viewBox="0 0 24 24"><path d="M4 4 L9&quot;"/></svg>"#;
        assert_eq!(clean(svg).as_deref(), Some(svg));
    }

    #[test]
    fn whatever_acts_or_refers_is_left_out() {
        for (svg, clean_svg) in [
            (
                "<svg onload=\"x()\"><script>x()</script><g/></svg>",
                "<svg><g/></svg>",
            ),
            (
                "<SVG><foreignObject><g><img src=x onerror=x()></g></foreignObject></svg>",
                "<svg></svg>",
            ),
            (
                "<svg><image href='http://a/b'/><use xlink:href='#a'/></svg>",
                "<svg></svg>",
            ),
            (
                "<svg><a href='javascript:x()'><g/></a><rect x='1'/></svg>",
                "<svg><rect x=\"1\"/></svg>",
            ),
            (
                "<svg><rect fill='url(http://a)' stroke='url(#b)'/></svg>",
                "<svg><rect stroke=\"url(#b)\"/></svg>",
            ),
            (
                "<svg><style>@import 'http://a'</style><text>a&lt;b</text>",
                "<svg><text>a&lt;b</text></svg>",
            ),
            (
                "<?xml version='1.0'?><!-- --><svg></svg><script>x()</script>",
                "<svg></svg>",
            ),
            ("<svg><svg><g/></svg></svg>", "<svg></svg>"),
        ] {
            assert_eq!(clean(svg).as_deref(), Some(clean_svg), "{svg}");
        }
        assert_eq!(clean("<img src=x>"), None);
        assert_eq!(clean("star"), None);
    }
}
