//! What stands for a secret in what the model is shown must not be written back in the secret's place.

use std::path::Path;

use super::ToolContext;
use crate::config::REDACTED;

/// Lets a change of a file pass, unless it brings the mask into a file that holds secrets.
///
/// # Errors
/// A text that says what to do instead.
pub(crate) fn kept_out(
    path: &Path,
    before: Option<&[u8]>,
    after: &[u8],
    context: &ToolContext,
) -> Result<(), String> {
    let count = |bytes: &[u8]| String::from_utf8_lossy(bytes).matches(REDACTED).count();
    let Some(before) = before.filter(|before| count(after) > count(before)) else {
        return Ok(());
    };
    let text = String::from_utf8_lossy(before);
    if context.services.redacted(&text) == text {
        return Ok(());
    }
    Err(format!(
        "`{}` holds a secret that you were shown as `{REDACTED}`, and this would write the mask over it. \
         Nothing was changed. Change the other lines alone with `patch`, or leave this one to the user",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tools::testing::place;
    use crate::tools::{Patch, WriteFile};

    const TOKEN: &str = concat!("gh", "p_", "abcdef1234567890ABCDEF1234567890abcdef");

    #[test]
    fn a_mask_is_not_written_over_the_secret() {
        let place = place();
        let file = format!("token: {TOKEN}\nname: a\n");
        place.write("c.yaml", &file);
        let shown = file.replace(TOKEN, REDACTED);
        let error =
            place.fails(&WriteFile, json!({"path": "c.yaml", "content": format!("{shown}more: b\n")}));
        assert!(error.contains("write the mask over it") && error.contains("`patch`"), "{error}");
        let replace = json!({
            "mode": "replace", "path": "c.yaml", "old_string": format!("token: {TOKEN}"),
            "new_string": format!("token: {REDACTED}"),
        });
        assert!(place.fails(&Patch, replace).contains("write the mask over it"));
        assert_eq!(place.read("c.yaml"), file);
        let other =
            json!({"mode": "replace", "path": "c.yaml", "old_string": "name: a", "new_string": "name: b"});
        place.succeeds(&Patch, other);
        assert!(place.read("c.yaml").contains(TOKEN));
    }

    #[test]
    fn the_mask_may_be_written_where_there_is_no_secret() {
        let place = place();
        place.write("doc.md", "about masks\n");
        for path in ["doc.md", "new.md"] {
            place.succeeds(&WriteFile, json!({"path": path, "content": format!("herm writes {REDACTED}\n")}));
        }
        place.write("both.md", format!("{REDACTED} {TOKEN}"));
        place.succeeds(&WriteFile, json!({"path": "both.md", "content": format!("{REDACTED} as before")}));
    }
}
