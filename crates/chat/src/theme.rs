//! The colours of the screen, which its user chooses.

use std::io::{self, Write as _};
use std::path::Path;

use crossterm::style::Color;

/// Most bytes of the file with the choice.
const MAX_FILE: u64 = 64;

/// Colours from the terminal's palette.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Theme {
    /// The bright ones.
    #[default]
    Dark,
    /// The dark ones. Yellow and cyan are readable on no light ground, so that others take their places.
    Light,
    /// None.
    Colorless,
}

impl Theme {
    /// All of them, with their names and words.
    pub(crate) const ALL: [(Self, &str, &str); 3] = [
        (Self::Dark, "dark", "for a dark background"),
        (Self::Light, "light", "for a light background"),
        (Self::Colorless, "none", "no colours"),
    ];

    /// Returns the theme with this name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let mut all = Self::ALL.iter();
        all.find(|(_, known, _)| *known == name).map(|(theme, ..)| *theme)
    }

    /// Returns the theme that [`Theme::store`] wrote into a file, or the usual one.
    pub(crate) fn read(file: &Path) -> Self {
        let text = bobbin_files::read_text_unlinked(file, MAX_FILE).unwrap_or_default();
        Self::of_name(text.trim()).unwrap_or_default()
    }

    /// Writes the theme into a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn store(self, file: &Path) -> io::Result<()> {
        let mut new = tempfile::NamedTempFile::new_in(file.parent().unwrap_or(Path::new(".")))?;
        new.write_all(self.name().as_bytes())?;
        new.persist(file).map_err(|error| error.error)?;
        Ok(())
    }

    pub(crate) fn name(self) -> &'static str {
        let mut all = Self::ALL.iter();
        all.find(|(theme, ..)| *theme == self)
            .map_or("", |(_, name, _)| *name)
    }

    /// Returns a colour as this theme shows it.
    pub(crate) fn color(self, color: Color) -> Option<Color> {
        match (self, color) {
            (Self::Colorless, _) => None,
            (Self::Light, Color::Red) => Some(Color::DarkRed),
            (Self::Light, Color::Green) => Some(Color::DarkGreen),
            (Self::Light, Color::Yellow | Color::Magenta) => Some(Color::DarkMagenta),
            (Self::Light, Color::Cyan) => Some(Color::DarkBlue),
            (_, color) => Some(color),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_remembered_and_anything_else_is_the_usual_one() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("theme");
        assert_eq!(Theme::read(&file), Theme::Dark);
        for (theme, name, _) in Theme::ALL {
            theme.store(&file).unwrap();
            assert_eq!((Theme::read(&file), Theme::of_name(name)), (theme, Some(theme)));
        }
        std::fs::write(&file, "puce").unwrap();
        assert_eq!((Theme::read(&file), Theme::of_name("puce")), (Theme::Dark, None));
    }

    #[test]
    fn a_light_theme_has_the_dark_colours_and_no_theme_has_none() {
        let shown = |theme: Theme| [Color::Yellow, Color::Cyan].map(|color| theme.color(color));
        assert_eq!(shown(Theme::Dark), [Some(Color::Yellow), Some(Color::Cyan)]);
        assert_eq!(
            shown(Theme::Light),
            [Some(Color::DarkMagenta), Some(Color::DarkBlue)]
        );
        assert_eq!(shown(Theme::Colorless), [None, None]);
    }
}
