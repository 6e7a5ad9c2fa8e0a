//! Checks the files that fjall trusts without a look, before it opens them.
//!
//! fjall takes a missing file for a new store and removes what then seems to belong to nobody; it does
//! not compare a list of tables with the checksum that it wrote for it; and it believes a damaged
//! table of contents how much memory to ask for. All else that it reads has a checksum that it checks.
//!
//! The layout is that of lsm-tree 3: `current` holds the number and the checksum of the list of tables
//! `v<number>`; a list and a table end with a table of contents and a trailer that says where it is.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use xxhash_rust::xxh3::xxh3_128;

use crate::journals::{Trouble, damaged, io_at};

/// Its magic bytes, its version, the kind and the bytes of the checksum, where the table of contents
/// is and how long.
const TRAILER_BYTES: usize = 38;
const TRAILER_MAGIC: &[u8] = b"SFA!\x01\0";

/// Where the list of tables is in a table of contents: its name, after the name's length.
const TABLES: &[u8] = b"\x06\0tables";

/// Checks the keyspaces from zero to `keyspaces`.
pub(crate) fn check(rows: &Path, keyspaces: usize) -> Result<(), Trouble> {
    there(&rows.join("version"))?;
    for id in 0..=keyspaces {
        let keyspace = rows.join("keyspaces").join(id.to_string());
        for table in tables(&keyspace)? {
            contents(&keyspace.join("tables").join(table.to_string()))?;
        }
    }
    names(&rows.join("keyspaces"))
}

/// fjall panics at names that it did not give.
fn names(keyspaces: &Path) -> Result<(), Trouble> {
    for entry in fs::read_dir(keyspaces).map_err(io_at(keyspaces))? {
        let path = entry.map_err(io_at(keyspaces))?.path();
        let named = path.file_name().and_then(|name| name.to_str()?.parse::<u64>().ok());
        if path.is_dir() && named.is_none() {
            return Err(damaged(&path, "it does not belong here"));
        }
    }
    Ok(())
}

fn there(path: &Path) -> Result<(), Trouble> {
    match path.try_exists().map_err(io_at(path))? {
        true => Ok(()),
        false => Err(damaged(path, "it is missing")),
    }
}

/// The tables of a keyspace.
fn tables(keyspace: &Path) -> Result<Vec<u64>, Trouble> {
    let path = keyspace.join("current");
    let current = read(&path)?;
    let (Some(number), Some(checksum)) = (u64_at(&current, 0), u128_at(&current, 8)) else {
        return Err(damaged(&path, "it was cut off"));
    };
    let path = keyspace.join(format!("v{number}"));
    let list = read(&path)?;
    if xxh3_128(&list) != checksum {
        return Err(damaged(&path, "its checksum is wrong"));
    }
    parse(&list).ok_or_else(|| damaged(&path, "it has no list of tables"))
}

/// The numbers of the tables in a list: levels of runs of tables.
fn parse(list: &[u8]) -> Option<Vec<u64>> {
    let name = list.windows(TABLES.len()).rposition(|window| window == TABLES)?;
    let from = usize::try_from(u64_at(list, name.checked_sub(16)?)?).ok()?;
    let mut rest = list.get(from..)?;
    let mut found = Vec::new();
    for _ in 0..take::<1>(&mut rest)?[0] {
        for _ in 0..take::<1>(&mut rest)?[0] {
            for _ in 0..u32::from_le_bytes(*take(&mut rest)?) {
                found.push(u64::from_le_bytes(*take(&mut rest)?));
                // The kind of its checksum, its checksum, its sequence number.
                take::<25>(&mut rest)?;
            }
        }
    }
    Some(found)
}

fn take<'b, const N: usize>(bytes: &mut &'b [u8]) -> Option<&'b [u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(first)
}

/// Checks a table's contents: where its parts are, not the parts.
fn contents(path: &Path) -> Result<(), Trouble> {
    there(path)?;
    match is_whole(path).map_err(io_at(path))? {
        true => Ok(()),
        false => Err(damaged(path, "its table of contents cannot be read")),
    }
}

fn is_whole(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let Some(end) = file.metadata()?.len().checked_sub(TRAILER_BYTES as u64) else {
        return Ok(false);
    };
    let mut trailer = [0; TRAILER_BYTES];
    file.seek(SeekFrom::Start(end))?;
    file.read_exact(&mut trailer)?;
    let (Some(checksum), Some(from)) = (u128_at(&trailer, 6), u64_at(&trailer, 22)) else {
        return Ok(false);
    };
    if !trailer.starts_with(TRAILER_MAGIC) || from > end {
        return Ok(false);
    }
    let mut contents = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.take(end - from).read_to_end(&mut contents)?;
    Ok(xxh3_128(&contents) == checksum)
}

fn read(path: &Path) -> Result<Vec<u8>, Trouble> {
    there(path)?;
    fs::read(path).map_err(io_at(path))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u128_at(bytes: &[u8], at: usize) -> Option<u128> {
    Some(u128::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
