//! What a user is told of beside the numbers.

use serde::Serialize;

/// Something that was tolerated, or that is better done otherwise. In the JSON it is its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct Warning {
    /// In a sentence.
    pub text: String,
    /// Whether data of the recording are damaged or lost; otherwise it is advice, or a limit of what was done.
    pub is_damage: bool,
}

impl Warning {
    /// Of damaged data.
    pub fn damage(text: String) -> Warning {
        Warning { text, is_damage: true }
    }

    /// Of anything else.
    pub fn advice(text: String) -> Warning {
        Warning { text, is_damage: false }
    }
}

impl From<Warning> for String {
    fn from(warning: Warning) -> String {
        warning.text
    }
}
