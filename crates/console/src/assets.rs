//! What pages load: one style, one script, one picture. Their addresses change with what is in them, so that browsers
//! may keep them for ever.

use std::fmt::Write as _;
use std::sync::LazyLock;

/// A file that pages load.
#[derive(Debug)]
pub struct Asset {
    pub content_type: &'static str,
    pub text: String,
    /// A digest of the text.
    pub version: String,
}

impl Asset {
    fn new(content_type: &'static str, text: String) -> Self {
        // FNV-1a: no secret and no adversary, only another address for another text.
        let digest = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| {
            (digest ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut version = String::new();
        let _ = write!(version, "{digest:016x}");
        Self { content_type, text, version }
    }
}

pub static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    let text = format!("{}{}", everstep_graph::STYLE, include_str!("style.css"));
    Asset::new("text/css; charset=utf-8", text)
});

pub static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("text/javascript; charset=utf-8", include_str!("script.js").to_owned())
});

pub static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("image/svg+xml", include_str!("icon.svg").to_owned()));

/// The file of a name below `/console/assets/`.
#[must_use]
pub fn find(name: &str) -> Option<&'static Asset> {
    match name {
        "style.css" => Some(&STYLE),
        "script.js" => Some(&SCRIPT),
        "icon.svg" => Some(&ICON),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets() {
        let check = |asset: &Asset, bytes_max: usize| {
            assert!(asset.text.len() <= bytes_max, "{} bytes", asset.text.len());
        };
        check(&SCRIPT, 24 * 1024);
        check(&STYLE, 24 * 1024);
    }
}
